//! One request to an origin, over an idle connection where there is one, else over a new one.
//!
//! A connection that was idle may be dead without anybody's fault: the request goes out once more
//! over a new one, if not a byte of it was sent or if repeating it changes nothing. Nothing else is
//! ever repeated. The doors call it with a request whose headers are already theirs to send.

use super::dialer::{Dialer, Guard};
use super::error::{SendError, Unanswered};
use super::metered::Metered;
use super::origin::Origin;
use super::pool::{self, Caps, Idleness, Key, Open};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::LengthLimitError;
use http_engine::Incoming;
use http_engine::body::{Body, BodyError};
use http_engine::client::{Error as EngineError, connect_http1};
use std::cell::Cell;
use std::error::Error;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// A client that sends nothing of a body it announced is cut by its door after a minute; this is
/// the bound where a door sets none.
const UPLOAD_STALL: Duration = Duration::from_mins(5);

/// The bounds of a set of origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Idle connections kept per origin and core. Default 32; more are closed.
    pub idle_per_origin_max: usize,
    /// Idle connections kept per core. Default 1,024; more are closed.
    pub idle_max: usize,
    /// How long an idle connection is kept. Default 30 s: less than the 60 to 75 s after which
    /// common servers close it, so that few requests meet a dead one.
    pub idle_timeout: Duration,
    /// From the request's last byte to the head of its response. Default 60 s. Beyond it: 504.
    pub response_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle_per_origin_max: 32,
            idle_max: 1024,
            idle_timeout: Duration::from_secs(30),
            response_timeout: Duration::from_mins(1),
        }
    }
}

/// An extension of a request: how long its server may be silent, in place of
/// [`Limits::response_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseTimeout(pub Duration);

/// Sends requests and keeps idle connections, apart for every core.
pub struct Origins {
    owner: u64,
    dialer: Dialer,
    caps: Caps,
    response_timeout: Duration,
}

/// A connection that was opened for a request.
pub(super) type Opened = Result<Open, SendError>;

/// Whether a request may go out once more after its connection broke.
#[derive(Clone, Copy)]
enum Again {
    /// It has no body, and repeating it changes nothing (RFC 9110 §9.2.2).
    Repeatable,
    /// It may not.
    Never,
}

/// A request that got no answer over a connection, and the request where it is still whole.
struct Lost {
    why: SendError,
    /// Not a byte of it was sent.
    unsent: Option<Box<Request<Body>>>,
    /// It was sent, and nothing came.
    unanswered: Option<Box<Request<Body>>>,
}

impl Origins {
    /// Origins reached through `dialer`.
    pub fn new(dialer: Dialer, limits: Limits) -> Self {
        static OWNERS: AtomicU64 = AtomicU64::new(0);
        Self {
            owner: OWNERS.fetch_add(1, Relaxed),
            dialer,
            caps: Caps {
                per_origin: limits.idle_per_origin_max,
                total: limits.idle_max,
                idle: limits.idle_timeout,
            },
            response_timeout: limits.response_timeout,
        }
    }

    /// What opens its connections.
    pub fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// Sends `request` to `origin`. Its URI is the path and query alone and `Host` is set. The
    /// response's body streams; the connection is kept once it was read to its end.
    pub async fn send(
        &self,
        origin: &Origin,
        request: Request<Body>,
        guard: &dyn Guard,
    ) -> Result<Response<Body>, Unanswered> {
        let key = self.key(origin.clone(), 0);
        self.send_over(key, request, guard, async || self.open(origin, guard).await).await
    }

    /// Whose connection it is: through which parent, by its number; 0 without one.
    pub(super) fn key(&self, origin: Origin, parent: u64) -> Key {
        Key { owner: self.owner, origin, parent }
    }

    /// Sends `request` over an idle connection of `key`, or one that `open` opens.
    pub(super) async fn send_over(
        &self,
        key: Key,
        request: Request<Body>,
        guard: &dyn Guard,
        open: impl AsyncFnOnce() -> Opened,
    ) -> Result<Response<Body>, Unanswered> {
        let mut request = request;
        let again = Again::of(&request);
        // What cannot go out twice goes over a connection that has just served, or over a new one.
        let idleness = match again {
            Again::Repeatable => Idleness::Any,
            Again::Never => Idleness::Moment,
        };
        if let Some(open) = idle(&key, idleness, guard).await {
            let copy = match again {
                Again::Repeatable if !open.sender.keeps(&request) => Some(copy_of(&request)),
                Again::Repeatable | Again::Never => None,
            };
            let lost = match self.exchange(key.clone(), open, request).await {
                Ok(response) => return Ok(response),
                Err(lost) => lost,
            };
            let back = match again {
                _ if lost.unsent.is_some() => lost.unsent,
                Again::Repeatable if lost.why == SendError::Closed => lost.unanswered.or(copy),
                Again::Repeatable | Again::Never => None,
            };
            let Some(back) = back else {
                return Err(Unanswered { why: lost.why, unsent: None });
            };
            request = *back;
        }
        let open = match open().await {
            Ok(open) => open,
            Err(why) => return Err(Unanswered { why, unsent: Some(Box::new(request)) }),
        };
        let sent = self.exchange(key, open, request).await;
        sent.map_err(|lost| Unanswered { why: lost.why, unsent: lost.unsent })
    }

    async fn open(&self, origin: &Origin, guard: &dyn Guard) -> Opened {
        let (connection, peer) = self.dialer.dial(origin, guard).await?;
        Ok(Open { sender: connect_http1(connection), peer })
    }

    async fn exchange(
        &self,
        key: Key,
        mut open: Open,
        request: Request<Body>,
    ) -> Result<Response<Body>, Lost> {
        let own = request.extensions().get::<ResponseTimeout>();
        let patience = own.map_or(self.response_timeout, |own| own.0);
        let sent = within(patience, request, async |request| open.sender.send(request).await).await;
        let Some(sent) = sent else {
            return Err(Lost { why: SendError::Timeout, unsent: None, unanswered: None });
        };
        let response = sent.map_err(|why| Lost {
            why: blamed(&why.why),
            unsent: why.unsent,
            unanswered: why.unanswered,
        })?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(response.map(Body::from));
        }
        // A body that came with its head needs the connection no more.
        let is_free = response.body().is_end_stream() || open.sender.is_ready();
        let lease = Lease { key, open, caps: self.caps };
        if is_free {
            lease.give_back();
            return Ok(response.map(Body::from));
        }
        Ok(response.map(|body| Body::boxed(Leased { body, lease: Some(lease) })))
    }
}

/// An idle connection that takes a request at once.
async fn idle(key: &Key, idleness: Idleness, guard: &dyn Guard) -> Option<Open> {
    loop {
        let mut open = pool::take(key, idleness, |open| guard.permits(open.peer))?;
        if !open.sender.is_ready() {
            // Its own task may still have to see the end of the last answer. If that takes longer
            // than a turn, the last request is still being sent: of no use to us.
            tokio::task::yield_now().await;
        }
        if open.sender.is_ready() {
            return Some(open);
        }
    }
}

/// Runs `exchange`, giving up `patience` after the last byte of the request's body was taken. How long
/// the body itself may take is between the client and its door.
async fn within<T>(
    patience: Duration,
    request: Request<Body>,
    exchange: impl AsyncFnOnce(Request<Body>) -> T,
) -> Option<T> {
    if request.body().is_end_stream() {
        return timeout(patience, exchange(request)).await.ok();
    }
    let uploaded = Rc::new(Cell::new(None));
    let noted = Rc::clone(&uploaded);
    let request = request
        .map(|body| Metered::wrap(body, UPLOAD_STALL, move |_, _| noted.set(Some(Instant::now()))));
    let mut exchanging = pin!(exchange(request));
    let mut deadline = Instant::now() + patience;
    loop {
        tokio::select! {
            biased;
            answered = &mut exchanging => return Some(answered),
            () = sleep_until(deadline) => {
                let due = uploaded.get().unwrap_or_else(Instant::now) + patience;
                if due <= deadline {
                    return None;
                }
                deadline = due;
            }
        }
    }
}

impl Again {
    fn of(request: &Request<Body>) -> Self {
        if request.method().is_idempotent() && request.body().is_end_stream() {
            Self::Repeatable
        } else {
            Self::Never
        }
    }
}

/// A copy of a request without a body, for a connection that does not keep it.
fn copy_of(request: &Request<Body>) -> Box<Request<Body>> {
    let mut copy = Request::new(Body::empty());
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    *copy.headers_mut() = request.headers().clone();
    if let Some(own) = request.extensions().get::<ResponseTimeout>() {
        copy.extensions_mut().insert(*own);
    }
    Box::new(copy)
}

/// Finds out what broke: the client's body, the connection, or the answer.
fn blamed(failure: &EngineError) -> SendError {
    let engine = match failure {
        EngineError::Closed => return SendError::Closed,
        EngineError::BadHead(why) => return SendError::BadResponse(why.to_string()),
        EngineError::Engine(why) => why,
    };
    let mut cause = engine.source();
    while let Some(why) = cause {
        if why.is::<LengthLimitError>() {
            return SendError::BodyTooLarge;
        }
        if let Some(body) = why.downcast_ref::<BodyError>() {
            return body_blamed(body);
        }
        cause = why.source();
    }
    if engine.is_parse() { SendError::BadResponse(engine.to_string()) } else { SendError::Closed }
}

/// A body that is wrapped carries its cause as deep as it is wrapped.
fn body_blamed(failure: &BodyError) -> SendError {
    match failure {
        BodyError::Other(why) if why.is::<LengthLimitError>() => SendError::BodyTooLarge,
        BodyError::Other(why) => {
            why.downcast_ref::<BodyError>().map_or(SendError::BodyBroken, body_blamed)
        }
        BodyError::Received(_) | BodyError::Answer(_) | BodyError::TooSlow | BodyError::Aborted => {
            SendError::BodyBroken
        }
    }
}

/// A connection on loan to a response body.
struct Lease {
    key: Key,
    open: Open,
    caps: Caps,
}

impl Lease {
    fn give_back(self) {
        pool::give(self.key, self.open, self.caps);
    }
}

/// A response body that gives its connection back once it was read to its end. Dropped before
/// that, it closes the connection: what is left unread would precede the next answer.
struct Leased {
    body: Incoming,
    lease: Option<Lease>,
}

impl HttpBody for Leased {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let ended = match &frame {
            None => true,
            Some(Ok(_)) => self.body.is_end_stream(),
            Some(Err(_)) => {
                self.lease = None;
                false
            }
        };
        if ended && let Some(lease) = self.lease.take() {
            lease.give_back();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
