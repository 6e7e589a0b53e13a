//! What the tests of several modules share.

use crate::{EventSubject, RequestEvent, RuleTexts};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use vocab::{Action, Caching, Cause, Door, ListId, Name, Now, RequestKind, RuleRef, Source};

/// 2026-11-21T12:00:00Z.
pub(crate) const NOON: u64 = 1_795_262_400_000;

/// Noon, as a request or a question is handed it.
pub(crate) const AT_NOON: Now = Now { unix_ms: NOON, mono_ms: 0 };

/// A look-up of `name` at noon.
pub(crate) fn event(name: &str, action: Action) -> RequestEvent {
    RequestEvent {
        at: AT_NOON,
        duration_us: 41,
        door: Door::Dns,
        client: "192.168.1.77".parse().unwrap(),
        kind: RequestKind::Lookup(1),
        subject: EventSubject::name(Name::from_lowercase(name).unwrap()),
        action,
        cause: match action {
            Action::Pass => Cause::NoRule,
            Action::Block => Cause::Rule(RuleRef { list: ListId(0), line: 12 }),
        },
        source: match action {
            Action::Pass => Source::Cache,
            Action::Block => Source::Policy,
        },
        caching: Caching::NONE,
        status: 0,
        bytes: 120,
    }
}

/// A policy of one list whose every line is a rule about the host asked for.
pub(crate) struct OneList;

impl RuleTexts for OneList {
    fn text(&self, rule: RuleRef, host: &str) -> Option<(String, u32, String)> {
        (rule.list == ListId(0)).then(|| ("ads".into(), rule.line, format!("||{host}^")))
    }
}

/// A folder that is gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("tidegate-ledger-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The names of the files in it.
    pub(crate) fn files(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.0).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
