//! Keys of TLS tickets, with a real server.

use crate::edge::{TestEdge, clock, settings};
use fleet_live::TicketKeySet;
use test_support::{RedisServer, ScratchFolder, until};

const SECRET: &str = ", \"secret\": \"0123456789abcdef0123456789abcdef\"";

fn edge(server: &RedisServer, folder: &ScratchFolder, name: &str, secret: &str) -> TestEdge {
    let state = folder.path().join(name);
    std::fs::create_dir_all(&state).unwrap();
    TestEdge::start_with(&settings(&server.url(), secret), name, &state, clock)
}

fn keys(edge: &TestEdge) -> TicketKeySet {
    until("keys", || edge.heard.tickets().is_some());
    edge.heard.tickets().unwrap()
}

#[test]
fn edges_of_one_secret_share_keys_that_one_of_them_turns_in_time() {
    let (mut server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let one = edge(&server, &folder, "one", SECRET);
    let first = keys(&one);
    let two = edge(&server, &folder, "two", SECRET);
    assert_eq!(keys(&two), first);
    let held = server.cli(&["HGET", "tidegate:ticket-keys", "keys"]);
    let clear: Vec<String> = first.keys()[0].iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!held.contains(&clear.concat()) && held.len() > 256, "sealed");

    server.cli(&["HSET", "tidegate:ticket-keys", "made", "0"]);
    until("both to turn", || [&one, &two].iter().all(|it| keys(it) != first));
    assert_eq!(keys(&one), keys(&two));
    assert_eq!(server.cli(&["HGET", "tidegate:ticket-keys", "number"]), "2", "once");
    assert_eq!(keys(&one).keys()[..3], first.keys()[1..]);

    let second = keys(&one);
    server.kill();
    one.lost();
    server.start_again();
    until("the keys at the server", || {
        server.cli(&["HGET", "tidegate:ticket-keys", "number"]) == "1"
    });
    two.connected();
    assert_eq!((keys(&one), keys(&two)), (second.clone(), second), "it lost them, the edges not");
}

#[test]
fn another_secret_opens_nothing_and_none_shares_nothing() {
    let (server, folder) = (RedisServer::start(&[]), ScratchFolder::new());
    let one = edge(&server, &folder, "one", SECRET);
    keys(&one);
    let other = SECRET.replace("abcdef", "fedcba");
    let two = edge(&server, &folder, "two", &other);
    until("the trouble", || {
        two.live.health().trouble.is_some_and(|it| it.contains("another secret"))
    });
    let three = edge(&server, &folder, "three", "");
    three.connected();
    assert_eq!((two.heard.tickets(), three.heard.tickets()), (None, None));
    assert!(two.live.health().degraded_since_ms.is_none(), "all else is shared");
}
