//! The logger of the process: takes messages of every thread, and hands lines to a sink.
//!
//! Nobody waits for it. A thread of its own, which sleeps while nothing is repeated, tells counts
//! of repeats when they are due.

use crate::line::{journal_entry, line, severity};
use crate::repeats::{LoggedMessage, RecentMessages, RepeatVerdict};
use crate::settings::{JOURNAL_NAME, LogForm, LogLevel, LogPart, ProgramLogSettings};
use arc_swap::ArcSwapOption;
use log::{LevelFilter, Log, Metadata, Record};
use log_sink::{LogDestination, LogSink, SyslogChoice};
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vocab::Complaint;

static LOGGER: ProgramLogger = ProgramLogger {
    state: ArcSwapOption::const_empty(),
    recent: Mutex::new(None),
    repeated: Condvar::new(),
};

/// A second reader of everything that is written: level, part, text.
pub type LogMirror = fn(log::Level, &'static str, &str);

static MIRROR: OnceLock<LogMirror> = OnceLock::new();

/// Has `mirror` told of everything that is written from now on. It must not log; the first one
/// stays.
pub fn mirror(mirror: LogMirror) {
    let _ = MIRROR.set(mirror);
}

/// The logger of the process.
struct ProgramLogger {
    state: ArcSwapOption<LoggerState>,
    recent: Mutex<Option<RecentMessages>>,
    /// Told when a message is repeated for the first time.
    repeated: Condvar,
}

/// The form of a message on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageForm {
    Line(LogForm),
    /// A journal's entry, with fields.
    Entry,
}

/// A logger by its settings.
struct LoggerState {
    sink: LogSink,
    form: MessageForm,
    level: LevelFilter,
    /// Levels of the parts, in their order.
    parts: [LevelFilter; LogPart::ALL.len()],
    window: Duration,
}

/// A log that is open and not in force yet.
pub struct OpenedLog(Arc<LoggerState>);

/// Opens the log of these settings, with files relative to `base`. What is wrong has a path below
/// `log`.
pub fn open(settings: &ProgramLogSettings, base: &Path) -> Result<OpenedLog, Complaint> {
    let syslog = settings.syslog.as_ref().map(SyslogChoice::settings);
    let file = settings.file.as_deref().unwrap_or("stderr");
    let destination = match &syslog {
        None if file == JOURNAL_NAME => Some(LogDestination::of_journal()),
        None => Some(LogDestination::of_file(file, base)),
        Some(syslog) => LogDestination::of_syslog(syslog, "program"),
    };
    let no_address = || Complaint::new("log.syslog", "it has no address");
    let destination = destination.ok_or_else(no_address)?;
    let (sink, form) = open_in_form(&destination, settings.format).map_err(|why| {
        let path = if syslog.is_some() { "log.syslog" } else { "log.file" };
        let remedy = match destination {
            LogDestination::Journal(_) => "leave file out where no journal of systemd is there",
            _ => "name a file that this user may write",
        };
        Complaint::new(path, format!("{file}: {why}")).remedy(remedy)
    })?;
    let level = filter(settings.level);
    let of_part = |part| settings.targets.get(&part).map_or(level, |level| filter(*level));
    Ok(OpenedLog(Arc::new(LoggerState {
        sink,
        form,
        level,
        parts: LogPart::ALL.map(of_part),
        window: settings.repeats.0.0,
    })))
}

/// Opens a destination, and finds the form of what goes there. Standard error that leads to the
/// journal is passed by, for the journal's own protocol has fields; where its socket is not to be
/// had, as in a chroot, lines go there with their severity.
fn open_in_form(
    destination: &LogDestination,
    wanted: LogForm,
) -> io::Result<(LogSink, MessageForm)> {
    let is_at_journal = || *destination == LogDestination::Errors && leads_to_journal();
    let form = match wanted {
        _ if matches!(destination, LogDestination::Journal(_)) => MessageForm::Entry,
        LogForm::Auto if is_at_journal() => {
            if let Ok(sink) = LogSink::open(&LogDestination::of_journal()) {
                return Ok((sink, MessageForm::Entry));
            }
            MessageForm::Line(LogForm::Journald)
        }
        LogForm::Auto => MessageForm::Line(LogForm::Text),
        form => MessageForm::Line(form),
    };
    LogSink::open(destination).map(|sink| (sink, form))
}

impl OpenedLog {
    /// Puts it in force, from now on and for every thread.
    pub fn take_over(self) {
        let Self(state) = self;
        let finest = state.parts.iter().copied().fold(state.level, Ord::max);
        log::set_max_level(finest);
        LOGGER.state.store(Some(state));
        // An error tells that it is the logger already.
        if log::set_logger(&LOGGER).is_ok() {
            *LOGGER.recent() = Some(RecentMessages::default());
            let thread = std::thread::Builder::new().name("log-repeats".into());
            // Without it counts are told with the next message.
            let _ = thread.spawn(|| LOGGER.tell_repeats());
        }
    }
}

/// Waits until everything that was logged is written, to this log and to all others, `patience` at
/// most: for the end of the program. Blocks its thread.
pub fn finish(patience: Duration) {
    LOGGER.flush();
    log_sink::finish_all(patience);
}

/// True once messages are written.
pub fn is_started() -> bool {
    LOGGER.state.load().is_some()
}

/// A log for a part that hands out whole sentences, of one level. A sentence that begins with the
/// part's name, as in `web: …`, is told without it.
pub fn part_log(part: LogPart, level: log::Level) -> Arc<dyn Fn(&str) + Send + Sync> {
    Arc::new(move |text| {
        let target = part.as_str();
        let text = text.strip_prefix(target).and_then(|it| it.strip_prefix(": ")).unwrap_or(text);
        log::log!(target: target, level, "{text}");
    })
}

/// True if standard error is the stream that systemd has connected to the journal.
fn leads_to_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(stat) = rustix::fs::fstat(io::stderr()) else { return false };
    stream == format!("{}:{}", stat.st_dev, stat.st_ino)
}

const fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::Error,
        LogLevel::Warn => LevelFilter::Warn,
        LogLevel::Info => LevelFilter::Info,
        LogLevel::Debug => LevelFilter::Debug,
    }
}

impl Log for ProgramLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let state = self.state.load();
        let part = LogPart::of(metadata.target());
        state.as_ref().zip(part).is_some_and(|(state, part)| {
            let place = LogPart::ALL.iter().position(|it| *it == part);
            place.is_some_and(|place| metadata.level() <= state.parts[place])
        })
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let (Some(state), Some(part)) = (self.state.load_full(), LogPart::of(record.target()))
        else {
            return;
        };
        let text = record.args().to_string();
        let place = record.file_static().zip(record.line());
        let message = LoggedMessage { level: record.level(), target: part.as_str(), text, place };
        let now = Instant::now();
        let (due, verdict) = match &mut *self.recent() {
            Some(recent) => (recent.take_due(now), recent.note(&message, state.window, now)),
            None => (Vec::new(), RepeatVerdict::Written),
        };
        state.tell(due);
        match verdict {
            RepeatVerdict::Written => state.write(&message),
            RepeatVerdict::Counted => self.repeated.notify_one(),
        }
    }

    fn flush(&self) {
        let all = self.recent().as_mut().map(RecentMessages::take_all);
        if let (Some(state), Some(all)) = (self.state.load_full(), all) {
            state.tell(all);
        }
    }
}

impl ProgramLogger {
    fn recent(&self) -> MutexGuard<'_, Option<RecentMessages>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells counts of repeats when they are due, until the program ends.
    fn tell_repeats(&self) {
        let mut recent = self.recent();
        loop {
            let due = recent.as_ref().and_then(RecentMessages::next_due);
            recent = match due {
                None => self.repeated.wait(recent).unwrap_or_else(PoisonError::into_inner),
                Some(due) => {
                    let left = due.saturating_duration_since(Instant::now());
                    let waited = self.repeated.wait_timeout(recent, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            let over = recent.as_mut().map(|it| it.take_due(Instant::now())).unwrap_or_default();
            if let Some(state) = self.state.load_full().filter(|_| !over.is_empty()) {
                drop(recent);
                state.tell(over);
                recent = self.recent();
            }
        }
    }
}

impl LoggerState {
    fn tell(&self, repeated: Vec<(LoggedMessage, u64)>) {
        for (message, count) in repeated {
            let text = format!("{} (repeated {count} times)", message.text);
            self.write(&LoggedMessage { text, ..message });
        }
    }

    fn write(&self, message: &LoggedMessage) {
        #[expect(clippy::disallowed_methods, reason = "a line carries the time it is written at")]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let line = match self.form {
            MessageForm::Line(form) => line(message, form, now.as_millis() as u64),
            MessageForm::Entry => journal_entry(message),
        };
        self.sink.write_now(line, severity(message.level));
        if let Some(mirror) = MIRROR.get() {
            mirror(message.level, message.target, &message.text);
        }
    }
}

#[cfg(test)]
mod tests;
