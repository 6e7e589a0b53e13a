//! The memory tier: stored responses in shards, each with its own lock.
//!
//! A hit takes one lock for as long as a map is looked up in, and allocates nothing. The tier knows
//! keys, sizes and labels, not whether a response may be used. It gives way when fetches need the
//! memory. Called by the store.

mod entry;
mod node;
mod queue;
mod shard;
#[cfg(test)]
mod tests;

use crate::budget::{Budget, ByteCharge, ByteClass, CacheYield};
use crate::recent::RecentKeys;
use disk_store::{CacheKey, KeyHash};
pub use entry::{EntryContent, FiledHead, StoredEntry};
pub(crate) use shard::EntrySeen;
use shard::MemoryShard;
pub use shard::{NotKept, VARIANTS_MAX};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shards at most; a power of two.
const SHARDS_MAX: u64 = 64;
/// A shard is not made smaller than this, in bytes: half of one is the largest thing it keeps.
const SHARD_BYTES_MIN: u64 = 16 << 20;
/// Shards for each core, so that two cores seldom meet.
const SHARDS_A_CORE: u64 = 4;
/// One fingerprint of the past for so many bytes of the limit: as many as there are entries of a
/// common size.
const GHOST_PART: u64 = 4 << 10;
/// Entries a purge looks at before it lets hits pass.
const SWEEP: usize = 1024;

/// Entries, and the bytes they take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStock {
    /// Stored responses.
    pub entries: u64,
    /// Bytes they take.
    pub bytes: u64,
    /// Number that made room for others since the start.
    pub evicted: u64,
}

/// The tier.
pub(crate) struct MemoryTier {
    budget: Arc<Budget>,
    shards: Box<[Mutex<MemoryShard>]>,
    /// The shard that gives way next.
    next_shard: AtomicUsize,
    evicted: AtomicU64,
    _tables: ByteCharge,
}

impl MemoryTier {
    /// An empty tier that keeps what the account leaves to it.
    pub(crate) fn new(budget: &Arc<Budget>, cores: u64) -> Arc<Self> {
        let most = (cores * SHARDS_A_CORE).next_power_of_two().min(SHARDS_MAX);
        let fitting = (budget.limit() / SHARD_BYTES_MIN).max(1);
        let count = most.min(1 << fitting.ilog2());
        let ghosts = (budget.limit() / count / GHOST_PART) as usize;
        let shards = (0..count).map(|_| Mutex::new(MemoryShard::new(ghosts))).collect();
        let tables = budget.charge(ByteClass::Heads, count * (RecentKeys::cost(ghosts) + 256));
        let tier = Arc::new(Self {
            budget: Arc::clone(budget),
            shards,
            next_shard: AtomicUsize::new(0),
            evicted: AtomicU64::new(0),
            _tables: tables,
        });
        let weak = Arc::downgrade(&tier);
        budget.yields_by(weak);
        tier
    }

    /// The variants under a key, the newest first. The first alone costs no allocation.
    pub(crate) fn find(&self, key: &CacheKey) -> Option<(Arc<StoredEntry>, Vec<Arc<StoredEntry>>)> {
        let shard = self.shard(key.hash());
        let mut variants = shard.variants(key);
        let first = Arc::clone(variants.next()?);
        Some((first, variants.cloned().collect()))
    }

    /// All that is kept under a hash, the newest first.
    pub(crate) fn of_hash(&self, hash: KeyHash) -> Vec<Arc<StoredEntry>> {
        self.shard(hash).under(hash).cloned().collect()
    }

    /// Keeps an entry in place of the same variant.
    pub(crate) fn insert(&self, entry: &Arc<StoredEntry>, seen: EntrySeen) -> Result<(), NotKept> {
        // Its bytes are counted as on their way until it is kept; they are the tier's to spend.
        let limit = self.limit() + entry.cost() / self.shards.len() as u64;
        let mut gone = Vec::new();
        let kept = {
            let mut shard = self.shard(entry.key().hash());
            // Counted within the lock: whoever evicts it at once must find it counted.
            entry.move_to(ByteClass::Cache);
            shard.insert(Arc::clone(entry), seen, limit, &mut gone)
        };
        if kept.is_err() {
            entry.move_to(ByteClass::Windows);
        }
        self.account_evicted(&gone);
        kept
    }

    /// Puts an entry with the same body in the place of another. Says whether that was still there.
    pub(crate) fn freshen(&self, old: &Arc<StoredEntry>, new: &Arc<StoredEntry>) -> bool {
        let replaced = {
            let mut shard = self.shard(old.key().hash());
            let replaced = shard.replace(old, Arc::clone(new));
            // Counted within the lock, as in `insert`. Otherwise the body is whose it was before.
            if replaced.is_some() {
                new.move_to(ByteClass::Cache);
            }
            replaced
        };
        // The body is the new one's; the old head is counted out when its last reader is done.
        if let Some(old) = &replaced {
            old.charge().move_to(ByteClass::Heads);
        }
        replaced.is_some()
    }

    /// Takes an entry out. Says whether it was still there.
    pub(crate) fn remove(&self, entry: &Arc<StoredEntry>) -> bool {
        let gone = self.shard(entry.key().hash()).remove(entry);
        release(gone.as_slice());
        gone.is_some()
    }

    /// Gives every entry that `wanted` picks to `each`, without a lock, a part of a shard at a
    /// time.
    pub(crate) fn sweep(
        &self,
        wanted: impl Fn(&StoredEntry) -> bool,
        mut each: impl FnMut(Arc<StoredEntry>),
    ) {
        for shard in &self.shards {
            let mut from = Some(0);
            while let Some(place) = from {
                let mut found = Vec::new();
                from = lock(shard).select(place, SWEEP, &wanted, &mut found);
                found.into_iter().for_each(&mut each);
            }
        }
    }

    /// Entries and bytes.
    pub(crate) fn usage(&self) -> MemoryStock {
        let mut stock =
            MemoryStock { evicted: self.evicted.load(Ordering::Relaxed), ..MemoryStock::default() };
        for shard in &self.shards {
            let shard = lock(shard);
            stock.entries += shard.len() as u64;
            stock.bytes += shard.bytes();
        }
        stock
    }

    /// The longest body that has a chance to be kept, in bytes.
    pub(crate) fn body_bytes_max(&self) -> u64 {
        self.limit() / 2
    }

    /// Returns what one shard may hold now, in bytes.
    fn limit(&self) -> u64 {
        self.budget.cache_limit() / self.shards.len() as u64
    }

    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, MemoryShard> {
        // The low bits choose the place in the shard's map.
        let number = (hash.0 >> 64) as usize & (self.shards.len() - 1);
        lock(&self.shards[number])
    }

    /// Takes account of what was evicted.
    fn account_evicted(&self, gone: &[Arc<StoredEntry>]) {
        self.evicted.fetch_add(gone.len() as u64, Ordering::Relaxed);
        release(gone);
    }
}

impl CacheYield for MemoryTier {
    fn release(&self, bytes: u64) {
        let limit = self.limit();
        let mut wanted = bytes;
        for _ in 0..self.shards.len() {
            let number = self.next_shard.fetch_add(1, Ordering::Relaxed) % self.shards.len();
            let mut gone = Vec::new();
            {
                let mut shard = lock(&self.shards[number]);
                let target = shard.bytes().saturating_sub(wanted);
                let before = shard.bytes();
                shard.shrink(target, limit, &mut gone);
                wanted = wanted.saturating_sub(before - shard.bytes());
            }
            self.account_evicted(&gone);
            if wanted == 0 {
                return;
            }
        }
    }
}

fn lock(shard: &Mutex<MemoryShard>) -> MutexGuard<'_, MemoryShard> {
    // A panic under it would be a mistake in this module; what it left is still a cache.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets entries go; what still has readers is held for them alone from now on.
fn release(gone: &[Arc<StoredEntry>]) {
    for entry in gone {
        entry.move_to(ByteClass::Windows);
    }
}
