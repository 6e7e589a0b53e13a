//! The fast path's share of the front: the URL in memory that is used again, and the record.
//!
//! Nothing is allocated here but the row that the ledger keeps. It reads and decides nothing.
//! Called by the doors' `quick`.

use ledger::{CountedRequest, EventSubject, Ledger, RequestEvent};
use std::cell::RefCell;
use std::net::IpAddr;
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
            let Self { door, action, source, took_us, status, bytes, .. } = *self;
            return ledger.count(&CountedRequest { door, action, source, took_us, status, bytes });
        }
        ledger.record(RequestEvent {
            at: self.at,
            duration_us: self.took_us,
            door: self.door,
            client: self.client,
            kind: self.kind,
            subject: EventSubject::url(self.url),
            action: self.action,
            cause: self.cause,
            source: self.source,
            caching: self.caching,
            status: self.status,
            bytes: self.bytes,
        });
    }
}
