//! A handshake that failed, as an event.
//!
//! It decides nothing: the signer and the TLS library did. A client that merely went away is not
//! recorded: browsers open connections on suspicion and drop them. Called by `door`.

use ledger::{EventSubject, Ledger, RequestEvent};
use signer::trust::TrustSign;
use std::net::IpAddr;
use std::time::Instant;
use transport::tls::DistrustSign;
use transport::{HandshakeError, clock};
use vocab::{Action, Caching, Cause, Door, Name, RequestKind, Source};

/// Returns what a failed handshake says about the client's trust in our authority.
pub(crate) fn sign(why: &HandshakeError) -> Option<TrustSign> {
    match why {
        HandshakeError::ClientDistrusts(
            DistrustSign::UnknownCa
            | DistrustSign::BadCertificate
            | DistrustSign::CertificateUnknown,
        ) => Some(TrustSign::Alert),
        HandshakeError::ClosedAtCertificate => Some(TrustSign::Silence),
        // A wrong clock is no distrust, and the rest never got as far as our certificate.
        HandshakeError::ClientDistrusts(DistrustSign::Expired)
        | HandshakeError::Closed
        | HandshakeError::Timeout
        | HandshakeError::Busy
        | HandshakeError::NotTls
        | HandshakeError::NameNotBlocked(_)
        | HandshakeError::BadName(_)
        | HandshakeError::NoName
        | HandshakeError::RateLimited(_)
        | HandshakeError::Unsigned(_)
        | HandshakeError::Other(_) => None,
    }
}

/// Records why a client could not speak TLS with us.
pub(crate) fn record(ledger: &Ledger, client: IpAddr, started: Instant, why: &HandshakeError) {
    let (status, cause, name) = match why {
        HandshakeError::Closed | HandshakeError::ClosedAtCertificate => return,
        HandshakeError::Busy => (503, Cause::NotAsked, None),
        HandshakeError::Unsigned(name) => (503, Cause::NotAsked, Some(name)),
        HandshakeError::Timeout => (408, Cause::NotAsked, None),
        HandshakeError::NotTls
        | HandshakeError::NoName
        | HandshakeError::BadName(_)
        | HandshakeError::Other(_) => (400, Cause::NotAsked, None),
        HandshakeError::NameNotBlocked(name) => (421, Cause::NoRule, Some(name)),
        HandshakeError::RateLimited(name) => (429, Cause::NotAsked, Some(name)),
        // No standard status says this; nginx writes it so.
        HandshakeError::ClientDistrusts(_) => (495, Cause::NotAsked, None),
    };
    let name = name.and_then(|name| Name::from_lowercase(name).ok()).unwrap_or(Name::ROOT);
    ledger.record(RequestEvent {
        at: clock::now(),
        took_us: u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX),
        door: Door::Pixel,
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
