//! What the proxy serves of its own.

use crate::support::{Origin, ask, certificate, curl, ok, proxy, secure_proxy};
use settings::Text;
use std::process::Command;

fn script(address: std::net::SocketAddr, path: &str, host: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

#[test]
fn the_setup_script_names_the_proxy_as_the_client_does() {
    let proxy = proxy("", |settings| {
        settings.pac.bypass = vec![Text("intranet.example".parse().unwrap())];
        settings.auth = Some(door_proxy::AuthSettings {
            users: [("ann".into(), bcrypt::hash("secret", 4).unwrap())].into(),
            ..Default::default()
        });
    });
    let port = proxy.port();
    for (path, host, named) in [
        ("/proxy.pac", format!("gate.lan:{port}"), format!("gate.lan:{port}")),
        ("/wpad.dat", "wpad".into(), format!("wpad:{port}")),
        ("/proxy.pac?x", "a b'".into(), proxy.to_string()),
    ] {
        let answer = script(proxy, path, &host);
        // A host that is none is refused before it comes so far.
        if answer.starts_with("HTTP/1.1 400") && host.contains(' ') {
            continue;
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        assert!(answer.contains("application/x-ns-proxy-autoconfig"), "{answer}");
        assert!(answer.contains(&format!("return 'PROXY {named}';")), "{answer}");
        assert!(answer.contains("below('intranet.example')"), "{answer}");
    }
}

/// What an engine of browsers makes of the script.
#[test]
fn the_script_runs_and_sends_home_what_is_at_home() {
    let proxy = proxy("", |settings| {
        settings.pac.bypass =
            ["intranet.example", "10.0.0.0/8"].map(|it| Text(it.parse().unwrap())).to_vec();
    });
    let address = proxy.to_string();
    let answer = script(proxy, "/proxy.pac", &address);
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let program = format!(
        "function isInNet(h, n, m) {{ const v = t => t.split('.').reduce((a, b) => a * 256 + +b, 0); \
         return (v(h) & v(m)) === (v(n) & v(m)); }}\n{body}\n\
         for (const host of ['www.example', 'intranet.example', 'a.Intranet.example', 'printer', \
         'x.local', '10.9.8.7', '11.0.0.1', '127.0.0.1', '::1']) \
         console.log(host + ' ' + FindProxyForURL('http://' + host + '/', host));"
    );
    let output = Command::new("node").args(["-e", &program]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let through = format!("PROXY {address}");
    let expected = [
        ("www.example", through.as_str()),
        ("intranet.example", "DIRECT"),
        ("a.Intranet.example", "DIRECT"),
        ("printer", "DIRECT"),
        ("x.local", "DIRECT"),
        ("10.9.8.7", "DIRECT"),
        ("11.0.0.1", &through),
        ("127.0.0.1", "DIRECT"),
        ("::1", &through),
    ];
    let expected = expected.map(|(host, way)| format!("{host} {way}"));
    assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{output:?}");
}

#[test]
fn a_browser_that_opens_the_proxy_is_told_how_to_use_it() {
    let proxy = proxy("", |_| {});
    let page = script(proxy, "/", &proxy.to_string());
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("text/html"), "{page}");
    assert!(page.contains(&format!("http://{proxy}/proxy.pac")), "{page}");
    assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
    // Nor does it fetch itself for ever.
    let round = curl(&["-x", &format!("http://{proxy}"), &format!("http://{proxy}/")]);
    assert!(round.contains("/proxy.pac"), "{round}");
}

#[test]
fn http2_by_prior_knowledge_is_spoken_on_plain_listeners() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let proxy = proxy("", |_| {});
    let told = curl(&[
        "--http2-prior-knowledge",
        "-w",
        " v%{http_version}",
        &format!("http://{proxy}/proxy.pac"),
    ]);
    assert!(told.contains("FindProxyForURL") && told.ends_with(" v2"), "{told}");
    assert_eq!(origin.connections(), 0);
}

#[test]
fn a_secure_proxy_says_so_in_its_script() {
    let (chain, key, _) = certificate();
    let proxy = secure_proxy((chain, key), "", |_| {});
    for version in ["--http1.1", "--http2"] {
        let told = curl(&["-k", version, &format!("https://{proxy}/proxy.pac")]);
        assert!(told.contains(&format!("return 'HTTPS {proxy}';")), "{version}: {told}");
    }
}
