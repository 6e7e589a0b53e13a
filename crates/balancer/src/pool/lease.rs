//! A request's place on a server: taken when it is picked, given back when its answer has ended. A
//! trial of the server ends before that, with the head of the answer.
//!
//! Called for each attempt, and held by the bodies of answers.

use super::ServerPool;
use crate::outlier_ejection::AttemptOutcome;
use crate::server::{LeasePurpose, PooledServer};
use crate::tried::TriedServers;
use bytes::Bytes;
use http::HeaderValue;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_engine::Body;
use http_engine::body::BodyError;
use origins::{ConnectionPolicy, OriginServer as Address};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use transport::clock;
use vocab::Now;

/// A place on a server.
#[derive(Debug)]
pub struct ServerLease {
    pool: Arc<ServerPool>,
    server: Arc<PooledServer>,
    /// True if its request tries the server, and has no answer yet.
    is_probe: AtomicBool,
    at_end: AtEnd,
}

/// Over what a cookie may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieScope {
    /// TLS alone: the client has come so.
    Secure,
    /// Any connection.
    Any,
}

/// Tells what follows when a place is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtEnd {
    /// The next in the queue gets it.
    ServeLine,
    /// The queue is being served already.
    Nothing,
}

impl ServerLease {
    /// A place that was claimed.
    pub(super) fn new(
        pool: &Arc<ServerPool>,
        server: &Arc<PooledServer>,
        claim: LeasePurpose,
    ) -> Self {
        let is_probe = AtomicBool::new(claim == LeasePurpose::Probe);
        let (pool, server) = (Arc::clone(pool), Arc::clone(server));
        Self { pool, server, is_probe, at_end: AtEnd::ServeLine }
    }

    /// Where the server stands.
    pub fn address(&self) -> &Address {
        &self.server.address
    }

    /// The `Host` that it stands for.
    pub fn host(&self) -> Option<&HeaderValue> {
        self.server.host.as_ref()
    }

    /// Returns how it is spoken to.
    pub fn policy(&self) -> &ConnectionPolicy {
        self.pool.policy()
    }

    /// Notes what the request met. That ends a trial: what follows a head, be it a WebSocket, keeps
    /// nobody waiting who may go to the server by now.
    pub fn record(&self, met: AttemptOutcome, now: Now) {
        self.pool.record(&self.server, met, now);
        if self.is_probe.swap(false, Relaxed) {
            self.server.end_probe();
            self.pool.serve_line();
        }
    }

    /// Notes how long the answer took to begin.
    pub fn took(&self, took_us: u32, now: Now) {
        self.server.took(took_us, now);
    }

    /// Notes that the answer has not begun after so long, and is waited for no more.
    pub fn took_longer_than(&self, waited_us: u32, now: Now) {
        if self.server.estimate.current_us(now).is_none_or(|us| f64::from(waited_us) > us) {
            self.server.took(waited_us, now);
        }
    }

    /// Notes its server among those that were tried.
    pub fn mark_tried(&self, tried: &mut TriedServers) {
        tried.add(self.server.tag);
    }

    /// Gives the place back while the line is being served.
    pub(super) fn release(mut self) {
        self.at_end = AtEnd::Nothing;
    }

    /// The cookie that leads a client back here, where the pool has one and the client's leads
    /// elsewhere.
    pub fn cookie(&self, stuck_to: Option<u64>, scope: CookieScope) -> Option<HeaderValue> {
        let sticky = self.pool.settings.sticky.as_ref()?;
        if stuck_to == Some(self.server.tag) {
            return None;
        }
        let secure = match scope {
            CookieScope::Secure => "; Secure",
            CookieScope::Any => "",
        };
        let (name, tag) = (&sticky.cookie, self.server.tag);
        let text = format!("{name}={tag:016x}; Path=/; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).ok()
    }

    /// Holds the place until `body` has ended, and notes if the server breaks off in the middle.
    pub fn hold_until_read(self, body: Body) -> Body {
        if body.is_end_stream() {
            body
        } else {
            Body::boxed(ServerBody { body, lease: Some(self) })
        }
    }
}

impl Drop for ServerLease {
    fn drop(&mut self) {
        self.server.release();
        if *self.is_probe.get_mut() {
            self.server.end_probe();
        }
        self.pool.release();
        if self.at_end == AtEnd::ServeLine {
            self.pool.serve_line();
        }
    }
}

/// A body whose server works on it.
struct ServerBody {
    body: Body,
    lease: Option<ServerLease>,
}

impl HttpBody for ServerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(_)) if !self.body.is_end_stream() => {}
            Some(Ok(_)) | None => self.lease = None,
            Some(Err(_)) => {
                if let Some(lease) = self.lease.take() {
                    lease.record(AttemptOutcome::Failure, clock::now());
                }
            }
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
