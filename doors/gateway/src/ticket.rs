//! One event per request, whatever becomes of it.
//!
//! A ticket is opened when a request is read and closed when its last byte is gone. One that is
//! dropped before that tells the ledger that the client went away.

use crate::guards::InFlightPermit;
use ledger::{EventSubject, Ledger, RequestEvent};
use origins::BodyEnd;
use std::net::IpAddr;
use std::time::Instant;
use vocab::{Action, Caching, Cause, Door, Now, RequestKind, Source};

/// The status that the ledger shows for a client that left before its answer.
pub(crate) const CLIENT_GONE: u16 = 499;

/// The event of a request under way.
pub(crate) struct GatewayTicket {
    ledger: Ledger,
    started: Instant,
    event: Option<RequestEvent>,
    /// Given back with the last byte.
    permits: Vec<InFlightPermit>,
}

impl GatewayTicket {
    /// Opens the event of a request.
    pub(crate) fn open(ledger: &Ledger, at: Now, client: IpAddr) -> Self {
        let event = RequestEvent {
            at,
            took_us: 0,
            door: Door::Gateway,
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
        Self {
            ledger: ledger.clone(),
            started: Instant::now(),
            event: Some(event),
            permits: Vec::new(),
        }
    }

    /// Who asks, where a trusted proxy in front says so.
    pub(crate) fn came_from(&mut self, client: IpAddr) {
        if let Some(event) = &mut self.event {
            event.client = client;
        }
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

    /// Keeps places among requests under way until all is done.
    pub(crate) fn keep(&mut self, permits: Vec<InFlightPermit>) {
        self.permits = permits;
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
        self.permits.clear();
        if let Some(mut event) = self.event.take() {
            event.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            self.ledger.record(event);
        }
    }
}

impl Drop for GatewayTicket {
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
