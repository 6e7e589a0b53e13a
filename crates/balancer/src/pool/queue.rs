//! Waiting for a place: in a bounded line, for a bounded time, and out of it when the client goes.
//!
//! A place that becomes free is given to whoever is next before anybody new can take it. It sends
//! nothing. Called for requests that find no place; leases that end serve the line.

use super::{PickOutcome, PickRequest, ServerLease, ServerPool};
use crate::settings::{QueueSettings, RequestPriority};
use crate::tried::TriedServers;
use crate::wait_queue::{QueueEntry, QueuePlace, QueueRelief, WaitQueue};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use transport::clock;
use vocab::Now;

/// The line of a pool.
#[derive(Debug)]
pub(super) struct PoolQueue {
    line: Mutex<WaitQueue<QueueWaiter>>,
    /// Number that wait: read for every request, so that nobody takes the lock for nothing.
    waiting: AtomicUsize,
    limit: usize,
    /// By class.
    deadlines: [Duration; 3],
    queued_total: AtomicU64,
    refused: AtomicU64,
}

#[derive(Debug)]
struct QueueWaiter {
    pick: PickRequest,
    /// Monotonic milliseconds of its coming.
    since_ms: u64,
    reply: oneshot::Sender<Result<ServerLease, UnservedReason>>,
}

/// Why somebody who waited was not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnservedReason {
    /// The line is full, or somebody of a higher class took the last place.
    Full,
    /// The time of its class was over.
    TimedOut,
    /// No server is up any more; ask again after so many milliseconds.
    NoneUp(u64),
}

/// Requests that wait for servers of a pool: their number, and the age of the oldest in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueReport {
    /// Of high priority.
    pub high: WaitingFigures,
    /// Of normal and low priority.
    pub others: WaitingFigures,
}

/// Requests of one kind that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingFigures {
    /// Number of them.
    pub count: usize,
    /// Age of the oldest, in seconds.
    pub age_s: u64,
}

/// Holds what is told of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueFigures {
    /// High, normal, low.
    pub(crate) now: [usize; 3],
    pub(crate) entered: u64,
    /// The line was full, or the time was over.
    pub(crate) refused: u64,
}

impl PoolQueue {
    pub(super) fn new(settings: &QueueSettings) -> Self {
        let relief = QueueRelief {
            waiting: settings.relief.waiting as usize,
            percent: settings.relief.percent,
        };
        let or_all =
            |own: Option<settings::Text<vocab::TimeSpan>>| own.unwrap_or(settings.deadline).0.0;
        Self {
            line: Mutex::new(WaitQueue::new(relief)),
            waiting: AtomicUsize::new(0),
            limit: settings.length as usize,
            deadlines: [
                or_all(settings.deadline_high),
                settings.deadline.0.0,
                or_all(settings.deadline_low),
            ],
            queued_total: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// True if anybody waits. Whoever comes then goes behind them.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) == 0
    }

    pub(super) fn waiting(&self) -> QueueFigures {
        QueueFigures {
            now: self.line().waiting(),
            entered: self.queued_total.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Requests that wait now, of high priority and of any other.
    fn told(&self, now: Now) -> QueueReport {
        let line = self.line();
        let [high, normal, low] = line.waiting();
        let [high_since, normal_since, low_since] =
            line.oldest().map(|oldest| oldest.map(|waiter| waiter.since_ms));
        let age =
            |since: Option<u64>| since.map_or(0, |since| now.mono_ms.saturating_sub(since) / 1000);
        let others_since = normal_since.into_iter().chain(low_since).min();
        QueueReport {
            high: WaitingFigures { count: high, age_s: age(high_since) },
            others: WaitingFigures { count: normal + low, age_s: age(others_since) },
        }
    }

    fn line(&self) -> MutexGuard<'_, WaitQueue<QueueWaiter>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, line: &WaitQueue<QueueWaiter>) {
        self.waiting.store(line.len(), Ordering::SeqCst);
    }

    fn enter(
        &self,
        class: RequestPriority,
        waiter: QueueWaiter,
    ) -> Result<QueuePlace, UnservedReason> {
        let mut line = self.line();
        let entered = line.push(class, waiter, self.limit);
        self.count(&line);
        drop(line);
        match entered {
            QueueEntry::At(place, displaced) => {
                if let Some(displaced) = displaced {
                    // It may just have left.
                    let _ = displaced.reply.send(Err(UnservedReason::Full));
                }
                self.queued_total.fetch_add(1, Ordering::Relaxed);
                Ok(place)
            }
            QueueEntry::Full => Err(UnservedReason::Full),
        }
    }

    /// A place for whoever is next, as long as there are both.
    pub(super) fn serve(&self, pool: &Arc<ServerPool>, now: Now) {
        while !self.is_empty() {
            let mut line = self.line();
            let Some((place, waiter)) = line.next() else { return };
            match pool.pick_now(&waiter.pick, &mut TriedServers::default(), now) {
                PickOutcome::Server(lease) => {
                    let waiter = line.serve(place);
                    self.count(&line);
                    drop(line);
                    let told = waiter.map(|waiter| waiter.reply.send(Ok(lease)));
                    if let Some(Err(Ok(unwanted))) = told {
                        unwanted.release();
                    }
                }
                PickOutcome::NoneUp(wait_ms) => {
                    let all = line.drain();
                    self.count(&line);
                    drop(line);
                    for waiter in all {
                        // It may just have left.
                        let _ = waiter.reply.send(Err(UnservedReason::NoneUp(wait_ms)));
                    }
                }
                PickOutcome::Full | PickOutcome::AllTried => return,
            }
        }
    }
}

impl ServerPool {
    /// Requests that wait, where its servers are told of them.
    pub fn queue_report(&self) -> Option<QueueReport> {
        self.settings().queue.fields.then(|| self.queue.told(clock::now()))
    }

    /// Waits for a place, as long as its class may. Dropped, it leaves the line.
    pub async fn wait(
        self: &Arc<Self>,
        asking: PickRequest,
        class: RequestPriority,
    ) -> Result<ServerLease, UnservedReason> {
        let (tell, told) = oneshot::channel();
        let refused = |why| {
            self.queue.refused.fetch_add(1, Ordering::Relaxed);
            why
        };
        let now = clock::now();
        let waiter = QueueWaiter { pick: asking, since_ms: now.mono_ms, reply: tell };
        let place = self.queue.enter(class, waiter).map_err(refused)?;
        let _leaving = QueueExit { queue: &self.queue, place };
        // A place may have become free between looking for one and entering.
        self.queue.serve(self, now);
        match timeout(self.queue.deadlines[class as usize], told).await {
            Ok(Ok(served)) => served.map_err(refused),
            Ok(Err(_)) => Err(refused(UnservedReason::Full)),
            Err(_) => Err(refused(UnservedReason::TimedOut)),
        }
    }
}

/// Takes whoever waited out of the line, however the waiting ends.
struct QueueExit<'q> {
    queue: &'q PoolQueue,
    place: QueuePlace,
}

impl Drop for QueueExit<'_> {
    fn drop(&mut self) {
        let mut line = self.queue.line();
        line.remove(self.place);
        self.queue.count(&line);
    }
}
