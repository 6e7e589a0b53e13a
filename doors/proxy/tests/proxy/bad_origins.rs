//! Origins that break off, contradict themselves, never end, fall silent or are nobody's: the
//! client learns of it, and the cache keeps nothing of it.

use crate::support::{
    DEADLINE, Given, Origin, Reply, certificate, curl, get, proxy, read_message, secure_proxy,
    start,
};
use door_proxy::Settings;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;

/// The front of an answer that promises more. It has no validator by which the rest could be asked
/// for.
const FRONT: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 1000\r\n\r\nfront";
const WHOLE: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 5\r\n\r\nwhole";
const ENDLESS: &str =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nTransfer-Encoding: chunked\r\n\r\n";

/// An origin that spoils its first answer, and gives whole ones from then on.
struct BadOrigin {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl BadOrigin {
    /// `spoil` has the first connection to itself, with the request unread.
    fn start(spoil: impl FnOnce(TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        std::thread::spawn(move || {
            let (first, _) = listener.accept().unwrap();
            counted.fetch_add(1, SeqCst);
            spoil(first);
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                while read_message(&mut stream).is_some() {
                    counted.fetch_add(1, SeqCst);
                    stream.write_all(WHOLE.as_bytes()).unwrap();
                }
            }
        });
        Self { url, requests }
    }

    /// Whoever asks now is not given what was spoilt; what comes whole is stored.
    fn must_be_asked_again(&self, proxy: SocketAddr) {
        assert_eq!(self.requests.load(SeqCst), 1);
        for handled in ["tidegate;fwd=uri-miss", "tidegate;hit"] {
            let answer = get(proxy, &self.url);
            assert!(answer.contains(handled) && answer.ends_with("\r\n\r\nwhole"), "{answer}");
            assert_eq!(self.requests.load(SeqCst), 2);
        }
    }
}

fn caching() -> SocketAddr {
    proxy("", |settings| settings.cache = Some(http_cache::Settings::default()))
}

/// A client that has asked for `url`.
fn asking(proxy: SocketAddr, url: &str) -> TcpStream {
    let mut stream = TcpStream::connect(proxy).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!("GET {url} HTTP/1.1\r\nHost: whatever.example\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// What comes until `last` has come.
fn read_until(stream: &mut TcpStream, last: &str) -> String {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.contains(last) {
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "it ended after {text}");
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    text
}

/// What comes until the other side ends the connection, in order or not.
fn rest(mut stream: TcpStream) -> String {
    let mut rest = Vec::new();
    if let Err(why) = stream.read_to_end(&mut rest) {
        assert_eq!(why.kind(), ErrorKind::ConnectionReset);
    }
    String::from_utf8_lossy(&rest).into_owned()
}

/// The client has the front with the length that was promised.
fn front_comes(client: &mut TcpStream) {
    let came = read_until(client, "front").to_lowercase();
    assert!(came.starts_with("http/1.1 200") && came.ends_with("\r\n\r\nfront"), "{came}");
    assert!(came.contains("\r\ncontent-length: 1000\r\n"), "{came}");
}

/// The origin reads the request by `read`, and closes once the client has the front.
fn breaks_off(read: impl FnOnce(&mut TcpStream) + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let origin = BadOrigin::start(move |mut stream| {
        read(&mut stream);
        stream.write_all(FRONT.as_bytes()).unwrap();
        told.recv_timeout(DEADLINE).unwrap();
    });
    let proxy = caching();
    let mut client = asking(proxy, &origin.url);
    front_comes(&mut client);
    tell.send(()).unwrap();
    assert_eq!(rest(client), "");
    origin.must_be_asked_again(proxy);
}

#[test]
fn a_reset_within_a_body_ends_the_answer_and_nothing_is_stored() {
    // A connection that is closed with bytes unread is reset.
    breaks_off(|stream| stream.read_exact(&mut [0]).unwrap());
}

#[test]
fn a_body_shorter_than_its_length_ends_the_answer_and_nothing_is_stored() {
    breaks_off(|stream| assert!(read_message(stream).is_some()));
}

#[test]
fn an_answer_with_two_lengths_is_refused_and_not_stored() {
    let origin = BadOrigin::start(|mut stream| {
        read_message(&mut stream).unwrap();
        let both = "Content-Length: 5\r\nContent-Length: 4\r\n";
        stream.write_all(WHOLE.replace("Content-Length: 5\r\n", both).as_bytes()).unwrap();
        // The proxy closes it: where the next answer would begin is anybody's guess.
        rest(stream);
    });
    let proxy = caching();
    let refused = get(proxy, &origin.url);
    assert!(refused.starts_with("HTTP/1.1 502"), "{refused}");
    assert!(refused.contains("http_protocol_error") && !refused.contains("whole"), "{refused}");
    origin.must_be_asked_again(proxy);
}

#[test]
fn a_body_without_end_is_given_up_with_its_client_and_not_stored() {
    let (tell, told) = mpsc::channel();
    let origin = BadOrigin::start(move |mut stream| {
        read_message(&mut stream).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(ENDLESS.as_bytes()).unwrap();
        let chunk = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
        let why = loop {
            if let Err(why) = stream.write_all(chunk.as_bytes()) {
                break why.kind();
            }
        };
        tell.send(why).unwrap();
    });
    let proxy = caching();
    let mut client = asking(proxy, &origin.url);
    let begun = read_until(&mut client, "\r\n\r\n");
    assert!(begun.starts_with("HTTP/1.1 200"), "{begun}");
    // More than the store finishes for nobody.
    client.read_exact(&mut vec![0; 2 << 20]).unwrap();
    drop(client);
    let why = told.recv_timeout(DEADLINE).unwrap();
    assert!(matches!(why, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{why:?}");
    origin.must_be_asked_again(proxy);
}

#[test]
fn a_silence_within_a_body_ends_the_answer_and_nothing_is_stored() {
    let origin = BadOrigin::start(|mut stream| {
        read_message(&mut stream).unwrap();
        stream.write_all(FRONT.as_bytes()).unwrap();
        // Until the proxy has waited long enough.
        assert_eq!(rest(stream), "");
    });
    let proxy = proxy("", |settings| {
        settings.cache = Some(http_cache::Settings::default());
        settings.response_timeout = settings::Text("1s".parse().unwrap());
    });
    let mut client = asking(proxy, &origin.url);
    front_comes(&mut client);
    assert_eq!(rest(client), "");
    origin.must_be_asked_again(proxy);
}

#[test]
fn a_head_without_end_is_refused_and_nothing_is_stored() {
    let (tell, told) = mpsc::channel();
    let origin = BadOrigin::start(move |mut stream| {
        read_message(&mut stream).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\n").unwrap();
        let line = format!("X-Line: {}\r\n", "a".repeat(0x1000));
        let why = loop {
            if let Err(why) = stream.write_all(line.as_bytes()) {
                break why.kind();
            }
        };
        tell.send(why).unwrap();
    });
    let proxy = caching();
    let refused = get(proxy, &origin.url);
    assert!(refused.starts_with("HTTP/1.1 502"), "{refused}");
    assert!(!refused.contains("x-line"), "{refused}");
    let why = told.recv_timeout(DEADLINE).unwrap();
    assert!(matches!(why, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{why:?}");
    origin.must_be_asked_again(proxy);
}

#[test]
fn a_certificate_that_nobody_vouches_for_is_refused_and_nothing_is_stored() {
    let (chain, key, text) = certificate();
    let url = format!("https://{}/proxy.pac", secure_proxy((chain, key), "", |_| {}));
    let cache = |settings: &mut Settings| settings.cache = Some(http_cache::Settings::default());
    let wary = start(&Given::default(), cache);
    for _ in 0..2 {
        let refused = get(wary, &url);
        assert!(refused.starts_with("HTTP/1.1 502"), "{refused}");
        assert!(
            refused.contains("tls_protocol_error") && !refused.contains("FindProxyForURL"),
            "{refused}"
        );
    }
    let trusting = start(&Given { trusts: Some(&text), ..Given::default() }, cache);
    let given = get(trusting, &url);
    assert!(given.starts_with("HTTP/1.1 200") && given.contains("FindProxyForURL"), "{given}");
}

#[test]
fn redirects_in_a_circle_are_for_the_client_to_follow_and_cost_the_origin_one_request_each() {
    let origin = Origin::start(|_, _, request| {
        let to = if request.starts_with("GET /a ") { "/b" } else { "/a" };
        Reply::Keep(format!(
            "HTTP/1.1 301 Moved Permanently\r\nLocation: {to}\r\nCache-Control: max-age=60\r\n\
             Content-Length: 0\r\n\r\n"
        ))
    });
    let (through, url) = (format!("http://{}", caching()), format!("http://{}/a", origin.address));
    let said = curl(&["-L", "--max-redirs", "7", "-x", &through, &url]);
    assert!(said.contains("Maximum (7) redirects followed"), "{said}");
    assert_eq!(origin.seen().len(), 2);
}
