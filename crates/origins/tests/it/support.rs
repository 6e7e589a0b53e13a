//! The client under test, and servers that the HTTP engine serves.

use http::header::HOST;
use http::{Request, Response};
use http_engine::body::{Body, read_all};
use http_engine::{HttpVersions, Incoming, Limits, serve};
use origins::{
    ConnectionPolicy, Dialer, OriginLimits, OriginServer, Origins, SendError, TermsOptions,
};
use resolver::{Resolver, ResolverSettings};
use std::cell::Cell;
use std::future::{Future, pending};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};
use transport::tls::Alpn;
use transport::{ClientTls, ServerTls, Stream};

/// Longer than anything here takes; reached only by a failing test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);
/// How long a test waits for what is not to come.
pub(crate) const SHORT: Duration = Duration::from_millis(100);

/// Runs a test on one thread, on which tasks need not be `Send`.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let bounded = async { tokio::time::timeout(DEADLINE, test).await.expect("not in time") };
    LocalSet::new().block_on(&runtime, bounded);
}

/// The client under test, and the terms that it sends under.
pub(crate) struct Client {
    pub(crate) origins: Rc<Origins>,
    pub(crate) terms: ConnectionPolicy,
}

impl Client {
    /// With the usual terms, changed so.
    pub(crate) fn new(change: impl FnOnce(&mut TermsOptions)) -> Self {
        let resolver = Resolver::start(&ResolverSettings::default(), ClientTls::new()).unwrap();
        let dialer = Dialer::new(resolver, ClientTls::new());
        let mut options = TermsOptions::default();
        change(&mut options);
        let terms = ConnectionPolicy::new(options, &dialer).unwrap();
        Self { origins: Rc::new(Origins::new(dialer, OriginLimits::default())), terms }
    }

    pub(crate) async fn send(
        &self,
        to: &str,
        request: Request<Body>,
    ) -> Result<Response<Body>, SendError> {
        let to: OriginServer = to.parse().unwrap();
        let sent = self.origins.send_to(&to, &self.terms, Box::new(request), None).await;
        sent.map_err(|unanswered| unanswered.error)
    }

    /// The body of the answer to a `GET`.
    pub(crate) async fn get(&self, to: &str) -> Result<String, SendError> {
        Ok(text(self.send(to, get("/")).await?).await)
    }

    /// Sends so many at once and waits for all answers.
    pub(crate) async fn get_at_once(&self, to: &str, count: usize) -> Vec<String> {
        let to: OriginServer = to.parse().unwrap();
        let asking = (0..count).map(|_| {
            let (origins, terms, to) = (Rc::clone(&self.origins), self.terms.clone(), to.clone());
            spawn_local(async move {
                let sent = origins.send_to(&to, &terms, Box::new(get("/")), None).await;
                text(sent.unwrap()).await
            })
        });
        let mut answers = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            answers.push(asked.await.unwrap());
        }
        answers
    }
}

pub(crate) fn get(path: &str) -> Request<Body> {
    Request::get(path).header(HOST, "app.example").body(Body::empty()).unwrap()
}

pub(crate) fn post(body: Body) -> Request<Body> {
    Request::post("/").header(HOST, "app.example").body(body).unwrap()
}

pub(crate) async fn text(response: Response<Body>) -> String {
    let bytes = read_all(response.into_body(), 1 << 20, DEADLINE).await.unwrap();
    String::from_utf8(bytes.into()).unwrap()
}

/// A server that counts the connections that come to it.
pub(crate) struct Serving {
    /// `127.0.0.1:PORT`.
    pub(crate) at: String,
    connections: Rc<Cell<usize>>,
}

impl Serving {
    pub(crate) fn connections(&self) -> usize {
        self.connections.get()
    }
}

/// Serves `handler` without TLS, over HTTP/1.1 and HTTP/2.
pub(crate) async fn plain<F>(
    limits: Limits,
    handler: impl Fn(Request<Incoming>) -> F + Clone + 'static,
) -> Serving
where
    F: Future<Output = Response<Body>> + 'static,
{
    start(move |stream| served(stream, HttpVersions::Http1And2, limits, handler.clone())).await
}

/// Serves `handler` over TLS, and HTTP as ALPN has chosen it.
pub(crate) async fn secure<F>(
    tls: ServerTls,
    handler: impl Fn(Request<Incoming>) -> F + Clone + 'static,
) -> Serving
where
    F: Future<Output = Response<Body>> + 'static,
{
    start(move |stream| {
        let (tls, handler) = (tls.clone(), handler.clone());
        async move {
            let Ok(stream) = tls.accept(stream, DEADLINE).await else { return };
            let versions = match stream.alpn() {
                Some(Alpn::Http2) => HttpVersions::Http2,
                _ => HttpVersions::Http1,
            };
            served(stream, versions, Limits::default(), handler).await;
        }
    })
    .await
}

pub(crate) async fn served<F>(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    versions: HttpVersions,
    limits: Limits,
    handler: impl Fn(Request<Incoming>) -> F + 'static,
) where
    F: Future<Output = Response<Body>> + 'static,
{
    drop(serve(stream, versions, limits, pending(), handler).await);
}

/// Calls `serve` for every connection.
pub(crate) async fn start<F>(serve: impl Fn(Stream) -> F + 'static) -> Serving
where
    F: Future<Output = ()> + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let connections = Rc::new(Cell::new(0));
    let counted = Rc::clone(&connections);
    spawn_local(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            counted.set(counted.get() + 1);
            let stream = Stream::from_std(stream.into_std().unwrap()).unwrap();
            spawn_local(serve(stream));
        }
    });
    Serving { at, connections }
}

/// Says the version and the URI of a request.
pub(crate) async fn echo(request: Request<Incoming>) -> Response<Body> {
    let host = request.headers().get(HOST).map_or("-", |it| it.to_str().unwrap());
    let said = format!("{:?} {} {host}", request.version(), request.uri());
    Response::new(Body::full(said))
}
