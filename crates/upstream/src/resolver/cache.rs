//! The cache of answers: what was asked, in wire form, to the answer and when it came.
//!
//! It is bounded in bytes, grows as it is used, and never drops an entry for its age alone: an old
//! answer is what is left when every upstream is gone (RFC 8767). A look-up allocates nothing and
//! locks one of many shards for reading. Called from every DNS thread through
//! [`super::Resolver::cached`].

use super::question::Cached;
use super::settings::CacheSettings;
use dns_wire::Answer;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use vocab::Now;

/// What an entry takes beside its key and answer: the cache's own slots, three allocations, and
/// what the allocator keeps around them.
const ENTRY_OVERHEAD_BYTES: usize = 192;
/// A guess from which the cache chooses the number of its shards.
const ENTRY_TYPICAL_BYTES: u64 = 512;
/// After a failed renewal, the stale answer is given at once for so long (RFC 8767 §5 suggests
/// 30 s between tries).
const RENEW_AGAIN_MS: u64 = 30_000;
/// Answers of a shorter life, in seconds, are not prefetched: they would be for ever.
const PREFETCH_TTL_MIN_S: u32 = 10;
/// The last part of an answer's life in which a use of it renews it: one tenth.
const PREFETCH_PART: u64 = 10;
/// Counters are spread so that threads do not fight over one cache line.
const COUNTER_STRIPES: usize = 16;

pub(super) struct AnswerCache {
    entries: Cache<Box<[u8]>, Arc<Entry>, Weigh>,
    /// How long an answer may be used past its time.
    stale_ms: AtomicU64,
    prefetch: AtomicU64,
    counters: [Stripe; COUNTER_STRIPES],
}

struct Entry {
    answer: Arc<Answer>,
    stored_ms: u64,
    /// Until then nobody need try to renew it: a try has failed, or is under way.
    quiet_until_ms: AtomicU64,
    /// Whether the last try to renew it failed.
    failing: AtomicU64,
}

#[derive(Clone)]
struct Weigh;

impl Weighter<Box<[u8]>, Arc<Entry>> for Weigh {
    fn weight(&self, key: &Box<[u8]>, entry: &Arc<Entry>) -> u64 {
        (key.len() + entry.answer.memory() + ENTRY_OVERHEAD_BYTES) as u64
    }
}

#[derive(Default)]
#[repr(align(64))]
struct Stripe {
    hits: AtomicU64,
    misses: AtomicU64,
    stale: AtomicU64,
}

/// What the cache says, and whether the answer should be looked up again in the background.
pub(super) struct Looked {
    pub(super) cached: Cached,
    pub(super) renew: Renew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Renew {
    Now,
    No,
}

/// The state of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Answers held.
    pub entries: usize,
    /// Memory they take, in bytes, as reckoned.
    pub bytes: u64,
    /// Memory they may take, in bytes.
    pub bytes_max: u64,
    /// Questions answered from it since the start.
    pub hits: u64,
    /// Questions not answered from it.
    pub misses: u64,
    /// Questions answered from it past the answer's time, here or by the resolver.
    pub stale: u64,
}

impl AnswerCache {
    pub(super) fn new(settings: &CacheSettings) -> Self {
        let bytes = settings.size.bytes();
        let estimated = usize::try_from(bytes / ENTRY_TYPICAL_BYTES).unwrap_or(usize::MAX);
        let cache = Self {
            entries: Cache::with_weighter(estimated, bytes, Weigh),
            stale_ms: AtomicU64::new(0),
            prefetch: AtomicU64::new(0),
            counters: Default::default(),
        };
        cache.configure(settings);
        cache
    }

    /// Takes other settings and keeps what it holds, as far as that still fits.
    pub(super) fn configure(&self, settings: &CacheSettings) {
        self.entries.set_capacity(settings.size.bytes());
        let stale = u64::try_from(settings.stale.0.0.as_millis()).unwrap_or(u64::MAX);
        self.stale_ms.store(stale, Ordering::Relaxed);
        self.prefetch.store(settings.prefetch.into(), Ordering::Relaxed);
    }

    pub(super) fn look(&self, key: &[u8], now: Now) -> Looked {
        let nothing = Looked { cached: Cached::Miss, renew: Renew::No };
        let stripe = self.stripe();
        let Some(entry) = self.entries.get(key) else {
            stripe.misses.fetch_add(1, Ordering::Relaxed);
            return nothing;
        };
        let age_ms = entry.age_ms(now);
        let life_ms = u64::from(entry.answer.ttl()) * 1000;
        let seconds = (age_ms / 1000) as u32;
        if age_ms < life_ms {
            stripe.hits.fetch_add(1, Ordering::Relaxed);
            let renew = self.wants_prefetch(&entry, life_ms - age_ms, now);
            let cached = Cached::Fresh { answer: Arc::clone(&entry.answer), age_s: seconds };
            return Looked { cached, renew };
        }
        let failing = entry.failing.load(Ordering::Relaxed) != 0
            && now.mono_ms < entry.quiet_until_ms.load(Ordering::Relaxed);
        if failing && self.may_be_stale(&entry, now) {
            stripe.stale.fetch_add(1, Ordering::Relaxed);
            let cached = Cached::Stale { answer: Arc::clone(&entry.answer), age_s: seconds };
            return Looked { cached, renew: Renew::No };
        }
        stripe.misses.fetch_add(1, Ordering::Relaxed);
        nothing
    }

    fn wants_prefetch(&self, entry: &Entry, left_ms: u64, now: Now) -> Renew {
        let ttl = entry.answer.ttl();
        if left_ms > u64::from(ttl) * 1000 / PREFETCH_PART
            || ttl < PREFETCH_TTL_MIN_S
            || !entry.answer.is_definite()
            || self.prefetch.load(Ordering::Relaxed) == 0
        {
            return Renew::No;
        }
        let quiet = entry.quiet_until_ms.load(Ordering::Relaxed);
        // Whoever moves the mark is the one to renew.
        let claimed = quiet <= now.mono_ms
            && entry
                .quiet_until_ms
                .compare_exchange(
                    quiet,
                    now.mono_ms + RENEW_AGAIN_MS,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if claimed { Renew::Now } else { Renew::No }
    }

    fn may_be_stale(&self, entry: &Entry, now: Now) -> bool {
        let life_ms = u64::from(entry.answer.ttl()) * 1000;
        let past_ms = entry.age_ms(now).saturating_sub(life_ms);
        past_ms < self.stale_ms.load(Ordering::Relaxed) && entry.answer.is_definite()
    }

    /// The answer for `key` in its time, without counting: for a second look.
    pub(super) fn fresh(&self, key: &[u8], now: Now) -> Option<(Arc<Answer>, u32)> {
        let entry = self.entries.peek(key)?;
        let age_ms = entry.age_ms(now);
        (age_ms < u64::from(entry.answer.ttl()) * 1000)
            .then(|| (Arc::clone(&entry.answer), (age_ms / 1000) as u32))
    }

    /// The answer for `key` whatever its age, if it may still be used.
    pub(super) fn stale(&self, key: &[u8], now: Now) -> Option<(Arc<Answer>, u32)> {
        let entry = self.entries.peek(key)?;
        self.may_be_stale(&entry, now)
            .then(|| (Arc::clone(&entry.answer), (entry.age_ms(now) / 1000) as u32))
    }

    /// Notes that a stale answer was given.
    pub(super) fn count_stale(&self, given: usize) {
        self.stripe().stale.fetch_add(given as u64, Ordering::Relaxed);
    }

    /// Notes that the answer for `key` could not be renewed.
    pub(super) fn not_renewed(&self, key: &[u8], now: Now) {
        if let Some(entry) = self.entries.peek(key) {
            entry.quiet_until_ms.store(now.mono_ms + RENEW_AGAIN_MS, Ordering::Relaxed);
            entry.failing.store(1, Ordering::Relaxed);
        }
    }

    /// Keeps `answer`, unless it says that it must not be kept.
    pub(super) fn store(&self, key: Box<[u8]>, answer: &Arc<Answer>, now: Now) {
        if answer.ttl() == 0 || self.entries.capacity() == 0 {
            return;
        }
        let entry = Entry {
            answer: Arc::clone(answer),
            stored_ms: now.mono_ms,
            quiet_until_ms: AtomicU64::new(0),
            failing: AtomicU64::new(0),
        };
        self.entries.insert(key, Arc::new(entry));
    }

    pub(super) fn clear(&self) {
        self.entries.clear();
    }

    pub(super) fn stats(&self) -> CacheStats {
        let sum = |count: fn(&Stripe) -> &AtomicU64| {
            self.counters.iter().map(|it| count(it).load(Ordering::Relaxed)).sum()
        };
        CacheStats {
            entries: self.entries.len(),
            bytes: self.entries.weight(),
            bytes_max: self.entries.capacity(),
            hits: sum(|it| &it.hits),
            misses: sum(|it| &it.misses),
            stale: sum(|it| &it.stale),
        }
    }

    fn stripe(&self) -> &Stripe {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local!(static MINE: Cell<usize> = const { Cell::new(usize::MAX) });
        let mine = MINE.with(|mine| {
            if mine.get() == usize::MAX {
                mine.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            mine.get()
        });
        &self.counters[mine % COUNTER_STRIPES]
    }
}

impl Entry {
    fn age_ms(&self, now: Now) -> u64 {
        now.mono_ms.saturating_sub(self.stored_ms)
    }
}
