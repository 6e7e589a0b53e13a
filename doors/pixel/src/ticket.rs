//! One event per request, whatever becomes of it.
//!
//! A ticket is opened when a request is read and closed when its answer is made. One that is
//! dropped before that tells the ledger that the client went away.

use crate::counters::{Count, PixelCounters};
use crate::door::PixelDoor;
use ledger::{EventSubject, Ledger, RequestEvent};
use std::net::IpAddr;
use std::time::Instant;
use vocab::{Action, Caching, Cause, Now, RequestKind, Source};

/// The status that the ledger shows for a client that left before its answer.
const CLIENT_GONE: u16 = 499;

/// The event of a request under way.
pub(crate) struct PixelTicket<'d> {
    ledger: &'d Ledger,
    counters: &'d PixelCounters,
    started: Instant,
    event: Option<RequestEvent>,
}

impl<'d> PixelTicket<'d> {
    /// Opens the event of a request.
    pub(crate) fn open(door: &'d PixelDoor, at: Now, client: IpAddr) -> Self {
        let event = RequestEvent {
            at,
            took_us: 0,
            door: vocab::Door::Pixel,
            client,
            kind: RequestKind::Other,
            subject: EventSubject::Url("".into()),
            action: Action::Pass,
            cause: Cause::NotAsked,
            source: Source::Failed,
            caching: Caching::NONE,
            status: CLIENT_GONE,
            bytes: 0,
        };
        let (ledger, counters) = (&door.parts.ledger, &door.counters);
        Self { ledger, counters, started: Instant::now(), event: Some(event) }
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

    /// A tunnel stands: how long it took is how long that took.
    pub(crate) fn begun(&mut self, source: Source, status: u16) {
        if let Some(event) = &mut self.event {
            (event.source, event.status) = (source, status);
            event.took_us = elapsed_us(self.started).max(1);
        }
    }

    /// The answer is made, or the tunnel over: `bytes` of body went to the client.
    pub(crate) fn close(mut self, source: Source, status: u16, bytes: u64) {
        if let Some(event) = &mut self.event {
            (event.source, event.status) = (source, status);
            event.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        }
    }
}

impl Drop for PixelTicket<'_> {
    fn drop(&mut self) {
        if let Some(mut event) = self.event.take() {
            if event.status == CLIENT_GONE {
                self.counters.one(Count::Gone);
            }
            if event.took_us == 0 {
                event.took_us = elapsed_us(self.started);
            }
            self.ledger.record(event);
        }
    }
}

/// Microseconds since `started`.
fn elapsed_us(started: Instant) -> u32 {
    u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX)
}
