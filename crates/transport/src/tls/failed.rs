//! A handshake that failed, as an event.
//!
//! It decides nothing: the TLS library did. A client that merely went away is not recorded:
//! browsers open connections on suspicion and drop them. Called by the
//! doors that speak TLS.

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
    let (status, cause, name) = match why {
        HandshakeError::Closed | HandshakeError::ClosedAtCertificate => return,
        HandshakeError::Busy => (503, Cause::NotAsked, None),
        HandshakeError::Unsigned(name) => (503, Cause::NotAsked, Some(name)),
        HandshakeError::Timeout => (408, Cause::NotAsked, None),
        HandshakeError::NotTls | HandshakeError::NoName | HandshakeError::Other(_) => {
            (400, Cause::NotAsked, None)
        }
        HandshakeError::BadName(name) => (400, Cause::NotAsked, Some(name)),
        // Said by a signer that asks the policy, as the pixel door's does.
        HandshakeError::NameNotBlocked(name) => (421, Cause::NoRule, Some(name)),
        HandshakeError::RateLimited(name) => (429, Cause::NotAsked, Some(name)),
        // No standard status says this; nginx writes it so.
        HandshakeError::ClientDistrusts(_) => (495, Cause::NotAsked, None),
    };
    let name = name.and_then(|name| Name::from_lowercase(name).ok()).unwrap_or(Name::ROOT);
    ledger.record(RequestEvent {
        at: clock::now(),
        duration_us: u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX),
        door,
        client,
        kind: RequestKind::Other,
        subject: EventSubject::name(name),
        action: Action::Pass,
        cause,
        source: Source::Refused,
        caching: Caching::NONE,
        status,
        bytes: 0,
    });
}
