//! The only holder of the authority's key: it signs a leaf for a name that the policy blocks.
//!
//! Every handshake asks the policy anew, cached leaf or not; what it does not block is refused
//! whatever was signed before. Names are validated, minting is limited per client, and one P-256
//! leaf key made at start serves all leaves (never the authority's own). Called by `tls`.

use crate::authority::{Authority, AuthorityError, random};
use crate::bucket::{Buckets, Taken};
use crate::mint::{self, Coverage, RENEW_AFTER_DAYS};
use crate::tls::{IDENTITY_NAMES_MAX, Subject, server_config};
use quick_cache::sync::Cache;
use rcgen::{DnType, KeyPair, PKCS_ECDSA_P256_SHA256, SanType};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

pub use crate::authority::AuthorityError as SignerError;
pub use crate::mint::{BadName, host_name};

/// Leaves kept; beyond it the least useful are forgotten and minted again when asked for.
pub const LEAVES_MAX: usize = 1000;
const DAY_MS: u64 = 86_400_000;

/// Who says which names may be certified. The binary implements it over the policy: exactly the
/// names that are blocked at this moment.
pub trait MintPolicy: Send + Sync {
    /// Whether a certificate for `name` may be made. `name` is lower-case, without a final dot.
    fn may_mint(&self, name: &str) -> bool;
}

/// Permits nothing: for commands that only show the authority.
#[derive(Clone, Copy, Debug)]
pub struct MintNothing;

impl MintPolicy for MintNothing {
    fn may_mint(&self, _: &str) -> bool {
        false
    }
}

/// Mints leaves; shared by all cores.
pub struct Signer {
    authority: Authority,
    policy: Arc<dyn MintPolicy>,
    leaf_key: KeyPair,
    leaf_signing: Arc<dyn SigningKey>,
    leaves: Cache<Coverage, Leaf>,
    buckets: Buckets,
    /// A label that stands in no list: see `mint::plan`.
    probe: String,
    counters: Counters,
}

#[derive(Clone)]
struct Leaf {
    config: Arc<ServerConfig>,
    minted_ms: u64,
}

#[derive(Debug, Default)]
struct Counters {
    minted: AtomicU64,
    cached: AtomicU64,
    refused_by_policy: AtomicU64,
    rate_limited: AtomicU64,
}

/// What the signer did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignerCounts {
    /// Leaves signed.
    pub minted: u64,
    /// Handshakes served from a leaf signed before.
    pub cached: u64,
    /// Names refused because they are not blocked, or are no names.
    pub refused_by_policy: u64,
    /// Leaves not signed because their client had caused too many.
    pub rate_limited: u64,
}

/// Why there is no leaf for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MintError {
    /// It is no host name.
    BadName(BadName),
    /// The policy does not block it.
    NotBlocked,
    /// The client has caused too many leaves.
    RateLimited,
    /// Signing failed.
    Crypto(String),
}

impl Signer {
    /// Opens the authority in `dir`, making it if there is none. See [`SignerError`] for what can
    /// be wrong with it.
    pub fn open(dir: &Path, policy: Arc<dyn MintPolicy>) -> Result<Self, SignerError> {
        let crypto = |why: &dyn fmt::Display| AuthorityError::Crypto(why.to_string());
        let authority = Authority::open(dir, crate::clock::now().unix_secs())?;
        let leaf_key =
            KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(|why| crypto(&why))?;
        let pkcs8 = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
        let leaf_signing =
            rustls::crypto::aws_lc_rs::sign::any_ecdsa_type(&pkcs8).map_err(|why| crypto(&why))?;
        Ok(Self {
            authority,
            policy,
            leaf_key,
            leaf_signing,
            leaves: Cache::new(LEAVES_MAX),
            buckets: Buckets::default(),
            probe: format!("tidegate-{:016x}", u64::from_be_bytes(random()?)),
            counters: Counters::default(),
        })
    }

    /// The authority's certificate, for people to install.
    pub fn ca_pem(&self) -> &str {
        self.authority.pem()
    }

    /// SHA-256 of the authority's certificate, as devices show it: `AB:CD:…`.
    pub fn ca_fingerprint(&self) -> String {
        let bytes = self.authority.fingerprint();
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// What it did so far.
    pub fn counts(&self) -> SignerCounts {
        SignerCounts {
            minted: self.counters.minted.load(Relaxed),
            cached: self.counters.cached.load(Relaxed),
            refused_by_policy: self.counters.refused_by_policy.load(Relaxed),
            rate_limited: self.counters.rate_limited.load(Relaxed),
        }
    }

    /// How to speak TLS as `name` to `client`, if that may be.
    pub(crate) fn leaf(
        &self,
        name: &str,
        client: IpAddr,
        now: Now,
    ) -> Result<Arc<ServerConfig>, MintError> {
        let permitted = mint::host_name(name).map_err(MintError::BadName).and_then(|host| {
            if self.policy.may_mint(&host) { Ok(host) } else { Err(MintError::NotBlocked) }
        });
        let host = permitted.inspect_err(|_| {
            self.counters.refused_by_policy.fetch_add(1, Relaxed);
        })?;
        // Planned anew each time: a wildcard signed yesterday is not served once its base is
        // no longer blocked.
        let coverage = mint::plan(&host, self.policy.as_ref(), &self.probe);
        if let Some(leaf) = self.leaves.get(&coverage) {
            // On the wall clock, as the certificate is; a clock set back renews early.
            let fresh = leaf.minted_ms..leaf.minted_ms + RENEW_AFTER_DAYS * DAY_MS;
            if fresh.contains(&now.unix_ms) {
                self.counters.cached.fetch_add(1, Relaxed);
                return Ok(leaf.config);
            }
        }
        if self.buckets.take(client, now.mono_ms) == Taken::No {
            self.counters.rate_limited.fetch_add(1, Relaxed);
            return Err(MintError::RateLimited);
        }
        let config = self.mint(&coverage, now)?;
        self.leaves.insert(coverage, Leaf { config: Arc::clone(&config), minted_ms: now.unix_ms });
        self.counters.minted.fetch_add(1, Relaxed);
        Ok(config)
    }

    /// A leaf for the administrator's own names and addresses, and the time by the wall clock, in
    /// milliseconds, within which it need not be made anew. No policy is asked: these names were
    /// written by whoever could have our key anyway.
    pub(crate) fn own_leaf(
        &self,
        subject: &Subject,
        now: Now,
    ) -> Result<(CertifiedKey, Range<u64>), MintError> {
        let crypto = |why: &dyn fmt::Display| MintError::Crypto(why.to_string());
        let count = subject.names.len() + subject.addresses.len();
        if !(1..=IDENTITY_NAMES_MAX).contains(&count) {
            return Err(MintError::BadName(BadName::Length));
        }
        let mut alternatives = Vec::with_capacity(count);
        for name in &subject.names {
            let name = mint::host_name(name).map_err(MintError::BadName)?;
            alternatives.push(SanType::DnsName(name.try_into().map_err(|why| crypto(&why))?));
        }
        alternatives.extend(subject.addresses.iter().copied().map(SanType::IpAddress));
        let serial = random().map_err(|why| crypto(&why))?;
        let any_name = Coverage::Exact("localhost".into());
        let mut params = any_name.leaf(now.unix_secs(), serial).map_err(|why| crypto(&why))?;
        params.subject_alt_names = alternatives;
        // Read by nobody but GnuTLS, which takes a certificate without any subject for broken.
        params.distinguished_name.push(DnType::CommonName, "Tidegate");
        let leaf = self.authority.sign(&params, &self.leaf_key).map_err(|why| crypto(&why))?;
        let certified = CertifiedKey::new(vec![leaf], Arc::clone(&self.leaf_signing));
        Ok((certified, now.unix_ms..now.unix_ms + RENEW_AFTER_DAYS * DAY_MS))
    }

    fn mint(&self, coverage: &Coverage, now: Now) -> Result<Arc<ServerConfig>, MintError> {
        let crypto = |why: &dyn fmt::Display| MintError::Crypto(why.to_string());
        let serial = random().map_err(|why| crypto(&why))?;
        let params = coverage.leaf(now.unix_secs(), serial).map_err(|why| crypto(&why))?;
        let leaf = self.authority.sign(&params, &self.leaf_key).map_err(|why| crypto(&why))?;
        // The authority itself is not sent: who trusts it has it.
        let certified = CertifiedKey::new(vec![leaf], Arc::clone(&self.leaf_signing));
        Ok(Arc::new(server_config(Arc::new(SingleCertAndKey::from(certified)))))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("counts", &self.counts()).finish_non_exhaustive()
    }
}

impl fmt::Display for MintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName(why) => write!(f, "no certificate: {why}"),
            Self::NotBlocked => f.write_str("no certificate: the policy does not block this name"),
            Self::RateLimited => f.write_str("no certificate: this client has caused too many"),
            Self::Crypto(why) => write!(f, "no certificate: {why}"),
        }
    }
}

impl std::error::Error for MintError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::bucket::BURST;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicU32;

    /// Permits names that begin with `ads`, and so never a wildcard.
    struct Ads;
    impl MintPolicy for Ads {
        fn may_mint(&self, name: &str) -> bool {
            name.starts_with("ads")
        }
    }

    struct Folder(PathBuf);
    impl Folder {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Relaxed);
            let name = format!("tidegate-signer-{}-{number}", std::process::id());
            Self(std::env::temp_dir().join(name))
        }
        fn file(&self, name: &str) -> PathBuf {
            self.0.join("ca").join(name)
        }
        fn open(&self) -> Result<Signer, SignerError> {
            Signer::open(&self.0.join("ca"), Arc::new(Ads))
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn now() -> Now {
        crate::clock::now()
    }

    #[test]
    fn the_authority_is_made_once_and_its_key_is_private() {
        let folder = Folder::new();
        let first = folder.open().unwrap();
        let mode =
            |name| std::fs::metadata(folder.file(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("ca.pem"), mode("ca.key")), (0o644, 0o600));
        assert_eq!(std::fs::read_dir(folder.file("")).unwrap().count(), 2);
        let second = folder.open().unwrap();
        assert_eq!(first.ca_pem(), second.ca_pem());
        assert_eq!(first.ca_fingerprint(), second.ca_fingerprint());
        assert_eq!(first.ca_fingerprint().len(), 32 * 3 - 1);
        assert_ne!(first.ca_pem(), Folder::new().open().unwrap().ca_pem());
    }

    #[test]
    fn a_damaged_authority_is_named_and_never_replaced() {
        let folder = Folder::new();
        folder.open().unwrap();
        let (pem, key) = (folder.file("ca.pem"), folder.file("ca.key"));
        let (whole_pem, whole_key) = (std::fs::read(&pem).unwrap(), std::fs::read(&key).unwrap());

        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
        let exposed = folder.open().unwrap_err();
        assert!(exposed.to_string().contains("chmod 600"), "{exposed}");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();

        std::fs::write(&pem, "nonsense").unwrap();
        assert!(matches!(folder.open(), Err(SignerError::Broken(path, _)) if path == pem));
        std::fs::write(&pem, &whole_pem).unwrap();

        std::fs::write(&key, &whole_key[..whole_key.len() / 2]).unwrap();
        assert!(matches!(folder.open(), Err(SignerError::Broken(path, _)) if path == key));

        let other = Folder::new();
        other.open().unwrap();
        std::fs::write(&key, std::fs::read(other.file("ca.key")).unwrap()).unwrap();
        assert!(matches!(folder.open(), Err(SignerError::Mismatch(_))));

        std::fs::remove_file(&key).unwrap();
        assert!(matches!(folder.open(), Err(SignerError::KeyMissing(_))));
        assert_eq!(std::fs::read(&pem).unwrap(), whole_pem);

        // A crash between the two files leaves the key alone: it gets its certificate.
        std::fs::write(&key, &whole_key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::remove_file(&pem).unwrap();
        folder.open().unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let why = Signer::open(Path::new("/proc/tidegate/ca"), Arc::new(MintNothing)).unwrap_err();
        let text = why.to_string();
        assert!(text.contains("/proc/tidegate/ca") && text.contains("--state"), "{text}");
    }

    #[test]
    fn one_client_cannot_keep_the_signer_busy() {
        let folder = Folder::new();
        let signer = folder.open().unwrap();
        let now = now();
        for number in 0..BURST {
            signer.leaf(&format!("ads{number}.example.com"), CLIENT, now).unwrap();
        }
        let over = signer.leaf("ads-more.example.com", CLIENT, now);
        assert_eq!(over.err(), Some(MintError::RateLimited));
        // What is signed is served to anyone, and other clients are unaffected.
        signer.leaf("ads0.example.com", CLIENT, now).unwrap();
        signer.leaf("ads-more.example.com", "192.0.2.8".parse().unwrap(), now).unwrap();
        let counts = signer.counts();
        assert_eq!((counts.minted, counts.cached), (u64::from(BURST) + 1, 1));
        assert_eq!((counts.rate_limited, counts.refused_by_policy), (1, 0));
    }

    #[test]
    fn a_leaf_is_renewed_after_two_thirds_of_its_life() {
        let folder = Folder::new();
        let signer = folder.open().unwrap();
        let later = |days: u64| {
            let now = now();
            Now { unix_ms: now.unix_ms + days * DAY_MS, mono_ms: now.mono_ms }
        };
        signer.leaf("ads.example.com", CLIENT, later(0)).unwrap();
        signer.leaf("ads.example.com", CLIENT, later(57)).unwrap();
        assert_eq!(signer.counts().minted, 1);
        signer.leaf("ads.example.com", CLIENT, later(59)).unwrap();
        assert_eq!(signer.counts().minted, 2);
    }

    #[test]
    fn what_is_no_name_is_never_signed() {
        let folder = Folder::new();
        let signer = folder.open().unwrap();
        let long = format!("ads.{}", "a.".repeat(126));
        for bad in
            ["ads.*.com", "ads..com", "ads\0.com", "ads/../x", "ads.1.2.3.4", "", long.as_str()]
        {
            let refused = signer.leaf(bad, CLIENT, now());
            assert!(matches!(refused, Err(MintError::BadName(_))), "{bad:?}");
        }
        assert_eq!(
            signer.leaf("www.example.com", CLIENT, now()).err(),
            Some(MintError::NotBlocked)
        );
        assert_eq!(signer.counts().minted, 0);
    }

    #[test]
    fn leaves_are_kept_up_to_a_cap() {
        let folder = Folder::new();
        let signer = folder.open().unwrap();
        for number in 0..LEAVES_MAX as u32 + 200 {
            let client = IpAddr::V4(std::net::Ipv4Addr::from_bits(number));
            signer.leaf(&format!("ads{number}.example.com"), client, now()).unwrap();
        }
        assert!(signer.leaves.len() <= LEAVES_MAX);
    }
}
