//! Ed25519 keys (RFC 8032) of those who publish, and of edges, with which they sign what they say.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Beginning of a public key where it is written.
const PREFIX: &str = "ed25519:";
/// Characters of a line of PEM (RFC 7468).
const PEM_LINE: usize = 64;

/// A key that signs.
pub struct PublisherKey {
    pair: Ed25519KeyPair,
    pkcs8: Vec<u8>,
}

/// A public key, written as `ed25519:BASE64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VerifyingKey([u8; 32]);

/// Short name of a public key: the first 16 hexadecimal digits of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyId([u8; 8]);

/// Reason why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// No public key in our form.
    NotPublic,
    /// No private key in PEM (PKCS #8), or one of another kind.
    NotPrivate,
    /// The system gives no randomness.
    NoRandomness,
}

impl PublisherKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyFault::NoRandomness`].
    pub fn generate() -> Result<Self, KeyFault> {
        let made = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new());
        let pkcs8 = made.map_err(|_| KeyFault::NoRandomness)?.as_ref().to_vec();
        Self::from_pkcs8(pkcs8)
    }

    /// Reads a private key in PEM, such as `openssl genpkey -algorithm ed25519` writes.
    ///
    /// # Errors
    /// [`KeyFault::NotPrivate`].
    pub fn from_pem(pem: &[u8]) -> Result<Self, KeyFault> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| KeyFault::NotPrivate)?;
        Self::from_pkcs8(der.secret_pkcs8_der().to_vec())
    }

    fn from_pkcs8(pkcs8: Vec<u8>) -> Result<Self, KeyFault> {
        // Keys of OpenSSL have no public half in their file.
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8);
        Ok(Self { pair: pair.map_err(|_| KeyFault::NotPrivate)?, pkcs8 })
    }

    /// The key in PEM; for a file that its owner alone may read.
    pub fn to_pem(&self) -> String {
        let base64 = STANDARD.encode(&self.pkcs8);
        let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
        let mut rest = base64.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(PEM_LINE));
            pem.push_str(line);
            pem.push('\n');
            rest = after;
        }
        pem.push_str("-----END PRIVATE KEY-----\n");
        pem
    }

    /// The public half.
    pub fn public(&self) -> VerifyingKey {
        let mut bytes = [0; 32];
        // Every Ed25519 key has 32 bytes (RFC 8032 §5.1.5).
        bytes.copy_from_slice(self.pair.public_key().as_ref());
        VerifyingKey(bytes)
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(message).as_ref().to_vec()
    }
}

impl VerifyingKey {
    /// The short name.
    pub fn id(&self) -> KeyId {
        let digest: [u8; 32] = Sha256::digest(self.0).into();
        let mut id = [0; 8];
        id.copy_from_slice(&digest[..8]);
        KeyId(id)
    }

    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublisherKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublisherKey({})", self.public().id())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl FromStr for VerifyingKey {
    type Err = KeyFault;

    fn from_str(text: &str) -> Result<Self, KeyFault> {
        let base64 = text.strip_prefix(PREFIX).ok_or(KeyFault::NotPublic)?;
        let bytes = STANDARD.decode(base64).map_err(|_| KeyFault::NotPublic)?;
        bytes.try_into().map(Self).map_err(|_| KeyFault::NotPublic)
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotPublic => "a public key is written as ed25519: and 44 characters of base64",
            Self::NotPrivate => "this is no private Ed25519 key in PEM",
            Self::NoRandomness => "the system gives no randomness",
        })
    }
}

impl std::error::Error for KeyFault {}

impl Serialize for VerifyingKey {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VerifyingKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
