//! The client side: one connection to a server, HTTP/1.1 or HTTP/2, over any byte stream.
//!
//! It sends requests as they are handed in and adds nothing but framing; it knows no pool, no
//! retry and no redirect. The connection's own work runs as a task of the current thread.
//! Called by the origin pool and by DNS over HTTPS.

use crate::body::Body;
use crate::incoming::Incoming;
use crate::limits::{HTTP2_SEND_BUFFER_BYTES, HTTP2_STREAM_WINDOW_BYTES};
use crate::rt::LocalExec;
use http::{Request, Response};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes of a response head, and of what is read ahead of it. A head beyond it is an error.
pub const RESPONSE_HEAD_BYTES_MAX: usize = 64 << 10;
/// Header fields in a response; beyond it the response is an error. hyper's own default.
pub const RESPONSE_HEADERS_MAX: usize = 100;
/// The header list of an HTTP/2 response, by its own measure (RFC 9113 §6.5.2).
const HTTP2_HEADER_LIST_BYTES_MAX: u32 = RESPONSE_HEAD_BYTES_MAX as u32;
/// Requests that go out over HTTP/2 before the server has said how many it takes at once: more could
/// be refused, and one whose body has begun cannot go out again.
const HTTP2_STREAMS_AT_FIRST: usize = 1;
/// Bytes that wait here unread, all answers of one connection together: as many whole windows as it is
/// given streams, so that no answer whose reader is slow keeps another waiting.
const HTTP2_UNREAD_BYTES_MAX: u32 = 100 * HTTP2_STREAM_WINDOW_BYTES;
/// A dead HTTP/2 peer is noticed by a ping unanswered for so long.
const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests over one connection.
#[derive(Debug)]
pub struct Sender(Version);

#[derive(Debug)]
enum Version {
    Http1(http1::SendRequest<Body>),
    /// With what the server takes at once.
    Http2(http2::SendRequest<Body>, Arc<AtomicUsize>),
}

/// A request that got no answer.
#[derive(Debug)]
pub struct SendError {
    /// What went wrong.
    pub why: hyper::Error,
    /// The request, if not a byte of it was sent: it may go over another connection, whatever its
    /// method.
    pub unsent: Option<Box<Request<Body>>>,
}

/// Opens HTTP/1.1 over `io`. Upgrades ([`crate::upgrade`]) work.
///
/// Must be called within a `LocalSet` or a local runtime: the connection becomes a task of it.
pub async fn connect_http1<I>(io: I) -> Result<Sender, hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .max_buf_size(RESPONSE_HEAD_BYTES_MAX)
        .max_headers(RESPONSE_HEADERS_MAX)
        .handshake(TokioIo::new(io))
        .await?;
    // Its errors reach whoever waits for a response; nobody else needs them.
    tokio::task::spawn_local(async move { drop(connection.with_upgrades().await) });
    Ok(Sender(Version::Http1(sender)))
}

/// Opens HTTP/2 over `io`, on which ALPN has chosen `h2` (or by prior knowledge).
///
/// Must be called within a `LocalSet` or a local runtime: the connection becomes tasks of it.
pub async fn connect_http2<I>(io: I) -> Result<Sender, hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let (sender, mut connection) = http2::Builder::new(LocalExec)
        .timer(TokioTimer::new())
        .initial_max_send_streams(HTTP2_STREAMS_AT_FIRST)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_UNREAD_BYTES_MAX)
        .max_send_buf_size(HTTP2_SEND_BUFFER_BYTES)
        .max_header_list_size(HTTP2_HEADER_LIST_BYTES_MAX)
        .keep_alive_interval(HTTP2_PING_EVERY)
        .keep_alive_timeout(HTTP2_PING_TIMEOUT)
        .handshake(TokioIo::new(io))
        .await?;
    let room = Arc::new(AtomicUsize::new(HTTP2_STREAMS_AT_FIRST));
    let noted = Arc::clone(&room);
    tokio::task::spawn_local(poll_fn(move |cx| {
        let polled = Pin::new(&mut connection).poll(cx);
        noted.store(connection.current_max_send_streams(), Relaxed);
        polled.map(drop)
    }));
    Ok(Sender(Version::Http2(sender, room)))
}

impl Sender {
    /// Waits until a request can be sent; an error means that the connection is gone.
    pub async fn ready(&mut self) -> Result<(), hyper::Error> {
        match &mut self.0 {
            Version::Http1(sender) => sender.ready().await,
            Version::Http2(sender, _) => sender.ready().await,
        }
    }

    /// Whether a request can be sent at once.
    pub fn is_ready(&self) -> bool {
        match &self.0 {
            Version::Http1(sender) => sender.is_ready(),
            Version::Http2(sender, _) => sender.is_ready(),
        }
    }

    /// Whether the connection is gone.
    pub fn is_closed(&self) -> bool {
        match &self.0 {
            Version::Http1(sender) => sender.is_closed(),
            Version::Http2(sender, _) => sender.is_closed(),
        }
    }

    /// Another sender over the same connection, where the protocol carries several requests at
    /// once (HTTP/2).
    pub fn share(&self) -> Option<Self> {
        match &self.0 {
            Version::Http1(_) => None,
            Version::Http2(sender, room) => {
                Some(Self(Version::Http2(sender.clone(), Arc::clone(room))))
            }
        }
    }

    /// How many requests the server takes at once over this connection: 1 with HTTP/1.1; with HTTP/2
    /// what it has announced, and 1 until then.
    pub fn streams_max(&self) -> usize {
        match &self.0 {
            Version::Http1(_) => 1,
            Version::Http2(_, room) => room.load(Relaxed),
        }
    }

    /// Sends `request` and waits for the head of its response.
    ///
    /// Over HTTP/1.1 the target is written as given: a path for a server, an absolute URI for a
    /// proxy; `Host` is the caller's to set. Over HTTP/2 the URI must be absolute.
    pub async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        let sent = match &mut self.0 {
            Version::Http1(sender) => sender.try_send_request(request).await,
            Version::Http2(sender, _) => sender.try_send_request(request).await,
        };
        sent.map(|answer| answer.map(Incoming::from)).map_err(|mut why| {
            let unsent = why.take_message().map(Box::new);
            SendError { why: why.into_error(), unsent }
        })
    }
}

impl std::fmt::Display for SendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no answer: {}", self.why)
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}
