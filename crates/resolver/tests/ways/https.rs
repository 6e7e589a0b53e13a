//! HTTPS: the age that a cache on the way adds, and padding.

use super::certificate::Certificate;
use super::messages::{answer, option};
use super::{DEADLINE, addresses, ask, at, eventually, start};
use dns_wire::ask_options::{OPTION_KEEPALIVE, OPTION_PADDING, PADDING_BLOCK_BYTES};
use http_body_util::BodyExt;
use http_engine::{Body, HttpVersions, Incoming, Limits, serve};
use resolver::UpstreamDetails;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use transport::Stream;
use transport::tls::Alpn;

type Asked = Arc<Mutex<Vec<Vec<u8>>>>;

/// A server, what it was asked, and how many connections came to it.
struct HttpsServer {
    address: SocketAddr,
    asked: Asked,
    opened: Arc<AtomicUsize>,
}

/// A server that says this of each answer's age, and notes what it is asked.
fn server(certificate: &Certificate, age: Option<&'static str>, protocol: Alpn) -> HttpsServer {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let (address, tls) = (listener.local_addr().unwrap(), certificate.server_of(&[protocol]));
    let versions = match protocol {
        Alpn::Http2 => HttpVersions::Http2,
        Alpn::Http1 | Alpn::Dot => HttpVersions::Http1,
    };
    let asked = Asked::default();
    let notes = Arc::clone(&asked);
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    // The HTTP engine's tasks stay on their thread.
    std::thread::spawn(move || {
        let options = tokio::runtime::LocalOptions::default();
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build_local(options).unwrap().block_on(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let stream = Stream::from_std(stream.into_std().unwrap()).unwrap();
                let Ok(stream) = tls.accept(stream, DEADLINE).await else { continue };
                count.fetch_add(1, Ordering::Relaxed);
                let notes = Arc::clone(&notes);
                let handler = move |request: http::Request<Incoming>| {
                    let notes = Arc::clone(&notes);
                    async move {
                        let query = request.into_body().collect().await.unwrap().to_bytes();
                        notes.lock().unwrap().push(query.to_vec());
                        let response = http::Response::builder()
                            .header("content-type", "application/dns-message");
                        let response = match age {
                            Some(age) => response.header("age", age),
                            None => response,
                        };
                        response.body(Body::full(answer(&query))).unwrap()
                    }
                };
                let never = std::future::pending();
                tokio::task::spawn_local(async move {
                    let served = serve(stream, versions, Limits::default(), never, handler);
                    drop(served.await);
                });
            }
        });
    });
    HttpsServer { address, asked, opened }
}

#[tokio::test]
async fn age_is_taken_from_the_time_of_an_answer() {
    let certificate = Certificate::new();
    let cases = [
        (None, 300),
        (Some("100"), 200),
        (Some("301"), 0),
        (Some("99999999999999999999"), 0),
        (Some("-1"), 300),
        (Some("soon"), 300),
    ];
    for (age, ttl) in cases {
        let address = server(&certificate, age, Alpn::Http2).address;
        let resolver = start(at(format!("https://{address}")), &certificate);
        let found = ask(&resolver, "a.example").await;
        assert_eq!(found.result.unwrap().0.ttl(), ttl, "{age:?}");
    }
}

#[tokio::test]
async fn questions_over_https_are_padded_and_ask_for_no_keepalive() {
    let certificate = Certificate::new();
    let HttpsServer { address, asked, .. } = server(&certificate, None, Alpn::Http2);
    let resolver = start(at(format!("doh://{address}/dns-query")), &certificate);
    assert_eq!(addresses(&ask(&resolver, "a.example").await).len(), 1);
    let asked = asked.lock().unwrap();
    assert_eq!(asked[0].len() % PADDING_BLOCK_BYTES, 0);
    assert!(option(&asked[0], OPTION_PADDING).is_some());
    assert!(option(&asked[0], OPTION_KEEPALIVE).is_none());
    assert_eq!(asked[0][..2], [0, 0], "equal questions are equal requests");
}

#[tokio::test]
async fn connections_are_kept_open_before_anything_is_asked() {
    let certificate = Certificate::new();
    for (protocol, wanted) in [(Alpn::Http1, 3), (Alpn::Http2, 1)] {
        let server = server(&certificate, None, protocol);
        let address = format!("https://{}", server.address);
        let details = UpstreamDetails { min_connections: 3, ..at(address) };
        let resolver = start(details, &certificate);
        eventually("they stand open", || server.opened.load(Ordering::Relaxed) == wanted).await;
        for i in 0..5 {
            assert_eq!(addresses(&ask(&resolver, &format!("{i}.example")).await).len(), 1);
        }
        assert_eq!(server.asked.lock().unwrap().len(), 5);
        assert_eq!(server.opened.load(Ordering::Relaxed), wanted, "{protocol:?}: no other");
    }
}
