//! Tunnels by the name in their first bytes.

use crate::support::{DEADLINE, proxy, read_message, serve_one};
use door_proxy::ConnectSni;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// What openssl tells of a handshake with `name` through the proxy, and what the server got.
fn openssl(proxy: SocketAddr, to: SocketAddr, name: &[&str]) -> String {
    let mut openssl = Command::new("openssl");
    openssl.args(["s_client", "-proxy", &proxy.to_string(), "-connect", &to.to_string()]);
    let output = openssl.args(name).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A server that notes its first bytes and then hangs up.
fn noting() -> (SocketAddr, std::sync::mpsc::Receiver<Vec<u8>>) {
    let (tell, told) = std::sync::mpsc::channel();
    let address = serve_one(move |mut stream| {
        let mut first = vec![0; 4096];
        let count = stream.read(&mut first).unwrap_or(0);
        first.truncate(count);
        tell.send(first).unwrap();
    });
    (address, told)
}

#[test]
fn a_tunnel_that_asks_for_a_blocked_server_is_cut_before_it_gets_there() {
    let proxy = proxy("||ads.example^\n", |_| {});
    let (server, told) = noting();
    let said = openssl(proxy, server, &["-servername", "CDN.ads.example"]);
    assert!(said.contains("alert access denied"), "{said}");
    assert_eq!(told.recv_timeout(DEADLINE).unwrap(), b"");
    for name in [["-servername", "www.example"].as_slice(), ["-noservername"].as_slice()] {
        let (server, told) = noting();
        openssl(proxy, server, name);
        let first = told.recv_timeout(DEADLINE).unwrap();
        assert_eq!(first[0], 22, "{name:?}");
    }
}

/// What comes back through a tunnel on which `say` is said, after the head, until it ends.
fn through(proxy: SocketAddr, to: SocketAddr, say: &[u8]) -> Vec<u8> {
    let mut client = TcpStream::connect(proxy).unwrap();
    let connect = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
    client.write_all(connect.as_bytes()).unwrap();
    let head = read_message(&mut client).unwrap();
    let (_, early) = head.split_once("\r\n\r\n").unwrap();
    let mut all = early.as_bytes().to_vec();
    client.write_all(say).unwrap();
    // A tunnel that is cut may be reset.
    let _ = client.read_to_end(&mut all);
    all
}

#[test]
fn what_is_not_tls_passes_unless_tls_is_required() {
    let echo = |mut stream: TcpStream| {
        // It speaks first, as mail servers do.
        stream.write_all(b"220 hello\n").unwrap();
        let mut said = [0; 4];
        if stream.read_exact(&mut said).is_ok() {
            stream.write_all(&said).unwrap();
        }
    };
    let lax = proxy("", |_| {});
    assert_eq!(through(lax, serve_one(echo), b"quit"), b"220 hello\nquit");
    let strict = proxy("", |settings| settings.connect_sni = ConnectSni::Require);
    let said = through(strict, serve_one(echo), b"quit");
    assert!(!said.ends_with(b"quit"), "{said:?}");
    let broken = through(lax, serve_one(echo), &[22, 3, 1, 0, 0]);
    assert!(broken.ends_with(&[21, 3, 3, 0, 2, 2, 49]), "{broken:?}");
    let off = proxy("", |settings| settings.connect_sni = ConnectSni::Off);
    let said = through(off, serve_one(echo), &[22, 3, 1, 0]);
    assert!(said.ends_with(&[22, 3, 1, 0]), "{said:?}");
}
