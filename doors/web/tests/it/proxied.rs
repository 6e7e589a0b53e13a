//! Behind a proxy that says who the client is.

use crate::support::{Answer, DEADLINE, Edge, Folder, site};
use settings::Text;
use std::io::{Read, Write};
use std::net::TcpStream;

/// A site that lets in connections of proxies from this network only.
fn edge(network: &str) -> (Edge, Folder) {
    let base = Folder::new();
    base.write("www/index.html", "hello");
    let mut site = site("www", &[]);
    site.proxy_protocol = vec![Text(network.parse().unwrap())];
    (Edge::start_with(&base, &[site], ""), base)
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: www.example\r\n\r\n";

/// Sends pieces, a flush between them, and returns what comes back until the end.
fn send(edge: &Edge, pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = edge.connect();
    for piece in pieces {
        // The other side may have closed already: then nothing comes back.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

fn v2(client: [u8; 4]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    header.extend(client);
    header.extend([198, 51, 100, 1, 0x30, 0x39, 0, 80]);
    header
}

#[test]
fn the_client_is_whom_the_proxy_names() {
    let (edge, _base) = edge("127.0.0.0/8");
    let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 80\r\n";
    for header in [&line[..], &v2([192, 0, 2, 7])] {
        let mut stream = edge.connect();
        stream.write_all(&[header, GET].concat()).unwrap();
        assert_eq!(Answer::read(&mut stream).text(), "hello");
        // The connection goes on as any other.
        stream.write_all(GET).unwrap();
        assert_eq!(Answer::read(&mut stream).text(), "hello");
    }
    assert!(edge.rows(4).iter().all(|row| row.client.to_string() == "192.0.2.7"));
}

#[test]
fn a_header_in_single_bytes_is_understood() {
    let (edge, _base) = edge("127.0.0.1");
    let mut stream = edge.connect();
    stream.set_nodelay(true).unwrap();
    for byte in [&v2([192, 0, 2, 8])[..], GET].concat() {
        stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(Answer::read(&mut stream).text(), "hello");
    assert_eq!(edge.rows(1)[0].client.to_string(), "192.0.2.8");
}

#[test]
fn a_health_check_is_the_proxys_own() {
    let (edge, _base) = edge("127.0.0.1");
    let mut stream = edge.connect();
    stream.write_all(&[&b"PROXY UNKNOWN\r\n"[..], GET].concat()).unwrap();
    assert_eq!(Answer::read(&mut stream).text(), "hello");
    assert_eq!(edge.rows(1)[0].client.to_string(), "127.0.0.1");
}

#[test]
fn nobody_is_served_who_is_not_introduced() {
    let (proxied, _base) = edge("127.0.0.1");
    let twice = b"PROXY UNKNOWN\r\nPROXY TCP4 192.0.2.7 198.51.100.1 1 80\r\n";
    for pieces in [&[GET][..], &[b"PROXY TCP4 nobody\r\n", GET], &[b"PROXY TCP4 "], &[b""]] {
        assert_eq!(send(&proxied, pieces), b"", "{pieces:?}");
    }
    // A second header is no request.
    let answer = send(&proxied, &[twice, GET]);
    assert!(!answer.ends_with(b"hello"), "{}", answer.escape_ascii());
    // A stranger that knows the header is believed as little as one that does not.
    let (elsewhere, _base) = edge("192.0.2.0/24");
    assert_eq!(send(&elsewhere, &[b"PROXY UNKNOWN\r\n", GET]), b"");
    assert_eq!(send(&elsewhere, &[GET]), b"");
}

#[test]
fn a_listener_without_proxies_believes_nobody() {
    let base = Folder::new();
    base.write("www/index.html", "hello");
    let edge = Edge::start(&base);
    let mut stream: TcpStream = edge.connect();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.write_all(&[&b"PROXY UNKNOWN\r\n"[..], GET].concat()).unwrap();
    assert_ne!(Answer::read(&mut stream).status, 200);
}
