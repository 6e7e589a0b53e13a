//! Table of purges: by key, prefix, host or tag, hard or soft, and since when.
//!
//! A purge has a number from the same row as records have their moments, so it concerns all that
//! was learned before it and nothing that is learned later. It is on the disk before it counts as
//! done, and is forgotten when no segment is left with a record that it could concern. The table
//! never grows without end: see [`PURGES_MAX`]. Called by whoever purges, for every record that is
//! read, and by the disk's thread.

use crate::key::KeyHash;
use crate::labels::RecordLabels;
use crate::purge::{
    NumberedPurge, PATTERN_BYTES_MAX, Purge, PurgeEffect, PurgeError, PurgeStrength,
};
use crate::purge_log::PurgeLog;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError, RwLock};

/// Purges that are remembered one by one. When there are more, the older half becomes one: whatever
/// was learned before the youngest of them is taken for purged. So a purge is never refused for
/// being one too many, nor forgotten; it may cost what else was stored at that time.
pub const PURGES_MAX: usize = 1 << 16;
/// Bytes of all patterns together; the same happens there.
const PATTERNS_BYTES_MAX: usize = 16 << 20;
/// The log is replaced when it has four times as many entries as there are patterns, and this many
/// besides.
const LOG_ENTRIES_SPARE: usize = 1024;

/// The numbers of the latest purges of one pattern; 0 where there was none.
#[derive(Clone, Copy, Default)]
struct PatternPurges {
    soft: u64,
    hard: u64,
}

impl PatternPurges {
    fn of(noted: &NumberedPurge) -> Self {
        match noted.strength {
            PurgeStrength::Soft => Self { soft: noted.number, hard: 0 },
            PurgeStrength::Hard => Self { soft: 0, hard: noted.number },
        }
    }

    fn join(&mut self, other: Self) {
        self.soft = self.soft.max(other.soft);
        self.hard = self.hard.max(other.hard);
    }

    fn on(self, moment: u64) -> PurgeEffect {
        match () {
            () if moment <= self.hard => PurgeEffect::Hard,
            () if moment <= self.soft => PurgeEffect::Soft,
            () => PurgeEffect::No,
        }
    }
}

#[derive(Default)]
struct PurgeTable {
    everything: PatternPurges,
    keys: HashMap<KeyHash, PatternPurges>,
    hosts: HashMap<Box<str>, PatternPurges>,
    tags: HashMap<Box<str>, PatternPurges>,
    prefixes: HashMap<Box<str>, PatternPurges>,
    /// Number of prefixes there are of each length: what a URL is cut to.
    prefix_lens: BTreeMap<usize, usize>,
    text_bytes: usize,
}

impl PurgeTable {
    fn apply(&mut self, noted: &NumberedPurge) {
        let strike = PatternPurges::of(noted);
        let words = match &noted.purge {
            Purge::Everything => return self.everything.join(strike),
            Purge::Key(key) => return self.keys.entry(*key).or_default().join(strike),
            Purge::Host(text) => (&mut self.hosts, text),
            Purge::Tag(text) => (&mut self.tags, text),
            Purge::Prefix(text) => {
                if !self.prefixes.contains_key(text.as_str()) {
                    *self.prefix_lens.entry(text.len()).or_default() += 1;
                }
                (&mut self.prefixes, text)
            }
        };
        let (map, text) = words;
        self.text_bytes += if map.contains_key(text.as_str()) { 0 } else { text.len() };
        map.entry(text.as_str().into()).or_default().join(strike);
    }

    fn count(&self) -> usize {
        self.keys.len() + self.hosts.len() + self.tags.len() + self.prefixes.len()
    }

    fn on(&self, moment: u64, key: KeyHash, labels: &RecordLabels<'_>) -> PurgeEffect {
        let mut strike = self.everything;
        if self.count() > 0 {
            let prefixes = self.prefix_lens.range(..=labels.url.len());
            let prefixes = prefixes.filter_map(|(len, _)| labels.url.get(..*len));
            let found = [self.keys.get(&key), self.hosts.get(labels.host())].into_iter().flatten();
            let found = found.chain(prefixes.filter_map(|prefix| self.prefixes.get(prefix)));
            // One more shadow over the same record changes nothing, so their order does not matter.
            found.for_each(|it| strike.join(*it));
            if !self.tags.is_empty() {
                labels.tags().filter_map(|tag| self.tags.get(tag)).for_each(|it| strike.join(*it));
            }
        }
        strike.on(moment)
    }

    /// Drops what concerns no moment from `moment_min` on.
    fn forget_below(&mut self, moment_min: u64) {
        let noted = self.entries().into_iter().filter(|noted| noted.number >= moment_min);
        let mut kept = Self::default();
        noted.for_each(|noted| kept.apply(&noted));
        *self = kept;
    }

    /// Makes one of the older half.
    fn merge_older(&mut self) {
        let mut numbers: Vec<u64> = self.entries().iter().map(|noted| noted.number).collect();
        let middle = numbers.len() / 2;
        let (_, middle, _) = numbers.select_nth_unstable(middle);
        let middle = *middle;
        self.forget_below(middle + 1);
        self.everything.join(PatternPurges { soft: 0, hard: middle });
    }

    fn entries(&self) -> Vec<NumberedPurge> {
        let words = |map: &HashMap<Box<str>, PatternPurges>, purge: fn(String) -> Purge| {
            let each = map.iter().map(move |(text, strike)| (purge(text.to_string()), *strike));
            each.collect::<Vec<_>>()
        };
        let mut all = vec![(Purge::Everything, self.everything)];
        all.extend(self.keys.iter().map(|(key, strike)| (Purge::Key(*key), *strike)));
        all.extend(words(&self.prefixes, Purge::Prefix));
        all.extend(words(&self.hosts, Purge::Host));
        all.extend(words(&self.tags, Purge::Tag));
        let both = all.into_iter().flat_map(|(purge, strike)| {
            let hard = NumberedPurge {
                number: strike.hard,
                strength: PurgeStrength::Hard,
                purge: purge.clone(),
            };
            [hard, NumberedPurge { number: strike.soft, strength: PurgeStrength::Soft, purge }]
        });
        both.filter(|noted| noted.number > 0).collect()
    }
}

/// The purges, and the file that keeps them.
pub(crate) struct DiskPurges {
    table: RwLock<PurgeTable>,
    log: Mutex<PurgeLog>,
    /// Purges up to this number may have been forgotten.
    forgotten: AtomicU64,
    /// Set once the log is another process's.
    is_closed: AtomicBool,
}

impl DiskPurges {
    /// Returns those of former runs.
    pub(crate) fn new(mut log: PurgeLog) -> Self {
        let mut table = PurgeTable::default();
        log.read.noted.drain(..).for_each(|noted| table.apply(&noted));
        Self {
            table: RwLock::new(table),
            log: Mutex::new(log),
            forgotten: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Returns how purges concern a record.
    pub(crate) fn on(&self, moment: u64, key: KeyHash, labels: &RecordLabels<'_>) -> PurgeEffect {
        self.table.read().unwrap_or_else(PoisonError::into_inner).on(moment, key, labels)
    }

    /// True if something learned at `moment` may be filed at all: no purge that might concern it
    /// has been forgotten.
    pub(crate) fn covers(&self, moment: u64) -> bool {
        moment > self.forgotten.load(SeqCst)
    }

    /// Purges, with numbers from `next`. It holds when this returns, and outlives kill -9 if it is
    /// `Ok`.
    pub(crate) fn purge(
        &self,
        purges: &[Purge],
        strength: PurgeStrength,
        next: &AtomicU64,
    ) -> Result<(), PurgeError> {
        if purges.iter().any(|purge| purge.text_len() > PATTERN_BYTES_MAX) {
            return Err(PurgeError::PatternTooLong);
        }
        // Numbers are taken behind the lock, so they stand in the log in their order.
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed.load(SeqCst) {
            return Err(PurgeError::Closed);
        }
        let note = |purge: &Purge| NumberedPurge {
            number: next.fetch_add(1, SeqCst),
            strength,
            purge: purge.clone(),
        };
        let noted: Vec<NumberedPurge> = purges.iter().map(note).collect();
        let mut written = if log.is_appendable() { log.append(&noted) } else { Ok(()) };
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for noted in &noted {
            table.apply(noted);
        }
        let is_full = table.count() > PURGES_MAX || table.text_bytes > PATTERNS_BYTES_MAX;
        if is_full {
            table.merge_older();
        }
        // A log that failed is written anew at once: there may be room for that.
        if is_full || !log.is_appendable() || needs_compaction(&log, &table) {
            let all = table.entries();
            drop(table);
            written = log.rewrite(&all, next.load(SeqCst));
        }
        written.map_err(PurgeError::NotKept)
    }

    /// Leaves the log to another process: nothing is written to it any more.
    pub(crate) fn close(&self) {
        let _whole = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_closed.store(true, SeqCst);
    }

    /// Forgets purges that concern nothing which is stored: every record has a moment of at least
    /// `moment_min`. Called by the disk's thread alone, which also files records, so none comes
    /// between.
    pub(crate) fn forget_below(&self, moment_min: u64, next: &AtomicU64) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.entries().iter().all(|noted| noted.number >= moment_min) {
            return;
        }
        table.forget_below(moment_min);
        self.forgotten.fetch_max(moment_min.min(next.load(SeqCst)) - 1, SeqCst);
        if needs_compaction(&log, &table) {
            let all = table.entries();
            drop(table);
            // Should it fail, the next purge writes the file anew.
            let _ = log.rewrite(&all, next.load(SeqCst));
        }
    }

    /// Returns how many are remembered one by one.
    pub(crate) fn count(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).count()
    }
}

fn needs_compaction(log: &PurgeLog, table: &PurgeTable) -> bool {
    // A pattern has two numbers at most, a soft and a hard one.
    log.entries() > 4 * table.count() + LOG_ENTRIES_SPARE
}
