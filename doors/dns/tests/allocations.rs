//! What is at hand costs no allocation: counted on the threads that answer over UDP.
//!
//! The allocator of this test counts by thread; it stands alone here because it is the whole
//! process's.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use support::fixed::foreign;
use support::{A, AAAA, Bench, TXT, query, query_edns, receive};

/// Threads are told apart by their numbers' last 16 bits.
const THREADS: usize = 1 << 16;
static COUNTS: [AtomicU64; THREADS] = [const { AtomicU64::new(0) }; THREADS];

thread_local! {
    /// The thread's number; 0 until it is asked for.
    static NUMBER: Cell<i32> = const { Cell::new(0) };
}

struct Counting;

fn count() {
    // While a thread ends it has no number any more, and nobody counts its last steps.
    let _ = NUMBER.try_with(|number| {
        if number.get() == 0 {
            number.set(rustix::thread::gettid().as_raw_nonzero().get());
        }
        COUNTS[number.get().unsigned_abs() as usize % THREADS].fetch_add(1, Ordering::Relaxed);
    });
}

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call goes to the system's allocator as it came. Counting allocates nothing: its
// place is static, and the thread's number has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations so far of the threads that answer over UDP.
fn allocations() -> u64 {
    let mut sum = 0;
    let mut found = false;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        // A thread may have ended in between.
        let Ok(name) = std::fs::read_to_string(task.path().join("comm")) else { continue };
        if name.starts_with("dns-udp") {
            let number: usize = task.file_name().to_str().unwrap().parse().unwrap();
            sum += COUNTS[number % THREADS].load(Ordering::Relaxed);
            found = true;
        }
    }
    assert!(found, "there is no such thread");
    sum
}

fn ask(bench: &Bench, client: &std::net::UdpSocket, packet: &[u8], rounds: u16) {
    assert!(bench.address(vocab::Scheme::Udp) == client.peer_addr().unwrap());
    for _ in 0..rounds {
        client.send(packet).unwrap();
        receive(client);
    }
}

/// The fewest allocations of three tries: a thread that starts late makes its buffers in one of
/// them, and what a question costs shows in all.
fn least(work: impl Fn()) -> u64 {
    let tries = (0..3).map(|_| {
        let before = allocations();
        work();
        allocations() - before
    });
    tries.min().unwrap()
}

/// One test, since the threads of all doors in this process are counted together.
#[test]
fn what_is_at_hand_is_answered_without_an_allocation() {
    our_own_settings();
    a_mosdns_file();
}

fn a_mosdns_file() {
    let plugins = json!([
        { "tag": "names", "type": "domain_set", "args": { "exps": ["full:set.test", "keyword:word"] } },
        { "tag": "own", "type": "hosts", "args": { "entries": ["near.test 192.0.2.7"] } },
        { "tag": "kept", "type": "cache", "args": { "size": 1024 } },
    ]);
    let upstream = support::Upstream::start();
    let rules = json!([
        { "exec": "$own" },
        { "matches": "has_resp", "exec": "accept" },
        { "matches": "qname $names", "exec": "reject 3" },
        { "matches": "qtype 28", "exec": "black_hole 192.0.2.9 2001:db8::9" },
        { "matches": "has_resp", "exec": "accept" },
        { "exec": "$kept" },
        { "matches": "has_resp", "exec": "accept" },
        { "exec": format!("forward udp://{}", upstream.address) },
    ]);
    let foreign = foreign(&plugins, &rules);
    let bench = Bench::start(|settings| settings.foreign = Some(foreign));
    bench.ledger.apply(&ledger::Settings { log: ledger::LogScope::None, ..Default::default() });
    let client = bench.client();
    for (what, packet) in [
        ("from hosts", query(1, "near.test", A)),
        ("from a set of names", query_edns(2, "set.test", A)),
        ("by a keyword", query_edns(3, "a.sword.test", A)),
        ("from a black hole", query_edns(4, "www.test", AAAA)),
        ("from the cache", query_edns(5, "www.test", A)),
    ] {
        ask(&bench, &client, &packet, 50);
        assert_eq!(least(|| ask(&bench, &client, &packet, 500)), 0, "{what}");
    }
}

fn our_own_settings() {
    let bench = Bench::start(|settings| {
        settings.local = vec!["near.test A 192.0.2.7".into()];
        settings.filter_types = vec!["AAAA".into()];
        settings.rate_limit.queries_per_second = Some(1_000_000);
    });
    // The query log packs its rows into a buffer that grows; that is counted below.
    bench.ledger.apply(&ledger::Settings { log: ledger::LogScope::None, ..Default::default() });
    let client = bench.client();
    let ask = |packet: &[u8], rounds| ask(&bench, &client, packet, rounds);
    let cookie = {
        let mut packet = query_edns(9, "www.test", A);
        let length = packet.len() - 2;
        packet[length..].copy_from_slice(&[0, 12]);
        packet.extend(b"\0\x0a\0\x08COOKIE!!");
        packet
    };
    let unread = [&query(8, "www.test", A)[..4], &[0, 2][..], &[0; 6]].concat();
    for (what, packet) in [
        ("from the cache", query(1, "www.test", A)),
        ("from the cache with EDNS", query_edns(2, "WwW.test", A)),
        ("from the cache, long, so truncated", query_edns(3, "big.test", TXT)),
        ("no such name, from the cache", query_edns(4, "gone.test", A)),
        ("a local record", query_edns(5, "near.test", A)),
        ("a special name", query_edns(6, "localhost", A)),
        ("a filtered type", query_edns(7, "www.test", AAAA)),
        ("blocked", query_edns(8, "ads.blocked.test", A)),
        ("with a cookie", cookie),
        ("no question", unread),
    ] {
        // The first brings it into the cache, and the rest warms what grows once.
        ask(&packet, 50);
        assert_eq!(least(|| ask(&packet, 500)), 0, "{what}");
    }
    bench.ledger.apply(&ledger::Settings::default());
    let before = allocations();
    ask(&query(10, "www.test", A), 5000);
    // Two buffers, which double from some bytes to what 5,000 rows take, however often.
    let grown = allocations() - before;
    assert!(grown <= 500, "{grown} allocations for 5,000 rows of the log");
}
