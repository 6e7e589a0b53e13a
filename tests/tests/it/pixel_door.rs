//! The pixel door with curl and openssl: certificates minted in the handshake, typed null answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use tidegate_tests::clients::{curl, curl_with_head, openssl};
use tidegate_tests::origin::header;
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

fn edge() -> Tidegate {
    Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^", "||tracker.example^", "@@||good.ads.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], addresses: [127.0.0.1] }
admin: { listen: "127.0.0.1:0" }
"#,
    )
}

/// curl to the pixel door for a name, with our CA trusted.
fn fetch(edge: &Tidegate, url: &str, more: &[&str]) -> (u16, String) {
    let https = edge.address("pixel", "https").port();
    let http = edge.address("pixel", "http").port();
    let ca = edge.state().join("ca/ca.pem");
    let connect = [format!("::127.0.0.1:{}", if url.starts_with("https") { https } else { http })];
    let mut args = vec!["--cacert", ca.to_str().unwrap(), "--connect-to", &connect[0]];
    args.extend(more);
    args.push(url);
    curl_with_head(&args)
}

#[test]
fn first_contact_with_a_blocked_name_succeeds_over_http2_with_our_ca() {
    let edge = edge();
    for name in ["ads.example", "x.ads.example", "a.b.tracker.example"] {
        let (status, answer) = fetch(&edge, &format!("https://{name}/x.js"), &["--http2"]);
        assert_eq!(status, 200, "{name}: {answer}");
        assert!(answer.starts_with("HTTP/2 200"), "{answer}");
        assert!(answer.contains("text/javascript"), "{answer}");
    }
}

#[test]
fn a_name_that_is_not_blocked_gets_no_certificate() {
    let edge = edge();
    for name in ["bank.example", "good.ads.example", "example"] {
        let (status, _) = fetch(&edge, &format!("https://{name}/"), &[]);
        assert_eq!(status, 0, "{name} was certified");
    }
}

#[test]
fn the_bare_address_of_the_door_has_a_certificate_and_shows_the_doors_own_pages() {
    let edge = edge();
    let (status, page) = fetch(&edge, "https://127.0.0.1/", &[]);
    assert_eq!(status, 200, "{page}");
    assert!(page.contains("ca.crt"), "{page}");
    let (status, pem) = fetch(&edge, "https://127.0.0.1/ca.pem", &[]);
    assert!(status == 200 && pem.contains("BEGIN CERTIFICATE"), "{pem}");
    let (status, pixel) = fetch(&edge, "https://127.0.0.1/x.gif", &[]);
    assert!(status == 200 && pixel.contains("image/gif"), "{pixel}");
    // The connection is for the address: no name is answered over it, and no other address.
    let (status, _) = fetch(&edge, "https://127.0.0.1/x.gif", &["-H", "Host: ads.example"]);
    assert_eq!(status, 421);
    let (status, _) = fetch(&edge, "https://192.0.2.9/", &[]);
    assert_eq!(status, 0, "a certificate for an address that is not ours");
}

#[test]
fn what_pages_of_a_named_client_post_to_blocked_hosts_is_shown_to_the_administrator_alone() {
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
pixel:
  listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"]
  inspect: { clients: [127.0.0.1], bytes: 64, redact: [member] }
admin: { listen: "127.0.0.1:0" }
"#,
    );
    assert!(edge.told(&["ctl", "inspected"]).contains("nothing is kept"));
    let post = |url: &str, body: &str, more: &[&str]| {
        let (status, _) = fetch(&edge, url, &[&["--data-binary", body], more].concat());
        status
    };
    let posted =
        r#"{"city":"Berlin","password":"hunter2","memberId":7,"more":"xxxxxxxxxxxxxxxxxx"}"#;
    assert_eq!(post("https://ads.example/collect?token=abc", posted, &[]), 204);
    // Of neither is anything kept: a host that is not blocked, and a client that is not named.
    post("http://good.example/collect", "not=blocked", &[]);
    post("http://ads.example/collect", "other=client", &["--interface", "127.0.0.2"]);
    let bodies = edge.api("/api/inspected")["bodies"].clone();
    assert_eq!(bodies.as_array().map(Vec::len), Some(1), "{bodies}");
    let body = &bodies[0];
    let kept = r#"{"city":"Berlin","password":"[redacted]","memberId":"[redacted]","more":"xxxxx"#;
    assert_eq!(body["text"], kept, "{body}");
    assert_eq!((&body["bytes"], &body["shown_bytes"]), (&posted.len().into(), &64.into()));
    assert_eq!(body["url"], "https://ads.example/collect?token=[redacted]");
    let told = edge.told(&["ctl", "inspected"]);
    assert!(told.contains("POST https://ads.example/collect") && told.contains(kept), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    let (_, door) = fetch(&edge, "https://127.0.0.1/api/inspected", &[]);
    assert!(!door.contains("Berlin"), "{door}");
}

#[test]
fn the_leaf_is_what_browsers_accept() {
    let edge = edge();
    let address = edge.address("pixel", "https");
    let ca = edge.state().join("ca/ca.pem");
    let said = openssl(
        address,
        "ads.example",
        &[
            "-CAfile",
            ca.to_str().unwrap(),
            "-verify_return_error",
            "-verify_hostname",
            "ads.example",
        ],
    );
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    assert!(said.contains("TLSv1.3"), "{said}");
    let pem = &said[said.find("-----BEGIN").unwrap()..said.find("-----END").unwrap()];
    let leaf = edge.scratch.write("leaf.pem", format!("{pem}-----END CERTIFICATE-----\n"));
    let output = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-text", "-in", leaf.to_str().unwrap()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "prime256v1",
        "TLS Web Server Authentication",
        "Digital Signature",
        "DNS:ads.example",
        "Authority Key Identifier",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let expiry = std::process::Command::new("openssl")
        .args([
            "x509",
            "-noout",
            "-in",
            leaf.to_str().unwrap(),
            "-checkend",
            &(91 * 86400).to_string(),
        ])
        .status()
        .unwrap();
    assert!(!expiry.success(), "a leaf lives 90 days at most");
}

#[test]
fn null_answers_are_of_the_type_that_was_asked_for() {
    let edge = edge();
    for (headers, path, status, mark) in [
        ("Sec-Fetch-Dest: script", "/a", 200, "text/javascript"),
        ("Sec-Fetch-Dest: image", "/a", 200, "image/gif"),
        ("Sec-Fetch-Dest: style", "/a", 200, "text/css"),
        ("Sec-Fetch-Dest: iframe", "/a", 200, "text/html"),
        ("Accept: application/json", "/api", 200, "{}"),
        ("Accept: text/event-stream", "/events", 204, "HTTP/"),
        ("X-None: 1", "/pic.png", 200, "image/"),
        ("X-None: 1", "/x.js", 200, "text/javascript"),
        ("X-None: 1", "/generate_204", 204, "HTTP/"),
    ] {
        let url = format!("http://ads.example{path}");
        let (got, answer) = fetch(&edge, &url, &["-H", headers]);
        assert_eq!(got, status, "{headers} {path}: {answer}");
        assert!(answer.contains(mark), "{headers} {path}: {answer}");
        assert_eq!(header(&answer, "strict-transport-security"), None);
        assert_eq!(header(&answer, "set-cookie"), None);
    }
    let (status, _) = fetch(&edge, "http://ads.example/beacon", &["-d", "x=1"]);
    assert_eq!(status, 204, "a beacon");
}

#[test]
fn a_preflight_is_granted() {
    let edge = edge();
    let (status, answer) = fetch(
        &edge,
        "https://ads.example/collect",
        &[
            "-X",
            "OPTIONS",
            "-H",
            "Origin: https://www.example",
            "-H",
            "Access-Control-Request-Method: PUT",
            "-H",
            "Access-Control-Request-Headers: x-id",
        ],
    );
    assert_eq!(status, 204, "{answer}");
    assert_eq!(
        header(&answer, "access-control-allow-origin").as_deref(),
        Some("https://www.example")
    );
    assert_eq!(header(&answer, "access-control-allow-headers").as_deref(), Some("x-id"));
}

#[test]
fn a_person_sees_the_list_and_the_rule() {
    let edge = edge();
    let (status, page) = fetch(
        &edge,
        "https://x.ads.example/landing",
        &[
            "-H",
            "Sec-Fetch-Mode: navigate",
            "-H",
            "Sec-Fetch-Dest: document",
            "-H",
            "Accept: text/html",
        ],
    );
    assert_eq!(status, 403, "{page}");
    for part in ["||ads.example^", "mine", "x.ads.example"] {
        assert!(page.contains(part), "{part} is missing:\n{page}");
    }
    assert_eq!(header(&page, "cache-control").as_deref(), Some("no-store"));
}

#[test]
fn garbage_and_split_client_hellos_do_no_harm() {
    let edge = edge();
    let address = edge.address("pixel", "https");
    for bytes in [
        &b"GET / HTTP/1.1\r\nHost: ads.example\r\n\r\n"[..],
        &[0x16, 3, 1, 0xff, 0xff, 1],
        &[0; 600],
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.len() < 64, "an alert at most");
    }
    // A hello that never ends holds nobody up.
    let mut never = TcpStream::connect(address).unwrap();
    never.write_all(&[0x16, 3, 1, 2, 0, 1]).unwrap();
    let (status, _) = fetch(&edge, "https://ads.example/x.js", &[]);
    assert_eq!(status, 200);
    let (status, _) = curl(&["-k", &format!("http://{}/x.js", edge.address("pixel", "http"))]);
    assert_ne!(status, 0);
}

/// The names of pixelserv-tls's counters, in its order: what scripts for it look for.
const COUNTERS: &str = "uts log kcc kmx kvg krq req avg rmx tav tmx slh slm sle slc slu v13 v12 v10 zrt \
    uca ucb uce ush sct sch scm scp ssh ssm ssp nfe gif ico txt jpg png swf ufe opt pst hed rdr nou \
    pth 204 bad cls cly clt err";

#[test]
fn counters_have_the_names_of_pixelserv_for_those_who_may_read_them() {
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], servstats: [127.0.0.1] }
"#,
    );
    for url in ["https://ads.example/x.js", "http://ads.example/a.gif", "http://ads.example/b.gif"]
    {
        assert_eq!(fetch(&edge, url, &[]).0, 200);
    }
    assert_eq!(fetch(&edge, "http://ads.example/report", &["-d", "0123456789"]).0, 204);
    assert_eq!(fetch(&edge, "https://other.example/", &[]).0, 0);
    let door = edge.address("pixel", "http");
    let (status, line) = curl(&[&format!("http://{door}/servstats.txt")]);
    assert_eq!(status, 200);
    let pairs: Vec<(&str, &str)> =
        line.split(", ").map(|pair| pair.split_once(' ').unwrap()).collect();
    let names: Vec<&str> = pairs.iter().map(|(_, name)| *name).collect();
    assert_eq!(names.join(" "), COUNTERS.split_whitespace().collect::<Vec<_>>().join(" "));
    let of = |name: &str| pairs.iter().find(|(_, it)| *it == name).unwrap().0;
    for (name, value) in [
        ("req", "5"),
        ("slh", "1"),
        ("slm", "1"),
        ("gif", "2"),
        ("txt", "1"),
        ("204", "1"),
        ("pst", "1"),
        ("rmx", "10"),
        ("scm", "1"),
        ("sct", "1"),
    ] {
        assert_eq!(of(name), value, "{name}: {line}");
    }
    let (status, page) = curl(&[&format!("http://{door}/servstats")]);
    assert_eq!(status, 200);
    assert!(page.contains("<code>gif</code> GIF images"), "{page}");
    let (_, by_name) = fetch(&edge, "http://ads.example/servstats.txt", &[]);
    assert!(!by_name.contains("uts"), "pages reach blocked names, and learn nothing: {by_name}");
}

#[test]
fn counters_are_shown_to_nobody_unless_it_is_said() {
    let edge = edge();
    let door = edge.address("pixel", "http");
    for path in ["/servstats", "/servstats.txt"] {
        let (_, answer) = curl(&[&format!("http://{door}{path}")]);
        assert!(!answer.contains("slh"), "{answer}");
    }
}

#[test]
fn a_person_is_led_on_to_the_address_inside_where_the_owner_wants_that() {
    let edge = Tidegate::start(
        r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^"] }] }
pixel: { listen: ["http://127.0.0.1:0", "https://127.0.0.1:0"], redirect: true }
"#,
    );
    let link = "http://ads.example/click?u=https%3A%2F%2Fshop.example%2Fa%3Fb%3Dc";
    let page = ["-H", "Accept: text/html"];
    let (status, answer) = fetch(&edge, link, &page);
    assert_eq!(status, 307, "{answer}");
    assert_eq!(header(&answer, "location").as_deref(), Some("https://shop.example/a?b=c"));
    assert_eq!(header(&answer, "cache-control").as_deref(), Some("no-store"));
    let back = ["-H", "Sec-Fetch-Dest: document", "-e", "https://shop.example/a"];
    assert_eq!(fetch(&edge, link, &back).0, 403, "a conversion that the page itself counts");
    assert_eq!(fetch(&edge, link, &["-H", "Sec-Fetch-Dest: image"]).0, 200);
    for inside in ["javascript:alert(1)", "https%3A%2F%2F192.168.1.1%2F", "https%3A%2F%2Frouter%2F"]
    {
        assert_eq!(fetch(&edge, &format!("http://ads.example/c?u={inside}"), &page).0, 403);
    }
}
