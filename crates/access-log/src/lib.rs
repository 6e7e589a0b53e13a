//! Access logs: a line a request, in the forms that tools read or in one's own.
//!
//! Nothing that a client sends can forge a line, and no line has a secret: fields that carry some
//! cannot be named, and what looks like one in a query is taken out. It opens no socket and waits
//! for no disk; that is `log-sink`'s. Called by the web, gateway and proxy doors.

mod entry;
mod example;
mod line;
mod log;
mod pending;
mod secrets;
mod settings;
mod template;

pub use self::entry::{AccessLogEntry, protocol};
pub use self::log::AccessLog;
pub use self::pending::{LineEnd, PendingLine, RequestHead};
pub use self::secrets::redact;
pub use self::settings::{
    AccessLogChoice, AccessLogSettings, LogFormat, LoggedQuery, TemplateEscape,
};
pub use self::template::{BadTemplate, LineTemplate};
