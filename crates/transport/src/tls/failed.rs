//! A handshake that failed, as an event.
//!
//! It decides nothing: the TLS library did. A client that merely went away is not recorded:
//! browsers open connections on suspicion and drop them. Called by the doors whose certificates are
//! their own: the web door and the proxy door.

use super::HandshakeError;
use crate::clock;
use ledger::{EventSubject, Ledger, RequestEvent};
use std::net::IpAddr;
use std::time::Instant;
use vocab::{Action, Caching, Cause, Door, Name, RequestKind, Source};

/// Records why `client` could not speak TLS with `door`. No request was read, so there is nothing
/// that it asked for but perhaps a name.
pub fn record_failure(
    ledger: &Ledger,
    door: Door,
    client: IpAddr,
    started: Instant,
    why: &HandshakeError,
) {
    let (status, name) = match why {
        HandshakeError::Closed | HandshakeError::ClosedAtCertificate => return,
        HandshakeError::Busy => (503, None),
        HandshakeError::Unsigned(name) => (503, Some(name)),
        HandshakeError::Timeout => (408, None),
        HandshakeError::NotTls | HandshakeError::NoName | HandshakeError::Other(_) => (400, None),
        HandshakeError::BadName(name) => (400, Some(name)),
        // Only a signer that asks a policy says so; none does here.
        HandshakeError::NameNotBlocked(name) => (421, Some(name)),
        HandshakeError::RateLimited(name) => (429, Some(name)),
        // No standard status says this; nginx writes it so.
        HandshakeError::ClientDistrusts(_) => (495, None),
    };
    let name = name.and_then(|name| Name::from_lowercase(name).ok()).unwrap_or(Name::ROOT);
    ledger.record(RequestEvent {
        at: clock::now(),
        took_us: u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX),
        door,
        client,
        kind: RequestKind::Other,
        subject: EventSubject::name(name),
        action: Action::Pass,
        cause: Cause::NotAsked,
        source: Source::Refused,
        caching: Caching::NONE,
        status,
        bytes: 0,
    });
}
