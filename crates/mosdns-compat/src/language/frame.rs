//! What stands around the plugins: `log`, `api`, `runtime`.
//!
//! It is read so that nothing in a file goes unseen; what becomes of it is for the program to say.
//! Called by [`super`].

use super::network;
use super::position::{PlacedWord, ReadNotes, SourcePosition, with_remedy};
use super::tree::{ConfigSection, UnknownKeys};
use serde_json::Value;
use settings::suggest;

/// Holds what is logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// From what importance on. Default: info.
    pub level: LogLevel,
    /// The file; none: standard error (mosdns) or output (OxiDNS).
    pub file: Option<PlacedWord>,
}

/// Tells how important a line must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// All lines.
    Trace,
    /// Nearly all.
    Debug,
    /// What happens in the life of the process.
    #[default]
    Info,
    /// What is not as it should be.
    Warn,
    /// What somebody must mend.
    Error,
    /// None.
    Off,
}

/// Where the peer's own control API listened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiSettings {
    /// The address; one without a host (`:9091`) as all addresses.
    pub listen: PlacedWord,
}

/// Holds how the process runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// Threads. None: as many as cores.
    pub worker_threads: Option<u64>,
}

/// Holds what stands around the plugins of one file.
#[derive(Debug, Default)]
pub(super) struct FileFrame {
    pub(super) log: LogSettings,
    pub(super) api: Option<ApiSettings>,
    pub(super) runtime: RuntimeSettings,
}

const LEVELS: &[(&str, LogLevel)] = &[
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("warn", LogLevel::Warn),
    ("warning", LogLevel::Warn),
    ("error", LogLevel::Error),
    ("dpanic", LogLevel::Error),
    ("panic", LogLevel::Error),
    ("fatal", LogLevel::Error),
    ("trace", LogLevel::Trace),
    ("off", LogLevel::Off),
];

/// Reads the frame of `document`, whose other keys are read elsewhere.
pub(super) fn read(document: &Value, place: &SourcePosition, notes: &ReadNotes) -> FileFrame {
    let mut section = ConfigSection::new(document, place, notes);
    section.value("include");
    section.value("plugins");
    let log = section.section("log").map(log).unwrap_or_default();
    let api = section.section("api").and_then(api);
    let mut runtime = RuntimeSettings::default();
    if !notes.is_mosdns()
        && let Some(mut it) = section.section("runtime")
    {
        runtime.worker_threads = it.whole("worker_threads", 1..=1024);
        it.finish(UnknownKeys::AsUsual);
    }
    if !notes.is_mosdns()
        && let Some(it) = section.section("network")
    {
        let book = network::read(it);
        if place.file().is_none() {
            notes.set_outbound(book);
        }
    }
    section.finish(UnknownKeys::AsUsual);
    FileFrame { log, api, runtime }
}

fn log(mut section: ConfigSection<'_>) -> LogSettings {
    let notes = section.notes;
    let mut log = LogSettings::default();
    if let Some(item) = section.text("level") {
        let word = item.text.to_ascii_lowercase();
        let level = LEVELS.iter().find(|(name, _)| *name == word);
        if level.is_none() {
            let complaint = item.position.complaint(format!("{:?} is no level", item.text));
            let remedy = suggest(&word, LEVELS.iter().map(|(name, _)| *name))
                .unwrap_or_else(|| "debug, info, warn or error".into());
            notes.complain(with_remedy(complaint, Some(remedy)));
        }
        log.level = level.map(|(_, level)| *level).unwrap_or_default();
    }
    log.file = section.text("file");
    if notes.is_mosdns() {
        section.flag("production");
    } else if let Some(mut rotation) = section.section("rotation") {
        rotation.text("type");
        rotation.whole("max_files", 0..=u64::MAX);
        notes.warn(rotation.position.complaint("log files are not rotated: logrotate does that"));
        rotation.finish(UnknownKeys::AsUsual);
    }
    section.finish(UnknownKeys::AsUsual);
    log
}

fn api(mut section: ConfigSection<'_>) -> Option<ApiSettings> {
    let notes = section.notes;
    let value = section.value("http");
    section.finish(UnknownKeys::AsUsual);
    let (value, place) = value?;
    if !value.is_object() {
        let text = super::tree::text_of(value).filter(|it| !it.is_empty())?;
        return Some(ApiSettings { listen: PlacedWord::new(all_addresses(&text), &place) });
    }
    let mut http = ConfigSection::new(value, &place, notes);
    for key in ["ssl", "auth", "cors", "webui"] {
        if let Some((_, place)) = http.value(key) {
            let message = format!("Tidegate's own control API has no use for {key:?}");
            notes.warn(place.complaint(message).remedy("see `admin` in the manual"));
        }
    }
    let listen = http.needed("listen");
    http.finish(UnknownKeys::AsUsual);
    listen.map(|it| ApiSettings { listen: PlacedWord::new(all_addresses(&it.text), &it.position) })
}

/// `:9091` as both peers take it: on all addresses of both families.
fn all_addresses(listen: &str) -> String {
    match listen.split_once(':') {
        Some(("", port)) if !port.starts_with(':') => format!("[::]:{port}"),
        Some(("localhost", port)) => format!("127.0.0.1:{port}"),
        Some(_) | None => listen.to_owned(),
    }
}
