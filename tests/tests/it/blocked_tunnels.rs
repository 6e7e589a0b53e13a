//! Blocked HTTPS at the proxy: answered by the pixel door for clients that take its certificates,
//! refused in words for the others.

use std::net::{Ipv4Addr, SocketAddr};
use tidegate_tests::clients::{curl, curl_with_head, said};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const YAML: &str = r#"
policy:
  lists: [{ name: mine, rules: ["||ads.example^"] }]
proxy: { listen: ["http://127.0.0.1:0"], connect_ports: [443, 8443] }
pixel: { listen: ["https://127.0.0.1:0"], addresses: [192.0.2.80] }
ledger: { log: all }
admin: { listen: "127.0.0.1:0" }
"#;

/// The status of `CONNECT`, then that of the request inside, as curl from the machine itself sees
/// them.
fn through(proxy: SocketAddr, more: &[&str], url: &str) -> (String, u16) {
    let proxy = format!("http://{proxy}");
    let mut all = vec!["-x", &proxy, "-o", "/dev/null", "-w", "%{http_connect}\n%{http_code}", url];
    all.extend(more);
    let (status, connect) = curl(&all);
    (connect, status)
}

#[test]
fn a_client_that_takes_our_certificates_gets_the_pixel_doors_answers() {
    let edge = Tidegate::start(YAML);
    let proxy = format!("http://{}", edge.address("proxy", "http"));
    let ca = edge.state().join("ca/ca.pem");
    let ca = ca.to_str().unwrap();
    let url = "https://www.ads.example/banner.gif";
    for version in ["--http1.1", "--http2"] {
        let (status, head) = curl_with_head(&["-x", &proxy, "--cacert", ca, version, url]);
        assert_eq!(status, 200, "{head}");
        assert!(head.contains("image/gif"), "{head}");
    }
    let rows = wait::until("both rows", || {
        let rows = edge.api("/api/requests?limit=20")["rows"].clone();
        let of =
            |door: &str| rows.as_array().unwrap().iter().find(|it| it["door"] == door).cloned();
        of("proxy").zip(of("pixel"))
    });
    assert_eq!((&rows.0["kind"], &rows.0["action"]), (&"tunnel".into(), &"block".into()));
    assert_eq!((&rows.0["status"], &rows.0["source"]), (&200.into(), &"policy".into()));
    assert_eq!((&rows.1["subject"], &rows.1["action"]), (&url.into(), &"block".into()));
    let why = edge.api("/api/why?target=www.ads.example&door=proxy&kind=tunnel&client=127.0.0.1");
    let outcome = why["door_outcome"].as_str().unwrap();
    assert!(outcome.starts_with("200, and the pixel door answers"), "{outcome}");
}

#[test]
fn whoever_refuses_them_is_refused_in_words_from_then_on() {
    let edge = Tidegate::start(YAML);
    let proxy = edge.address("proxy", "http");
    // Nobody is known to refuse before it has: three alerts, as at the pixel door itself.
    for _ in 0..3 {
        let (connect, _) = through(proxy, &[], "https://ads.example/");
        assert!(connect.starts_with("200"), "{connect}");
    }
    let refused = wait::until("a refusal", || {
        let (connect, _) = through(proxy, &[], "https://ads.example/");
        (!connect.starts_with("200")).then_some(connect)
    });
    assert!(refused.starts_with("403"), "{refused}");
    let head = "CONNECT ads.example:443 HTTP/1.1\r\nHost: ads.example:443\r\n\r\n";
    let head = head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let text = String::from_utf8(said(Ipv4Addr::LOCALHOST, proxy, &head)).unwrap();
    assert!(text.contains("||ads.example^"), "{text}");
}

#[test]
fn what_has_no_certificate_is_refused_in_words() {
    let edge = Tidegate::start(YAML);
    let proxy = edge.address("proxy", "http");
    let ca = edge.state().join("ca/ca.pem");
    let trusts = ["--cacert", ca.to_str().unwrap()];
    // A port where nobody stands for the host.
    let (connect, status) = through(proxy, &trusts, "https://ads.example:8443/");
    assert_eq!((connect.split('\n').next(), status), (Some("403"), 0));
}

#[test]
fn without_a_pixel_door_that_speaks_tls_every_blocked_tunnel_is_refused() {
    let edge = Tidegate::start(&YAML.replace("https://127.0.0.1:0", "http://127.0.0.1:0"));
    let ca = edge.state().join("ca/ca.pem");
    let trusts = ["--cacert", ca.to_str().unwrap()];
    let (connect, _) = through(edge.address("proxy", "http"), &trusts, "https://ads.example/");
    assert!(connect.starts_with("403"), "{connect}");
}
