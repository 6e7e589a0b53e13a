//! A name is let through while Chromium holds a connection to the pixel door for it: the next
//! request reaches the real server, with that server's own certificate.

use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use tidegate_tests::browser::{Browser, trust};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{Scratch, wait};

const DNS: &str = "192.31.196.53";
const UPSTREAM: &str = "192.31.196.54";
const PIXEL: &str = "192.31.196.80";
const SITE: Ipv4Addr = Ipv4Addr::new(192, 31, 196, 10);
const SHOP: Ipv4Addr = Ipv4Addr::new(192, 31, 196, 11);

/// Loads the shop's script until it is the shop's own, and says after which load that was so. A
/// load that fails is said too.
const PAGE: &str = r#"<!doctype html><meta charset=utf-8><link rel=icon href="data:,">
<script>
const load = (url) => new Promise((done) => {
  const script = document.createElement('script');
  script.onload = () => done('loaded');
  script.onerror = () => done('failed');
  script.src = url;
  document.head.append(script);
});
const tell = (text) => fetch('/report?' + encodeURIComponent(text));
addEventListener('load', async () => {
  await tell('first ' + await load('https://shop.example/wanted.js?0') + ' ' + window.wanted);
  while ((await (await fetch('/go')).text()) !== 'go') { /* Until the name is let through. */ }
  await tell('second ' + await load('https://shop.example/wanted.js?1') + ' ' + window.wanted);
});
</script>
"#;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A TLS server of openssl's that serves the folder's files, with a certificate of its own.
fn serve(folder: &Scratch) -> Server {
    // It takes the query for a part of the name.
    folder.write("wanted.js?1", "window.wanted = 'the shop'");
    let made = Command::new("openssl")
        .current_dir(folder.path())
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-keyout", "shop.key", "-out", "shop.pem", "-days", "2", "-subj", "/CN=The Shop"])
        .args(["-addext", "subjectAltName=DNS:shop.example"])
        .output()
        .unwrap();
    assert!(made.status.success());
    let address = format!("{SHOP}:443");
    let server = Command::new("openssl")
        .current_dir(folder.path())
        .args(["s_server", "-WWW", "-quiet", "-accept", &address])
        .args(["-cert", "shop.pem", "-key", "shop.key"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let server = Server(server);
    wait::until("the shop", || TcpStream::connect(&address).ok());
    server
}

#[test]
fn chromium_reaches_the_shop_over_a_new_connection() {
    let addresses = [DNS, UPSTREAM, PIXEL, &SITE.to_string(), &SHOP.to_string()];
    let namespace = Namespace::new("splice-browser", &addresses, DNS);
    namespace.enter();
    let _upstream = Resolver::start_at(
        format!("{UPSTREAM}:53").parse().unwrap(),
        &[("www.site.example", Reply::Address(SITE)), ("shop.example", Reply::Address(SHOP))],
    );
    let page = |text: &'static str| Page::new("text/html", text);
    let site =
        Origin::start_at((SITE, 80).into(), &[("/", page(PAGE)), ("/report", page("thanks"))]);
    let files = Scratch::new();
    let _shop = serve(&files);
    let edge = Tidegate::start(&format!(
        r#"
policy: {{ lists: [{{ name: mine, rules: ["||shop.example^"] }}] }}
dns:
  listen: ["udp://{DNS}:53", "tcp://{DNS}:53"]
  upstreams: ["udp://{UPSTREAM}:53"]
  blocked_ttl: 1h
pixel: {{ listen: ["http://{PIXEL}:80", "https://{PIXEL}:443"], addresses: [{PIXEL}] }}
admin: {{ listen: "127.0.0.1:0" }}
"#
    ));
    let home = Scratch::new();
    trust(home.path(), &[&edge.state().join("ca/ca.pem"), &files.path().join("shop.pem")]);
    let browser = Browser::open(&namespace, home.path(), "http://www.site.example/");
    let report = |mark: &str| {
        wait::until(mark, || {
            let lines = site.lines().into_iter();
            let mut found =
                lines.filter_map(|it| it.split_once("/report?").map(|(_, it)| it.to_owned()));
            found.find(|it| it.starts_with(mark))
        })
    };
    assert_eq!(report("first"), "first%20loaded%20undefined");
    edge.told(&["ctl", "allow", "shop.example"]);
    site.add("/go", page("go"));
    assert_eq!(report("second"), "second%20loaded%20the%20shop", "{:?}", browser.console());
    let metrics = edge.figures();
    let carried = metrics.lines().find(|it| it.contains("splices_total{outcome=\"carried\"}"));
    assert!(carried.is_some_and(|it| !it.ends_with(" 0")), "{metrics}");
}
