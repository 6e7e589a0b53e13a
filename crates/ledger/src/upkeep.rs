//! The writer's work for statistics beside its batches: folding, tidying, and reading upstreams.
//!
//! Each turn takes some milliseconds, and most find nothing to do. Called by the writer thread.

use crate::AnonymiseMode;
use crate::setup::{Settings, StatisticClients};
use crate::statistics::{UpstreamCount, UpstreamCounts};
use crate::store::retain::CleanupProgress;
use crate::store::statistics::backfill::BackfillTerms;
use crate::store::statistics::tidy::{CountedClients, StatisticsBounds};
use crate::store::{LedgerStore, StoreError};
use crate::zone::LedgerZone;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weekly_hours::CalendarStep;

/// Pause between two looks for what is to be folded or past its time.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// Pause between two readings of upstreams, and the most that are counted.
const UPSTREAMS_EVERY: Duration = Duration::from_secs(1);
const UPSTREAMS_MAX: usize = 1_024;
/// Longest name of an upstream that is stored, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Terms of the settings under which statistics are kept.
pub(crate) struct StatisticsTerms {
    pub(crate) anonymise: AnonymiseMode,
    pub(crate) clients: CountedClients,
    bounds: StatisticsBounds,
    zone: LedgerZone,
    zone_setting: String,
}

impl StatisticsTerms {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self::in_zone(settings, LedgerZone::of(&settings.statistics.time_zone))
    }

    fn in_zone(settings: &Settings, zone: LedgerZone) -> Self {
        let statistics = &settings.statistics;
        let clients = match statistics.clients {
            StatisticClients::Each if !settings.keep.0.0.is_zero() => CountedClients::Each,
            StatisticClients::Each | StatisticClients::None => CountedClients::None,
        };
        Self {
            anonymise: settings.anonymise,
            clients,
            bounds: StatisticsBounds {
                keep_hours: statistics.keep_hours.0.0,
                keep_days: statistics.keep_days.0.0,
                keep_months: statistics.keep_months.0.0,
                clients,
            },
            zone,
            zone_setting: statistics.time_zone.clone(),
        }
    }

    /// The terms of settings that may have changed; a zone is read again only if it is another.
    pub(crate) fn follow(&mut self, settings: &Settings) {
        *self = if self.zone_setting == settings.statistics.time_zone {
            Self::in_zone(settings, self.zone.clone())
        } else {
            Self::of(settings)
        };
    }

    /// The start of the hour of a moment, in seconds since 1970.
    pub(crate) fn hour(&self, unix_ms: u64) -> i64 {
        self.zone.zone().step_start(CalendarStep::Hour, (unix_ms / 1000).cast_signed())
    }
}

/// The upkeep of statistics.
pub(crate) struct StatisticsUpkeep {
    look_at: Instant,
    /// Form in which clients that were counted earlier stand in the file.
    anonymised: AnonymiseMode,
}

impl StatisticsUpkeep {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { look_at: now, anonymised: AnonymiseMode::None }
    }

    /// Has the next turn look, since settings may have changed.
    pub(crate) const fn hurry(&mut self, now: Instant) {
        self.look_at = now;
        self.anonymised = AnonymiseMode::None;
    }

    /// One turn.
    pub(crate) fn turn(
        &mut self,
        store: &mut LedgerStore,
        terms: &StatisticsTerms,
        now_ms: u64,
    ) -> Result<CleanupProgress, StoreError> {
        if store.has_uncounted_rows() {
            return store.backfill_step(BackfillTerms {
                zone: terms.zone.zone(),
                anonymise: terms.anonymise,
                clients: terms.clients,
            });
        }
        if Instant::now() < self.look_at {
            return Ok(CleanupProgress::Done);
        }
        if terms.anonymise != self.anonymised {
            store.anonymise_statistics(terms.anonymise)?;
            self.anonymised = terms.anonymise;
        }
        if store.fold_step(now_ms, terms.zone.zone())? == CleanupProgress::More
            || store.tidy_step(now_ms, terms.bounds)? == CleanupProgress::More
        {
            return Ok(CleanupProgress::More);
        }
        self.look_at = Instant::now() + LOOK_EVERY;
        Ok(CleanupProgress::Done)
    }
}

/// Counts of upstreams, and how much of them is stored.
#[derive(Default)]
pub(crate) struct UpstreamSums {
    stored: HashMap<String, UpstreamCount, RandomState>,
    /// Counts that were read last, until they are stored.
    read: Option<Vec<UpstreamCount>>,
    read_at: Option<Instant>,
}

impl UpstreamSums {
    /// Counts since those that are stored; of an upstream whose counts began anew, all of them.
    pub(crate) fn since_stored(
        &mut self,
        source: Option<&Arc<dyn UpstreamCounts>>,
    ) -> Vec<UpstreamCount> {
        let Some(source) = source else { return Vec::new() };
        if self.read_at.is_some_and(|at| at.elapsed() < UPSTREAMS_EVERY) {
            return Vec::new();
        }
        self.read_at = Some(Instant::now());
        let mut more = by_name(source.counts());
        self.read = Some(more.clone());
        for count in &mut more {
            if let Some(before) = self.stored.get(&count.name).filter(|it| it.sent <= count.sent) {
                count.sent -= before.sent;
                count.failed = count.failed.saturating_sub(before.failed);
                count.took_us = count.took_us.saturating_sub(before.took_us);
            }
        }
        more.retain(|count| count.sent > 0 || count.failed > 0);
        more
    }

    /// Takes what was read last for stored.
    pub(crate) fn keep(&mut self) {
        if let Some(read) = self.read.take() {
            self.stored = read.into_iter().map(|count| (count.name.clone(), count)).collect();
        }
    }
}

/// Counts of each name once, with names that fit.
fn by_name(counts: Vec<UpstreamCount>) -> Vec<UpstreamCount> {
    let mut places: HashMap<String, usize, RandomState> = HashMap::default();
    let mut sums: Vec<UpstreamCount> = Vec::new();
    for mut count in counts {
        count.name.truncate(count.name.floor_char_boundary(NAME_BYTES_MAX));
        if count.name.is_empty() {
            continue;
        }
        if let Some(place) = places.get(&count.name) {
            let sum = &mut sums[*place];
            sum.sent += count.sent;
            sum.failed += count.failed;
            sum.took_us += count.took_us;
        } else if sums.len() < UPSTREAMS_MAX {
            places.insert(count.name.clone(), sums.len());
            sums.push(count);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct Counted(Mutex<Vec<UpstreamCount>>);

    impl UpstreamCounts for Counted {
        fn counts(&self) -> Vec<UpstreamCount> {
            self.0.lock().unwrap().clone()
        }
    }

    fn count(name: &str, sent: u64) -> UpstreamCount {
        UpstreamCount { name: name.into(), sent, failed: sent / 10, took_us: sent * 5 }
    }

    #[test]
    fn upstreams_are_counted_once_and_again_from_the_start_where_they_began_anew() {
        let source = Arc::new(Counted(Mutex::new(vec![count("quad9", 30), count("quad9", 10)])));
        let asked: Arc<dyn UpstreamCounts> = Arc::clone(&source) as _;
        let mut sums = UpstreamSums::default();
        let mut more = |keep: bool| {
            sums.read_at = None;
            let more = sums.since_stored(Some(&asked));
            if keep {
                sums.keep();
            }
            more.iter().map(|it| (it.sent, it.failed)).collect::<Vec<_>>()
        };
        // A batch that was not stored leaves all to the next.
        assert_eq!((more(false), more(true)), (vec![(40, 4)], vec![(40, 4)]));
        assert_eq!(more(true), []);
        sums_are_kept_between_reads(&asked);
        *source.0.lock().unwrap() = vec![count("quad9", 70)];
        assert_eq!(more(true), [(30, 3)]);
        *source.0.lock().unwrap() = vec![count("quad9", 20), count("", 1)];
        assert_eq!(more(true), [(20, 2)]);
    }

    /// A batch in between, for which nothing was read, changes nothing.
    fn sums_are_kept_between_reads(source: &Arc<dyn UpstreamCounts>) {
        let mut sums = UpstreamSums::default();
        assert_eq!(sums.since_stored(Some(source)).len(), 1);
        sums.keep();
        assert_eq!(sums.since_stored(Some(source)), []);
        sums.keep();
        sums.read_at = None;
        assert_eq!(sums.since_stored(Some(source)), []);
    }
}
