//! A page found again in the log: what a client asked for after the site's own name, what was kept
//! away, and what it tried to send.

use serde_json::{Value as Json, json};
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
pixel: { listen: ["http://127.0.0.1:0"], inspect: { clients: ["127.0.0.2"] } }
admin: { listen: "127.0.0.1:0" }
"#;

#[test]
fn a_visit_has_its_hosts_with_doors_and_rules_and_what_was_posted() {
    let edge = Tidegate::start(YAML);
    let (dns, pixel) = (edge.address("dns", "udp"), edge.address("pixel", "http"));
    for name in ["www.news.example", "track.ads.example"] {
        dig(dns, &["-b", "127.0.0.2", name]);
    }
    let to = format!("::{pixel}");
    let posted = "http://track.ads.example/collect";
    let post = ["--interface", "127.0.0.2", "--connect-to", &to, "-d", "city=Berlin", posted];
    assert!(curl(&post).0 > 0);
    dig(dns, &["-b", "127.0.0.5", "other.example"]);

    let table = edge.api("/api/pages?client=127.0.0.2&site=img.news.example");
    assert_eq!((&table["site"], &table["by_referer"]), (&json!("news.example"), &json!(false)));
    let visit = &table["visit"];
    assert_eq!((&visit["requests"], &visit["blocked"]), (&json!(3), &json!(2)), "{table}");
    assert_eq!(table["visits"][0]["at"], visit["at"]);
    let hosts = visit["hosts"].as_array().unwrap();
    let names: Vec<_> = hosts.iter().map(|host| host["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["www.news.example", "track.ads.example"]);
    assert_eq!((&hosts[0]["blocked"], &hosts[0]["rule"]), (&json!(0), &Json::Null));
    assert_eq!(
        (&hosts[1]["site"], &hosts[1]["doors"]),
        (&json!("ads.example"), &json!(["dns", "pixel"]))
    );
    assert_eq!(hosts[1]["rule"]["list"], "mine");
    assert_eq!(visit["rows"].as_array().unwrap().len(), 3);
    assert_eq!(visit["sent"][0]["text"], "city=Berlin", "{visit}");
    let none = edge.api("/api/pages?client=127.0.0.5&site=news.example");
    assert_eq!((&none["visits"], &none["visit"]), (&json!([]), &Json::Null));
}
