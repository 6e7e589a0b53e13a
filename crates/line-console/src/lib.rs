//! The line console: Perlbal's commands over the running program.
//!
//! A command a line, an answer of lines: `OK`, `ERROR: …`, or a list that ends with `.`. It listens
//! on loopback or at a path and nowhere else, ends what is no text or looks like HTTP before it
//! does anything, and lets only those change something who have shown the token, or may open the
//! path. It acts through [`admin::ProgramControl`]. Opened by the binary.

mod answer;
mod command;
mod known;
mod line;
mod naming;
mod place;
mod process;
mod serve;
mod session;
mod shown;
#[cfg(test)]
mod tests;

pub use command::{CommandError, ConsoleCommand};
pub use line::{ConsoleLine, ForeignTalk, LINE_BYTES_MAX, read_line};
pub use serve::{ConsoleNotOpen, open};
pub use session::{ConsoleParts, ConsoleSession, SessionTrust};
