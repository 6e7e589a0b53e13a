//! The server hangs, dies and comes back; nothing that is asked of an edge waits for it.

use crate::edge::{TestEdge, clock, settings};
use rate_limit::{AwayRule, BucketName, SharedRate};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use test_support::{RedisServer, ScratchFolder, until};

#[test]
fn a_server_that_hangs_is_noticed_and_nothing_waits_for_it() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    server.signal("STOP");
    let begun = Instant::now();
    let mut longest = Duration::ZERO;
    let mut round = 0;
    until("both to notice", || {
        let at = Instant::now();
        one.say("k", &format!("said {round}"), None);
        one.live.purge("p".into());
        one.leases.take(BucketName(1), SharedRate::new(1000, 1000), clock().mono_ms);
        longest = longest.max(at.elapsed());
        round += 1;
        let health = [one.live.health(), two.live.health()];
        health.iter().all(|it| it.degraded_since_ms.is_some())
    });
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(longest < Duration::from_millis(100), "a busy machine, but no waiting: {longest:?}");
    let health = one.live.health();
    assert_eq!(health.edges, 2, "the last known number");
    assert!(health.trouble.is_some());
    assert_eq!(one.leases.standing().away, Some(AwayRule::Divide));
    server.signal("CONT");
    two.hears("k", Some(&format!("said {}", round - 1)));
    one.connected();
    assert_eq!(one.leases.standing().away, None);
}

#[test]
fn an_edge_without_a_server_starts_and_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    drop(listener);
    let folder = ScratchFolder::new();
    let settings = settings(&url, ", \"when_away\": \"closed\"");
    let one = TestEdge::start_with(&settings, "one", folder.path(), clock);
    until("the reason", || one.live.health().trouble.is_some());
    let health = one.live.health();
    assert!(health.trouble.as_ref().unwrap().contains("refused"), "{health:?}");
    assert_eq!((health.edges, health.connected), (1, 0));
    assert_eq!(one.leases.standing().away, Some(AwayRule::Closed));
}

#[test]
fn the_number_of_edges_is_known_over_a_restart_without_the_server() {
    let (mut server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    let kept = folder.path().join("one/fleet-live.json");
    until("the file", || {
        std::fs::read_to_string(&kept).is_ok_and(|text| text.contains("\"edges\":2"))
    });
    server.kill();
    drop(one);
    let one = TestEdge::start(&server, "one", &folder.path().join("one"));
    assert_eq!(one.live.health().edges, 2);
    drop(two);
}

#[test]
fn what_was_not_told_is_told_after_a_restart() {
    let (mut server, folder) = (RedisServer::start(&["--appendonly", "yes"]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    server.kill();
    one.lost();
    one.take_back("k");
    one.live.purge("p".into());
    drop(one);
    let state = folder.path().join("one");
    assert!(state.join("fleet-live.outbox").exists());
    server.start_again();
    let one = TestEdge::start(&server, "one", &state);
    two.hears("k", None);
    until("the purge", || two.heard.purges() == ["p"]);
    one.connected();
    until("the file to go", || !state.join("fleet-live.outbox").exists());
}

/// A way to a server that can be cut: bytes go nowhere, and nobody is told.
struct CutWay {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl CutWay {
    fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::<AtomicBool>::default();
        let cut = Arc::clone(&is_cut);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let onward = TcpStream::connect(("127.0.0.1", server)).unwrap();
                for (from, to) in [(&client, &onward), (&onward, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let cut = Arc::clone(&cut);
                    std::thread::spawn(move || carry(from, to, &cut));
                }
            }
        });
        Self { port, is_cut }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_cut.load(SeqCst) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_cut_way_is_noticed_without_a_word_and_mended() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let way = CutWay::to(server.port());
    let url = format!("redis://127.0.0.1:{}", way.port);
    let one = TestEdge::start_with(&settings(&url, ""), "one", folder.path(), clock);
    one.connected();
    way.is_cut.store(true, SeqCst);
    let begun = Instant::now();
    one.lost();
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    one.say("k", "v", None);
    way.is_cut.store(false, SeqCst);
    until("what waited", || server.cli(&["HGET", "tidegate:entries", "k"]).ends_with(" v"));
}

#[test]
fn an_edge_that_ends_is_not_counted_any_more() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    drop(two);
    until("one", || one.live.health().edges == 1);
}
