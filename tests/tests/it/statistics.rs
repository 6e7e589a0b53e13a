//! Statistics of real traffic: counted by client, list, door and upstream, and still there after a
//! restart and a kill.

use crate::made_settings::send;
use serde_json::{Value as Json, json};
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const YAML: &str = r#"
policy: { lists: [{ name: ads, rules: ["||ads.example^"] }] }
dns:
  listen: ["udp://127.0.0.1:0"]
  upstreams: [{ address: "udp://UPSTREAM", name: near }]
admin: { listen: "127.0.0.1:0" }
"#;

fn ask(edge: &Tidegate, client: &str, name: &str) {
    assert!(dig(edge.address("dns", "udp"), &["-b", client, name]).contains("status: "));
}

/// Key and requests of each line of a ranking.
fn ranked(statistics: &Json, by: &str) -> Vec<(String, u64, u64)> {
    let rankings = statistics["rankings"].as_array().unwrap();
    let ranking = rankings.iter().find(|it| it["by"] == by).unwrap();
    let number = |line: &Json, what: &str| line[what].as_u64().unwrap();
    let line = |line: &Json| {
        let key = line["key"].as_str().unwrap().to_owned();
        (key, number(line, "passed"), number(line, "blocked"))
    };
    ranking["lines"].as_array().unwrap().iter().map(line).collect()
}

fn check_counts(edge: &Tidegate) {
    for range in ["day", "month", "year", "all"] {
        let told = edge.api(&format!("/api/statistics?range={range}"));
        assert_eq!((&told["total"]["passed"], &told["total"]["blocked"]), (&json!(3), &json!(2)));
        let clients = [("127.0.0.2".into(), 2, 2), ("127.0.0.3".into(), 1, 0)];
        assert_eq!(ranked(&told, "client"), clients, "{range}");
        assert_eq!(ranked(&told, "list"), [("ads".into(), 0, 2)]);
        assert_eq!(ranked(&told, "door"), [("dns".into(), 3, 2)]);
    }
}

#[test]
fn statistics_of_real_questions_outlive_a_restart_and_a_kill_and_count_nothing_twice() {
    let reply = || Reply::Addresses(vec!["192.0.2.1".parse().unwrap()], 60);
    let upstream = Resolver::start(&[("www.example", reply()), ("more.example", reply())]);
    let yaml = YAML.replace("UPSTREAM", &upstream.address.to_string());
    let edge = Tidegate::start(&yaml);
    assert_eq!(edge.api("/api/statistics")["begins"], Json::Null);
    for (client, name) in [
        ("127.0.0.2", "www.example"),
        ("127.0.0.2", "ads.example"),
        ("127.0.0.2", "www.ads.example"),
        ("127.0.0.2", "www.example"),
        ("127.0.0.3", "www.example"),
    ] {
        ask(&edge, client, name);
    }
    check_counts(&edge);
    let (_, scratch) = edge.stop_by("KILL");
    let edge = Tidegate::start_in(scratch, &yaml);
    check_counts(&edge);
    let (status, scratch) = edge.stop_by("TERM");
    assert!(status.success());
    let edge = Tidegate::start_in(scratch, &yaml);
    check_counts(&edge);

    let one = edge.api("/api/statistics?range=week&client=127.0.0.3");
    assert_eq!((&one["total"]["passed"], &one["total"]["blocked"]), (&json!(1), &json!(0)));
    let last = one["points"].as_array().unwrap().last().unwrap();
    assert!(last["share"].as_f64().unwrap() <= 1.0 && last["until"].is_string());

    // Upstreams are read once a second, with the next rows.
    wait::until("the upstream is counted", || {
        ask(&edge, "127.0.0.2", "more.example");
        let told = edge.api("/api/statistics?by=upstream");
        ranked(&told, "upstream").into_iter().find(|(name, sent, _)| name == "near" && *sent > 0)
    });
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let url = format!("http://{}", edge.address("admin", "http"));
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let file = |path: &str| curl(&["-H", &bearer, &format!("{url}{path}")]);
    let (status, log) = file("/api/requests?format=csv&filter=ads");
    assert_eq!((status, log.lines().count()), (200, 3), "{log}");
    assert!(log.contains("127.0.0.2,www.ads.example,A,block,rule,ads,1,||ads.example^"), "{log}");
    let (status, lists) = file("/api/statistics?range=all&by=list&format=csv");
    assert_eq!(status, 200);
    assert!(lists.contains("\r\nlist,ads,0,2,0,0,"), "{lists}");
}

#[test]
fn the_log_is_cleared_by_an_administrator_and_statistics_stay() {
    let edge = Tidegate::start(&YAML.replace("UPSTREAM", "127.0.0.1:9"));
    for name in ["one.ads.example", "two.ads.example"] {
        ask(&edge, "127.0.0.2", name);
    }
    assert_eq!(edge.api("/api/requests")["rows"].as_array().unwrap().len(), 2);
    let (status, _) = send(&edge, "POST", "/api/requests/clear", &json!({}));
    assert_eq!(status, 204);
    assert_eq!(edge.api("/api/requests")["rows"].as_array().unwrap().len(), 0);
    assert_eq!(edge.api("/api/totals")["requests"], 2);
    ask(&edge, "127.0.0.2", "three.ads.example");
    assert_eq!(edge.api("/api/requests")["rows"][0]["subject"], "three.ads.example");
    let told = edge.api("/api/audit?filter=clear");
    assert_eq!(told["entries"][0]["action"], "POST /api/requests/clear", "{told}");
}
