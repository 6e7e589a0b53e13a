//! Outbox: what this edge has to tell the others and has not told yet.
//!
//! Bounded: of entries the newest of a key waits, and beyond the cap the oldest is dropped; purges
//! beyond theirs become one of everything. Filled by whoever does something by hand, emptied by the
//! session.

use crate::entry::SharedEntry;
use std::collections::{BTreeMap, VecDeque};
use vocab::Now;

/// Entries that may wait.
pub(crate) const ENTRIES_WAITING_MAX: usize = 2048;
/// Purges that may wait.
pub(crate) const PURGES_WAITING_MAX: usize = 1024;

/// Something that waits to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingItem<T> {
    /// Place in the order of all.
    pub(crate) number: u64,
    /// When it was made.
    pub(crate) made: Now,
    pub(crate) what: T,
}

/// Everything that waits.
#[derive(Debug, Default)]
pub(crate) struct WordOutbox {
    next: u64,
    /// By key.
    entries: BTreeMap<String, WaitingItem<SharedEntry>>,
    purges: VecDeque<WaitingItem<String>>,
}

/// Result of taking something in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoxRoom {
    /// There was room.
    Yes,
    /// Something older had to go.
    Full,
}

impl WordOutbox {
    /// Takes an entry in, for one of the same key that waits.
    pub(crate) fn add_entry(&mut self, entry: SharedEntry, made: Now) -> BoxRoom {
        let number = self.number();
        self.entries.insert(entry.key.clone(), WaitingItem { number, made, what: entry });
        if self.entries.len() <= ENTRIES_WAITING_MAX {
            return BoxRoom::Yes;
        }
        let oldest = self.entries.values().min_by_key(|it| it.number);
        if let Some(key) = oldest.map(|it| it.what.key.clone()) {
            self.entries.remove(&key);
        }
        BoxRoom::Full
    }

    /// Takes a purge in. When too many wait, `everything` is told for them all.
    pub(crate) fn add_purge(&mut self, purge: String, everything: &str, made: Now) -> BoxRoom {
        let number = self.number();
        if self.purges.len() < PURGES_WAITING_MAX {
            self.purges.push_back(WaitingItem { number, made, what: purge });
            return BoxRoom::Yes;
        }
        self.purges.clear();
        self.purges.push_back(WaitingItem { number, made, what: everything.to_owned() });
        BoxRoom::Full
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The entry that has waited longest.
    pub(crate) fn next_entry(&self) -> Option<WaitingItem<SharedEntry>> {
        self.entries.values().min_by_key(|it| it.number).cloned()
    }

    /// The purge that has waited longest.
    pub(crate) fn next_purge(&self) -> Option<WaitingItem<String>> {
        self.purges.front().cloned()
    }

    /// Notes that this was told; what came after it with its key goes on waiting.
    pub(crate) fn told_entry(&mut self, told: &WaitingItem<SharedEntry>) {
        if self.entries.get(&told.what.key).is_some_and(|it| it.number == told.number) {
            self.entries.remove(&told.what.key);
        }
    }

    pub(crate) fn told_purge(&mut self, number: u64) {
        self.purges.retain(|it| it.number != number);
    }

    /// True if an entry with this key waits: it is newer than what comes in.
    pub(crate) fn has_entry(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Entries that wait, the oldest first.
    pub(crate) fn entries_in_order(&self) -> Vec<&WaitingItem<SharedEntry>> {
        let mut all: Vec<_> = self.entries.values().collect();
        all.sort_by_key(|it| it.number);
        all
    }

    /// Purges that wait, in their order.
    pub(crate) fn purges_in_order(&self) -> impl Iterator<Item = &WaitingItem<String>> {
        self.purges.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.purges.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str) -> SharedEntry {
        SharedEntry { key: key.into(), said: None }
    }

    const NOW: Now = Now { unix_ms: 0, mono_ms: 0 };

    #[test]
    fn the_newest_of_a_key_waits_and_the_longest_waiting_goes_first() {
        let mut outbox = WordOutbox::default();
        outbox.add_entry(entry("a"), NOW);
        outbox.add_entry(entry("b"), NOW);
        let first = outbox.next_entry().unwrap();
        assert_eq!(first.what.key, "a");
        outbox.add_entry(entry("a"), NOW);
        outbox.told_entry(&first);
        assert!(outbox.has_entry("a"), "it was said anew meanwhile");
        assert_eq!(outbox.next_entry().unwrap().what.key, "b");
    }

    #[test]
    fn at_the_cap_the_oldest_entry_goes_and_purges_become_one() {
        let mut outbox = WordOutbox::default();
        for number in 0..ENTRIES_WAITING_MAX {
            assert_eq!(outbox.add_entry(entry(&format!("k{number}")), NOW), BoxRoom::Yes);
        }
        assert_eq!(outbox.add_entry(entry("last"), NOW), BoxRoom::Full);
        assert!(!outbox.has_entry("k0") && outbox.has_entry("k1") && outbox.has_entry("last"));
        for _ in 0..PURGES_WAITING_MAX {
            assert_eq!(outbox.add_purge("one".into(), "all", NOW), BoxRoom::Yes);
        }
        assert_eq!(outbox.add_purge("one".into(), "all", NOW), BoxRoom::Full);
        assert_eq!(outbox.next_purge().unwrap().what, "all");
        assert_eq!(outbox.len(), ENTRIES_WAITING_MAX + 1);
    }
}
