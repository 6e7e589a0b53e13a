//! Counters and latency histograms that a request bumps in a few nanoseconds.
//!
//! Each thread has a shard of its own, so a bump is a plain load and store on a line that nobody
//! else writes; threads past the last shard share it and pay for an atomic addition. Nothing is
//! ever reset. Written by [`crate::Ledger::record`]; summed by the writer, the metrics and the
//! reads.

use crate::codes::{ACTIONS, ALL_ACTIONS, DOORS, LedgerCode, SOURCES};
use crate::event::RequestEvent;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use vocab::{Action, Door, Source};

/// Shards; the last is shared by every thread that came too late for one of its own.
const SHARDS: usize = 32;
/// Counters of a shard: door × action × source.
pub(crate) const COUNTERS_PER_SHARD: usize = DOORS * ACTIONS * SOURCES;

/// Response codes of DNS that are counted by themselves: those that a message or its EDNS can
/// carry and that mean something to people. Larger ones are counted together.
pub(crate) const RCODES: usize = 24;
/// Kinds of answers: a response code of DNS, or a class of HTTP status, and all others.
const STATUSES: usize = RCODES + 1;

/// Values up to this many microseconds have a bucket each.
const LINEAR: u32 = 8;
/// Buckets between two powers of two above that: the error of a quantile is at most an eighth.
const BUCKETS_PER_DOUBLING: usize = 4;
/// The first power of two that is split, and the last: 2^27 µs are 134 s, more counts as that.
const FIRST_POWER: u32 = 3;
const LAST_POWER: u32 = 27;
/// Buckets of a histogram.
pub(crate) const BUCKETS: usize =
    LINEAR as usize + (LAST_POWER - FIRST_POWER) as usize * BUCKETS_PER_DOUBLING + 1;

/// All shards.
pub(crate) struct LedgerCounters {
    shards: Box<[CounterShard]>,
}

/// One thread's counters, on cache lines of its own.
#[repr(align(128))]
struct CounterShard {
    counts: [AtomicU64; COUNTERS_PER_SHARD],
    /// Time of the requests of each counter.
    times_us: [AtomicU64; COUNTERS_PER_SHARD],
    statuses: [[AtomicU64; STATUSES]; DOORS],
    bytes: [AtomicU64; DOORS],
    latency: [LatencyBuckets; DOORS],
}

struct LatencyBuckets {
    buckets: [AtomicU64; BUCKETS],
    sum_us: AtomicU64,
}

/// One request, as far as it is counted.
#[derive(Clone, Copy, Debug)]
pub struct CountedRequest {
    /// Where it came in.
    pub door: Door,
    /// Passed or blocked.
    pub action: Action,
    /// Where the answer came from.
    pub source: Source,
    /// Microseconds until its answer began.
    pub took_us: u32,
    /// The DNS response code or the HTTP status.
    pub status: u16,
    /// Bytes of the answer.
    pub bytes: u32,
}

impl CountedRequest {
    pub(crate) fn of(event: &RequestEvent) -> Self {
        Self {
            door: event.door,
            action: event.action,
            source: event.source,
            took_us: event.duration_us,
            status: event.status,
            bytes: event.bytes,
        }
    }

    /// The counter of its status: a response code, or the first digit of an HTTP status.
    fn status_cell(&self) -> usize {
        let status = usize::from(self.status);
        match self.door {
            Door::Dns => status.min(RCODES),
            Door::Pixel | Door::Proxy | Door::Web | Door::Gateway => {
                if (100..600).contains(&status) { status / 100 } else { 0 }
            }
        }
    }
}

/// Answers of one door, summed over all shards.
#[derive(Clone, Debug)]
pub(crate) struct AnswerSums {
    /// By response code, or by class of status; all others in the last of DNS and the first of
    /// HTTP.
    pub(crate) statuses: [u64; STATUSES],
    pub(crate) bytes: u64,
}

/// A sum over all shards, at about one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CounterSums {
    pub(crate) counts: [u64; COUNTERS_PER_SHARD],
}

/// Counts, times and bytes summed over all shards, at about one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedSums {
    pub(crate) counts: CounterSums,
    /// Microseconds, in the place of each counter.
    pub(crate) times_us: CounterSums,
    /// By the code of the door.
    pub(crate) bytes: [u64; DOORS],
}

/// The latency histogram of one door, summed over all shards.
#[derive(Clone, Debug)]
pub(crate) struct LatencySum {
    pub(crate) buckets: [u64; BUCKETS],
    pub(crate) sum_us: u64,
}

thread_local! {
    static SHARD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Relaxed).min(SHARDS - 1)
    };
}

impl LedgerCounters {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| CounterShard::new()).collect() }
    }

    /// The number of the calling thread's shard, under which its rows queue too.
    pub(crate) fn shard_here() -> usize {
        // A thread that is being torn down has no locals any more: it shares the last shard.
        SHARD.try_with(|shard| *shard).unwrap_or(SHARDS - 1)
    }

    pub(crate) const fn shard_count() -> usize {
        SHARDS
    }

    /// Counts one request.
    pub(crate) fn count(&self, index: usize, request: &CountedRequest) {
        let CountedRequest { door, action, source, took_us, bytes, .. } = *request;
        let (shard, cell, door) =
            (&self.shards[index], cell(door, action, source), usize::from(door.code()));
        let (latency, took_us) = (&shard.latency[door], u64::from(took_us));
        let counted = [
            (&shard.counts[cell], 1),
            (&shard.times_us[cell], took_us),
            (&latency.buckets[bucket(request.took_us)], 1),
            (&latency.sum_us, took_us),
            (&shard.statuses[door][request.status_cell()], 1),
            (&shard.bytes[door], u64::from(bytes)),
        ];
        for (counter, more) in counted {
            if index == SHARDS - 1 {
                counter.fetch_add(more, Relaxed);
            } else {
                // Only this thread writes here, so nothing is lost between the load and the store,
                // and the processor need not lock the line: 2 ns where additions take 5 each.
                counter.store(counter.load(Relaxed) + more, Relaxed);
            }
        }
    }

    /// The counters of all shards added up.
    pub(crate) fn sums(&self) -> CounterSums {
        let mut cells = [0; COUNTERS_PER_SHARD];
        for shard in &self.shards {
            for (sum, cell) in cells.iter_mut().zip(&shard.counts) {
                *sum += cell.load(Relaxed);
            }
        }
        CounterSums { counts: cells }
    }

    /// The time of requests of all shards added up, in microseconds: in the place of each counter.
    pub(crate) fn times_us(&self) -> CounterSums {
        let mut cells = [0; COUNTERS_PER_SHARD];
        for shard in &self.shards {
            for (sum, cell) in cells.iter_mut().zip(&shard.times_us) {
                *sum += cell.load(Relaxed);
            }
        }
        CounterSums { counts: cells }
    }

    /// All that statistics keep of requests.
    pub(crate) fn counted(&self) -> CountedSums {
        let mut bytes = [0; DOORS];
        for shard in &self.shards {
            for (sum, door) in bytes.iter_mut().zip(&shard.bytes) {
                *sum += door.load(Relaxed);
            }
        }
        CountedSums { counts: self.sums(), times_us: self.times_us(), bytes }
    }

    /// One door's answers over all shards.
    pub(crate) fn answers(&self, door: Door) -> AnswerSums {
        let door = usize::from(door.code());
        let mut total = AnswerSums { statuses: [0; STATUSES], bytes: 0 };
        for shard in &self.shards {
            for (sum, cell) in total.statuses.iter_mut().zip(&shard.statuses[door]) {
                *sum += cell.load(Relaxed);
            }
            total.bytes += shard.bytes[door].load(Relaxed);
        }
        total
    }

    /// One door's latency over all shards.
    pub(crate) fn latency(&self, door: Door) -> LatencySum {
        let mut total = LatencySum { buckets: [0; BUCKETS], sum_us: 0 };
        for shard in &self.shards {
            let latency = &shard.latency[usize::from(door.code())];
            for (sum, bucket) in total.buckets.iter_mut().zip(&latency.buckets) {
                *sum += bucket.load(Relaxed);
            }
            total.sum_us += latency.sum_us.load(Relaxed);
        }
        total
    }
}

impl CounterShard {
    fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; COUNTERS_PER_SHARD],
            times_us: [const { AtomicU64::new(0) }; COUNTERS_PER_SHARD],
            statuses: [const { [const { AtomicU64::new(0) }; STATUSES] }; DOORS],
            bytes: [const { AtomicU64::new(0) }; DOORS],
            latency: [const {
                LatencyBuckets {
                    buckets: [const { AtomicU64::new(0) }; BUCKETS],
                    sum_us: AtomicU64::new(0),
                }
            }; DOORS],
        }
    }
}

impl CounterSums {
    /// Each door, action and source with its count; the zeros are left out.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Door, Action, Source, u64)> {
        Door::ALL
            .into_iter()
            .flat_map(|door| ALL_ACTIONS.map(|action| (door, action)))
            .flat_map(|(door, action)| Source::ALL.map(|source| (door, action, source)))
            .map(|(door, action, source)| {
                (door, action, source, self.counts[cell(door, action, source)])
            })
            .filter(|(_, _, _, count)| *count > 0)
    }

    /// Returns what was added since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut cells = self.counts;
        for (cell, before) in cells.iter_mut().zip(&earlier.counts) {
            *cell = cell.saturating_sub(*before);
        }
        Self { counts: cells }
    }

    pub(crate) const fn zero() -> Self {
        Self { counts: [0; COUNTERS_PER_SHARD] }
    }
}

impl CountedSums {
    /// Returns what was added since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let mut bytes = self.bytes;
        for (door, before) in bytes.iter_mut().zip(&earlier.bytes) {
            *door = door.saturating_sub(*before);
        }
        let counts = self.counts.since(&earlier.counts);
        Self { counts, times_us: self.times_us.since(&earlier.times_us), bytes }
    }

    pub(crate) const fn zero() -> Self {
        Self { counts: CounterSums::zero(), times_us: CounterSums::zero(), bytes: [0; DOORS] }
    }
}

impl LatencySum {
    /// Returns how many values it holds.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The microseconds that the given share (0.0 to 1.0) of all values do not exceed, at most an
    /// eighth too high; none without values.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let count = self.count();
        #[allow(clippy::cast_sign_loss, reason = "a share of a count is not negative")]
        let rank = ((count as f64 * share).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        self.buckets.iter().enumerate().find_map(|(index, bucket)| {
            seen += bucket;
            (*bucket > 0 && seen >= rank).then(|| bucket_end(index))
        })
    }

    /// Cumulative counts at powers of two, as (upper bound in µs, included; values up to there):
    /// the `le` buckets of the metrics. The last holds everything.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut sum = 0;
        self.buckets.iter().enumerate().filter_map(move |(index, bucket)| {
            sum += bucket;
            let end = bucket_end(index);
            (end >= 16 && end.is_power_of_two()).then_some((end, sum))
        })
    }
}

fn cell(door: Door, action: Action, source: Source) -> usize {
    (usize::from(door.code()) * ACTIONS + usize::from(action.code())) * SOURCES
        + usize::from(source.code())
}

/// The bucket of a value. Bounds are upper and included, as the metrics want them: a bucket holds
/// what is over the last one's bound, up to its own.
fn bucket(us: u32) -> usize {
    let below = us.saturating_sub(1);
    if below < LINEAR {
        return below as usize;
    }
    let power = below.ilog2();
    if power >= LAST_POWER {
        return BUCKETS - 1;
    }
    let step = (below >> (power - 2)) as usize & (BUCKETS_PER_DOUBLING - 1);
    LINEAR as usize + (power - FIRST_POWER) as usize * BUCKETS_PER_DOUBLING + step
}

/// The largest value of a bucket, in microseconds.
fn bucket_end(index: usize) -> u64 {
    let linear = LINEAR as usize;
    if index < linear {
        return index as u64 + 1;
    }
    let (octave, step) =
        ((index - linear) / BUCKETS_PER_DOUBLING, (index - linear) % BUCKETS_PER_DOUBLING);
    let start = u64::from(LINEAR) << octave;
    start + (start / BUCKETS_PER_DOUBLING as u64) * (step as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(door: Door, action: Action, source: Source, took_us: u32) -> CountedRequest {
        CountedRequest { door, action, source, took_us, status: 0, bytes: 0 }
    }

    #[test]
    fn answers_are_counted_by_status_and_bytes() {
        let counters = LedgerCounters::new();
        let asked = request(Door::Dns, Action::Pass, Source::Cache, 1);
        for (door, status) in
            [(Door::Dns, 3), (Door::Dns, 4095), (Door::Web, 204), (Door::Web, 499), (Door::Web, 7)]
        {
            counters.count(0, &CountedRequest { door, status, bytes: 10, ..asked });
        }
        let (dns, web) = (counters.answers(Door::Dns), counters.answers(Door::Web));
        assert_eq!((dns.statuses[3], dns.statuses[RCODES], dns.bytes), (1, 1, 20));
        assert_eq!((web.statuses[2], web.statuses[4], web.statuses[0]), (1, 1, 1));
    }

    #[test]
    fn every_value_lies_within_its_bucket() {
        for us in (0..5000).chain([1 << 20, (1 << 20) + 1, 99_999_999, 1 << 27]) {
            let index = bucket(us);
            assert!(u64::from(us) <= bucket_end(index), "{us} over the end of {index}");
            if index > 0 {
                assert!(u64::from(us) > bucket_end(index - 1), "{us} below the start of {index}");
            }
        }
        assert_eq!(bucket(u32::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_at_most_an_eighth_too_high() {
        let counters = LedgerCounters::new();
        for us in 1..=1000 {
            counters.count(0, &request(Door::Dns, Action::Pass, Source::Cache, us));
        }
        let latency = counters.latency(Door::Dns);
        assert_eq!(latency.count(), 1000);
        let median = latency.quantile(0.5).unwrap();
        assert!((500..=563).contains(&median), "{median}");
        assert_eq!(counters.latency(Door::Web).quantile(0.5), None);
    }

    #[test]
    fn metric_buckets_are_cumulative_and_exact_at_their_bounds() {
        let counters = LedgerCounters::new();
        for us in [3, 16, 17, 32, 1024, u32::MAX] {
            counters.count(0, &request(Door::Web, Action::Pass, Source::File, us));
        }
        let latency = counters.latency(Door::Web);
        let at: std::collections::HashMap<u64, u64> = latency.cumulative().collect();
        assert_eq!((at[&16], at[&32], at[&1024]), (2, 4, 5));
    }

    #[test]
    fn threads_past_the_last_shard_lose_no_count() {
        let counters = LedgerCounters::new();
        std::thread::scope(|scope| {
            for _ in 0..SHARDS + 8 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let shard = LedgerCounters::shard_here();
                        counters
                            .count(shard, &request(Door::Dns, Action::Block, Source::Policy, 1));
                    }
                });
            }
        });
        let total: u64 = counters.sums().iter().map(|(_, _, _, count)| count).sum();
        assert_eq!(total, (SHARDS as u64 + 8) * 1000);
    }
}
