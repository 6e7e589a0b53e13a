//! Listeners with TLS, and proxies in front that say who the client is.

use crate::support::{Gateway, Origin, ask, ok, parts, scratch, simple, start};
use door_gateway::{CertificateSettings, ClientCertificate, Settings, StickySettings};
use settings::Text;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate of its own making, for these names.
pub(crate) fn certificate(names: &[&str]) -> (CertificateSettings, PathBuf) {
    let key = rcgen::KeyPair::generate().unwrap();
    let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
    let chain = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem();
    let dir = scratch();
    let (certificate, key_file) = (dir.join("chain.pem"), dir.join("key.pem"));
    std::fs::write(&certificate, &chain).unwrap();
    std::fs::write(&key_file, key.serialize_pem()).unwrap();
    (CertificateSettings { certificate: certificate.clone(), key: key_file }, certificate)
}

/// A gateway that speaks TLS with these certificates, before one server.
pub(crate) fn secured(
    server: SocketAddr,
    certificates: Vec<CertificateSettings>,
    change: impl FnOnce(&mut Settings),
) -> Gateway {
    let mut settings = simple(&[server]);
    settings.listen = vec![Text("https://127.0.0.1:0".parse().unwrap())];
    settings.tls.certificates = certificates;
    change(&mut settings);
    start(settings, parts(""))
}

/// What curl prints for `https://HOST/` of the gateway, after its status and version.
fn curl(gateway: &Gateway, host: &str, ca: &Path, more: &[&str]) -> String {
    let port = gateway.address.port();
    let ran = Command::new("curl")
        .args(["-sS", "-m", "10", "-w", "%{http_code} %{http_version}", "--cacert"])
        .arg(ca)
        .args(["--resolve", &format!("{host}:{port}:127.0.0.1")])
        .args(more)
        .arg(format!("https://{host}:{port}/"))
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn the_name_asked_for_picks_the_certificate() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let (one, one_ca) = certificate(&["one.example"]);
    let (two, two_ca) = certificate(&["two.example", "*.two.example"]);
    let gateway = secured(origin.address, vec![one, two], |_| {});
    assert_eq!(curl(&gateway, "one.example", &one_ca, &[]), "x200 2");
    assert_eq!(curl(&gateway, "two.example", &two_ca, &["--http1.1"]), "x200 1.1");
    assert_eq!(curl(&gateway, "a.two.example", &two_ca, &[]), "x200 2");
    assert!(curl(&gateway, "one.example", &two_ca, &[]).contains("000"));
    let seen = origin.seen();
    assert!(seen[0].contains("x-forwarded-proto: https\r\n"), "{}", seen[0]);
    let port = format!("x-forwarded-port: {}\r\n", gateway.address.port());
    assert!(seen[0].contains(&port), "{}", seen[0]);
    assert!(seen[0].contains("via: 2.0 tidegate\r\n"), "{}", seen[0]);
}

#[test]
fn a_connection_for_one_name_opens_no_other() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let (one, one_ca) = certificate(&["one.example", "also.one.example"]);
    let (two, _) = certificate(&["two.example"]);
    let gateway = secured(origin.address, vec![one, two], |_| {});
    let host =
        |name: &str| curl(&gateway, "one.example", &one_ca, &["-H", &format!("Host: {name}")]);
    assert!(host("two.example").ends_with("421 2"), "{}", host("two.example"));
    assert!(host("stranger.example").ends_with("421 2"));
    // The same certificate: browsers share a connection for it.
    assert_eq!(host("also.one.example"), "x200 2");
    assert_eq!(host("ONE.example"), "x200 2");
    assert_eq!(origin.seen().len(), 2);
}

#[test]
fn only_clients_of_the_authority_are_let_in() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let (server, ca) = certificate(&["one.example"]);
    let (client, client_ca) = certificate(&["client.example"]);
    let gateway = secured(origin.address, vec![server], |settings| {
        settings.tls.client_ca = Some(client_ca);
        settings.tls.client_certificate = ClientCertificate::Require;
    });
    assert!(curl(&gateway, "one.example", &ca, &[]).starts_with("000 "));
    let (chain, key) = (client.certificate.to_str().unwrap(), client.key.to_str().unwrap());
    let shown = curl(&gateway, "one.example", &ca, &["--cert", chain, "--key", key]);
    assert_eq!(shown, "x200 2");
    let seen = origin.seen();
    assert_eq!(seen.len(), 1);
    assert!(seen[0].contains("client-cert: :MII"), "{}", seen[0]);
}

#[test]
fn a_sticky_cookie_given_over_tls_comes_back_over_tls_alone() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let (server, ca) = certificate(&["one.example"]);
    let gateway = secured(origin.address, vec![server], |settings| {
        let sticky = Some(StickySettings { cookie: "to".into() });
        settings.pools.get_mut("app").unwrap().sticky = sticky;
    });
    let said = curl(&gateway, "one.example", &ca, &["-i"]);
    let cookie = said.lines().find(|line| line.starts_with("set-cookie: to=")).unwrap();
    assert!(cookie.ends_with("; SameSite=Lax; Secure"), "{said}");
}

#[test]
fn a_new_certificate_is_served_after_a_reload() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let (old, old_ca) = certificate(&["one.example"]);
    let (new, new_ca) = certificate(&["one.example"]);
    let mut settings = simple(&[origin.address]);
    settings.listen = vec![Text("https://127.0.0.1:0".parse().unwrap())];
    settings.tls.certificates = vec![old];
    let gateway = start(settings.clone(), parts(""));
    assert_eq!(curl(&gateway, "one.example", &old_ca, &[]), "x200 2");
    settings.tls.certificates = vec![CertificateSettings { key: "nowhere".into(), ..new.clone() }];
    assert_eq!(gateway.door.reload(settings.clone()).unwrap_err()[0].path, "tls.certificates.0");
    assert_eq!(curl(&gateway, "one.example", &old_ca, &[]), "x200 2");
    settings.tls.certificates = vec![new];
    gateway.door.reload(settings).unwrap();
    assert_eq!(curl(&gateway, "one.example", &new_ca, &[]), "x200 2");
}

#[test]
fn the_client_is_whom_the_proxy_in_front_names() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let mut settings = simple(&[origin.address]);
    settings.proxy_protocol = vec![Text("127.0.0.0/8".parse().unwrap())];
    let gateway = start(settings.clone(), parts(""));
    let get = "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let header = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 80\r\n";
    assert!(ask(gateway.address, &format!("{header}{get}")).ends_with("\r\n\r\nx"));
    assert!(origin.seen()[0].contains("x-forwarded-for: 192.0.2.7\r\n"), "{:?}", origin.seen());
    assert_eq!(ask(gateway.address, get), "");
    settings.proxy_protocol = vec![Text("192.0.2.0/24".parse().unwrap())];
    let stranger = start(settings, parts(""));
    assert_eq!(ask(stranger.address, &format!("{header}{get}")), "");
    assert_eq!(origin.seen().len(), 1);
}

#[test]
fn no_server_is_asked_for_http_inside_http_over_tls_either() {
    let server = Origin::start(|_, _, request| {
        let asked = request.to_ascii_lowercase();
        if asked.contains("upgrade") || asked.contains("h2c") {
            let head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
            return crate::support::Reply::Keep(head.into());
        }
        ok("x")
    });
    let (one, ca) = certificate(&["one.example"]);
    let gateway = secured(server.address, vec![one], |_| {});
    let upgrade = ["-H", "Connection: Upgrade, HTTP2-Settings", "-H", "Upgrade: h2c"];
    let more = [&["--http1.1", "-H", "HTTP2-Settings: AAMAAABk"][..], &upgrade].concat();
    assert_eq!(curl(&gateway, "one.example", &ca, &more), "x200 1.1");
}
