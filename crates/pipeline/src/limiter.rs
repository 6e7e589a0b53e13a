//! How often somebody may do something: token buckets in a table of fixed size.
//!
//! A bucket is one word, a short mark of whom it belongs to and the moment until which it is in
//! debt, so it changes in one step and no two threads ever spend the same token. The table neither
//! grows nor allocates, and knows no clock. Called by the matcher `rate_limiter` and, for every
//! query, by the DNS door's guard.

use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// Buckets of one table: half a mebibyte. When all eight places that a newcomer may take are held,
/// the bucket with the least debt is forgotten, which gives its owner no more than that debt.
pub const BUCKETS_MAX: usize = 65_536;
/// Longest that a bucket may take from empty to full, in milliseconds: a day.
pub const REFILL_MS_MAX: u64 = 86_400_000;
/// Highest rate, in a second: what one core answers.
pub const PER_SECOND_MAX: u32 = 1_000_000;

/// Buckets of a line, which is what a processor fetches at once: 64 bytes.
const SLOTS: usize = 8;
const LINES: usize = BUCKETS_MAX / SLOTS;
/// Locks that newcomers take, so that none gets two buckets; who has one needs no lock.
const INSERT_LOCKS: usize = 64;
/// Moments are counted in 65,536ths of a millisecond, so that high rates are not rounded away.
const UNITS_PER_MS: u64 = 1 << 16;
/// They have so many bits and begin again after 49 days.
const MOMENT_BITS: u32 = 48;
const MOMENT: u64 = (1 << MOMENT_BITS) - 1;
/// Clocks of two threads are never further apart, in units: 5 s. What lies further ahead than any
/// debt and this is a moment long gone. (Whoever comes back after 49 days to these very seconds
/// may find the bucket empty that long.)
const SKEW: u64 = 5_000 * UNITS_PER_MS;
/// Times that a bucket is tried again because others changed it; then the answer is no.
const TRIES_MAX: u32 = 256;

const _: () = assert!(2 * REFILL_MS_MAX * UNITS_PER_MS + SKEW < MOMENT / 2);

/// A secret from whoever starts the program, so that nobody can aim at another's bucket.
pub type Seed = [u64; 2];

/// Holds how much, and how much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketRate {
    /// Units between two tokens.
    interval: u64,
    /// Units of debt at which the bucket is empty.
    debt_max: u64,
}

/// Why numbers make no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRate {
    /// One of them is 0.
    Zero,
    /// Over [`PER_SECOND_MAX`].
    TooFast,
    /// An empty bucket would take more than [`REFILL_MS_MAX`] to fill.
    TooSlow,
}

/// Holds how much of an address tells clients apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientPrefixes {
    /// Leading bits of an IPv4 address; over 32 is 32.
    pub ipv4: u8,
    /// Leading bits of an IPv6 address; over 128 is 128.
    pub ipv6: u8,
}

/// Tells what a bucket that is empty is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenEmpty {
    /// Nothing: what is refused costs nothing.
    Free,
    /// As much as ever, until it is so many milliseconds further in debt, at most
    /// [`REFILL_MS_MAX`]: who goes on stays refused.
    Charged(u64),
}

/// Tells whether a token was there to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenOutcome {
    /// It was.
    Yes,
    /// The bucket is empty.
    No,
}

/// Holds how far a bucket is in debt once a token was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketDebt(u64);

/// The buckets.
pub struct LimiterBuckets {
    lines: Box<[BucketLine]>,
    insert_locks: [Mutex<()>; INSERT_LOCKS],
    seed: Seed,
}

#[repr(align(64))]
struct BucketLine([AtomicU64; SLOTS]);

/// Queries of clients, by their addresses' prefixes.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    buckets: Arc<LimiterBuckets>,
    rate: BucketRate,
    prefixes: ClientPrefixes,
}

impl BucketRate {
    /// `count` in `per_ms` milliseconds, and `burst` at once after a rest.
    pub fn new(count: u32, per_ms: u32, burst: u32) -> Result<Self, BadRate> {
        let (count, per_ms, burst) = (u64::from(count), u64::from(per_ms), u64::from(burst));
        if count == 0 || per_ms == 0 || burst == 0 {
            return Err(BadRate::Zero);
        }
        if count * 1000 > per_ms * u64::from(PER_SECOND_MAX) {
            return Err(BadRate::TooFast);
        }
        // Rounded up: never more than was asked for.
        let interval = (per_ms * UNITS_PER_MS).div_ceil(count);
        match interval.checked_mul(burst) {
            Some(debt_max) if debt_max <= REFILL_MS_MAX * UNITS_PER_MS => {
                Ok(Self { interval, debt_max })
            }
            _ => Err(BadRate::TooSlow),
        }
    }

    /// `count` in a second.
    pub fn per_second(count: u32, burst: u32) -> Result<Self, BadRate> {
        Self::new(count, 1000, burst)
    }

    /// Microseconds between two tokens, rounded up.
    pub fn interval_us(&self) -> u64 {
        (self.interval * 1000).div_ceil(UNITS_PER_MS)
    }

    /// Tokens that a full bucket holds.
    pub fn burst(&self) -> u64 {
        self.debt_max / self.interval
    }

    /// Tokens that can be taken at once.
    pub fn left(&self, debt: BucketDebt) -> u64 {
        self.debt_max.saturating_sub(debt.0) / self.interval
    }

    /// Milliseconds until a token can be taken; 0 where one can.
    pub fn wait_ms(&self, debt: BucketDebt) -> u64 {
        (debt.0 + self.interval).saturating_sub(self.debt_max).div_ceil(UNITS_PER_MS)
    }

    /// Milliseconds until a bucket is full; of an empty one, where no debt is told.
    pub fn refill_ms(&self, debt: Option<BucketDebt>) -> u64 {
        debt.map_or(self.debt_max, |debt| debt.0).div_ceil(UNITS_PER_MS)
    }

    /// The debt after one more token, and whether that was still to be had.
    fn spend(&self, debt: u64, empty: WhenEmpty) -> (u64, TokenOutcome) {
        let next = debt + self.interval;
        if next <= self.debt_max {
            return (next, TokenOutcome::Yes);
        }
        match empty {
            WhenEmpty::Free => (debt, TokenOutcome::No),
            WhenEmpty::Charged(_) => (next.min(self.most(empty)).max(debt), TokenOutcome::No),
        }
    }

    /// The deepest debt that there can be.
    fn most(&self, empty: WhenEmpty) -> u64 {
        match empty {
            WhenEmpty::Free => self.debt_max,
            WhenEmpty::Charged(ms) => self.debt_max + ms.min(REFILL_MS_MAX) * UNITS_PER_MS,
        }
    }
}

impl LimiterBuckets {
    /// Full ones.
    pub fn new(seed: Seed) -> Self {
        let line = || BucketLine([const { AtomicU64::new(0) }; SLOTS]);
        Self {
            lines: std::iter::repeat_with(line).take(LINES).collect(),
            insert_locks: [const { Mutex::new(()) }; INSERT_LOCKS],
            seed,
        }
    }

    /// A hasher that nobody outside can foresee, for [`LimiterBuckets::take`].
    pub fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.seed[0], self.seed[1])
    }

    /// Takes a token from the bucket of whoever `hash` (of [`LimiterBuckets::hasher`]) stands for.
    /// Two who share 29 bits of it share a bucket.
    pub fn take(&self, hash: u64, rate: &BucketRate, empty: WhenEmpty, now: Now) -> TokenOutcome {
        self.take_with_debt(hash, rate, empty, now).0
    }

    /// The same, and the debt that the bucket is in afterwards.
    pub fn take_with_debt(
        &self,
        hash: u64,
        rate: &BucketRate,
        empty: WhenEmpty,
        now: Now,
    ) -> (TokenOutcome, BucketDebt) {
        let at = hash as usize % LINES;
        let line = &self.lines[at];
        // No bucket is marked 0, which is what an unused one says.
        let mark = (hash >> MOMENT_BITS).max(1);
        let now = now.mono_ms.wrapping_mul(UNITS_PER_MS) & MOMENT;
        let most = rate.most(empty);
        for _ in 0..TRIES_MAX {
            let Some((slot, word)) = line.find(mark) else {
                let _gate = self.insert_locks[at % INSERT_LOCKS]
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                match line.admit(mark, rate, now, most) {
                    Some(taken) => return (taken, BucketDebt(rate.interval)),
                    None => continue,
                }
            };
            let (debt, taken) = rate.spend(debt(word, now, most), empty);
            let next = mark << MOMENT_BITS | (now + debt) & MOMENT;
            if next == word || slot.replace(word, next) == BucketChange::Yes {
                return (taken, BucketDebt(debt));
            }
        }
        (TokenOutcome::No, BucketDebt(rate.debt_max))
    }
}

impl BucketLine {
    fn find(&self, mark: u64) -> Option<(&AtomicU64, u64)> {
        self.0.iter().find_map(|slot| {
            let word = slot.load(Ordering::Acquire);
            (word >> MOMENT_BITS == mark).then_some((slot, word))
        })
    }

    /// Gives `mark` a bucket and takes its first token; none if it has got one meanwhile, or if the
    /// place was changed by its owner. Only whoever holds the gate calls this.
    fn admit(&self, mark: u64, rate: &BucketRate, now: u64, most: u64) -> Option<TokenOutcome> {
        if self.find(mark).is_some() {
            return None;
        }
        let words = self.0.iter().map(|slot| (slot, slot.load(Ordering::Acquire)));
        let (slot, word) = words.min_by_key(|(_, word)| debt(*word, now, most))?;
        let first = mark << MOMENT_BITS | (now + rate.interval) & MOMENT;
        (slot.replace(word, first) == BucketChange::Yes).then_some(TokenOutcome::Yes)
    }
}

#[derive(PartialEq, Eq)]
enum BucketChange {
    Yes,
    No,
}

trait Replace {
    fn replace(&self, old: u64, new: u64) -> BucketChange;
}

impl Replace for AtomicU64 {
    fn replace(&self, old: u64, new: u64) -> BucketChange {
        match self.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => BucketChange::Yes,
            Err(_) => BucketChange::No,
        }
    }
}

/// Returns how far the moment in `word` lies ahead of `now`; 0 where it is over.
fn debt(word: u64, now: u64, most: u64) -> u64 {
    let ahead = word.wrapping_sub(now) & MOMENT;
    if ahead > most + SKEW { 0 } else { ahead }
}

impl ClientPrefixes {
    /// Feeds the family and the leading bits of `client` to `hasher`. An IPv4 address mapped into
    /// IPv6 counts as IPv4.
    pub fn feed(self, client: IpAddr, hasher: &mut impl Hasher) {
        match client.to_canonical() {
            IpAddr::V4(v4) => {
                let cut = 32 - u32::from(self.ipv4.min(32));
                hasher.write_u8(4);
                hasher.write_u32(v4.to_bits().checked_shr(cut).unwrap_or(0));
            }
            IpAddr::V6(v6) => {
                let cut = 128 - u32::from(self.ipv6.min(128));
                hasher.write_u8(6);
                hasher.write_u128(v6.to_bits().checked_shr(cut).unwrap_or(0));
            }
        }
    }
}

impl RateLimiter {
    /// A limiter whose buckets are all full.
    pub fn new(rate: BucketRate, prefixes: ClientPrefixes, seed: Seed) -> Self {
        Self { buckets: Arc::new(LimiterBuckets::new(seed)), rate, prefixes }
    }

    /// One for other numbers with the same buckets: a reload forgives no debts.
    #[must_use]
    pub fn renewed(&self, rate: BucketRate, prefixes: ClientPrefixes) -> Self {
        Self { buckets: Arc::clone(&self.buckets), rate, prefixes }
    }

    /// True if the client may ask once more; a yes takes a token.
    pub fn allows(&self, client: IpAddr, now: Now) -> bool {
        let mut hasher = self.buckets.hasher();
        self.prefixes.feed(client, &mut hasher);
        self.buckets.take(hasher.finish(), &self.rate, WhenEmpty::Free, now) == TokenOutcome::Yes
    }
}

impl fmt::Debug for LimiterBuckets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buckets({BUCKETS_MAX})")
    }
}

impl fmt::Display for BadRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("a rate and its burst are at least 1"),
            Self::TooFast => write!(f, "a rate is at most {PER_SECOND_MAX} in a second"),
            Self::TooSlow => {
                f.write_str("the burst would take over a day to come back: write a smaller one")
            }
        }
    }
}

impl std::error::Error for BadRate {}
