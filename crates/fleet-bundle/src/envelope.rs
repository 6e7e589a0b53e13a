//! Signed envelopes: DSSE 1.0 (Dead Simple Signing Envelope, github.com/secure-systems-lab/dsse).
//!
//! Signatures are over the bytes and their type, so that nothing is parsed before it is verified,
//! and a status can never be taken for a manifest.

use crate::keys::{PublisherKey, VerifyingKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the largest envelope: a manifest of a fleet at its caps has room in it.
pub const ENVELOPE_BYTES_MAX: usize = 16 << 20;
/// Signatures that one may have.
const SIGNATURES_MAX: usize = 16;

/// Kind of what is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadKind {
    /// A [`crate::BundleManifest`].
    Manifest,
    /// An [`crate::EdgeStatus`].
    Status,
    /// An [`crate::EnrolmentRequest`].
    Enrolment,
}

/// Bytes with signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignedEnvelope {
    payload_type: String,
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EnvelopeSignature {
    keyid: String,
    sig: String,
}

/// Keys of which so many must have signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedKeys {
    /// The keys.
    pub keys: Vec<VerifyingKey>,
    /// Signatures that are wanted, by different keys.
    pub signatures: usize,
}

/// Reason why an envelope is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeFault {
    /// More than [`ENVELOPE_BYTES_MAX`] bytes, or no JSON of this form.
    Unreadable,
    /// Of another kind.
    Kind,
    /// Fewer keys that are trusted have signed than are wanted.
    Signatures {
        /// Keys that have.
        found: usize,
        /// Keys that must have.
        wanted: usize,
    },
}

impl PayloadKind {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Manifest => "application/vnd.tidegate.manifest+json",
            Self::Status => "application/vnd.tidegate.edge-status+json",
            Self::Enrolment => "application/vnd.tidegate.enrolment+json",
        }
    }
}

/// Pre-authentication encoding: what is signed.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

impl SignedEnvelope {
    /// Signs a payload.
    pub fn sign(kind: PayloadKind, payload: &[u8], key: &PublisherKey) -> Self {
        let payload_type = kind.media_type().to_owned();
        let payload = STANDARD.encode(payload);
        let mut made = Self { payload_type, payload, signatures: Vec::new() };
        made.add_signature(key);
        made
    }

    /// Adds the signature of one more key; once for each.
    pub fn add_signature(&mut self, key: &PublisherKey) {
        let keyid = key.public().id().to_string();
        if self.signatures.iter().any(|it| it.keyid == keyid) {
            return;
        }
        let payload = STANDARD.decode(&self.payload).unwrap_or_default();
        let sig = STANDARD.encode(key.sign(&encoded(&self.payload_type, &payload)));
        self.signatures.push(EnvelopeSignature { keyid, sig });
    }

    /// Reads an envelope; nothing of it is verified yet.
    ///
    /// # Errors
    /// [`EnvelopeFault::Unreadable`].
    pub fn read(bytes: &[u8]) -> Result<Self, EnvelopeFault> {
        if bytes.len() > ENVELOPE_BYTES_MAX {
            return Err(EnvelopeFault::Unreadable);
        }
        let read: Self = serde_json::from_slice(bytes).map_err(|_| EnvelopeFault::Unreadable)?;
        if read.signatures.len() > SIGNATURES_MAX {
            return Err(EnvelopeFault::Unreadable);
        }
        Ok(read)
    }

    /// The envelope as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        // Texts alone: nothing of it can fail.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// The payload, if enough of the keys have signed it.
    ///
    /// # Errors
    /// [`EnvelopeFault`] says why it is not believed.
    pub fn open(&self, kind: PayloadKind, trusted: &TrustedKeys) -> Result<Vec<u8>, EnvelopeFault> {
        if self.payload_type != kind.media_type() {
            return Err(EnvelopeFault::Kind);
        }
        let payload = STANDARD.decode(&self.payload).map_err(|_| EnvelopeFault::Unreadable)?;
        let message = encoded(&self.payload_type, &payload);
        let has_signed = |key: &&VerifyingKey| {
            let keyid = key.id().to_string();
            let of_key = self.signatures.iter().filter(|it| it.keyid == keyid);
            of_key
                .filter_map(|it| STANDARD.decode(&it.sig).ok())
                .any(|signature| key.has_signed(&message, &signature))
        };
        let mut keys: Vec<VerifyingKey> = trusted.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        let found = keys.iter().filter(has_signed).count();
        let wanted = trusted.signatures.max(1);
        if found < wanted {
            return Err(EnvelopeFault::Signatures { found, wanted });
        }
        Ok(payload)
    }
}

impl fmt::Display for EnvelopeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable => f.write_str("it is no signed envelope"),
            Self::Kind => f.write_str("what is signed is something else"),
            Self::Signatures { found, wanted } => {
                write!(f, "{found} of the trusted keys have signed it, and {wanted} must have")
            }
        }
    }
}

impl std::error::Error for EnvelopeFault {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn trusted(keys: &[&PublisherKey], signatures: usize) -> TrustedKeys {
        TrustedKeys { keys: keys.iter().map(|it| it.public()).collect(), signatures }
    }

    #[test]
    fn an_envelope_is_believed_when_enough_different_keys_have_signed() {
        let [a, b, c] = [(); 3].map(|()| PublisherKey::generate().unwrap());
        let mut signed = SignedEnvelope::sign(PayloadKind::Manifest, b"{}", &a);
        signed.add_signature(&a);
        assert!(signed.open(PayloadKind::Manifest, &trusted(&[&a], 1)).is_ok());
        let fault = signed.open(PayloadKind::Manifest, &trusted(&[&a, &a, &b], 2));
        assert_eq!(fault, Err(EnvelopeFault::Signatures { found: 1, wanted: 2 }));
        signed.add_signature(&c);
        let fault = signed.open(PayloadKind::Manifest, &trusted(&[&a, &b], 2));
        assert_eq!(fault, Err(EnvelopeFault::Signatures { found: 1, wanted: 2 }));
        signed.add_signature(&b);
        let again = SignedEnvelope::read(&signed.to_json()).unwrap();
        assert_eq!(again.open(PayloadKind::Manifest, &trusted(&[&a, &b], 2)).unwrap(), b"{}");
    }

    #[test]
    fn a_changed_payload_another_type_and_a_borrowed_key_id_are_refused() {
        let [a, b] = [(); 2].map(|()| PublisherKey::generate().unwrap());
        let signed = SignedEnvelope::sign(PayloadKind::Status, b"{\"a\":1}", &a);
        let keys = trusted(&[&a], 1);
        assert_eq!(signed.open(PayloadKind::Manifest, &keys), Err(EnvelopeFault::Kind));
        let mut retyped = signed.clone();
        retyped.payload_type = PayloadKind::Manifest.media_type().into();
        assert!(retyped.open(PayloadKind::Manifest, &keys).is_err());
        let mut changed = signed.clone();
        changed.payload = STANDARD.encode(b"{\"a\":2}");
        assert!(changed.open(PayloadKind::Status, &keys).is_err());
        let mut borrowed = SignedEnvelope::sign(PayloadKind::Status, b"{\"a\":1}", &b);
        borrowed.signatures[0].keyid = a.public().id().to_string();
        assert!(borrowed.open(PayloadKind::Status, &keys).is_err());
        assert!(
            signed.open(PayloadKind::Status, &TrustedKeys { keys: vec![], signatures: 0 }).is_err()
        );
    }

    #[test]
    fn keys_pass_through_pem_and_text() {
        let key = PublisherKey::generate().unwrap();
        let again = PublisherKey::from_pem(key.to_pem().as_bytes()).unwrap();
        assert_eq!(again.public(), key.public());
        assert_eq!(key.public().to_string().parse::<VerifyingKey>().unwrap(), key.public());
        assert!("ed25519:AAAA".parse::<VerifyingKey>().is_err());
        assert!(PublisherKey::from_pem(b"-----BEGIN PRIVATE KEY-----\nAAAA\n").is_err());
    }
}
