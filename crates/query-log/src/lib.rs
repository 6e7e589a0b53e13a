//! The query log: a line of JSON for each question that the DNS door was asked.
//!
//! Off unless the settings name a place for it; the ledger has every question anyway. Nothing
//! that a client asks can forge a line. It opens no socket and waits for no disk; that is
//! `log-sink`'s. Called by the DNS door's `record`.

mod line;
mod log;
mod settings;

pub use self::line::{BlockedBy, QueryLogEntry};
pub use self::log::QueryLog;
pub use self::settings::{QueryLogChoice, QueryLogSettings};
