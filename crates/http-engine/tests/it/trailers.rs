//! Chunked bodies and their trailers (RFC 9112 §7.1), in both directions, as they are on the wire.

use crate::support::{DEADLINE, Frames, run};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::BodyExt;
use http_engine::{Body, HttpVersions, Incoming, Limits, serve};
use std::collections::VecDeque;
use std::future::pending;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Answers with the pieces that came, in brackets, and the trailer `digest` that came as `got`.
async fn echo(request: Request<Incoming>) -> Response<Body> {
    let (_, mut body) = request.into_parts();
    let (mut frames, mut sum) = (VecDeque::new(), HeaderValue::from_static("none"));
    while let Some(frame) = body.frame().await {
        match frame.unwrap().into_data() {
            Ok(data) => {
                frames.push_back(Frame::data(Bytes::from([b"[", &data[..], b"]"].concat())));
            }
            Err(frame) if frame.trailers_ref().is_some_and(|it| it.contains_key("x-user")) => {
                panic!("a trailer that says more than a sum of the body")
            }
            Err(frame) => sum = frame.into_trailers().unwrap().remove("digest").unwrap(),
        }
    }
    let mut trailers = HeaderMap::new();
    trailers.insert("got", sum);
    frames.push_back(Frame::trailers(trailers));
    let answer = Response::builder().header("trailer", "got");
    answer.body(Body::boxed(Frames(frames))).unwrap()
}

async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let serving = serve(stream, HttpVersions::Http1, Limits::default(), pending(), echo);
            tokio::task::spawn_local(async move { drop(serving.await) });
        }
    });
    address
}

/// The head and the raw body of the answer to these pieces, each sent once the one before is read.
async fn talk(version: &str, fields: &str, pieces: &[&str]) -> (String, String) {
    let mut stream = TcpStream::connect(server().await).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!("POST / HTTP/{version}\r\nHost: a\r\nConnection: close\r\n{fields}\r\n\r\n");
    for piece in [&[head.as_str()], pieces].concat() {
        stream.write_all(piece.as_bytes()).await.unwrap();
        // The server's task has its turn: one piece is one read.
        tokio::task::yield_now().await;
    }
    let mut answer = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn chunks_and_trailers_go_both_ways() {
    run(async {
        let fields = "Transfer-Encoding: chunked\r\nTE: trailers\r\nTrailer: digest, x-user";
        let wire = [
            "4\r\nabcd\r\n",
            "A;note=\"x\"\r\n0123456789\r\n",
            "0\r\nX-User: root\r\nDigest: 14\r\n\r\n",
        ];
        let (head, body) = talk("1.1", fields, &wire).await;
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        assert!(!head.contains("content-length"), "{head}");
        assert_eq!(whole(&body), "[abcd][0123456789]");
        assert!(body.ends_with("\r\n0\r\ngot: 14\r\n\r\n"), "{body:?}");
    });
}

#[test]
fn a_trailer_is_sent_only_to_clients_that_take_one() {
    run(async {
        let (_, body) = talk("1.1", "Content-Length: 2", &["ab"]).await;
        assert_eq!(body, "4\r\n[ab]\r\n0\r\n\r\n");
    });
}

#[test]
fn a_client_of_version_1_0_gets_no_chunks_but_the_end_of_the_connection() {
    run(async {
        let (head, body) = talk("1.0", "Content-Length: 2", &["ab"]).await;
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert_eq!(body, "[ab]");
    });
}

/// The text of a chunked body, whose every size is checked.
fn whole(mut body: &str) -> String {
    let mut text = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return text;
        }
        text.push_str(&rest[..size]);
        body = rest[size..].strip_prefix("\r\n").unwrap();
    }
}
