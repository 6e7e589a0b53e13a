//! One event per request, whatever becomes of it.
//!
//! A ticket is opened when a request is read and closed when its last byte is gone. One that is
//! dropped before that tells the ledger that the client went away.

use ledger::{EventSubject, Ledger, RequestEvent};
use origins::BodyEnd;
use std::net::IpAddr;
use std::time::Instant;
use vocab::{Action, Caching, Cause, Door, Now, RequestKind, Source};

/// The status that the ledger shows for a client that left before its answer.
pub(crate) const CLIENT_GONE: u16 = 499;

/// The event of a request under way.
pub(crate) struct ProxyTicket {
    ledger: Ledger,
    started: Instant,
    event: Option<RequestEvent>,
}

impl ProxyTicket {
    /// Opens the event of a request.
    pub(crate) fn open(ledger: &Ledger, at: Now, client: IpAddr) -> Self {
        let event = RequestEvent {
            at,
            took_us: 0,
            door: Door::Proxy,
            client,
            kind: RequestKind::Other,
            subject: EventSubject::url(""),
            action: Action::Pass,
            cause: Cause::NotAsked,
            source: Source::Failed,
            caching: Caching::NONE,
            status: CLIENT_GONE,
            bytes: 0,
        };
        Self { ledger: ledger.clone(), started: Instant::now(), event: Some(event) }
    }

    /// What is asked for.
    pub(crate) fn asked(&mut self, kind: RequestKind, subject: EventSubject) {
        if let Some(event) = &mut self.event {
            (event.kind, event.subject) = (kind, subject);
        }
    }

    /// What the policy said.
    pub(crate) fn decided(&mut self, action: Action, cause: Cause) {
        if let Some(event) = &mut self.event {
            (event.action, event.cause) = (action, cause);
        }
    }

    /// The answer begins to go out.
    pub(crate) fn answered(&mut self, source: Source, status: u16) {
        let took_us = u32::try_from(self.started.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let Some(event) = &mut self.event {
            (event.source, event.status, event.took_us) = (source, status, took_us);
        }
    }

    /// What the cache did.
    pub(crate) fn cached(&mut self, caching: Caching) {
        if let Some(event) = &mut self.event {
            event.caching = caching;
        }
    }

    /// The answer has ended so, after `bytes` of its body. One that broke off came from nowhere in
    /// the end.
    pub(crate) fn ended(mut self, bytes: u64, end: BodyEnd) {
        if end == BodyEnd::Broken
            && let Some(event) = &mut self.event
        {
            event.source = Source::Failed;
        }
        self.close(bytes);
    }

    /// All is done: `bytes` went to the client.
    pub(crate) fn close(mut self, bytes: u64) {
        if let Some(mut event) = self.event.take() {
            event.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.ledger.record(event);
        }
    }
}

impl Drop for ProxyTicket {
    fn drop(&mut self) {
        if let Some(mut event) = self.event.take() {
            if event.took_us == 0 {
                event.took_us =
                    u32::try_from(self.started.elapsed().as_micros()).unwrap_or(u32::MAX);
            }
            self.ledger.record(event);
        }
    }
}
