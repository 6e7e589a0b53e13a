//! Operating it: why, lists, cert, ctl, reload, the ledger, metrics.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tidegate_tests::clients::{curl, dig, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, shared, tidegate, wait};

const YAML: &str = r#"
policy:
  lists:
    - { name: mine, path: mine.txt }
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://UPSTREAM"]
  local: ["router.lan A 192.168.1.1"]
admin: { listen: "127.0.0.1:0" }
"#;

fn upstream() -> Resolver {
    Resolver::start(&[("www.example", Reply::Address(Ipv4Addr::new(192, 0, 2, 10)))])
}

fn edge(upstream: &Resolver, list: &str) -> Tidegate {
    let scratch = Scratch::new();
    scratch.write("mine.txt", list);
    Tidegate::start_in(scratch, &YAML.replace("UPSTREAM", &upstream.address.to_string()))
}

#[test]
fn why_names_list_line_and_rule_without_a_running_process() {
    let scratch = Scratch::new();
    let config = scratch.write("t.yaml", "policy: { lists: [{ name: ads, path: ads.txt }] }\n");
    scratch.write("ads.txt", "! a comment\n||ads.example^\n@@||good.ads.example^\n");
    let state = scratch.path().join("state");
    let why = |args: &[&str]| {
        let mut all =
            vec!["why", "--config", config.to_str().unwrap(), "--state", state.to_str().unwrap()];
        all.extend(args);
        let output = tidegate::run(&all);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = why(&["x.ads.example"]);
    for part in ["blocked", "||ads.example^", "line 2", "ads"] {
        assert!(said.to_lowercase().contains(part), "{part} is missing:\n{said}");
    }
    let said = why(&["good.ads.example"]);
    assert!(
        said.to_lowercase().contains("pass") && said.contains("@@||good.ads.example^"),
        "{said}"
    );
    let said = why(&["."]);
    assert!(said.contains("target   . (") && said.contains("passes: no rule"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&why(&["https://x.ads.example/a.js", "--kind", "script", "--json"]))
            .unwrap();
    assert_eq!(json["action"], "block", "{json}");
    assert_eq!(json["rule"]["line"], 2, "{json}");
}

#[test]
fn lists_stats_counts_rules_and_names_what_was_skipped() {
    let scratch = Scratch::new();
    let file = scratch.write(
        "ads.txt",
        "||ads.example^\nexample.com##.ad\n0.0.0.0 b.example\n||x.example^$csp=script-src\n",
    );
    let output = tidegate::run(&["lists", "test", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    for part in [
        "2 rules about names",
        "2 skipped",
        "line 2: \"example.com##.ad\" hides elements",
        "line 4: \"||x.example^$csp=script-src\" changes or reads the headers of answers",
    ] {
        assert!(said.contains(part), "{part} is missing:\n{said}");
    }
}

#[test]
fn cert_ca_prints_a_certificate_and_how_to_install_it() {
    let pixel = r#"
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [192.0.2.1] }
admin: { listen: "127.0.0.1:0" }
"#;
    let edge = Tidegate::start(pixel);
    let text = edge.told(&["cert", "ca"]);
    for platform in ["Windows", "macOS", "iOS", "Android", "Firefox", "Linux"] {
        assert!(text.contains(platform), "{platform} is missing:\n{text}");
    }
    assert!(edge.told(&["cert", "ca", "--pem"]).starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(!edge.told(&["cert", "ca", "--pem"]).contains("PRIVATE"));
}

#[test]
fn a_reload_loses_no_query_and_keeps_the_cache() {
    let upstream = upstream();
    let edge = edge(&upstream, "||ads.example^\n");
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["www.example"]).trim(), "192.0.2.10");

    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU32::new(0));
    let lost = {
        let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
        std::thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(dns).unwrap();
            socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
            let mut query = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
            query.extend(b"\x03www\x07example\x00\x00\x01\x00\x01");
            let mut packet = [0; 512];
            let mut lost = 0;
            while !stop.load(Ordering::Relaxed) {
                let id = asked.fetch_add(1, Ordering::Relaxed) as u16;
                query[..2].copy_from_slice(&id.to_be_bytes());
                socket.send(&query).unwrap();
                match socket.recv(&mut packet) {
                    Ok(_) if packet[..2] == id.to_be_bytes() => {}
                    Ok(_) | Err(_) => lost += 1,
                }
            }
            lost
        })
    };
    for round in 0..10 {
        edge.scratch.write("mine.txt", format!("||ads.example^\n||round{round}.example^\n"));
        let before = asked.load(Ordering::Relaxed);
        if round % 2 == 0 {
            edge.told(&["ctl", "reload"]);
        } else {
            edge.signal("HUP");
        }
        let name = format!("round{round}.example");
        wait::until("the new list to apply", || {
            dig(dns, &[&name]).contains("EDE: 15").then_some(())
        });
        wait::until("queries to go on", || {
            (asked.load(Ordering::Relaxed) > before + 20).then_some(())
        });
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(lost.join().unwrap(), 0, "of {} queries", asked.load(Ordering::Relaxed));
    assert_eq!(upstream.count("www.example"), 1, "the cache outlives reloads");
}

#[test]
fn a_wrong_configuration_changes_nothing_and_says_where() {
    let upstream = upstream();
    let edge = edge(&upstream, "||ads.example^\n");
    let dns = edge.address("dns", "udp");
    let right = std::fs::read_to_string(&edge.config).unwrap();
    edge.scratch.write("tidegate.yaml", format!("{right}\ndsn: {{}}\n"));
    let output = edge.command(&["ctl", "reload"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("tidegate.yaml:") && said.contains("dsn"), "{said}");
    assert!(dig(dns, &["ads.example"]).contains("EDE: 15"));
    edge.scratch.write("tidegate.yaml", &right);
    std::fs::remove_file(edge.scratch.path().join("mine.txt")).unwrap();
    let output = edge.command(&["ctl", "reload"]);
    assert_eq!(output.status.code(), Some(1), "a list that vanished refuses the reload");
    assert!(dig(dns, &["ads.example"]).contains("EDE: 15"), "and the rules stay");
}

#[test]
fn an_address_that_cannot_be_had_refuses_the_reload_and_the_upstream_stays() {
    let (upstream, other) = (upstream(), upstream());
    let edge = edge(&upstream, "||ads.example^\n");
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let right = std::fs::read_to_string(&edge.config).unwrap();
    let wrong = right
        .replace(&upstream.address.to_string(), &other.address.to_string())
        .replace("udp://127.0.0.1:0", &format!("udp://{}", taken.local_addr().unwrap()));
    edge.scratch.write("tidegate.yaml", wrong);
    let output = edge.command(&["ctl", "reload"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&taken.local_addr().unwrap().to_string()), "{said}");
    assert_eq!(dig_short(edge.address("dns", "udp"), &["www.example"]).trim(), "192.0.2.10");
    assert_eq!((upstream.count("www.example"), other.count("www.example")), (1, 0));
}

#[test]
fn a_reload_adds_and_removes_listeners() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let right = std::fs::read_to_string(&edge.config).unwrap();
    edge.scratch.write("www/index.html", "new");
    edge.scratch.write(
        "tidegate.yaml",
        format!("{right}\nweb: [{{ listen: [\"http://{free}\"], root: www }}]\n"),
    );
    edge.told(&["ctl", "reload"]);
    assert_eq!(curl(&[&format!("http://{free}/")]), (200, "new".into()));
    // A door that runs listens where the new file says, and no longer where the old one did.
    let second = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    edge.scratch.write(
        "tidegate.yaml",
        format!("{right}\nweb: [{{ listen: [\"http://{second}\"], root: www }}]\n"),
    );
    edge.told(&["ctl", "reload"]);
    assert_eq!(curl(&[&format!("http://{second}/")]), (200, "new".into()));
    wait::until("the first listener to close", || {
        (curl(&[&format!("http://{free}/")]).0 == 0).then_some(())
    });
    // What a reload cannot change is said, not ignored.
    let moved = right.replace(
        "admin: { listen: \"127.0.0.1:0\" }",
        "admin: { listen: \"127.0.0.1:0\", metrics_listen: \"127.0.0.1:0\" }",
    );
    edge.scratch.write("tidegate.yaml", moved);
    assert!(edge.told(&["ctl", "reload"]).contains("takes effect at the next start"));
    edge.scratch.write("tidegate.yaml", &right);
    edge.told(&["ctl", "reload"]);
    wait::until("the listener to close", || {
        (curl(&[&format!("http://{second}/")]).0 == 0).then_some(())
    });
}

#[test]
fn every_request_is_one_event_and_outlives_kill_9() {
    let upstream = upstream();
    let edge = edge(&upstream, "||ads.example^\n");
    let dns = edge.address("dns", "udp");
    for name in ["www.example", "ads.example", "router.lan", "www.example"] {
        dig(dns, &[name]);
    }
    let rows = wait::until("four events to be written", || {
        let rows = edge.api("/api/requests?limit=50")["rows"].as_array().unwrap().clone();
        (rows.len() >= 4).then_some(rows)
    });
    assert_eq!(rows.len(), 4, "{rows:#?}");
    let of = |name: &str| rows.iter().filter(|row| row["subject"] == name).collect::<Vec<_>>();
    assert_eq!(of("www.example").len(), 2);
    let blocked = of("ads.example")[0];
    assert_eq!(
        (&blocked["action"], &blocked["source"]),
        (&"block".into(), &"policy".into()),
        "{blocked}"
    );
    assert_eq!(blocked["rule"]["text"], "||ads.example^", "{blocked}");
    assert_eq!(blocked["rule"]["line"], 1, "{blocked}");

    let (_, scratch) = edge.stop_by("KILL");
    let again =
        Tidegate::start_in(scratch, &YAML.replace("UPSTREAM", &upstream.address.to_string()));
    assert_eq!(again.api("/api/requests?limit=50")["rows"].as_array().unwrap().len(), 4);
}

#[test]
fn metrics_are_prometheus_text_with_histograms() {
    let upstream = upstream();
    let edge = edge(&upstream, "||ads.example^\n");
    dig(edge.address("dns", "udp"), &["ads.example"]);
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let admin = edge.address("admin", "http");
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let (status, text) = curl(&["-H", &bearer, &format!("http://{admin}/metrics")]);
    assert_eq!(status, 200);
    for part in [
        "tidegate_requests_total{",
        "door=\"dns\"",
        "action=\"block\"",
        "tidegate_request_seconds_bucket{",
        "le=\"+Inf\"",
        "# EOF",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}

#[test]
fn the_admin_api_wants_the_token_and_its_own_host() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let admin = edge.address("admin", "http");
    let token = std::fs::read_to_string(edge.state().join("admin.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let url = format!("http://{admin}/api/status");
    assert_eq!(curl(&[&url]).0, 401);
    assert_eq!(curl(&["-H", "Authorization: Bearer wrong", &url]).0, 401);
    assert_eq!(curl(&["-H", &bearer, &url]).0, 200);
    let (status, _) = curl(&["-H", &bearer, "-H", "Host: evil.example", &url]);
    assert!(status == 403 || status == 421, "{status}");
    let (status, _) = curl(&[
        "-X",
        "POST",
        "-H",
        "Origin: https://evil.example",
        "-H",
        "Sec-Fetch-Site: cross-site",
        &format!("http://{admin}/api/reload"),
    ]);
    assert!(status == 401 || status == 403, "{status}");
}

#[test]
fn the_second_start_takes_the_snapshot_unless_it_is_damaged() {
    let lists = shared().join("data/lists");
    let yaml = format!(
        r#"
policy:
  lists:
    - {{ name: hosts, path: "{0}/adservers.hosts" }}
    - {{ name: easylist, path: "{0}/easylist.txt" }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        lists.display()
    );
    let (_, scratch) = Tidegate::start(&yaml).stop_by("TERM");
    assert!(scratch.path().join("state/policy.snapshot").is_file());
    let again = Tidegate::start_in(scratch, &yaml);
    assert!(again.greeting.join("\n").contains("snapshot"), "{}", again.greeting.join("\n"));
    // A damaged snapshot is compiled anew, not believed.
    let (_, scratch) = again.stop_by("TERM");
    let path = scratch.path().join("state/policy.snapshot");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&path, bytes).unwrap();
    let again = Tidegate::start_in(scratch, &yaml);
    assert!(!again.greeting.join("\n").contains("snapshot"), "{}", again.greeting.join("\n"));
}

#[test]
fn a_list_of_fifty_megabytes_in_one_line_is_skipped_with_its_reason() {
    let scratch = Scratch::new();
    let file = scratch.write("huge.txt", "a".repeat(50 << 20));
    let output = tidegate::run(&["lists", "test", file.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("1 skipped") || said.contains("skipped: 1") || said.contains("too long"),
        "{said}"
    );
}
