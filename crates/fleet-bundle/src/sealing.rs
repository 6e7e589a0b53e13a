//! Secrets sealed for one edge: HPKE (RFC 9180), X25519 with HKDF-SHA256 and AES-128-GCM.
//!
//! The engine shows that there are secrets and how long they are together, and nothing else. The
//! name of the edge is bound to them.

use crate::edge_name::EdgeName;
use crate::file_path::BundlePath;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::crypto::aws_lc_rs::hpke::DH_KEM_X25519_HKDF_SHA256_AES_128 as SUITE;
use rustls::crypto::hpke::{EncapsulatedSecret, Hpke, HpkePrivateKey, HpkePublicKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Purpose of the sealing (RFC 9180, `info`).
const INFO: &[u8] = b"tidegate fleet secrets 1";
/// Beginning of a public key where it is written.
const PREFIX: &str = "x25519:";
/// Bytes that the secrets of an edge have together at most.
const SECRETS_BYTES_MAX: usize = 1 << 20;

/// Private key of an edge, to which secrets are sealed.
pub struct SealingKey {
    public: EdgeSeal,
    private: HpkePrivateKey,
}

/// Public half of it, written as `x25519:BASE64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeSeal([u8; 32]);

/// Secret files by their paths in the bundle.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSecrets {
    files: BTreeMap<BundlePath, String>,
}

/// Reason why secrets are not sealed, or not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealFault {
    /// No key in our form.
    Key,
    /// More than 1 MiB.
    Size,
    /// Not sealed for this edge, or changed since.
    NotOurs,
    /// The library failed.
    Library,
}

impl SealingKey {
    /// A new key.
    ///
    /// # Errors
    /// [`SealFault::Library`].
    pub fn generate() -> Result<Self, SealFault> {
        let (public, private) = SUITE.generate_key_pair().map_err(|_| SealFault::Library)?;
        let public = public.0.try_into().map_err(|_| SealFault::Library)?;
        Ok(Self { public: EdgeSeal(public), private })
    }

    /// The public half.
    pub fn public(&self) -> EdgeSeal {
        self.public
    }

    /// Both halves as a text, for a file that its owner alone may read.
    pub fn to_text(&self) -> String {
        format!("{}\n{}\n", self.public, STANDARD.encode(self.private.secret_bytes()))
    }

    /// Reads such a text.
    ///
    /// # Errors
    /// [`SealFault::Key`].
    pub fn from_text(text: &str) -> Result<Self, SealFault> {
        let mut lines = text.lines();
        let public = lines.next().ok_or(SealFault::Key)?.parse()?;
        let private = STANDARD.decode(lines.next().ok_or(SealFault::Key)?);
        let private = private.ok().filter(|it| it.len() == 32).ok_or(SealFault::Key)?;
        Ok(Self { public, private: private.into() })
    }

    /// Opens what was sealed for the edge of this name and key.
    ///
    /// # Errors
    /// [`SealFault::NotOurs`].
    pub fn open(&self, edge: &EdgeName, sealed: &[u8]) -> Result<SealedSecrets, SealFault> {
        if sealed.len() > 2 * SECRETS_BYTES_MAX {
            return Err(SealFault::Size);
        }
        let (secret, text) = sealed.split_at_checked(32).ok_or(SealFault::NotOurs)?;
        let secret = EncapsulatedSecret(secret.to_vec());
        let aad = edge.as_str().as_bytes();
        let opened = SUITE.open(&secret, INFO, aad, text, &self.private);
        let opened = opened.map_err(|_| SealFault::NotOurs)?;
        serde_json::from_slice(&opened).map_err(|_| SealFault::NotOurs)
    }
}

impl SealedSecrets {
    /// Adds a file.
    pub fn insert(&mut self, path: BundlePath, content: &[u8]) {
        self.files.insert(path, STANDARD.encode(content));
    }

    /// `true` without files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files with their contents.
    pub fn files(&self) -> impl Iterator<Item = (&BundlePath, Vec<u8>)> {
        self.files.iter().filter_map(|(path, text)| Some((path, STANDARD.decode(text).ok()?)))
    }

    /// Seals them for one edge.
    ///
    /// # Errors
    /// [`SealFault::Size`], [`SealFault::Library`].
    pub fn seal(&self, edge: &EdgeName, to: &EdgeSeal) -> Result<Vec<u8>, SealFault> {
        let plain = serde_json::to_vec(self).map_err(|_| SealFault::Library)?;
        if plain.len() > SECRETS_BYTES_MAX {
            return Err(SealFault::Size);
        }
        let to = HpkePublicKey(to.0.to_vec());
        let sealed = SUITE.seal(INFO, edge.as_str().as_bytes(), &plain, &to);
        let (secret, text) = sealed.map_err(|_| SealFault::Library)?;
        Ok([secret.0, text].concat())
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.public)
    }
}

impl fmt::Debug for SealedSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.keys()).finish()
    }
}

impl fmt::Display for EdgeSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", STANDARD.encode(self.0))
    }
}

impl FromStr for EdgeSeal {
    type Err = SealFault;

    fn from_str(text: &str) -> Result<Self, SealFault> {
        let base64 = text.strip_prefix(PREFIX).ok_or(SealFault::Key)?;
        let bytes = STANDARD.decode(base64).map_err(|_| SealFault::Key)?;
        bytes.try_into().map(Self).map_err(|_| SealFault::Key)
    }
}

impl fmt::Display for SealFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "a key of an edge is written as x25519: and 44 characters of base64",
            Self::Size => "secrets have at most 1 MiB together",
            Self::NotOurs => "they are not sealed for this edge, or were changed",
            Self::Library => "the library of encryption failed",
        })
    }
}

impl std::error::Error for SealFault {}

impl Serialize for EdgeSeal {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EdgeSeal {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    #[test]
    fn secrets_open_for_the_edge_that_they_were_sealed_for_and_no_other() {
        let name = |text: &str| EdgeName::parse(text).unwrap();
        let [ours, other] = [(); 2].map(|()| SealingKey::generate().unwrap());
        let mut secrets = SealedSecrets::default();
        secrets.insert(BundlePath::parse("secrets/db").unwrap(), b"hunter2");
        let sealed = secrets.seal(&name("a"), &ours.public()).unwrap();
        assert!(!sealed.windows(7).any(|it| it == b"hunter2"));
        assert_eq!(ours.open(&name("a"), &sealed), Ok(secrets.clone()));
        assert_eq!(ours.open(&name("b"), &sealed), Err(SealFault::NotOurs));
        assert_eq!(other.open(&name("a"), &sealed), Err(SealFault::NotOurs));
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(ours.open(&name("a"), &changed), Err(SealFault::NotOurs));
        assert_eq!(ours.open(&name("a"), &sealed[..10]), Err(SealFault::NotOurs));
        let again = SealingKey::from_text(&ours.to_text()).unwrap();
        assert_eq!(again.open(&name("a"), &sealed), Ok(secrets));
    }
}
