//! An access log that is open: what a door writes its requests to.

use crate::entry::AccessLogEntry;
use crate::line;
use crate::secrets::redact;
use crate::settings::{AccessLogChoice, AccessLogSettings, LogFormat, LoggedQuery, TemplateEscape};
use crate::template::LineTemplate;
use http::HeaderName;
use http::header::{REFERER, USER_AGENT};
use ledger::AnonymiseMode;
use log_sink::{DateKept, LogDestination, LogSink, SyslogChoice};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use vocab::Complaint;

thread_local! {
    static DATE: RefCell<DateKept> = const { RefCell::new(DateKept::EMPTY) };
}

/// An access log.
#[derive(Debug)]
pub struct AccessLog {
    sink: LogSink,
    form: LineForm,
    query: LoggedQuery,
    anonymise: AnonymiseMode,
    /// Fields of requests that its lines have.
    headers: Vec<HeaderName>,
}

/// The form of its lines.
#[derive(Debug)]
pub(crate) enum LineForm {
    Format(LogFormat),
    Template(LineTemplate, TemplateEscape),
}

impl AccessLog {
    /// Opens the log of these settings, with files relative to `base`. What is wrong has a path
    /// relative to the setting.
    pub fn open(choice: &AccessLogChoice, base: &Path) -> Result<Arc<Self>, Complaint> {
        if let Some(wrong) = choice.check().into_iter().next() {
            return Err(wrong);
        }
        let settings = choice.settings();
        let form = match settings.template.as_deref().map(LineTemplate::parse) {
            Some(Ok(template)) => LineForm::Template(template, settings.escape),
            Some(Err(why)) => return Err(Complaint::new("template", why.to_string())),
            None => LineForm::Format(settings.format.unwrap_or_default()),
        };
        let headers = match &form {
            LineForm::Format(LogFormat::Common) => Vec::new(),
            LineForm::Format(LogFormat::Combined | LogFormat::Json) => vec![REFERER, USER_AGENT],
            LineForm::Template(template, _) => {
                template.headers().filter_map(|name| name.parse().ok()).collect()
            }
        };
        let sink = open_sink(&settings, base)?;
        let anonymise = settings.anonymise.unwrap_or(AnonymiseMode::None);
        Ok(Arc::new(Self { sink, form, query: settings.query, anonymise, headers }))
    }

    /// The log of a setting that may be absent; what is wrong has a path below `access_log`.
    pub fn open_if(
        choice: Option<&AccessLogChoice>,
        base: &Path,
    ) -> Result<Option<Arc<Self>>, Complaint> {
        let opened = choice.map(|choice| Self::open(choice, base)).transpose();
        opened.map_err(|wrong| wrong.under("access_log"))
    }

    /// Writes one line, to the thread's buffer.
    pub fn write(&self, entry: &AccessLogEntry<'_>) {
        let target = self.logged(entry.target);
        let referrer = self.referrer(entry);
        let field = |name: &str| match name {
            "referer" => referrer.as_deref(),
            name => (entry.field)(name),
        };
        let client = self.anonymise.stored(entry.client);
        let entry = AccessLogEntry { client, target: &target, field: &field, ..*entry };
        self.sink.write(|out| {
            DATE.with_borrow_mut(|date| line::write(out, &self.form, &entry, date));
        });
    }

    /// Opens the file anew: the old one was moved away.
    pub fn reopen(&self) {
        self.sink.reopen();
    }

    /// Waits until what was logged is written, `patience` at most.
    pub fn finish(&self, patience: Duration) {
        self.sink.finish(patience);
    }

    /// Lines that were dropped because the disk or the server was too slow, full or not there.
    pub fn dropped(&self) -> u64 {
        self.sink.dropped()
    }

    /// Fields of requests that its lines have.
    pub(crate) fn headers(&self) -> &[HeaderName] {
        &self.headers
    }

    fn logged<'u>(&self, url: &'u str) -> Cow<'u, str> {
        match self.query {
            LoggedQuery::Whole => url.into(),
            LoggedQuery::Redacted => redact(url),
            LoggedQuery::None => url.split('?').next().unwrap_or(url).into(),
        }
    }

    /// The `Referer` as it is logged, if it is.
    fn referrer<'e>(&self, entry: &AccessLogEntry<'e>) -> Option<Cow<'e, [u8]>> {
        let sent = self.headers.contains(&REFERER).then(|| (entry.field)("referer"))??;
        if self.query == LoggedQuery::Whole || !sent.contains(&b'?') {
            return Some(sent.into());
        }
        let text = String::from_utf8_lossy(sent);
        Some(self.logged(&text).into_owned().into_bytes().into())
    }
}

fn open_sink(settings: &AccessLogSettings, base: &Path) -> Result<LogSink, Complaint> {
    let syslog = settings.syslog.as_ref().map(SyslogChoice::settings);
    let destination = match &syslog {
        None => Some(LogDestination::of_file(&settings.file, base)),
        Some(syslog) => LogDestination::of_syslog(syslog, "access"),
    };
    let destination = destination.ok_or_else(|| Complaint::new("syslog", "it has no address"))?;
    LogSink::open(&destination).map_err(|why| {
        let place = if syslog.is_some() { "syslog" } else { &settings.file };
        Complaint::new("", format!("{place}: {why}")).remedy("name a file that this user may write")
    })
}
