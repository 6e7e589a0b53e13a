//! The proxy spoken to over TLS, with HTTP/1.1 and HTTP/2.

use crate::support::{Origin, certificate, curl, ok, secure_proxy};
use http::Request;
use http_engine::client::connect_http2;
use http_engine::{Body, upgrade};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use transport::ClientTls;
use transport::tls::Alpn;

#[test]
fn curl_speaks_tls_with_the_proxy() {
    let origin = Origin::start(|_, _, _| ok("secure"));
    let (chain, key, _) = certificate();
    let ca = chain.to_string_lossy().into_owned();
    let proxy = secure_proxy((chain, key), "/ads/\n", |_| {});
    let (proxy, url) = (format!("https://{proxy}"), format!("http://{}/", origin.address));
    assert_eq!(curl(&["--proxy-cacert", &ca, "-x", &proxy, &url]), "secure");
    assert_eq!(curl(&["--proxytunnel", "--proxy-cacert", &ca, "-x", &proxy, &url]), "secure");
    let blocked = curl(&["--proxy-cacert", &ca, "-x", &proxy, &format!("{url}ads/x")]);
    assert!(blocked.contains("List mine"), "{blocked}");
}

#[tokio::test]
async fn http2_clients_fetch_and_tunnel_over_one_connection() {
    let origin = Origin::start(|_, _, _| ok("two"));
    let (chain, key, pem) = certificate();
    let proxy = secure_proxy((chain, key), "||ads.example^\n", |_| {});
    let local = tokio::task::LocalSet::new();
    local.run_until(Box::pin(speak_http2(proxy, pem, origin.address))).await;
    assert!(origin.seen()[0].contains("via: 2.0 tidegate"), "{:?}", origin.seen());
}

async fn speak_http2(proxy: SocketAddr, pem: String, origin: SocketAddr) {
    let tls = ClientTls::new().trusting(pem.as_bytes()).unwrap();
    let stream = tokio::net::TcpStream::connect(proxy).await.unwrap();
    let stream = tls.connect(stream, "proxy.test", &[Alpn::Http2]).await.unwrap();
    assert_eq!(stream.alpn(), Some(Alpn::Http2));
    let mut sender = connect_http2(stream).await.unwrap();
    let fetch = Request::get(format!("http://{origin}/")).body(Body::empty()).unwrap();
    let answer = sender.send(fetch).await.unwrap();
    assert_eq!(answer.status(), 200);
    let blocked = Request::connect("ads.example:443").body(Body::empty()).unwrap();
    assert_eq!(sender.send(blocked).await.unwrap().status(), 403);
    let connect = Request::connect(origin.to_string()).body(Body::empty()).unwrap();
    let mut answer = sender.send(connect).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut tunnel = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
    tunnel.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"two") {
        assert_ne!(tunnel.read_buf(&mut said).await.unwrap(), 0, "{said:?}");
    }
}
