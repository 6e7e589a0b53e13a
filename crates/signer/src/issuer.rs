//! The holder of the authority's key: it takes orders for leaves and signs those that it may.
//!
//! It believes nobody: names are checked here, the policy asked is its own, what is excluded is
//! never signed, and no more than so many leaves are, whoever asks. It makes no leaf keys and knows
//! no connection. Called by the signer of a test or a command directly, and by the signer's process
//! for each order that comes from outside.

use crate::allowance::SigningAllowance;
use crate::audit::AuditLog;
use crate::authority::{AuthorityError, CaCertificate, CertificateAuthority, random};
use crate::bundles::{BUNDLE_BYTES_MAX, BUNDLE_NAMES_MAX};
use crate::coverage::{self, LeafCoverage};
use crate::exclusions::NameExclusions;
use crate::mint_policy::MintPolicy;
use crate::names::{self, BadName};
use crate::subject::IDENTITY_NAMES_MAX;
use rate_limit::{ClientRate, TokenBucket, TokenTaken};
use rcgen::{DnType, SubjectPublicKeyInfo};
use std::collections::HashSet;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use vocab::Now;

/// Leaves signed for everybody together. A fifth of a core at most, for 40 s; then a twentieth.
const ALL: ClientRate = ClientRate { burst: 20_000, milli_per_second: 500_000 };

/// The kind of a leaf's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyKind {
    /// ECDSA on P-256: for everybody.
    P256,
    /// RSA of 2048 bits: for clients that know no ECDSA.
    Rsa,
}

/// Tells what is to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SigningOrder {
    /// A leaf for names that the policy blocks: for those of them that it does.
    Blocked { names: Vec<LeafCoverage>, key: KeyKind },
    /// A leaf for one name of which only who orders knows that it is blocked.
    Vouched { name: String, key: KeyKind },
    /// A leaf for names and addresses of our own servers.
    Own { names: Vec<String>, addresses: Vec<IpAddr> },
}

/// Why an order was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SigningRefusal {
    BadName(BadName),
    NotBlocked,
    /// The configuration that the signer's process read gives no server of ours this name.
    NotOurName,
    Excluded,
    RateLimited,
    Failed(String),
}

/// Which names and addresses are those of our own servers.
#[derive(Clone, Debug)]
pub enum OwnServerNames {
    /// As ordered: those who order are in the same process.
    AsOrdered,
    /// These, and local addresses.
    Names(HashSet<String>),
}

/// The key, and all that decides about its use.
pub struct LeafIssuer {
    authority: CertificateAuthority,
    policy: Arc<dyn MintPolicy>,
    exclusions: NameExclusions,
    own_names: OwnServerNames,
    /// Leaves on another's word; none are signed without.
    allowance: Option<SigningAllowance>,
    audit: Option<AuditLog>,
    public_keys: [Option<SubjectPublicKeyInfo>; 2],
    all: TokenBucket,
}

impl LeafIssuer {
    /// Opens the authority in `dir`, making it if there is none, for names that `policy` permits.
    pub fn open(
        dir: &Path,
        policy: Arc<dyn MintPolicy>,
        exclusions: NameExclusions,
        now: Now,
    ) -> Result<Self, AuthorityError> {
        Ok(Self {
            authority: CertificateAuthority::open(dir, &exclusions, now.unix_secs())?,
            policy,
            exclusions,
            own_names: OwnServerNames::AsOrdered,
            allowance: None,
            audit: None,
            public_keys: [None, None],
            all: TokenBucket::full(ALL, now.mono_ms),
        })
    }

    /// Knows from now on which names are ours.
    #[must_use]
    pub fn with_own_names(mut self, ours: OwnServerNames) -> Self {
        self.own_names = ours;
        self
    }

    /// Signs on another's word from now on, as often as the file in `dir` still allows.
    pub(crate) fn allow_vouched(&mut self, dir: &Path, now: Now) -> std::io::Result<()> {
        self.allowance = Some(SigningAllowance::open(dir, now)?);
        Ok(())
    }

    /// Takes another policy's word from now on.
    #[must_use]
    pub fn with_policy(mut self, policy: Arc<dyn MintPolicy>) -> Self {
        self.policy = policy;
        self
    }

    /// Writes down what is signed from now on, in `dir`.
    pub fn open_audit_log(&mut self, dir: &Path) -> std::io::Result<()> {
        self.audit = Some(AuditLog::open(dir)?);
        Ok(())
    }

    /// The authority's certificate.
    pub fn certificate(&self) -> &CaCertificate {
        self.authority.certificate()
    }

    /// Leaves that were signed and could not be written down.
    pub(crate) fn audit_lost(&self) -> u64 {
        self.audit.as_ref().map_or(0, AuditLog::lost)
    }

    /// True if the authority is so old that it should be opened again, which renews it.
    pub(crate) fn needs_renewal(&self, now: Now) -> bool {
        now.unix_secs() >= self.certificate().renewal_secs()
    }

    /// Leaves of this kind are for this public key (`SubjectPublicKeyInfo`, DER) from now on.
    pub(crate) fn set_key(&mut self, kind: KeyKind, spki: &[u8]) -> Result<(), SigningRefusal> {
        let key = SubjectPublicKeyInfo::from_der(spki)
            .map_err(|why| SigningRefusal::Failed(why.to_string()))?;
        self.public_keys[kind as usize] = Some(key);
        Ok(())
    }

    /// Carries out an order: a leaf as DER, or why not.
    pub(crate) fn issue(
        &mut self,
        order: &SigningOrder,
        now: Now,
    ) -> Result<Vec<u8>, SigningRefusal> {
        let (names, key, why) = match order {
            SigningOrder::Blocked { names, key } => (self.blocked_of(names)?, *key, "blocked"),
            SigningOrder::Vouched { name, key } => {
                self.check_vouched(name, now)?;
                (vec![name.clone()], *key, "vouched")
            }
            SigningOrder::Own { names, addresses } => {
                self.check_own(names, addresses)?;
                (names.clone(), KeyKind::P256, "own")
            }
        };
        if self.all.take(ALL, now.mono_ms) == TokenTaken::No {
            return Err(SigningRefusal::RateLimited);
        }
        let addresses = match order {
            SigningOrder::Own { addresses, .. } => addresses.as_slice(),
            SigningOrder::Blocked { .. } | SigningOrder::Vouched { .. } => &[],
        };
        self.sign(names, addresses, key, why, now)
    }

    /// Signs a leaf for nobody, to see that it can.
    pub(crate) fn self_test(&self, now: Now) -> Result<(), SigningRefusal> {
        let failed = |why: &dyn fmt::Display| SigningRefusal::Failed(why.to_string());
        let serial = random().map_err(|why| failed(&why))?;
        let names = ["tidegate.invalid".to_owned()];
        let secs = now.unix_secs();
        let leaf = coverage::leaf(&names, &[], secs, secs, serial).map_err(|why| failed(&why))?;
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256);
        let key = key.map_err(|why| failed(&why))?;
        self.authority.sign(&leaf, &key).map(drop).map_err(|why| failed(&why))
    }

    /// The names of those that may be signed; where there is none, why the first may not.
    fn blocked_of(&self, asked: &[LeafCoverage]) -> Result<Vec<String>, SigningRefusal> {
        let bytes: usize = asked.iter().map(LeafCoverage::bytes).sum();
        if asked.len() > BUNDLE_NAMES_MAX || bytes > BUNDLE_BYTES_MAX {
            return Err(SigningRefusal::BadName(BadName::Length));
        }
        let (mut names, mut why) = (Vec::new(), SigningRefusal::NotBlocked);
        for coverage in asked.iter().rev() {
            match self.check_blocked(coverage) {
                Ok(()) => names.push(coverage.names()),
                Err(refusal) => why = refusal,
            }
        }
        if names.is_empty() { Err(why) } else { Ok(names.into_iter().rev().flatten().collect()) }
    }

    fn check_blocked(&self, coverage: &LeafCoverage) -> Result<(), SigningRefusal> {
        let (LeafCoverage::Exact(name) | LeafCoverage::WithWildcard(name)) = coverage;
        self.check_name(name, names::blockable_name)?;
        let is_blocked = match coverage {
            LeafCoverage::Exact(name) => self.policy.may_mint_alone(name),
            LeafCoverage::WithWildcard(base) => {
                let below = format!("x.{base}");
                coverage::wildcard_base(&below) == Some(base)
                    && !self.exclusions.covers_below(base)
                    && coverage::is_wholly_permitted(base, self.policy.as_ref())
            }
        };
        if is_blocked { Ok(()) } else { Err(SigningRefusal::NotBlocked) }
    }

    fn check_vouched(&mut self, name: &str, now: Now) -> Result<(), SigningRefusal> {
        self.check_name(name, names::blockable_name)?;
        let allowance = self.allowance.as_mut().ok_or(SigningRefusal::NotBlocked)?;
        match allowance.take(now) {
            TokenTaken::Yes => Ok(()),
            TokenTaken::No => Err(SigningRefusal::RateLimited),
        }
    }

    /// A host name in the one form that names have here, as `read` gives it, and not excluded.
    fn check_name(
        &self,
        name: &str,
        read: fn(&str) -> Result<String, BadName>,
    ) -> Result<(), SigningRefusal> {
        let host = read(name).map_err(SigningRefusal::BadName)?;
        if host != name {
            return Err(SigningRefusal::BadName(BadName::Label));
        }
        if self.exclusions.covers(name) { Err(SigningRefusal::Excluded) } else { Ok(()) }
    }

    fn check_own(&self, names: &[String], addresses: &[IpAddr]) -> Result<(), SigningRefusal> {
        if !(1..=IDENTITY_NAMES_MAX).contains(&(names.len() + addresses.len())) {
            return Err(SigningRefusal::BadName(BadName::Length));
        }
        for name in names {
            self.check_name(name, names::own_name)?;
            let is_ours = match &self.own_names {
                OwnServerNames::AsOrdered => true,
                OwnServerNames::Names(ours) => ours.contains(name),
            };
            if !is_ours {
                return Err(SigningRefusal::NotOurName);
            }
        }
        let may = |address: &IpAddr| match self.own_names {
            OwnServerNames::AsOrdered => true,
            OwnServerNames::Names(_) => self.exclusions.permit(*address),
        };
        if addresses.iter().all(may) { Ok(()) } else { Err(SigningRefusal::Excluded) }
    }

    fn sign(
        &mut self,
        names: Vec<String>,
        addresses: &[IpAddr],
        key: KeyKind,
        why: &str,
        now: Now,
    ) -> Result<Vec<u8>, SigningRefusal> {
        let failed = |why: &dyn fmt::Display| SigningRefusal::Failed(why.to_string());
        let Some(public_key) = &self.public_keys[key as usize] else {
            return Err(SigningRefusal::Failed("the key of such leaves is not known yet".into()));
        };
        let serial = random().map_err(|why| failed(&why))?;
        let until = self.certificate().valid_secs.end;
        let mut params = coverage::leaf(&names, addresses, now.unix_secs(), until, serial)
            .map_err(|why| failed(&why))?;
        if why == "own" {
            // Read by nobody but GnuTLS, which takes a certificate without any subject for broken.
            params.distinguished_name.push(DnType::CommonName, "Tidegate");
        }
        let leaf = self.authority.sign(&params, public_key).map_err(|why| failed(&why))?;
        if let Some(audit) = &mut self.audit {
            let mut all = names;
            all.extend(addresses.iter().map(ToString::to_string));
            let serial = params.serial_number.as_ref().map_or(&[][..], AsRef::as_ref);
            audit.note(now.unix_secs(), why, &all, serial);
        }
        Ok(leaf.to_vec())
    }
}

impl fmt::Debug for LeafIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("ours", &self.own_names).finish_non_exhaustive()
    }
}
