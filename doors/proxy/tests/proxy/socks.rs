//! SOCKS5 at the proxy's port: the same rules as for tunnels, with curl as the client.

use crate::support::{Origin, curl, get, ok, proxy};
use door_proxy::AuthSettings;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

fn socks(address: SocketAddr) -> String {
    format!("socks5h://{address}")
}

/// Opens a proxy that speaks SOCKS5 too, and takes tunnels to any port.
fn socks_proxy(rules: &str, change: impl FnOnce(&mut door_proxy::Settings)) -> SocketAddr {
    proxy(rules, |settings| {
        settings.socks5 = true;
        settings.connect_ports = vec![settings::Text("1-65535".parse().unwrap())];
        change(settings);
    })
}

/// The code of the reply to a request for `host`, which is a name.
fn reply(proxy: SocketAddr, host: &str, port: u16) -> u8 {
    let mut client = TcpStream::connect(proxy).unwrap();
    let mut request = vec![5, 1, 0, 5, 1, 0, 3, host.len() as u8];
    request.extend(host.as_bytes());
    request.extend(port.to_be_bytes());
    client.write_all(&request).unwrap();
    let mut replies = [0; 12];
    client.read_exact(&mut replies).unwrap();
    assert_eq!(
        (replies[..3].to_vec(), replies[4..].to_vec()),
        (vec![5, 0, 5], vec![0, 1, 0, 0, 0, 0, 0, 0])
    );
    if replies[3] != 0 {
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "and then it is over");
    }
    replies[3]
}

#[test]
fn curl_fetches_by_names_and_addresses_and_http_is_spoken_beside() {
    let origin = Origin::start(|_, _, _| ok("far"));
    let proxy = socks_proxy("", |_| {});
    let url = format!("http://{}/", origin.address);
    assert_eq!(curl(&["-x", &socks(proxy), &url]), "far");
    let by_name = format!("http://localhost:{}/", origin.address.port());
    assert_eq!(curl(&["-x", &socks(proxy), &by_name]), "far");
    assert!(get(proxy, &url).ends_with("far"), "HTTP at the same port");
    assert_eq!(curl(&["--proxytunnel", "-x", &format!("http://{proxy}"), &url]), "far");
}

#[test]
fn replies_say_why_nothing_is_reached() {
    let proxy = socks_proxy("||ads.example^\n", |settings| {
        settings.connect_ports = vec![settings::Text("1-1023".parse().unwrap())];
    });
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (host, port, code) in [
        ("ads.example", 443, 2),
        ("localhost", nobody.port(), 2),
        ("169.254.169.254", 80, 2),
        ("127.0.0.1", 1, 5),
        ("no-such-host.invalid", 443, 4),
    ] {
        assert_eq!(reply(proxy, host, port), code, "{host}:{port}");
    }
}

#[test]
fn users_are_asked_for_as_over_http() {
    let origin = Origin::start(|_, _, _| ok("far"));
    let proxy = socks_proxy("", |settings| {
        settings.auth = Some(AuthSettings {
            users: [("ann".into(), bcrypt::hash("pw", 4).unwrap())].into(),
            ..AuthSettings::default()
        });
    });
    let url = format!("http://{}/", origin.address);
    for (user, served) in [("ann:pw@", true), ("ann:wrong@", false), ("", false)] {
        let answer = curl(&["-x", &format!("socks5h://{user}{proxy}"), &url]);
        assert_eq!(answer == "far", served, "{user}: {answer}");
    }
}

#[test]
fn without_the_setting_it_is_not_spoken() {
    let proxy = proxy("", |_| {});
    let mut client = TcpStream::connect(proxy).unwrap();
    client.write_all(&[5, 1, 0]).unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    assert!(!answer.starts_with(&[5, 0]), "{answer:?}");
}
