//! Names mean to the doors that connect to one what they mean to clients of the DNS door: where the
//! configuration answers itself it leads there, and what a name is an alias of counts.

use std::net::Ipv4Addr;
use tidegate_tests::clients::{curl, dig_short};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

fn origin() -> Origin {
    Origin::start(&[("/", Page::new("text/html", "<p>nas</p>"))])
}

/// A proxy with these lines in its `dns` section.
fn yaml(upstream: &Resolver, lines: &str) -> String {
    format!(
        r#"
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://{}"]
{lines}
proxy: {{ listen: ["http://127.0.0.1:0"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        upstream.address
    )
}

#[test]
fn the_proxy_is_led_by_local_records_and_rewrites() {
    let origin = origin();
    let here = Reply::Address(Ipv4Addr::LOCALHOST);
    let upstream = Resolver::start(&[("www.rebound.com", here.clone()), ("files.lan", here)]);
    let edge = Tidegate::start(&yaml(
        &upstream,
        r#"  local: ["nas.lan A 127.0.0.1", "web.lan CNAME nas.lan.", "||own.com^ A 127.0.0.1"]
  rewrites: ["old.com nas.lan", "new.com files.lan", "new.lan www.rebound.com"]"#,
    ));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let port = origin.address.port();
    let get = |host: &str| curl(&["-x", &proxy, &format!("http://{host}:{port}/")]).0;
    // The operator may lead a public name inside; he is no stranger.
    for host in ["nas.lan", "web.lan", "own.com", "www.own.com", "old.com"] {
        assert_eq!(get(host), 200, "{host}");
    }
    assert!(upstream.asked().is_empty(), "{:?}", upstream.asked());
    assert_eq!(get("new.com"), 200, "it is the other name that is looked up");
    assert_eq!(get("new.lan"), 403, "and a stranger's name leads nobody inside");
    assert_eq!(get("www.rebound.com"), 403);
    assert_eq!(origin.lines().len(), 6);
}

#[test]
fn otherwise_block_leaves_what_is_listed_and_own_records() {
    let there = Reply::Address(Ipv4Addr::new(198, 41, 0, 4));
    let table = [("www.school.com", there.clone()), ("other.com", there)];
    let upstream = Resolver::start(&table);
    let policy = "policy:\n  lists: [{ name: school, kind: allow, rules: [\"||school.com^\"] }]\n  \
                  default: { otherwise: block }\n";
    let lines = "  local: [\"nas.lan A 127.0.0.1\"]\n  blocked: nodata";
    let edge = Tidegate::start(&format!("{policy}{}", yaml(&upstream, lines)));
    let server = edge.address("dns", "udp");
    let ask = |name: &str| dig_short(server, &[name]).trim().to_owned();
    assert_eq!(ask("www.school.com"), "198.41.0.4");
    assert_eq!(ask("nas.lan"), "127.0.0.1");
    assert_eq!(ask("other.com"), "");
    assert_eq!(upstream.count("other.com"), 0, "nobody is asked for what is not listed");
    let said = edge.told(&["why", "other.com"]);
    assert!(said.contains("profile \"default\" has otherwise: block"), "{said}");
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    assert_eq!(curl(&["-x", &proxy, "http://other.com/"]).0, 403);
}

#[test]
fn a_reload_leads_elsewhere() {
    let origin = origin();
    let upstream = Resolver::start(&[]);
    // Nobody listens there.
    let edge = Tidegate::start(&yaml(&upstream, "  local: [\"nas.lan A 127.9.9.9\"]"));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let url = format!("http://nas.lan:{}/", origin.address.port());
    let get = || curl(&["-x", &proxy, &url]).0;
    assert_eq!(get(), 502);
    let reload = |lines: &str| {
        edge.scratch.write("tidegate.yaml", yaml(&upstream, lines));
        edge.told(&["ctl", "reload"]);
    };
    reload("  local: [\"nas.lan A 127.0.0.1\"]");
    assert_eq!(get(), 200);
    assert!(upstream.asked().is_empty(), "{:?}", upstream.asked());
    reload("");
    assert_eq!(get(), 502, "now upstreams are asked, which know no such name");
    assert!(upstream.count("nas.lan") > 0);
}

#[test]
fn servers_of_the_gateway_may_have_local_names() {
    let origin = origin();
    let upstream = Resolver::start(&[]);
    let port = origin.address.port();
    let edge = Tidegate::start(&format!(
        r#"
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://{}"]
  local:
    - "app.lan A 127.0.0.1"
    - "_http._tcp.svc.lan SRV 1 1 {port} app.lan."
gateway:
  listen: ["http://127.0.0.1:0"]
  pools:
    named: {{ servers: ["http://app.lan:{port}"] }}
    found: {{ servers: [{{ url: "http://app.lan:{port}", resolve: addresses }}] }}
    service: {{ servers: [{{ url: "http://_http._tcp.svc.lan", resolve: srv }}] }}
  routes:
    - {{ host: named.test, pool: named }}
    - {{ host: found.test, pool: found }}
    - {{ host: service.test, pool: service }}
"#,
        upstream.address
    ));
    let url = format!("http://{}/", edge.address("gateway", "http"));
    for host in ["named.test", "found.test", "service.test"] {
        let (status, body) = curl(&["-H", &format!("Host: {host}"), &url]);
        assert_eq!((status, body.as_str()), (200, "<p>nas</p>"), "{host}");
    }
    assert!(upstream.asked().is_empty(), "{:?}", upstream.asked());
}

#[test]
fn the_proxy_blocks_a_name_whose_alias_is_blocked() {
    let origin = origin();
    let here = Ipv4Addr::LOCALHOST;
    let tracker = Reply::Alias("collect.tracker.example".into(), here);
    let upstream = Resolver::start(&[
        ("hidden.lan", tracker.clone()),
        ("spared.lan", tracker),
        ("fine.lan", Reply::Alias("cdn.lan".into(), here)),
    ]);
    let edge = Tidegate::start(&format!(
        r#"
policy:
  lists: [{{ name: mine, rules: ["||tracker.example^", "@@||spared.lan^"] }}]
  default: {{ lists: [mine] }}
  clients: [{{ name: free, match: [127.0.0.2], lists: [] }}]
{}"#,
        yaml(&upstream, "")
    ));
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let port = origin.address.port();
    let get = |host: &str, from: &str| {
        let url = format!("http://{host}:{port}/");
        curl(&["--interface", from, "-x", &proxy, &url])
    };
    let (status, said) = get("hidden.lan", "127.0.0.1");
    assert_eq!(status, 403, "{said}");
    assert!(said.contains("is an alias of collect.tracker.example"), "{said}");
    assert!(said.contains("List mine, line 1"), "{said}");
    assert!(origin.lines().is_empty(), "{:?}", origin.lines());
    for host in ["fine.lan", "spared.lan"] {
        assert_eq!(get(host, "127.0.0.1").0, 200, "{host}");
    }
    assert_eq!(get("hidden.lan", "127.0.0.2").0, 200, "his lists block no trackers");
    assert_eq!(get("hidden.lan", "127.0.0.1").0, 403, "though a connection is open now");
    let row = wait::until("the row of the block", || {
        let rows = edge.api("/api/requests?door=proxy&limit=50");
        let rows = rows["rows"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["status"] == 403)
    });
    assert_eq!((&row["action"], &row["rule"]["line"]), (&"block".into(), &1.into()), "{row}");
}
