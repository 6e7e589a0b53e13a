//! Failure of a handshake, in words that say whose doing it was.
//!
//! It tells the library's errors apart and writes nothing. Made by [`super::server`]; recorded by
//! the doors.

use super::library_error;
use rustls::AlertDescription;
use signer::{BadName, MintError};
use std::fmt;
use std::io;

/// Tells how a client said that it does not trust our certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistrustSign {
    /// Alert `unknown_ca`: the authority is not installed there.
    UnknownCa,
    /// Alert `bad_certificate`: often an app that pins its server's certificate.
    BadCertificate,
    /// Alert `certificate_unknown`: what browsers send for any reason of theirs.
    CertificateUnknown,
    /// Alert `certificate_expired`: a clock is wrong, there or here.
    Expired,
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// Not done within its time.
    Timeout,
    /// The core has as many handshakes under way as it may; nothing of this one was read.
    Busy,
    /// The first bytes are not TLS, or not a well-formed first message of it.
    NotTls,
    /// The policy does not block this name, so no certificate is made for it.
    NameNotBlocked(String),
    /// The name is none that a certificate may carry.
    BadName(String),
    /// The client named no server, so there is nothing to make a certificate for.
    NoName,
    /// The client caused too many certificates in a short time.
    RateLimited(String),
    /// The signer's process was not there in time.
    Unsigned(String),
    /// The client does not trust the certificate.
    ClientDistrusts(DistrustSign),
    /// The client went away before it had our certificate.
    Closed,
    /// The client went away when it had our certificate, without a word. That may mean distrust, or
    /// that it wanted no connection any more.
    ClosedAtCertificate,
    /// Anything else, in the library's words.
    Other(String),
}

impl HandshakeError {
    pub(super) fn from_mint(why: MintError, name: &str) -> Self {
        match why {
            MintError::NotBlocked
            | MintError::NotOurName
            | MintError::Excluded
            | MintError::BadName(BadName::PublicSuffix) => {
                Self::NameNotBlocked(name.to_ascii_lowercase())
            }
            MintError::BadName(_) => Self::BadName(name.to_owned()),
            MintError::RateLimited => Self::RateLimited(name.to_ascii_lowercase()),
            MintError::Unavailable(_) => Self::Unsigned(name.to_ascii_lowercase()),
            MintError::Crypto(why) => Self::Other(why),
        }
    }

    pub(super) fn before_hello(why: &io::Error) -> Self {
        match library_error(why) {
            Some(_) => Self::NotTls,
            None => Self::from_io(why),
        }
    }

    pub(super) fn after_hello(why: &io::Error) -> Self {
        match library_error(why) {
            Some(rustls::Error::AlertReceived(alert)) => match alert {
                AlertDescription::UnknownCA => Self::ClientDistrusts(DistrustSign::UnknownCa),
                AlertDescription::BadCertificate => {
                    Self::ClientDistrusts(DistrustSign::BadCertificate)
                }
                AlertDescription::CertificateUnknown => {
                    Self::ClientDistrusts(DistrustSign::CertificateUnknown)
                }
                AlertDescription::CertificateExpired => {
                    Self::ClientDistrusts(DistrustSign::Expired)
                }
                AlertDescription::CloseNotify | AlertDescription::UserCanceled => {
                    Self::ClosedAtCertificate
                }
                other => Self::Other(format!("the client sent the alert {other:?}")),
            },
            Some(other) => Self::Other(other.to_string()),
            None => match Self::from_io(why) {
                Self::Closed => Self::ClosedAtCertificate,
                other => other,
            },
        }
    }

    pub(super) fn from_io(why: &io::Error) -> Self {
        match why.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Other(why.to_string()),
        }
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the handshake took too long"),
            Self::Busy => f.write_str("too many handshakes are under way"),
            Self::NotTls => f.write_str("what came is not TLS"),
            Self::NameNotBlocked(name) => write!(f, "{name} is not blocked"),
            Self::BadName(name) => write!(f, "{name:?} is no host name"),
            Self::NoName => f.write_str("the client named no server"),
            Self::RateLimited(name) => write!(f, "too many new names at once; {name} must wait"),
            Self::ClientDistrusts(DistrustSign::UnknownCa) => {
                f.write_str("the client does not know the authority (unknown_ca)")
            }
            Self::ClientDistrusts(DistrustSign::BadCertificate) => {
                f.write_str("the client rejects the certificate (bad_certificate)")
            }
            Self::ClientDistrusts(DistrustSign::CertificateUnknown) => {
                f.write_str("the client rejects the certificate (certificate_unknown)")
            }
            Self::ClientDistrusts(DistrustSign::Expired) => {
                f.write_str("the client takes the certificate for expired (certificate_expired)")
            }
            Self::Closed => f.write_str("the client went away during the handshake"),
            Self::ClosedAtCertificate => f.write_str("the client went away at our certificate"),
            Self::Unsigned(name) => write!(f, "the signer does not answer for {name}"),
            Self::Other(why) => write!(f, "the handshake failed: {why}"),
        }
    }
}

impl std::error::Error for HandshakeError {}
