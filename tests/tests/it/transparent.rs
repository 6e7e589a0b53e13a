//! Clients that know of no proxy, whose connections the packet filter of a router brings to it.
//!
//! Three network namespaces: a client, the router with Tidegate, and the servers behind it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use tidegate_tests::namespace::Namespace;
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::Resolver;
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::{Scratch, wait};

const CLIENT: &str = "10.9.1.2";
const ROUTER: &str = "10.9.1.1";
const SHOP: &str = "192.31.196.10";
const THIEF: &str = "192.31.196.11";
const BLOCKED: &str = "192.31.196.12";
const SHOP_V6: &str = "fd09:2::10";
const MAC: &str = "02:00:00:00:09:0a";

const YAML: &str = r#"
policy: { lists: [{ name: mine, rules: ["||ads.example^", "192.31.196.12"] }] }
proxy:
  listen: ["http://0.0.0.0:3128", "redirect://0.0.0.0:3129", "redirect://[::]:3129",
    "tproxy://0.0.0.0:3130", "tproxy://[::]:3130"]
  clients: [10.9.0.0/16, "fd09:1::/64", 192.31.196.1]
  cache: { memory: 64MiB }
dns:
  listen: ["udp://127.0.0.1:53"]
  upstreams: ["udp://192.31.196.10:53"]
  local: ["shop.lan A 192.31.196.10", "six.lan AAAA fd09:2::10", "ads.example A 192.31.196.10"]
admin: { listen: "127.0.0.1:0" }
"#;

/// What brings connections to `redirect` listeners.
const REDIRECT: &str = r#"
table inet tidegate {
  chain prerouting {
    type nat hook prerouting priority -100;
    iifname "tg-in" tcp dport { 80, 443 } redirect to :3129
  }
}
"#;

/// What brings connections to `tproxy` listeners.
const TPROXY: &str = r#"
table inet tidegate {
  chain prerouting {
    type filter hook prerouting priority -150;
    iifname "tg-in" meta l4proto tcp tcp dport { 80, 443 } tproxy to :3130 meta mark set 1 accept
  }
}
"#;

/// Rules that catch what the router itself sends, too: its owner has forgotten to spare the proxy.
const CIRCLE: &str = r#"
table inet tidegate {
  chain prerouting {
    type nat hook prerouting priority -100;
    iifname "tg-in" tcp dport { 80, 443 } redirect to :3129
  }
  chain output {
    type nat hook output priority -100;
    tcp dport { 80, 443 } redirect to :3129
  }
}
"#;

struct Street {
    edge: Tidegate,
    shop: Origin,
    thief: Origin,
    server: Child,
    certificate: String,
    client: Namespace,
    _far: Namespace,
    _router: Namespace,
    _upstream: Resolver,
}

impl Drop for Street {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn run(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn inside(space: &Namespace, program: &str, args: &[&str]) {
    let mut command = space.command(program);
    command.args(args);
    run(command);
}

/// A router whose packet filter has these rules. The calling thread stays in it.
fn open(name: &str, rules: &str) -> Street {
    open_with(name, rules, "")
}

/// The same with more in Tidegate's configuration.
fn open_with(name: &str, rules: &str, more: &str) -> Street {
    let space = |end: &str| Namespace::new(&format!("{name}-{end}"), &[], "192.31.196.10");
    let (client, router, far) = (space("client"), space("router"), space("far"));
    router.link(
        "tg-in",
        &[&format!("{ROUTER}/24"), "fd09:1::1/64"],
        &client,
        MAC,
        &[&format!("{CLIENT}/24"), "fd09:1::2/64"],
    );
    let servers = [SHOP, THIEF, BLOCKED].map(|it| format!("{it}/24"));
    let theirs = [&servers[0], &servers[1], &servers[2], "fd09:2::10/64"];
    router.link("tg-out", &["192.31.196.1/24", "fd09:2::1/64"], &far, "02:00:00:00:09:0b", &theirs);
    inside(&client, "ip", &["route", "add", "default", "via", ROUTER]);
    inside(&client, "ip", &["-6", "route", "add", "default", "via", "fd09:1::1"]);

    let scratch = Scratch::new();
    let path = |name: &str| scratch.path().join(name).display().to_string();
    let script = path("rules.nft");
    fs::write(&script, rules).unwrap();
    inside(&router, "nft", &["-f", &script]);
    for family in ["-4", "-6"] {
        inside(&router, "ip", &[family, "rule", "add", "fwmark", "1", "lookup", "100"]);
        let local = [family, "route", "add", "local", "default", "dev", "lo", "table", "100"];
        inside(&router, "ip", &local);
    }

    far.enter();
    let kept =
        |text: &str| [("/a", Page::new("text/plain", text).header("Cache-Control", "max-age=600"))];
    let shop = Origin::start_at(format!("{SHOP}:80").parse().unwrap(), &kept("the shop"));
    let sixth = Origin::start_at(format!("[{SHOP_V6}]:80").parse().unwrap(), &kept("the sixth"));
    let thief = Origin::start_at(format!("{THIEF}:80").parse().unwrap(), &kept("a thief"));
    let upstream = Resolver::start_at(format!("{SHOP}:53").parse().unwrap(), &[]);
    let (certificate, key) = (path("shop.pem"), path("shop.key"));
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
        .args(["-nodes", "-keyout", &key, "-out", &certificate, "-days", "2"])
        .args(["-subj", "/CN=The Shop", "-addext", "subjectAltName=DNS:shop.lan,DNS:ads.example"]);
    run(made);
    let server = Command::new("openssl")
        .args(["s_server", "-www", "-quiet", "-accept", "443", "-cert", &certificate])
        .args(["-key", &key])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(sixth);

    router.enter();
    let edge = Tidegate::start_in(scratch, &format!("{YAML}{more}"));
    wait::until("the shop", || {
        let mut asked = far.command("curl");
        asked.args(["-sk", "-o", "/dev/null", &format!("https://{SHOP}/")]);
        asked.status().unwrap().success().then_some(())
    });
    Street {
        edge,
        shop,
        thief,
        server,
        certificate,
        client,
        _far: far,
        _router: router,
        _upstream: upstream,
    }
}

impl Street {
    /// The client's answer, head and all, where it connects to `address` for a URL.
    fn fetch(&self, host: &str, address: &str, more: &[&str], url: &str) -> String {
        let port = if url.starts_with("https") { 443 } else { 80 };
        let resolved = format!("{host}:{port}:{address}");
        let mut command = self.client.command("curl");
        command.args(["-sS", "-i", "--max-time", "20", "--resolve", &resolved]).args(more).arg(url);
        let output = command.output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// The newest recorded request about this that has `value` in a field.
    fn row(&self, subject: &str, field: &str, value: &str) -> serde_json::Value {
        wait::until("its row", || {
            let rows = self.edge.api("/api/requests?door=proxy");
            let is_it = |row: &&serde_json::Value| row["subject"] == subject && row[field] == value;
            rows["rows"].as_array()?.iter().find(is_it).cloned()
        })
    }
}

/// What holds however connections are brought here.
fn everything_holds(street: &Street) {
    plain_requests(street);
    forged_hosts(street);
    tunnels(street);
}

fn plain_requests(street: &Street) {
    let url = "http://shop.lan/a";
    let first = street.fetch("shop.lan", SHOP, &[], url);
    assert!(first.starts_with("HTTP/1.1 200") && first.ends_with("the shop"), "{first}");
    let second = street.fetch("shop.lan", SHOP, &[], url);
    assert!(second.to_lowercase().contains("cache-status: tidegate;hit"), "{second}");
    assert_eq!(street.shop.lines(), ["GET shop.lan /a"]);
    let row = street.row(url, "source", "cache");
    assert_eq!((&row["client"], &row["door"]), (&CLIENT.into(), &"proxy".into()), "{row}");

    let blocked =
        street.fetch("ads.example", SHOP, &["-H", "Accept: text/html"], "http://ads.example/");
    assert!(blocked.starts_with("HTTP/1.1 403") && blocked.contains("ads.example"), "{blocked}");
    let six = format!("[{SHOP_V6}]");
    let sixth = street.fetch("six.lan", &six, &[], "http://six.lan/a");
    assert!(sixth.ends_with("the sixth") && sixth.contains(";stored"), "{sixth}");
    let unknown = street.fetch("nowhere.lan", &six, &[], "http://nowhere.lan/a");
    assert!(unknown.ends_with("the sixth") && unknown.contains("host-unverified"), "{unknown}");
}

/// CVE-2009-0801: the client says a host, and connects to somebody else.
fn forged_hosts(street: &Street) {
    let url = "http://shop.lan/a?b";
    let forged = street.fetch("shop.lan", THIEF, &[], "http://shop.lan/a");
    assert!(forged.ends_with("a thief"), "it goes where it was meant to go: {forged}");
    assert!(forged.contains("fwd=bypass;detail=host-unverified"), "{forged}");
    let row = street.row("http://shop.lan/a", "not_stored", "host-unverified");
    assert_eq!((&row["client"], &row["source"]), (&CLIENT.into(), &"origin".into()), "{row}");
    let genuine = street.fetch("shop.lan", SHOP, &[], "http://shop.lan/a");
    assert!(genuine.ends_with("the shop"), "others are not sent it: {genuine}");
    let posted = street.fetch("shop.lan", THIEF, &["-d", "x=1"], "http://shop.lan/a");
    assert!(posted.ends_with("a thief"), "{posted}");
    let still = street.fetch("shop.lan", SHOP, &[], "http://shop.lan/a");
    assert!(still.to_lowercase().contains("tidegate;hit"), "what is stored stays: {still}");
    assert_eq!(street.thief.lines(), ["GET shop.lan /a", "POST shop.lan /a"]);

    let blocked = street.fetch("shop.lan", BLOCKED, &["-H", "Accept: text/html"], url);
    assert!(blocked.starts_with("HTTP/1.1 403"), "the address counts too: {blocked}");
    let other = street.fetch("shop.lan", SHOP, &["-H", "Host: shop.lan:8080"], "http://shop.lan/a");
    assert!(other.contains("host-unverified"), "another port is another server: {other}");
    let none = street.fetch("shop.lan", SHOP, &["-0", "-H", "Host:"], "http://shop.lan/a");
    assert!(none.contains(" 200") && none.ends_with("the shop"), "HTTP/1.0 needs no host: {none}");
    let connect = ["-X", "CONNECT"];
    let refused = street.fetch("shop.lan", SHOP, &connect, "http://shop.lan/a");
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
}

fn tunnels(street: &Street) {
    let trust = ["--cacert", street.certificate.as_str()];
    let own = street.fetch("shop.lan", SHOP, &trust, "https://shop.lan/");
    assert!(own.contains(" 200") && own.contains("s_server"), "{own}");
    let row = street.row("shop.lan", "source", "tunnel");
    assert_eq!((&row["client"], &row["status"]), (&CLIENT.into(), &200.into()), "{row}");

    let blocked = street.fetch("ads.example", SHOP, &trust, "https://ads.example/");
    assert!(blocked.contains("alert access denied"), "{blocked}");
    let row = street.row("ads.example", "kind", "tunnel");
    assert_eq!((&row["source"], &row["client"]), (&"policy".into(), &CLIENT.into()), "{row}");
    // Without a name, the address is all that is known.
    let bare = street.fetch("x", SHOP, &["-k"], &format!("https://{SHOP}/"));
    assert!(bare.contains("s_server"), "{bare}");
    let blocked = street.fetch("x", BLOCKED, &["-k"], &format!("https://{BLOCKED}/"));
    assert!(blocked.contains("alert access denied"), "{blocked}");
}

#[test]
fn connections_that_nat_redirects_are_answered_for_their_servers() {
    let street = open("tg-redirect", REDIRECT);
    everything_holds(&street);
    let direct = street.fetch("x", ROUTER, &[], &format!("http://{ROUTER}:3129/"));
    assert!(direct.starts_with("HTTP/1.1 421"), "nobody redirected it: {direct}");
    let explicit = street.fetch("x", ROUTER, &["-x", "http://10.9.1.1:3128"], "http://shop.lan/a");
    assert!(explicit.ends_with("the shop"), "{explicit}");
}

#[test]
fn connections_that_tproxy_hands_over_are_answered_for_their_servers() {
    let street = open("tg-tproxy", TPROXY);
    everything_holds(&street);
    let direct = street.fetch("x", ROUTER, &[], &format!("http://{ROUTER}:3130/"));
    assert!(direct.starts_with("HTTP/1.1 421"), "nobody handed it over: {direct}");
}

#[test]
fn whoever_trusts_the_authority_gets_the_pixel_doors_answers_within_tls() {
    let pixel = "pixel: { listen: ['https://127.0.0.1:8443'], addresses: [192.0.2.80] }\n";
    let street = open_with("tg-pixel", REDIRECT, pixel);
    let authority = street.edge.state().join("ca/ca.pem").display().to_string();
    let trust = ["--cacert", authority.as_str()];
    let script = street.fetch("ads.example", SHOP, &trust, "https://ads.example/x.js");
    assert!(script.contains(" 200") && script.contains("javascript"), "{script}");
    let row = street.row("ads.example", "kind", "tunnel");
    assert_eq!((&row["source"], &row["client"]), (&"policy".into(), &CLIENT.into()), "{row}");
    // What is not blocked keeps its own certificate.
    let own = ["--cacert", street.certificate.as_str()];
    assert!(street.fetch("shop.lan", SHOP, &own, "https://shop.lan/").contains("s_server"));
}

#[test]
fn connections_that_go_round_end() {
    let street = open("tg-circle", CIRCLE);
    let plain = street.fetch("shop.lan", SHOP, &[], "http://shop.lan/a");
    assert!(plain.starts_with("HTTP/1.1 508"), "{plain}");
    let secure = street.fetch("shop.lan", SHOP, &["-k"], "https://shop.lan/");
    assert!(secure.starts_with("curl: (35)"), "closed: {secure}");
    assert!(street.shop.lines().is_empty());
    let tunnels = wait::until("the rows of the tunnels", || {
        let rows = street.edge.api("/api/requests?door=proxy");
        let tunnels = rows["rows"].as_array()?.iter().filter(|row| row["kind"] == "tunnel").count();
        (tunnels > 0).then_some(tunnels)
    });
    assert_eq!(tunnels, 1, "the second time it is known");
}

#[test]
fn a_tproxy_listener_says_which_capability_it_lacks() {
    let scratch = Scratch::new();
    fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let yaml = "proxy: { listen: ['tproxy://127.0.0.1:0'] }\nadmin: { listen: '127.0.0.1:0' }\n";
    let config = scratch.write("tidegate.yaml", yaml);
    for command in ["check", "run"] {
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"])
            .arg(binary())
            .args([command, "--config"])
            .arg(&config)
            .arg("--state")
            .arg(scratch.path().join("state"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("needs CAP_NET_ADMIN"), "{command}: {said}");
        assert_eq!(output.status.success(), command == "check", "{said}");
    }
}
