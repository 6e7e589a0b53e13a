//! Bandwidth of classes of traffic. Of the time that something takes, only the least is asked for.

use crate::support::{Origin, Reply, get, proxy, read_message, serve_one, until};
use door_proxy::{BandwidthSettings, Settings};
use settings::Text;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const BODY_BYTES: usize = 96 << 10;
/// The body less the burst, at the rate of [`slow`].
const LEAST: Duration = Duration::from_millis(990);

/// One class of 64 KiB a second, of which 32 KiB come at once.
fn slow(urls: &[&str], settings: &mut Settings) {
    let size = |text: &str| Text(text.parse().unwrap());
    settings.bandwidth = vec![BandwidthSettings {
        urls: urls.iter().map(ToString::to_string).collect(),
        rate_per_client: Some(size("64KiB")),
        burst: Some(size("32KiB")),
        ..BandwidthSettings::default()
    }];
}

fn origin() -> Origin {
    Origin::start(|_, _, _| {
        let (fields, body) = ("Cache-Control: max-age=60", "x".repeat(BODY_BYTES));
        Reply::Keep(format!(
            "HTTP/1.1 200 OK\r\n{fields}\r\nContent-Length: {BODY_BYTES}\r\n\r\n{body}"
        ))
    })
}

#[test]
fn an_answer_comes_no_faster_than_its_class_may() {
    let origin = origin();
    for cache in [None, Some(http_cache::Settings::default())] {
        let is_kept = cache.is_some();
        let proxy = proxy("", |settings| {
            slow(&["/slow/"], settings);
            settings.cache = cache;
        });
        let url = |path: &str| format!("http://{}/{path}", origin.address);
        let began = Instant::now();
        let answer = get(proxy, &url("slow"));
        assert!(began.elapsed() >= LEAST, "{:?}", began.elapsed());
        assert!(answer.ends_with(&"x".repeat(BODY_BYTES)) && answer.starts_with("HTTP/1.1 200"));
        if is_kept {
            // It is stored a moment after its last byte was sent.
            until("a hit", || {
                get(proxy, &url("slow")).to_lowercase().contains("cache-status: tidegate;hit")
            });
        }
        assert!(get(proxy, &url("other")).ends_with(&"x".repeat(BODY_BYTES)));
    }
}

#[test]
fn a_tunnel_comes_no_faster_than_its_class_may() {
    let proxy = proxy("", |settings| slow(&[], settings));
    let server = serve_one(|mut stream| stream.write_all(&vec![7; BODY_BYTES]).unwrap());
    let (began, mut client) = (Instant::now(), TcpStream::connect(proxy).unwrap());
    write!(client, "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n\r\n").unwrap();
    let head = read_message(&mut client).unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(began.elapsed() >= LEAST, "{:?}", began.elapsed());
    let early = head.split_once("\r\n\r\n").map_or(0, |(_, early)| early.len());
    assert_eq!(early + rest.len(), BODY_BYTES);
}
