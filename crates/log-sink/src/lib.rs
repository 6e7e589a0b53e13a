//! Where lines of logs go: files, the standard output, syslog, the journal.
//!
//! Each destination has one thread that writes, a queue with a cap, and counts what it had to
//! drop; whoever has a line never waits. It knows no format of lines, only how text of clients is
//! made harmless. Called by the access logs, the query log and the program's own log.

mod date;
mod destination;
mod journal;
mod output;
mod settings;
mod sink;
mod syslog;
mod text;
mod writer;

pub use self::date::{ClockTime, DateKept};
pub use self::destination::{DestinationKind, LogDestination};
pub use self::settings::{SyslogChoice, SyslogFacility, SyslogSettings, check_file, check_place};
pub use self::sink::{LineSeverity, LogSink};
pub use self::syslog::SyslogAddress;
pub use self::text::{FIELD_BYTES_MAX, address, escape, json_text, number};
pub use self::writer::{finish_all, lost_lines, reopen_all};
