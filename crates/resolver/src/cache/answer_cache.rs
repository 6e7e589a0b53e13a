//! One cache of answers: what was asked, in wire form, to the answer and when it came.
//!
//! It is bounded in bytes, grows as it is used, and never drops an entry for its age alone: an old
//! answer is what is left when every upstream is gone (serve-stale, RFC 8767). A look-up allocates
//! nothing and locks one of many shards for reading. Called from every DNS thread through
//! [`crate::Resolver::cached`].

use super::key::plain_key;
use crate::question::{CacheLook, CachedState, RenewAdvice};
use crate::settings::cache::{CacheSettings, StaleMode};
use dns_wire::{KeyBuffer, NEGATIVE_TTL_MAX_S, TTL_MAX_S, WireAnswer, reply};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use vocab::Now;

/// What an entry takes beside its key and answer: the cache's own slots, three allocations, and
/// what the allocator keeps around them.
const ENTRY_OVERHEAD_BYTES: usize = 192;
/// A guess from which the cache chooses the number of its shards.
const ENTRY_TYPICAL_BYTES: u64 = 512;
/// After a failed renewal, the stale answer is given at once for so long (RFC 8767 §5 suggests
/// 30 s between tries).
const RENEW_AGAIN_MS: u64 = 30_000;
/// Whoever is told to renew has so long before another is told: longer than any one try takes, as a
/// rule.
const RENEW_LEASE_MS: u64 = 10_000;
/// Answers of a shorter life, in seconds, are not prefetched: they would be for ever.
const PREFETCH_TTL_MIN_S: u32 = 10;
/// The last part of an answer's life in which a use of it renews it: one tenth.
const PREFETCH_PART: u64 = 10;
/// Counters are spread so that threads do not fight over one cache line.
const COUNTER_STRIPES: usize = 16;

/// One cache of answers.
pub(crate) struct AnswerCache {
    entries: Cache<Box<[u8]>, Arc<AnswerEntry>, EntryWeigher>,
    config: CacheConfig,
    counters: [CacheStripe; COUNTER_STRIPES],
}

/// Settings as every thread reads them.
#[derive(Default)]
struct CacheConfig {
    /// Bytes it may take.
    size: AtomicU64,
    /// Time for which an answer may be used past its time.
    stale_ms: AtomicU64,
    /// Time for which clients wait before they get such an answer.
    stale_after_ms: AtomicU64,
    stale_at_once: AtomicBool,
    prefetch: AtomicBool,
    min_ttl_s: AtomicU32,
    kept_ttl_min_s: AtomicU32,
    max_ttl_s: AtomicU32,
    max_negative_ttl_s: AtomicU32,
}

/// An answer, kept.
pub(crate) struct AnswerEntry {
    pub(crate) answer: Arc<WireAnswer>,
    /// When it came, by the clock that never goes back; before its zero if that was before the
    /// machine started.
    stored_ms: i64,
    /// Until then nobody need try to renew it: a try has failed, or is under way.
    no_renewal_until_ms: AtomicU64,
    /// True if the last try to renew it failed.
    failing: AtomicBool,
}

/// An answer and the seconds since it came.
pub(crate) type Kept = (Arc<WireAnswer>, u32);

/// Tells what an engine finds when it looks once more.
pub(crate) enum SecondLook {
    /// One that came for another meanwhile.
    Fresh(Kept),
    /// One that may serve if no newer one can be had.
    Stale(Kept),
    Miss,
}

#[derive(Clone)]
struct EntryWeigher;

impl Weighter<Box<[u8]>, Arc<AnswerEntry>> for EntryWeigher {
    fn weight(&self, key: &Box<[u8]>, entry: &Arc<AnswerEntry>) -> u64 {
        (key.len() + entry.answer.memory() + ENTRY_OVERHEAD_BYTES) as u64
    }
}

#[derive(Default)]
#[repr(align(64))]
struct CacheStripe {
    hits: AtomicU64,
    misses: AtomicU64,
    stale: AtomicU64,
}

/// The state of one cache, or of several together.
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
    pub(crate) fn new(settings: &CacheSettings) -> Self {
        let bytes = settings.size.bytes();
        let estimated = usize::try_from(bytes / ENTRY_TYPICAL_BYTES).unwrap_or(usize::MAX);
        let cache = Self {
            entries: Cache::with_weighter(estimated, bytes, EntryWeigher),
            config: CacheConfig::default(),
            counters: Default::default(),
        };
        cache.configure(settings);
        cache
    }

    /// Takes other settings and keeps what it holds, as far as that still fits.
    pub(crate) fn configure(&self, settings: &CacheSettings) {
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let seconds = |span: Duration| u32::try_from(span.as_secs()).unwrap_or(TTL_MAX_S);
        let it = &self.config;
        self.entries.set_capacity(settings.size.bytes());
        it.size.store(settings.size.bytes(), Ordering::Relaxed);
        it.stale_ms.store(millis(settings.stale.0.0), Ordering::Relaxed);
        it.stale_after_ms.store(millis(settings.stale_after.0.0), Ordering::Relaxed);
        let at_once = settings.stale_mode == StaleMode::AtOnce;
        it.stale_at_once.store(at_once, Ordering::Relaxed);
        it.prefetch.store(settings.prefetch, Ordering::Relaxed);
        it.min_ttl_s.store(seconds(settings.min_ttl.0.0), Ordering::Relaxed);
        it.kept_ttl_min_s.store(seconds(settings.kept_ttl_min.0.0), Ordering::Relaxed);
        it.max_ttl_s.store(seconds(settings.max_ttl.0.0), Ordering::Relaxed);
        let negative = seconds(settings.max_negative_ttl.0.0);
        it.max_negative_ttl_s.store(negative, Ordering::Relaxed);
    }

    /// Returns how long clients wait for an upstream before they get an answer past its time.
    pub(crate) fn stale_after(&self) -> Duration {
        Duration::from_millis(self.config.stale_after_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn look(&self, key: &[u8], now: Now) -> CacheLook {
        let stripe = self.stripe();
        let entry = self.entries.get(key);
        if let Some(entry) = &entry {
            let age_ms = entry.age_ms(now);
            if age_ms < entry.life_ms() {
                stripe.hits.fetch_add(1, Ordering::Relaxed);
                let renew = if self.may_prefetch(entry, entry.life_ms() - age_ms) {
                    entry.claim(now)
                } else {
                    RenewAdvice::No
                };
                let cached =
                    CachedState::Fresh { answer: Arc::clone(&entry.answer), age_s: secs(age_ms) };
                return CacheLook { cached, renew };
            }
            let at_once = self.config.stale_at_once.load(Ordering::Relaxed);
            if (at_once || entry.is_failing(now)) && self.may_be_stale(entry, now) {
                stripe.stale.fetch_add(1, Ordering::Relaxed);
                let renew = if at_once { entry.claim(now) } else { RenewAdvice::No };
                let cached =
                    CachedState::Stale { answer: Arc::clone(&entry.answer), age_s: secs(age_ms) };
                return CacheLook { cached, renew };
            }
        }
        stripe.misses.fetch_add(1, Ordering::Relaxed);
        CacheLook { cached: CachedState::Miss, renew: RenewAdvice::No }
    }

    /// True if a use of `entry`, which has `left_ms` to live, is a reason to renew it.
    fn may_prefetch(&self, entry: &AnswerEntry, left_ms: u64) -> bool {
        left_ms <= entry.life_ms() / PREFETCH_PART
            && entry.answer.ttl() >= PREFETCH_TTL_MIN_S
            && entry.answer.is_definite()
            && self.config.prefetch.load(Ordering::Relaxed)
    }

    fn may_be_stale(&self, entry: &AnswerEntry, now: Now) -> bool {
        let past_ms = entry.age_ms(now).saturating_sub(entry.life_ms());
        past_ms < self.config.stale_ms.load(Ordering::Relaxed) && entry.answer.is_definite()
    }

    /// A second look, on an engine's thread and without counting. An answer that somebody was
    /// told to renew is old: whoever asks for it now is that somebody.
    pub(crate) fn recheck(&self, key: &[u8], now: Now) -> SecondLook {
        let Some(entry) = self.entries.peek(key) else { return SecondLook::Miss };
        let age_ms = entry.age_ms(now);
        let kept = (Arc::clone(&entry.answer), secs(age_ms));
        if age_ms < entry.life_ms() {
            let renewing = now.mono_ms < entry.no_renewal_until_ms.load(Ordering::Relaxed);
            return if renewing { SecondLook::Stale(kept) } else { SecondLook::Fresh(kept) };
        }
        if self.may_be_stale(&entry, now) { SecondLook::Stale(kept) } else { SecondLook::Miss }
    }

    /// The answer for `key` whatever its age, if it may still be used.
    pub(crate) fn get_any_age(&self, key: &[u8], now: Now) -> Option<Kept> {
        let entry = self.entries.peek(key)?;
        let age_ms = entry.age_ms(now);
        (age_ms < entry.life_ms() || self.may_be_stale(&entry, now))
            .then(|| (Arc::clone(&entry.answer), secs(age_ms)))
    }

    /// Notes that a stale answer was given.
    pub(crate) fn count_stale(&self, given: usize) {
        self.stripe().stale.fetch_add(given as u64, Ordering::Relaxed);
    }

    /// Notes that the answer for `key` could not be renewed.
    pub(crate) fn not_renewed(&self, key: &[u8], now: Now) {
        if let Some(entry) = self.entries.peek(key) {
            entry.no_renewal_until_ms.store(now.mono_ms + RENEW_AGAIN_MS, Ordering::Relaxed);
            entry.failing.store(true, Ordering::Relaxed);
        }
    }

    /// `answer` to a question of type `qtype` with TTLs within this cache's bounds.
    pub(crate) fn clamp_ttls(&self, answer: WireAnswer, qtype: u16) -> WireAnswer {
        let least = self.config.min_ttl_s.load(Ordering::Relaxed);
        let most = self.config.max_ttl_s.load(Ordering::Relaxed);
        let most_negative = self.config.max_negative_ttl_s.load(Ordering::Relaxed);
        // What the wire format's reader does by itself.
        if least == 0 && most >= TTL_MAX_S && most_negative >= NEGATIVE_TTL_MAX_S {
            return answer;
        }
        let positive = answer.rcode() == 0 && reply::has_type(answer.message(), qtype);
        let (least, most) = if positive { (least, most) } else { (0, most.min(most_negative)) };
        let mut message = answer.message().to_vec();
        reply::set_ttls(&mut message, |ttl| ttl.clamp(least.min(most), most));
        // Only TTLs have changed, so it is as good as it was.
        match WireAnswer::from_response(&message) {
            Ok(within) => within.with_options_of(&answer),
            Err(_) => answer,
        }
    }

    /// Keeps `answer`, unless it says that it must not be kept.
    pub(crate) fn store(&self, key: Box<[u8]>, answer: &Arc<WireAnswer>, now: Now) {
        self.store_from(key, Arc::clone(answer), now.mono_ms.cast_signed());
    }

    /// Keeps `answer` for `key` within this cache's bounds, if it answers the question in it.
    pub(crate) fn keep(&self, key: &[u8], answer: WireAnswer, now: Now) {
        let Some(plain) = plain_key(key).filter(|plain| answer.matches(KeyBuffer::question(plain)))
        else {
            return;
        };
        let answer = self.clamp_ttls(answer, qtype_of(plain));
        self.store(key.into(), &Arc::new(answer), now);
    }

    /// Keeps one that came at `stored_ms`, which may be before the clock's zero.
    pub(crate) fn store_from(&self, key: Box<[u8]>, answer: Arc<WireAnswer>, stored_ms: i64) {
        if answer.ttl() == 0 || self.config.size.load(Ordering::Relaxed) == 0 {
            return;
        }
        let least = self.config.kept_ttl_min_s.load(Ordering::Relaxed);
        if answer.ttl() < least && answer.rcode() == 0 && answer.has_answers() {
            return;
        }
        let entry = AnswerEntry {
            answer,
            stored_ms,
            no_renewal_until_ms: AtomicU64::new(0),
            failing: AtomicBool::new(false),
        };
        self.entries.insert(key, Arc::new(entry));
    }

    /// True if an answer of this age, in milliseconds, is of any use here.
    pub(crate) fn is_of_use(&self, answer: &WireAnswer, age_ms: u64) -> bool {
        let past_ms = age_ms.saturating_sub(u64::from(answer.ttl()) * 1000);
        past_ms == 0 || past_ms < self.config.stale_ms.load(Ordering::Relaxed)
    }

    /// Every key and entry, one at a time: each is copied out, and nothing stays locked.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Box<[u8]>, Arc<AnswerEntry>)> + '_ {
        self.entries.iter()
    }

    /// Forgets those whose key is `chosen`; says how many.
    pub(crate) fn forget(&self, chosen: impl Fn(&[u8]) -> bool) -> usize {
        let forgotten = Cell::new(0);
        self.entries.retain(|key, _| {
            let goes = chosen(key);
            forgotten.set(forgotten.get() + usize::from(goes));
            !goes
        });
        forgotten.get()
    }

    pub(crate) fn stats(&self) -> CacheStats {
        let sum = |count: fn(&CacheStripe) -> &AtomicU64| {
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

    fn stripe(&self) -> &CacheStripe {
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

impl AnswerEntry {
    pub(crate) fn age_ms(&self, now: Now) -> u64 {
        u64::try_from(now.mono_ms.cast_signed().saturating_sub(self.stored_ms)).unwrap_or(0)
    }

    fn life_ms(&self) -> u64 {
        u64::from(self.answer.ttl()) * 1000
    }

    fn is_failing(&self, now: Now) -> bool {
        self.failing.load(Ordering::Relaxed)
            && now.mono_ms < self.no_renewal_until_ms.load(Ordering::Relaxed)
    }

    /// Returns whoever moves the mark is the one to renew it.
    fn claim(&self, now: Now) -> RenewAdvice {
        let quiet = self.no_renewal_until_ms.load(Ordering::Relaxed);
        let claimed = quiet <= now.mono_ms
            && self
                .no_renewal_until_ms
                .compare_exchange(
                    quiet,
                    now.mono_ms + RENEW_LEASE_MS,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                )
                .is_ok();
        if claimed { RenewAdvice::Now } else { RenewAdvice::No }
    }
}

impl CacheStats {
    /// This one and `other` together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
            bytes_max: self.bytes_max + other.bytes_max,
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            stale: self.stale + other.stale,
        }
    }
}

/// The type asked for in a key, what is appended to it left out.
fn qtype_of(plain: &[u8]) -> u16 {
    let question = KeyBuffer::question(plain);
    question[question.len().saturating_sub(4)..]
        .first_chunk()
        .map_or(0, |it| u16::from_be_bytes(*it))
}

fn secs(age_ms: u64) -> u32 {
    u32::try_from(age_ms / 1000).unwrap_or(u32::MAX)
}
