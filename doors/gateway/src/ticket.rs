//! The ticket of a request, with the places that it has among requests under way.
//!
//! Opened when a request is read; recorded when the last byte of its answer is gone, or its client.
//! Held by `request`.

use crate::caller::ClientConnection;
use crate::guards::{AdmittedRequest, InFlightPermit};
use crate::setup::GatewaySetup;
use access_log::PendingLine;
use http::Request;
use http_engine::Incoming;
use http_front::RequestTicket;
use ledger::Ledger;
use std::ops::{Deref, DerefMut};
use telemetry::{RequestArrival, ServerSpan};
use vocab::{Door, Now};

/// The ticket of a request, with the places that it gives back with the last byte.
pub(crate) struct GatewayTicket {
    /// Given back before the request is recorded.
    permits: Vec<InFlightPermit>,
    ticket: RequestTicket,
}

impl GatewayTicket {
    /// Opens the event of a request, and begins its line where there is an access log.
    pub(crate) fn open(
        ledger: &Ledger,
        setup: &GatewaySetup,
        caller: &ClientConnection,
        request: &mut Request<Incoming>,
        at: Now,
    ) -> Self {
        let mut ticket = RequestTicket::open(ledger, Door::Gateway, at, caller.peer());
        let (door, peer, scheme) = (Door::Gateway, caller.peer(), caller.scheme());
        ticket.trace(ServerSpan::begin(request, RequestArrival { door, peer, scheme }));
        let log = setup.access_log.as_ref();
        ticket.log(PendingLine::begin(log, &*request, scheme, at));
        Self { permits: Vec::new(), ticket }
    }

    /// Keeps places among requests under way until all is done, and notes the user.
    pub(crate) fn keep(&mut self, admitted: AdmittedRequest) {
        self.ticket.user(admitted.user.as_ref());
        self.permits = admitted.permits;
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
