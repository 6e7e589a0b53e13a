//! The ticket of a request, with the places that it has among requests under way.
//!
//! Opened when a request is read; recorded when the last byte of its answer is gone, or its client.
//! Held by `request`.

use crate::guards::InFlightPermit;
use http_front::RequestTicket;
use ledger::Ledger;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};
use vocab::{Door, Now};

/// The ticket of a request, with the places that it gives back with the last byte.
pub(crate) struct GatewayTicket {
    /// Given back before the request is recorded.
    permits: Vec<InFlightPermit>,
    ticket: RequestTicket,
}

impl GatewayTicket {
    /// Opens the event of a request.
    pub(crate) fn open(ledger: &Ledger, at: Now, client: IpAddr) -> Self {
        let ticket = RequestTicket::open(ledger, Door::Gateway, at, client);
        Self { permits: Vec::new(), ticket }
    }

    /// Keeps places among requests under way until all is done.
    pub(crate) fn keep(&mut self, permits: Vec<InFlightPermit>) {
        self.permits = permits;
    }

    /// Gives the places back and records the event: `bytes` went to the client.
    pub(crate) fn close(mut self, bytes: u64) {
        self.ticket.sent(bytes);
    }
}

impl Deref for GatewayTicket {
    type Target = RequestTicket;

    fn deref(&self) -> &RequestTicket {
        &self.ticket
    }
}

impl DerefMut for GatewayTicket {
    fn deref_mut(&mut self) -> &mut RequestTicket {
        &mut self.ticket
    }
}
