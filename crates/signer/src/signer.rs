//! Leaves for names that the policy blocks: kept, or ordered from the issuer.
//!
//! Every handshake asks the policy anew, cached leaf or not; what it does not block is refused
//! whatever was signed before. Names are validated, minting is limited per client, and one P-256
//! leaf key made at start serves all leaves (never the authority's own), with an RSA one for
//! clients that know nothing else. Called by the TLS side of servers.

use crate::authority::{AuthorityError, CaCertificate};
use crate::bundles::NameBundles;
use crate::coverage::{self, LeafCoverage, RENEW_AFTER_DAYS};
use crate::exclusions::NameExclusions;
use crate::issuer::{KeyKind, LeafIssuer, SigningOrder, SigningRefusal};
use crate::launcher::SignerLauncher;
use crate::leaf::{LeafCertificate, LeafKey, LeafNames, RsaKey};
use crate::mint_error::MintError;
use crate::mint_policy::MintPolicy;
use crate::names;
use crate::program::SignerProgram;
use crate::sealed_memory::SealedMemory;
use crate::settings::{Settings, VouchMode};
use crate::supervisor::{SignerStart, SignerStartError, SignerSuccession, SignerSupervisor};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rate_limit::{ClientBuckets, ClientRate, TokenTaken};
use rustls::sign::CertifiedKey;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

mod own_leaves;
#[cfg(test)]
mod tests;

/// Leaves one client may cause. At once as many as the most never-seen names that a household was
/// seen to meet, tenfold: some 2 s of computing. Then a fiftieth of a core.
const PER_CLIENT: ClientRate = ClientRate { burst: 10_000, milli_per_second: 100_000 };
/// Leaves kept, one with many names counted for each kilobyte of it; beyond it the least useful are
/// forgotten and minted again when asked for.
pub const LEAVES_MAX: usize = 1000;
const DAY_MS: u64 = 86_400_000;

/// Has leaves signed and keeps them; shared by all cores.
pub struct Signer {
    issuer_handle: IssuerHandle,
    policy: Arc<dyn MintPolicy>,
    p256: LeafKey,
    /// Made when the first client needs it.
    rsa: Arc<RsaKey>,
    leaf_cache: Cache<LeafCacheKey, LeafCertificate, LeafWeight>,
    bundles: NameBundles,
    buckets: ClientBuckets,
    /// True if names are ordered on our word.
    vouches: AtomicBool,
    counters: SignerCounters,
}

/// Way to the issuer.
enum IssuerHandle {
    /// To the issuer, in this process.
    InProcess(Box<Mutex<LeafIssuer>>),
    /// To a process of its own.
    Process(SignerSupervisor),
}

/// Key of a kept leaf: other names, or another kind of key, are another leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LeafCacheKey {
    names: LeafNameSet,
    kind: KeyKind,
}

/// Names that share a leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LeafNameSet {
    Alone(LeafCoverage),
    /// A bundle's number.
    Bundle(u64),
    /// An address of ours, and no name.
    Address(IpAddr),
}

#[derive(Clone)]
struct LeafWeight;

impl Weighter<LeafCacheKey, LeafCertificate> for LeafWeight {
    fn weight(&self, _: &LeafCacheKey, leaf: &LeafCertificate) -> u64 {
        leaf.weight()
    }
}

/// A leaf that is wanted.
struct WantedLeaf<'w> {
    key: LeafCacheKey,
    names: &'w [LeafCoverage],
    host: &'w str,
    client: IpAddr,
}

#[derive(Debug, Default)]
struct SignerCounters {
    minted: AtomicU64,
    cached: AtomicU64,
    refused_by_policy: AtomicU64,
    rate_limited: AtomicU64,
}

/// Holds what the signer did so far.
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
    /// Leaves kept now, for the next handshake.
    pub kept: u64,
}

/// Signatures that a client can verify, as far as a leaf's key matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientSignatures {
    /// ECDSA, and perhaps others.
    Ecdsa,
    /// RSA alone.
    RsaOnly,
}

impl Signer {
    /// Opens the authority in `dir` in this process, making it if there is none, with the default
    /// exclusions. See [`AuthorityError`] for what can be wrong with it.
    pub fn open(dir: &Path, policy: Arc<dyn MintPolicy>, now: Now) -> Result<Self, AuthorityError> {
        let exclusions = NameExclusions::default();
        Self::with(LeafIssuer::open(dir, Arc::clone(&policy), exclusions, now)?, policy)
    }

    /// Signs by this issuer, in this process.
    pub fn with(issuer: LeafIssuer, policy: Arc<dyn MintPolicy>) -> Result<Self, AuthorityError> {
        Self::with_handle(IssuerHandle::InProcess(Box::new(Mutex::new(issuer))), policy)
    }

    /// Signs by a process of its own, which is started when it is needed, at the latest. `dir` is
    /// the authority's folder, of which only the certificate is read here.
    pub fn by_process(
        program: SignerProgram,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, AuthorityError> {
        Self::by(SignerStart::Program(program), dir, policy)
    }

    /// The same by a launcher, which alone may read the authority's key.
    pub fn by_launcher(
        launcher: SignerLauncher,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, AuthorityError> {
        Self::by(SignerStart::Launcher(launcher), dir, policy)
    }

    fn by(
        start: SignerStart,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, AuthorityError> {
        Self::with_handle(
            IssuerHandle::Process(SignerSupervisor::new(start, CaCertificate::read(dir))),
            policy,
        )
    }

    fn with_handle(
        issuer_handle: IssuerHandle,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, AuthorityError> {
        let signer = Self {
            issuer_handle,
            policy,
            p256: LeafKey::make(KeyKind::P256)
                .map_err(|why| AuthorityError::Crypto(why.to_string()))?,
            rsa: Arc::default(),
            leaf_cache: Cache::with_weighter(LEAVES_MAX, LEAVES_MAX as u64, LeafWeight),
            bundles: NameBundles::default(),
            buckets: ClientBuckets::new(PER_CLIENT),
            vouches: AtomicBool::new(false),
            counters: SignerCounters::default(),
        };
        let announced = signer.announce_key(KeyKind::P256, &signer.p256);
        announced.map_err(|why| AuthorityError::Crypto(format!("{why:?}")))?;
        Ok(signer)
    }

    /// Starts the signer's process, if it is one, and waits until it has opened the authority; or
    /// says why it cannot.
    pub fn start(&self) -> Result<(), SignerStartError> {
        match &self.issuer_handle {
            IssuerHandle::InProcess(_) => Ok(()),
            IssuerHandle::Process(supervisor) => supervisor.start(),
        }
    }

    /// Has the signer's process, if one runs, replaced by one that reads configuration and lists
    /// anew; waits until it has. Handshakes are served all the while, by the old one first.
    /// `tables` are as with [`Self::share_tables`], and stay with the succession.
    pub fn reload(
        &self,
        tables: Option<SealedMemory>,
    ) -> Result<SignerSuccession, SignerStartError> {
        match &self.issuer_handle {
            IssuerHandle::InProcess(_) => Ok(SignerSuccession::NONE),
            IssuerHandle::Process(supervisor) => supervisor.restart(tables),
        }
    }

    /// Tables of the policy that processes started from now on need not hold for themselves, if
    /// they come to the same ones.
    pub fn share_tables(&self, tables: Option<SealedMemory>) {
        if let IssuerHandle::Process(supervisor) = &self.issuer_handle {
            supervisor.share_tables(tables);
        }
    }

    /// `true` while orders are taken: the authority is open, and its process runs.
    pub fn is_ready(&self) -> bool {
        match &self.issuer_handle {
            IssuerHandle::InProcess(_) => true,
            IssuerHandle::Process(supervisor) => supervisor.is_ready(),
        }
    }

    /// Takes settings that hold for what is ordered from now on.
    pub fn apply_settings(&self, settings: &Settings) {
        self.bundles.choose(settings.bundles);
        self.vouches.store(settings.aliases == VouchMode::Limited, Relaxed);
    }

    /// Drops every leaf kept here that covers a name which the policy does not block any more. To
    /// be called when something is let through; no handshake is answered with such a leaf before
    /// that either, because each asks the policy.
    pub fn drop_unblocked(&self) {
        self.bundles.forget();
        let policy = self.policy.as_ref();
        self.leaf_cache.retain(|_, leaf| leaf.names.are_permitted(policy));
    }

    /// The number of the signer's process where one runs, and how many there have been.
    pub fn process(&self) -> (Option<u32>, u64) {
        match &self.issuer_handle {
            IssuerHandle::InProcess(_) => (None, 0),
            IssuerHandle::Process(supervisor) => supervisor.process(),
        }
    }

    /// The authority's certificate; none while no authority was needed yet.
    pub fn ca(&self) -> Option<Arc<CaCertificate>> {
        match &self.issuer_handle {
            IssuerHandle::InProcess(issuer) => {
                let issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
                Some(Arc::new(issuer.certificate().clone()))
            }
            IssuerHandle::Process(supervisor) => supervisor.certificate(),
        }
    }

    /// The authority's certificate in PEM, for people to install; empty while there is none.
    pub fn ca_pem(&self) -> String {
        self.ca().map_or_else(String::new, |ca| ca.pem.clone())
    }

    /// SHA-256 of the authority's certificate, as devices show it: `AB:CD:…`; empty while there is
    /// none.
    pub fn ca_fingerprint(&self) -> String {
        self.ca().map_or_else(String::new, |ca| ca.fingerprint_text())
    }

    /// Returns what the operator should know: an authority that ages, a process without its
    /// sandbox, and lost lines of the audit log.
    pub fn warnings(&self, now: Now) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.ca().and_then(|ca| ca.warning(now.unix_secs())));
        if let IssuerHandle::Process(supervisor) = &self.issuer_handle {
            warnings.extend(supervisor.trouble().map(|why| format!("signer: {why}")));
            let lost = supervisor.audit_lost();
            if lost > 0 {
                warnings.push(format!(
                    "signer: {lost} lines of ca/audit.log could not be written; make room on the disk"
                ));
            }
        }
        warnings
    }

    /// Returns what it did so far.
    pub fn counts(&self) -> SignerCounts {
        SignerCounts {
            minted: self.counters.minted.load(Relaxed),
            cached: self.counters.cached.load(Relaxed),
            refused_by_policy: self.counters.refused_by_policy.load(Relaxed),
            rate_limited: self.counters.rate_limited.load(Relaxed),
            kept: self.leaf_cache.len() as u64,
        }
    }

    /// The leaf with which a server speaks TLS as `name` to `client`, if it may.
    pub async fn leaf(
        &self,
        name: &str,
        client: IpAddr,
        verifies: ClientSignatures,
        now: Now,
    ) -> Result<LeafCertificate, MintError> {
        let permitted = names::blockable_name(name).map_err(MintError::BadName).and_then(|host| {
            if self.policy.may_mint_alone(&host) { Ok(host) } else { Err(MintError::NotBlocked) }
        });
        let host = permitted.inspect_err(|_| {
            self.counters.refused_by_policy.fetch_add(1, Relaxed);
        })?;
        // Planned anew each time: a wildcard signed yesterday is not served once its base is
        // no longer blocked.
        let own = coverage::plan(&host, self.policy.as_ref());
        let kind = match verifies {
            ClientSignatures::Ecdsa => KeyKind::P256,
            ClientSignatures::RsaOnly => KeyKind::Rsa,
        };
        let host = host.as_str();
        if let Some(bundle) = self.bundles.of(&own, client, self.policy.as_ref(), now) {
            let key = LeafCacheKey { names: LeafNameSet::Bundle(bundle.number), kind };
            let wanted = WantedLeaf { key, names: &bundle.names, host, client };
            match self.cached_or_minted(&wanted, now).await {
                Ok(leaf) if leaf.names.covers(host) => return Ok(leaf),
                // The issuer leaves out what its policy does not block, or what is excluded.
                Ok(_) | Err(MintError::NotBlocked | MintError::Excluded) => {}
                Err(why) => return Err(why),
            }
        }
        let key = LeafCacheKey { names: LeafNameSet::Alone(own.clone()), kind };
        self.cached_or_minted(&WantedLeaf { key, names: &[own], host, client }, now).await
    }

    async fn cached_or_minted(
        &self,
        wanted: &WantedLeaf<'_>,
        now: Now,
    ) -> Result<LeafCertificate, MintError> {
        let key = &wanted.key;
        if let Some(leaf) = self.leaf_cache.get(key) {
            // On the wall clock, as the certificate is; a clock set back renews early.
            let fresh = leaf.minted_ms..leaf.minted_ms + RENEW_AFTER_DAYS * DAY_MS;
            if fresh.contains(&now.unix_ms) {
                self.counters.cached.fetch_add(1, Relaxed);
                return Ok(leaf);
            }
            self.leaf_cache.remove(key);
        }
        // A page opens several connections to a name at once: one leaf serves them all.
        self.leaf_cache.get_or_insert_async(key, self.mint(wanted, now)).await
    }

    async fn mint(&self, wanted: &WantedLeaf<'_>, now: Now) -> Result<LeafCertificate, MintError> {
        let WantedLeaf { ref key, names, host, client } = *wanted;
        let kind = key.kind;
        let limited = |_: &MintError| {
            self.counters.rate_limited.fetch_add(1, Relaxed);
        };
        if self.buckets.take(client, now.mono_ms) == TokenTaken::No {
            return Err(MintError::RateLimited).inspect_err(limited);
        }
        let leaf_key = match kind {
            KeyKind::P256 => &self.p256,
            KeyKind::Rsa => self.rsa().await?,
        };
        let blocked = |names| SigningOrder::Blocked { names, key: kind };
        let order = match &key.names {
            LeafNameSet::Address(address) => {
                SigningOrder::Own { names: Vec::new(), addresses: vec![*address] }
            }
            LeafNameSet::Alone(_) | LeafNameSet::Bundle(_) => blocked(names.to_vec()),
        };
        let mut signed = self.order(order, now).await;
        let is_alone = matches!(key.names, LeafNameSet::Alone(_));
        let is_wide = matches!(names, [LeafCoverage::WithWildcard(_)]);
        if is_alone && is_wide && signed == Err(MintError::NotBlocked) {
            // The issuer knows something below the base that is not blocked, or excluded.
            signed = self.order(blocked(vec![LeafCoverage::Exact(host.to_owned())]), now).await;
        }
        if is_alone && signed == Err(MintError::NotBlocked) && self.vouches.load(Relaxed) {
            // What only this process has seen: an alias of the name is blocked.
            signed =
                self.order(SigningOrder::Vouched { name: host.to_owned(), key: kind }, now).await;
        }
        let leaf = signed.inspect_err(|why| match why {
            MintError::RateLimited => limited(why),
            MintError::NotBlocked | MintError::Excluded | MintError::BadName(_) if is_alone => {
                self.counters.refused_by_policy.fetch_add(1, Relaxed);
            }
            // Refused with a bundle, the name is tried alone now.
            MintError::NotBlocked
            | MintError::NotOurName
            | MintError::Excluded
            | MintError::BadName(_)
            | MintError::Unavailable(_)
            | MintError::Crypto(_) => {}
        })?;
        self.counters.minted.fetch_add(1, Relaxed);
        let names = LeafNames::of(&leaf);
        // The authority itself is not sent: who trusts it has it.
        let certified = CertifiedKey::new(vec![leaf.into()], Arc::clone(&leaf_key.signing));
        Ok(LeafCertificate::new(certified, names, now))
    }

    async fn order(&self, order: SigningOrder, now: Now) -> Result<Vec<u8>, MintError> {
        match &self.issuer_handle {
            IssuerHandle::InProcess(issuer) => issue(issuer, &order, now),
            IssuerHandle::Process(supervisor) => {
                supervisor.order(order).await.map_err(MintError::from)
            }
        }
    }

    /// The RSA key of leaves; whoever needs it first waits for it.
    async fn rsa(&self) -> Result<&LeafKey, MintError> {
        let crypto = |why: &dyn fmt::Display| MintError::Crypto(why.to_string());
        // Before the look: what is told between the look and the wait must not be missed.
        let done = self.rsa.done.notified();
        if !self.rsa.begun.swap(true, Relaxed) {
            let rsa = Arc::clone(&self.rsa);
            let thread = std::thread::Builder::new().name("rsa key".into());
            let make = move || {
                let _ = rsa.made.set(LeafKey::make(KeyKind::Rsa));
                rsa.done.notify_waiters();
            };
            thread.spawn(make).map_err(|why| crypto(&why))?;
        }
        if self.rsa.made.get().is_none() {
            done.await;
        }
        let made = self.rsa.made.get().ok_or_else(|| crypto(&"it is not made yet"))?;
        let key = made.as_ref().map_err(|why| crypto(why))?;
        // Told again with each new leaf: these are few, and it costs a packet.
        self.announce_key(KeyKind::Rsa, key)
            .map_err(|why| MintError::Crypto(format!("{why:?}")))?;
        Ok(key)
    }

    fn announce_key(&self, kind: KeyKind, key: &LeafKey) -> Result<(), SigningRefusal> {
        match &self.issuer_handle {
            IssuerHandle::InProcess(issuer) => {
                let mut issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
                issuer.set_key(kind, &key.public)
            }
            IssuerHandle::Process(supervisor) => {
                supervisor.take_key(kind, key.public.clone());
                Ok(())
            }
        }
    }
}

fn issue(issuer: &Mutex<LeafIssuer>, order: &SigningOrder, now: Now) -> Result<Vec<u8>, MintError> {
    let mut issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
    issuer.issue(order, now).map_err(MintError::from)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
