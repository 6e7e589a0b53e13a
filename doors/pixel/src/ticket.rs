//! The ticket of a request, and the count of clients that left before their answer.
//!
//! Opened when a request is read, recorded when it is dropped. Held by `request` and `splice`.

use crate::connection::PixelConnection;
use crate::counters::{Count, PixelCounters};
use crate::door::PixelDoor;
use http::Request;
use http_front::RequestTicket;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use telemetry::{RequestArrival, ServerSpan};
use vocab::Now;

/// The ticket of a request, counted as gone if it is dropped without an answer.
pub(crate) struct PixelTicket<'d> {
    counters: &'d PixelCounters,
    ticket: RequestTicket,
}

impl<'d> PixelTicket<'d> {
    /// Opens the event of a request.
    pub(crate) fn open(door: &'d PixelDoor, at: Now, client: IpAddr) -> Self {
        let ticket = RequestTicket::open(&door.parts.ledger, vocab::Door::Pixel, at, client);
        Self { counters: &door.counters, ticket }
    }

    /// Opens the event of a request that is read here, and its span where it is traced.
    pub(crate) fn begin<B>(
        door: &'d PixelDoor,
        at: Now,
        connection: &PixelConnection,
        request: &mut Request<B>,
    ) -> Self {
        let (peer, scheme) = (connection.client(), connection.context.scheme());
        let mut opened = Self::open(door, at, peer);
        let arrival = RequestArrival { door: vocab::Door::Pixel, peer, scheme };
        opened.trace(ServerSpan::begin(request, arrival));
        opened
    }

    /// Records the event: `bytes` of body went to the client.
    pub(crate) fn close(mut self, bytes: u64) {
        self.counters.took(u64::from(self.ticket.took_us()));
        self.ticket.sent(bytes);
    }
}

impl Deref for PixelTicket<'_> {
    type Target = RequestTicket;

    fn deref(&self) -> &RequestTicket {
        &self.ticket
    }
}

impl DerefMut for PixelTicket<'_> {
    fn deref_mut(&mut self) -> &mut RequestTicket {
        &mut self.ticket
    }
}

impl Drop for PixelTicket<'_> {
    fn drop(&mut self) {
        if self.ticket.is_unanswered() {
            self.counters.one(Count::Gone);
        }
    }
}
