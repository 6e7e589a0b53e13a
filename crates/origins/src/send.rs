//! One request to an origin, over a connection that is there already, else over a new one.
//!
//! A connection that was idle may be dead without anybody's fault: the request goes out once more
//! over a new one, if not a byte of it was sent, if its server says that it has not looked at it,
//! or if repeating it changes nothing. Nothing else is ever repeated. The doors call it with a
//! request whose headers are already theirs to send.

use super::connection_policy::ResponseTimeout;
use super::dialer::{DialGuard, Dialer};
use super::error::{SendError, UnansweredRequest};
use super::http2;
use super::known_origins::KnownOrigin;
use super::leased::{ConnectionLease, RequestRefusals};
use super::metered::MeteredBody;
use super::origin::Origin;
use super::places::{OriginPlace, OriginPlaces, PlaceFound};
use super::pool::{self, IdleTime, OpenConnection, PoolCaps, PoolKey};
use super::preconnect::AheadOpener;
use super::retry::{ConnectionUse, FailedRequest, SecondTry, is_retryable};
use super::server::OriginServer;
use super::shared::{self, BeginWith, StreamPermit};
use super::speak::{Opened, speak_as_agreed};
use super::traced;
use super::versions::UsableVersions;
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_engine::body::Body;
use http_engine::client::AnswerLimits;
use http_engine::interim;
use http_engine::unprocessed::RequestFate;
use std::cell::Cell;
use std::num::NonZeroU32;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// How often one request goes out, at most: over a connection that was there, and where a server
/// refuses it there over a new one, and a third where that goes away at the same moment.
const ATTEMPTS_MAX: u32 = 3;
/// A client that sends nothing of a body it announced is cut by its door after a minute; this is
/// the bound where a door sets none.
const UPLOAD_STALL: Duration = Duration::from_mins(5);

/// The bounds of a set of origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginLimits {
    /// Idle connections kept per origin and core. Default 32; more are closed.
    pub idle_per_origin_max: usize,
    /// Idle connections kept per core. Default 1,024; more are closed.
    pub idle_max: usize,
    /// Time for which an idle connection is kept. Default 30 s: less than the 60 to 75 s after
    /// which common servers close it, so that few requests meet a dead one.
    pub idle_timeout: Duration,
    /// From the request's last byte to the head of its response. Default 60 s. Beyond it: 504.
    pub response_timeout: Duration,
    /// The largest head of a response. Beyond it: 502.
    pub answer: AnswerLimits,
    /// Connections to one origin that may be open at once, on all cores; without it, as many as are
    /// asked for. Requests beyond wait: [`WAITING_MAX`](super::WAITING_MAX).
    pub connections_max: Option<NonZeroU32>,
}

impl Default for OriginLimits {
    fn default() -> Self {
        Self {
            idle_per_origin_max: 32,
            idle_max: 1024,
            idle_timeout: Duration::from_secs(30),
            response_timeout: Duration::from_mins(1),
            answer: AnswerLimits::DEFAULT,
            connections_max: None,
        }
    }
}

/// Sends requests and keeps idle connections, apart for every core.
pub struct Origins {
    pub(super) owner: u64,
    dialer: Dialer,
    pub(super) caps: PoolCaps,
    pub(super) response_timeout: Duration,
    places: Option<Arc<OriginPlaces>>,
}

/// Holds how one request is sent.
pub(super) struct SendOptions {
    /// Whose connections it may use.
    pub(super) key: PoolKey,
    pub(super) caps: PoolCaps,
    pub(super) versions: UsableVersions,
    /// From its last byte to the head of the response.
    pub(super) first_byte: Duration,
    /// Time for which its response's body may be silent.
    pub(super) between_bytes: Option<Duration>,
    /// Places for its connection, where these are bounded.
    pub(super) places: Option<Arc<OriginPlaces>>,
}

impl Origins {
    /// Origins reached through `dialer`.
    pub fn new(dialer: Dialer, limits: OriginLimits) -> Self {
        static OWNERS: AtomicU64 = AtomicU64::new(0);
        Self {
            owner: OWNERS.fetch_add(1, Relaxed),
            dialer,
            caps: PoolCaps {
                per_origin: limits.idle_per_origin_max,
                total: limits.idle_max,
                idle: limits.idle_timeout,
                age: None,
                requests: None,
                answer: limits.answer,
            },
            response_timeout: limits.response_timeout,
            places: limits.connections_max.map(|most| OriginPlaces::new(most.get())),
        }
    }

    /// Returns what this core knows of the origins that it has connections to, or had several to of
    /// late. An origin may come more than once: see [`KnownOrigin::joined`].
    pub fn known_origins(&self) -> Vec<KnownOrigin> {
        let mut known = pool::known_origins(self.owner);
        known.extend(shared::known_origins(self.owner));
        known
    }

    /// The same origins under other limits. Connections that are idle stay open, and what is known
    /// of origins stays known: for a reload that leaves the dialer as it is. Under another
    /// `connections_max` those that are open do not count.
    #[must_use]
    pub fn with_limits(&self, limits: OriginLimits) -> Self {
        let most = limits.connections_max.map(NonZeroU32::get);
        let same = self.places.clone().filter(|places| Some(places.max()) == most);
        let new = Self::new(self.dialer.clone(), limits);
        Self { owner: self.owner, places: same.or_else(|| new.places.clone()), ..new }
    }

    /// Returns what opens its connections.
    pub fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    /// Sends `request` to `origin`, over HTTP/2 where that is `https` and has it. Its URI is the
    /// path and query alone and `Host` is set. The response's body streams; the connection is kept
    /// once it was read to its end. Interim answers are for whoever [hears](interim::hearing) them.
    pub async fn send(
        &self,
        origin: &Origin,
        request: Box<Request<Body>>,
        guard: &dyn DialGuard,
    ) -> Result<Response<Body>, UnansweredRequest> {
        let versions = UsableVersions::default_for(origin, request.headers());
        let course = self.default_options(origin.clone(), 0, versions);
        send_on(&course, request, guard, async |own| {
            let place = pool::count_connection(&course.key);
            let (connection, peer) = self.dialer.dial(origin, versions, guard).await?;
            let open = speak_as_agreed(connection, peer, course.caps.answer, own).await?;
            if open.is_http2() {
                return Ok(open);
            }
            let SendOptions { key, caps, places, .. } = &course;
            let (dialer, places) = (&self.dialer, places.as_ref());
            let ahead = AheadOpener { dialer, origin, key, caps: *caps, versions, places };
            ahead.open_extra(&place, peer);
            Ok(OpenConnection { counted: Some(place), ..open })
        })
        .await
    }

    /// Returns how requests to `origin` go out through a parent, by its number; 0 without one.
    pub(super) fn default_options(
        &self,
        origin: Origin,
        parent: u64,
        versions: UsableVersions,
    ) -> SendOptions {
        let server = OriginServer::from(origin);
        SendOptions {
            key: PoolKey {
                owner: self.owner,
                server,
                parent,
                policy: 0,
                local_overrides: self.dialer.local_overrides_digest(),
                client: None,
            },
            caps: self.caps,
            versions,
            first_byte: self.response_timeout,
            between_bytes: None,
            places: self.places.clone(),
        }
    }
}

/// Sends `request` over a connection of `course` that is there, or one that `open` opens; with a
/// span of its own, where it belongs to a trace that is recorded.
pub(super) async fn send_on(
    course: &SendOptions,
    mut request: Box<Request<Body>>,
    guard: &dyn DialGuard,
    open: impl AsyncFn(Option<OriginPlace>) -> Opened,
) -> Result<Response<Body>, UnansweredRequest> {
    let span = traced::begin(&mut request, &course.key.server);
    let sent = send_untraced(course, request, guard, open).await;
    traced::end(span, sent)
}

/// The same without a word about traces.
async fn send_untraced(
    course: &SendOptions,
    request: Box<Request<Body>>,
    guard: &dyn DialGuard,
    open: impl AsyncFn(Option<OriginPlace>) -> Opened,
) -> Result<Response<Body>, UnansweredRequest> {
    let mut request = request;
    let mut kept = take_pooled(course, &request, guard).await;
    let mut turn = 1;
    loop {
        let (lease, over) = if let Some(lease) = kept.take() {
            (lease, ConnectionUse::Used)
        } else {
            // Boxed: a new connection is seldom, and every request would carry its room. What
            // servers answer ahead while it is opened (`OPTIONS *`, `CONNECT`), they answer to us.
            let opened = {
                let look = async || take_pooled(course, &request, guard).await;
                let mut opening = Box::pin(open_or_join(course, &look, &open));
                interim::with_handler(opening.as_mut(), drop).await
            };
            match opened {
                Ok(found) => found,
                Err(error) => {
                    return Err(UnansweredRequest { error, unsent_request: Some(request) });
                }
            }
        };
        let refusals = lease.refusals();
        let again = SecondTry::keep(&request, over, &lease);
        let is_last = turn == ATTEMPTS_MAX
            || (over, refusals) == (ConnectionUse::Fresh, RequestRefusals::None);
        match exchange(course, lease, request).await {
            Ok(response) => return Ok(response),
            Err(failed) if is_last => return Err(again.at_last(*failed)),
            Err(failed) => request = again.after(*failed)?,
        }
        turn += 1;
    }
}

/// A connection that is there and takes a request at once.
async fn take_pooled(
    course: &SendOptions,
    request: &Request<Body>,
    guard: &dyn DialGuard,
) -> Option<ConnectionLease> {
    let SendOptions { key, caps, versions, .. } = course;
    let permitted = |peer: Option<_>| peer.is_none_or(|peer| guard.permits(peer));
    if *versions != UsableVersions::Http1
        && let Some(stream) = shared::take_stream(key, permitted)
    {
        return Some(ConnectionLease::Shared(stream));
    }
    // What cannot go out twice goes over a connection that has just served, or over a new one.
    let idleness = if is_retryable(request) { IdleTime::Any } else { IdleTime::JustNow };
    loop {
        let mut open = pool::take_idle(key, caps, idleness, |open| permitted(open.peer))?;
        if !open.sender.is_ready() {
            // Its own task may still have to see the end of the last answer. If that takes longer
            // than a turn, the last request is still being sent: of no use to us.
            tokio::task::yield_now().await;
        }
        if open.sender.is_ready() {
            return Some(ConnectionLease::owned(key.clone(), open, *caps));
        }
    }
}

/// A connection, and whether it was there before.
type FoundConnection = (ConnectionLease, ConnectionUse);

/// A new connection, or a place on one that somebody else has opened meanwhile. `look` finds what
/// has fallen idle, where no more may be opened.
async fn open_or_join(
    course: &SendOptions,
    look: &impl AsyncFn() -> Option<ConnectionLease>,
    open: &impl AsyncFn(Option<OriginPlace>) -> Opened,
) -> Result<FoundConnection, SendError> {
    let SendOptions { key, caps, versions, .. } = course;
    let fresh = |lease| (lease, ConnectionUse::Fresh);
    let own = |open: OpenConnection| fresh(ConnectionLease::owned(key.clone(), open, *caps));
    let shared_by_all = |stream: Option<StreamPermit>| {
        stream.map(ConnectionLease::Shared).map(fresh).ok_or(SendError::Closed)
    };
    if *versions == UsableVersions::Http1 {
        return match place_or_kept(course, look).await? {
            PlaceOrKept::Kept(lease) => Ok((*lease, ConnectionUse::Used)),
            PlaceOrKept::Place(place) => open(place).await.map(own),
        };
    }
    loop {
        match shared::join_or_open(key) {
            BeginWith::Join(stream) => return Ok(fresh(ConnectionLease::Shared(stream))),
            BeginWith::Wait(waiting) => waiting.done().await?,
            BeginWith::OpenAlone => {
                let place = match place_or_kept(course, look).await? {
                    PlaceOrKept::Kept(lease) => return Ok((*lease, ConnectionUse::Used)),
                    PlaceOrKept::Place(place) => place,
                };
                let opened = open(place).await?;
                if !opened.is_http2() {
                    return Ok(own(opened));
                }
                return shared_by_all(shared::unshared(opened, *caps));
            }
            BeginWith::Open(opening) => {
                let opened = match place_or_kept(course, look).await {
                    // Dropped without a word, the right to open is another's.
                    Ok(PlaceOrKept::Kept(lease)) => return Ok((*lease, ConnectionUse::Used)),
                    Ok(PlaceOrKept::Place(place)) => open(place).await,
                    Err(why) => Err(why),
                };
                match opened {
                    Ok(opened) if opened.is_http2() => {
                        return shared_by_all(opening.shares(opened, *caps));
                    }
                    Ok(opened) => {
                        opening.report_http1();
                        return Ok(own(opened));
                    }
                    Err(why) => {
                        opening.fails(&why);
                        return Err(why);
                    }
                }
            }
        }
    }
}

/// Way on for a request that found no connection.
enum PlaceOrKept {
    /// Opens one, which has this place where these are bounded.
    Place(Option<OriginPlace>),
    /// One has fallen idle.
    Kept(Box<ConnectionLease>),
}

async fn place_or_kept(
    course: &SendOptions,
    look: &impl AsyncFn() -> Option<ConnectionLease>,
) -> Result<PlaceOrKept, SendError> {
    let Some(places) = &course.places else { return Ok(PlaceOrKept::Place(None)) };
    match places.wait(&course.key.server, look).await.map_err(SendError::Busy)? {
        PlaceFound::New(place) => Ok(PlaceOrKept::Place(Some(place))),
        PlaceFound::Kept(lease) => Ok(PlaceOrKept::Kept(Box::new(lease))),
    }
}

async fn exchange(
    course: &SendOptions,
    mut lease: ConnectionLease,
    mut request: Box<Request<Body>>,
) -> Result<Response<Body>, Box<FailedRequest>> {
    let own = request.extensions().get::<ResponseTimeout>();
    let patience = own.map_or(course.first_byte, |own| own.0);
    let before = match lease.refusals() {
        RequestRefusals::None => None,
        RequestRefusals::Single => match http2::prepare_request(&mut request, &course.key.server) {
            Ok(before) => Some(before),
            Err(http2::BadHost) => return Err(Box::new(FailedRequest::unsendable())),
        },
    };
    let sent =
        with_timeout(patience, request, async |request| lease.sender().send(*request).await).await;
    let response = match sent {
        Some(Ok(response)) => response,
        Some(Err(why)) => {
            let mut failed = FailedRequest::from(why);
            lease.failed(failed.fate);
            if let (Some(unsent), Some(before)) = (&mut failed.unsent_request, before) {
                before.restore(unsent);
            }
            return Err(Box::new(failed));
        }
        None => {
            lease.failed(RequestFate::Unknown);
            return Err(Box::new(FailedRequest::timed_out()));
        }
    };
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response.map(Body::from));
    }
    let response = response.map(|body| lease.hold_until_read(body));
    Ok(match course.between_bytes {
        Some(stall) => response.map(|body| MeteredBody::wrap(body, stall, |_, _| ())),
        None => response,
    })
}

/// Runs `exchange`, giving up `patience` after the last byte of the request's body was taken. How
/// long the body itself may take is between the client and its door.
async fn with_timeout<T>(
    patience: Duration,
    request: Box<Request<Body>>,
    exchange: impl AsyncFnOnce(Box<Request<Body>>) -> T,
) -> Option<T> {
    if request.body().is_end_stream() {
        return timeout(patience, exchange(request)).await.ok();
    }
    let uploaded = Rc::new(Cell::new(None));
    let noted = Rc::clone(&uploaded);
    let request = request.map(|body| {
        MeteredBody::wrap(body, UPLOAD_STALL, move |_, _| noted.set(Some(Instant::now())))
    });
    let request = Box::new(request);
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
