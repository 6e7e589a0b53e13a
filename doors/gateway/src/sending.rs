//! One request to a pool: which server gets it, and which the next if that one fails.
//!
//! It changes nothing of the request. Called by `exchange`, and by `reproxy`
//! where servers hand a request on.

use crate::outcome::GatewayOutcome;
use crate::settings::HostSent;
use crate::uploads::ReplayBody;
use balancer::{
    AttemptOutcome, CookieScope, PickOutcome, PickRequest, QueueReport, RequestPriority,
    RetryCause, ServerLease, ServerPool, TRIES_MAX, TriedServers, UnservedReason, random_bits,
};
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, SET_COOKIE};
use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_engine::Body;
use origins::{Origins, ResponseTimeout, SendError, UnansweredRequest};
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use transport::clock;
use transport::proxy_protocol::ProxyEndpoints;
use vocab::Now;

/// `Retry-After` of a client that found all servers busy.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);
/// The longest time for which a server's own `Retry-After` counts against it.
const RETRY_AFTER_SECS_MAX: u32 = 60;

/// For whom a request is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServedClient {
    pub(crate) client: IpAddr,
    /// The client's connection, of which servers with a PROXY header are told.
    pub(crate) endpoints: Option<ProxyEndpoints>,
    pub(crate) stickiness: Stickiness,
    /// Priority of its route.
    pub(crate) priority: RequestPriority,
}

/// Tells whether the client is to come back to the same server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stickiness {
    /// As the pool has it, by a cookie for such connections.
    AsSet(CookieScope),
    /// The answer is for everybody.
    Never,
}

/// Why a pool gave no answer.
#[derive(Clone, Debug)]
pub(crate) enum NoAnswer {
    /// A server was asked, and failed.
    Failed(SendError),
    /// No server is up: ask again after this.
    AllDown(Duration),
    /// All servers have as many requests as they may have.
    Busy,
    /// The route's script failed before one was asked.
    ScriptFailed,
}

impl From<NoAnswer> for GatewayOutcome {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Failed(why) => Self::Failed(why),
            NoAnswer::AllDown(wait) => Self::Unavailable(wait),
            NoAnswer::Busy => Self::Unavailable(BUSY_RETRY_AFTER),
            NoAnswer::ScriptFailed => Self::ScriptFailed,
        }
    }
}

impl From<SendError> for NoAnswer {
    fn from(why: SendError) -> Self {
        Self::Failed(why)
    }
}

impl From<UnservedReason> for NoAnswer {
    fn from(why: UnservedReason) -> Self {
        match why {
            UnservedReason::Full | UnservedReason::TimedOut => Self::Busy,
            UnservedReason::NoneUp(wait_ms) => Self::AllDown(Duration::from_millis(wait_ms)),
        }
    }
}

/// Tries servers until one answers, as the pool's settings allow.
pub(crate) async fn send(
    origins: &Origins,
    pool: &Arc<ServerPool>,
    request: Box<Request<Body>>,
    asker: ServedClient,
    now: Now,
) -> Result<Response<Body>, NoAnswer> {
    let mut asking = pool.pick_request(&request, asker.client, random_bits());
    if asker.stickiness == Stickiness::Never {
        asking.sticky_to = None;
    }
    if pool.prefers_idle() {
        asking.warm = origins.last_idle(pool.policy()).and_then(|server| pool.tag_of(&server));
    }
    let class = pool.class(request.headers(), asker.priority);
    let (ends, tried) = (asker.endpoints, TriedServers::default());
    let mut sending =
        PoolRequest { origins, pool, pick: asking, class, endpoints: ends, tried, attempts: 0 };
    let mut lease = sending.first(now).await?;
    let mut request = request;
    tell_queue(pool, request.headers_mut());
    loop {
        let mut copy = sending.copy_of(&request);
        let hedge = pool.settings().retry.hedge.filter(|_| request.method().is_safe());
        let done = match (hedge, copy.take()) {
            (Some(after), Some(second)) => {
                // Boxed: two requests at once are seldom, and all others would carry their room.
                Box::pin(sending.hedged(lease, request, second, after.0.0)).await
            }
            (_, kept) => {
                copy = kept;
                exchange(origins, lease, request, ends).await
            }
        };
        sending.attempts += 1;
        let now = clock::now();
        done.note(now);
        let ExchangeOutcome { lease: place, outcome, .. } = done;
        (lease, request) = match outcome {
            Ok(response) => match sending.after_status(response.status(), copy, now) {
                Some(next) => next,
                None => return Ok(answered(response, place, &asker, &asking)),
            },
            Err(UnansweredRequest { error: why, unsent_request: unsent }) => {
                drop(place);
                sending.after_failure(why, unsent, copy, now).await?
            }
        };
    }
}

/// Tells a server of the requests that wait, where the pool's settings say so.
fn tell_queue(pool: &ServerPool, fields: &mut HeaderMap) {
    let Some(QueueReport { high, others }) = pool.queue_report() else { return };
    for (name, number) in [
        ("x-queue-count", others.count as u64),
        ("x-queue-age", others.age_s),
        ("x-hp-queue-count", high.count as u64),
        ("x-hp-queue-age", high.age_s),
    ] {
        fields.insert(HeaderName::from_static(name), HeaderValue::from(number));
    }
}

/// One request on its way through a pool.
struct PoolRequest<'s> {
    origins: &'s Origins,
    pool: &'s Arc<ServerPool>,
    pick: PickRequest,
    class: RequestPriority,
    endpoints: Option<ProxyEndpoints>,
    tried: TriedServers,
    /// Servers that something was sent to.
    attempts: u32,
}

impl PoolRequest<'_> {
    /// A place for the first try, waited for if need be.
    async fn first(&mut self, now: Now) -> Result<ServerLease, NoAnswer> {
        match self.pool.pick(&self.pick, &mut self.tried, now) {
            PickOutcome::Server(lease) => Ok(lease),
            PickOutcome::Full | PickOutcome::AllTried => self.wait().await,
            PickOutcome::NoneUp(wait_ms) => Err(NoAnswer::AllDown(Duration::from_millis(wait_ms))),
        }
    }

    async fn wait(&mut self) -> Result<ServerLease, NoAnswer> {
        let lease = Box::pin(self.pool.wait(self.pick, self.class)).await?;
        lease.mark_tried(&mut self.tried);
        Ok(lease)
    }

    /// A copy, if the request may go out twice: it has no body, or one that is held as a whole,
    /// repeating it changes nothing (RFC 9110 §9.2.2), and there is a second server.
    fn copy_of(&self, request: &Request<Body>) -> Option<Box<Request<Body>>> {
        let again = self.attempts + 1 < self.pool.settings().retry.attempts
            && request.method().is_idempotent()
            && self.pool.server_count() > 1;
        let replay = request.extensions().get::<ReplayBody>();
        (again && (replay.is_some() || request.body().is_end_stream())).then(|| {
            let copy = replay.map_or_else(|| Request::new(Body::empty()), ReplayBody::request);
            let mut copy = Box::new(copy);
            *copy.method_mut() = request.method().clone();
            *copy.uri_mut() = request.uri().clone();
            *copy.version_mut() = request.version();
            *copy.headers_mut() = request.headers().clone();
            if let Some(patience) = request.extensions().get::<ResponseTimeout>() {
                copy.extensions_mut().insert(*patience);
            }
            if let Some(host) = request.extensions().get::<HostSent>() {
                copy.extensions_mut().insert(*host);
            }
            copy
        })
    }

    /// Another server for an answer with such a status; none if the answer is to be passed on.
    fn after_status(
        &mut self,
        status: StatusCode,
        copy: Option<Box<Request<Body>>>,
        now: Now,
    ) -> Option<(ServerLease, Box<Request<Body>>)> {
        let copy = copy.filter(|_| self.pool.repeats_status(status))?;
        let PickOutcome::Server(next) = self.pool.pick_now(&self.pick, &mut self.tried, now) else {
            return None;
        };
        self.pool.take_retry(now).then_some((next, copy))
    }

    /// Another server after a failure, or the failure.
    async fn after_failure(
        &mut self,
        why: SendError,
        unsent: Option<Box<Request<Body>>>,
        copy: Option<Box<Request<Body>>>,
        now: Now,
    ) -> Result<(ServerLease, Box<Request<Body>>), NoAnswer> {
        let again = match unsent {
            Some(unsent) => {
                self.attempts -= 1;
                Some(unsent)
            }
            None => copy.filter(|_| {
                let cause = match why {
                    SendError::Closed => RetryCause::Closed,
                    SendError::Timeout => RetryCause::Timeout,
                    SendError::BadResponse(_) => RetryCause::Garbage,
                    SendError::Dial(_)
                    | SendError::Busy(_)
                    | SendError::BodyTooLarge
                    | SendError::BodyBroken => {
                        return false;
                    }
                };
                self.pool.repeats(cause) && self.pool.take_retry(now)
            }),
        };
        let failed = NoAnswer::Failed(why);
        let Some(again) = again.filter(|_| self.tried.count() < TRIES_MAX) else {
            return Err(failed);
        };
        match self.pool.pick_now(&self.pick, &mut self.tried, now) {
            PickOutcome::Server(lease) => Ok((lease, again)),
            PickOutcome::Full => Ok((self.wait().await?, again)),
            PickOutcome::AllTried | PickOutcome::NoneUp(_) => Err(failed),
        }
    }

    /// Asks a second server if the first takes longer than `after`. The first good answer counts;
    /// the other request is dropped, and with it its connection.
    async fn hedged(
        &mut self,
        lease: ServerLease,
        request: Box<Request<Body>>,
        copy: Box<Request<Body>>,
        after: Duration,
    ) -> ExchangeOutcome {
        let mut first = pin!(exchange(self.origins, lease, request, self.endpoints));
        tokio::select! {
            biased;
            done = &mut first => return done,
            () = sleep(after) => {}
        }
        let now = clock::now();
        let second = match self.pool.pick_now(&self.pick, &mut self.tried, now) {
            PickOutcome::Server(second) if self.pool.take_retry(now) => second,
            PickOutcome::Server(_)
            | PickOutcome::Full
            | PickOutcome::AllTried
            | PickOutcome::NoneUp(_) => return first.await,
        };
        let mut second = pin!(exchange(self.origins, second, copy, self.endpoints));
        let (done, rest) = tokio::select! {
            biased;
            done = &mut first => (done, second),
            done = &mut second => (done, first),
        };
        if done.is_good() {
            return done;
        }
        done.note(clock::now());
        rest.await
    }
}

/// Outcome of asking one server.
struct ExchangeOutcome {
    lease: ServerLease,
    duration_us: u32,
    outcome: Result<Response<Body>, UnansweredRequest>,
}

impl ExchangeOutcome {
    fn is_good(&self) -> bool {
        self.outcome
            .as_ref()
            .is_ok_and(|response| outcome_of(response.status()) == AttemptOutcome::Answer)
    }

    /// Tells the pool what it says of the server.
    fn note(&self, now: Now) {
        match &self.outcome {
            Ok(response) => {
                self.lease.record(outcome_of(response.status()), now);
                self.lease.took(self.duration_us, now);
                if let Some(secs) = retry_after(response) {
                    self.lease.took(secs.min(RETRY_AFTER_SECS_MAX) * 1_000_000, now);
                }
            }
            Err(UnansweredRequest { error: why, .. }) => match why {
                SendError::Dial(_) => self.lease.record(AttemptOutcome::NoConnection, now),
                SendError::Closed | SendError::Timeout | SendError::BadResponse(_) => {
                    self.lease.record(AttemptOutcome::Failure, now);
                }
                // The client's doing.
                SendError::Busy(_) | SendError::BodyTooLarge | SendError::BodyBroken => {}
            },
        }
    }
}

async fn exchange(
    origins: &Origins,
    lease: ServerLease,
    mut request: Box<Request<Body>>,
    ends: Option<ProxyEndpoints>,
) -> ExchangeOutcome {
    let watch = WaitWatch { lease: Some(lease), started: Instant::now() };
    let lease = watch.lease.as_ref().expect("it was put there one line above");
    if request.extensions().get() == Some(&HostSent::Servers)
        && let Some(host) = lease.host()
    {
        request.headers_mut().insert(HOST, host.clone());
    }
    let outcome = origins.send_to(lease.address(), lease.policy(), request, ends).await;
    let took_us = micros(watch.started.elapsed());
    ExchangeOutcome { lease: watch.done(), duration_us: took_us, outcome }
}

/// Notes how long a server was waited for in vain when the waiting is given up: the client has
/// gone, or another server was faster.
struct WaitWatch {
    lease: Option<ServerLease>,
    started: Instant,
}

impl WaitWatch {
    fn done(mut self) -> ServerLease {
        self.lease.take().expect("only this takes it, and it takes the watch along")
    }
}

impl Drop for WaitWatch {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease {
            lease.took_longer_than(micros(self.started.elapsed()), clock::now());
        }
    }
}

fn answered(
    mut response: Response<Body>,
    lease: ServerLease,
    asker: &ServedClient,
    asking: &PickRequest,
) -> Response<Body> {
    if let Stickiness::AsSet(scope) = asker.stickiness
        && let Some(cookie) = lease.cookie(asking.sticky_to, scope)
    {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        // What follows is no body; whoever carries it holds the place.
        response.extensions_mut().insert(Arc::new(lease));
        return response;
    }
    response.map(|body| lease.hold_until_read(body))
}

fn outcome_of(status: StatusCode) -> AttemptOutcome {
    // 501 says what a server cannot do at all, not that it fails.
    let failed = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
    if failed { AttemptOutcome::Failure } else { AttemptOutcome::Answer }
}

/// The seconds for which a server asks to be spared (RFC 9110 §10.2.3); a date is left alone.
fn retry_after(response: &Response<Body>) -> Option<u32> {
    let spared = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
    let asked = response.headers().get(RETRY_AFTER).filter(|_| spared.contains(&response.status()));
    asked?.to_str().ok()?.trim().parse().ok()
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}
