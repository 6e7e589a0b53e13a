//! The program's own log: what it tells its operator while it runs.
//!
//! Messages come by the `log` facade with a level and the part that speaks (docs/adr/0049); lines
//! go out as text, JSON, or as the journal or syslog want them. A message that comes again and
//! again is counted and told once. It knows no secrets: who logs leaves them out. Started and
//! given new settings by the binary; written to by every part.

mod line;
mod logger;
mod repeats;
mod settings;

pub use self::logger::{LogMirror, OpenedLog, finish, is_started, mirror, open, part_log};
pub use self::settings::{LogForm, LogLevel, LogPart, ProgramLogSettings};
