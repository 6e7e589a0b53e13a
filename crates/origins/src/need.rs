//! How many connections one server needs at once, as learnt from those that were open.
//!
//! It opens none: [`super::preconnect`] does, and [`super::pool`] keeps what is learnt.

use std::cell::Cell;
use std::rc::Rc;

/// Connections to one origin that are opened ahead: with the one that is asked for they are the six
/// that browsers open to a host.
const AHEAD_MAX: usize = 5;

/// Holds what is known of the connections from this core to one server.
#[derive(Debug, Default)]
pub(super) struct ConnectionNeed {
    /// Open, or being opened.
    open: Cell<usize>,
    /// Of use at once.
    peak: Cell<usize>,
}

/// One connection among those that are counted, until it is dropped.
#[derive(Debug)]
pub(super) struct CountedConnection(Rc<ConnectionNeed>);

impl ConnectionNeed {
    /// Counts one more.
    pub(super) fn count_connection(self: &Rc<Self>) -> CountedConnection {
        self.open.set(self.open.get() + 1);
        CountedConnection(Rc::clone(self))
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.get() > 0
    }

    /// Returns how many are open, or being opened.
    pub(super) fn open(&self) -> usize {
        self.open.get()
    }

    /// Returns how many were of use at once.
    pub(super) fn peak(&self) -> usize {
        self.peak.get()
    }

    /// True if more than one was of use at once.
    pub(super) fn is_worth_remembering(&self) -> bool {
        self.peak.get() > 1
    }

    /// True if so many that idle could show that more are of use at once than is known.
    pub(super) fn may_grow(&self, idle: usize) -> bool {
        idle > self.peak.get() && self.peak.get() <= AHEAD_MAX
    }

    /// So many have served, and idle now.
    pub(super) fn report_idle(&self, idle: usize) {
        self.peak.set(self.peak.get().max(idle).min(AHEAD_MAX + 1));
    }

    /// One was opened ahead and never used, or could not be opened.
    pub(super) fn report_unused(&self) {
        self.peak.set(self.peak.get().saturating_sub(1));
    }

    /// Returns how many more are worth opening.
    pub(super) fn missing(&self) -> usize {
        self.peak.get().saturating_sub(self.open.get())
    }
}

impl CountedConnection {
    /// The count that it is in.
    pub(super) fn need(&self) -> &Rc<ConnectionNeed> {
        &self.0
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_of_use_at_once_is_missing_later_and_what_was_not_used_is_not() {
        let need = Rc::new(ConnectionNeed::default());
        let first = need.count_connection();
        assert_eq!(need.missing(), 0, "nothing is known yet");
        need.report_idle(3);
        need.report_idle(1);
        assert_eq!(need.missing(), 2);
        let second = need.count_connection();
        assert_eq!(need.missing(), 1);
        need.report_unused();
        assert_eq!(need.missing(), 0);
        drop((first, second));
        assert_eq!((need.missing(), need.is_open()), (2, false));
        need.report_idle(1000);
        let _first = need.count_connection();
        assert_eq!(need.missing(), AHEAD_MAX);
    }
}
