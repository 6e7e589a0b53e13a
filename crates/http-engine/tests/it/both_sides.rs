//! Our client against our server, over HTTP/1.1 and HTTP/2.

use crate::support::{Asked, connection, note, run};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use http_engine::body::{ReadError, read_all};
use http_engine::client::{RequestSender, connect_http1, connect_http2};
use http_engine::{Body, HttpVersions, Incoming, Limits, serve, upgrade};
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn connected<F>(
    versions: HttpVersions,
    handler: impl Fn(Request<Incoming>) -> F + 'static,
) -> RequestSender
where
    F: Future<Output = Response<Body>> + 'static,
{
    let (client, server) = connection();
    let serving = serve(server, HttpVersions::Http1And2, Limits::default(), pending(), handler);
    tokio::task::spawn_local(async move { drop(serving.await) });
    match versions {
        HttpVersions::Http2 => connect_http2(client).await.unwrap(),
        HttpVersions::Http1 | HttpVersions::Http1And2 => connect_http1(client),
    }
}

fn request(method: &str, body: Body) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri("http://a.example/p")
        .header(header::HOST, "a.example")
        .body(body)
        .unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let bytes = read_all(response.into_body(), 1 << 20, Duration::from_secs(20)).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

#[test]
fn both_versions_carry_requests_and_bodies() {
    run(async {
        for versions in [HttpVersions::Http1, HttpVersions::Http2] {
            let asked = Asked::default();
            let mut sender =
                connected(versions, move |request| note(Rc::clone(&asked), request)).await;
            for size in [0, 5, 200_000] {
                sender.ready().await.unwrap();
                let answer = sender.send(request("POST", Body::full(vec![b'x'; size]))).await;
                let expected = format!("POST http://a.example/p {size}");
                assert_eq!(text(answer.unwrap()).await, expected, "{versions:?}");
            }
            assert!(!sender.is_closed());
        }
    });
}

#[test]
fn a_fed_body_arrives_whole_and_a_dropped_feed_breaks_it() {
    run(async {
        for versions in [HttpVersions::Http1, HttpVersions::Http2] {
            for aborted in [false, true] {
                let mut sender = connected(versions, move |_| async move {
                    let (mut feed, body) = Body::channel(1);
                    tokio::task::spawn_local(async move {
                        for _ in 0..10 {
                            feed.send(vec![b'x'; 1000]).await.unwrap();
                        }
                        if !aborted {
                            feed.finish();
                        }
                    });
                    Response::new(body)
                })
                .await;
                let answer = sender.send(request("GET", Body::empty())).await.unwrap();
                let read = read_all(answer.into_body(), 1 << 20, Duration::from_secs(20)).await;
                match read {
                    Ok(bytes) => assert!(!aborted && bytes.len() == 10_000, "{versions:?}"),
                    Err(why) => assert!(aborted && matches!(why, ReadError::Broken(_)), "{why}"),
                }
            }
        }
    });
}

#[test]
fn a_body_over_its_limit_is_not_read_on() {
    run(async {
        let mut sender = connected(HttpVersions::Http1, |request: Request<Incoming>| async move {
            let read = read_all(request.into_body(), 1000, Duration::from_secs(20)).await;
            assert!(matches!(read, Err(ReadError::TooLarge)));
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            answer
        })
        .await;
        let answer = sender.send(request("POST", Body::full(vec![0; 1001]))).await.unwrap();
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    });
}

#[test]
fn an_upgrade_leaves_a_byte_stream_on_both_sides() {
    run(async {
        let mut sender =
            connected(HttpVersions::Http1, |mut request: Request<Incoming>| async move {
                let taken = upgrade::on(&mut request);
                tokio::task::spawn_local(async move {
                    let mut stream = upgrade::stream(taken).await.unwrap();
                    let mut word = [0; 4];
                    stream.read_exact(&mut word).await.unwrap();
                    stream.write_all(&word).await.unwrap();
                });
                let mut answer = Response::new(Body::empty());
                *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
                let fields = answer.headers_mut();
                fields.insert(header::UPGRADE, HeaderValue::from_static("echo"));
                fields.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                answer
            })
            .await;
        let mut ask = request("GET", Body::empty());
        ask.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("echo"));
        ask.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        let mut answer = sender.send(ask).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut word = String::new();
        stream.read_to_string(&mut word).await.unwrap();
        assert_eq!(word, "ping");
    });
}

#[test]
fn a_tunnel_over_http2_may_carry_any_number_of_bytes() {
    run(async {
        // More than a connection may send while nothing uses it.
        const BYTES: usize = 6 << 20;
        let mut sender =
            connected(HttpVersions::Http2, |mut request: Request<Incoming>| async move {
                let held = request.extensions_mut().remove::<upgrade::BusyGuard>();
                let taken = upgrade::on(&mut request);
                tokio::task::spawn_local(async move {
                    let mut stream = upgrade::stream(taken).await.unwrap();
                    let mut all = Vec::new();
                    stream.read_to_end(&mut all).await.unwrap();
                    stream.write_all(all.len().to_string().as_bytes()).await.unwrap();
                    stream.shutdown().await.unwrap();
                    drop(held);
                });
                Response::new(Body::empty())
            })
            .await;
        let ask = Request::connect("a.example:443").body(Body::empty()).unwrap();
        let mut answer = sender.send(ask).await.unwrap();
        let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
        stream.write_all(&vec![b'x'; BYTES]).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, BYTES.to_string());
    });
}

#[test]
fn http2_refuses_a_header_list_over_its_limit_and_two_hosts() {
    run(async {
        let asked = Asked::default();
        let noted = Rc::clone(&asked);
        let mut sender =
            connected(HttpVersions::Http2, move |request| note(Rc::clone(&noted), request)).await;
        let mut large = request("GET", Body::empty());
        for _ in 0..20 {
            let value = HeaderValue::from_str(&"y".repeat(1000)).unwrap();
            large.headers_mut().append("x-large", value);
        }
        let refused = match sender.send(large).await {
            Ok(answer) => answer.status() == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Err(_) => true,
        };
        assert!(refused);
        let mut two = request("GET", Body::empty());
        two.headers_mut().insert(header::HOST, HeaderValue::from_static("b.example"));
        let answer = sender.send(two).await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert!(asked.borrow().is_empty());
    });
}

#[test]
fn the_answer_to_head_has_the_length_of_the_body_and_none_of_it() {
    run(async {
        for versions in [HttpVersions::Http1, HttpVersions::Http2] {
            let mut sender =
                connected(versions, |_| async { Response::new(Body::full("a page")) }).await;
            for (method, body) in [("GET", "a page"), ("HEAD", "")] {
                sender.ready().await.unwrap();
                let answer = sender.send(request(method, Body::empty())).await.unwrap();
                assert_eq!(answer.headers()[header::CONTENT_LENGTH], "6", "{versions:?} {method}");
                assert_eq!(text(answer).await, body, "{versions:?} {method}");
            }
        }
    });
}

#[test]
fn http2_carries_several_requests_at_once() {
    run(async {
        let asked = Asked::default();
        let mut first =
            connected(HttpVersions::Http2, move |request| note(Rc::clone(&asked), request)).await;
        let mut second = first.share().unwrap();
        let (one, two) = tokio::join!(
            first.send(request("GET", Body::empty())),
            second.send(request("PUT", Body::full("abc"))),
        );
        assert_eq!(text(one.unwrap()).await, "GET http://a.example/p 0");
        assert_eq!(text(two.unwrap()).await, "PUT http://a.example/p 3");
    });
}

#[test]
fn a_request_that_was_not_sent_comes_back() {
    run(async {
        let (client, server) = connection();
        let mut sender = connect_http1(client);
        drop(server);
        // Only once the connection's task has seen the end is a request certainly unsent.
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
        let failed = sender.send(request("POST", Body::full("x"))).await.unwrap_err();
        let back = failed.unsent_request.unwrap();
        assert_eq!(back.into_body().collect().await.unwrap().to_bytes(), "x");
    });
}

async fn panics_at_delete(request: Request<Incoming>) -> Response<Body> {
    assert!(request.method() != http::Method::DELETE, "a fault of ours");
    http_engine::reply::text(StatusCode::OK, "well".to_owned())
}

#[test]
fn a_handler_that_panics_fails_its_own_request_of_many_on_a_connection() {
    run(async {
        let mut sender = connected(HttpVersions::Http2, panics_at_delete).await;
        for _ in 0..3 {
            sender.ready().await.unwrap();
            assert!(sender.send(request("DELETE", Body::empty())).await.is_err());
            sender.ready().await.unwrap();
            let after = sender.send(request("GET", Body::empty())).await;
            assert_eq!(text(after.unwrap()).await, "well");
        }
        // Over HTTP/1.1 the request is all that the connection has; others are served.
        let mut sender = connected(HttpVersions::Http1, panics_at_delete).await;
        sender.ready().await.unwrap();
        assert!(sender.send(request("DELETE", Body::empty())).await.is_err());
        let mut sender = connected(HttpVersions::Http1, panics_at_delete).await;
        sender.ready().await.unwrap();
        let answer = sender.send(request("GET", Body::empty())).await;
        assert_eq!(text(answer.unwrap()).await, "well");
    });
}
