//! Requests that are to get no answer: the connection ends without a byte, a stream is reset.

use crate::support::{DEADLINE, connection, run, served};
use h2::Reason;
use http::{Request, Response, StatusCode};
use http_engine::{Body, HttpVersions, Incoming, Limits, reply, serve};
use std::future::pending;
use tokio::time::timeout;

async fn answer(request: Request<Incoming>) -> Response<Body> {
    match request.uri().path() {
        "/none" => reply::no_answer(),
        _ => reply::text(StatusCode::OK, "x"),
    }
}

/// All that a client of HTTP/1 gets; the server must hold it for no fault.
async fn said(wire: &str) -> String {
    let (outcome, answer) = served(wire, answer).await;
    assert!(outcome.is_ok(), "{wire}: {outcome:?}");
    answer
}

#[test]
fn over_http1_the_connection_ends_without_a_byte() {
    run(async {
        for wire in [
            "GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
            "HEAD /none HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET /none HTTP/1.0\r\n\r\n",
            // From here on they are hyper's.
            "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab",
            "PUT /none HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        ] {
            assert_eq!(said(wire).await, "", "{wire}");
        }
    });
}

#[test]
fn what_stands_before_it_is_answered() {
    run(async {
        for second in ["GET /none HTTP/1.1\r\nHost: a\r\n\r\n", "GET /none HTTP/1.0\r\n\r\n"] {
            let got = said(&format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{second}")).await;
            assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("\r\n\r\nx"), "{got}");
            assert_eq!(got.matches("HTTP/1.1").count(), 1, "{got}");
        }
    });
}

#[test]
fn over_http2_the_stream_is_reset_and_the_connection_goes_on() {
    run(async {
        let (client, server) = connection();
        let serving = serve(server, HttpVersions::Http2, Limits::default(), pending(), answer);
        tokio::task::spawn_local(async move { drop(serving.await) });
        let (mut client, driver) = h2::client::handshake(client).await.unwrap();
        tokio::task::spawn_local(async move { drop(driver.await) });
        let get = |path: &str| Request::get(format!("http://a{path}")).body(()).unwrap();
        let (none, _) = client.send_request(get("/none"), true).unwrap();
        let reset = timeout(DEADLINE, none).await.unwrap().unwrap_err();
        assert_eq!(reset.reason(), Some(Reason::INTERNAL_ERROR));
        let (other, _) = client.send_request(get("/"), true).unwrap();
        assert_eq!(timeout(DEADLINE, other).await.unwrap().unwrap().status(), 200);
    });
}
