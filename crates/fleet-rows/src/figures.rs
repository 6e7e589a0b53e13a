//! Figures of the sender, which others read while it works.

use ledger::FollowPlace;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Figures that the sender and its readers share.
#[derive(Debug, Default)]
pub(crate) struct SenderFigures {
    pub(crate) sent: AtomicU64,
    pub(crate) minutes_sent: AtomicU64,
    pub(crate) dropped: DroppedRows,
    pub(crate) failures: AtomicU64,
    state: Mutex<SenderState>,
}

/// Rows that were not sent and never will be, by reason.
#[derive(Debug, Default)]
pub(crate) struct DroppedRows {
    pub(crate) backlog: AtomicU64,
    pub(crate) moment: AtomicU64,
    pub(crate) unfit: AtomicU64,
}

#[derive(Clone, Debug, Default)]
struct SenderState {
    place: Option<FollowPlace>,
    link: DatabaseLink,
    trouble: Option<String>,
}

/// State of the way to the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatabaseLink {
    /// There is none: it is tried again.
    #[default]
    Down,
    /// Rows are sent.
    Up,
}

/// Figures of the rows that are sent, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFigures {
    /// Rows that the database has taken since the start.
    pub sent: u64,
    /// Counts by the minute that it has taken, each time anew.
    pub minutes_sent: u64,
    /// Rows that were not sent, because the log had them no more or the backlog was full.
    pub dropped_backlog: u64,
    /// Rows of a moment for which the database keeps nothing.
    pub dropped_moment: u64,
    /// Rows that the database does not take.
    pub dropped_unfit: u64,
    /// Times that the way to the database failed.
    pub failures: u64,
    /// Rows of the log that were not looked at yet; of them `sample` says how many are sent.
    pub waiting: u64,
    /// Age of the last row that was looked at, while others wait behind it.
    pub lag_ms: u64,
    /// The way to the database.
    pub link: DatabaseLink,
    /// Why it is down.
    pub trouble: Option<String>,
}

impl SenderFigures {
    fn state(&self) -> MutexGuard<'_, SenderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how far the log was followed.
    pub(crate) fn come_to(&self, place: FollowPlace) {
        self.state().place = Some(place);
    }

    /// Notes that the database is joined.
    pub(crate) fn joined(&self) {
        let mut state = self.state();
        (state.link, state.trouble) = (DatabaseLink::Up, None);
    }

    /// Notes a failure; `true` if it is another one than before.
    pub(crate) fn failed(&self, why: &str) -> bool {
        self.failures.fetch_add(1, Relaxed);
        let mut state = self.state();
        state.link = DatabaseLink::Down;
        let is_new = state.trouble.as_deref() != Some(why);
        state.trouble = Some(why.to_owned());
        is_new
    }

    /// The figures now, when the log has come to the row `newest`.
    pub(crate) fn read(&self, newest: u64, now_ms: u64) -> RowFigures {
        let SenderState { place, link, trouble } = self.state().clone();
        let waiting = place.map_or(0, |place| newest.saturating_sub(place.row));
        let at_ms = place.map_or(0, |place| place.at_ms);
        let lag_ms = if waiting > 0 && at_ms > 0 { now_ms.saturating_sub(at_ms) } else { 0 };
        RowFigures {
            sent: self.sent.load(Relaxed),
            minutes_sent: self.minutes_sent.load(Relaxed),
            dropped_backlog: self.dropped.backlog.load(Relaxed),
            dropped_moment: self.dropped.moment.load(Relaxed),
            dropped_unfit: self.dropped.unfit.load(Relaxed),
            failures: self.failures.load(Relaxed),
            waiting,
            lag_ms,
            link,
            trouble,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_behind_the_place_and_age_with_it() {
        let figures = SenderFigures::default();
        assert_eq!(figures.read(5, 1_000).waiting, 0, "nothing is known before the first look");
        figures.come_to(FollowPlace { row: 3, at_ms: 400 });
        let read = figures.read(5, 1_000);
        assert_eq!((read.waiting, read.lag_ms), (2, 600));
        assert_eq!(figures.read(3, 9_000).lag_ms, 0, "with nothing behind it there is no lag");
    }

    #[test]
    fn a_failure_is_new_once_and_gone_when_the_database_is_back() {
        let figures = SenderFigures::default();
        assert!(figures.failed("away") && !figures.failed("away") && figures.failed("full"));
        assert_eq!(figures.read(0, 0).trouble.as_deref(), Some("full"));
        figures.joined();
        let read = figures.read(0, 0);
        assert_eq!((read.link, read.trouble, read.failures), (DatabaseLink::Up, None, 3));
    }
}
