//! A cache keeps to its limit as resident memory, whatever the sizes of what it keeps and drops.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const CLIENTS: u64 = 16;
const REQUESTS_EACH: u64 = 1_000;
/// Far more than any of the caches holds.
const PAGES: u64 = 4_000;
/// What the whole program may have.
const RESIDENT_BYTES_MAX: u64 = 40 << 20;

const BODY: &[u8] = &[b'x'; 512 << 10];

/// The length of a page: from 1 KiB to 512, each octave as often.
fn length(page: u64) -> usize {
    let octave = page % 9;
    let within = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    (1024 + within as usize) << octave
}

/// The head's lines up to its end, as one text.
fn head(reader: &mut impl BufRead) -> String {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if !matches!(reader.read_line(&mut head), Ok(1..)) {
            return String::new();
        }
    }
    head
}

/// An origin whose pages have numbers as paths and may be kept.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (mut out, mut reader) = (stream.try_clone().unwrap(), BufReader::new(stream));
                loop {
                    let head = head(&mut reader);
                    let Some((_, rest)) = head.split_once(" /") else { return };
                    let page = rest.split_once(' ').unwrap().0.parse().unwrap();
                    let body = &BODY[..length(page).min(BODY.len())];
                    let fields = "Cache-Control: max-age=600\r\nContent-Length";
                    let head = format!("HTTP/1.1 200 OK\r\n{fields}: {}\r\n\r\n", body.len());
                    if out.write_all(&[head.as_bytes(), body].concat()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// Asks for pages at random, one after the other.
fn client(to: SocketAddr, prefix: &str, seed: u64) {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let (mut out, mut reader) = (stream.try_clone().unwrap(), BufReader::new(stream));
    let mut random = seed | 1;
    for _ in 0..REQUESTS_EACH {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let page = (random >> 33) % PAGES;
        let request = format!("GET {prefix}/{page} HTTP/1.1\r\nHost: origin.example\r\n\r\n");
        out.write_all(request.as_bytes()).unwrap();
        let head = head(&mut reader);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let length = length(page).min(BODY.len()) as u64;
        let read = std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink());
        assert_eq!(read.unwrap(), length);
    }
}

#[test]
fn the_program_stays_small_where_its_caches_are() {
    let origin = origin();
    let running = Tidegate::start(&format!(
        "proxy:\n  listen: [\"http://127.0.0.1:0\"]\n  destinations: any\n  cache: {{ memory: 8MiB, \
         disk: {{ path: kept, size: 64MiB }} }}\ngateway:\n  listen: [\"http://127.0.0.1:0\"]\n  \
         cache: {{ memory: 4MiB }}\n  pools: {{ app: {{ servers: [\"http://{origin}\"] }} }}\n  \
         routes: [{{ path: \"/*\", pool: app, cache: true }}]\n"
    ));
    let (proxy, gateway) = (running.address("proxy", "http"), running.address("gateway", "http"));
    let absolute = format!("http://{origin}");
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let (to, prefix) = if seed % 4 == 0 { (gateway, "") } else { (proxy, &*absolute) };
            scope.spawn(move || client(to, prefix, seed));
        }
    });
    let resident = running.anonymous_bytes();
    assert!(resident <= RESIDENT_BYTES_MAX, "{} KiB", resident >> 10);
}
