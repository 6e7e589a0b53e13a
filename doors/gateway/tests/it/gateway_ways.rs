//! How the gateway speaks to its servers: HTTP/2 and gRPC, sockets, TLS with an authority of one's
//! own, PROXY headers, patience, verified connections.

use crate::support;

use bytes::Bytes;
use door_gateway::{
    HealthSettings, HttpChoice, KeepAliveSettings, PoolChange, PoolSettings, PoolUnchanged,
    ProxyProtocolChoice, ResolveChoice, RouteSettings, ServerDetails, ServerSettings,
    ServerTlsSettings, Settings, TimeoutSettings, VerifyChoice, VerifyConnection, check_files,
};
use http::header::{CONTENT_TYPE, HOST, TE};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use http_engine::body::{Body, BodyError};
use http_engine::client::connect_http2;
use http_engine::{HttpVersions, Incoming, Limits, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use support::{DEADLINE, Gateway, Origin, Reply, ask, get, ok, parts, scratch, start};
use transport::tls::{Alpn, ServerIdentity};
use transport::{ServerTls, Stream};

fn span(text: &str) -> settings::Text<vocab::TimeSpan> {
    settings::Text(text.parse().unwrap())
}

/// One pool of this server behind one route, with changes.
fn before(server: String, change: impl FnOnce(&mut PoolSettings)) -> Settings {
    let mut pool = PoolSettings { servers: vec![server.into()], ..Default::default() };
    change(&mut pool);
    Settings {
        pools: [("app".to_owned(), pool)].into(),
        routes: vec![RouteSettings { pool: Some("app".into()), ..Default::default() }],
        ..Default::default()
    }
}

/// A server of the HTTP engine, on a thread of its own.
struct Engine {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

type Handler = fn(Request<Incoming>) -> Response<Body>;

fn engine(tls: Option<ServerTls>, handler: Handler) -> Engine {
    let connections = Arc::new(AtomicUsize::new(0));
    let (counted, (tell, told)) = (Arc::clone(&connections), mpsc::channel());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tell.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, SeqCst);
                let stream = Stream::from_std(stream.into_std().unwrap()).unwrap();
                tokio::task::spawn_local(talk(stream, tls.clone(), handler));
            }
        });
    });
    Engine { address: told.recv_timeout(DEADLINE).unwrap(), connections }
}

async fn talk(stream: Stream, tls: Option<ServerTls>, handler: Handler) {
    let (limits, never) = (Limits::default(), std::future::pending());
    let handler = move |request| async move { handler(request) };
    match tls {
        None => drop(serve(stream, HttpVersions::Http2, limits, never, handler).await),
        Some(tls) => {
            let Ok(stream) = tls.accept(stream, DEADLINE).await else { return };
            let versions = match stream.alpn() {
                Some(Alpn::Http2) => HttpVersions::Http2,
                _ => HttpVersions::Http1,
            };
            drop(serve(stream, versions, limits, never, handler).await);
        }
    }
}

/// A certificate of its own making for `name`: its file, and a server that shows it.
fn certificate(name: &str) -> (PathBuf, ServerTls) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let chain = params.self_signed(&key).unwrap().pem();
    let path = scratch().join("ca.pem");
    std::fs::write(&path, &chain).unwrap();
    let identity =
        ServerIdentity::from_pem(chain.as_bytes(), key.serialize_pem().as_bytes()).unwrap();
    (path, ServerTls::with_identity(&identity, &[Alpn::Http2, Alpn::Http1]))
}

fn status(gateway: &Gateway) -> String {
    get(gateway, "/").lines().next().unwrap_or_default().to_owned()
}

/// Sends the body of a call back, and what gRPC says behind it.
fn grpc(request: Request<Incoming>) -> Response<Body> {
    assert_eq!(request.headers()[TE], "trailers");
    assert_eq!(request.uri(), "http://app.example/pkg.Service/Call");
    let frames = request.into_body();
    let mut answer = Response::new(Body::boxed(Echo(Some(frames))));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    answer
}

/// A body whose own trailers are replaced by a status.
struct Echo(Option<Incoming>);

impl http_body::Body for Echo {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Some(body) = &mut self.0 else { return std::task::Poll::Ready(None) };
        let frame = std::task::ready!(std::pin::Pin::new(body).poll_frame(cx));
        std::task::Poll::Ready(Some(Ok(match frame {
            Some(Ok(frame)) if frame.is_data() => frame,
            Some(Ok(frame)) => {
                self.0 = None;
                let sum = frame.trailers_ref().unwrap()["content-digest"].clone();
                let status = ("grpc-status".parse().unwrap(), HeaderValue::from_static("0"));
                let seen = ("x-seen".parse().unwrap(), sum);
                Frame::trailers(HeaderMap::from_iter([status, seen]))
            }
            Some(Err(why)) => return std::task::Poll::Ready(Some(Err(why))),
            None => return std::task::Poll::Ready(None),
        })))
    }
}

#[tokio::test]
async fn a_grpc_call_goes_through_with_its_trailers_both_ways() {
    let server = engine(None, grpc);
    let mut settings = before(format!("h2c://{}", server.address), |_| {});
    settings.h2c = true;
    let gateway = start(settings, parts(""));
    let local = tokio::task::LocalSet::new();
    let digest: http::HeaderName = "content-digest".parse().unwrap();
    local
        .run_until(async {
            let stream = tokio::net::TcpStream::connect(gateway.address).await.unwrap();
            let mut sender = connect_http2(stream).await.unwrap();
            for _ in 0..3 {
                let sum = HeaderMap::from_iter([(digest.clone(), HeaderValue::from(7))]);
                let frames: Vec<Result<_, BodyError>> = vec![
                    Ok(Frame::data(Bytes::from_static(b"mess"))),
                    Ok(Frame::data(Bytes::from_static(b"age"))),
                    Ok(Frame::trailers(sum)),
                ];
                let stream = StreamBody::new(futures_util::stream::iter(frames));
                let call = Request::post("http://app.example/pkg.Service/Call")
                    .header(TE, "trailers")
                    .header(CONTENT_TYPE, "application/grpc")
                    .body(Body::boxed(stream))
                    .unwrap();
                let answer = sender.send(call).await.unwrap();
                assert_eq!(answer.status(), 200);
                let read = answer.into_body().collect().await.unwrap();
                let trailers = read.trailers().cloned().unwrap();
                assert_eq!(read.to_bytes(), "message");
                assert_eq!(
                    (&trailers["grpc-status"], &trailers["x-seen"]),
                    (&HeaderValue::from_static("0"), &HeaderValue::from_static("7"),)
                );
            }
        })
        .await;
    assert_eq!(server.connections.load(SeqCst), 1);
}

#[test]
fn a_server_may_be_a_socket_of_this_machine() {
    let path = scratch().join("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut bytes) = (stream.unwrap(), [0; 4096]);
            let noted = Arc::clone(&noted);
            // Each by itself: a kept connection must not keep a health check waiting.
            std::thread::spawn(move || {
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    let request = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    noted.lock().unwrap().push(request);
                    let head = "HTTP/1.1 302 Found\r\nLocation: http://localhost/there";
                    stream
                        .write_all(format!("{head}\r\nContent-Length: 0\r\n\r\n").as_bytes())
                        .unwrap();
                }
            });
        }
    });
    let mut settings = before(format!("unix:{}", path.display()), |pool| {
        pool.health = Some(HealthSettings { interval: span("100ms"), ..Default::default() });
    });
    settings.routes[0].rewrite_location = true;
    let gateway = start(settings.clone(), parts(""));
    gateway.door.reload(settings).unwrap();
    let answer = get(&gateway, "/here");
    assert!(answer.contains("location: /there\r\n"), "{answer}");
    let deadline = Instant::now() + DEADLINE;
    while gateway.door.pools()[0].servers[0].health != "up" {
        assert!(Instant::now() < deadline, "its checks never went well");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = seen.lock().unwrap();
    let find = |beginning: &str| seen.iter().find(|it| it.starts_with(beginning)).unwrap();
    assert!(find("GET /here ").contains("host: app.example\r\n"));
    assert!(find("GET / ").contains("host: localhost\r\n"), "{seen:?}");
}

fn says_its_version(request: Request<Incoming>) -> Response<Body> {
    let (head, _) = request.into_parts();
    let host = head.headers.get(HOST).map_or("-", |it| it.to_str().unwrap());
    Response::new(Body::full(format!("{:?} {host}", head.version)))
}

#[test]
fn an_authority_of_ones_own_is_trusted_and_no_other() {
    let (ca, tls) = certificate("app.internal");
    let server = engine(Some(tls), says_its_version);
    let to = format!("https://{}", server.address);
    let gateway = |change: &dyn Fn(&mut PoolSettings)| {
        start(before(to.clone(), |pool| change(pool)), parts(""))
    };
    let tls = ServerTlsSettings {
        ca: Some(ca.clone()),
        name: Some("app.internal".into()),
        ..Default::default()
    };
    let ours = gateway(&|pool| pool.tls = tls.clone());
    assert!(get(&ours, "/").ends_with("HTTP/2.0 -"), "{}", get(&ours, "/"));
    let old = gateway(&|pool| {
        pool.tls = tls.clone();
        pool.http = HttpChoice::H1;
    });
    assert!(get(&old, "/").ends_with("HTTP/1.1 app.example"));
    assert_eq!(status(&gateway(&|_| {})), "HTTP/1.1 502 Bad Gateway");
    let nameless = ServerTlsSettings { name: None, ..tls.clone() };
    assert_eq!(status(&gateway(&|pool| pool.tls = nameless.clone())), "HTTP/1.1 502 Bad Gateway");
    let careless = ServerTlsSettings { verify: VerifyChoice::None, ..Default::default() };
    assert_eq!(status(&gateway(&|pool| pool.tls = careless.clone())), "HTTP/1.1 200 OK");
}

#[test]
fn a_file_that_changes_counts_after_a_reload_and_one_that_is_wrong_changes_nothing() {
    let (ca, tls) = certificate("127.0.0.1");
    let (other, _) = certificate("127.0.0.1");
    let server = engine(Some(tls), says_its_version);
    let right = std::fs::read(&ca).unwrap();
    std::fs::copy(&other, &ca).unwrap();
    let settings = before(format!("https://{}", server.address), |pool| {
        pool.tls.ca = Some(ca.clone());
    });
    let gateway = start(settings.clone(), parts(""));
    assert_eq!(status(&gateway), "HTTP/1.1 502 Bad Gateway");
    std::fs::write(&ca, &right).unwrap();
    gateway.door.reload(settings.clone()).unwrap();
    // What is known of the server stays known: it rests until it is tried again.
    let deadline = Instant::now() + DEADLINE;
    while status(&gateway) != "HTTP/1.1 200 OK" {
        assert!(Instant::now() < deadline, "{}", status(&gateway));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::write(&ca, "no certificate").unwrap();
    let complaints = gateway.door.reload(settings.clone()).unwrap_err();
    assert_eq!(complaints[0].path, "pools.app.tls.ca");
    assert_eq!(check_files(&settings, Path::new("/"), &Arc::default())[0].path, "pools.app.tls.ca");
    assert_eq!(status(&gateway), "HTTP/1.1 200 OK");
}

#[test]
fn servers_are_told_of_the_client_by_a_proxy_header() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, tell) = (stream.unwrap(), tell.clone());
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    tell.send(bytes[..count].to_vec()).unwrap();
                    if bytes[..count].ends_with(b"\r\n\r\n") {
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                    }
                }
            });
        }
    });
    let mut settings = before(format!("http://{server}"), |pool| {
        pool.proxy_protocol = ProxyProtocolChoice::V1;
    });
    settings.trusted = vec![settings::Text("127.0.0.1/32".parse().unwrap())];
    let gateway = start(settings, parts(""));
    let mut came = String::new();
    let mut until = |what: &str| {
        while !came.contains(what) {
            came.push_str(&String::from_utf8(told.recv_timeout(DEADLINE).unwrap()).unwrap());
        }
        std::mem::take(&mut came)
    };
    let begun = |text: &str| text.lines().next().unwrap().to_owned();
    let request = "GET /one HTTP/1.1\r\nHost: app.example\r\n\r\n";
    let mut stream = std::net::TcpStream::connect(gateway.address).unwrap();
    let client = stream.local_addr().unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let first = until("\r\n\r\n");
    let at = gateway.address;
    let expected = format!("PROXY TCP4 127.0.0.1 127.0.0.1 {} {}", client.port(), at.port());
    assert_eq!(begun(&first), expected);
    support::read_message(&mut stream).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    assert_eq!(
        begun(&until("\r\n\r\n")),
        "GET /one HTTP/1.1",
        "the connection is the client's own"
    );
    support::read_message(&mut stream).unwrap();
    // Another client, for whom a proxy speaks that is trusted.
    let other = "GET /two HTTP/1.1\r\nHost: app.example\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n";
    ask(gateway.address, other);
    let expected = format!("PROXY TCP4 192.0.2.7 127.0.0.1 0 {}", at.port());
    assert_eq!(begun(&until("\r\n\r\n")), expected);
}

#[test]
fn a_server_that_is_silent_is_too_slow() {
    let silent = |request: &str| request.starts_with("GET /silent ");
    let origin = Origin::start(move |_, _, request| {
        if silent(request) {
            std::thread::sleep(Duration::from_millis(500));
        }
        ok("x")
    });
    let patience = TimeoutSettings { first_byte: Some(span("100ms")), ..Default::default() };
    let settings = before(format!("http://{}", origin.address), |pool| pool.timeouts = patience);
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/silent").starts_with("HTTP/1.1 504 "), "{}", get(&gateway, "/silent"));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_route_may_be_more_patient_than_its_pool() {
    let origin = Origin::start(move |_, _, _| {
        std::thread::sleep(Duration::from_millis(300));
        ok("x")
    });
    let patience = TimeoutSettings { first_byte: Some(span("50ms")), ..Default::default() };
    let mut settings =
        before(format!("http://{}", origin.address), |pool| pool.timeouts = patience);
    settings.routes[0].response_timeout = Some(span("10s"));
    let gateway = start(settings, parts(""));
    assert!(get(&gateway, "/").starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_server_that_takes_no_tls_is_passed_over_in_time() {
    // The kernel takes the connection; nobody ever shakes hands.
    let stuck = TcpListener::bind("127.0.0.1:0").unwrap();
    let (ca, tls) = certificate("127.0.0.1");
    let server = engine(Some(tls), says_its_version);
    let settings = before(format!("https://{}", stuck.local_addr().unwrap()), |pool| {
        pool.servers.push(format!("https://{}", server.address).into());
        pool.balance = door_gateway::BalanceMethod::RoundRobin;
        pool.tls.ca = Some(ca);
        pool.timeouts.connect = span("300ms");
    });
    let gateway = start(settings, parts(""));
    for _ in 0..3 {
        assert_eq!(status(&gateway), "HTTP/1.1 200 OK");
    }
    assert_eq!(gateway.door.pools()[0].servers[0].failures, 1);
}

#[test]
fn a_silence_within_an_answer_breaks_it_off() {
    let (let_go, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        support::read_message(&mut stream).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").unwrap();
        let _ = held.lock().unwrap().recv_timeout(DEADLINE);
    });
    let patience = TimeoutSettings { between_bytes: Some(span("100ms")), ..Default::default() };
    let settings = before(format!("http://{server}"), |pool| pool.timeouts = patience);
    let gateway = start(settings, parts(""));
    let mut stream = std::net::TcpStream::connect(gateway.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: app.example\r\n\r\n").unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut answer = Vec::new();
    // The connection ends short of the ten bytes, while the server still holds its own open.
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.ends_with(b"\r\n\r\nabc"), "{}", answer.escape_ascii());
    drop(let_go);
}

#[test]
fn a_fresh_connection_is_verified_and_an_ill_server_passed_over() {
    for (choice, question) in [
        (VerifyConnection::Switch(true), "OPTIONS * "),
        (VerifyConnection::Path("/alive?x".into()), "OPTIONS /alive?x "),
    ] {
        let ill = Origin::start(move |_, _, request| {
            assert!(request.starts_with(question), "{request}");
            Reply::Keep("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".into())
        });
        let well = Origin::start(|_, _, _| ok("well"));
        let settings = before(format!("http://{}", ill.address), |pool| {
            pool.servers.push(format!("http://{}", well.address).into());
            pool.verify_connection = choice.clone();
        });
        let gateway = start(settings, parts(""));
        for _ in 0..5 {
            assert!(get(&gateway, "/").ends_with("well"));
        }
        let asked = well.seen().iter().filter(|it| it.starts_with(question)).count();
        assert_eq!((asked, well.connections()), (1, 1));
    }
}

#[test]
fn servers_found_by_name_go_by_that_name() {
    let (ca, tls) = certificate("localhost");
    let server = engine(Some(tls), |request| {
        let host = request.uri().authority().map(ToString::to_string);
        Response::new(Body::full(host.unwrap_or_default()))
    });
    let port = server.address.port();
    let url = format!("https://localhost:{port}");
    let mut settings = before(url.clone(), |pool| {
        let resolve = Some(ResolveChoice::Addresses);
        let details = ServerDetails { url: url.clone(), resolve, ..Default::default() };
        pool.servers = vec![ServerSettings::Detailed(details)];
        pool.tls = ServerTlsSettings { ca: Some(ca), ..Default::default() };
        pool.health = Some(HealthSettings { interval: span("100ms"), ..Default::default() });
    });
    settings.routes[0].set_host = "server".into();
    let gateway = start(settings.clone(), parts(""));
    gateway.door.reload(settings).unwrap();
    // One of its addresses has no server; requests wait until they are known, and pass it by.
    let answer = get(&gateway, "/");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(&format!("localhost:{port}")));
    let deadline = Instant::now() + DEADLINE;
    let health = || gateway.door.pools()[0].servers.iter().map(|it| it.health).collect::<Vec<_>>();
    while health() != ["up", "down"] {
        assert!(Instant::now() < deadline, "{:?}", health());
        std::thread::sleep(Duration::from_millis(5));
    }
    let pool = gateway.door.pools().remove(0);
    let told = pool.servers.iter().map(|it| (it.url.as_str(), it.found_by.as_deref()));
    let expected = [format!("https://127.0.0.1:{port}"), format!("https://[::1]:{port}")];
    assert!(told.eq(expected.iter().map(|it| (it.as_str(), Some(url.as_str())))), "{pool:?}");
    assert_eq!((pool.names[0].servers, &pool.names[0].failure), (2, &None));
}

#[test]
fn connections_are_kept_as_agreed() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let settings = before(format!("http://{}", origin.address), |pool| {
        pool.keep_alive = KeepAliveSettings { requests: 2, ..Default::default() };
    });
    let gateway = start(settings, parts(""));
    for _ in 0..6 {
        assert!(get(&gateway, "/").ends_with('x'));
    }
    assert_eq!(origin.connections(), 3);
}

#[test]
fn a_server_that_is_added_must_suit_its_pool() {
    let origin = Origin::start(|_, _, _| ok("x"));
    let settings = before(format!("http://{}", origin.address), |pool| {
        pool.http = HttpChoice::H1;
    });
    let gateway = start(settings, parts(""));
    let add = |url: &str| {
        let details = ServerDetails { url: url.into(), ..Default::default() };
        gateway.door.change_pool("app", &PoolChange::Add(details))
    };
    assert!(matches!(add("h2c://127.0.0.1:1"), Err(PoolUnchanged::Wrong(_))));
    assert!(matches!(add("unix:app.sock"), Err(PoolUnchanged::Wrong(_))));
    assert_eq!(add("unix:/run/app.sock"), Ok(()));
    assert_eq!(gateway.door.pools()[0].servers[1].url, "unix:/run/app.sock");
}
