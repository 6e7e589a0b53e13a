//! Leases of a real server: edges share one limit.

use crate::edge::{TestEdge, clock, clock_ahead, settings};
use rate_limit::{BucketName, SharedRate};
use std::time::{Duration, Instant};
use test_support::{RedisServer, ScratchFolder, until};

const BUCKET: BucketName = BucketName(7);

#[test]
fn edges_whose_clocks_are_an_hour_apart_keep_one_limit_together() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let later = folder.path().join("later");
    std::fs::create_dir_all(&later).unwrap();
    let one = TestEdge::start(&server, "one", folder.path());
    let two = TestEdge::start_with(&settings(&server.url(), ""), "two", &later, clock_ahead);
    for edge in [&one, &two] {
        until("both edges", || edge.leases.standing().edges == 2);
        edge.connected();
    }
    let rate = SharedRate::new(10_000, 20);
    let begun = Instant::now();
    let mut passed = [0u64; 2];
    while begun.elapsed() < Duration::from_secs(2) {
        for (edge, passed) in [&one, &two].into_iter().zip(&mut passed) {
            *passed += u64::from(edge.leases.take(BUCKET, rate, clock().mono_ms).is_taken);
        }
        std::thread::park_timeout(Duration::from_micros(200));
    }
    let ms = begun.elapsed().as_millis() as u64;
    let sum: u64 = passed.iter().sum();
    let most = ms / 10 + 20 + 20 + 2;
    assert!(sum <= most, "{passed:?} in {ms} ms, at most {most}");
    assert!(sum >= ms / 10 / 2, "{passed:?} in {ms} ms");
    assert!(one.live.health().degraded_since_ms.is_none());
    assert!(server.cli(&["KEYS", "tidegate:limit:*"]).ends_with("0007"));
    assert_ne!(server.cli(&["PTTL", "tidegate:limit:00000000000000000000000000000007"]), "-1");
}

#[test]
fn a_forgotten_script_is_loaded_again() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let one = TestEdge::start(&server, "one", folder.path());
    one.connected();
    server.cli(&["SCRIPT", "FLUSH"]);
    let rate = SharedRate::new(1_000_000, 5);
    one.leases.take(BUCKET, rate, clock().mono_ms);
    until("the bucket", || {
        one.leases.take(BUCKET, rate, clock().mono_ms);
        server.cli(&["EXISTS", "tidegate:limit:00000000000000000000000000000007"]) == "1"
    });
}
