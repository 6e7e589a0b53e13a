//! Questions that could not be answered, so that nobody asks the same in vain again at once
//! (RFC 9520 §3.2): each is remembered for a second, and for twice as long each time that it fails
//! again, up to half a minute.
//!
//! What an upstream says itself, SERVFAIL or REFUSED, is an answer and kept as one. The memory is
//! bounded; at the cap the oldest failures go. Called by [`super::race`].

use crate::question::{ResolveError, ResolverQuestion};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures remembered, at most: as many as there may be questions in flight.
const FAILURES_MAX: usize = super::fair_shares::QUESTIONS_MAX;
/// RFC 9520 §3.2: at least a second.
const FIRST: Duration = Duration::from_secs(1);
/// And at most five minutes; but nobody wants to wait so long once the network is back.
const LONGEST: Duration = Duration::from_secs(30);
/// A failure this long after the last one is the first again.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// Questions that failed lately, and why: one memory for all engines, or each would ask once more.
#[derive(Default)]
pub(crate) struct FailureMemory {
    table: Mutex<FailureTable>,
    /// Entries of the table. Nearly always nothing has failed, and nobody takes the lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct FailureTable {
    failed: HashMap<Arc<ResolverQuestion>, FailedQuestion>,
    /// In the order in which they came, each with the number that tells it from a later one of the
    /// same.
    order: VecDeque<(Arc<ResolverQuestion>, Instant, u64)>,
    noted: u64,
}

struct FailedQuestion {
    number: u64,
    error: ResolveError,
    at: Instant,
    ttl: Duration,
}

impl FailureMemory {
    /// Why `question` has just failed; none if it may be asked.
    pub(crate) fn lookup(&self, question: &ResolverQuestion, now: Instant) -> Option<ResolveError> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.lock().lookup(question, now)
    }

    /// `question` has failed.
    pub(crate) fn note(&self, question: &ResolverQuestion, why: ResolveError, now: Instant) {
        self.change(|table| table.note(question, why, now));
    }

    /// `question` was answered.
    pub(crate) fn forget(&self, question: &ResolverQuestion) {
        if self.count.load(Ordering::Relaxed) > 0 {
            self.change(|table| {
                table.failed.remove(question);
            });
        }
    }

    /// Forgets everything: whoever is asked from now on may know better.
    pub(crate) fn clear(&self) {
        self.change(|table| *table = FailureTable::default());
    }

    fn change(&self, change: impl FnOnce(&mut FailureTable)) {
        let mut table = self.lock();
        change(&mut table);
        self.count.store(table.failed.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, FailureTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureTable {
    fn lookup(&self, question: &ResolverQuestion, now: Instant) -> Option<ResolveError> {
        let failed = self.failed.get(question)?;
        (now.saturating_duration_since(failed.at) < failed.ttl).then_some(failed.error)
    }

    fn note(&mut self, question: &ResolverQuestion, why: ResolveError, now: Instant) {
        let lasts = match self.failed.get(question) {
            Some(before) if now.saturating_duration_since(before.at) < FORGOTTEN_AFTER => {
                (before.ttl * 2).min(LONGEST)
            }
            Some(_) | None => FIRST,
        };
        self.noted += 1;
        let number = self.noted;
        let question = Arc::new(question.clone());
        self.failed.insert(
            Arc::clone(&question),
            FailedQuestion { number, error: why, at: now, ttl: lasts },
        );
        self.order.push_back((question, now, number));
        self.prune(now);
    }

    /// Lets go of what is no longer of use, and of the oldest beyond the cap.
    fn prune(&mut self, now: Instant) {
        while let Some((question, at, number)) = self.order.front() {
            let is_old = now.saturating_duration_since(*at) >= FORGOTTEN_AFTER;
            if !is_old && self.order.len() <= FAILURES_MAX {
                return;
            }
            if self.failed.get(&**question).is_some_and(|it| it.number == *number) {
                self.failed.remove(&**question);
            }
            self.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use vocab::DomainName;

    fn question(name: &str) -> ResolverQuestion {
        ResolverQuestion::internal(DomainName::parse(name).unwrap().as_name(), 1).unwrap()
    }

    #[test]
    fn a_question_that_fails_again_and_again_rests_longer_and_longer() {
        let (mut memory, question, mut now) =
            (FailureTable::default(), question("a.example"), Instant::now());
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            assert_eq!(memory.lookup(&question, now), None);
            memory.note(&question, ResolveError::Timeout, now);
            now += Duration::from_millis(seconds * 1000 - 1);
            assert_eq!(memory.lookup(&question, now), Some(ResolveError::Timeout), "{seconds}");
            now += Duration::from_millis(1);
        }
        now += FORGOTTEN_AFTER;
        memory.note(&question, ResolveError::Timeout, now);
        assert_eq!(memory.lookup(&question, now + FIRST), None, "it begins anew");
        memory.note(&question, ResolveError::Timeout, now);
        memory.failed.remove(&question);
        assert_eq!(memory.lookup(&question, now), None);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let (mut memory, now) = (FailureTable::default(), Instant::now());
        for number in 0..2 * FAILURES_MAX {
            memory.note(&question(&format!("{number}.example")), ResolveError::Timeout, now);
        }
        // The same again and again takes no more.
        let same = question("same.example");
        for _ in 0..2 * FAILURES_MAX {
            memory.note(&same, ResolveError::Timeout, now);
        }
        assert!(memory.failed.len() <= FAILURES_MAX && memory.order.len() <= FAILURES_MAX);
        assert!(memory.lookup(&same, now).is_some());
        memory.prune(now + FORGOTTEN_AFTER);
        assert!(memory.failed.is_empty() && memory.order.is_empty());
    }
}
