//! Request coalescing: at most one fetch that clients share for each key and variant.
//!
//! The first client that finds nothing fetches; those that come meanwhile wait for the head. When
//! it cannot be shared they are all let go at once, and the key is remembered for a while, so that
//! the next crowd is not stopped at all. It fetches nothing and sends nothing. Called by the store.

use crate::budget::{Budget, ByteCharge, ByteClass};
use crate::fill::{Fill, FillReader};
use crate::memory::{FiledHead, StoredEntry};
use crate::recent::RecentKeys;
use disk_store::{CacheKey, KeyHash};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use vocab::Now;

/// Fetches of one key that others may join: one a variant. At the cap a client fetches alone.
pub const FLIGHTS_A_KEY_MAX: usize = 8;
/// Clients that wait for the head of one fetch. At the cap a further one fetches alone.
pub const WAITERS_MAX: usize = 1 << 16;
/// Collapsed fetches in one shard. At the cap a client fetches alone.
const FLIGHTS_A_SHARD_MAX: usize = 4096;
/// Shards, so that two cores seldom meet; a power of two.
const SHARDS: usize = 16;
/// For how long a key whose answer could not be shared is not waited for, in seconds: five minutes.
/// A site that begins to allow sharing is found out by the first answer, not by this.
const ALONE_SECS: u32 = 300;
/// Keys that are remembered so: one for so many bytes of the limit.
const ALONE_PART: u64 = 8 << 10;

/// Stage of a fetch.
#[derive(Clone)]
pub(crate) enum FetchStage {
    /// No head yet.
    Pending,
    /// Head is there, and its body comes.
    Answered(Arc<FiledHead>, Arc<Fill>),
    /// The stored response was right, and has this head now.
    Freshened(Arc<StoredEntry>),
    /// Another machine of the fleet had stored it.
    Found(Arc<StoredEntry>),
    /// Answer is for its own client only.
    Unshared,
    /// Client left before the head came.
    Abandoned,
    /// The origin could not be asked.
    Failed,
}

/// One fetch that others may join.
pub(crate) struct SharedFetch {
    key: CacheKey,
    stage: watch::Sender<FetchStage>,
    /// True if a purge came since it began: who asks later must not get what was asked for before.
    is_outdated: AtomicBool,
    waiting: AtomicUsize,
    /// Holds the body's first bytes until all have come who waited for them.
    body_hold: Mutex<Option<FillReader>>,
}

struct CollapserShard {
    fetches: HashMap<KeyHash, Vec<Arc<SharedFetch>>>,
    count: usize,
    unshared: RecentKeys,
}

/// Role of a client that finds nothing it may use.
pub(crate) enum CollapseRole {
    /// Fetch; others wait for it.
    Lead(InFlightGuard),
    /// Wait for a head.
    Wait(HeadWaiter),
    /// Read what another fetches.
    Read(Arc<FiledHead>, Arc<Fill>),
    /// Fetch; nobody waits for it.
    Unshared,
}

/// Degree to which a request may share responses with other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollapseMode {
    /// May wait for another's answer, and others for its own.
    JoinOrLead,
    /// Others may wait for its answer; it must ask for itself.
    LeadOnly,
    /// Answer is for nobody else.
    Never,
}

impl CollapseMode {
    /// The same, but it must ask for itself.
    pub(crate) const fn without_joining(self) -> Self {
        match self {
            Self::JoinOrLead | Self::LeadOnly => Self::LeadOnly,
            Self::Never => Self::Never,
        }
    }
}

/// All fetches that can be joined.
pub(crate) struct RequestCollapser {
    shards: Box<[Mutex<CollapserShard>]>,
    _tables: ByteCharge,
}

impl RequestCollapser {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let alone = (budget.limit() / ALONE_PART) as usize / SHARDS;
        let shard = || {
            Mutex::new(CollapserShard {
                fetches: HashMap::new(),
                count: 0,
                unshared: RecentKeys::new(alone),
            })
        };
        Arc::new(Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            _tables: budget
                .charge(ByteClass::Heads, SHARDS as u64 * (RecentKeys::cost(alone) + 128)),
        })
    }

    /// Returns what a client is to do that finds nothing it may use. `is_usable`: whether it may
    /// have an answer that has this head.
    pub(crate) fn join_or_lead(
        self: &Arc<Self>,
        key: &CacheKey,
        mode: CollapseMode,
        now: Now,
        is_usable: impl Fn(&FiledHead) -> bool,
    ) -> CollapseRole {
        if mode == CollapseMode::Never {
            return CollapseRole::Unshared;
        }
        let mut shard = self.shard(key);
        let flights = shard.fetches.get(&key.hash()).map_or(&[][..], Vec::as_slice);
        let flights = flights.iter().filter(|it| it.key == *key && it.is_current());
        let mut pending = None;
        let mut count = 0;
        for flight in flights {
            count += 1;
            match &*flight.stage.borrow() {
                FetchStage::Answered(filed, fill)
                    if mode == CollapseMode::JoinOrLead && is_usable(filed) =>
                {
                    return CollapseRole::Read(Arc::clone(filed), Arc::clone(fill));
                }
                FetchStage::Pending => pending = Some(flight),
                FetchStage::Answered(..)
                | FetchStage::Freshened(_)
                | FetchStage::Found(_)
                | FetchStage::Unshared
                | FetchStage::Abandoned
                | FetchStage::Failed => {}
            }
        }
        if let Some(flight) = pending {
            let may_wait = mode == CollapseMode::JoinOrLead
                && flight.waiting.load(Ordering::Relaxed) < WAITERS_MAX;
            return if may_wait {
                CollapseRole::Wait(HeadWaiter::on(flight))
            } else {
                CollapseRole::Unshared
            };
        }
        let is_uncollapsed = shard.unshared.contains(key.hash().0, seconds(now), ALONE_SECS);
        if is_uncollapsed || count >= FLIGHTS_A_KEY_MAX || shard.count >= FLIGHTS_A_SHARD_MAX {
            return CollapseRole::Unshared;
        }
        CollapseRole::Lead(InFlightGuard::start(self, &mut shard, key))
    }

    /// Begins a fetch that no client waits for, unless one is under way.
    pub(crate) fn begin_background_refresh(
        self: &Arc<Self>,
        key: &CacheKey,
    ) -> Option<InFlightGuard> {
        let mut shard = self.shard(key);
        let is_busy = shard
            .fetches
            .get(&key.hash())
            .is_some_and(|flights| flights.iter().any(|it| it.key == *key && it.is_current()));
        (!is_busy && shard.count < FLIGHTS_A_SHARD_MAX)
            .then(|| InFlightGuard::start(self, &mut shard, key))
    }

    /// Remembers whether a key's answers can be shared.
    pub(crate) fn note_shareable(&self, key: &CacheKey, mode: CollapseMode, now: Now) {
        let (hash, now) = (key.hash().0, seconds(now));
        let alone = &mut self.shard(key).unshared;
        match mode {
            CollapseMode::JoinOrLead => drop(alone.remove(hash, now, ALONE_SECS)),
            CollapseMode::LeadOnly | CollapseMode::Never => alone.note(hash, now),
        }
    }

    /// True if a key's last answer could not be shared.
    pub(crate) fn is_uncollapsed(&self, key: &CacheKey, now: Now) -> bool {
        self.shard(key).unshared.contains(key.hash().0, seconds(now), ALONE_SECS)
    }

    /// Marks matching fetches outdated, so that no new request joins them. `concerns` is given the
    /// head where there is one. Returns how many fetches are concerned.
    pub(crate) fn mark_outdated(
        &self,
        concerns: impl Fn(&CacheKey, Option<&FiledHead>) -> bool,
    ) -> u64 {
        let mut count = 0;
        for shard in &self.shards {
            let shard = lock(shard);
            for flight in shard.fetches.values().flatten() {
                let is_concerned = match &*flight.stage.borrow() {
                    FetchStage::Answered(filed, _) => concerns(&flight.key, Some(filed)),
                    _ => concerns(&flight.key, None),
                };
                if is_concerned {
                    flight.is_outdated.store(true, Ordering::Relaxed);
                    count += 1;
                }
            }
        }
        count
    }

    /// Fetches of a key under way that others may join.
    pub(crate) fn in_flight(&self, key: &CacheKey) -> usize {
        let shard = self.shard(key);
        shard
            .fetches
            .get(&key.hash())
            .map_or(0, |them| them.iter().filter(|it| it.key == *key).count())
    }

    fn shard(&self, key: &CacheKey) -> MutexGuard<'_, CollapserShard> {
        lock(&self.shards[(key.hash().0 >> 64) as usize % SHARDS])
    }
}

impl SharedFetch {
    /// True if what it brings is as new as a fetch that would begin now.
    fn is_current(&self) -> bool {
        !self.is_outdated.load(Ordering::Relaxed)
    }

    fn publish(&self, stage: FetchStage) {
        self.stage.send_replace(stage);
    }
}

/// A fetch under way, held by the client that makes it. Dropped before its head came, it lets
/// another client fetch.
pub(crate) struct InFlightGuard {
    collapser: Arc<RequestCollapser>,
    fetch: Arc<SharedFetch>,
}

impl InFlightGuard {
    fn start(
        collapser: &Arc<RequestCollapser>,
        shard: &mut CollapserShard,
        key: &CacheKey,
    ) -> Self {
        let fetch = Arc::new(SharedFetch {
            key: key.clone(),
            stage: watch::Sender::new(FetchStage::Pending),
            is_outdated: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            body_hold: Mutex::new(None),
        });
        shard.fetches.entry(key.hash()).or_default().push(Arc::clone(&fetch));
        shard.count += 1;
        Self { collapser: Arc::clone(collapser), fetch }
    }

    /// The head is there: all who wait may read.
    pub(crate) fn answered(&self, filed: &Arc<FiledHead>, fill: &Arc<Fill>) {
        let flight = &self.fetch;
        if flight.waiting.load(Ordering::SeqCst) > 0 {
            *lock(&flight.body_hold) = fill.attach(0..u64::MAX).ok();
        }
        flight.publish(FetchStage::Answered(Arc::clone(filed), Arc::clone(fill)));
        // All may have left meanwhile; the last of them found no anchor to raise.
        if flight.waiting.load(Ordering::SeqCst) == 0 {
            drop(lock(&flight.body_hold).take());
        }
    }

    /// Tells all who wait how it stands.
    pub(crate) fn publish(&self, stage: FetchStage) {
        self.fetch.publish(stage);
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let Self { collapser, fetch: flight } = self;
        {
            let mut shard = collapser.shard(&flight.key);
            if let Some(flights) = shard.fetches.get_mut(&flight.key.hash()) {
                flights.retain(|it| !Arc::ptr_eq(it, flight));
                if flights.is_empty() {
                    shard.fetches.remove(&flight.key.hash());
                }
                shard.count -= 1;
            }
        }
        flight.stage.send_if_modified(|stage| {
            let is_pending = matches!(stage, FetchStage::Pending);
            if is_pending {
                *stage = FetchStage::Abandoned;
            }
            is_pending
        });
    }
}

/// A client that waits for a head.
pub(crate) struct HeadWaiter {
    fetch: Arc<SharedFetch>,
    stage: watch::Receiver<FetchStage>,
}

impl HeadWaiter {
    fn on(flight: &Arc<SharedFetch>) -> Self {
        flight.waiting.fetch_add(1, Ordering::SeqCst);
        Self { fetch: Arc::clone(flight), stage: flight.stage.subscribe() }
    }

    /// Returns how the fetch stands once its head has come, or will not come. The body's first byte
    /// is there as long as this waits.
    pub(crate) async fn head_settled(&mut self) -> FetchStage {
        let stage = self.stage.wait_for(|stage| !matches!(stage, FetchStage::Pending)).await;
        stage.map_or(FetchStage::Abandoned, |stage| stage.clone())
    }
}

impl Drop for HeadWaiter {
    fn drop(&mut self) {
        if self.fetch.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            let body_hold = lock(&self.fetch.body_hold).take();
            drop(body_hold);
        }
    }
}

fn seconds(now: Now) -> u32 {
    // Wraps after 136 years without a restart.
    (now.mono_ms / 1000) as u32
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks leaves what they guard half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
