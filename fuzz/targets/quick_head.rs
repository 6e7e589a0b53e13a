//! Any request heads: what the quick lane takes, the strict path takes too, and understands alike.
//!
//! The lane must never be the more forgiving of the two: each head that it answers is sent to the
//! full engine by itself, which must hand the same method, target, version and fields to a handler.
#![no_main]

use http::{HeaderMap, Method, Response, Version, header};
use http_engine::quick::{Quick, Quickly, Simple, SimpleMethod};
use http_engine::{Body, Incoming, Limits, Versions, serve, serve_quickly};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::runtime::{Builder, LocalOptions};

/// A request as one of the two understood it.
#[derive(Debug, PartialEq)]
struct Understood {
    method: Method,
    target: String,
    version: Version,
    fields: HeaderMap,
}

type Requests = Rc<RefCell<Vec<Understood>>>;

/// Claims every request, and notes it.
struct Noting(Requests);

impl Quick for Noting {
    fn answer(&self, request: &Simple<'_>, out: &mut Vec<u8>) -> Quickly {
        let fields = request.header_map();
        let host = fields.get(header::HOST).map(|host| host.as_bytes());
        assert_eq!(request.host().map(str::as_bytes), host);
        self.0.borrow_mut().push(Understood {
            method: match request.method() {
                SimpleMethod::Get => Method::GET,
                SimpleMethod::Head => Method::HEAD,
            },
            target: request.target().to_owned(),
            version: request.version(),
            fields,
        });
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n");
        request.end_head(out);
        Quickly::Written
    }
}

/// Sends `wire` and reads all that comes.
async fn talk(mut client: DuplexStream, wire: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    let _ = client.write_all(wire).await;
    let _ = client.shutdown().await;
    let _ = client.read_to_end(&mut answer).await;
    answer
}

/// What the lane takes of `wire`.
async fn by_lane(wire: &[u8]) -> Vec<Understood> {
    let (client, server) = tokio::io::duplex(1 << 16);
    let (taken, limits) = (Requests::default(), Limits::default());
    let (lane, stop) = (Noting(Rc::clone(&taken)), std::future::pending());
    // What the lane hands over is another target's.
    let handler = |_| async { Response::new(Body::empty()) };
    let serving = serve_quickly(server, Versions::Http1, limits, stop, lane, handler);
    let _ = tokio::join!(serving, talk(client, wire));
    taken.take()
}

/// What the full engine hands to a handler, and what it answers.
async fn by_engine(wire: &[u8]) -> (Vec<Understood>, Vec<u8>) {
    let (client, server) = tokio::io::duplex(1 << 16);
    let taken = Requests::default();
    let noted = Rc::clone(&taken);
    let handler = move |request: http::Request<Incoming>| {
        let (head, _) = request.into_parts();
        noted.borrow_mut().push(Understood {
            method: head.method,
            target: head.uri.to_string(),
            version: head.version,
            fields: head.headers,
        });
        async { Response::new(Body::empty()) }
    };
    let stop = std::future::pending();
    let serving = serve(server, Versions::Http1, Limits::default(), stop, handler);
    let (_, answer) = tokio::join!(serving, talk(client, wire));
    (taken.take(), answer)
}

fuzz_target!(|data: &[u8]| {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let mut rest = data;
        // A simple head ends at the first empty line: each is tried by itself.
        while let Some(end) = rest.windows(4).position(|it| it == b"\r\n\r\n") {
            let (head, behind) = rest.split_at(end + 4);
            rest = behind;
            let quick = by_lane(head).await;
            if quick.is_empty() {
                continue;
            }
            let (full, answer) = by_engine(head).await;
            let refused = String::from_utf8_lossy(&answer);
            assert_eq!(quick, full, "{:?} got {refused}", head.escape_ascii().to_string());
        }
    });
});
