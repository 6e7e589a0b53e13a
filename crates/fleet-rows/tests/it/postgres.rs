//! Rows in a real PostgreSQL, which is stopped, killed, frozen and filled with the unexpected.

use crate::edge::{DAY_MS, Edge, event, now};
use fleet_rows::{DatabaseLink, MinuteQuestion};
use ledger::{EventSubject, RequestEvent};
use std::time::Duration;
use test_support::{PostgresServer, ScratchFolder, open_ledger, until};
use transport::ClientTls;
use vocab::{Action, Cause, Door, Now, Source};

fn rows(server: &PostgresServer, edge: &str) -> String {
    server.query(&format!(
        "SELECT count(*), count(DISTINCT sequence) FROM tidegate.requests WHERE edge = '{edge}'"
    ))
}

#[test]
fn rows_and_minutes_arrive_with_the_words_of_the_api() {
    let server = PostgresServer::new();
    let edge = Edge::started("harbour", server.url());
    let at = now();
    let blocked = RequestEvent {
        door: Door::Proxy,
        action: Action::Block,
        cause: Cause::Unlisted,
        source: Source::Policy,
        subject: EventSubject::url("http://a.example/\0ü"),
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
         duration_us, sample, list IS NULL, cache IS NULL FROM tidegate.requests ORDER BY sequence",
    );
    assert_eq!(
        found.lines().collect::<Vec<_>>(),
        [
            "harbour|1|dns|192.168.1.77|www.example|A|pass|none|cache|0|120|41|1|t|t",
            "harbour|2|proxy|2001:db8::1|http://a.example/\u{fffd}ü|A|block|unlisted|policy|403|120|41\
             |1|t|t",
        ]
    );
    let moments = "SELECT (extract(epoch FROM at) * 1000)::bigint FROM tidegate.requests LIMIT 1";
    assert_eq!(server.query(moments), at.unix_ms.to_string());
    until("minutes arrive", || {
        server.query("SELECT coalesce(sum(requests), 0) FROM tidegate.minutes") == "2"
    });
    let edges = "SELECT edge, version, sample, sequence, waiting, dropped FROM tidegate.edges";
    assert_eq!(server.query(edges), "harbour|1.2.3|1|2|0|0");
    // What was made stays as it is for whoever comes next.
    let other = Edge::started("quay", server.url());
    other.record("n", 3);
    other.drain();
    assert_eq!([rows(&server, "harbour"), rows(&server, "quay")], ["2|2", "3|3"]);
}

#[test]
fn a_database_that_stops_crashes_and_freezes_has_each_row_once() {
    let mut server = PostgresServer::new();
    let mut edges = [Edge::started("harbour", server.url()), Edge::started("quay", server.url())];
    let mut recorded = 0;
    let mut record = |edges: &[Edge]| {
        for _ in 0..5 {
            for edge in edges {
                edge.record("n", 400);
            }
            recorded += 800;
        }
    };
    record(&edges);
    server.stop();
    record(&edges);
    until("the edges notice", || edges.iter().all(|it| it.figures().trouble.is_some()));
    server.start();
    record(&edges);
    edges.iter().for_each(Edge::drain);
    record(&edges);
    server.crash();
    server.start();
    record(&edges);
    edges.iter().for_each(Edge::drain);
    server.freeze();
    record(&edges);
    // What is under way is cut off in the middle.
    edges[0].stop();
    server.thaw();
    edges[0].start();
    edges.iter().for_each(Edge::drain);
    for edge in &edges {
        assert_eq!(rows(&server, edge.name), format!("{0}|{0}", recorded / 2), "{}", edge.name);
        assert_eq!(edge.figures().dropped_backlog, 0);
    }
    let counted = || server.query("SELECT coalesce(sum(requests), 0) FROM tidegate.minutes");
    until("the minutes are whole", || counted() == recorded.to_string());
}

#[test]
fn rows_beyond_the_backlog_are_left_out_and_counted() {
    let mut server = PostgresServer::stopped();
    let mut edge = Edge::new("harbour", server.url());
    edge.settings.backlog = 1_000;
    edge.start();
    edge.record("n", 3_500);
    until("the edge says that it waits", || edge.figures().trouble.is_some());
    server.start();
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "1000|1000");
    assert_eq!(edge.figures().dropped_backlog, 2_500);
    assert_eq!(server.query("SELECT dropped, sequence FROM tidegate.edges"), "2500|3500");
    // The newest are those that are kept.
    let oldest = server.query("SELECT min(sequence) FROM tidegate.requests");
    assert_eq!(oldest, "2501");
}

#[test]
fn rows_that_are_sent_again_are_there_once() {
    let server = PostgresServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("n", 20);
    edge.drain();
    edge.stop();
    server.query("UPDATE tidegate.edges SET sequence = 5, sequence_at = NULL");
    edge.record("m", 3);
    edge.start();
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "23|23");
    edge.record("o", 3);
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "26|26");
}

#[test]
fn one_row_that_is_not_taken_keeps_no_other_waiting() {
    let server = PostgresServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("first", 1);
    edge.drain();
    edge.stop();
    server.query(
        "ALTER TABLE tidegate.requests ADD CONSTRAINT odd CHECK (subject <> 'odd0.example')",
    );
    edge.record("n", 300);
    edge.record("odd", 1);
    edge.record("m", 300);
    edge.start();
    edge.drain();
    assert_eq!(rows(&server, "harbour"), "601|601");
    assert_eq!(edge.figures().dropped_unfit, 1);
    assert_eq!(server.query("SELECT dropped FROM tidegate.edges"), "1");
}

#[test]
fn days_past_their_time_are_dropped_and_rows_of_them_counted() {
    let server = PostgresServer::new();
    let mut edge = Edge::started("harbour", server.url());
    let ago = |days: u64| Now { unix_ms: now().unix_ms - days * DAY_MS, mono_ms: 0 };
    for days in [20, 10, 3, 0] {
        edge.ledger.record(event("www.example", ago(days)));
    }
    edge.ledger.flush();
    edge.drain();
    assert_eq!((rows(&server, "harbour").as_str(), edge.figures().dropped_moment), ("3|3", 1));
    let partitions = || {
        let of = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'tidegate.requests'::regclass";
        server.query(of)
    };
    // Two of the past, today and three ahead.
    assert_eq!(partitions(), "6");
    server.query("CREATE TABLE tidegate.requests_mine PARTITION OF tidegate.requests DEFAULT");
    edge.stop();
    edge.settings.keep = settings::Text(vocab::TimeSpan(Duration::from_hours(5 * 24)));
    edge.start();
    edge.record("n", 1);
    edge.drain();
    assert_eq!(partitions(), "6", "one is gone, and somebody's own stays");
    assert_eq!(rows(&server, "harbour"), "3|3");
}

#[test]
fn a_log_begun_anew_goes_on_under_the_same_name() {
    let server = PostgresServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("n", 50);
    edge.drain();
    edge.stop();
    let folder = ScratchFolder::new();
    edge.ledger = open_ledger(folder.path());
    drop(std::mem::replace(&mut edge.folder, folder));
    edge.record("new", 7);
    edge.start();
    edge.drain();
    assert_eq!(server.query("SELECT count(*) FROM tidegate.requests"), "57");
    assert_eq!(server.query("SELECT sequence FROM tidegate.edges"), "7");
}

#[test]
fn tables_of_a_newer_release_and_a_name_used_twice_are_told() {
    let server = PostgresServer::new();
    let mut edge = Edge::started("harbour", server.url());
    edge.record("n", 5);
    edge.drain();
    server.query("UPDATE tidegate.edges SET sequence = 4");
    edge.record("m", 1);
    let told = |edge: &Edge, words: &str| {
        until(words, || edge.figures().trouble.is_some_and(|why| why.contains(words)));
    };
    told(&edge, "give each machine a fleet.name of its own");
    edge.stop();
    server.query("UPDATE tidegate.schema SET version = 9, usable_from = 9");
    edge.start();
    told(&edge, "tables of version 9, which a newer release has made");
    assert_eq!(edge.figures().link, DatabaseLink::Down);
}

#[test]
fn a_connection_over_tls_is_checked() {
    let mut server = PostgresServer::stopped();
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    server.use_certificate(&made.cert.pem(), &made.signing_key.serialize_pem());
    server.start();
    let mut edge = Edge::new("harbour", server.url());
    edge.settings.url = format!("{}?sslmode=require", server.url());
    edge.record("n", 5);
    edge.start();
    until("the certificate is not trusted", || {
        edge.figures().trouble.is_some_and(|why| why.contains("not trusted"))
    });
    edge.stop();
    edge.start_trusting(ClientTls::new().trusting(made.cert.pem().as_bytes()).unwrap());
    edge.drain();
    let encrypted = "SELECT DISTINCT s.ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                     WHERE a.application_name = 'tidegate'";
    assert_eq!(server.query(encrypted), "t");
    assert_eq!(rows(&server, "harbour"), "5|5");
}

#[test]
fn the_database_tells_of_edges_and_of_requests_over_time() {
    let server = PostgresServer::new();
    let edge = Edge::started("harbour", server.url());
    edge.record("n", 5);
    let other = Edge::started("quay", server.url());
    other.record("n", 2);
    let counted = || server.query("SELECT coalesce(sum(requests), 0) FROM tidegate.minutes");
    until("the minutes are there", || counted() == "7");
    // A minute ago, so that it is a whole one.
    server.query("UPDATE tidegate.minutes SET minute = minute - interval '2 minutes'");
    let questions = edge.sender.as_ref().unwrap().questions();
    let edges = questions.edges().unwrap();
    let told: Vec<_> = edges.iter().map(|it| (it.edge.as_str(), it.requests, it.blocked)).collect();
    assert_eq!(told, [("harbour", 5, 0), ("quay", 2, 0)]);
    assert_eq!((edges[0].version.as_str(), edges[0].sample), ("1.2.3", 1));
    assert!(edges[0].minute_ms.is_some() && edges[0].silent_ms < 60_000);
    let question = MinuteQuestion {
        edge: None,
        from_ms: now().unix_ms - 3_600_000,
        to_ms: now().unix_ms,
        step_s: 86_400,
    };
    let sum = |question: &MinuteQuestion| -> u64 {
        questions.minutes(question).unwrap().iter().map(|point| point.passed).sum()
    };
    assert_eq!(sum(&question), 7);
    assert_eq!(sum(&MinuteQuestion { edge: Some("quay".into()), ..question.clone() }), 2);
    assert_eq!(sum(&MinuteQuestion { edge: Some("'; DROP".into()), ..question.clone() }), 0);
    let step = MinuteQuestion { step_s: 60, ..question };
    assert!(questions.minutes(&step).unwrap().iter().all(|point| point.at_ms % 60_000 == 0));
}

#[test]
fn without_a_share_minutes_are_sent_and_no_row_waits() {
    let server = PostgresServer::new();
    let mut edge = Edge::new("harbour", server.url());
    edge.settings.sample = 0;
    edge.record("n", 50);
    edge.start();
    let counted = || server.try_query("SELECT coalesce(sum(requests), 0) FROM tidegate.minutes");
    until("the minutes are there", || counted().is_ok_and(|it| it == "50"));
    edge.record("n", 50);
    assert_eq!((edge.figures().waiting, edge.figures().lag_ms), (0, 0));
    assert_eq!(server.query("SELECT count(*) FROM tidegate.requests"), "0");
    assert_eq!(server.query("SELECT waiting, dropped, sequence FROM tidegate.edges"), "0|0|0");
}

#[test]
fn a_share_of_the_rows_is_sent_with_its_weight() {
    let server = PostgresServer::new();
    let mut edge = Edge::new("harbour", server.url());
    edge.settings.sample = 10;
    edge.start();
    edge.record("n", 10_000);
    edge.drain();
    let told = server.query("SELECT count(*), sum(sample) FROM tidegate.requests");
    let (sent, weight) = told.split_once('|').unwrap();
    let sent: u64 = sent.parse().unwrap();
    assert!((850..1_150).contains(&sent), "{sent}");
    assert_eq!(weight, (sent * 10).to_string());
    assert_eq!(edge.figures().sent, sent);
}

#[test]
fn the_questions_of_the_manual_are_answered() {
    let server = PostgresServer::new();
    let edge = Edge::started("harbour", server.url());
    let blocked = RequestEvent { action: Action::Block, ..event("ads.example", now()) };
    edge.ledger.record(blocked);
    edge.record("n", 3);
    edge.drain();
    until("the minutes are there", || {
        server.query("SELECT coalesce(sum(requests), 0) FROM tidegate.minutes") == "4"
    });
    let manual = include_str!("../../../../docs/manual/reference/fleet-rows.md");
    let blocks = manual.split("```text\n").skip(1).filter_map(|it| it.split("```").next());
    let answers: Vec<_> =
        blocks.filter(|it| it.starts_with("SELECT")).map(|it| server.query(it)).collect();
    assert_eq!(answers.len(), 2);
    assert!(answers[0].contains("|harbour|4|0.25"), "{answers:?}");
    assert_eq!(answers[1], "ads.example|1|1");
}
