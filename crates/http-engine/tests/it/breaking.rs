//! Answers whose bodies fail at once: their clients get what there was of them, and see that it is
//! not all.

use crate::support::{DEADLINE, connection, run, served};
use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use http_engine::client::connect_http2;
use http_engine::{Body, HttpVersions, Incoming, Limits, serve};
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::time::timeout;

/// A piece, if there is one, and then at once an error.
struct Failing(Option<&'static [u8]>, Option<u64>);

impl HttpBody for Failing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = self.0.take().map(|piece| Ok(Frame::data(Bytes::from_static(piece))));
        Poll::Ready(Some(piece.unwrap_or_else(|| Err(io::Error::other("cut off")))))
    }

    fn size_hint(&self) -> SizeHint {
        self.1.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Fails after a piece on `/piece`, else at once; of a known length if the query says so.
async fn fail(request: Request<Incoming>) -> Response<Body> {
    let uri = request.uri();
    let piece = (uri.path() == "/piece").then_some(&b"half"[..]);
    let length = uri.query().map(|_| 1000);
    Response::builder().header("x-a", "b").body(Body::boxed(Failing(piece, length))).unwrap()
}

/// All that a client of HTTP/1 gets.
async fn said(wire: &str) -> String {
    let (outcome, answer) = served(wire, fail).await;
    assert!(outcome.is_err(), "it broke off: {answer}");
    answer
}

#[test]
fn a_client_of_http1_gets_what_there_was() {
    run(async {
        // The second is hyper's: it has a body.
        for ask in ["GET", "POST"] {
            let length = if ask == "POST" { "Content-Length: 0\r\nX: y\r\n" } else { "" };
            for (target, framing, body) in [
                ("/piece", "transfer-encoding: chunked", "4\r\nhalf\r\n"),
                ("/piece?length", "content-length: 1000", "half"),
                ("/none", "transfer-encoding: chunked", ""),
                ("/none?length", "content-length: 1000", ""),
            ] {
                let wire = format!("{ask} {target} HTTP/1.1\r\nHost: a\r\n{length}\r\n");
                let answer = said(&wire).await;
                let (head, rest) = answer.split_once("\r\n\r\n").expect("a head");
                assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{wire}{answer}");
                assert!(head.contains("x-a: b") && head.contains(framing), "{wire}{answer}");
                assert_eq!(rest, body, "{wire}");
            }
        }
    });
}

#[test]
fn a_client_of_http2_gets_what_there_was() {
    run(async {
        let (client, server) = connection();
        let serving = serve(server, HttpVersions::Http2, Limits::default(), pending(), fail);
        tokio::task::spawn_local(async move { drop(serving.await) });
        let mut sender = connect_http2(client).await.unwrap();
        for target in ["/piece", "/piece?length", "/none", "/none?length", "/piece"] {
            let request = Request::get(format!("http://a.example{target}"));
            let request = request.body(Body::empty()).unwrap();
            let answer = timeout(DEADLINE, sender.send(request)).await.expect("in time");
            let answer = answer.expect("a head");
            assert_eq!(answer.headers()["x-a"], "b", "{target}");
            let mut body = answer.into_body();
            if target.starts_with("/piece") {
                let piece = timeout(DEADLINE, body.frame()).await.unwrap().unwrap().unwrap();
                assert_eq!(piece.into_data().unwrap(), "half", "{target}");
            }
            let end = timeout(DEADLINE, body.frame()).await.expect("in time");
            assert!(matches!(end, Some(Err(_))), "{target}: the stream is reset");
        }
        assert!(!sender.is_closed(), "the connection lives on");
    });
}
