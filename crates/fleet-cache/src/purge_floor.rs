//! Floor below which nothing is believed: an answer knows which purge was the last before it came,
//! and one that came before a purge of its name, or of everything, is none.
//!
//! It needs no word to the server: what is not believed there ends by itself.

use fleet_live::PurgeMark;
use std::collections::HashMap;

/// Names that are remembered; beyond it everything before the last purge is disbelieved.
const NAMES_MAX: usize = 1024;

/// Floor of one machine.
#[derive(Debug, Default)]
pub(crate) struct PurgeFloor {
    /// Last purge that was done here; none before the server was reached.
    mark: Option<PurgeMark>,
    /// Number of the last purge that was not of one name.
    all: u64,
    /// Numbers of the last purges of names, in wire form.
    names: HashMap<Box<[u8]>, u64>,
}

impl PurgeFloor {
    /// Notes a purge of everything, or of what is not known.
    pub(crate) fn purge_all(&mut self, mark: &PurgeMark) {
        self.all = mark.number;
        self.names.clear();
        self.mark = Some(mark.clone());
    }

    /// Notes a purge of one name.
    pub(crate) fn purge_name(&mut self, mark: &PurgeMark, name: &[u8]) {
        if !self.is_of_line(mark) || self.names.len() >= NAMES_MAX {
            return self.purge_all(mark);
        }
        self.names.insert(name.into(), mark.number);
        self.mark = Some(mark.clone());
    }

    /// Notes a purge that concerns nothing here.
    pub(crate) fn pass(&mut self, mark: &PurgeMark) {
        if self.is_of_line(mark) {
            self.mark = Some(mark.clone());
        } else {
            self.purge_all(mark);
        }
    }

    /// The last purge.
    pub(crate) fn mark(&self) -> Option<&PurgeMark> {
        self.mark.as_ref()
    }

    /// True if an answer for a name that came after this purge is to be believed.
    pub(crate) fn is_above(&self, came: &PurgeMark, name: &[u8]) -> bool {
        let Some(mark) = &self.mark else { return false };
        let of_name = self.names.get(name).copied().unwrap_or(0);
        // What came before the first purge of all has no line.
        let is_of_line = came.line == mark.line || came.line.is_empty();
        is_of_line && came.number >= self.all.max(of_name)
    }

    /// True if a purge goes on from those that were.
    fn is_of_line(&self, mark: &PurgeMark) -> bool {
        self.mark
            .as_ref()
            .is_some_and(|held| held.line == mark.line || held.line.is_empty() && mark.number == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(line: &str, number: u64) -> PurgeMark {
        PurgeMark { line: line.into(), number }
    }

    #[test]
    fn what_came_before_a_purge_is_not_believed() {
        let mut floor = PurgeFloor::default();
        assert!(!floor.is_above(&mark("a", 5), b"x"), "nothing is known yet");
        floor.purge_all(&mark("a", 5));
        assert!(floor.is_above(&mark("a", 5), b"x") && !floor.is_above(&mark("a", 4), b"x"));
        floor.purge_name(&mark("a", 6), b"x");
        assert!(!floor.is_above(&mark("a", 5), b"x") && floor.is_above(&mark("a", 6), b"x"));
        assert!(floor.is_above(&mark("a", 5), b"y"), "another name");
        floor.pass(&mark("a", 7));
        assert!(floor.is_above(&mark("a", 5), b"y"));
        assert_eq!(floor.mark(), Some(&mark("a", 7)));
        floor.purge_all(&mark("a", 8));
        assert!(!floor.is_above(&mark("a", 7), b"y"));
    }

    #[test]
    fn the_first_purge_of_all_begins_no_other_line() {
        let mut floor = PurgeFloor::default();
        floor.purge_all(&mark("", 0));
        assert!(floor.is_above(&mark("", 0), b"x"));
        floor.pass(&mark("a", 1));
        floor.purge_name(&mark("a", 2), b"y");
        assert!(floor.is_above(&mark("", 0), b"x") && !floor.is_above(&mark("", 0), b"y"));
        floor.purge_all(&mark("a", 3));
        assert!(!floor.is_above(&mark("", 0), b"x"));
    }

    #[test]
    fn another_line_and_too_many_names_begin_anew() {
        let mut floor = PurgeFloor::default();
        floor.purge_all(&mark("a", 5));
        floor.purge_name(&mark("b", 1), b"x");
        assert!(!floor.is_above(&mark("a", 9), b"y") && floor.is_above(&mark("b", 1), b"y"));
        floor.pass(&mark("c", 1));
        assert!(!floor.is_above(&mark("b", 9), b"y"));
        for number in 2..NAMES_MAX as u64 + 3 {
            floor.purge_name(&mark("c", number), &number.to_be_bytes());
        }
        assert!(floor.names.len() <= NAMES_MAX);
        assert!(!floor.is_above(&mark("c", 2), &2u64.to_be_bytes()));
    }
}
