//! Fresh connections that are asked `OPTIONS *` before they carry a request.

use super::raw::{Reply, Seen, ok, raw};
use super::support::{Client, SHORT, plain, run};
use http::{Request, Response};
use http_engine::body::Body;
use http_engine::{Incoming, Limits};
use origins::{DialError, FreshConnection, SendError};
use std::cell::RefCell;
use std::rc::Rc;

fn verifying() -> Client {
    Client::new(|terms| {
        terms.new_connection = FreshConnection::verified();
        terms.connect = SHORT * 10;
    })
}

fn is_question(seen: &Seen) -> bool {
    seen.head.starts_with("OPTIONS * HTTP/1.1\r\n")
}

#[test]
fn a_fresh_connection_is_asked_and_one_that_is_kept_is_not() {
    run(async {
        // 405 is an answer too: somebody works there.
        let refuses = "HTTP/1.1 405 No\r\nContent-Length: 2\r\n\r\nno";
        let (server, log) =
            raw(move |seen| if is_question(seen) { Reply::Keep(refuses.into()) } else { ok("x") })
                .await;
        let client = verifying();
        for _ in 0..3 {
            assert_eq!(client.get(&format!("http://{}", server.at)).await.unwrap(), "x");
        }
        let asked: Vec<_> = log.borrow().iter().map(is_question).collect();
        assert_eq!(asked, [true, false, false, false]);
        assert_eq!(server.connections(), 1);
        let host = format!("host: {}\r\n", server.at);
        assert!(log.borrow()[0].head.contains(&host), "{:?}", log.borrow()[0]);
    });
}

#[test]
fn a_server_that_is_stuck_or_ill_gets_no_request() {
    run(async {
        let ill = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
        let (server, log) = raw(move |_| Reply::Keep(ill.into())).await;
        let why = verifying().get(&format!("http://{}", server.at)).await.unwrap_err();
        assert!(matches!(&why, SendError::Dial(DialError::Refused(_))), "{why}");
        assert!(log.borrow().iter().all(is_question));
        let (server, log) = raw(|_| Reply::Stall(String::new())).await;
        let why = verifying().get(&format!("http://{}", server.at)).await.unwrap_err();
        assert_eq!(why, SendError::Dial(DialError::Timeout));
        assert!(log.borrow().iter().all(is_question));
    });
}

#[test]
fn one_that_closes_after_a_good_answer_is_believed() {
    run(async {
        let good = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let (server, _) =
            raw(move |seen| if is_question(seen) { Reply::Close(good.into()) } else { ok("x") })
                .await;
        assert_eq!(verifying().get(&format!("http://{}", server.at)).await.unwrap(), "x");
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn a_connection_of_http2_is_asked_once_for_all() {
    run(async {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let noted = Rc::clone(&asked);
        let handler = move |request: Request<Incoming>| {
            noted.borrow_mut().push(format!("{} {}", request.method(), request.uri().path()));
            async { Response::new(Body::empty()) }
        };
        let server = plain(Limits::default(), handler).await;
        verifying().get_at_once(&format!("h2c://{}", server.at), 3).await;
        assert_eq!(*asked.borrow(), ["OPTIONS *", "GET /", "GET /", "GET /"]);
    });
}
