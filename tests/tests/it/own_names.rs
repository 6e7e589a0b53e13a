//! Certificates for the names of our own servers: every door that has some gets one that real
//! clients take, and names that no authority should sign are complained about.

use std::fs;
use tidegate_tests::Scratch;
use tidegate_tests::clients::{curl, openssl};
use tidegate_tests::tidegate::{Tidegate, binary};
use tidegate_tests::wait;

const DOORS: &str = r#"
dns: { listen: ["tls://127.0.0.1:0"], names: [dns.home.arpa], upstreams: ["udp://127.0.0.1:9"] }
proxy: { listen: ["https://127.0.0.1:0"], tls: { names: [proxy.lan] } }
web:
  - { listen: ["https://127.0.0.1:0"], hosts: [www.example, "*.sites.example"], root: www }
admin: { listen: "127.0.0.1:0" }
"#;

fn gateway(names: &str) -> String {
    format!(
        "{DOORS}gateway: {{ listen: [\"https://127.0.0.1:0\"], tls: {{ names: [{names}] }}, \
         routes: [{{ path: \"/*\", answer: {{ body: here }} }}] }}\n"
    )
}

fn start(yaml: &str) -> Tidegate {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path().join("www")).unwrap();
    fs::write(scratch.path().join("www/index.html"), "site").unwrap();
    Tidegate::start_in(scratch, yaml)
}

/// What curl gets at a door under a name; status 0 without a certificate that it trusts.
fn fetch(edge: &Tidegate, door: &str, name: &str, path: &str) -> (u16, String) {
    let ca = edge.state().join("ca/ca.pem");
    let to = format!("::{}", edge.address(door, "https"));
    let url = format!("https://{name}{path}");
    curl(&["--cacert", ca.to_str().unwrap(), "--connect-to", &to, &url])
}

#[test]
fn every_door_has_a_certificate_for_its_names() {
    let edge = start(&gateway("app.example, localhost"));
    for name in ["app.example", "localhost", "127.0.0.1"] {
        assert_eq!(fetch(&edge, "gateway", name, "/"), (200, "here".into()), "{name}");
    }
    for name in ["www.example", "a.sites.example"] {
        assert_eq!(fetch(&edge, "web", name, "/"), (200, "site".into()), "{name}");
    }
    // With its port, as browsers are told: over HTTP/2 a proxy knows itself by that.
    let proxy = format!("proxy.lan:{}", edge.address("proxy", "https").port());
    let (status, script) = fetch(&edge, "proxy", &proxy, "/proxy.pac");
    assert!(status == 200 && script.contains("FindProxyForURL"), "{status} {script}");
    let ca = edge.state().join("ca/ca.pem");
    let args = ["-CAfile", ca.to_str().unwrap(), "-verify_hostname", "dns.home.arpa"];
    let said = openssl(edge.address("dns", "tls"), "dns.home.arpa", &args);
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    // A name of another door is none of the gateway's.
    assert_eq!(fetch(&edge, "gateway", "proxy.lan", "/").0, 0);

    fs::write(&edge.config, gateway("new.example")).unwrap();
    edge.signal("HUP");
    wait::until("the reload", || {
        edge.output.try_recv().ok().filter(|it| it.starts_with("reloaded"))
    });
    assert_eq!(fetch(&edge, "gateway", "new.example", "/"), (200, "here".into()));
    assert_eq!(fetch(&edge, "gateway", "app.example", "/").0, 0);
}

/// What `check` says of a configuration.
fn check(scratch: &Scratch, yaml: &str) -> String {
    let config = scratch.write("tidegate.yaml", yaml);
    let output = std::process::Command::new(binary())
        .args(["check", "--config"])
        .arg(&config)
        .arg("--state")
        .arg(scratch.path().join("state"))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn names_that_are_never_signed_are_complained_about_with_their_place() {
    let scratch = Scratch::new();
    for (name, part) in [
        ("co.uk", "gateway.tls.names.0: no certificate can be signed for co.uk"),
        ("github.io", "public suffix"),
        ("shop.bank", "gateway.tls.names.0: shop.bank is excluded"),
    ] {
        let said = check(&scratch, &gateway(name));
        assert!(said.contains(part), "{name}: {said}");
        assert!(!said.contains("policy"), "{name}: {said}");
    }
    let site = DOORS.replace("*.sites.example", "*.co.uk");
    let said = check(&scratch, &site);
    assert!(said.contains("web.0.hosts.1: no certificate can be signed for *.co.uk"), "{said}");
    // Where nothing is to be signed, nothing is wrong.
    let plain = site.replace("https://127.0.0.1:0\"], hosts", "http://127.0.0.1:0\"], hosts");
    let said = check(&scratch, &plain);
    assert!(!said.contains("certificate"), "{said}");
}
