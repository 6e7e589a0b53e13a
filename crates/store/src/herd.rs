//! Who fetches and who waits: at most one collapsed fetch for each key and variant.
//!
//! The first client that finds nothing leads; those that come meanwhile wait for the head. When it
//! cannot be shared they are all let go at once, and the key is remembered for a while, so that the
//! next herd is not stopped at all. It fetches nothing and sends nothing. Called by the store.

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
/// Collapsed fetches in one pen. At the cap a client fetches alone.
const FLIGHTS_A_PEN_MAX: usize = 4096;
/// Pens, so that two cores seldom meet; a power of two.
const PENS: usize = 16;
/// For how long a key whose answer could not be shared is not waited for, in seconds: five minutes.
/// A site that begins to allow sharing is found out by the first answer, not by this.
const ALONE_SECS: u32 = 300;
/// Keys that are remembered so: one for so many bytes of the limit.
const ALONE_PART: u64 = 8 << 10;

/// Tells how a fetch stands.
#[derive(Clone)]
pub(crate) enum FetchStage {
    /// No head yet.
    Pending,
    /// Head is there, and its body comes.
    Answered(Arc<FiledHead>, Arc<Fill>),
    /// What was stored was right, and has this head now.
    Freshened(Arc<StoredEntry>),
    /// Answer is for its own client only.
    Unshared,
    /// Client left before the head came.
    Vanished,
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
    anchor: Mutex<Option<FillReader>>,
}

struct CollapserShard {
    flights: HashMap<KeyHash, Vec<Arc<SharedFetch>>>,
    count: usize,
    alone: RecentKeys,
}

/// Tells what a client is to do.
pub(crate) enum CollapseRole {
    /// Fetch; others wait for it.
    Lead(InFlightGuard),
    /// Wait for a head.
    Wait(HeadWaiter),
    /// Read what another fetches.
    Read(Arc<FiledHead>, Arc<Fill>),
    /// Fetch; nobody waits for it.
    Alone,
}

/// Tells whether a client may have what another asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollapseMode {
    /// May wait for another's answer, and others for its own.
    Welcome,
    /// Others may wait for its answer; it must ask for itself.
    Followed,
    /// Answer is for nobody else.
    Refused,
}

impl CollapseMode {
    /// The same, but it must ask for itself.
    pub(crate) const fn asking_itself(self) -> Self {
        match self {
            Self::Welcome | Self::Followed => Self::Followed,
            Self::Refused => Self::Refused,
        }
    }
}

/// All fetches that can be joined.
pub(crate) struct RequestCollapser {
    pens: Box<[Mutex<CollapserShard>]>,
    _tables: ByteCharge,
}

impl RequestCollapser {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let alone = (budget.limit() / ALONE_PART) as usize / PENS;
        let pen = || {
            Mutex::new(CollapserShard {
                flights: HashMap::new(),
                count: 0,
                alone: RecentKeys::new(alone),
            })
        };
        Arc::new(Self {
            pens: (0..PENS).map(|_| pen()).collect(),
            _tables: budget.charge(ByteClass::Heads, PENS as u64 * (RecentKeys::cost(alone) + 128)),
        })
    }

    /// Returns what a client is to do that finds nothing it may use. `suits`: whether it may have
    /// an answer that has this head.
    pub(crate) fn role(
        self: &Arc<Self>,
        key: &CacheKey,
        company: CollapseMode,
        now: Now,
        suits: impl Fn(&FiledHead) -> bool,
    ) -> CollapseRole {
        if company == CollapseMode::Refused {
            return CollapseRole::Alone;
        }
        let mut pen = self.pen(key);
        let flights = pen.flights.get(&key.hash()).map_or(&[][..], Vec::as_slice);
        let flights = flights.iter().filter(|it| it.key == *key && it.is_current());
        let mut pending = None;
        let mut count = 0;
        for flight in flights {
            count += 1;
            match &*flight.stage.borrow() {
                FetchStage::Answered(filed, fill)
                    if company == CollapseMode::Welcome && suits(filed) =>
                {
                    return CollapseRole::Read(Arc::clone(filed), Arc::clone(fill));
                }
                FetchStage::Pending => pending = Some(flight),
                FetchStage::Answered(..)
                | FetchStage::Freshened(_)
                | FetchStage::Unshared
                | FetchStage::Vanished
                | FetchStage::Failed => {}
            }
        }
        if let Some(flight) = pending {
            let may_wait = company == CollapseMode::Welcome
                && flight.waiting.load(Ordering::Relaxed) < WAITERS_MAX;
            return if may_wait {
                CollapseRole::Wait(HeadWaiter::on(flight))
            } else {
                CollapseRole::Alone
            };
        }
        let is_alone = pen.alone.has(key.hash().0, seconds(now), ALONE_SECS);
        if is_alone || count >= FLIGHTS_A_KEY_MAX || pen.count >= FLIGHTS_A_PEN_MAX {
            return CollapseRole::Alone;
        }
        CollapseRole::Lead(InFlightGuard::begin(self, &mut pen, key))
    }

    /// Leads a fetch behind the clients' backs, unless one is under way.
    pub(crate) fn lead_quietly(self: &Arc<Self>, key: &CacheKey) -> Option<InFlightGuard> {
        let mut pen = self.pen(key);
        let is_busy = pen
            .flights
            .get(&key.hash())
            .is_some_and(|flights| flights.iter().any(|it| it.key == *key && it.is_current()));
        (!is_busy && pen.count < FLIGHTS_A_PEN_MAX)
            .then(|| InFlightGuard::begin(self, &mut pen, key))
    }

    /// Remembers whether a key's answers can be shared.
    pub(crate) fn learn(&self, key: &CacheKey, company: CollapseMode, now: Now) {
        let (hash, now) = (key.hash().0, seconds(now));
        let alone = &mut self.pen(key).alone;
        match company {
            CollapseMode::Welcome => drop(alone.take(hash, now, ALONE_SECS)),
            CollapseMode::Followed | CollapseMode::Refused => alone.note(hash, now),
        }
    }

    /// True if a key's last answer could not be shared.
    pub(crate) fn is_alone(&self, key: &CacheKey, now: Now) -> bool {
        self.pen(key).alone.has(key.hash().0, seconds(now), ALONE_SECS)
    }

    /// Sees to it that nobody joins what is being fetched. `concerns` is given the head where there
    /// is one. Returns how many fetches are concerned.
    pub(crate) fn outdate(&self, concerns: impl Fn(&CacheKey, Option<&FiledHead>) -> bool) -> u64 {
        let mut count = 0;
        for pen in &self.pens {
            let pen = lock(pen);
            for flight in pen.flights.values().flatten() {
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
    pub(crate) fn flights(&self, key: &CacheKey) -> usize {
        let pen = self.pen(key);
        pen.flights
            .get(&key.hash())
            .map_or(0, |them| them.iter().filter(|it| it.key == *key).count())
    }

    fn pen(&self, key: &CacheKey) -> MutexGuard<'_, CollapserShard> {
        lock(&self.pens[(key.hash().0 >> 64) as usize % PENS])
    }
}

impl SharedFetch {
    /// True if what it brings is as new as a fetch that would begin now.
    fn is_current(&self) -> bool {
        !self.is_outdated.load(Ordering::Relaxed)
    }

    fn settle(&self, stage: FetchStage) {
        self.stage.send_replace(stage);
    }
}

/// A fetch under way, held by whoever leads it. Dropped before its head came, it lets another lead.
pub(crate) struct InFlightGuard {
    herd: Arc<RequestCollapser>,
    flight: Arc<SharedFetch>,
}

impl InFlightGuard {
    fn begin(herd: &Arc<RequestCollapser>, pen: &mut CollapserShard, key: &CacheKey) -> Self {
        let flight = Arc::new(SharedFetch {
            key: key.clone(),
            stage: watch::Sender::new(FetchStage::Pending),
            is_outdated: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            anchor: Mutex::new(None),
        });
        pen.flights.entry(key.hash()).or_default().push(Arc::clone(&flight));
        pen.count += 1;
        Self { herd: Arc::clone(herd), flight }
    }

    /// The head is there: all who wait may read.
    pub(crate) fn answered(&self, filed: &Arc<FiledHead>, fill: &Arc<Fill>) {
        let flight = &self.flight;
        if flight.waiting.load(Ordering::SeqCst) > 0 {
            *lock(&flight.anchor) = fill.attach(0..u64::MAX).ok();
        }
        flight.settle(FetchStage::Answered(Arc::clone(filed), Arc::clone(fill)));
        // All may have left meanwhile; the last of them found no anchor to raise.
        if flight.waiting.load(Ordering::SeqCst) == 0 {
            drop(lock(&flight.anchor).take());
        }
    }

    /// Tells all who wait how it stands.
    pub(crate) fn settle(&self, stage: FetchStage) {
        self.flight.settle(stage);
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let Self { herd, flight } = self;
        {
            let mut pen = herd.pen(&flight.key);
            if let Some(flights) = pen.flights.get_mut(&flight.key.hash()) {
                flights.retain(|it| !Arc::ptr_eq(it, flight));
                if flights.is_empty() {
                    pen.flights.remove(&flight.key.hash());
                }
                pen.count -= 1;
            }
        }
        flight.stage.send_if_modified(|stage| {
            let is_pending = matches!(stage, FetchStage::Pending);
            if is_pending {
                *stage = FetchStage::Vanished;
            }
            is_pending
        });
    }
}

/// A client that waits for a head.
pub(crate) struct HeadWaiter {
    flight: Arc<SharedFetch>,
    stage: watch::Receiver<FetchStage>,
}

impl HeadWaiter {
    fn on(flight: &Arc<SharedFetch>) -> Self {
        flight.waiting.fetch_add(1, Ordering::SeqCst);
        Self { flight: Arc::clone(flight), stage: flight.stage.subscribe() }
    }

    /// Returns how the fetch stands once its head has come, or will not come. The body's first byte
    /// is there as long as this waits.
    pub(crate) async fn settled(&mut self) -> FetchStage {
        let stage = self.stage.wait_for(|stage| !matches!(stage, FetchStage::Pending)).await;
        stage.map_or(FetchStage::Vanished, |stage| stage.clone())
    }
}

impl Drop for HeadWaiter {
    fn drop(&mut self) {
        if self.flight.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            let anchor = lock(&self.flight.anchor).take();
            drop(anchor);
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
