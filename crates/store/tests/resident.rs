//! The account against the allocator: what the store says it holds is what it holds; and a hit
//! allocates nothing.
//!
//! The allocator of this test counts; it stands alone here because it is the whole process's.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_freshness::{CachingRules, RequestFacts, ResponseFacts};
use std::alloc::{GlobalAlloc, Layout, System};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use store::{AnswerPlan, CacheLookup, EntryContent, KeySeed, Settings, Store, StoringAnswer};
use vocab::{ByteSize, Now};

/// Bytes held; it begins high, for what was allocated before is freed later. Only differences
/// count.
static BYTES: AtomicU64 = AtomicU64::new(1 << 40);
static CALLS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as u64, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size as u64, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const NOW: Now = Now { unix_ms: 1_790_000_000_000, mono_ms: 0 };

fn fields() -> HeaderMap {
    // A connection's buffer, of which these are slices, as a server hands them in.
    let buffer = bytes::Bytes::from(vec![b'x'; 8192]);
    let mut fields = HeaderMap::new();
    for (name, length) in [
        ("content-type", 24),
        ("last-modified", 29),
        ("etag", 34),
        ("server", 20),
        ("x-request-id", 36),
        ("accept-ranges", 5),
        ("x-served-by", 10),
    ] {
        let value = HeaderValue::from_maybe_shared(buffer.slice(..length)).unwrap();
        fields.insert(HeaderName::from_static(name), value);
    }
    fields.insert("date", HeaderValue::from_static("Mon, 21 Sep 2026 13:33:20 GMT"));
    fields.insert("cache-control", HeaderValue::from_static("public, max-age=3600"));
    fields
}

struct World {
    store: Arc<Store>,
    rules: CachingRules,
    request: HeaderMap,
}

impl World {
    fn new(memory: u64) -> Self {
        let settings = Settings { memory: ByteSize(memory).into(), ..Settings::default() };
        let (store, _) = Store::open(settings, KeySeed([9; 16]), 2, NOW).unwrap();
        Self { store, rules: CachingRules::forward(), request: HeaderMap::new() }
    }

    fn look_up(&self, url: &str) -> CacheLookup {
        let asked = RequestFacts { method: &Method::GET, url, fields: &self.request, now: NOW };
        self.store.look_up(&self.store.key(url), &self.rules, &asked)
    }

    fn storing(&self, url: &str, length: Option<usize>) -> Option<StoringAnswer> {
        let CacheLookup::Fetch(permit) = self.look_up(url) else { return None };
        let asked = RequestFacts { method: &Method::GET, url, fields: &self.request, now: NOW };
        let mut fields = fields();
        if let Some(length) = length {
            fields.insert("content-length", length.into());
        }
        let ms = NOW.unix_ms;
        let answered = ResponseFacts {
            status: StatusCode::OK,
            fields: &fields,
            requested_ms: ms,
            received_ms: ms,
        };
        match permit.answered(&self.rules, &asked, &answered) {
            AnswerPlan::Storing(storing) => Some(*storing),
            _ => None,
        }
    }

    fn put(&self, url: &str, body: &[u8]) -> bool {
        let Some(mut storing) = self.storing(url, Some(body.len())) else { return false };
        write(&mut storing, body);
        storing.finish(NOW).is_ok()
    }

    fn held(&self) -> u64 {
        self.store.budget().total()
    }
}

fn write(storing: &mut StoringAnswer, bytes: &[u8]) -> bool {
    pin!(storing.write(bytes)).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(Ok(()))
}

/// One test, for the counters are the process's.
#[test]
fn the_account_is_what_the_allocator_says() {
    small_objects();
    large_objects();
    fetches_under_way();
    hits();
}

fn small_objects() {
    let world = World::new(64 << 20);
    let (bytes, held) = (BYTES.load(Ordering::Relaxed), world.held());
    let body = vec![1; 4096];
    for number in 0..5000 {
        assert!(world.put(&format!("http://example.test/page/{number}"), &body));
    }
    let (bytes, held) = (BYTES.load(Ordering::Relaxed) - bytes, world.held() - held);
    assert_eq!(world.store.stats().memory.entries, 5000);
    assert!(bytes <= held, "more is held than is counted: {bytes} and {held}");
    assert!(held < bytes * 5 / 4, "much more is counted than is held: {bytes} and {held}");
}

fn large_objects() {
    let world = World::new(64 << 20);
    let (bytes, held) = (BYTES.load(Ordering::Relaxed), world.held());
    for number in 0..10 {
        let url = format!("http://example.test/film/{number}");
        let mut storing = world.storing(&url, None).unwrap();
        (0..100).for_each(|_| assert!(write(&mut storing, &[number; 10_001])));
        storing.finish(NOW).unwrap();
    }
    let (bytes, held) = (BYTES.load(Ordering::Relaxed) - bytes, world.held() - held);
    assert!(bytes <= held && held < bytes * 21 / 20, "{bytes} and {held}");
}

fn fetches_under_way() {
    let world = World::new(64 << 20);
    let urls: Vec<_> = (0..1000).map(|number| format!("http://example.test/{number}")).collect();
    let mut fetches = Vec::with_capacity(1000);
    let (bytes, held) = (BYTES.load(Ordering::Relaxed), world.held());
    for url in &urls {
        let mut storing = world.storing(url, None).unwrap();
        let mut reader = storing.take_reader().unwrap();
        let waiting = reader.poll_next(&mut Context::from_waker(Waker::noop()));
        assert!(waiting.is_pending() && write(&mut storing, b"first"));
        fetches.push((storing, reader));
    }
    let (bytes, held) = (BYTES.load(Ordering::Relaxed) - bytes, world.held() - held);
    assert!(bytes <= held && held < bytes * 5 / 4, "{bytes} and {held}");
    drop(fetches);
    assert_eq!(world.store.stats().window_bytes, 0);
}

fn hits() {
    let world = World::new(64 << 20);
    let (small, large) = ("http://example.test/small", "http://example.test/large");
    assert!(world.put(small, &[1; 4096]) && world.put(large, &vec![1; 400_000]));
    let keys = [world.store.key(small), world.store.key(large)];
    let calls = CALLS.load(Ordering::Relaxed);
    for (key, url) in keys.iter().zip([small, large]) {
        let asked = RequestFacts { method: &Method::GET, url, fields: &world.request, now: NOW };
        let CacheLookup::Hit(entry, _) = world.store.look_up(key, &world.rules, &asked) else {
            panic!("it is stored")
        };
        let EntryContent::Memory(body) = entry.content() else { panic!("it is in memory") };
        let sent: usize = body.chunks(0..u64::MAX).map(|piece| piece.len()).sum();
        assert_eq!(sent as u64, body.len());
    }
    assert_eq!(CALLS.load(Ordering::Relaxed), calls, "a hit allocates nothing");
}
