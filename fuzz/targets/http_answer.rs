//! Any bytes as an answer: what the client takes by itself, hyper takes too, and understands alike.
//!
//! The client must never be the more forgiving of the two. A request that expects `100 (Continue)` is
//! hyper's; each answer to a plain one that is taken to its end is put before it as well.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Version};
use http_engine::body::BodyError;
use http_engine::client::{Error, connect_http1};
use http_engine::{Body, Incoming};
use libfuzzer_sys::fuzz_target;
use std::future::poll_fn;
use std::pin::Pin;
use tokio::io::AsyncWriteExt;
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

/// Who reads the answer.
#[derive(Clone, Copy, PartialEq)]
enum Reader {
    Ours,
    Hyper,
}

/// Reads a body to its end; the client is given one piece of `wire` at a time.
async fn read(mut body: Incoming) -> Result<(Vec<u8>, HeaderMap), BodyError> {
    use http_body::Body as _;
    let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        match frame?.into_data() {
            Ok(piece) => {
                let piece: Bytes = piece;
                data.extend_from_slice(&piece);
            }
            Err(frame) => trailers = frame.into_trailers().unwrap_or_default(),
        }
    }
    assert!(body.is_end_stream(), "the end was not told");
    Ok((data, trailers))
}

/// What `reader` makes of the answer that comes in pieces of `piece` bytes.
async fn understood(
    reader: Reader,
    method: &Method,
    wire: &[u8],
    piece: usize,
) -> Option<Understood> {
    let (client, mut server) = tokio::io::duplex(1 << 10);
    let mut request = Request::builder().method(method).uri("/").header("host", "a.example");
    if reader == Reader::Hyper {
        request = request.header("expect", "100-continue");
    }
    let request = request.body(Body::empty()).expect("a request");
    let mut sender = connect_http1(client);
    assert_eq!(sender.keeps(&request), reader == Reader::Ours);
    let answering = async move {
        for piece in wire.chunks(piece) {
            // Who gave up reads no more.
            if server.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let asking = async move {
        let answer = match sender.send(request).await {
            Ok(answer) => answer,
            Err(failed) => {
                assert!(reader == Reader::Hyper || !matches!(failed.why, Error::Engine(_)));
                return None;
            }
        };
        let (head, body) = answer.into_parts();
        let (body, trailers) = read(body).await.ok()?;
        let (status, version, fields) = (head.status, head.version, head.headers);
        Some(Understood { status, version, fields, body, trailers })
    };
    tokio::join!(answering, asking).1
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
        let ours = understood(Reader::Ours, &method, wire, 1 << 10).await;
        let in_pieces = understood(Reader::Ours, &method, wire, usize::from(how >> 1) + 1).await;
        assert_eq!(ours, in_pieces, "the pieces in which it comes make a difference");
        if ours.is_some() {
            let theirs = understood(Reader::Hyper, &method, wire, 1 << 10).await;
            assert_eq!(ours, theirs, "hyper understands {}", wire.escape_ascii());
        }
    });
});
