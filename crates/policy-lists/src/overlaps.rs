//! Overlaps of lists: how many names of each list another one holds too.
//!
//! Counted exactly, in one pass over the compiled names and without a copy of any: five million
//! names take as much memory as five. The count is kept until lists change, and whoever asks
//! meanwhile waits for the one that is under way. Asked by the admin API, on a thread that may
//! block.

use admin_api::{HeldBy, ListOverlap, ListOverlaps};
use policy::{NameHolders, RuleSet};
use std::sync::{Mutex, PoisonError};
use vocab::{Now, iso};

/// Lists that a policy has at most: as many as there are bits in [`NameHolders`].
const LISTS_MAX: usize = 64;

/// The last count, and the lists that it is of.
#[derive(Debug, Default)]
pub struct CountedOverlaps(Mutex<Option<OverlapCount>>);

#[derive(Debug)]
struct OverlapCount {
    lists: Vec<(String, u64)>,
    overlaps: ListOverlaps,
}

impl CountedOverlaps {
    /// The overlaps of the lists in force, counted now if lists have changed.
    pub fn of(&self, rules: &RuleSet, now: Now) -> ListOverlaps {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let names = rules.lists().iter().map(|list| list.name.clone());
        let lists: Vec<_> = names.zip(rules.list_digests().iter().copied()).collect();
        if let Some(count) = last.as_ref().filter(|count| count.lists == lists) {
            return count.overlaps.clone();
        }
        let overlaps = ListOverlaps { counted_at: iso(now.unix_ms), lists: counted(rules) };
        *last = Some(OverlapCount { lists, overlaps: overlaps.clone() });
        overlaps
    }
}

/// Names that two lists hold, for every two of them; on the diagonal all that one holds.
struct PairTable(Vec<[u64; LISTS_MAX]>);

impl PairTable {
    fn add(&mut self, holders: u64) {
        for list in bits(holders) {
            for other in bits(holders) {
                self.0[list][other] += 1;
            }
        }
    }
}

fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}

fn counted(rules: &RuleSet) -> Vec<ListOverlap> {
    let mut pairs = PairTable(vec![[0; LISTS_MAX]; LISTS_MAX]);
    // What one list blocks and another lets pass is no overlap: neither can do without its line.
    rules.each_name(|NameHolders { blocking, passing }| {
        pairs.add(blocking);
        pairs.add(passing);
    });
    let reports = rules.lists().iter().take(LISTS_MAX);
    let overlap = |(place, report): (usize, &policy::ListReport)| {
        let (row, names) = (&pairs.0[place], pairs.0[place][place]);
        let others = rules.lists().iter().zip(row).enumerate();
        let others = others.filter(|(other, (_, count))| *other != place && **count > 0);
        let mut held_by: Vec<_> = others
            .map(|(_, (other, count))| HeldBy {
                name: other.name.clone(),
                names: *count,
                share: *count as f64 / names as f64,
            })
            .collect();
        held_by.sort_by(|a, b| b.names.cmp(&a.names).then_with(|| a.name.cmp(&b.name)));
        ListOverlap { name: report.name.clone(), names, held_by }
    };
    reports.enumerate().map(|(place, report)| overlap((place, report))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{ListKind, ListSource, compile};

    const NOON: Now = Now { unix_ms: 1_795_262_400_000, mono_ms: 0 };

    fn source<'t>(&(name, kind, text): &(&'t str, ListKind, &'t str)) -> ListSource<'t> {
        ListSource { name, kind, text: text.as_bytes(), files: &[] }
    }

    fn rules(lists: &[(&str, ListKind, &str)]) -> RuleSet {
        let lists: Vec<_> = lists.iter().map(source).collect();
        compile(&lists, 42)
    }

    #[test]
    fn names_that_two_lists_hold_are_counted_for_both() {
        let rules = rules(&[
            (
                "a",
                ListKind::Block,
                "||x.example^\n||y.example^\n0.0.0.0 y.example\n@@||z.example^\n",
            ),
            ("b", ListKind::Block, "y.example\n*.x.example\n||q.example^\n||z.example^\n"),
            ("c", ListKind::Allow, "y.example\nz.example\n"),
            ("d", ListKind::Block, "! nothing\n"),
        ]);
        let counted = CountedOverlaps::default().of(&rules, NOON);
        assert_eq!(counted.counted_at, "2026-11-21T12:00:00.000Z");
        let shown = |at: usize| {
            let list = &counted.lists[at];
            let held = list.held_by.iter().map(|it| (it.name.as_str(), it.names, it.share));
            (list.name.as_str(), list.names, held.collect::<Vec<_>>())
        };
        assert_eq!(shown(0), ("a", 3, vec![("b", 2, 2.0 / 3.0), ("c", 1, 1.0 / 3.0)]));
        assert_eq!(shown(1), ("b", 4, vec![("a", 2, 0.5)]), "what is let pass overlaps no block");
        assert_eq!(shown(2), ("c", 2, vec![("a", 1, 0.5)]));
        assert_eq!(shown(3), ("d", 0, vec![]));
    }

    #[test]
    fn a_count_is_kept_until_lists_change() {
        let kept = CountedOverlaps::default();
        let one = rules(&[("a", ListKind::Block, "x.example\n")]);
        let first = kept.of(&one, NOON);
        let later = Now { unix_ms: NOON.unix_ms + 1000, mono_ms: 0 };
        assert_eq!(kept.of(&one, later).counted_at, first.counted_at);
        let again = rules(&[("a", ListKind::Block, "x.example\n")]);
        assert_eq!(kept.of(&again, later).counted_at, first.counted_at, "reloaded, unchanged");
        let changed = rules(&[("a", ListKind::Block, "y.example\n")]);
        assert_ne!(kept.of(&changed, later).counted_at, first.counted_at);
        let renamed = rules(&[("b", ListKind::Block, "y.example\n")]);
        assert_eq!(kept.of(&renamed, later).lists[0].name, "b");
    }

    #[test]
    fn no_name_of_many_is_counted_twice() {
        // Names enough for lines of the table that are full.
        let names = |from: u32, to: u32| {
            (from..to).map(|n| format!("n{n}.example")).collect::<Vec<_>>().join("\n")
        };
        let (all, half): (String, String) = (names(0, 20_000), names(10_000, 20_000));
        let source = |name, text: &'static str| ListSource {
            name,
            kind: ListKind::Block,
            text: text.as_bytes(),
            files: &[],
        };
        let (all, half): (&str, &str) = (all.leak(), half.leak());
        let lists = ["a", "b", "c", "d", "e", "f"].map(|name| source(name, all));
        let rules = compile(&[&lists[..], &[source("half", half)]].concat(), 7);
        let counted = CountedOverlaps::default().of(&rules, NOON);
        for list in &counted.lists[..6] {
            assert_eq!(list.names, 20_000);
            assert_eq!((list.held_by[0].names, list.held_by.len()), (20_000, 6));
            assert_eq!(list.held_by[5].names, 10_000);
        }
        assert_eq!(counted.lists[6].held_by[0].names, 10_000);
    }
}
