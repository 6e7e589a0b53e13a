//! Any bytes as an answer: what the client takes by itself, hyper takes too, and understands alike.
//!
//! The client must never find another end than hyper does: each answer that is taken to its end is
//! put before it as well, told to put up with what the client puts right. Requests with a body and
//! without one are answered alike.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Version, header};
use http_body::Body as HttpBody;
use http_engine::Body;
use http_engine::client::{ClientError, connect_http1};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use libfuzzer_sys::fuzz_target;
use std::future::poll_fn;
use std::pin::Pin;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::runtime::{Builder, LocalOptions};

/// An answer as one of the two understood it.
#[derive(Debug, PartialEq)]
struct Understood {
    status: StatusCode,
    version: Version,
    fields: HeaderMap,
    body: Vec<u8>,
    trailers: HeaderMap,
}

/// Reads a body to its end; `None`: it has none.
async fn read<B>(body: &mut B) -> Option<(Vec<u8>, HeaderMap)>
where
    B: HttpBody<Data = Bytes> + Unpin,
{
    let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        match frame.ok()?.into_data() {
            Ok(piece) => data.extend_from_slice(&piece),
            Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
        }
    }
    Some((data, trailers))
}

fn request(method: &Method) -> Request<Body> {
    let body = if method == Method::POST { Body::from("body") } else { Body::empty() };
    let request = Request::builder().method(method).uri("/").header("host", "a.example");
    request.body(body).expect("a request")
}

/// Answers with `wire` in pieces of so many bytes.
async fn answer(mut server: DuplexStream, wire: &[u8], piece: usize) {
    for piece in wire.chunks(piece) {
        // Who gave up reads no more.
        if server.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

/// What the client makes of the answer that comes in pieces of `piece` bytes.
async fn ours(method: &Method, wire: &[u8], piece: usize) -> Option<Understood> {
    let (client, server) = tokio::io::duplex(1 << 10);
    let mut sender = connect_http1(client);
    let asking = async move {
        let answer = match sender.send(request(method)).await {
            Ok(answer) => answer,
            Err(failed) => {
                assert!(!matches!(failed.error, ClientError::Engine(_) | ClientError::Body(_)));
                return None;
            }
        };
        let (head, mut incoming) = answer.into_parts();
        let (body, trailers) = read(&mut incoming).await?;
        assert!(incoming.is_end_stream(), "the end was not told");
        let (status, version, fields) = (head.status, head.version, head.headers);
        Some(Understood { status, version, fields, body, trailers })
    };
    tokio::join!(answer(server, wire, piece), asking).1
}

/// What hyper makes of it.
async fn theirs(method: &Method, wire: &[u8]) -> Option<Understood> {
    let (client, server) = tokio::io::duplex(1 << 10);
    let mut builder = http1::Builder::new();
    builder.allow_spaces_after_header_name_in_responses(true);
    builder.allow_obsolete_multiline_headers_in_responses(true);
    builder.max_headers(1000);
    let (mut sender, connection) = builder.handshake(TokioIo::new(client)).await.ok()?;
    let driving = tokio::task::spawn_local(async move { drop(connection.await) });
    let asking = async move {
        let answer = sender.send_request(request(method)).await.ok()?;
        let (head, mut incoming) = answer.into_parts();
        let (body, trailers) = read(&mut incoming).await?;
        let (status, version, fields) = (head.status, head.version, head.headers);
        Some(Understood { status, version, fields, body, trailers })
    };
    let understood = tokio::join!(answer(server, wire, 1 << 10), asking).1;
    driving.abort();
    understood
}

fuzz_target!(|data: &[u8]| {
    let Some((how, wire)) = data.split_first() else { return };
    let method = if how & 1 == 0 { Method::GET } else { Method::HEAD };
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime");
    runtime.block_on(async {
        let whole = ours(&method, wire, 1 << 10).await;
        let in_pieces = ours(&method, wire, usize::from(how >> 1) + 1).await;
        assert_eq!(whole, in_pieces, "the pieces in which it comes make a difference");
        if method == Method::GET {
            let posted = ours(&Method::POST, wire, 1 << 10).await;
            assert_eq!(whole, posted, "whether the request had a body makes a difference");
        }
        let Some(ours) = whole else { return };
        let theirs = theirs(&method, wire).await;
        // `identity` is no coding to us; hyper has the body end with the connection.
        let says_identity = |it: &Understood| {
            it.fields.get(header::TRANSFER_ENCODING).is_some_and(|it| it != "chunked")
        };
        if theirs.as_ref().is_some_and(says_identity) {
            return;
        }
        let theirs = theirs.unwrap_or_else(|| panic!("hyper refuses {}", wire.escape_ascii()));
        assert_eq!((ours.status, ours.version), (theirs.status, theirs.version));
        assert_eq!(ours.body, theirs.body, "hyper understands {}", wire.escape_ascii());
    });
});
