//! The only way to the authority's key: a leaf for a name that the policy blocks.
//!
//! Every handshake asks the policy anew, cached leaf or not; what it does not block is refused
//! whatever was signed before. Names are validated, minting is limited per client, and one P-256
//! leaf key made at start serves all leaves (never the authority's own), with an RSA one for clients
//! that know nothing else. The authority's key is with the [`Issuer`]: in a running Tidegate in a
//! process of its own, in tests and commands in this one. Called by `tls`.

mod allowance;
mod audit;
mod bundles;
mod exclusions;
mod frame;
mod issuer;
mod keeper;
mod launcher;
mod leaf;
mod mint_error;
mod process;
mod settings;
#[cfg(test)]
mod tests;
mod walls;

use crate::authority::{AuthorityError, CaCertificate};
use crate::bucket::{Buckets, PER_CLIENT, Taken};
use crate::mint::{self, Coverage, RENEW_AFTER_DAYS};
use crate::tls::{IDENTITY_NAMES_MAX, Subject, server_config};
use bundles::Bundles;
use issuer::{KeyKind, Order};
use keeper::{Keeper, SignerStart};
use leaf::{LeafKey, Rsa};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::fmt;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vocab::Now;

pub use crate::authority::AuthorityError as SignerError;
pub use crate::authority::CaCertificate as Ca;
pub use crate::mint::{BadName, host_name};
pub use audit::AUDIT_BYTES_MAX;
pub use exclusions::{EXCLUDED_DEFAULT, EXCLUDED_MAX, Exclusions};
pub use frame::comes_back;
pub use issuer::{Issuer, Ours};
pub use keeper::{ANSWER_MAX, ORDERS_MAX, Program, Succession};
pub use launcher::{Launcher, run_launcher};
pub(crate) use leaf::Leaf;
pub use leaf::LeafNames;
pub use mint_error::MintError;
pub use process::{Process, ProcessError};
pub use settings::{Bundled, Settings, Vouched};

/// Leaves kept, one with many names counted for each kilobyte of it; beyond it the least useful are
/// forgotten and minted again when asked for.
pub const LEAVES_MAX: usize = 1000;
const DAY_MS: u64 = 86_400_000;

/// Who says which names may be certified. The binary implements it over the policy: exactly the
/// names that are blocked at this moment.
pub trait MintPolicy: Send + Sync {
    /// Whether a certificate for `name` may be made. `name` is lower-case, without a final dot.
    fn may_mint(&self, name: &str) -> bool;

    /// Whether `may_mint` holds for every name one label below `base`, and nobody is let through to any
    /// of them: what a wildcard is for. By default nothing is known of all names at once.
    fn may_mint_below(&self, base: &str) -> bool {
        let _ = base;
        false
    }
}

/// Permits nothing: for commands that only show the authority.
#[derive(Clone, Copy, Debug)]
pub struct MintNothing;

impl MintPolicy for MintNothing {
    fn may_mint(&self, _: &str) -> bool {
        false
    }
}

/// Has leaves signed and keeps them; shared by all cores.
pub struct Signer {
    desk: Desk,
    policy: Arc<dyn MintPolicy>,
    p256: LeafKey,
    /// Made when the first client needs it.
    rsa: Arc<Rsa>,
    leaves: Cache<(Which, KeyKind), Leaf, Weighs>,
    bundles: Bundles,
    buckets: Buckets,
    /// Whether names are ordered on our word.
    vouches: AtomicBool,
    counters: Counters,
}

/// Where orders go.
enum Desk {
    /// To the issuer, in this process.
    Here(Box<Mutex<Issuer>>),
    /// To a process of its own.
    Process(Keeper),
}

/// What a leaf is kept by: other names are another leaf.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Which {
    Alone(Coverage),
    /// A bundle's number.
    Bundle(u64),
}

#[derive(Clone)]
struct Weighs;

impl Weighter<(Which, KeyKind), Leaf> for Weighs {
    fn weight(&self, _: &(Which, KeyKind), leaf: &Leaf) -> u64 {
        leaf.weight()
    }
}

/// A leaf that is wanted.
struct Wanted<'w> {
    which: Which,
    names: &'w [Coverage],
    host: &'w str,
    client: IpAddr,
    kind: KeyKind,
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

/// Which signatures a client can verify, as far as a leaf's key matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verifies {
    /// ECDSA, and perhaps others.
    Ecdsa,
    /// RSA alone.
    RsaOnly,
}

impl Signer {
    /// Opens the authority in `dir` in this process, making it if there is none, with the default
    /// exclusions. See [`SignerError`] for what can be wrong with it.
    pub fn open(dir: &Path, policy: Arc<dyn MintPolicy>) -> Result<Self, SignerError> {
        Self::with(Issuer::open(dir, Arc::clone(&policy), Exclusions::default())?, policy)
    }

    /// Signs by this issuer, in this process.
    pub fn with(issuer: Issuer, policy: Arc<dyn MintPolicy>) -> Result<Self, SignerError> {
        Self::at(Desk::Here(Box::new(Mutex::new(issuer))), policy)
    }

    /// Signs by a process of its own, which is started when it is needed, at the latest. `dir` is the
    /// authority's folder, of which only the certificate is read here.
    pub fn by_process(
        program: Program,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, SignerError> {
        Self::by(SignerStart::Program(program), dir, policy)
    }

    /// The same by a launcher, which alone may read the authority's key.
    pub fn by_launcher(
        launcher: Launcher,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, SignerError> {
        Self::by(SignerStart::Launcher(launcher), dir, policy)
    }

    fn by(
        start: SignerStart,
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
    ) -> Result<Self, SignerError> {
        Self::at(Desk::Process(Keeper::new(start, CaCertificate::read(dir))), policy)
    }

    fn at(desk: Desk, policy: Arc<dyn MintPolicy>) -> Result<Self, SignerError> {
        let signer = Self {
            desk,
            policy,
            p256: LeafKey::make(KeyKind::P256).map_err(AuthorityError::Crypto)?,
            rsa: Arc::default(),
            leaves: Cache::with_weighter(LEAVES_MAX, LEAVES_MAX as u64, Weighs),
            bundles: Bundles::default(),
            buckets: Buckets::new(PER_CLIENT),
            vouches: AtomicBool::new(false),
            counters: Counters::default(),
        };
        signer.tell(KeyKind::P256, &signer.p256).map_err(AuthorityError::Crypto)?;
        Ok(signer)
    }

    /// Starts the signer's process, if it is one, and waits until it has opened the authority; or says
    /// why it cannot.
    pub fn start(&self) -> Result<(), String> {
        match &self.desk {
            Desk::Here(_) => Ok(()),
            Desk::Process(keeper) => keeper.start(),
        }
    }

    /// Has the signer's process, if one runs, replaced by one that reads configuration and lists anew;
    /// waits until it has. Handshakes are served all the while, by the old one first.
    pub fn reload(&self) -> Result<Succession, String> {
        match &self.desk {
            Desk::Here(_) => Ok(Succession::NONE),
            Desk::Process(keeper) => keeper.restart(),
        }
    }

    /// `true` while orders are taken: the authority is open, and its process runs.
    pub fn answers(&self) -> bool {
        match &self.desk {
            Desk::Here(_) => true,
            Desk::Process(keeper) => keeper.is_ready(),
        }
    }

    /// Takes settings that hold for what is ordered from now on.
    pub fn take_settings(&self, settings: &Settings) {
        self.bundles.choose(settings.bundles);
        self.vouches.store(settings.aliases == Vouched::Limited, Relaxed);
    }

    /// Drops every leaf kept here that covers a name which the policy does not block any more. To be
    /// called when something is let through; no handshake is answered with such a leaf before that
    /// either, because each asks the policy.
    pub fn drop_unblocked(&self) {
        self.bundles.forget();
        let policy = self.policy.as_ref();
        self.leaves.retain(|_, leaf| leaf.names.are_permitted(policy));
    }

    /// The number of the signer's process where one runs, and how many there have been.
    pub fn process(&self) -> (Option<u32>, u64) {
        match &self.desk {
            Desk::Here(_) => (None, 0),
            Desk::Process(keeper) => keeper.process(),
        }
    }

    /// The authority's certificate; none while no authority was needed yet.
    pub fn ca(&self) -> Option<Arc<CaCertificate>> {
        match &self.desk {
            Desk::Here(issuer) => {
                let issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
                Some(Arc::new(issuer.certificate().clone()))
            }
            Desk::Process(keeper) => keeper.certificate(),
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

    /// What the operator should know: an authority that ages, a process without walls, lost lines of
    /// the audit log.
    pub fn warnings(&self, now: Now) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.ca().and_then(|ca| ca.warning(now.unix_secs())));
        if let Desk::Process(keeper) = &self.desk {
            warnings.extend(keeper.trouble().map(|why| format!("signer: {why}")));
            let lost = keeper.audit_lost();
            if lost > 0 {
                warnings.push(format!(
                    "signer: {lost} lines of ca/audit.log could not be written; make room on the disk"
                ));
            }
        }
        warnings
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
    pub(crate) async fn leaf(
        &self,
        name: &str,
        client: IpAddr,
        verifies: Verifies,
        now: Now,
    ) -> Result<Leaf, MintError> {
        let permitted = mint::blockable_name(name).map_err(MintError::BadName).and_then(|host| {
            if self.policy.may_mint(&host) { Ok(host) } else { Err(MintError::NotBlocked) }
        });
        let host = permitted.inspect_err(|_| {
            self.counters.refused_by_policy.fetch_add(1, Relaxed);
        })?;
        // Planned anew each time: a wildcard signed yesterday is not served once its base is
        // no longer blocked.
        let own = mint::plan(&host, self.policy.as_ref());
        let kind = match verifies {
            Verifies::Ecdsa => KeyKind::P256,
            Verifies::RsaOnly => KeyKind::Rsa,
        };
        let host = host.as_str();
        if let Some(bundle) = self.bundles.of(&own, client, self.policy.as_ref(), now) {
            let which = Which::Bundle(bundle.number);
            let wanted = Wanted { which, names: &bundle.names, host, client, kind };
            match self.kept_or_minted(&wanted, now).await {
                Ok(leaf) if leaf.names.cover(host) => return Ok(leaf),
                // The issuer leaves out what its policy does not block, or what is excluded.
                Ok(_) | Err(MintError::NotBlocked | MintError::Excluded) => {}
                Err(why) => return Err(why),
            }
        }
        let which = Which::Alone(own.clone());
        self.kept_or_minted(&Wanted { which, names: &[own], host, client, kind }, now).await
    }

    async fn kept_or_minted(&self, wanted: &Wanted<'_>, now: Now) -> Result<Leaf, MintError> {
        let key = (wanted.which.clone(), wanted.kind);
        if let Some(leaf) = self.leaves.get(&key) {
            // On the wall clock, as the certificate is; a clock set back renews early.
            let fresh = leaf.minted_ms..leaf.minted_ms + RENEW_AFTER_DAYS * DAY_MS;
            if fresh.contains(&now.unix_ms) {
                self.counters.cached.fetch_add(1, Relaxed);
                return Ok(leaf);
            }
            self.leaves.remove(&key);
        }
        // A page opens several connections to a name at once: one leaf serves them all.
        self.leaves.get_or_insert_async(&key, self.mint(wanted, now)).await
    }

    async fn mint(&self, wanted: &Wanted<'_>, now: Now) -> Result<Leaf, MintError> {
        let Wanted { names, host, client, kind, .. } = *wanted;
        let limited = |_: &MintError| {
            self.counters.rate_limited.fetch_add(1, Relaxed);
        };
        if self.buckets.take(client, now.mono_ms) == Taken::No {
            return Err(MintError::RateLimited).inspect_err(limited);
        }
        let leaf_key = match kind {
            KeyKind::P256 => &self.p256,
            KeyKind::Rsa => self.rsa().await?,
        };
        let blocked = |names| Order::Blocked { names, key: kind };
        let mut signed = self.order(blocked(names.to_vec()), now).await;
        let is_alone = matches!(wanted.which, Which::Alone(_));
        let is_wide = matches!(names, [Coverage::WithWildcard(_)]);
        if is_alone && is_wide && signed == Err(MintError::NotBlocked) {
            // The issuer knows something below the base that is not blocked, or excluded.
            signed = self.order(blocked(vec![Coverage::Exact(host.to_owned())]), now).await;
        }
        if is_alone && signed == Err(MintError::NotBlocked) && self.vouches.load(Relaxed) {
            // What only this process has seen: an alias of the name is blocked.
            signed = self.order(Order::Vouched { name: host.to_owned(), key: kind }, now).await;
        }
        let leaf = signed.inspect_err(|why| match why {
            MintError::RateLimited => limited(why),
            MintError::NotBlocked | MintError::Excluded | MintError::BadName(_) if is_alone => {
                self.counters.refused_by_policy.fetch_add(1, Relaxed);
            }
            // Refused with a bundle, the name is tried alone now.
            MintError::NotBlocked
            | MintError::NotOurs
            | MintError::Excluded
            | MintError::BadName(_)
            | MintError::Unavailable(_)
            | MintError::Crypto(_) => {}
        })?;
        self.counters.minted.fetch_add(1, Relaxed);
        let (names, bytes) = (Arc::new(LeafNames::of(&leaf)), leaf.len());
        // The authority itself is not sent: who trusts it has it.
        let certified = CertifiedKey::new(vec![leaf.into()], Arc::clone(&leaf_key.signing));
        let config = Arc::new(server_config(Arc::new(SingleCertAndKey::from(certified))));
        Ok(Leaf { config, names, minted_ms: now.unix_ms, bytes })
    }

    /// A leaf for the administrator's own names and addresses, and the time by the wall clock, in
    /// milliseconds, within which it need not be made anew. No policy is asked: these names were
    /// written by whoever could have our key anyway. Holds up the thread for
    /// as long as `patience` until the signer's process answers.
    pub(crate) fn own_leaf(
        &self,
        subject: &Subject,
        patience: Duration,
        now: Now,
    ) -> Result<(CertifiedKey, Range<u64>), MintError> {
        let count = subject.names.len() + subject.addresses.len();
        if !(1..=IDENTITY_NAMES_MAX).contains(&count) {
            return Err(MintError::BadName(BadName::Length));
        }
        let names = subject.names.iter().map(|name| mint::own_name(name));
        let names = names.collect::<Result<_, _>>().map_err(MintError::BadName)?;
        let order = Order::Own { names, addresses: subject.addresses.clone() };
        let leaf = match &self.desk {
            Desk::Here(issuer) => issue(issuer, &order, now),
            Desk::Process(keeper) => keeper.ask_now(order, patience).map_err(MintError::from),
        }?;
        let certified = CertifiedKey::new(vec![leaf.into()], Arc::clone(&self.p256.signing));
        Ok((certified, now.unix_ms..now.unix_ms + RENEW_AFTER_DAYS * DAY_MS))
    }

    async fn order(&self, order: Order, now: Now) -> Result<Vec<u8>, MintError> {
        match &self.desk {
            Desk::Here(issuer) => issue(issuer, &order, now),
            Desk::Process(keeper) => keeper.ask(order).await.map_err(MintError::from),
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
        let made = self
            .rsa
            .made
            .get()
            .map_or(Err("it is not made yet"), |made| made.as_ref().map_err(String::as_str));
        let key = made.map_err(|why| crypto(&why))?;
        // Told again with each new leaf: these are few, and it costs a packet.
        self.tell(KeyKind::Rsa, key).map_err(|why| crypto(&why))?;
        Ok(key)
    }

    fn tell(&self, kind: KeyKind, key: &LeafKey) -> Result<(), String> {
        match &self.desk {
            Desk::Here(issuer) => {
                let mut issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
                issuer.take_key(kind, &key.public).map_err(|why| format!("{why:?}"))
            }
            Desk::Process(keeper) => {
                keeper.take_key(kind, key.public.clone());
                Ok(())
            }
        }
    }
}

fn issue(issuer: &Mutex<Issuer>, order: &Order, now: Now) -> Result<Vec<u8>, MintError> {
    let mut issuer = issuer.lock().unwrap_or_else(PoisonError::into_inner);
    issuer.issue(order, now).map_err(MintError::from)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
