//! Who fetches and who waits: at most one collapsed fetch for each key and variant.
//!
//! The first client that finds nothing leads; those that come meanwhile wait for the head. When it
//! cannot be shared they are all let go at once, and the key is remembered for a while, so that the
//! next herd is not stopped at all. It fetches nothing and sends nothing. Called by the store.

use crate::budget::{Budget, Charge, Class};
use crate::fill::{Fill, Reader};
use crate::key::{Key, KeyHash};
use crate::memory::{Entry, Filed};
use crate::recent::Recent;
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

/// How a fetch stands.
#[derive(Clone)]
pub(crate) enum Stage {
    /// No head yet.
    Pending,
    /// Its head is there, and its body comes.
    Answered(Arc<Filed>, Arc<Fill>),
    /// What was stored was right, and has this head now.
    Freshened(Arc<Entry>),
    /// Its answer is for its own client only.
    Unshared,
    /// Its client left before the head came.
    Vanished,
    /// The origin could not be asked.
    Failed,
}

/// One fetch that others may join.
pub(crate) struct Flight {
    key: Key,
    stage: watch::Sender<Stage>,
    /// Whether a purge came since it began: who asks later must not get what was asked for before.
    is_outdated: AtomicBool,
    waiting: AtomicUsize,
    /// Holds the body's first bytes until all have come who waited for them.
    anchor: Mutex<Option<Reader>>,
}

struct Pen {
    flights: HashMap<KeyHash, Vec<Arc<Flight>>>,
    count: usize,
    alone: Recent,
}

/// What a client is to do.
pub(crate) enum Role {
    /// Fetch; others wait for it.
    Lead(Flying),
    /// Wait for a head.
    Wait(Waiting),
    /// Read what another fetches.
    Read(Arc<Filed>, Arc<Fill>),
    /// Fetch; nobody waits for it.
    Alone,
}

/// Whether a client may have what another asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// It may wait for another's answer, and others for its own.
    Welcome,
    /// Others may wait for its answer; it must ask for itself.
    Followed,
    /// Its answer is for nobody else.
    Refused,
}

impl Company {
    /// The same, but it must ask for itself.
    pub(crate) const fn asking_itself(self) -> Self {
        match self {
            Self::Welcome | Self::Followed => Self::Followed,
            Self::Refused => Self::Refused,
        }
    }
}

/// All fetches that can be joined.
pub(crate) struct Herd {
    pens: Box<[Mutex<Pen>]>,
    _tables: Charge,
}

impl Herd {
    pub(crate) fn new(budget: &Arc<Budget>) -> Arc<Self> {
        let alone = (budget.limit() / ALONE_PART) as usize / PENS;
        let pen =
            || Mutex::new(Pen { flights: HashMap::new(), count: 0, alone: Recent::new(alone) });
        Arc::new(Self {
            pens: (0..PENS).map(|_| pen()).collect(),
            _tables: budget.charge(Class::Heads, PENS as u64 * (Recent::cost(alone) + 128)),
        })
    }

    /// What a client is to do that finds nothing it may use. `suits`: whether it may have an answer
    /// that has this head.
    pub(crate) fn role(
        self: &Arc<Self>,
        key: &Key,
        company: Company,
        now: Now,
        suits: impl Fn(&Filed) -> bool,
    ) -> Role {
        if company == Company::Refused {
            return Role::Alone;
        }
        let mut pen = self.pen(key);
        let flights = pen.flights.get(&key.hash()).map_or(&[][..], Vec::as_slice);
        let flights = flights.iter().filter(|it| it.key == *key && it.is_current());
        let mut pending = None;
        let mut count = 0;
        for flight in flights {
            count += 1;
            match &*flight.stage.borrow() {
                Stage::Answered(filed, fill) if company == Company::Welcome && suits(filed) => {
                    return Role::Read(Arc::clone(filed), Arc::clone(fill));
                }
                Stage::Pending => pending = Some(flight),
                Stage::Answered(..)
                | Stage::Freshened(_)
                | Stage::Unshared
                | Stage::Vanished
                | Stage::Failed => {}
            }
        }
        if let Some(flight) = pending {
            let may_wait =
                company == Company::Welcome && flight.waiting.load(Ordering::Relaxed) < WAITERS_MAX;
            return if may_wait { Role::Wait(Waiting::on(flight)) } else { Role::Alone };
        }
        let is_alone = pen.alone.has(key.hash().0, seconds(now), ALONE_SECS);
        if is_alone || count >= FLIGHTS_A_KEY_MAX || pen.count >= FLIGHTS_A_PEN_MAX {
            return Role::Alone;
        }
        Role::Lead(Flying::begin(self, &mut pen, key))
    }

    /// Leads a fetch behind the clients' backs, unless one is under way.
    pub(crate) fn lead_quietly(self: &Arc<Self>, key: &Key) -> Option<Flying> {
        let mut pen = self.pen(key);
        let is_busy = pen
            .flights
            .get(&key.hash())
            .is_some_and(|flights| flights.iter().any(|it| it.key == *key && it.is_current()));
        (!is_busy && pen.count < FLIGHTS_A_PEN_MAX).then(|| Flying::begin(self, &mut pen, key))
    }

    /// Remembers whether a key's answers can be shared.
    pub(crate) fn learn(&self, key: &Key, company: Company, now: Now) {
        let (hash, now) = (key.hash().0, seconds(now));
        let alone = &mut self.pen(key).alone;
        match company {
            Company::Welcome => drop(alone.take(hash, now, ALONE_SECS)),
            Company::Followed | Company::Refused => alone.note(hash, now),
        }
    }

    /// Whether a key's last answer could not be shared.
    pub(crate) fn is_alone(&self, key: &Key, now: Now) -> bool {
        self.pen(key).alone.has(key.hash().0, seconds(now), ALONE_SECS)
    }

    /// Sees to it that nobody joins what is being fetched. `concerns` is given the head where there is
    /// one. Returns how many fetches are concerned.
    pub(crate) fn outdate(&self, concerns: impl Fn(&Key, Option<&Filed>) -> bool) -> u64 {
        let mut count = 0;
        for pen in &self.pens {
            let pen = lock(pen);
            for flight in pen.flights.values().flatten() {
                let is_concerned = match &*flight.stage.borrow() {
                    Stage::Answered(filed, _) => concerns(&flight.key, Some(filed)),
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
    pub(crate) fn flights(&self, key: &Key) -> usize {
        let pen = self.pen(key);
        pen.flights
            .get(&key.hash())
            .map_or(0, |them| them.iter().filter(|it| it.key == *key).count())
    }

    fn pen(&self, key: &Key) -> MutexGuard<'_, Pen> {
        lock(&self.pens[(key.hash().0 >> 64) as usize % PENS])
    }
}

impl Flight {
    /// Whether what it brings is as new as a fetch that would begin now.
    fn is_current(&self) -> bool {
        !self.is_outdated.load(Ordering::Relaxed)
    }

    fn settle(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }
}

/// A fetch under way, held by whoever leads it. Dropped before its head came, it lets another lead.
pub(crate) struct Flying {
    herd: Arc<Herd>,
    flight: Arc<Flight>,
}

impl Flying {
    fn begin(herd: &Arc<Herd>, pen: &mut Pen, key: &Key) -> Self {
        let flight = Arc::new(Flight {
            key: key.clone(),
            stage: watch::Sender::new(Stage::Pending),
            is_outdated: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            anchor: Mutex::new(None),
        });
        pen.flights.entry(key.hash()).or_default().push(Arc::clone(&flight));
        pen.count += 1;
        Self { herd: Arc::clone(herd), flight }
    }

    /// The head is there: all who wait may read.
    pub(crate) fn answered(&self, filed: &Arc<Filed>, fill: &Arc<Fill>) {
        let flight = &self.flight;
        if flight.waiting.load(Ordering::SeqCst) > 0 {
            *lock(&flight.anchor) = fill.attach(0..u64::MAX).ok();
        }
        flight.settle(Stage::Answered(Arc::clone(filed), Arc::clone(fill)));
        // All may have left meanwhile; the last of them found no anchor to raise.
        if flight.waiting.load(Ordering::SeqCst) == 0 {
            drop(lock(&flight.anchor).take());
        }
    }

    /// Tells all who wait how it stands.
    pub(crate) fn settle(&self, stage: Stage) {
        self.flight.settle(stage);
    }
}

impl Drop for Flying {
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
            let is_pending = matches!(stage, Stage::Pending);
            if is_pending {
                *stage = Stage::Vanished;
            }
            is_pending
        });
    }
}

/// A client that waits for a head.
pub(crate) struct Waiting {
    flight: Arc<Flight>,
    stage: watch::Receiver<Stage>,
}

impl Waiting {
    fn on(flight: &Arc<Flight>) -> Self {
        flight.waiting.fetch_add(1, Ordering::SeqCst);
        Self { flight: Arc::clone(flight), stage: flight.stage.subscribe() }
    }

    /// How the fetch stands once its head has come, or will not come. The body's first byte is there
    /// as long as this waits.
    pub(crate) async fn settled(&mut self) -> Stage {
        let stage = self.stage.wait_for(|stage| !matches!(stage, Stage::Pending)).await;
        stage.map_or(Stage::Vanished, |stage| stage.clone())
    }
}

impl Drop for Waiting {
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
