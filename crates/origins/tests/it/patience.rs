//! Servers that are slow, silent or say too much.

use super::raw::{Reply, raw};
use super::support::{Client, SHORT, get, plain, run, start};
use http::{HeaderValue, Request, Response};
use http_engine::body::{Body, ReadError, read_all};
use http_engine::client::AnswerLimits;
use http_engine::{Incoming, Limits};
use origins::{Blame, DialError, ResponseTimeout, SendError};
use std::future::pending;

#[test]
fn a_server_that_never_shakes_hands_is_given_up() {
    run(async {
        let server = start(|stream| async move {
            pending::<()>().await;
            drop(stream);
        })
        .await;
        let client = Client::new(|terms| terms.connect = SHORT);
        let why = client.get(&format!("https://{}", server.at)).await.unwrap_err();
        assert_eq!(why, SendError::Dial(DialError::Timeout));
        assert_eq!(why.blame(), Blame::Slow);
    });
}

#[test]
fn those_who_wait_for_one_connection_fail_together() {
    run(async {
        let server = start(|stream| async move {
            pending::<()>().await;
            drop(stream);
        })
        .await;
        let client = Client::new(|terms| terms.connect = SHORT);
        let to = format!("https://{}", server.at);
        let (one, two, three) = tokio::join!(client.get(&to), client.get(&to), client.get(&to));
        for why in [one, two, three] {
            assert_eq!(why, Err(SendError::Dial(DialError::Timeout)));
        }
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn a_server_that_never_begins_its_answer_is_too_slow() {
    run(async {
        let (server, _) = raw(|_| Reply::Stall(String::new())).await;
        let client = Client::new(|terms| terms.first_byte = Some(SHORT));
        let why = client.get(&format!("http://{}", server.at)).await.unwrap_err();
        assert_eq!(why, SendError::Timeout);
        let never = |_: Request<Incoming>| pending::<Response<Body>>();
        let new = plain(Limits::default(), never).await;
        let why = client.get(&format!("h2c://{}", new.at)).await.unwrap_err();
        assert_eq!(why, SendError::Timeout);
        // A request's own patience counts before that of its pool.
        let patient = Client::new(|_| {});
        let mut request = get("/");
        request.extensions_mut().insert(ResponseTimeout(SHORT));
        let why = patient.send(&format!("http://{}", server.at), request).await.unwrap_err();
        assert_eq!(why, SendError::Timeout);
    });
}

#[test]
fn a_body_whose_server_falls_silent_is_broken() {
    run(async {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
        let (server, _) = raw(move |_| Reply::Stall(head.into())).await;
        let client = Client::new(|terms| terms.between_bytes = Some(SHORT));
        let answer = client.send(&format!("http://{}", server.at), get("/")).await.unwrap();
        let read = read_all(answer.into_body(), 100, super::support::DEADLINE).await;
        assert!(matches!(read, Err(ReadError::Broken(_))), "{read:?}");
    });
}

#[test]
fn a_head_that_is_too_large_is_no_answer() {
    run(async {
        let large = "x".repeat(2 * AnswerLimits::DEFAULT.head_bytes_max);
        let head = format!("HTTP/1.1 200 OK\r\nX: {large}\r\nContent-Length: 0\r\n\r\n");
        let (server, log) = raw(move |_| Reply::Keep(head.clone())).await;
        let client = Client::new(|_| {});
        let why = client.get(&format!("http://{}", server.at)).await.unwrap_err();
        assert!(matches!(why, SendError::BadResponse(_)), "{why}");
        assert_eq!(log.borrow().len(), 1, "it is not asked again");
        let new = plain(Limits::default(), move |_: Request<Incoming>| {
            let mut answer = Response::new(Body::empty());
            answer.headers_mut().insert("x", HeaderValue::from_str(&large).unwrap());
            async { answer }
        })
        .await;
        let why = client.get(&format!("h2c://{}", new.at)).await.unwrap_err();
        assert!(matches!(why, SendError::BadResponse(_)), "{why}");
    });
}
