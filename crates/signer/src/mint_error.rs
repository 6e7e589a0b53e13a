//! Why there is no leaf for a name, in words.
//!
//! It gathers what issuer and supervisor say; nothing is decided here. Made by the signer, read by
//! `tls`.

use crate::issuer::SigningRefusal;
use crate::names::BadName;
use crate::supervisor::NoAnswer;
use std::fmt;

/// Why there is no leaf for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MintError {
    /// Is no host name.
    BadName(BadName),
    /// The policy does not block it.
    NotBlocked,
    /// Is no name that the configuration gives a server of ours.
    NotOurName,
    /// Is never certified, whatever the policy says.
    Excluded,
    /// The client has caused too many leaves, or all clients together.
    RateLimited,
    /// The signer's process does not answer; why, as far as that is known.
    Unavailable(String),
    /// Signing failed.
    Crypto(String),
}

impl From<SigningRefusal> for MintError {
    fn from(why: SigningRefusal) -> Self {
        match why {
            SigningRefusal::BadName(why) => Self::BadName(why),
            SigningRefusal::NotBlocked => Self::NotBlocked,
            SigningRefusal::NotOurName => Self::NotOurName,
            SigningRefusal::Excluded => Self::Excluded,
            SigningRefusal::RateLimited => Self::RateLimited,
            SigningRefusal::Failed(why) => Self::Crypto(why),
        }
    }
}

impl From<NoAnswer> for MintError {
    fn from(why: NoAnswer) -> Self {
        match why {
            NoAnswer::Refused(why) => why.into(),
            NoAnswer::Busy => Self::Unavailable("too many wait for it".into()),
            NoAnswer::TimedOut(Some(why)) => Self::Unavailable(why),
            NoAnswer::TimedOut(None) => Self::Unavailable("it did not answer in time".into()),
        }
    }
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName(why) => write!(f, "no certificate: {why}"),
            Self::NotBlocked => f.write_str("no certificate: the policy does not block this name"),
            Self::NotOurName => f.write_str(
                "no certificate: the configuration that the signer read gives no server of ours \
                 this name; reload",
            ),
            Self::Excluded => f.write_str(
                "no certificate: the signer never certifies this name or address (signer.excluded, \
                 signer.own_domains)",
            ),
            Self::RateLimited => f.write_str("no certificate: this client has caused too many"),
            Self::Unavailable(why) => write!(f, "no certificate from the signer: {why}"),
            Self::Crypto(why) => write!(f, "no certificate: {why}"),
        }
    }
}

impl std::error::Error for MintError {}
