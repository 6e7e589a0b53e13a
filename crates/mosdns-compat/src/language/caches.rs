//! Arguments of executors that remember or choose: `cache`, `reverse_lookup`, `fallback`.
//!
//! Called by [`super::executors`].

use super::answers::then;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::tree::ConfigSection;
use super::words::short_circuit;
use pipeline::program::{AfterAnswer, StandbyMode};
use std::time::Duration;

/// Entries of a cache or memory, at most: some gigabytes.
const ENTRIES_MAX: u64 = 1 << 24;
/// Longest time in seconds that anything is kept: a month.
const KEPT_MAX: u64 = 31 * 86400;
/// Longest time in seconds that an answer is given after its time: a week, as our own settings
/// have it.
const LAZY_MAX: u64 = 7 * 86400;

/// Longest `min_positive_ttl` in seconds: no answer lives longer here.
const MIN_POSITIVE_MAX: u64 = 86_400;

/// A cache of answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePlugin {
    /// Answers that it holds. Default 1024; mosdns takes no less.
    pub entries: u64,
    /// Time for which an answer may still be given after its time, while it is renewed. Default:
    /// not.
    pub lazy: Option<Duration>,
    /// Where its contents are kept over a restart.
    pub dump_file: Option<PlacedWord>,
    /// How often they are written. Default 10 minutes.
    pub dump_interval: Duration,
    /// Whether and how long empty answers are kept.
    pub negative: NegativeCaching,
    /// Longest time that other answers are kept.
    pub positive_max: Option<Duration>,
    /// Shortest life of other answers that are kept.
    pub positive_min: Option<Duration>,
    /// What follows a hit: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
}

/// Tells how empty answers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NegativeCaching {
    /// They are not.
    Off,
    /// For so long at most.
    AtMost(Duration),
}

/// A memory of names by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReverseLookup {
    /// Addresses that it holds. Default 65536 (mosdns), 65535 (OxiDNS).
    pub entries: u64,
    /// Whether questions for names of addresses are answered.
    pub pointers: HandlePointers,
    /// Time for which one is remembered. Default 2 hours.
    pub ttl: Duration,
}

/// Tells whether questions for names of addresses are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlePointers {
    /// They are.
    Yes,
    /// They are not.
    No,
}

/// One executor, and another in its stead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackPlugin {
    /// The tag of the first.
    pub primary: PlacedWord,
    /// The tag of the second.
    pub secondary: PlacedWord,
    /// Time that the first has. Default, and 0: 500 ms.
    pub threshold: Duration,
    /// When the second is begun.
    pub standby: StandbyMode,
    /// What follows an answer: `short_circuit` of OxiDNS.
    pub then: AfterAnswer,
}

impl CachePlugin {
    fn of(entries: u64, then: AfterAnswer) -> Self {
        Self {
            entries,
            lazy: None,
            dump_file: None,
            dump_interval: Duration::from_mins(10),
            negative: NegativeCaching::AtMost(Duration::from_mins(5)),
            positive_max: None,
            positive_min: None,
            then,
        }
    }
}

pub(super) fn cache(section: &mut ConfigSection<'_>) -> CachePlugin {
    let entries = section.clamped("size", ENTRIES_MAX).unwrap_or(1024);
    let mut cache = CachePlugin::of(entries, then(section));
    cache.lazy = section.clamped("lazy_cache_ttl", LAZY_MAX).map(Duration::from_secs);
    let mut seconds = |key| section.count(key, KEPT_MAX).map(Duration::from_secs);
    if let Some(interval) = seconds("dump_interval") {
        cache.dump_interval = interval;
    }
    cache.dump_file = section.text("dump_file");
    if section.notes.is_mosdns() {
        cache.entries = cache.entries.max(1024);
        return cache;
    }
    cache.positive_max = section.count("max_positive_ttl", KEPT_MAX).map(Duration::from_secs);
    cache.positive_min = positive_min(section, cache.positive_max);
    let mut seconds = |key| section.count(key, KEPT_MAX).map(Duration::from_secs);
    let negative_max = seconds("max_negative_ttl").unwrap_or(Duration::from_mins(5));
    if seconds("negative_ttl_without_soa").is_some() {
        let message =
            "an empty answer without an SOA record is kept as RFC 2308 says, whatever is set";
        section.notes.warn(section.position.below("negative_ttl_without_soa").complaint(message));
    }
    cache.negative = match section.flag("cache_negative") {
        Some(false) => NegativeCaching::Off,
        Some(true) | None => NegativeCaching::AtMost(negative_max),
    };
    if section.flag("ecs_in_key") == Some(false) {
        let message = "answers for other networks are always kept apart";
        section.notes.warn(section.position.below("ecs_in_key").complaint(message));
    }
    cache
}

/// `min_positive_ttl`, of at most a day.
fn positive_min(section: &mut ConfigSection<'_>, most: Option<Duration>) -> Option<Duration> {
    let least = section.clamped("min_positive_ttl", MIN_POSITIVE_MAX).map(Duration::from_secs)?;
    if most.is_some_and(|most| least > most) {
        let place = section.position.below("min_positive_ttl");
        let complaint = place.complaint("it is longer than max_positive_ttl");
        section.notes.complain(complaint.remedy("at most max_positive_ttl"));
    }
    Some(least)
}

/// `cache [size]` in mosdns, `cache [short_circuit]` in OxiDNS.
pub(super) fn quick(words: &str, place: &SourcePosition, notes: &ReadNotes) -> CachePlugin {
    let (words, then) = short_circuit(words, place, notes);
    let entries = match words.as_slice() {
        [] => 1024,
        [size] => {
            let number = size.parse::<u64>().ok().filter(|it| *it <= ENTRIES_MAX);
            if number.is_none() {
                let complaint = place.complaint(format!("{size:?} is no size of a cache"));
                notes.complain(complaint.remedy(format!("entries, at most {ENTRIES_MAX}")));
            }
            number.unwrap_or(0).max(1024)
        }
        [..] => {
            notes.complain(place.complaint("a cache takes one word").remedy("write cache SIZE"));
            1024
        }
    };
    CachePlugin::of(entries, then)
}

pub(super) fn reverse_lookup(section: &mut ConfigSection<'_>) -> ReverseLookup {
    let usual = if section.notes.is_mosdns() { 65536 } else { 65535 };
    let is_on = section.is_on("handle_ptr");
    ReverseLookup {
        entries: section.count("size", ENTRIES_MAX).unwrap_or(usual),
        pointers: if is_on { HandlePointers::Yes } else { HandlePointers::No },
        ttl: Duration::from_secs(section.count("ttl", KEPT_MAX).unwrap_or(7200)),
    }
}

pub(super) fn fallback(section: &mut ConfigSection<'_>) -> Option<FallbackPlugin> {
    let (primary, secondary) = (section.needed("primary"), section.needed("secondary"));
    // Both peers take 0 for what is usual.
    let threshold_ms = section.whole("threshold", 0..=60_000).filter(|it| *it > 0).unwrap_or(500);
    let always = section.is_on("always_standby");
    let then = then(section);
    Some(FallbackPlugin {
        primary: primary?,
        secondary: secondary?,
        threshold: Duration::from_millis(threshold_ms),
        standby: if always { StandbyMode::Always } else { StandbyMode::WhenNeeded },
        then,
    })
}
