//! Leases: tokens of limits that many machines share, spent here and fetched ahead of their need.
//!
//! A request takes what this machine has leased, or has it on credit until the server of the fleet
//! answers; nothing ever waits. All that was spent is charged, so that in the long run exactly the
//! rate passes. While the server is away, a rule that was chosen holds. It knows no server and no
//! clock. Asked by the doors for each request of a shared limit; filled by the live state.

mod bucket;
mod part_set;

pub use bucket::{LeaseOutcome, SharedRate};
pub use part_set::PartSet;

use bucket::LeasedBucket;
use part_set::SharedParts;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fmt;
use std::hash::Hasher;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks of the table; two requests rarely need the same.
const STRIPES: usize = 1024;
/// Buckets of a stripe, 16,384 in all: beyond it, the one that was not asked for longest is
/// forgotten here, and not at the server.
const STRIPE_MAX: usize = 16;
/// Asks that wait for the live state; beyond it none is added, and credit comes to its end.
const ASKS_MAX: usize = 65_536;
/// Time for which leased tokens are good, in milliseconds.
pub(crate) const LEASE_MS: u64 = 1_000;

/// Call that tells the live state of asks.
pub type WakeCall = Box<dyn Fn() + Send + Sync>;

/// Name of a bucket: the same at every machine, and nobody outside can foresee it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketName(pub u128);

/// Rule for shared limits while the server of the fleet is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AwayRule {
    /// Each machine has its part: the limit divided by the machines seen last.
    Divide,
    /// All requests pass.
    Open,
    /// All are refused.
    Closed,
}

/// Standing of the fleet as this machine knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetStanding {
    /// Machines, this one with them.
    pub edges: u32,
    /// Rule that holds because the server is away; none while it is there.
    pub away: Option<AwayRule>,
}

/// Ask for tokens of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAsk {
    /// The bucket.
    pub bucket: BucketName,
    /// Rate of the bucket.
    pub rate: SharedRate,
    /// Tokens that were spent on credit, and are charged.
    pub spent: u32,
    /// Tokens wanted ahead.
    pub wanted: u32,
}

/// Answer to an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseGrant {
    /// Tokens that may be spent within a second.
    pub granted: u32,
    /// Tokens that the bucket still has for anybody.
    pub left: u32,
    /// Microseconds until it has one; 0 where it has.
    pub wait_us: u64,
}

/// Buckets of shared limits as far as this machine has to do with them.
pub struct LeaseBook {
    stripes: Box<[Mutex<LeaseStripe>]>,
    asks: Mutex<Vec<LeaseAsk>>,
    /// True while the live state knows that there are asks.
    is_woken: AtomicBool,
    wake: Mutex<Option<WakeCall>>,
    edges: AtomicU32,
    /// The rule that holds, as a number; 0 while the server is there.
    away: AtomicU32,
    /// Parts whose server is away, and the rule that holds for them, as a number.
    parts_away: SharedParts,
    part_rule: AtomicU32,
    /// Counted up when the server was lost: what was asked before is not answered.
    losses: AtomicU32,
    seed: [AtomicU64; 2],
}

#[derive(Default)]
struct LeaseStripe {
    names: Vec<u128>,
    buckets: Vec<LeasedBucket>,
}

/// Maker of a bucket's name.
pub struct BucketHasher(SipHasher13);

impl Default for LeaseBook {
    fn default() -> Self {
        Self {
            stripes: std::iter::repeat_with(Mutex::default).take(STRIPES).collect(),
            asks: Mutex::default(),
            is_woken: AtomicBool::new(false),
            wake: Mutex::default(),
            edges: AtomicU32::new(1),
            away: AtomicU32::new(number(Some(AwayRule::Divide))),
            parts_away: SharedParts::default(),
            part_rule: AtomicU32::new(number(Some(AwayRule::Divide))),
            losses: AtomicU32::new(0),
            seed: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }
}

impl LeaseBook {
    /// A hasher for the name of a bucket.
    pub fn hasher(&self) -> BucketHasher {
        let [one, two] = &self.seed;
        BucketHasher(SipHasher13::new_with_keys(one.load(Relaxed), two.load(Relaxed)))
    }

    /// Takes a token of a bucket, at this moment of a clock that never goes back.
    pub fn take(&self, name: BucketName, rate: SharedRate, mono_ms: u64) -> LeaseOutcome {
        let standing = self.standing_of(name);
        match standing.away {
            Some(AwayRule::Open) => return LeaseOutcome::open(rate),
            Some(AwayRule::Closed) => return LeaseOutcome::closed(),
            Some(AwayRule::Divide) | None => {}
        }
        let losses = self.losses.load(Relaxed);
        let mut stripe = self.stripe(name);
        let bucket = stripe.bucket(name, rate, mono_ms, |forgotten| self.ask(forgotten));
        let (outcome, ask) = match standing.away {
            Some(_) => (bucket.take_alone(standing.edges, mono_ms), None),
            None => bucket.take_leased(standing.edges, losses, mono_ms),
        };
        drop(stripe);
        if let Some((spent, wanted)) = ask {
            self.ask(LeaseAsk { bucket: name, rate, spent, wanted });
        }
        outcome
    }

    /// Takes in what was granted.
    pub fn grant(&self, ask: &LeaseAsk, grant: LeaseGrant, mono_ms: u64) {
        let edges = self.edges.load(Relaxed);
        let losses = self.losses.load(Relaxed);
        let again = self.stripe(ask.bucket).find(ask.bucket).and_then(|bucket| {
            if bucket.rate() != ask.rate {
                return None;
            }
            bucket.take_grant(grant, edges, losses, mono_ms)
        });
        if let Some((spent, wanted)) = again {
            self.ask(LeaseAsk { spent, wanted, ..*ask });
        }
    }

    /// Asks that wait, so many at most.
    pub fn asks(&self, most: usize) -> Vec<LeaseAsk> {
        self.is_woken.store(false, Relaxed);
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asks.len().min(most);
        asks.drain(..count).collect()
    }

    /// Sets what is called when there are asks; it must be quick.
    pub fn wake_by(&self, wake: WakeCall) {
        *self.wake.lock().unwrap_or_else(PoisonError::into_inner) = Some(wake);
    }

    /// Sets what names of buckets are made with.
    pub fn set_seed(&self, seed: [u64; 2]) {
        for (held, new) in self.seed.iter().zip(seed) {
            held.store(new, Relaxed);
        }
    }

    /// Sets the standing.
    pub fn set_standing(&self, standing: FleetStanding) {
        self.edges.store(standing.edges.max(1), Relaxed);
        let before = self.away.swap(number(standing.away), Relaxed);
        if before == 0 && standing.away.is_some() {
            self.losses.fetch_add(1, Relaxed);
            self.asks.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Sets the parts whose server is away while others are there, and the rule for them.
    pub fn set_parts_away(&self, parts: PartSet, rule: AwayRule) {
        self.part_rule.store(number(Some(rule)), Relaxed);
        self.parts_away.set(parts);
        self.forget_asked();
    }

    /// Has every bucket ask again: what was asked may not be answered.
    pub fn forget_asked(&self) {
        self.losses.fetch_add(1, Relaxed);
    }

    /// The standing.
    pub fn standing(&self) -> FleetStanding {
        let away = rule(self.away.load(Relaxed));
        FleetStanding { edges: self.edges.load(Relaxed), away }
    }

    /// The standing for one bucket.
    fn standing_of(&self, name: BucketName) -> FleetStanding {
        let mut standing = self.standing();
        if standing.away.is_none() && self.parts_away.contains(name.part()) {
            standing.away = rule(self.part_rule.load(Relaxed));
        }
        standing
    }

    fn ask(&self, ask: LeaseAsk) {
        let mut asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        if asks.len() < ASKS_MAX {
            asks.push(ask);
        }
        drop(asks);
        if !self.is_woken.swap(true, Relaxed) {
            let wake = self.wake.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(wake) = &*wake {
                wake();
            }
        }
    }

    fn stripe(&self, name: BucketName) -> MutexGuard<'_, LeaseStripe> {
        let stripe = &self.stripes[name.0 as usize % STRIPES];
        stripe.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseStripe {
    fn find(&mut self, name: BucketName) -> Option<&mut LeasedBucket> {
        let at = self.names.iter().position(|it| *it == name.0)?;
        self.buckets.get_mut(at)
    }

    /// The bucket of this name. Where it is new and there is no room, what another one has spent is
    /// charged and the rest of it forgotten.
    fn bucket(
        &mut self,
        name: BucketName,
        rate: SharedRate,
        mono_ms: u64,
        charge: impl FnOnce(LeaseAsk),
    ) -> &mut LeasedBucket {
        if let Some(at) = self.names.iter().position(|it| *it == name.0) {
            let bucket = &mut self.buckets[at];
            bucket.follow_rate(rate, mono_ms);
            return bucket;
        }
        let fresh = LeasedBucket::new(rate, mono_ms);
        let at = if self.names.len() < STRIPE_MAX {
            self.names.push(name.0);
            self.buckets.push(fresh);
            self.names.len() - 1
        } else {
            let used = self.buckets.iter().map(LeasedBucket::used_ms).enumerate();
            let at = used.min_by_key(|(_, used)| *used).map_or(0, |(at, _)| at);
            let old = std::mem::replace(&mut self.buckets[at], fresh);
            let bucket = BucketName(std::mem::replace(&mut self.names[at], name.0));
            if let Some(spent) = old.unpaid() {
                charge(LeaseAsk { bucket, rate: old.rate(), spent, wanted: 0 });
            }
            at
        };
        &mut self.buckets[at]
    }
}

impl BucketHasher {
    /// The name.
    pub fn name(&self) -> BucketName {
        BucketName(self.0.finish128().as_u128())
    }
}

impl Hasher for BucketHasher {
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

impl fmt::Debug for LeaseBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseBook({:?})", self.standing())
    }
}

fn rule(number: u32) -> Option<AwayRule> {
    match number {
        1 => Some(AwayRule::Divide),
        2 => Some(AwayRule::Open),
        3 => Some(AwayRule::Closed),
        _ => None,
    }
}

fn number(away: Option<AwayRule>) -> u32 {
    match away {
        None => 0,
        Some(AwayRule::Divide) => 1,
        Some(AwayRule::Open) => 2,
        Some(AwayRule::Closed) => 3,
    }
}

#[cfg(test)]
mod tests;
