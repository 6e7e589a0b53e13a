//! A query log that is open: what the DNS door writes its questions to.

use crate::line::{self, QueryLogEntry};
use crate::settings::QueryLogChoice;
use ledger::AnonymiseMode;
use log_sink::{LogDestination, LogSink, SyslogChoice};
use std::path::Path;
use vocab::Complaint;

/// The query log.
#[derive(Debug)]
pub struct QueryLog {
    sink: LogSink,
    anonymise: AnonymiseMode,
}

impl QueryLog {
    /// Opens the log of a setting that may be absent, with files relative to `base`. What is wrong
    /// has a path below `query_log`.
    pub fn open_if(
        choice: Option<&QueryLogChoice>,
        base: &Path,
    ) -> Result<Option<Self>, Complaint> {
        let opened = choice.map(|choice| Self::open(choice, base)).transpose();
        opened.map_err(|wrong| wrong.under("query_log"))
    }

    fn open(choice: &QueryLogChoice, base: &Path) -> Result<Self, Complaint> {
        let settings = choice.settings();
        let syslog = settings.syslog.as_ref().map(SyslogChoice::settings);
        let destination = match &syslog {
            None => Some(LogDestination::of_file(&settings.file, base)),
            Some(syslog) => LogDestination::of_syslog(syslog, "query"),
        };
        let no_address = || Complaint::new("syslog", "it has no address");
        let sink = LogSink::open(&destination.ok_or_else(no_address)?).map_err(|why| {
            let place = if syslog.is_some() { "syslog" } else { &settings.file };
            Complaint::new("", format!("{place}: {why}"))
                .remedy("name a file that this user may write")
        })?;
        Ok(Self { sink, anonymise: settings.anonymise.unwrap_or(AnonymiseMode::None) })
    }

    /// Writes one line, to the thread's buffer.
    pub fn write(&self, entry: &QueryLogEntry<'_>) {
        let entry = QueryLogEntry { client: self.anonymise.stored(entry.client), ..*entry };
        self.sink.write(|out| line::write(out, &entry));
    }
}
