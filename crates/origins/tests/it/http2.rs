//! HTTP/2 with servers: chosen by ALPN or by the URL, one connection for many requests.

use super::authority::Authority;
use super::support::{Client, echo, get, plain, post, secure, text};
use bytes::Bytes;
use http::header::{CONNECTION, HOST, TE, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use http_engine::body::{Body, BodyError};
use http_engine::{Incoming, Limits, upgrade};
use origins::{
    AnyDestination, DialError, Dialer, HttpVersion, KnownOrigin, Origin, OriginLimits, Origins,
    SendError,
};
use resolver::{Resolver, ResolverSettings};
use std::cell::Cell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::spawn_local;
use transport::ClientTls;
use transport::tls::Alpn;

const BOTH: &[Alpn] = &[Alpn::Http2, Alpn::Http1];

#[test]
fn over_tls_both_choose_http2_where_both_have_it() {
    super::support::run(async {
        let authority = Authority::new();
        let new = secure(authority.server("127.0.0.1", BOTH), echo).await;
        let old = secure(authority.server("127.0.0.1", &[Alpn::Http1]), echo).await;
        let client = Client::new(|terms| terms.tls.authorities = Some(authority.pem.clone()));
        let told = client.get(&format!("https://{}", new.at)).await.unwrap();
        assert_eq!(told, "HTTP/2.0 https://app.example/ -");
        let told = client.get(&format!("https://{}", old.at)).await.unwrap();
        assert_eq!(told, "HTTP/1.1 / app.example");
        let old_only = Client::new(|terms| {
            terms.tls.authorities = Some(authority.pem.clone());
            terms.http = HttpVersion::Http1;
        });
        let told = old_only.get(&format!("https://{}", new.at)).await.unwrap();
        assert_eq!(told, "HTTP/1.1 / app.example");
        let new_only = Client::new(|terms| {
            terms.tls.authorities = Some(authority.pem.clone());
            terms.http = HttpVersion::Http2;
        });
        let why = new_only.get(&format!("https://{}", old.at)).await.unwrap_err();
        assert!(matches!(why, SendError::Dial(DialError::Tls(_))), "{why}");
    });
}

#[test]
fn origins_without_terms_get_http2_where_they_have_it() {
    super::support::run(async {
        let authority = Authority::new();
        let new = secure(authority.server("127.0.0.1", BOTH), echo).await;
        let old = secure(authority.server("127.0.0.1", &[Alpn::Http1]), echo).await;
        let origins = origins_trusting(&authority);
        let ask = async |request: Request<Body>, at: &str| {
            let origin: Origin = format!("https://{at}").parse().unwrap();
            text(origins.send(&origin, Box::new(request), &AnyDestination).await.unwrap()).await
        };
        assert_eq!(ask(get("/"), &new.at).await, "HTTP/2.0 https://app.example/ -");
        assert_eq!(ask(get("/"), &new.at).await, "HTTP/2.0 https://app.example/ -");
        assert_eq!(new.connections(), 1);
        let known = |at: &str| {
            let all = KnownOrigin::joined(origins.known_origins(), 9);
            let one = all.into_iter().find(|one| one.server.authority() == at);
            one.map(|one| (one.version, one.open, one.idle, one.at_once))
        };
        assert_eq!(known(&new.at), Some((Version::HTTP_2, 1, 1, 0)));
        // What is to leave HTTP needs a connection that it can take along.
        let mut leaving = get("/");
        leaving.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        leaving.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
        assert_eq!(ask(leaving, &new.at).await, "HTTP/1.1 / app.example");
        assert_eq!(new.connections(), 2);
        assert_eq!(ask(get("/"), &old.at).await, "HTTP/1.1 / app.example");
        assert_eq!(known(&old.at), Some((Version::HTTP_11, 1, 1, 1)));
    });
}

fn origins_trusting(authority: &Authority) -> Origins {
    let tls = ClientTls::new().trusting(&authority.pem).unwrap();
    let resolver = Resolver::start(&ResolverSettings::default(), tls.clone()).unwrap();
    Origins::new(Dialer::new(resolver, tls), OriginLimits::default())
}

#[test]
fn many_requests_share_one_connection() {
    super::support::run(async {
        let authority = Authority::new();
        let server = secure(authority.server("127.0.0.1", BOTH), echo).await;
        let client = Client::new(|terms| terms.tls.authorities = Some(authority.pem.clone()));
        let to = format!("https://{}", server.at);
        assert_eq!(client.get_at_once(&to, 50).await.len(), 50);
        client.get(&to).await.unwrap();
        assert_eq!(server.connections(), 1);
    });
}

#[test]
fn where_http1_is_chosen_every_request_has_its_own() {
    super::support::run(async {
        let authority = Authority::new();
        let (come, all) = (Rc::new(Cell::new(0)), Rc::new(Notify::new()));
        let handler = meeting(4, &come, &all);
        let server = secure(authority.server("127.0.0.1", &[Alpn::Http1]), handler).await;
        let client = Client::new(|terms| terms.tls.authorities = Some(authority.pem.clone()));
        let to = format!("https://{}", server.at);
        assert_eq!(client.get_at_once(&to, 4).await.len(), 4);
        client.get(&to).await.unwrap();
        assert_eq!(server.connections(), 4);
    });
}

/// Answers nobody before `count` have come.
fn meeting(
    count: usize,
    come: &Rc<Cell<usize>>,
    all: &Rc<Notify>,
) -> impl Fn(Request<Incoming>) -> std::pin::Pin<Box<dyn Future<Output = Response<Body>>>> + Clone + use<>
{
    let (come, all) = (Rc::clone(come), Rc::clone(all));
    move |_| {
        let (come, all) = (Rc::clone(&come), Rc::clone(&all));
        Box::pin(async move {
            come.set(come.get() + 1);
            if come.get() >= count {
                all.notify_waiters();
            } else {
                all.notified().await;
            }
            Response::new(Body::empty())
        })
    }
}

#[test]
fn a_connection_that_has_a_hundred_requests_gets_a_sister() {
    super::support::run(async {
        let (come, all) = (Rc::new(Cell::new(0)), Rc::new(Notify::new()));
        let limits = Limits { http2_streams_max: 500, ..Limits::default() };
        let server = plain(limits, meeting(150, &come, &all)).await;
        let client = Client::new(|_| {});
        let answers = client.get_at_once(&format!("h2c://{}", server.at), 150).await;
        assert_eq!(answers.len(), 150);
        assert_eq!(server.connections(), 2);
    });
}

#[test]
fn answers_that_nobody_reads_keep_no_other_waiting() {
    super::support::run(async {
        let handler = |request: Request<Incoming>| async move {
            let size = if request.uri().path() == "/large" { 1 << 20 } else { 1000 };
            Response::new(Body::full(vec![b'x'; size]))
        };
        let server = plain(Limits::default(), handler).await;
        let (client, to) = (Client::new(|_| {}), format!("h2c://{}", server.at));
        let mut unread = Vec::new();
        for _ in 0..50 {
            unread.push(client.send(&to, get("/large")).await.unwrap());
        }
        assert_eq!(client.get(&to).await.unwrap().len(), 1000);
        assert_eq!(server.connections(), 1);
        for answer in unread {
            assert_eq!(text(answer).await.len(), 1 << 20);
        }
    });
}

#[test]
fn no_server_gets_more_at_once_than_it_takes() {
    super::support::run(async {
        let (now, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let noted = Rc::clone(&most);
        let handler = move |request: Request<Incoming>| {
            let (now, most) = (Rc::clone(&now), Rc::clone(&noted));
            async move {
                now.set(now.get() + 1);
                most.set(most.get().max(now.get()));
                request.into_body().collect().await.unwrap();
                now.set(now.get() - 1);
                Response::new(Body::empty())
            }
        };
        let limits = Limits { http2_streams_max: 3, ..Limits::default() };
        let server = plain(limits, handler).await;
        let client = Rc::new(Client::new(|_| {}));
        let to = format!("h2c://{}", server.at);
        let sent = (0..30).map(|_| {
            let (client, to) = (Rc::clone(&client), to.clone());
            spawn_local(async move {
                let (mut feed, body) = Body::channel(1);
                let feeding = spawn_local(async move {
                    for _ in 0..10 {
                        feed.send(vec![b'x'; 1000]).await.unwrap();
                    }
                    feed.finish();
                });
                let answer = client.send(&to, post(body)).await.unwrap();
                feeding.await.unwrap();
                assert_eq!(answer.status(), StatusCode::OK);
            })
        });
        for sent in sent.collect::<Vec<_>>() {
            sent.await.unwrap();
        }
        // A connection takes three; which of two is full when a third is wanted differs.
        assert!(most.get() <= 3 * server.connections(), "{} at once", most.get());
    });
}

#[test]
fn trailers_go_both_ways_without_tls() {
    super::support::run(async {
        let handler = |request: Request<Incoming>| async move {
            assert_eq!(request.headers()[TE], "trailers");
            let read = request.into_body().collect().await.unwrap();
            let sum = read.trailers().unwrap()["content-digest"].clone();
            assert_eq!(read.to_bytes(), "message");
            let trailers = HeaderMap::from_iter([("grpc-status".parse().unwrap(), sum)]);
            Response::new(with_trailers("reply", trailers))
        };
        let server = plain(Limits::default(), handler).await;
        let client = Client::new(|_| {});
        let sum = HeaderMap::from_iter([("content-digest".parse().unwrap(), HeaderValue::from(7))]);
        let mut call = post(with_trailers("message", sum));
        call.headers_mut().insert(TE, HeaderValue::from_static("trailers"));
        let answer = client.send(&format!("h2c://{}", server.at), call).await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
        let read = answer.into_body().collect().await.unwrap();
        assert_eq!(read.trailers().unwrap()["grpc-status"], "7");
        assert_eq!(read.to_bytes(), "reply");
    });
}

fn with_trailers(data: &'static str, trailers: HeaderMap) -> Body {
    let frames: [Result<_, BodyError>; 2] =
        [Ok(Frame::data(Bytes::from_static(data.as_bytes()))), Ok(Frame::trailers(trailers))];
    Body::boxed(StreamBody::new(futures_util::stream::iter(frames)))
}

#[test]
fn what_leaves_http_goes_over_http1() {
    super::support::run(async {
        let handler = |mut request: Request<Incoming>| async move {
            if request.version() != Version::HTTP_11 {
                return Response::new(Body::full("it is HTTP/2"));
            }
            let taken = upgrade::on(&mut request);
            spawn_local(async move {
                let mut stream = upgrade::stream(taken).await.unwrap();
                let mut word = [0; 4];
                stream.read_exact(&mut word).await.unwrap();
                stream.write_all(&word).await.unwrap();
            });
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            answer
        };
        let authority = Authority::new();
        let server = secure(authority.server("127.0.0.1", BOTH), handler).await;
        let client = Client::new(|terms| terms.tls.authorities = Some(authority.pem.clone()));
        let to = format!("https://{}", server.at);
        assert_eq!(client.get(&to).await.unwrap(), "it is HTTP/2");
        let mut ask = get("/");
        ask.headers_mut().insert(UPGRADE, HeaderValue::from_static("echo"));
        ask.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        let mut answer = client.send(&to, ask).await.unwrap();
        assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
        let mut stream = upgrade::stream(upgrade::on(&mut answer)).await.unwrap();
        stream.write_all(b"ping").await.unwrap();
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"ping");
    });
}

#[test]
fn without_a_host_the_servers_own_authority_is_asked_for() {
    super::support::run(async {
        let server = plain(Limits::default(), echo).await;
        let client = Client::new(|terms| terms.http = HttpVersion::Http2);
        let mut request = get("/a?b");
        request.headers_mut().insert(HOST, HeaderValue::from_static(""));
        let answer = client.send(&format!("http://{}", server.at), request).await.unwrap();
        assert_eq!(text(answer).await, format!("HTTP/2.0 http://{}/a?b -", server.at));
    });
}
