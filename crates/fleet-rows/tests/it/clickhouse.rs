//! Rows in a real ClickHouse, which is stopped, killed, frozen and filled with the unexpected.

use crate::edge::{DAY_MS, Edge, event, now};
use fleet_rows::{DatabaseLink, MinuteQuestion};
use ledger::{EventSubject, RequestEvent};
use std::time::Duration;
use test_support::{ClickHouseServer, until};
use transport::ClientTls;
use vocab::{Action, Cause, Door, Now, Source};

fn rows(server: &ClickHouseServer, edge: &str) -> String {
    let of = "SELECT count(), uniqExact(sequence) FROM requests FINAL";
    server.query(&format!("{of} WHERE edge = '{edge}'"))
}

fn counted(server: &ClickHouseServer) -> String {
    server.query("SELECT sum(requests) FROM minutes FINAL")
}

#[test]
fn rows_and_minutes_arrive_with_the_words_of_the_api() {
    let server = ClickHouseServer::new();
    let edge = Edge::started("harbour", server.url());
    let at = now();
    let blocked = RequestEvent {
        door: Door::Proxy,
        action: Action::Block,
        cause: Cause::Unlisted,
        source: Source::Policy,
        subject: EventSubject::url("http://a.example/\0ü\"'\\"),
        status: 403,
        client: "2001:db8::1".parse().unwrap(),
        ..event("x.example", at)
    };
    edge.ledger.record(event("www.example", at));
    edge.ledger.record(blocked);
    edge.ledger.flush();
    edge.drain();
    let found = server.query(
        "SELECT edge, sequence, door, client, subject, kind, action, cause, source, status, bytes,
         duration_us, sample, isNull(list), isNull(cache), at_ms FROM requests ORDER BY sequence",
    );
    let at = at.unix_ms;
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        [
            format!("harbour|1|dns|192.168.1.77|www.example|A|pass|none|cache|0|120|41|1|1|1|{at}"),
            format!(
                "harbour|2|proxy|2001:db8::1|http://a.example/\u{fffd}ü\"\\'\\\\|A|block|unlisted|policy\
                 |403|120|41|1|1|1|{at}"
            ),
        ]
    );
    until("minutes arrive", || counted(&server) == "2");
    let edges = "SELECT edge, version, sample, sequence, waiting, dropped FROM edges FINAL";
    assert_eq!(server.query(edges), "harbour|1.2.3|1|2|0|0");
    let other = Edge::started("quay", server.url());
    other.record("n", 3);
    other.drain();
    assert_eq!([rows(&server, "harbour"), rows(&server, "quay")], ["2|2", "3|3"]);
}

#[test]
fn a_database_that_stops_crashes_and_freezes_has_each_row_once() {
    let mut server = ClickHouseServer::new();
    let mut edges = [Edge::started("harbour", server.url()), Edge::started("quay", server.url())];
    let mut recorded = 0;
    let mut record = |edges: &[Edge]| {
        for edge in edges {
            edge.record("n", 2_000);
        }
        recorded += 2_000;
    };
    record(&edges);
    server.end("TERM");
    record(&edges);
    until("the edges notice", || edges.iter().all(|it| it.figures().trouble.is_some()));
    server.start();
    edges.iter().for_each(Edge::drain);
    record(&edges);
    server.end("KILL");
    server.start();
    edges.iter().for_each(Edge::drain);
    server.signal("STOP");
    record(&edges);
    // What is under way is cut off in the middle.
    edges[0].stop();
    server.signal("CONT");
    edges[0].start();
    edges.iter().for_each(Edge::drain);
    for edge in &edges {
        assert_eq!(rows(&server, edge.name), format!("{recorded}|{recorded}"), "{}", edge.name);
    }
    until("the minutes are whole", || counted(&server) == (recorded * 2).to_string());
}

#[test]
fn rows_that_are_sent_again_are_there_once() {
    let server = ClickHouseServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("n", 20);
    edge.drain();
    edge.stop();
    server.query("TRUNCATE TABLE edges");
    edge.record("m", 3);
    edge.start();
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "23|23");
}

#[test]
fn one_row_that_is_not_taken_keeps_no_other_waiting() {
    let server = ClickHouseServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("first", 1);
    edge.drain();
    edge.stop();
    // Somebody has made a column narrower than it was.
    server.query("DROP TABLE requests");
    server.query(
        "CREATE TABLE requests (at DateTime('UTC'), at_ms UInt64, edge String, sequence UInt64,
         door String, client String, subject Enum8('n0.example' = 1, 'm0.example' = 2), kind String,
         action String, cause String, list Nullable(String), line Nullable(UInt64),
         rule Nullable(String), source String, cache Nullable(String), status UInt32, bytes UInt64,
         duration_us UInt64, sample UInt32)
         ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMMDD(at) ORDER BY (edge, sequence, at)",
    );
    edge.record("n", 1);
    edge.record("odd", 1);
    edge.record("m", 1);
    edge.start();
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "2|2");
    assert_eq!(edge.figures().dropped_unfit, 1);
}

#[test]
fn days_past_their_time_are_dropped() {
    let server = ClickHouseServer::new();
    let mut edge = Edge::started("harbour", server.url());
    let ago = |days: u64| Now { unix_ms: now().unix_ms - days * DAY_MS, mono_ms: 0 };
    for days in [20, 10, 3, 0] {
        edge.ledger.record(event("www.example", ago(days)));
    }
    edge.ledger.flush();
    edge.drain();
    assert_eq!((rows(&server, "harbour").as_str(), edge.figures().dropped_moment), ("3|3", 1));
    edge.stop();
    edge.settings.keep = settings::Text(vocab::TimeSpan(Duration::from_hours(5 * 24)));
    edge.start();
    edge.record("n", 1);
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "3|3");
}

#[test]
fn tables_of_a_newer_release_a_name_used_twice_and_a_wrong_password_are_told() {
    let server = ClickHouseServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("n", 5);
    edge.drain();
    edge.stop();
    let told = |edge: &Edge, words: &str| {
        until(words, || edge.figures().trouble.is_some_and(|why| why.contains(words)));
    };
    server.query("INSERT INTO schema VALUES (9, 9)");
    edge.start();
    told(&edge, "tables of version 9, which a newer release has made");
    assert_eq!(edge.figures().link, DatabaseLink::Down);
    edge.stop();
    edge.settings.url = server.url().replace("secret", "wrong");
    edge.start();
    told(&edge, "the database refused: Wrong password");
    edge.stop();
    edge.settings.url = server.url().replace("/fleet", "/none");
    edge.start();
    told(&edge, "the database refused: Database none doesn't exist");
    edge.stop();
    server.query("ALTER TABLE schema DROP PARTITION tuple()");
    server.query("INSERT INTO schema VALUES (1, 1)");
    edge.settings.url = server.url();
    edge.start();
    edge.record("n", 1);
    edge.drain();
    server.query(
        "INSERT INTO edges (edge, version, started_ms, sample, waiting, dropped, sequence,
         sequence_at_ms, minute, changed) VALUES ('harbour', '1', 0, 1, 0, 0, 2, 0, 0, 99999999999999)",
    );
    told(&edge, "give each machine a fleet.name of its own");
}

#[test]
fn the_database_tells_of_edges_and_of_requests_over_time() {
    let server = ClickHouseServer::new();
    let edge = Edge::started("harbour", server.url());
    edge.record("n", 5);
    let blocked = RequestEvent { action: Action::Block, ..event("ads.example", now()) };
    edge.ledger.record(blocked);
    edge.ledger.flush();
    let other = Edge::started("quay", server.url());
    other.record("n", 2);
    until("the minutes are there", || counted(&server) == "8");
    until("both edges are", || server.query("SELECT count() FROM edges FINAL") == "2");
    // Two minutes ago as well, so that there is a whole one.
    server.query(
        "INSERT INTO minutes SELECT minute - 120, edge, door, action, source, requests FROM minutes",
    );
    let questions = edge.sender.as_ref().unwrap().questions();
    let edges = questions.edges().unwrap();
    let told: Vec<_> = edges.iter().map(|it| (it.edge.as_str(), it.requests, it.blocked)).collect();
    // A minute that has not ended is none of the whole ones.
    assert_eq!(told[0], ("harbour", 6, 1));
    assert_eq!((edges[0].version.as_str(), edges[0].sample), ("1.2.3", 1));
    assert!(edges[0].minute_ms.is_some() && edges[0].silent_ms < 60_000);
    let question = MinuteQuestion {
        edge: None,
        from_ms: now().unix_ms - 3_600_000,
        to_ms: now().unix_ms - 60_000,
        step_s: 86_400,
    };
    let sum = |question: &MinuteQuestion| -> (u64, u64) {
        let points = questions.minutes(question).unwrap();
        points
            .iter()
            .fold((0, 0), |(passed, blocked), it| (passed + it.passed, blocked + it.blocked))
    };
    assert_eq!(sum(&question), (7, 1));
    assert_eq!(sum(&MinuteQuestion { edge: Some("quay".into()), ..question.clone() }), (2, 0));
    let hostile = Some("' OR '1' = '1".into());
    assert_eq!(sum(&MinuteQuestion { edge: hostile, ..question.clone() }), (0, 0));
    let step = MinuteQuestion { step_s: 60, ..question };
    assert!(questions.minutes(&step).unwrap().iter().all(|point| point.at_ms % 60_000 == 0));
}

#[test]
fn over_tls_the_certificate_is_checked() {
    let mut server = ClickHouseServer::stopped();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    server.use_certificate(&made.cert.pem(), &made.signing_key.serialize_pem());
    server.start();
    let mut edge = Edge::new("harbour", server.tls_url());
    edge.record("n", 5);
    edge.start();
    until("the certificate is not trusted", || {
        edge.figures().trouble.is_some_and(|why| why.contains("out of reach"))
    });
    edge.stop();
    edge.start_trusting(ClientTls::new().trusting(made.cert.pem().as_bytes()).unwrap());
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "5|5");
}
