//! The fast path's share of the front: the URL in memory that is used again, and the record.
//!
//! Nothing is allocated here but the row that the ledger keeps. It reads and decides nothing.
//! Called by the doors' `quick`.

use http_engine::fast_path::{SimpleMethod, SimpleRequest};
use ledger::{CountedRequest, EventSubject, Ledger, RequestEvent};
use std::cell::RefCell;
use std::net::IpAddr;
use telemetry::{FastSpan, RequestArrival, is_tracing, record_request};
use vocab::{Action, Caching, Cause, Door, Now, RequestKind, Source};

thread_local! {
    /// The URL of the request at hand: its memory is used again and again.
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// One answer of a fast path, as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct FastPathEvent<'r> {
    /// When the request was read.
    pub at: Now,
    /// Microseconds until the answer.
    pub took_us: u32,
    /// The door.
    pub door: Door,
    /// The client.
    pub client: IpAddr,
    /// Kind of the request.
    pub kind: RequestKind,
    /// The absolute URL.
    pub url: &'r str,
    /// The policy's decision.
    pub action: Action,
    /// The reason of the decision.
    pub cause: Cause,
    /// Source of the answer.
    pub source: Source,
    /// What the cache did.
    pub caching: Caching,
    /// Status of the answer.
    pub status: u16,
    /// Bytes of its body.
    pub bytes: u32,
}

/// True for a request that is in somebody's trace: whether that is continued is for the long way to
/// say.
#[inline]
pub fn is_in_trace(request: &SimpleRequest<'_>) -> bool {
    is_tracing() && request.field("traceparent").is_some()
}

/// Reads the URL that `pieces` make together. Must not be called from within `read`.
#[inline]
pub fn with_url<const N: usize, R>(pieces: [&str; N], read: impl FnOnce(&str) -> R) -> R {
    URL.with_borrow_mut(|url| {
        url.clear();
        url.extend(pieces);
        read(url)
    })
}

impl FastPathEvent<'_> {
    /// Counts the request, and keeps a row of it where the settings want one.
    #[inline]
    pub fn record(&self, ledger: &Ledger) {
        if !ledger.wants_row(self.action) {
            return self.count(ledger);
        }
        ledger.record(self.event(self.url));
    }

    /// Counts the request alone.
    #[inline]
    pub fn count(&self, ledger: &Ledger) {
        let Self { door, action, source, took_us, status, bytes, .. } = *self;
        ledger.count(&CountedRequest { door, action, source, took_us, status, bytes });
    }

    fn event(&self, url: &str) -> RequestEvent {
        RequestEvent {
            at: self.at,
            duration_us: self.took_us,
            door: self.door,
            client: self.client,
            kind: self.kind,
            subject: EventSubject::url(url),
            action: self.action,
            cause: self.cause,
            source: self.source,
            caching: self.caching,
            status: self.status,
            bytes: self.bytes,
        }
    }

    /// Makes the span of the request and its exported row, where the settings want them; `host` is
    /// the one that was sent. Called where [`telemetry::is_observed`].
    #[cold]
    pub fn observe(&self, request: &SimpleRequest<'_>, scheme: &'static str, host: &str) {
        let built;
        let url: &str = if self.url.is_empty() {
            built = [scheme, "://", host, request.target()].concat();
            &built
        } else {
            self.url
        };
        let event = self.event(url);
        let span = FastSpan {
            arrival: RequestArrival { door: self.door, peer: self.client, scheme },
            method: if request.method() == SimpleMethod::Head { "HEAD" } else { "GET" },
            host,
            target: request.target(),
            version: request.version(),
            user_agent: request.text("user-agent"),
        };
        record_request(&event, self.bytes.into(), span.record(&event));
    }
}
