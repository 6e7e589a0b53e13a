//! Any field block of an HTTP/2 request on its way to an HTTP/1 server: refused, or written so that
//! every server reads the same request in it.
//!
//! The first byte says how the body comes; the rest stands in the block behind the pseudo-fields,
//! as HPACK.
#![no_main]

use http::{Request, Response};
use http_engine::client::connect_http1;
use http_engine::{Body, HttpVersions, Incoming, Limits, serve};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::{Builder, LocalOptions};

/// `:method POST`, `:scheme http`, `:path /`, `:authority a` (RFC 7541 appendix A).
const PSEUDO: &[u8] = b"\x83\x86\x84\x41\x01a";
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags, 0, 0, 0, stream]);
    frame.extend_from_slice(payload);
    frame
}

/// Asserts that a message on the wire can be read in one way only.
fn is_plain(wire: &[u8]) {
    let Some(end) = wire.windows(4).position(|it| it == b"\r\n\r\n") else { return };
    let mut room = [httparse::EMPTY_HEADER; 600];
    let mut head = httparse::Request::new(&mut room);
    let parsed = head.parse(wire).expect("a head that parses");
    assert_eq!(parsed, httparse::Status::Complete(end + 4), "the head ends where it ends");
    let named = |name: &str| -> Vec<&[u8]> {
        let fields = head.headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
        fields.map(|it| it.value).collect()
    };
    let (lengths, codings) = (named("content-length"), named("transfer-encoding"));
    assert!(lengths.len() + codings.len() <= 1, "two framings");
    assert!(named("cookie").len() <= 1, "crumbs");
    assert!(codings.iter().all(|it| *it == b"chunked"));
    for length in lengths {
        assert!(length == b"0" || length[0] != b'0', "a length that is not plain");
        assert!(length.iter().all(u8::is_ascii_digit));
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((how, block)) = data.split_first() else { return };
    if block.len() > 8 << 10 {
        return;
    }
    let ends_at_once = how & 1 == 0;
    let mut wire = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    wire.extend(frame(4, 0, 0, b""));
    let flags = END_HEADERS | if ends_at_once { END_STREAM } else { 0 };
    wire.extend(frame(1, flags, 1, &[PSEUDO, block].concat()));
    if !ends_at_once {
        wire.extend(frame(0, END_STREAM, 1, &vec![b'x'; usize::from(how >> 1)]));
    }
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime");
    let sent = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&sent);
    runtime.block_on(async {
        let (mut client, server) = duplex(1 << 16);
        let handler = move |request: Request<Incoming>| {
            let noted = Rc::clone(&noted);
            async move {
                let (ours, mut theirs) = duplex(1 << 16);
                let (mut head, body) = request.into_parts();
                head.uri = http::Uri::from_static("/");
                let mut sender = connect_http1(ours);
                let answering = async {
                    let mut came = Vec::new();
                    while !came.windows(4).any(|it| it == b"\r\n\r\n")
                        && theirs.read_buf(&mut came).await.is_ok_and(|it| it > 0)
                    {
                    }
                    let _ = theirs.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
                    came
                };
                let sending = sender.send(Request::from_parts(head, Body::from(body)));
                let (_, came) = tokio::join!(sending, answering);
                noted.borrow_mut().extend(came);
                Response::new(Body::empty())
            }
        };
        let served =
            serve(server, HttpVersions::Http2, Limits::default(), std::future::pending(), handler);
        let talk = async move {
            let _ = client.write_all(&wire).await;
            // Until it has idled for too long: time is simulated.
            let mut answer = Vec::new();
            let _ = client.read_to_end(&mut answer).await;
        };
        let _ = tokio::join!(served, talk);
    });
    is_plain(&sent.borrow());
});
