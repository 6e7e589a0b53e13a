//! Output of commands to people, and how commands fail.
//!
//! [`output`] prints on standard output and error, for readers who may go away; [`CommandFailure`]
//! is a command that failed, with its exit code. It knows no command. Used by the binary and by
//! what talks to a running one.

mod failure;
pub mod output;

pub use failure::{CommandFailure, ExitReason};
