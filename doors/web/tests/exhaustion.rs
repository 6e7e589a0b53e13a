//! Out of file descriptors. In a program of its own: the limit is the whole process's.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[allow(dead_code, unreachable_pub, reason = "what the other tests of the door need of it")]
#[path = "it/support.rs"]
mod support;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use support::{Answer, Edge, Folder, send};

fn limit(descriptors: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(descriptors), maximum }).unwrap();
}

#[test]
fn without_descriptors_the_door_says_so_and_recovers() {
    let base = Folder::new();
    base.write("www/small.txt", "small");
    base.write("www/large.bin", vec![7; 1 << 20]);
    let edge = Edge::start(&base);
    let mut kept = edge.connect();
    let mut ask = |path: &str| {
        send(&mut kept, "www.example", &format!("GET {path}"), &[]);
        Answer::read(&mut kept)
    };
    // Until it is answered from memory.
    for _ in 0..3 {
        assert_eq!(ask("/small.txt").text(), "small");
    }
    let before = getrlimit(Resource::Nofile).current.unwrap();
    limit(256);
    let mut hoard = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        hoard.push(file);
    }
    // One for the client's end: the door has none for its own, and the connection waits.
    hoard.pop();
    let mut waiting = edge.connect();
    send(&mut waiting, "www.example", "GET /small.txt", &[]);
    // What is in memory is served on, what must be opened is not, and the connection lives.
    for _ in 0..50 {
        assert_eq!(ask("/small.txt").text(), "small");
        let failed = ask("/large.bin");
        assert_eq!(failed.status, 500, "{}", failed.text());
    }
    assert!(hoard.len() > 100, "the descriptors were short");
    drop(hoard);
    limit(before);
    assert_eq!(Answer::read(&mut waiting).text(), "small");
    assert_eq!(ask("/large.bin").body.len(), 1 << 20);
}
