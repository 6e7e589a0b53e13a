//! An edge that does nothing but share, and remembers what it heard.

use fleet_live::{EntryBody, LiveParts, LiveReceiver, LiveSettings, LiveState, SharedEntry};
use fleet_live::{HeardQuestions, LiveQuestions, TicketKeySet};
use rate_limit::LeaseBook;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use test_support::{RedisServer, ScratchFolder, until};
use vocab::Now;

/// An edge.
pub(crate) struct TestEdge {
    pub(crate) live: LiveState,
    pub(crate) heard: Arc<HeardWords>,
    pub(crate) leases: Arc<LeaseBook>,
    pub(crate) questions: Arc<LiveQuestions>,
    /// Questions of others, for whoever answers.
    pub(crate) asked: HeardQuestions,
}

/// Holds what an edge heard.
#[derive(Default)]
pub(crate) struct HeardWords {
    entries: Mutex<BTreeMap<String, Option<EntryBody>>>,
    purges: Mutex<Vec<String>>,
    tickets: Mutex<Option<TicketKeySet>>,
}

impl LiveReceiver for HeardWords {
    fn entry(&self, entry: &SharedEntry) {
        self.entries.lock().unwrap().insert(entry.key.clone(), entry.said.clone());
    }

    fn purge(&self, purge: &str) {
        self.purges.lock().unwrap().push(purge.to_owned());
    }

    fn purges_missed(&self) {
        self.purges.lock().unwrap().push("MISSED".into());
    }

    fn held(&self) -> Vec<SharedEntry> {
        let entries = self.entries.lock().unwrap();
        let held = entries.iter().filter(|(_, said)| said.is_some());
        held.map(|(key, said)| SharedEntry { key: key.clone(), said: said.clone() }).collect()
    }

    fn ticket_keys(&self, keys: Option<&TicketKeySet>) {
        *self.tickets.lock().unwrap() = keys.cloned();
    }
}

impl HeardWords {
    pub(crate) fn purges(&self) -> Vec<String> {
        self.purges.lock().unwrap().clone()
    }

    pub(crate) fn tickets(&self) -> Option<TicketKeySet> {
        self.tickets.lock().unwrap().clone()
    }

    pub(crate) fn held_entry(&self, key: &str) -> Option<EntryBody> {
        self.entries.lock().unwrap().get(key).cloned().flatten()
    }
}

#[allow(clippy::disallowed_methods, reason = "there is no door here that has the time")]
pub(crate) fn clock() -> Now {
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    Now { unix_ms, mono_ms: unix_ms }
}

/// A clock an hour ahead.
pub(crate) fn clock_ahead() -> Now {
    let now = clock();
    Now { unix_ms: now.unix_ms + 3_600_000, mono_ms: now.mono_ms }
}

pub(crate) fn settings(url: &str, more: &str) -> LiveSettings {
    serde_json::from_str(&format!("{{\"url\": {url:?}{more}}}")).unwrap()
}

impl TestEdge {
    pub(crate) fn start(server: &RedisServer, name: &str, state: &Path) -> Self {
        Self::start_with(&settings(&server.url(), ""), name, state, clock)
    }

    pub(crate) fn start_with(
        settings: &LiveSettings,
        name: &str,
        state: &Path,
        clock: fn() -> Now,
    ) -> Self {
        let heard = Arc::<HeardWords>::default();
        let leases = Arc::<LeaseBook>::default();
        let (questions, asked) = LiveQuestions::answering();
        let questions = Arc::new(questions);
        let parts = LiveParts {
            base: state.to_owned(),
            state: state.to_owned(),
            edge: name.to_owned(),
            clock,
            receiver: Arc::clone(&heard) as _,
            leases: Arc::clone(&leases),
            purge_of_everything: "everything".into(),
            cache: Arc::default(),
            questions: Arc::clone(&questions),
        };
        let live = LiveState::start(settings, parts).unwrap();
        Self { live, heard, leases, questions, asked }
    }

    /// Two that know each other.
    pub(crate) fn pair(server: &RedisServer, folder: &ScratchFolder) -> (Self, Self) {
        let one = folder.path().join("one");
        let two = folder.path().join("two");
        for path in [&one, &two] {
            std::fs::create_dir_all(path).unwrap();
        }
        let (one, two) = (Self::start(server, "one", &one), Self::start(server, "two", &two));
        for edge in [&one, &two] {
            edge.connected();
            until("both edges", || edge.live.health().edges == 2);
        }
        (one, two)
    }

    pub(crate) fn connected(&self) {
        until("the server", || self.live.health().degraded_since_ms.is_none());
    }

    pub(crate) fn lost(&self) {
        until("the loss", || self.live.health().degraded_since_ms.is_some());
    }

    /// Does something by hand: it holds here at once, and the others are told.
    pub(crate) fn say(&self, key: &str, text: &str, until_unix_ms: Option<u64>) {
        let said = Some(EntryBody { text: text.into(), until_unix_ms });
        let entry = SharedEntry { key: key.into(), said };
        self.heard.entry(&entry);
        self.live.tell(entry);
    }

    pub(crate) fn take_back(&self, key: &str) {
        let entry = SharedEntry { key: key.into(), said: None };
        self.heard.entry(&entry);
        self.live.tell(entry);
    }

    /// Waits until it heard this of a key.
    pub(crate) fn hears(&self, key: &str, text: Option<&str>) {
        until(&format!("{key}: {text:?}"), || {
            self.heard.held_entry(key).map(|it| it.text).as_deref() == text
        });
    }
}

impl Drop for TestEdge {
    fn drop(&mut self) {
        self.live.finish();
    }
}
