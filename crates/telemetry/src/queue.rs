//! A bounded queue of one signal: doors put in, the exporter's thread takes batches out.
//!
//! Whoever puts in never waits for room: at the cap an item is dropped and counted.

use crate::counts::SignalCounters;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Items of one batch, at most.
pub(crate) const BATCH_MAX: usize = 512;
/// Time for which the first item of a batch waits for others.
pub(crate) const BATCH_DELAY: Duration = Duration::from_secs(1);

/// A bounded queue of one signal.
pub(crate) struct SignalQueue<T> {
    inner: Mutex<QueueContent<T>>,
    changed: Condvar,
    cap: usize,
    counters: &'static SignalCounters,
}

struct QueueContent<T> {
    items: VecDeque<T>,
    is_closed: bool,
}

impl<T> SignalQueue<T> {
    pub(crate) fn new(cap: usize, counters: &'static SignalCounters) -> Self {
        let inner = Mutex::new(QueueContent { items: VecDeque::new(), is_closed: false });
        Self { inner, changed: Condvar::new(), cap, counters }
    }

    fn content(&self) -> MutexGuard<'_, QueueContent<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item in, or drops and counts it where there is no room.
    pub(crate) fn push(&self, item: T) {
        let mut content = self.content();
        if content.is_closed || content.items.len() >= self.cap {
            drop(content);
            return self.counters.dropped_full(1);
        }
        content.items.push_back(item);
        let len = content.items.len();
        drop(content);
        self.counters.waits(len);
        // One that sleeps is told of the first item, and of a batch that is full.
        if len == 1 || len == BATCH_MAX.min(self.cap) {
            self.changed.notify_one();
        }
    }

    /// The next batch, once it is full or its first item has waited long enough; none once the
    /// queue is closed and empty.
    pub(crate) fn next_batch(&self) -> Option<Vec<T>> {
        let mut content = self.content();
        while content.items.is_empty() {
            if content.is_closed {
                return None;
            }
            content = self.changed.wait(content).unwrap_or_else(PoisonError::into_inner);
        }
        let due = Instant::now() + BATCH_DELAY;
        while content.items.len() < BATCH_MAX.min(self.cap) && !content.is_closed {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let len = content.items.len().min(BATCH_MAX);
        let batch = content.items.drain(..len).collect();
        self.counters.waits(content.items.len());
        Some(batch)
    }

    /// Takes nothing more; what waits is still given out.
    pub(crate) fn close(&self) {
        self.content().is_closed = true;
        self.changed.notify_all();
    }

    /// Sleeps for `pause`, or until the queue is closed.
    pub(crate) fn pause(&self, pause: Duration) -> PauseEnd {
        let due = Instant::now() + pause;
        let mut content = self.content();
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if content.is_closed {
                return PauseEnd::Closed;
            }
            if left.is_zero() {
                return PauseEnd::Over;
            }
            let waited = self.changed.wait_timeout(content, left);
            content = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The end of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseEnd {
    Over,
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts() {
        static COUNTERS: SignalCounters = SignalCounters::new();
        let queue = SignalQueue::new(2, &COUNTERS);
        (0..5).for_each(|item| queue.push(item));
        assert_eq!(COUNTERS.read().dropped_full, 3);
        assert_eq!(queue.next_batch(), Some(vec![0, 1]));
        queue.close();
        assert_eq!(queue.next_batch(), None);
        queue.push(9);
        assert_eq!(COUNTERS.read().dropped_full, 4);
        assert_eq!(queue.pause(Duration::from_hours(1)), PauseEnd::Closed);
    }

    #[test]
    fn a_batch_has_a_cap_and_keeps_the_order() {
        static COUNTERS: SignalCounters = SignalCounters::new();
        let queue = SignalQueue::new(10_000, &COUNTERS);
        (0..=BATCH_MAX).for_each(|item| queue.push(item));
        assert_eq!(queue.next_batch(), Some((0..BATCH_MAX).collect()));
        queue.close();
        assert_eq!(queue.next_batch(), Some(vec![BATCH_MAX]));
    }
}
