//! One server of a pool: whether it may get a request now, and what is known of it.
//!
//! Everything here is shared by all cores and read for every request, so it is atomics; the lock is
//! held only to note what a request met. Places are counted in one order for all cores (`SeqCst`):
//! who frees one must see who waits for it, or be seen. It picks nothing and opens no connection.
//! Called by `pool` and `balance`.

use crate::checks::{CheckStreak, ServerHealth};
use crate::estimate::LatencyEstimate;
use crate::outlier_ejection::{AttemptOutcome, HealthVerdict, OutlierEjection, ServerRecord};
use crate::settings::{ResolveChoice, ServerDetails};
use http::HeaderValue;
use latency_histogram::LatencyHistogram;
use origins::OriginServer as Address;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use vocab::{DomainName, Now};

/// Time for which a failure counts in the average. A server that fails at once must not look fast.
const PENALTY_US: u32 = 100_000;
/// Delay after its last failure until one that rests may be tried where nobody else is up.
const LAST_RESORT_MS: u64 = 100;
/// The share of its weight that a server gets at the beginning of its slow start.
const SLOW_START_FIRST: f64 = 0.1;

/// Tells how it stands with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerStanding {
    /// Gets requests.
    Up,
    /// Rest is over: it gets one request at a time until it has answered one.
    HalfOpen,
    /// Rests for some more milliseconds.
    Ejected(u64),
    /// Health checks fail.
    Down,
}

/// Tells what a place on a server is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeasePurpose {
    /// A request like any other.
    Normal,
    /// The one that tries a server which has rested, until [`PooledServer::end_probe`].
    Probe,
}

/// One server.
#[derive(Debug)]
pub(crate) struct PooledServer {
    /// URL, as it was written, or with the address that was found.
    pub(crate) url: Box<str>,
    pub(crate) address: Address,
    /// The `Host` that it stands for; none where that is no value of a field.
    pub(crate) host: Option<HeaderValue>,
    /// Name by which it was found, if it is not written.
    pub(crate) found: Option<FoundBy>,
    backup: AtomicBool,
    /// Hash that stands for it where hashes choose, and in cookies.
    pub(crate) tag: u64,
    weight: AtomicU32,
    requests_max: u32,
    draining: AtomicBool,
    pending: AtomicU32,
    /// Set while a request tries it.
    probing: AtomicBool,
    health: AtomicU8,
    /// Set while it rests and until it has answered again.
    recovering: AtomicBool,
    ejected_until_ms: AtomicU64,
    failed_at_ms: AtomicU64,
    /// When its slow start began; 0 if it had none.
    slow_start_ms: AtomicU64,
    pub(crate) estimate: LatencyEstimate,
    record: Mutex<ServerRecord>,
    checks: Mutex<CheckStreak>,
    check_due_ms: AtomicU64,
    answers: AtomicU64,
    failures: AtomicU64,
    /// Times that answers took to begin.
    pub(crate) times: LatencyHistogram,
}

/// Holds how a server came into its pool: by a name.
#[derive(Debug)]
pub(crate) struct FoundBy {
    /// The URL with the name that was looked up.
    pub(crate) entry: Box<str>,
    pub(crate) choice: ResolveChoice,
    /// The name whose address it has.
    pub(crate) name: DomainName,
    /// The weight that it was last found with. One that was given by hand stays until this changes.
    weight: AtomicU32,
}

/// Holds how much a server gets, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerRank {
    pub(crate) weight: u32,
    pub(crate) backup: bool,
}

/// Tells whether the order of a pool's servers changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderChange {
    Rebuild,
    Same,
}

/// Holds what a server has done, and is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerCounts {
    pub(crate) pending: u32,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
}

impl PooledServer {
    /// A server that nothing is known of. None if its URL leads nowhere: settings are checked.
    pub(crate) fn new(details: &ServerDetails) -> Option<Self> {
        let rank = ServerRank { weight: details.weight, backup: details.backup };
        Some(Self::at(details.url.parse().ok()?, &details.url, details, rank))
    }

    /// A server that was found at `address` by looking `entry` up.
    pub(crate) fn found(
        entry: &ServerDetails,
        how: ResolveChoice,
        address: Address,
        name: DomainName,
        rank: ServerRank,
    ) -> Self {
        let url = address.to_string();
        let weight = AtomicU32::new(rank.weight);
        let found = FoundBy { entry: entry.url.as_str().into(), choice: how, name, weight };
        Self { found: Some(found), ..Self::at(address, &url, entry, rank) }
    }

    fn at(address: Address, url: &str, details: &ServerDetails, rank: ServerRank) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(url.as_bytes());
        Self {
            host: HeaderValue::try_from(address.authority()).ok(),
            address,
            url: url.into(),
            found: None,
            backup: AtomicBool::new(rank.backup),
            tag: hasher.finish(),
            weight: AtomicU32::new(rank.weight.max(1)),
            requests_max: details.max_requests,
            draining: AtomicBool::new(details.drain),
            pending: AtomicU32::new(0),
            probing: AtomicBool::new(false),
            health: AtomicU8::new(ServerHealth::Unknown as u8),
            recovering: AtomicBool::new(false),
            ejected_until_ms: AtomicU64::new(0),
            failed_at_ms: AtomicU64::new(0),
            slow_start_ms: AtomicU64::new(0),
            estimate: LatencyEstimate::default(),
            record: Mutex::default(),
            checks: Mutex::default(),
            check_due_ms: AtomicU64::new(0),
            answers: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            times: LatencyHistogram::default(),
        }
    }

    /// Takes the rank that it was found with now; says whether that is another.
    pub(crate) fn update_rank(&self, rank: ServerRank) -> OrderChange {
        let Some(found) = &self.found else { return OrderChange::Same };
        let before = found.weight.swap(rank.weight, Relaxed);
        if before != rank.weight {
            self.set_weight(rank.weight);
        }
        let was_backup = self.backup.swap(rank.backup, Relaxed);
        let same = before == rank.weight && was_backup == rank.backup;
        if same { OrderChange::Same } else { OrderChange::Rebuild }
    }

    /// True if it serves only while no other is up.
    pub(crate) fn is_backup(&self) -> bool {
        self.backup.load(Relaxed)
    }

    /// Returns its rank as it was last found, or is written.
    pub(crate) fn rank(&self) -> ServerRank {
        let given = self.found.as_ref().map(|found| found.weight.load(Relaxed));
        ServerRank { weight: given.unwrap_or_else(|| self.weight()), backup: self.is_backup() }
    }

    /// Takes over what is known of `before`, which is the same server with other settings.
    pub(crate) fn inherit_stats(&self, before: &Self) {
        // Held meanwhile: its record and its standing must not part.
        let known = before.record.lock().unwrap_or_else(PoisonError::into_inner);
        self.health.store(before.health.load(Relaxed), Relaxed);
        self.check_due_ms.store(before.check_due_ms.load(Relaxed), Relaxed);
        self.recovering.store(before.recovering.load(Relaxed), Relaxed);
        self.ejected_until_ms.store(before.ejected_until_ms.load(Relaxed), Relaxed);
        self.failed_at_ms.store(before.failed_at_ms.load(Relaxed), Relaxed);
        self.slow_start_ms.store(before.slow_start_ms.load(Relaxed), Relaxed);
        self.estimate.inherit(&before.estimate);
        self.answers.store(before.answers.load(Relaxed), Relaxed);
        self.failures.store(before.failures.load(Relaxed), Relaxed);
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&known);
    }

    pub(crate) fn status(&self, now: Now) -> ServerStanding {
        if self.health.load(Relaxed) == ServerHealth::Down as u8 {
            return ServerStanding::Down;
        }
        if !self.recovering.load(Relaxed) {
            return ServerStanding::Up;
        }
        match self.ejected_until_ms.load(Relaxed).saturating_sub(now.mono_ms) {
            0 => ServerStanding::HalfOpen,
            left => ServerStanding::Ejected(left),
        }
    }

    /// True if it serves at all now, be it full.
    pub(crate) fn is_up(&self, now: Now) -> bool {
        matches!(self.status(now), ServerStanding::Up | ServerStanding::HalfOpen)
    }

    /// True if it can take one more request now.
    pub(crate) fn has_room(&self, now: Now) -> bool {
        let fits = self.requests_max == 0 || self.pending.load(SeqCst) < self.requests_max;
        match self.status(now) {
            ServerStanding::Up => fits,
            ServerStanding::HalfOpen => fits && !self.probing.load(SeqCst),
            ServerStanding::Ejected(_) | ServerStanding::Down => false,
        }
    }

    /// Takes one more request, unless another core was faster; [`Self::release`] gives the place
    /// back.
    pub(crate) fn claim(&self, now: Now) -> Option<LeasePurpose> {
        if !self.has_room(now) {
            return None;
        }
        let on_trial = self.status(now) == ServerStanding::HalfOpen;
        self.acquire(if on_trial { LeasePurpose::Probe } else { LeasePurpose::Normal })
    }

    /// Takes a request that tries it though it rests, if no other does and it did not fail just
    /// now: for where nobody else is up, so that one that is back is found before its rest is over.
    pub(crate) fn claim_ejected(&self, now: Now) -> Option<LeasePurpose> {
        let is_due = now.mono_ms >= self.failed_at_ms.load(Relaxed) + LAST_RESORT_MS;
        let rests = matches!(self.status(now), ServerStanding::Ejected(_));
        if is_due && rests { self.acquire(LeasePurpose::Probe) } else { None }
    }

    /// Takes a place. What else it works on does not stand in the way of a trial: a WebSocket from
    /// before its rest may last for hours.
    fn acquire(&self, claim: LeasePurpose) -> Option<LeasePurpose> {
        let before = self.pending.fetch_add(1, SeqCst);
        let full = self.requests_max != 0 && before >= self.requests_max;
        if full || (claim == LeasePurpose::Probe && self.probing.swap(true, SeqCst)) {
            self.release();
            return None;
        }
        Some(claim)
    }

    /// The request that tried it has its answer, or gets none: another may.
    pub(crate) fn end_probe(&self) {
        self.probing.store(false, SeqCst);
    }

    pub(crate) fn release(&self) {
        self.pending.fetch_sub(1, SeqCst);
    }

    pub(crate) fn pending(&self) -> u32 {
        self.pending.load(SeqCst)
    }

    /// Returns its weight, less during its slow start.
    pub(crate) fn weight_now(&self, slow_start_ms: u64, now: Now) -> f64 {
        f64::from(self.weight()) * self.slow_start(slow_start_ms, now)
    }

    /// Returns what share of its weight it gets by now: 1 but for the beginning of its slow start.
    pub(crate) fn slow_start(&self, slow_start_ms: u64, now: Now) -> f64 {
        let began = self.slow_start_ms.load(Relaxed);
        let past = now.mono_ms.saturating_sub(began);
        if began == 0 || past >= slow_start_ms {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "spans of an hour at most")]
        let share = past as f64 / slow_start_ms as f64;
        share.max(SLOW_START_FIRST)
    }

    /// Begins its slow start.
    pub(crate) fn start_slow_start(&self, now: Now) {
        self.slow_start_ms.store(now.mono_ms.max(1), Relaxed);
    }

    pub(crate) fn weight(&self) -> u32 {
        self.weight.load(Relaxed)
    }

    pub(crate) fn set_weight(&self, weight: u32) {
        self.weight.store(weight, Relaxed);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
    }

    pub(crate) fn undrain(&self) {
        self.draining.store(false, Relaxed);
    }

    pub(crate) fn counts(&self) -> ServerCounts {
        ServerCounts {
            pending: self.pending(),
            answers: self.answers.load(Relaxed),
            failures: self.failures.load(Relaxed),
        }
    }

    /// Notes how long an answer took to begin.
    pub(crate) fn took(&self, took_us: u32, now: Now) {
        self.times.add(Duration::from_micros(took_us.into()));
        self.estimate.sample(took_us, now);
    }

    /// Notes what a request met. `may_rest` says whether one more server may rest for bad answers;
    /// it is asked only then.
    pub(crate) fn record(
        &self,
        met: AttemptOutcome,
        patience: &OutlierEjection,
        may_rest: impl FnOnce() -> bool,
        now: Now,
    ) -> HealthVerdict {
        match met {
            AttemptOutcome::Answer => self.answers.fetch_add(1, Relaxed),
            AttemptOutcome::Failure | AttemptOutcome::NoConnection => {
                self.estimate.sample(PENALTY_US, now);
                self.failed_at_ms.store(now.mono_ms, Relaxed);
                self.failures.fetch_add(1, Relaxed)
            }
        };
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let judgement = record.record(met, patience, now);
        match judgement {
            HealthVerdict::Healthy => {}
            HealthVerdict::Recovered => {
                self.recovering.store(false, Relaxed);
                self.estimate.forget();
                self.start_slow_start(now);
            }
            HealthVerdict::Eject(rest) => self.eject(now.mono_ms + rest),
            HealthVerdict::Bad(rest) => {
                // On trial it rests already, as far as the others are concerned.
                if self.recovering.load(Relaxed) || may_rest() {
                    record.set_ejected(now.mono_ms + rest);
                    self.eject(now.mono_ms + rest);
                }
            }
        }
        judgement
    }

    fn eject(&self, until_ms: u64) {
        self.ejected_until_ms.store(until_ms, Relaxed);
        self.recovering.store(true, Relaxed);
    }

    /// True if it rests, or has not answered since.
    pub(crate) fn is_recovering(&self) -> bool {
        self.recovering.load(Relaxed)
    }

    pub(crate) fn health(&self) -> ServerHealth {
        ServerHealth::from_u8(self.health.load(Relaxed))
    }

    /// When it is to be checked next, on the clock that never goes back.
    pub(crate) fn check_due_ms(&self) -> u64 {
        self.check_due_ms.load(Relaxed)
    }

    pub(crate) fn check_at(&self, due_ms: u64) {
        self.check_due_ms.store(due_ms, Relaxed);
    }

    /// Notes what a check has shown. One that was down and is up again is forgiven everything.
    pub(crate) fn checked(&self, seen: ServerHealth, healthy: u32, unhealthy: u32, now: Now) {
        let before = self.health();
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        let after = checks.record(before, seen, healthy, unhealthy);
        if (before, after) == (ServerHealth::Down, ServerHealth::Up) {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.reset();
            self.recovering.store(false, Relaxed);
            drop(record);
            self.estimate.forget();
            self.start_slow_start(now);
        }
        self.health.store(after as u8, Relaxed);
    }
}
