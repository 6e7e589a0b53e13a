//! Names that were let through while clients still ask the pixel door: carried to their real
//! servers.
//!
//! In network namespaces of their own, with addresses of TEST-NET-3: browsers ask at ports 80 and
//! 443 only, and a client outside must not be led inside.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use tidegate_tests::clients::{curl, curl_with_head, openssl};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, wait};

const UPSTREAM: &str = "192.31.196.54";
const PIXEL: &str = "192.31.196.80";
const ORIGIN: &str = "192.31.196.10";
const ONE: &str = "192.31.196.101";
const OTHER: &str = "192.31.196.102";

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||shop.example^", "||loop.example^", "||near.example^"] }] }
pixel: { listen: ["http://192.31.196.80:80", "https://192.31.196.80:443"], addresses: [192.31.196.80] }
dns: { listen: ["udp://192.31.196.53:53"], upstreams: ["udp://192.31.196.54:53"] }
admin: { listen: "127.0.0.1:0" }
"#;

/// Tidegate, an upstream, and the shop's server: TLS by openssl with a certificate of its own,
/// plain by us.
struct Street {
    edge: Tidegate,
    shop: Origin,
    server: Child,
    certificate: String,
    _upstream: Resolver,
    _namespace: Namespace,
}

impl Drop for Street {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Street {
    /// The calling thread stays inside.
    fn open(name: &str) -> Self {
        let addresses = [UPSTREAM, PIXEL, ORIGIN, ONE, OTHER, "192.31.196.53"];
        let namespace = Namespace::new(name, &addresses, "192.31.196.53");
        namespace.enter();
        let at = |text: &str| Reply::Address(text.parse::<Ipv4Addr>().unwrap());
        let upstream = Resolver::start_at(
            format!("{UPSTREAM}:53").parse().unwrap(),
            &[
                ("shop.example", at(ORIGIN)),
                ("loop.example", at(PIXEL)),
                ("near.example", at("127.0.0.1")),
            ],
        );
        let shop = Origin::start_at(
            format!("{ORIGIN}:80").parse().unwrap(),
            &[("/a", Page::new("text/plain", "the shop"))],
        );
        let scratch = Scratch::new();
        let path = |name: &str| scratch.path().join(name).display().to_string();
        let (certificate, key) = (path("shop.pem"), path("shop.key"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-nodes", "-keyout", &key, "-out", &certificate, "-days", "2"])
            .args(["-subj", "/CN=The Shop", "-addext", "subjectAltName=DNS:shop.example"])
            .output()
            .unwrap();
        assert!(made.status.success());
        let server = Command::new("openssl")
            .args(["s_server", "-www", "-quiet", "-accept", &format!("{ORIGIN}:443")])
            .args(["-cert", &certificate, "-key", &key])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let edge = Tidegate::start_in(scratch, YAML);
        wait::until("the shop", || TcpStream::connect(format!("{ORIGIN}:443")).ok());
        Self { edge, shop, server, certificate, _upstream: upstream, _namespace: namespace }
    }

    /// What a client gets at the pixel door's address over TLS, trusting this authority.
    fn secure(client: &str, authority: &str, name: &str) -> (u16, String) {
        let to = format!("::{PIXEL}:443");
        let url = format!("https://{name}/");
        curl(&["--interface", client, "--cacert", authority, "--connect-to", &to, &url])
    }

    fn ours(&self) -> String {
        self.edge.state().join("ca/ca.pem").display().to_string()
    }

    /// Whether the client gets the shop's own page, with its own certificate.
    fn reaches_shop(&self, client: &str) -> bool {
        let (status, page) = Street::secure(client, &self.certificate, "shop.example");
        status == 200 && page.contains("s_server")
    }

    /// Whether the client gets the null answer.
    fn is_blocked(&self, client: &str) -> bool {
        Street::secure(client, &self.ours(), "shop.example") == (200, String::new())
    }

    /// The newest recorded request of this kind about a name.
    fn row(&self, name: &str, kind: &str) -> serde_json::Value {
        wait::until("its row", || {
            let rows = self.edge.api("/api/requests?door=pixel");
            let found = rows["rows"].as_array()?.iter().find(|row| {
                row["kind"] == kind && row["subject"].as_str().is_some_and(|it| it.contains(name))
            });
            found.cloned()
        })
    }
}

#[test]
fn one_client_reaches_the_shop_with_its_own_certificate_while_another_is_blocked() {
    let street = Street::open("splice-one");
    assert!(street.is_blocked(ONE) && !street.reaches_shop(ONE));
    street.edge.told(&["ctl", "allow", "shop.example", "--client", ONE]);
    assert!(street.reaches_shop(ONE), "the same address leads to the shop");
    assert!(street.is_blocked(OTHER), "the leave is not for this one");
    let said = openssl(format!("{PIXEL}:443").parse().unwrap(), "shop.example", &["-bind", ONE]);
    assert!(said.contains("CN=The Shop") || said.contains("CN = The Shop"), "{said}");
    let row = street.row("shop.example", "tunnel");
    assert_eq!((&row["source"], &row["cause"]), (&"tunnel".into(), &"paused".into()), "{row}");
    assert_eq!((&row["client"], &row["status"]), (&ONE.into(), &200.into()), "{row}");
    street.edge.told(&["ctl", "revoke", "shop.example", "--client", ONE]);
    assert!(street.is_blocked(ONE) && !street.reaches_shop(ONE), "taken back");
}

#[test]
fn a_pause_carries_what_rules_block_and_ends_by_itself() {
    let street = Street::open("splice-pause");
    street.edge.told(&["ctl", "pause", "1"]);
    assert!(street.reaches_shop(ONE) && street.reaches_shop(OTHER));
    let (status, _) = Street::secure(ONE, &street.ours(), "free.example");
    assert_eq!(status, 0, "no rule blocks it: nothing of ours led it here");
    let token = std::fs::read_to_string(street.edge.state().join("admin.token")).unwrap();
    let admin = street.edge.address("admin", "http");
    let bearer = format!("Authorization: Bearer {}", token.trim());
    let kind = "Content-Type: application/json";
    let url = format!("http://{admin}/api/pause");
    curl(&["-H", &bearer, "-H", kind, "-d", r#"{"seconds": 1}"#, &url]);
    wait::until("the pause to end", || street.is_blocked(ONE).then_some(()));
}

#[test]
fn connections_that_would_go_round_or_inside_are_refused() {
    let street = Street::open("splice-loop");
    for (name, status) in [("loop.example", 403), ("near.example", 403)] {
        street.edge.told(&["ctl", "allow", name, "--always"]);
        let (got, _) = Street::secure(ONE, &street.ours(), name);
        assert_eq!(got, 0, "{name}");
        let row = street.row(name, "tunnel");
        assert_eq!(row["status"], status, "{row}");
        let to = format!("::{PIXEL}:80");
        let url = format!("http://{name}/");
        let page = ["--interface", ONE, "--connect-to", &to, "-H", "Accept: text/html", &url];
        assert_eq!(curl(&page).0, 421, "{name}: a page says so");
    }
    assert!(street.is_blocked(ONE), "the door goes on");
}

#[test]
fn plain_http_is_carried_too_and_a_kept_connection_begins_anew() {
    let street = Street::open("splice-plain");
    let ask = |stream: &mut TcpStream| {
        stream.write_all(b"GET /a HTTP/1.1\r\nHost: shop.example\r\n\r\n").unwrap();
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let mut kept = TcpStream::connect(format!("{PIXEL}:80")).unwrap();
    kept.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    assert!(ask(&mut kept).contains("Tidegate") || street.shop.lines().is_empty());
    street.edge.told(&["ctl", "allow", "shop.example"]);
    let again = ask(&mut kept);
    assert!(again.starts_with("HTTP/1.1 307"), "{again}");
    let again = again.to_lowercase();
    assert!(again.contains("location: http://shop.example/a\r\n"), "{again}");
    assert!(again.contains("connection: close"), "{again}");
    assert_eq!(kept.read(&mut [0]).unwrap(), 0, "over");

    let to = format!("::{PIXEL}:80");
    let page = ["--connect-to", &to, "-d", "x=1", "http://shop.example/a"];
    let (status, body) = curl_with_head(&page);
    assert_eq!(status, 200, "{body}");
    assert!(body.ends_with("the shop"), "{body}");
    assert_eq!(street.shop.lines(), ["POST shop.example /a"]);
    let other = ["--connect-to", &to, "-H", "Host: shop.example:81", "http://shop.example/a"];
    assert_ne!(curl(&other).1, "the shop", "another port is not ours to reach");
    assert_eq!(street.shop.lines().len(), 1);
}
