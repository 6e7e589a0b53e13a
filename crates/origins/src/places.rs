//! Cap on the connections to one origin, all cores together, and requests that wait for a place.
//!
//! A place lives in the stream of its connection, so it ends with it, whoever holds it by then: a
//! body that is read, a cache's own fetch, an upgrade. A request that waits takes what comes first:
//! a connection that falls idle on its core, or a place for a new one. Idle connections give way to
//! requests that wait on other cores. What is over the queue or waits too long is refused. Called
//! by [`super::send`], and by the pools for what falls idle.

use super::error::OriginBusy;
use super::server::OriginServer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Requests that wait for one origin, at most. Each holds a client's connection or a fetch.
pub const WAITING_MAX: u32 = 1000;
/// Time for which one waits.
pub const WAITING_SPAN_MAX: Duration = Duration::from_secs(30);
/// Parts of the table, each with its own lock.
const PARTS: usize = 16;
/// Origins in a part from which on those that nobody uses are looked for.
const FORGOTTEN_FROM: usize = 64;
/// Time after which a request that waits has idle connections looked over.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// While requests wait on other cores too, one of so many connections that fall idle gives its
/// place away, though somebody waits on its own core.
const TURNS: u32 = 8;

/// The places of all origins of a set.
pub(super) struct OriginPlaces {
    max: u32,
    hasher: RandomState,
    parts: [Mutex<HashMap<OriginServer, Arc<OriginQueue>>>; PARTS],
    /// Told when a request begins to wait: idle connections are to give way.
    wanted: Arc<Notify>,
}

/// The places of one origin.
#[derive(Debug)]
pub(super) struct OriginQueue {
    places: Arc<Semaphore>,
    waiting: AtomicU32,
    /// Connections that fell idle while requests waited.
    turns: AtomicU32,
}

/// An origin's queue, which is forgotten with the last of these.
pub(super) struct QueueHandle {
    all: Arc<OriginPlaces>,
    server: OriginServer,
    /// None while it is dropped.
    queue: Option<Arc<OriginQueue>>,
}

/// A place for one connection, until it is dropped.
pub(super) struct OriginPlace {
    /// Given back before the queue is forgotten.
    permit: Option<OwnedSemaphorePermit>,
    handle: QueueHandle,
}

/// Outcome of waiting.
pub(super) enum PlaceFound<T> {
    /// A place for a new connection.
    New(OriginPlace),
    /// A connection that has fallen idle.
    Kept(T),
}

/// Requests that wait on this core for one origin.
#[derive(Default)]
struct LocalWaiters {
    count: u32,
    released: Rc<Notify>,
}

thread_local! {
    /// By the place of the queue in memory, which it keeps while somebody waits.
    static WAITING: RefCell<HashMap<usize, LocalWaiters>> = RefCell::default();
}

impl OriginPlaces {
    /// At most `max` connections to each origin.
    pub(super) fn new(max: u32) -> Arc<Self> {
        Arc::new(Self {
            max,
            hasher: RandomState::new(),
            parts: std::array::from_fn(|_| Mutex::default()),
            wanted: Arc::default(),
        })
    }

    /// Told when a request begins to wait, and now and then while one does.
    pub(super) const fn wanted(&self) -> &Arc<Notify> {
        &self.wanted
    }

    /// The cap.
    pub(super) const fn max(&self) -> u32 {
        self.max
    }

    fn part(
        &self,
        server: &OriginServer,
    ) -> MutexGuard<'_, HashMap<OriginServer, Arc<OriginQueue>>> {
        let part = self.hasher.hash_one(server) as usize % PARTS;
        self.parts[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(self: &Arc<Self>, server: &OriginServer) -> QueueHandle {
        let mut part = self.part(server);
        if part.len() >= FORGOTTEN_FROM && part.len().is_power_of_two() {
            // Mostly nothing: whoever goes last takes its own out.
            part.retain(|_, queue| Arc::strong_count(queue) > 1);
        }
        let queue = part.entry(server.clone()).or_insert_with(|| {
            Arc::new(OriginQueue {
                places: Arc::new(Semaphore::new(self.max as usize)),
                waiting: AtomicU32::new(0),
                turns: AtomicU32::new(0),
            })
        });
        let queue = Some(Arc::clone(queue));
        QueueHandle { all: Arc::clone(self), server: server.clone(), queue }
    }

    /// A place that is free now, where nobody waits for one.
    pub(super) fn try_take(self: &Arc<Self>, server: &OriginServer) -> Option<OriginPlace> {
        let handle = self.handle(server);
        if handle.queue().waiting.load(SeqCst) > 0 {
            return None;
        }
        let permit = Arc::clone(&handle.queue().places).try_acquire_owned().ok()?;
        Some(OriginPlace { permit: Some(permit), handle })
    }

    /// A place, or what `kept` finds among the connections of this core, once there is one of them.
    pub(super) async fn wait<T>(
        self: &Arc<Self>,
        server: &OriginServer,
        kept: &impl AsyncFn() -> Option<T>,
    ) -> Result<PlaceFound<T>, OriginBusy> {
        if let Some(place) = self.try_take(server) {
            return Ok(PlaceFound::New(place));
        }
        let handle = self.handle(server);
        let waiter = PlaceWaiter::new(Arc::clone(handle.queue()))?;
        let deadline = Instant::now() + WAITING_SPAN_MAX;
        let mut free = pin!(Arc::clone(&handle.queue().places).acquire_owned());
        loop {
            // Whoever has it idle looks after this: it is registered by now.
            let mut released = pin!(waiter.released.notified());
            released.as_mut().enable();
            if let Some(found) = kept().await {
                return Ok(PlaceFound::Kept(found));
            }
            self.wanted.notify_waiters();
            let next = async {
                tokio::select! {
                    biased;
                    permit = &mut free => permit.ok(),
                    () = &mut released => None,
                }
            };
            match timeout_at(deadline.min(Instant::now() + LOOK_EVERY), next).await {
                Ok(Some(permit)) => {
                    return Ok(PlaceFound::New(OriginPlace { permit: Some(permit), handle }));
                }
                Err(_) if Instant::now() >= deadline => return Err(OriginBusy::TooLong),
                Ok(None) | Err(_) => {}
            }
        }
    }
}

/// A request that waits, until it is dropped.
struct PlaceWaiter {
    queue: Arc<OriginQueue>,
    released: Rc<Notify>,
}

impl PlaceWaiter {
    fn new(queue: Arc<OriginQueue>) -> Result<Self, OriginBusy> {
        let one_more = |waiting| (waiting < WAITING_MAX).then_some(waiting + 1);
        if queue.waiting.fetch_update(SeqCst, SeqCst, one_more).is_err() {
            return Err(OriginBusy::QueueFull);
        }
        let released = WAITING.with_borrow_mut(|all| {
            let local = all.entry(queue.number()).or_default();
            local.count += 1;
            Rc::clone(&local.released)
        });
        Ok(Self { queue, released })
    }
}

impl Drop for PlaceWaiter {
    fn drop(&mut self) {
        self.queue.waiting.fetch_sub(1, SeqCst);
        WAITING.with_borrow_mut(|all| {
            let number = self.queue.number();
            if let Some(local) = all.get_mut(&number) {
                local.count -= 1;
                if local.count == 0 {
                    all.remove(&number);
                }
            }
        });
    }
}

/// Tells what becomes of a connection that falls idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdleFate {
    /// Kept; whoever waits for it on this core has been told, once it is.
    Kept,
    /// Closed: its place is wanted on another core.
    Closed,
}

impl OriginQueue {
    fn number(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Number of requests that wait, on all cores.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting.load(SeqCst)
    }

    /// Number of requests that wait on other cores than this one.
    pub(super) fn waiting_elsewhere(&self) -> u32 {
        self.waiting().saturating_sub(self.waiting_here())
    }

    fn waiting_here(&self) -> u32 {
        WAITING.with_borrow(|all| all.get(&self.number()).map_or(0, |local| local.count))
    }

    /// Returns what becomes of a connection that falls idle now.
    pub(super) fn idle_fate(&self) -> IdleFate {
        if self.waiting_elsewhere() == 0 {
            return IdleFate::Kept;
        }
        let is_their_turn = self.turns.fetch_add(1, SeqCst) % TURNS == TURNS - 1;
        if is_their_turn || self.waiting_here() == 0 { IdleFate::Closed } else { IdleFate::Kept }
    }

    /// A connection on this core has room: one that waits here may look.
    pub(super) fn released_here(&self) {
        WAITING.with_borrow(|all| {
            if let Some(local) = all.get(&self.number()) {
                local.released.notify_one();
            }
        });
    }
}

impl QueueHandle {
    fn queue(&self) -> &Arc<OriginQueue> {
        self.queue.as_ref().expect("it is taken out as this is dropped, and not before")
    }
}

impl Drop for QueueHandle {
    fn drop(&mut self) {
        let mut part = self.all.part(&self.server);
        // Within the lock, so that of several that go at once the last sees that it is.
        self.queue = None;
        if part.get(&self.server).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            part.remove(&self.server);
        }
    }
}

impl OriginPlace {
    /// The queue of its origin, for whoever keeps the connection.
    pub(super) fn queue(&self) -> Weak<OriginQueue> {
        Arc::downgrade(self.handle.queue())
    }

    /// The set that it is of.
    pub(super) const fn of(&self) -> &Arc<OriginPlaces> {
        &self.handle.all
    }
}

impl Drop for OriginPlaces {
    fn drop(&mut self) {
        self.wanted.notify_waiters();
    }
}

impl Drop for OriginPlace {
    fn drop(&mut self) {
        self.permit = None;
    }
}

impl std::fmt::Debug for OriginPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OriginPlace").field(&self.handle.server).finish()
    }
}
