//! The client side: one connection to a server, HTTP/1.1 or HTTP/2, over any byte stream.
//!
//! It sends requests as they are handed in and adds nothing but framing; it knows no pool, no retry
//! and no redirect. Over HTTP/1.1 a request is written, and its answer read, by the caller's own
//! future: no task, no channel (docs/adr/0025), and one strict reader for every answer. HTTP/2 is
//! hyper's, in a task of the current thread. Called by the origin pool and by DNS over HTTPS.

pub(crate) mod answer_body;
mod answer_head;
mod chunks;
mod direct;
mod exchange;
mod io;
mod read_buffer;
mod request_head;
mod scratch;
mod upload;

pub use crate::body_error::BadBody;
pub use answer_head::{AnswerLimits, BadHead};

pub(crate) use io::ClientIo;

use crate::admit::is_token;
use crate::body::{Body, BodyError};
use crate::incoming::Incoming;
use crate::limits::{HTTP2_SEND_BUFFER_BYTES, HTTP2_STREAM_WINDOW_BYTES};
use crate::rt::LocalExec;
use direct::DirectConnection;
use http::{Request, Response};
use http_body::Body as _;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// Requests that go out over HTTP/2 before the server has said how many it takes at once: more
/// could be refused, and one whose body has begun cannot go out again.
const HTTP2_STREAMS_AT_FIRST: usize = 1;
/// Bytes that wait here unread, all answers of one connection together: as many whole windows as it
/// is given streams, so that no answer whose reader is slow keeps another waiting.
const HTTP2_UNREAD_BYTES_MAX: u32 = 100 * HTTP2_STREAM_WINDOW_BYTES;
/// A dead HTTP/2 peer is noticed by a ping unanswered for so long.
const HTTP2_PING_EVERY: Duration = Duration::from_secs(20);
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests over one connection.
#[derive(Debug)]
pub struct RequestSender(SenderForm);

#[derive(Debug)]
enum SenderForm {
    /// HTTP/1.1.
    Direct(DirectConnection, AnswerLimits),
    /// With what the server takes at once.
    Http2(http2::SendRequest<Body>, Arc<AtomicUsize>),
}

/// Why there is no answer.
#[derive(Debug)]
pub enum ClientError {
    /// The connection was closed before the whole head of an answer, or is busy with another.
    Closed,
    /// What came is not the head of an answer, or of one that two readers could read differently.
    BadHead(BadHead),
    /// The body of the request failed on its way.
    Body(BodyError),
    /// hyper's own error.
    Engine(hyper::Error),
}

/// A request that got no answer.
#[derive(Debug)]
pub struct SendError {
    /// What went wrong.
    pub error: ClientError,
    /// The request, if not a byte of it was sent: it may go over another connection, whatever its
    /// method.
    pub unsent_request: Option<Box<Request<Body>>>,
    /// The request, if it was sent and not a byte of an answer came, and it [was
    /// kept](Sender::keeps): it may go over another connection if repeating it changes nothing.
    pub unanswered: Option<Box<Request<Body>>>,
}

/// Speaks HTTP/1.1 over `io`. Upgrades ([`crate::upgrade`]) work.
///
/// Requests with a body must be sent within a `LocalSet` or a local runtime: what a server leaves
/// unread when it answers becomes a task of it.
pub fn connect_http1<I>(io: I) -> RequestSender
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    connect_http1_with_limits(AnswerLimits::DEFAULT, io)
}

/// The same for answers within `limits`.
pub fn connect_http1_with_limits<I>(limits: AnswerLimits, io: I) -> RequestSender
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    RequestSender(SenderForm::Direct(DirectConnection::new(Box::new(io)), limits))
}

/// Opens HTTP/2 over `io`, on which ALPN has chosen `h2` (or by prior knowledge).
///
/// Must be called within a `LocalSet` or a local runtime: the connection becomes tasks of it.
pub async fn connect_http2<I>(io: I) -> Result<RequestSender, hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
{
    connect_http2_with_limits(AnswerLimits::DEFAULT, io).await
}

/// The same for answers within `limits`.
pub async fn connect_http2_with_limits<I>(
    limits: AnswerLimits,
    io: I,
) -> Result<RequestSender, hyper::Error>
where
    I: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let list_bytes_max = u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX);
    let (sender, mut connection) = http2::Builder::new(LocalExec)
        .timer(TokioTimer::new())
        .initial_max_send_streams(HTTP2_STREAMS_AT_FIRST)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_UNREAD_BYTES_MAX)
        .max_send_buf_size(HTTP2_SEND_BUFFER_BYTES)
        .max_header_list_size(list_bytes_max)
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
    Ok(RequestSender(SenderForm::Http2(sender, room)))
}

impl RequestSender {
    /// Waits until a request can be sent; an error means that the connection is gone.
    pub async fn ready(&mut self) -> Result<(), ClientError> {
        match &mut self.0 {
            SenderForm::Direct(direct, _) => direct.ready().await,
            SenderForm::Http2(sender, _) => sender.ready().await.map_err(ClientError::Engine),
        }
    }

    /// Returns whether a request can be sent at once. Right after an answer came it says whether
    /// its body is done with the connection.
    pub fn is_ready(&mut self) -> bool {
        match &mut self.0 {
            SenderForm::Direct(direct, _) => direct.is_idle(),
            SenderForm::Http2(sender, _) => sender.is_ready(),
        }
    }

    /// True if the connection is gone, as far as this thread's reactor knows: an idle one is gone
    /// too once its server has said anything unasked. Costs no system call unless something came.
    pub fn is_closed(&mut self) -> bool {
        match &mut self.0 {
            SenderForm::Direct(direct, _) => direct.is_closed(),
            SenderForm::Http2(sender, _) => sender.is_closed(),
        }
    }

    /// Another sender over the same connection, where the protocol carries several requests at
    /// once (HTTP/2).
    pub fn share(&self) -> Option<Self> {
        match &self.0 {
            SenderForm::Direct(..) => None,
            SenderForm::Http2(sender, room) => {
                Some(Self(SenderForm::Http2(sender.clone(), Arc::clone(room))))
            }
        }
    }

    /// Returns how many requests the server takes at once over this connection: 1 with HTTP/1.1;
    /// with HTTP/2 what it has announced, and 1 until then.
    pub fn streams_max(&self) -> usize {
        match &self.0 {
            SenderForm::Direct(..) => 1,
            SenderForm::Http2(_, room) => room.load(Relaxed),
        }
    }

    /// True if `request` would be kept until the first byte of its answer:
    /// [`SendError::unanswered`].
    pub fn keeps(&self, request: &Request<Body>) -> bool {
        matches!(self.0, SenderForm::Direct(..)) && request.body().is_end_stream()
    }

    /// Sends `request` and waits for the head of its response. Dropping the future, or later the
    /// body before its end, closes the connection (of HTTP/1).
    ///
    /// Over HTTP/1.1 the target is written as given: a path for a server, an absolute URI for a
    /// proxy; `Host` is the caller's to set. Over HTTP/2 the URI must be absolute.
    ///
    /// Interim answers (1xx) over HTTP/1.1 are for whoever [hears](crate::interim::hearing) them,
    /// up to [`INTERIM_MAX`](crate::interim::INTERIM_MAX); beyond, the request has failed. hyper
    /// passes over those of HTTP/2.
    pub async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        match &mut self.0 {
            SenderForm::Direct(direct, limits) => direct.send(request, *limits).await,
            SenderForm::Http2(sender, _) => {
                let answer = sender.try_send_request(request).await?;
                if !answer.headers().keys().all(is_token) {
                    let why = ClientError::BadHead(BadHead::Syntax);
                    return Err(SendError { error: why, unsent_request: None, unanswered: None });
                }
                Ok(answer.map(Incoming::of_answer))
            }
        }
    }
}

impl SendError {
    fn closed(request: Request<Body>) -> Self {
        Self {
            error: ClientError::Closed,
            unsent_request: Some(Box::new(request)),
            unanswered: None,
        }
    }
}

impl From<TrySendError<Request<Body>>> for SendError {
    fn from(mut why: TrySendError<Request<Body>>) -> Self {
        let unsent = why.take_message().map(Box::new);
        Self {
            error: ClientError::Engine(why.into_error()),
            unsent_request: unsent,
            unanswered: None,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the connection was closed"),
            Self::BadHead(why) => why.fmt(f),
            Self::Body(why) => why.fmt(f),
            Self::Engine(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Closed => None,
            Self::BadHead(why) => Some(why),
            Self::Body(why) => Some(why),
            Self::Engine(why) => Some(why),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer: {}", self.error)
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
