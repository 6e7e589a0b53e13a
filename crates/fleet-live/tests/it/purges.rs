//! Purges: in order, after an absence too, and everything where some were missed.

use crate::edge::TestEdge;
use test_support::{RedisServer, ScratchFolder, until};

fn edge(server: &RedisServer, folder: &ScratchFolder) -> TestEdge {
    let edge = TestEdge::start(server, "two", folder.path());
    edge.connected();
    edge
}

fn told(edge: &TestEdge) {
    until("the purges to be told", || edge.live.health().waiting == 0);
}

#[test]
fn purges_are_done_everywhere_else_and_in_their_order() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    for number in 0..50 {
        one.live.purge(format!("p{number}"));
    }
    until("all", || two.heard.purges().len() == 50);
    assert_eq!(two.heard.purges()[..3], ["p0", "p1", "p2"]);
    assert!(one.heard.purges().is_empty(), "it has done them itself");
}

#[test]
fn an_edge_that_was_away_does_what_it_missed_and_nothing_twice() {
    let (server, folders) = (RedisServer::start(&[]), [ScratchFolder::new(), ScratchFolder::new()]);
    let one = TestEdge::start(&server, "one", folders[0].path());
    one.connected();
    one.live.purge("before it was there".into());
    told(&one);
    let two = edge(&server, &folders[1]);
    one.live.purge("seen".into());
    until("one", || two.heard.purges() == ["seen"]);
    drop(two);
    one.live.purge("missed".into());
    told(&one);
    let two = edge(&server, &folders[1]);
    assert_eq!(two.heard.purges(), ["missed"]);
    drop(two);
    let two = edge(&server, &folders[1]);
    assert!(two.heard.purges().is_empty());
}

#[test]
fn an_edge_that_was_away_too_long_drops_everything_and_goes_on_from_there() {
    let (server, folders) = (RedisServer::start(&[]), [ScratchFolder::new(), ScratchFolder::new()]);
    let one = TestEdge::start(&server, "one", folders[0].path());
    one.connected();
    drop(edge(&server, &folders[1]));
    for number in 0..9 {
        one.live.purge(format!("p{number}"));
    }
    told(&one);
    server.cli(&["XTRIM", "tidegate:purges", "MAXLEN", "4"]);
    let two = edge(&server, &folders[1]);
    assert_eq!(two.heard.purges(), ["MISSED", "p6", "p7", "p8"]);
    drop(two);
    one.live.purge("p9".into());
    told(&one);
    server.cli(&["XTRIM", "tidegate:purges", "MAXLEN", "0"]);
    assert_eq!(edge(&server, &folders[1]).heard.purges(), ["MISSED"], "the whole stream");
    assert!(edge(&server, &folders[1]).heard.purges().is_empty());
}

#[test]
fn a_server_that_lost_its_purges_costs_the_caches_once() {
    let (mut server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    one.live.purge("p".into());
    until("it", || two.heard.purges() == ["p"]);
    server.kill();
    one.lost();
    one.live.purge("while it was away".into());
    server.start_again();
    until("what waited", || two.heard.purges().len() >= 2);
    assert_eq!(two.heard.purges()[1], "MISSED");
    one.connected();
    two.connected();
    one.live.purge("q".into());
    until("the next", || two.heard.purges().last().is_some_and(|it| it == "q"));
}
