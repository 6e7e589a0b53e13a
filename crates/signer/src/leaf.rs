//! A signed leaf, the names that stand in it, and the keys of leaves.
//!
//! What a leaf covers is read from the leaf itself: the issuer may have left names out. It asks no
//! policy and orders nothing. Used by the signer; the names are asked by the door whose connection
//! they are for.

use crate::issuer::KeyKind;
use crate::mint_policy::MintPolicy;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use tokio::sync::Notify;
use vocab::Now;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// Bytes of a leaf besides its names, about: what the cache counts as one.
const LEAF_BYTES: usize = 512;

/// A signed leaf with its key, ready to be presented. Clones are the same leaf.
#[derive(Clone)]
pub struct LeafCertificate {
    pub(crate) presented: Arc<PresentedLeaf>,
    /// Names that stand in it.
    pub names: Arc<LeafNames>,
    pub(crate) minted_ms: u64,
    /// Bytes of the certificate.
    pub(crate) bytes: usize,
}

/// A leaf and the library's configuration for it, which the first handshake makes.
pub(crate) struct PresentedLeaf {
    pub(crate) certified: Arc<SingleCertAndKey>,
    pub(crate) config: OnceLock<Arc<ServerConfig>>,
}

/// The names that a certificate is for, lower-case.
#[derive(Debug, Default)]
pub struct LeafNames {
    exact: Vec<Box<str>>,
    /// Names one label below these, whose wildcards it carries.
    bases: Vec<Box<str>>,
}

/// A key of leaves. It is ours, not the authority's.
pub(crate) struct LeafKey {
    pub(crate) signing: Arc<dyn SigningKey>,
    /// `SubjectPublicKeyInfo`, DER.
    pub(crate) public: Vec<u8>,
}

/// Why there is no key of leaves.
#[derive(Debug)]
pub(crate) enum LeafKeyError {
    /// The pair cannot be generated.
    Generation(rcgen::Error),
    /// The pair cannot be signed with.
    Signing(rustls::Error),
}

/// The RSA key of leaves, which takes some tenths of a second to make: longer than a client on a
/// busy machine may wait. So it is made once, whoever goes away meanwhile.
#[derive(Default)]
pub(crate) struct RsaKey {
    pub(crate) made: OnceLock<Result<LeafKey, LeafKeyError>>,
    pub(crate) begun: AtomicBool,
    pub(crate) done: Notify,
}

impl LeafCertificate {
    pub(crate) fn new(certified: CertifiedKey, names: LeafNames, now: Now) -> Self {
        let bytes = certified.cert.first().map_or(0, |leaf| leaf.len());
        let certified = Arc::new(SingleCertAndKey::from(certified));
        let presented = Arc::new(PresentedLeaf { certified, config: OnceLock::new() });
        Self { presented, names: Arc::new(names), minted_ms: now.unix_ms, bytes }
    }

    /// The configuration with which a server presents this leaf. `make` says once how our servers
    /// speak TLS; all later handshakes with the leaf share what it made.
    pub fn server_config(
        &self,
        make: impl FnOnce(Arc<dyn ResolvesServerCert>) -> ServerConfig,
    ) -> Arc<ServerConfig> {
        let PresentedLeaf { certified, config } = &*self.presented;
        Arc::clone(config.get_or_init(|| Arc::new(make(certified.clone()))))
    }

    /// Returns how many plain leaves it takes the place of in the cache.
    pub(crate) fn weight(&self) -> u64 {
        1 + (self.bytes / LEAF_BYTES / 2) as u64
    }
}

impl LeafNames {
    /// The DNS names of a certificate in DER; none where it cannot be read.
    pub(crate) fn of(der: &[u8]) -> Self {
        let Ok((_, certificate)) = X509Certificate::from_der(der) else { return Self::default() };
        let Ok(Some(extension)) = certificate.subject_alternative_name() else {
            return Self::default();
        };
        let mut names = Self::default();
        for name in &extension.value.general_names {
            let GeneralName::DNSName(name) = name else { continue };
            match name.strip_prefix("*.") {
                Some(base) => names.bases.push(base.into()),
                None => names.exact.push((*name).into()),
            }
        }
        names.exact.sort_unstable();
        names.bases.sort_unstable();
        names
    }

    /// True if the policy permits every name that the certificate is for.
    pub(crate) fn are_permitted(&self, policy: &dyn MintPolicy) -> bool {
        self.exact.iter().all(|name| policy.may_mint_alone(name))
            && self.bases.iter().all(|base| policy.may_mint_below(base))
    }

    /// True if the certificate is for this host, which is in lower case (RFC 9525 §6.3: a wildcard
    /// stands for one label).
    pub fn covers(&self, host: &str) -> bool {
        let among = |names: &[Box<str>], it: &str| {
            names.binary_search_by(|known| (**known).cmp(it)).is_ok()
        };
        among(&self.exact, host)
            || host.split_once('.').is_some_and(|(_, parent)| among(&self.bases, parent))
    }
}

impl fmt::Display for LeafKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generation(why) => why.fmt(f),
            Self::Signing(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for LeafKeyError {}

impl LeafKey {
    pub(crate) fn make(kind: KeyKind) -> Result<Self, LeafKeyError> {
        let pair = match kind {
            KeyKind::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            KeyKind::Rsa => KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048),
        };
        let pair = pair.map_err(LeafKeyError::Generation)?;
        let pkcs8 = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let signing = rustls::crypto::aws_lc_rs::sign::any_supported_type(&pkcs8)
            .map_err(LeafKeyError::Signing)?;
        Ok(Self { signing, public: pair.subject_public_key_info() })
    }
}
