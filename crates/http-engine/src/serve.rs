//! The server side: one connection, HTTP/1.1 or HTTP/2, from its first byte to its last.
//!
//! Simple requests stay in the fast path ([`crate::fast_path`]); HTTP/2 has its own part
//! ([`crate::http2`]). For other requests of HTTP/1 hyper parses and frames; this adds bounds,
//! patience and the refusals of [`crate::refuse`], and calls the handler for what is left. It knows
//! no door, no TLS and no socket: `io` is any byte stream. Called by
//! every HTTP door, once per connection, within a `LocalSet` or local runtime.

use crate::EngineError;
use crate::admit::admitted;
use crate::body::Body;
use crate::breaking::BreakingBody;
use crate::fast_path::connection::{FastPathConnection, FastPathEnd, HandedOver};
use crate::fast_path::{FastPath, NoQuick};
use crate::http2;
use crate::incoming::Incoming;
use crate::interim;
use crate::last_answers;
use crate::limits::{HEADER_BYTES_MIN, HEADERS_DEFAULT, Limits};
use crate::no_clock;
use crate::preface::{PrefaceExpectation, SpokenProtocol};
use crate::refuse::{HeadRefusal, refusal};
use crate::reply;
use crate::serve_error::ServeError;
use crate::timeouts::{ConnectionPatience, TickAction};
use crate::watch::{ConnectionWatch, WatchedStream};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

/// Which versions of HTTP a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/1.0 and 1.1: plain listeners, and TLS that agreed on `http/1.1` or nothing.
    Http1,
    /// HTTP/2 only: TLS that agreed on `h2`.
    Http2,
    /// Whichever the first bytes show (HTTP/2 by prior knowledge, RFC 9113 §3.3).
    Http1And2,
}

/// Serves `io` until it closes, `stop` completes (then: what runs is finished, nothing new is
/// begun), or a limit is hit.
///
/// `handler` gets every request that is not refused; the future it returns is dropped when the
/// client goes away. Upgrades work: see [`crate::upgrade`]. `Date` is added where it is missing,
/// and what handlers say of the length and the framing of a body gives way to what the body says.
pub fn serve<I, S, H, F>(
    io: I,
    versions: HttpVersions,
    limits: Limits,
    stop: S,
    handler: H,
) -> impl Future<Output = Result<(), ServeError>>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Future<Output = ()> + Unpin,
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    serve_with_fast_path(io, versions, limits, stop, NoQuick, handler)
}

/// The same with a short way: `quick` is asked first whether it answers a simple request at once,
/// and `handler` gets what it leaves.
///
/// Until the first request that is not simple, both answer within the fast path, which is strict,
/// keeps its own time by the same limits, and holds no buffer while a connection is idle: see
/// [`crate::fast_path`]. The future is small, for it is all that an idle connection has: what is
/// handed in stands in it once.
pub fn serve_with_fast_path<I, S, Q, H, F>(
    io: I,
    versions: HttpVersions,
    limits: Limits,
    stop: S,
    quick: Q,
    handler: H,
) -> impl Future<Output = Result<(), ServeError>>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Future<Output = ()> + Unpin,
    Q: FastPath,
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    let preface = match versions {
        HttpVersions::Http1 | HttpVersions::Http2 => PrefaceExpectation::No,
        HttpVersions::Http1And2 => PrefaceExpectation::Expected,
    };
    let mut fast_path = FastPathConnection::new(io, preface, Instant::now());
    let mut stop = OnceFuture(Some(stop));
    // Not an async function: its arguments would stand in the future beside what becomes of them.
    async move {
        let end = match versions {
            HttpVersions::Http2 => {
                let since = Instant::now();
                FastPathEnd::Over(HandedOver {
                    early: Bytes::new(),
                    protocol: SpokenProtocol::Http2,
                    since,
                })
            }
            HttpVersions::Http1 | HttpVersions::Http1And2 => {
                drive_fast_path(&mut fast_path, &quick, &handler, Pin::new(&mut stop), &limits)
                    .await?
            }
        };
        match end {
            FastPathEnd::Closed => {
                // TLS says goodbye, or the client must take the end for somebody's in between.
                match timeout(limits.stall_timeout, fast_path.io.shutdown()).await {
                    // Whoever has gone already needs none.
                    Ok(_) => Ok(()),
                    Err(_) => Err(ServeError::Stalled),
                }
            }
            FastPathEnd::Failed(why) => Err(ServeError::Io(why)),
            FastPathEnd::Broken(why) => Err(ServeError::Answer(why)),
            // Boxed: these parts are large, and most connections never need them.
            FastPathEnd::Over(begun) => {
                let stop = Pin::new(&mut stop);
                match begun.protocol {
                    SpokenProtocol::Http1 => {
                        Box::pin(by_hyper(fast_path.io, begun, limits, stop, handler)).await
                    }
                    SpokenProtocol::Http2 => {
                        Box::pin(http2::serve(fast_path.io, begun, limits, stop, handler)).await
                    }
                }
            }
        }
    }
}

/// A future that the fast path and what follows it both ask: once it has completed, it is not
/// asked again.
struct OnceFuture<S>(Option<S>);

impl<S: Future<Output = ()> + Unpin> Future for OnceFuture<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(stop) = &mut self.0 {
            ready!(Pin::new(stop).poll(cx));
            self.0 = None;
        }
        Poll::Ready(())
    }
}

/// Serves requests of HTTP/1 that the fast path does not.
async fn by_hyper<I, S, H, F>(
    mut io: I,
    HandedOver { early, since, protocol: _ }: HandedOver,
    limits: Limits,
    stop: Pin<&mut S>,
    handler: H,
) -> Result<(), ServeError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Future<Output = ()>,
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    if crate::date::is_before_1970() {
        return no_clock::refuse(&mut io, &limits).await;
    }
    let watch = Arc::new(ConnectionWatch::new(since));
    let service = service_of(handler, &watch);
    let head_bytes_max = limits.header_bytes_max.max(HEADER_BYTES_MIN);
    let io = WatchedStream::http1(io, early, Arc::clone(&watch), head_bytes_max);
    let connection = http1_builder(&limits).serve_connection(TokioIo::new(io), service);
    drive(pin!(connection.with_upgrades()), stop, &watch, &limits).await
}

/// Returns what hyper calls for each request: refuses, or asks the handler.
fn service_of<H, F>(
    handler: H,
    watch: &Arc<ConnectionWatch>,
) -> impl Service<
    Request<hyper::body::Incoming>,
    Response = Response<BreakingBody>,
    Error = UnansweredRequest,
    Future = impl Future<Output = Result<Response<BreakingBody>, UnansweredRequest>> + 'static,
> + 'static
where
    H: Fn(Request<Incoming>) -> F + 'static,
    F: Future<Output = Response<Body>> + 'static,
{
    let watch = Arc::clone(watch);
    service_fn(move |mut request: Request<hyper::body::Incoming>| {
        let busy = watch.start_request();
        let version = request.version();
        let is_tunnel = request.method() == Method::CONNECT;
        let faults = watch.take_faults();
        let refused_for = admitted(&mut request).err().or_else(|| refusal(&request, faults));
        let outcome = match refused_for {
            None => Ok(handler(request.map(Incoming::of_request))),
            Some(why) => Err(refused(why)),
        };
        async move {
            let answer = match outcome {
                // HTTP/1.0 knows no interim answers (RFC 9110 §15.2).
                Ok(answer) if version == Version::HTTP_11 => {
                    answered(pin!(answer), busy.watch()).await
                }
                Ok(answer) => answer.await,
                Err(answer) => answer,
            };
            if reply::is_no_answer(&answer) {
                return Err(UnansweredRequest);
            }
            // What becomes a tunnel is no HTTP any more.
            let answer = if is_tunnel { answer } else { said_last(answer, version) };
            Ok(answer.map(|body| BreakingBody::new(body, Arc::clone(busy.watch()))))
        }
    })
}

/// A request that gets [no answer](reply::no_answer): hyper ends its connection.
#[derive(Clone, Copy, Debug)]
struct UnansweredRequest;

impl fmt::Display for UnansweredRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request is to get no answer")
    }
}

impl Error for UnansweredRequest {}

/// The end of a connection in hyper's hands; one that ends without an answer as it should has not
/// failed.
fn ended(outcome: Result<(), hyper::Error>) -> Result<(), ServeError> {
    match outcome {
        Err(why) if why.source().is_some_and(<dyn std::error::Error>::is::<UnansweredRequest>) => {
            Ok(())
        }
        outcome => outcome.map_err(|why| ServeError::Http(EngineError::Hyper(why))),
    }
}

/// The answer, told to be the connection's last where that is due. A connection that changes its
/// protocol goes on.
fn said_last(mut answer: Response<Body>, version: Version) -> Response<Body> {
    if last_answers::are_due() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    // hyper writes `keep-alive` beside `close` where an HTTP/1.0 client asks for it, unless the
    // answer is of that version.
    if version == Version::HTTP_10 && answer.headers().get(header::CONNECTION).is_some() {
        *answer.version_mut() = version;
    }
    answer
}

/// Runs a handler. Its answer follows the interim answers that it tells of.
async fn answered<F>(mut handler: Pin<&mut F>, watch: &ConnectionWatch) -> F::Output
where
    F: Future<Output = Response<Body>>,
{
    let answer = poll_fn(|cx| {
        let (polled, told) = interim::for_client(|| handler.as_mut().poll(cx));
        if !told.is_empty() {
            watch.send_interim(&told);
            // They leave when hyper flushes: at the end of most turns of its task, but not of all.
            cx.waker().wake_by_ref();
        }
        polled
    });
    let answer = answer.await;
    poll_fn(|_| watch.poll_interim_sent()).await;
    answer
}

fn http1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Patience keeps time: hyper's own timer would be one more entry per request.
    builder.header_read_timeout(None);
    builder.max_buf_size(limits.header_bytes_max.max(HEADER_BYTES_MIN));
    if limits.headers_max != HEADERS_DEFAULT {
        builder.max_headers(limits.headers_max);
    }
    builder
}

fn refused(why: HeadRefusal) -> Response<Body> {
    let mut answer = reply::text(why.status(), format!("{why}\n"));
    // Whatever follows on this connection cannot be trusted to start where it seems to.
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// Runs `connection` beside one timer, which costs nothing where everything is ready at once.
async fn drive<I, V, S>(
    mut connection: Pin<&mut http1::UpgradeableConnection<TokioIo<I>, V>>,
    mut stop: Pin<&mut S>,
    watch: &ConnectionWatch,
    limits: &Limits,
) -> Result<(), ServeError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    V: Service<
            Request<hyper::body::Incoming>,
            Response = Response<BreakingBody>,
            Error = UnansweredRequest,
        > + 'static,
    S: Future<Output = ()>,
{
    let mut patience = ConnectionPatience::new(limits, Instant::now());
    // Time that the fast path has waited for the head is not given twice.
    let mut tick = pin!(sleep_until(watch.started() + limits.header_timeout));
    let mut open = true;
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
                return Poll::Ready(ended(outcome));
            }
            if open && stop.as_mut().poll(cx).is_ready() {
                open = false;
                connection.as_mut().graceful_shutdown();
                continue;
            }
            if tick.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            match patience.check(watch.status(), limits, now) {
                TickAction::Wait(until) => tick.as_mut().reset(until),
                TickAction::Close if open => {
                    tick.as_mut().reset(now + limits.idle_timeout);
                    open = false;
                    connection.as_mut().graceful_shutdown();
                }
                // It was asked to close, nothing is in flight, and still it is there.
                TickAction::HeadTooSlow => return Poll::Ready(Err(ServeError::HeadTooSlow)),
                TickAction::Close | TickAction::Stalled => {
                    return Poll::Ready(Err(ServeError::Stalled));
                }
                TickAction::TooSlow => return Poll::Ready(Err(ServeError::TooSlow)),
            }
        }
    })
    .await
}

/// Runs the fast path beside one timer, which costs nothing where everything is ready at once.
async fn drive_fast_path<I, Q, H, F, S>(
    fast_path: &mut FastPathConnection<I, F>,
    quick: &Q,
    handler: &H,
    mut stop: Pin<&mut S>,
    limits: &Limits,
) -> Result<FastPathEnd, ServeError>
where
    I: AsyncRead + AsyncWrite + Unpin,
    Q: FastPath,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Body>>,
    S: Future<Output = ()>,
{
    let now = Instant::now();
    let mut patience = ConnectionPatience::new(limits, now);
    let mut tick = pin!(sleep_until(now + limits.header_timeout));
    let mut open = true;
    poll_fn(|cx| {
        if let Poll::Ready(end) = fast_path.poll(cx, quick, handler) {
            return Poll::Ready(Ok(end));
        }
        if open && stop.as_mut().poll(cx).is_ready() {
            open = false;
            if fast_path.stop().is_break() {
                return Poll::Ready(Ok(FastPathEnd::Closed));
            }
        }
        while tick.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            match patience.check(fast_path.status(), limits, now) {
                TickAction::Wait(until) => tick.as_mut().reset(until),
                TickAction::Close => return Poll::Ready(Ok(FastPathEnd::Closed)),
                TickAction::HeadTooSlow => return Poll::Ready(Err(ServeError::HeadTooSlow)),
                TickAction::Stalled => return Poll::Ready(Err(ServeError::Stalled)),
                TickAction::TooSlow => return Poll::Ready(Err(ServeError::TooSlow)),
            }
        }
        Poll::Pending
    })
    .await
}
