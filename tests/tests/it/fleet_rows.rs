//! A fleet's rows in a real PostgreSQL: databases and edges that stop, start and are killed.

use std::net::{SocketAddr, UdpSocket};
use test_support::PostgresServer;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::tidegate::{Tidegate, refused, run};
use tidegate_tests::{Scratch, wait};

/// An edge of this name whose rows go to this database.
fn settings(name: &str, database: &str, more: &str) -> String {
    format!(
        "dns: {{ listen: [\"udp://127.0.0.1:0\"], local: [\"site.test A 127.0.0.9\"] }}\n\
         admin: {{ listen: \"127.0.0.1:0\" }}\n\
         fleet:\n  name: {name}\n  rows: {{ url: \"{database}\", sample: 1{more} }}\n"
    )
}

/// Asks so many questions for `site.test`, each answered before the next.
fn ask(server: SocketAddr, count: usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    for number in 0..count {
        let id = (number as u16).to_be_bytes();
        let mut question =
            [&id[..], b"\x01\0\0\x01\0\0\0\0\0\0\x04site\x04test\0\0\x01\0\x01"].concat();
        socket.send(&question).unwrap();
        question.resize(512, 0);
        assert!(socket.recv(&mut question).unwrap() > 12, "an answer");
        assert_eq!(question[..2], id);
    }
}

/// Asks so many and waits until they are in the request log.
fn ask_and_log(edge: &Tidegate, count: usize) {
    ask(edge.address("dns", "udp"), count);
    edge.api("/api/requests?limit=1");
}

/// What the admin of an edge answers whose state folder no other process sees.
fn asked_inside(edge: &Tidegate, path: &str) -> String {
    let token = format!("/proc/{}/root{}/admin.token", edge.pid(), edge.state().display());
    let token = format!("Authorization: Bearer {}", std::fs::read_to_string(token).unwrap().trim());
    let address = edge.address("admin", "http");
    curl(&["-H", &token, &format!("http://{address}{path}")]).1
}

/// Value of a line of the metrics page.
fn figure(edge: &Tidegate, line: &str) -> Option<f64> {
    let page = asked_inside(edge, "/metrics");
    page.lines().find_map(|it| it.strip_prefix(line)?.trim().parse().ok())
}

fn is_sent(edge: &Tidegate) -> Option<()> {
    let is = |line: &str, value: f64| figure(edge, line) == Some(value);
    (is("tidegate_fleet_rows_up ", 1.0) && is("tidegate_fleet_rows_waiting ", 0.0)).then_some(())
}

fn rows_of(server: &PostgresServer, edge: &str) -> String {
    server.query(&format!(
        "SELECT count(*), count(DISTINCT sequence) FROM tidegate.requests WHERE edge = '{edge}'"
    ))
}

#[test]
fn two_edges_serve_without_the_database_and_each_row_is_there_once_in_the_end() {
    let mut server = PostgresServer::stopped();
    let start = |name: &str| Tidegate::start(&settings(name, &server.url(), ""));
    let [harbour, quay] = ["harbour", "quay"].map(start);
    // Nothing is reachable, and all is answered.
    assert_eq!(dig_short(harbour.address("dns", "udp"), &["site.test"]).trim(), "127.0.0.9");
    ask_and_log(&harbour, 299);
    ask_and_log(&quay, 300);
    let warned = wait::until("the edge to warn", || {
        let warnings = harbour.api("/api/status")["warnings"].to_string();
        warnings.contains("fleet.rows: the database is out of reach").then_some(warnings)
    });
    assert!(!warned.contains("harbour:"), "no password is told: {warned}");
    assert_eq!(figure(&harbour, "tidegate_fleet_rows_up "), Some(0.0));
    let shown = harbour.api("/api/config")["text"].to_string();
    assert!(shown.contains("postgresql://") && !shown.contains(":harbour@"), "{shown}");

    server.start();
    wait::until("the first rows", || is_sent(&harbour).and(is_sent(&quay)));
    assert_eq!(figure(&harbour, "tidegate_fleet_rows_sent_total "), Some(300.0));
    server.stop();
    ask_and_log(&harbour, 200);
    server.start();
    ask_and_log(&quay, 200);
    // Killed in the middle of sending, with rows in its log that were not sent.
    server.stop();
    ask_and_log(&quay, 400);
    let (_, scratch) = quay.stop_by("KILL");
    server.start();
    let quay = Tidegate::start_in(scratch, &settings("quay", &server.url(), ""));
    ask_and_log(&quay, 100);
    wait::until("all rows", || is_sent(&harbour).and(is_sent(&quay)));
    assert_eq!([rows_of(&server, "harbour"), rows_of(&server, "quay")], ["500|500", "1000|1000"]);
    let minutes = "SELECT edge, sum(requests) FROM tidegate.minutes GROUP BY 1 ORDER BY 1";
    wait::until("the minutes", || {
        (server.query(minutes) == "harbour|500\nquay|1000").then_some(())
    });
    assert_eq!(
        server.query("SELECT DISTINCT subject, client, source FROM tidegate.requests"),
        "site.test|127.0.0.1|local"
    );
    // Each of them tells of both.
    let told = harbour.api("/api/fleet/edges");
    assert_eq!((&told["own"], &told["edges"][1]["edge"]), (&"harbour".into(), &"quay".into()));
    assert_eq!(told["edges"][1]["state"], "up");
    assert_eq!(harbour.api("/api/status")["fleet"], "harbour");
    let sum = |path: &str| -> u64 {
        let points = quay.api(path)["points"].as_array().unwrap().clone();
        points.iter().map(|point| point["passed"].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("/api/fleet/statistics?range=1h"), 1_500);
    assert_eq!(sum("/api/fleet/statistics?range=24h&edge=harbour"), 500);
}

#[test]
fn rows_beyond_the_backlog_are_counted_and_the_newest_are_sent() {
    let mut server = PostgresServer::stopped();
    let edge = Tidegate::start(&settings("harbour", &server.url(), ", backlog: 1000"));
    ask_and_log(&edge, 1_700);
    server.start();
    wait::until("what is left", || is_sent(&edge));
    let dropped = "tidegate_fleet_rows_dropped_total{reason=\"backlog\"} ";
    assert_eq!(figure(&edge, dropped), Some(700.0));
    assert_eq!(rows_of(&server, "harbour"), "1000|1000");
}

#[test]
fn an_edge_on_a_full_disk_serves_and_sends_what_it_could_write() {
    let server = PostgresServer::new();
    let (settings, small) = (settings("harbour", &server.url(), ""), 2 << 20);
    let edge = Tidegate::start_on_a_small_disk(Scratch::new(), &settings, "state", small);
    let (mut asked, dropped) = (0.0, "tidegate_ledger_dropped_total{reason=\"store_failed\"} ");
    wait::until("the disk is full", || {
        ask(edge.address("dns", "udp"), 8_000);
        asked += 8_000.0;
        figure(&edge, dropped).filter(|count| *count > 0.0)
    });
    asked_inside(&edge, "/api/requests?limit=1");
    let lost = figure(&edge, dropped).unwrap();
    wait::until("what was written", || is_sent(&edge));
    let rows = asked - lost;
    assert_eq!(rows_of(&server, "harbour"), format!("{rows}|{rows}"));
    assert_eq!(dig_short(edge.address("dns", "udp"), &["site.test"]).trim(), "127.0.0.9");
}

#[test]
fn a_reload_changes_the_name_and_the_share_and_ends_the_sending() {
    let server = PostgresServer::new();
    let edge = Tidegate::start(&settings("harbour", &server.url(), ""));
    ask_and_log(&edge, 10);
    wait::until("the rows", || is_sent(&edge));
    let write = |text: String| std::fs::write(&edge.config, text).unwrap();
    write(settings("quay", &server.url(), ""));
    edge.told(&["ctl", "reload"]);
    ask_and_log(&edge, 5);
    wait::until("a second name", || (rows_of(&server, "quay") == "15|15").then_some(()));
    let all = settings("quay", &server.url(), "");
    write(all.split("fleet:").next().unwrap().to_owned());
    edge.told(&["ctl", "reload"]);
    assert_eq!(figure(&edge, "tidegate_fleet_rows_up "), None);
    let idle = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'tidegate'";
    wait::until("the connection to end", || (server.query(idle) == "0").then_some(()));
}

#[test]
fn wrong_settings_are_told_without_the_password() {
    let scratch = Scratch::new();
    let wrong = settings("harbour", "mysql://a:hidden@db/x", ", backlog: 1");
    let (said, _) = refused(&wrong, &scratch, &scratch.path().join("state"));
    assert!(said.contains("fleet.rows.url") && said.contains("fleet.rows.backlog"), "{said}");
    assert!(!said.contains("hidden"), "{said}");
    let config = scratch.write("right.yaml", settings("a", "postgresql://a:hidden@db/x", ""));
    let checked = run(&["check", "--config", config.to_str().unwrap()]);
    assert!(checked.status.success(), "{checked:?}");
}
