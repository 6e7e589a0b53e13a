//! HTTP/2 with clients: in the clear, and with trailers as gRPC has them.

use crate::support::{Origin, Reply, parts, simple, start};
use bytes::Bytes;
use http::header::TE;
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::BodyExt;
use http_engine::Body;
use http_engine::client::{RequestSender, connect_http2};
use std::net::SocketAddr;

/// Speaks HTTP/2 by prior knowledge.
pub(crate) async fn prior_knowledge(to: SocketAddr) -> RequestSender {
    connect_http2(tokio::net::TcpStream::connect(to).await.unwrap()).await.unwrap()
}

#[tokio::test]
async fn trailers_go_through_to_a_client_of_http2() {
    let origin = Origin::start(|_, _, request| {
        assert!(request.contains("te: trailers\r\n"), "{request}");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/grpc\r\n";
        let body = "Transfer-Encoding: chunked\r\nTrailer: grpc-status\r\n\r\n";
        Reply::Close(format!("{head}{body}3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n"))
    });
    let mut settings = simple(&[origin.address]);
    settings.h2c = true;
    let gateway = start(settings, parts(""));
    let local = tokio::task::LocalSet::new();
    let trailers: HeaderMap = local
        .run_until(async {
            let mut sender = prior_knowledge(gateway.address).await;
            let request = Request::post("http://app.example/pkg.Service/Call")
                .header(TE, "trailers")
                .body(Body::full(Bytes::from_static(b"message")))
                .unwrap();
            let answer = sender.send(request).await.unwrap();
            assert_eq!(answer.status(), 200);
            let all = answer.into_body().collect().await.unwrap();
            let trailers = all.trailers().cloned().unwrap();
            assert_eq!(all.to_bytes(), "abc");
            trailers
        })
        .await;
    assert_eq!(trailers.get("grpc-status"), Some(&HeaderValue::from_static("0")));
    assert!(origin.seen()[0].contains("message"), "{:?}", origin.seen());
}

#[tokio::test]
async fn in_the_clear_http2_is_spoken_only_where_it_is_set() {
    let origin = Origin::start(|_, _, _| crate::support::ok("x"));
    let gateway = start(simple(&[origin.address]), parts(""));
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            let mut sender = prior_knowledge(gateway.address).await;
            let request = Request::get("http://app.example/").body(Body::empty()).unwrap();
            assert!(sender.send(request).await.is_err());
        })
        .await;
    assert!(origin.seen().is_empty());
}
