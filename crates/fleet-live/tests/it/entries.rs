//! Entries: pauses, allows and blocks, as text.

use crate::edge::{TestEdge, clock, clock_ahead, settings};
use std::time::{Duration, Instant};
use test_support::{RedisServer, ScratchFolder, until};

#[test]
fn what_one_edge_says_the_other_hears_within_a_second() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    let begun = Instant::now();
    one.say("allow shop.example", "pass", None);
    two.hears("allow shop.example", Some("pass"));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    two.take_back("allow shop.example");
    one.hears("allow shop.example", None);
}

#[test]
fn an_edge_that_comes_later_learns_everything_and_ends_are_the_servers_moments() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let one = TestEdge::start(&server, "one", folder.path());
    one.connected();
    let until_ms = clock().unix_ms + 600_000;
    one.say("pause", "all", Some(until_ms));
    one.say("gone", "x", None);
    one.take_back("gone");
    until("the entries", || one.live.health().waiting == 0);
    let later = folder.path().join("later");
    std::fs::create_dir_all(&later).unwrap();
    // Its clock is an hour ahead: ten minutes are ten minutes there too.
    let settings = settings(&server.url(), "");
    let two = TestEdge::start_with(&settings, "two", &later, clock_ahead);
    two.hears("pause", Some("all"));
    let ends = two.heard.held_entry("pause").unwrap().until_unix_ms.unwrap();
    assert!(ends.abs_diff(until_ms + 3_600_000) < 2_000, "{ends} {until_ms}");
    assert_eq!(two.heard.held_entry("gone"), None);
}

#[test]
fn the_newest_word_wins_though_the_older_one_comes_later() {
    let (mut server, folder) = (RedisServer::start(&["--appendonly", "yes"]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    server.kill();
    one.lost();
    two.lost();
    one.say("k", "older", None);
    let said = clock().unix_ms;
    until("a later moment", || clock().unix_ms > said);
    two.say("k", "newer", None);
    server.start_again();
    one.hears("k", Some("newer"));
    until("both to have told", || one.live.health().waiting + two.live.health().waiting == 0);
    assert!(server.cli(&["HGET", "tidegate:entries", "k"]).ends_with("newer"));
    two.hears("k", Some("newer"));
}

#[test]
fn a_server_that_lost_everything_learns_it_again() {
    let (mut server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let (one, two) = TestEdge::pair(&server, &folder);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    server.kill();
    server.start_again();
    until("the entry", || server.cli(&["HGET", "tidegate:entries", "k"]).ends_with(" v"));
}

#[test]
fn a_server_with_too_many_entries_takes_no_more_and_the_edge_goes_on() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let fill = "for i=1,4096 do redis.call('HSET', KEYS[1], 'k'..i, '1 -1 x v') end";
    server.cli(&["EVAL", fill, "1", "tidegate:entries"]);
    let one = TestEdge::start(&server, "one", folder.path());
    one.connected();
    one.say("one more", "v", None);
    until("the answer", || one.live.health().waiting == 0);
    assert_eq!(server.cli(&["HLEN", "tidegate:entries"]), "4096");
    one.say("k7", "known ones still change", None);
    until("the change", || server.cli(&["HGET", "tidegate:entries", "k7"]).ends_with("change"));
}

#[test]
fn nonsense_at_the_server_does_no_harm() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    server.cli(&["HSET", "tidegate:entries", "k", "no entry"]);
    let (one, two) = TestEdge::pair(&server, &folder);
    server.cli(&["XADD", "tidegate:changes", "*", "k", "k", "v", "nonsense"]);
    server.cli(&["XADD", "tidegate:changes", "*", "other", "field"]);
    one.say("k", "v", None);
    two.hears("k", Some("v"));
    assert_eq!(two.live.health().connected, 1, "no session was lost by it");
}
