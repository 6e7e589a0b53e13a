//! Joining a fleet by a token that serves once.
//!
//! The token holds a key of its own, whose public half the fleet's file keeps. The edge makes its
//! keys, signs them with the token's, and leaves them where the bundles lie; whoever publishes
//! admits it, and the invitation is gone. Nothing of this needs a server that is trusted.

use crate::edge_name::EdgeName;
use crate::envelope::{EnvelopeFault, PayloadKind, SignedEnvelope, TrustedKeys};
use crate::keys::{KeyFault, PublisherKey, VerifyingKey};
use crate::sealing::EdgeSeal;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Beginning of a token.
const PREFIX: &str = "tidegate-join-1.";
/// Bytes of the longest token.
const TOKEN_BYTES_MAX: usize = 8 << 10;

/// Everything that a machine needs to join: a secret until it has.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnrolmentToken {
    /// Name that it will have.
    pub edge: EdgeName,
    /// Where bundles lie.
    pub bundles: String,
    /// Keys that are trusted.
    pub trust: TrustedKeys,
    /// Private key of the invitation, in PEM.
    pub key: String,
}

/// Keys of a machine that asks to join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnrolmentRequest {
    /// Name of the machine.
    pub edge: EdgeName,
    /// Key by which it signs.
    pub key: VerifyingKey,
    /// Key to which secrets are sealed.
    pub seal: EdgeSeal,
}

/// Fault of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnrolmentFault {
    /// No token of this form.
    Unreadable,
    /// A key that is none.
    Key(KeyFault),
}

impl EnrolmentToken {
    /// The token as it is handed over.
    pub fn to_text(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
    }

    /// Reads a token.
    ///
    /// # Errors
    /// [`EnrolmentFault::Unreadable`].
    pub fn from_text(text: &str) -> Result<Self, EnrolmentFault> {
        let text = text.trim();
        let base64 = text.strip_prefix(PREFIX).filter(|it| it.len() <= TOKEN_BYTES_MAX);
        let json = base64.and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
        let read = json.and_then(|it| serde_json::from_slice(&it).ok());
        read.ok_or(EnrolmentFault::Unreadable)
    }

    /// The request of an edge, signed by the invitation's key.
    ///
    /// # Errors
    /// [`EnrolmentFault::Key`].
    pub fn request(&self, request: &EnrolmentRequest) -> Result<Vec<u8>, EnrolmentFault> {
        let key = PublisherKey::from_pem(self.key.as_bytes()).map_err(EnrolmentFault::Key)?;
        let payload = serde_json::to_vec(request).unwrap_or_default();
        Ok(SignedEnvelope::sign(PayloadKind::Enrolment, &payload, &key).to_json())
    }
}

impl EnrolmentRequest {
    /// Reads a request of this edge, which the key of its invitation has signed.
    ///
    /// # Errors
    /// [`EnvelopeFault`], also for one of another name.
    pub fn read(
        bytes: &[u8],
        edge: &EdgeName,
        invitation: &VerifyingKey,
    ) -> Result<Self, EnvelopeFault> {
        let trusted = TrustedKeys { keys: vec![*invitation], signatures: 1 };
        let payload = SignedEnvelope::read(bytes)?.open(PayloadKind::Enrolment, &trusted)?;
        let read: Self = serde_json::from_slice(&payload).map_err(|_| EnvelopeFault::Unreadable)?;
        if read.edge == *edge { Ok(read) } else { Err(EnvelopeFault::Kind) }
    }
}

impl fmt::Debug for EnrolmentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EnrolmentToken({})", self.edge)
    }
}

impl fmt::Display for EnrolmentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("this is no token of tidegate fleet invite"),
            Self::Key(why) => write!(f, "the token's key: {why}"),
        }
    }
}

impl std::error::Error for EnrolmentFault {}
