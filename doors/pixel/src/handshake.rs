//! A handshake that failed, as a sign of what the client thinks of our authority.
//!
//! It decides nothing: the signer and the TLS library did. Called by `serve`.

use signer::trust::TrustSign;
use transport::HandshakeError;
use transport::tls::DistrustSign;

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
