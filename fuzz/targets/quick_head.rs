//! Any request heads: what the fast path takes, the strict path takes too, and understands alike.
//!
//! The fast path must never be the more forgiving of the two: each head is sent to the full engine
//! by itself, and the fast path, or a handler within the fast path, must get the same method,
//! target, version and fields as a handler there.
#![no_main]

use http::{HeaderMap, Method, Response, Version, header};
use http_engine::fast_path::{FastPath, FastReply, SimpleMethod, SimpleRequest};
use http_engine::{Body, HttpVersions, Incoming, Limits, serve, serve_with_fast_path};
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

impl FastPath for Noting {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
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
        FastReply::Done
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

/// What the fast path takes of `wire`.
async fn by_quick(wire: &[u8]) -> Vec<Understood> {
    let (client, server) = tokio::io::duplex(1 << 16);
    let (taken, limits) = (Requests::default(), Limits::default());
    let (fast_path, stop) = (Noting(Rc::clone(&taken)), std::future::pending());
    // What it does not claim is looked at by itself.
    let handler = |_| async { Response::new(Body::empty()) };
    let serving = serve_with_fast_path(server, HttpVersions::Http1, limits, stop, fast_path, handler);
    let _ = tokio::join!(serving, talk(client, wire));
    taken.take()
}

/// What a handler gets of `wire`, and what is answered.
async fn by_handler(wire: &[u8]) -> (Vec<Understood>, Vec<u8>) {
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
    let serving = serve(server, HttpVersions::Http1, Limits::default(), stop, handler);
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
            // An empty line before a request is allowed, but not simple: this one is the engine's.
            let (full, answer) = by_handler(&[b"\r\n", head].concat()).await;
            let refused = String::from_utf8_lossy(&answer);
            let (fast_path, _) = by_handler(head).await;
            assert_eq!(fast_path, full, "{:?} got {refused}", head.escape_ascii().to_string());
            let quick = by_quick(head).await;
            if !quick.is_empty() {
                assert_eq!(quick, full, "{:?} got {refused}", head.escape_ascii().to_string());
            }
        }
    });
});
