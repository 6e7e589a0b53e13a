//! Signs that devices go around the filter, from real traffic of several clients.

use serde_json::{Value as Json, json};
use tidegate_tests::clients::{curl, dig};
use tidegate_tests::tidegate::Tidegate;

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||nordvpn.com^"] }] }
dns: { listen: ["udp://127.0.0.1:0"], upstreams: ["udp://127.0.0.1:9"], timeout: 100ms }
web: [{ listen: ["http://127.0.0.1:0"], root: "." }]
admin: { listen: "127.0.0.1:0" }
"#;

fn device<'t>(table: &'t Json, client: &str) -> Option<&'t Json> {
    table["devices"].as_array().unwrap().iter().find(|it| it["client"] == client)
}

fn signal<'t>(device: &'t Json, kind: &str) -> &'t Json {
    let signals = device["signals"].as_array().unwrap();
    signals.iter().find(|it| it["kind"] == kind).unwrap_or_else(|| panic!("{kind} of {device}"))
}

#[test]
fn each_kind_of_sign_is_told_of_the_client_that_showed_it() {
    let edge = Tidegate::start(YAML);
    let dns = edge.address("dns", "udp");
    let names = [
        ("encrypted_dns", "dns.google"),
        ("encrypted_dns", "abc.dns.nextdns.io"),
        ("relay", "mask.apple-dns.net"),
        ("vpn", "api.nordvpn.com"),
        ("ech", "cloudflare-ech.com"),
        ("canary", "use-application-dns.net"),
    ];
    for (_, name) in names {
        dig(dns, &["-b", "127.0.0.2", name]);
    }
    dig(dns, &["-b", "127.0.0.2", "dns.google"]);
    dig(dns, &["-b", "127.0.0.4", "www.example"]);
    let url = format!("http://{}/", edge.address("web", "http"));
    for client in ["127.0.0.3", "127.0.0.4"] {
        curl(&["--interface", client, &url]);
    }

    let table = edge.api("/api/bypass?range=24h");
    assert_eq!((&table["range"], &table["more"]), (&json!("24h"), &json!(0)));
    let asker = device(&table, "127.0.0.2").unwrap();
    for (kind, name) in names {
        let told = signal(asker, kind)["names"].as_array().unwrap();
        assert!(told.iter().any(|it| it["text"] == name), "{kind}: {told:?}");
    }
    let google = &signal(asker, "encrypted_dns")["names"][0];
    assert_eq!(google, &json!({ "text": "dns.google", "count": 2, "blocked": 0 }));
    assert_eq!(signal(asker, "vpn")["names"][0]["blocked"], 1);
    assert!(signal(asker, "canary")["last_at"].as_str().unwrap().ends_with('Z'));
    let without = signal(device(&table, "127.0.0.3").unwrap(), "no_dns");
    assert_eq!(without["names"], json!([{ "text": "web", "count": 1, "blocked": 0 }]));
    assert!(device(&table, "127.0.0.4").is_none(), "it asks, for nothing of note: {table}");
}
