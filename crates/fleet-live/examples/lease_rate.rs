//! Costs of shared limits: a token from memory, and leases a second of a real server.
//!
//! `cargo run --release -p fleet-live --example lease_rate -- redis://127.0.0.1:6379`,
//! and behind it a number of edges and the other nodes of a cluster as `HOST:PORT`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for figures prints them, and stops at the first surprise"
)]

use fleet_live::{LiveParts, LiveReceiver, LiveState, SharedEntry, TicketKeySet};
use rate_limit::{BucketName, FleetStanding, LeaseBook, LeaseGrant, SharedRate};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use vocab::Now;

/// Tokens taken from memory.
const TAKEN: u64 = 10_000_000;
/// Time for which leases are counted.
const COUNTED: Duration = Duration::from_secs(5);
/// Buckets of each edge.
const BUCKETS: u128 = 10_000;

/// Odd number that spreads names over all of their bits.
const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

struct DeafReceiver;

impl LiveReceiver for DeafReceiver {
    fn entry(&self, _: &SharedEntry) {}
    fn purge(&self, _: &str) {}
    fn purges_missed(&self) {}
    fn held(&self) -> Vec<SharedEntry> {
        Vec::new()
    }
    fn ticket_keys(&self, _: Option<&TicketKeySet>) {}
}

#[allow(clippy::disallowed_methods, reason = "there is no door here that has the time")]
fn clock() -> Now {
    let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    Now { unix_ms, mono_ms: unix_ms }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let url = args.next().unwrap_or_else(|| "redis://127.0.0.1:6379".into());
    let edges: u32 = args.next().map_or(1, |it| it.parse().unwrap());
    let cluster: Vec<String> = args.collect();
    from_memory();
    let folder = std::env::temp_dir().join(format!("lease-rate-{}", std::process::id()));
    let states: Vec<(LiveState, Arc<LeaseBook>)> = (0..edges)
        .map(|number| {
            let state = folder.join(number.to_string());
            std::fs::create_dir_all(&state).unwrap();
            let settings =
                serde_json::json!({ "url": url, "prefix": "lease-rate", "cluster": cluster });
            let leases = Arc::<LeaseBook>::default();
            let parts = LiveParts {
                base: state.clone(),
                state,
                edge: format!("edge-{number}"),
                clock,
                receiver: Arc::new(DeafReceiver),
                leases: Arc::clone(&leases),
                purge_of_everything: "everything".into(),
                cache: Arc::default(),
                questions: Arc::new(fleet_live::LiveQuestions::declining()),
            };
            let settings = serde_json::from_value(settings).unwrap();
            (LiveState::start(&settings, parts).unwrap(), leases)
        })
        .collect();
    while states.iter().any(|(state, _)| state.health().degraded_since_ms.is_some()) {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let exchanged = || states.iter().map(|(state, _)| state.health().exchanged).sum::<u64>();
    let (before, begun) = (exchanged(), Instant::now());
    let mut bucket = 0;
    while begun.elapsed() < COUNTED {
        // Every bucket is new or has paid: each token is one lease.
        for (number, (_, leases)) in states.iter().enumerate() {
            for _ in 0..64 {
                bucket = (bucket + 1) % BUCKETS;
                // The first byte decides the node.
                let name = BucketName((bucket + number as u128 * BUCKETS).wrapping_mul(SPREAD));
                leases.take(name, SharedRate::new(1, 1_000_000), clock().mono_ms);
            }
        }
        std::thread::park_timeout(Duration::from_micros(100));
    }
    let leases = exchanged() - before;
    println!("{:.0} leases/s by {edges} edges", leases as f64 / begun.elapsed().as_secs_f64());
    for (state, _) in &states {
        println!("  trouble: {:?}", state.health().trouble);
        state.finish();
    }
    let _ = std::fs::remove_dir_all(folder);
}

/// Takes tokens of one bucket that is always granted what it asks for.
fn from_memory() {
    let book = LeaseBook::default();
    book.set_standing(FleetStanding { edges: 1, away: None });
    let rate = SharedRate::new(1, 1_000_000);
    let mut refused = 0;
    let begun = Instant::now();
    for turn in 0..TAKEN {
        let outcome = book.take(BucketName(1), rate, turn / 1000);
        refused += u64::from(!outcome.is_taken);
        if turn % 1000 == 0 {
            for ask in book.asks(16) {
                let grant = LeaseGrant { granted: ask.wanted, left: 1_000_000, wait_us: 0 };
                book.grant(&ask, grant, turn / 1000);
            }
        }
    }
    let nanos = begun.elapsed().as_nanos() as f64 / TAKEN as f64;
    println!("{nanos:.0} ns a token from memory ({refused} refused)");
}
