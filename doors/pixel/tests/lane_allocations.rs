//! A null answer of the fast path allocates nothing: counted on all threads but the client's.
//!
//! The allocator of this test is the whole process's, so it stands alone.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(dead_code, reason = "the other test needs more of what they share")]

#[path = "pixel/support.rs"]
mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use support::Edge;

static COUNT: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_CLIENT: Cell<bool> = const { Cell::new(false) };
}

struct Counting;

fn count() {
    // A thread that ends has no locals any more, and nobody counts its last steps.
    if IS_CLIENT.try_with(Cell::get) == Ok(false) {
        COUNT.fetch_add(1, Relaxed);
    }
}

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
// SAFETY: every call goes to the system's allocator as it came. Counting allocates nothing: its
// place is static, and the thread's mark has no destructor.
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

/// As a browser asks over HTTP.
const ASKS: [&str; 4] = [
    "GET /ad/pixel.gif?id=1 HTTP/1.1\r\nHost: x.ads.example\r\nAccept: image/avif,image/webp,*/*;q=0.8\r\n\
     Referer: http://news.example/\r\nUser-Agent: Mozilla/5.0\r\nCookie: a=b\r\n\r\n",
    "GET /tag.js HTTP/1.1\r\nHost: ads.example\r\nAccept: */*\r\nReferer: http://news.example/a\r\n\r\n",
    "GET /j?callback=jQuery1 HTTP/1.1\r\nHost: ads.example\r\nAccept: */*\r\n\
     Sec-Fetch-Dest: script\r\nOrigin: https://news.example\r\n\r\n",
    "GET /matomo.js HTTP/1.1\r\nHost: ads.example\r\nSec-Fetch-Dest: script\r\n\r\n",
];
const ROUNDS: u64 = 500;

fn round(stream: &mut TcpStream, room: &mut [u8]) {
    for ask in ASKS {
        stream.write_all(ask.as_bytes()).unwrap();
        let mut filled = 0;
        loop {
            filled += stream.read(&mut room[filled..]).unwrap();
            let Some(head) = room[..filled].windows(4).position(|it| it == b"\r\n\r\n") else {
                continue;
            };
            let text = std::str::from_utf8(&room[..head]).unwrap();
            let (_, length) = text.split_once("content-length: ").unwrap();
            let length: usize = length.split('\r').next().unwrap().parse().unwrap();
            if filled >= head + 4 + length {
                break;
            }
        }
    }
}

#[test]
fn a_null_answer_of_the_quick_lane_allocates_nothing() {
    IS_CLIENT.set(true);
    let edge = Edge::start("||ads.example^\n");
    // A row of the log is the ledger's, and holds its address.
    edge.ledger
        .apply(&ledger::Settings { log: ledger::LogScope::None, ..ledger::Settings::default() });
    let (mut stream, mut room) = (edge.connect(), vec![0; 64 << 10]);
    round(&mut stream, &mut room);
    // The fewest of three tries: a thread that starts late makes its buffers in one of them.
    let tries = (0..3).map(|_| {
        let before = COUNT.load(Relaxed);
        (0..ROUNDS).for_each(|_| round(&mut stream, &mut room));
        COUNT.load(Relaxed) - before
    });
    let least = tries.min().unwrap();
    let answers = ROUNDS * ASKS.len() as u64;
    assert_eq!(edge.figure("tidegate_pixel_quick_total"), 3 * answers + ASKS.len() as u64);
    assert!(least < answers / 100, "{least} allocations for {answers} answers");
}
