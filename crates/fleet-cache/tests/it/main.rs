//! Two machines with a real server between them: what one has kept, the other believes, and nothing
//! else.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test fails by panicking, and its name is a sentence"
)]

use fleet_cache::{CachePurge, FleetCache};
use fleet_live::{
    LiveCache, LiveParts, LiveReceiver, LiveSettings, LiveState, PurgeMark, SharedEntry,
    TicketKeySet,
};
use resolver::{SecondLevelAnswer, SecondLevelCache, SecondLevelKey};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use test_support::{RedisCluster, RedisServer, ScratchFolder, until};
use transport::clock;
use vocab::DomainName;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

struct Machine {
    live: LiveState,
    cache: Arc<FleetCache>,
    runtime: tokio::runtime::Runtime,
}

/// Purges are a name, or anything else for everything.
struct Receiver(Arc<FleetCache>);

impl LiveReceiver for Receiver {
    fn entry(&self, _: &SharedEntry) {}
    fn purge(&self, _: &str) {}
    fn purges_missed(&self) {}
    fn purges_at(&self, mark: &PurgeMark, last: Option<&str>) {
        let last = last.map(|it| match it {
            "http" => CachePurge::Responses,
            it => DomainName::parse(it).map_or(CachePurge::All, CachePurge::Name),
        });
        self.0.purged(mark, last.as_ref());
    }
    fn held(&self) -> Vec<SharedEntry> {
        Vec::new()
    }
    fn ticket_keys(&self, _: Option<&TicketKeySet>) {}
}

impl Machine {
    fn start(settings: &serde_json::Value, state: &Path, name: &str) -> Self {
        let state = state.join(name);
        std::fs::create_dir_all(&state).unwrap();
        let settings: LiveSettings = serde_json::from_value(settings.clone()).unwrap();
        assert_eq!(settings.check(), []);
        let values = Arc::<LiveCache>::default();
        let cache = Arc::new(FleetCache::new(&settings, &values).unwrap());
        let parts = LiveParts {
            base: state.clone(),
            state,
            edge: name.into(),
            clock: clock::now,
            receiver: Arc::new(Receiver(Arc::clone(&cache))),
            leases: Arc::default(),
            purge_of_everything: "*".into(),
            cache: values,
            questions: Arc::new(fleet_live::LiveQuestions::declining()),
        };
        let live = LiveState::start(&settings, parts).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let machine = Self { live, cache, runtime };
        until("the server", || machine.live.health().degraded_since_ms.is_none());
        machine
    }

    fn keep(&self, key: &SecondLevelKey, message: &[u8], ttl_s: u32) {
        until("the answer to be taken", || {
            let before = self.cache.counts().told;
            self.cache.keep(key.clone(), message, ttl_s, clock::now());
            self.cache.counts().told > before
        });
    }

    fn look(&self, key: &SecondLevelKey) -> Option<SecondLevelAnswer> {
        self.cache.look(key.clone()).and_then(|look| self.runtime.block_on(look))
    }

    /// Looks until there is an answer: on a busy machine one may be late.
    fn finds(&self, key: &SecondLevelKey) -> SecondLevelAnswer {
        let mut found = None;
        until("an answer", || {
            found = self.look(key);
            found.is_some()
        });
        found.unwrap()
    }

    /// Looks until the server has said, in its time, that there is nothing to be believed.
    fn finds_nothing(&self, key: &SecondLevelKey) {
        until("a word of the server", || {
            let said =
                |machine: &Self| machine.cache.counts().misses + machine.cache.counts().refused;
            let before = said(self);
            assert_eq!(self.look(key), None);
            said(self) > before
        });
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.live.finish();
    }
}

fn settings(server: &RedisServer) -> serde_json::Value {
    serde_json::json!({ "url": server.url(), "secret": SECRET, "cache": { "dns": true } })
}

/// The question for the addresses of a name.
fn key(name: &str) -> SecondLevelKey {
    let name = DomainName::parse(name).unwrap();
    let question = dns_wire::key_of(name.as_name(), 1).unwrap();
    SecondLevelKey { scope: [7; 16], question }
}

fn pair(server: &RedisServer, folder: &ScratchFolder) -> (Machine, Machine) {
    let settings = settings(server);
    let start = |name| Machine::start(&settings, folder.path(), name);
    (start("one"), start("two"))
}

#[test]
fn what_one_keeps_the_other_finds_with_its_age_until_its_end() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = pair(&server, &folder);
    let a = key("a.example");
    two.finds_nothing(&a);
    one.keep(&a, b"answer", 300);
    let found = two.finds(&a);
    assert_eq!(found.message, b"answer");
    assert!(found.age_ms < 60_000, "{found:?}");
    let at_server = server.cli(&["KEYS", "tidegate:cache:*"]);
    assert_eq!(at_server.lines().count(), 1);
    let left: u64 = server.cli(&["TTL", &at_server]).parse().unwrap();
    assert!((240..=300).contains(&left), "{left}");
    let other = SecondLevelKey { scope: [8; 16], ..a.clone() };
    two.finds_nothing(&other);
    one.keep(&a, b"short", 1);
    until("its end", || server.cli(&["EXISTS", &at_server]) == "0");
    two.finds_nothing(&a);
}

#[test]
fn what_somebody_wrote_into_the_server_is_not_believed() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = pair(&server, &folder);
    let (a, b) = (key("a.example"), key("b.example"));
    one.keep(&a, b"answer of a", 300);
    two.finds(&a);
    let name_a = server.cli(&["KEYS", "tidegate:cache:*"]);
    one.keep(&b, b"answer of b", 300);
    two.finds(&b);
    let all = server.cli(&["KEYS", "tidegate:cache:*"]);
    let name_b = all.lines().find(|it| *it != name_a).unwrap();
    assert!(!all.contains("example"));
    // The answer of one name under another.
    server.cli(&["COPY", name_b, &name_a, "REPLACE"]);
    two.finds_nothing(&a);
    server.cli(&["SETRANGE", name_b, "20", "x"]);
    two.finds_nothing(&b);
    let long = "redis.call('SET', KEYS[1], string.rep('x', 5000000))";
    server.cli(&["EVAL", long, "1", name_b]);
    assert_eq!(two.look(&b), None);
    server.cli(&["DEL", name_b]);
    server.cli(&["RPUSH", name_b, "a list"]);
    assert_eq!(two.look(&b), None);
    server.cli(&["DEL", name_b]);
    one.keep(&b, b"again", 300);
    assert_eq!(two.finds(&b).message, b"again");
    assert_eq!(two.live.health().connected, 1, "no session was lost by it");
}

#[test]
fn a_purge_reaches_what_is_kept_and_no_more_than_it_says() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = pair(&server, &folder);
    let (a, b) = (key("a.example"), key("b.example"));
    for key in [&a, &b] {
        one.keep(key, b"answer", 300);
        two.finds(key);
    }
    one.live.purge("http".into());
    one.live.purge("a.example".into());
    one.finds_nothing(&a);
    until("the purge at the other", || two.look(&a).is_none());
    two.finds_nothing(&a);
    two.finds(&b);
    one.keep(&a, b"newer", 300);
    assert_eq!(two.finds(&a).message, b"newer");
    // One that comes later believes what came after the last purge alone.
    let three = Machine::start(&settings(&server), folder.path(), "three");
    assert_eq!(three.finds(&a).message, b"newer");
    three.finds_nothing(&b);
    two.live.purge("*".into());
    two.finds_nothing(&b);
    until("the purge at the other", || one.look(&a).is_none());
    one.finds_nothing(&a);
    server.cli(&["DEL", "tidegate:purge-line", "tidegate:purges"]);
    one.live.purge("a.example".into());
    until("the new line", || one.live.health().waiting == 0);
    one.keep(&b, b"of the new line", 300);
    assert_eq!(two.finds(&b).message, b"of the new line");
}

#[test]
fn a_server_that_hangs_is_left_out_and_a_look_never_takes_longer_than_its_budget() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, _two) = pair(&server, &folder);
    let a = key("a.example");
    one.keep(&a, b"answer", 300);
    one.finds(&a);
    server.signal("STOP");
    let begun = Instant::now();
    let mut asked = 0;
    until("the server to be left out", || {
        asked += 1;
        one.cache.look(a.clone()).is_none_or(|look| {
            assert_eq!(one.runtime.block_on(look), None);
            false
        })
    });
    assert!(one.cache.counts().late >= 1);
    assert!(begun.elapsed() < Duration::from_secs(5), "{asked} looks, {:?}", begun.elapsed());
    let before = one.cache.counts().dropped;
    one.cache.keep(a.clone(), b"answer", 300, clock::now());
    assert_eq!(one.cache.counts().dropped, before + 1, "and nothing waits to be told");
    server.signal("CONT");
    one.finds(&a);
}

#[test]
fn over_a_cluster_answers_are_spread_over_the_nodes() {
    let (cluster, folder) = (RedisCluster::start(3), ScratchFolder::new());
    let nodes = cluster.addresses();
    let settings = serde_json::json!({
        "url": format!("redis://{}", nodes[0]), "cluster": nodes,
        "secret": SECRET, "cache": { "dns": true }
    });
    let start = |name| Machine::start(&settings, folder.path(), name);
    let (one, two) = (start("one"), start("two"));
    for number in 0..30 {
        let key = key(&format!("n{number}.example"));
        one.keep(&key, format!("answer {number}").as_bytes(), 300);
        assert_eq!(two.finds(&key).message, format!("answer {number}").as_bytes());
    }
    for node in &cluster.nodes {
        assert!(!node.cli(&["KEYS", "tidegate:cache:*"]).is_empty());
    }
}

#[test]
fn without_a_secret_check_refuses_it() {
    let settings = serde_json::json!({ "url": "redis://127.0.0.1", "cache": { "dns": true } });
    let settings: LiveSettings = serde_json::from_value(settings).unwrap();
    let complaints = settings.check();
    assert_eq!(complaints[0].path, "cache.dns");
    assert!(complaints[0].remedy.is_some());
    assert!(FleetCache::new(&settings, &Arc::default()).is_none());
}
