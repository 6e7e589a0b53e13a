//! The table of names: fingerprints in lines of a processor's cache, and a word for each line that
//! settles nearly all misses by itself.
//!
//! A name costs some 14 bytes: texts are not kept. Most labels of most names are in no table, and
//! for those one small word is read; a name that is there costs one line more. Never changed after
//! it was built. Filled by the builders of sets and maps, asked for every label of every name.

use super::fingerprint::SetKeys;

/// Names in one table, at most: some 3.9 GB. One more is refused.
pub const NAMES_MAX: usize = 1 << 28;

/// Cells of a line: 64 bytes.
const LINE_CELLS: usize = 8;
/// Names to a line, on average. With five of eight every ninth line is full, and leads to the next.
const LINE_NAMES: usize = 5;

/// Which rules there are for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleKinds(u64);

impl RuleKinds {
    pub(crate) const FULL: Self = Self(1);
    pub(crate) const DOMAIN: Self = Self(2);
    const ALL: u64 = 3;

    #[inline]
    pub(crate) const fn contains(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct DomainTable {
    /// For each line that fingerprints are dealt to, two bits of each that belongs there. Those of
    /// a million names are 1.6 MB, and tell forty of forty-one misses.
    filter: Vec<u64>,
    /// In the order of the fingerprints: each stands in its own line, or in the first after it that
    /// had room.
    lines: Vec<TableLine>,
    names: usize,
}

/// The upper 62 bits of fingerprints, each with its kinds; 0 where there is none, for a name has a
/// kind.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct TableLine([u64; LINE_CELLS]);

/// A table in the making: fingerprints with their kinds, as cells hold them.
#[derive(Debug, Default)]
pub(crate) struct TableBuilder {
    cells: Vec<u64>,
}

impl TableBuilder {
    pub(crate) fn push(&mut self, hash: u64, kinds: RuleKinds) {
        self.cells.push(hash & !RuleKinds::ALL | kinds.0);
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Sorts the names; rules about the same name share a cell.
    pub(crate) fn build(mut self) -> DomainTable {
        if self.cells.is_empty() {
            return DomainTable::default();
        }
        self.cells.sort_unstable();
        self.cells.dedup_by(|next, kept| {
            let same = *next & !RuleKinds::ALL == *kept & !RuleKinds::ALL;
            if same {
                *kept |= *next;
            }
            same
        });
        let mut filter = vec![0; self.cells.len().div_ceil(LINE_NAMES)];
        let mut lines = vec![TableLine::default(); filter.len()];
        let mut at = 0;
        for cell in &self.cells {
            let home = line_of(cell & !RuleKinds::ALL, filter.len());
            filter[home] |= bits_of(*cell);
            at = home.max(at);
            let free = |line: &TableLine| line.0.iter().position(|cell| *cell == 0);
            let slot = loop {
                match lines.get(at).map(free) {
                    Some(Some(slot)) => break slot,
                    Some(None) => at += 1,
                    None => lines.push(TableLine::default()),
                }
            };
            lines[at].0[slot] = *cell;
        }
        // A look-up ends at a free cell.
        if lines.last().is_some_and(|line| !line.0.contains(&0)) {
            lines.push(TableLine::default());
        }
        lines.shrink_to_fit();
        DomainTable { filter, lines, names: self.cells.len() }
    }
}

/// Where a fingerprint belongs: its share of the way through all of them.
#[inline]
fn line_of(hash: u64, lines: usize) -> usize {
    ((u128::from(hash) * lines as u128) >> 64) as usize
}

/// A fingerprint's two bits in the word of its line. Lines are told apart by the upper bits, so
/// these are of the lower that are kept.
#[inline]
fn bits_of(hash: u64) -> u64 {
    1 << (hash >> 2 & 63) | 1 << (hash >> 8 & 63)
}

impl DomainTable {
    /// The cell of this fingerprint and its kinds, if it has one.
    #[inline]
    pub(crate) fn find(&self, hash: u64) -> Option<(usize, RuleKinds)> {
        let mut at = line_of(hash, self.filter.len());
        let bits = bits_of(hash);
        if self.filter.get(at)? & bits != bits {
            return None;
        }
        let wanted = hash & !RuleKinds::ALL;
        while let Some(TableLine(cells)) = self.lines.get(at) {
            // All eight are held against it without a branch each: which of them it is cannot be
            // foretold. What is left of its own cell are its kinds, 1 to 3; of a free one nothing
            // may be.
            let (mut slot, mut kinds) = (0, 0);
            for (each, cell) in cells.iter().enumerate() {
                let rest = cell ^ wanted;
                if rest.wrapping_sub(1) < RuleKinds::ALL {
                    (slot, kinds) = (each, rest);
                }
            }
            if kinds != 0 {
                return Some((at * LINE_CELLS + slot, RuleKinds(kinds)));
            }
            if cells[LINE_CELLS - 1] == 0 {
                return None;
            }
            at += 1;
        }
        None
    }

    /// True if a rule of the table holds for `name`.
    #[inline]
    pub(crate) fn contains(&self, keys: &SetKeys, name: &str) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        keys.suffixes(name).any(|(hash, start)| {
            self.find(hash).is_some_and(|(_, kinds)| {
                kinds.contains(RuleKinds::DOMAIN) || start == 0 && kinds.contains(RuleKinds::FULL)
            })
        })
    }

    /// All names, as they were pushed but in another order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u64, RuleKinds)> {
        let cells = self.lines.iter().flat_map(|line| line.0).filter(|cell| *cell != 0);
        cells.map(|cell| (cell & !RuleKinds::ALL, RuleKinds(cell & RuleKinds::ALL)))
    }

    /// Returns how many cells there are: [`DomainTable::find`] gives places below that.
    pub(crate) fn cells(&self) -> usize {
        self.lines.len() * LINE_CELLS
    }

    /// Returns how many names it holds.
    pub(crate) fn len(&self) -> usize {
        self.names
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.lines.capacity() * size_of::<TableLine>() + self.filter.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        for count in [0u64, 1, 2, 7, 8, 9, 63, 1000, 40_000] {
            let hash = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) & !3;
            let mut builder = TableBuilder::default();
            for n in 0..count {
                builder.push(hash(n), if n % 2 == 0 { RuleKinds::FULL } else { RuleKinds::DOMAIN });
            }
            let table = builder.build();
            assert_eq!(table.len() as u64, count);
            for n in 0..count {
                let (_, kinds) = table.find(hash(n)).unwrap_or_else(|| panic!("{n} of {count}"));
                assert_eq!(kinds.contains(RuleKinds::FULL), n % 2 == 0);
                assert_eq!(kinds.contains(RuleKinds::DOMAIN), n % 2 == 1);
            }
            for n in count..count + 1000 {
                assert!(table.find(hash(n)).is_none(), "{n} of {count}");
            }
            let mut again: Vec<_> = table.entries().map(|(hash, _)| hash).collect();
            let mut all: Vec<_> = (0..count).map(hash).collect();
            again.sort_unstable();
            all.sort_unstable();
            assert_eq!(again, all);
        }
    }

    #[test]
    fn rules_about_one_name_share_a_cell() {
        let mut builder = TableBuilder::default();
        for kind in [RuleKinds::FULL, RuleKinds::DOMAIN, RuleKinds::DOMAIN] {
            builder.push(44, kind);
        }
        let table = builder.build();
        assert_eq!(table.len(), 1);
        let (_, kinds) = table.find(44).unwrap();
        assert!(kinds.contains(RuleKinds::FULL) && kinds.contains(RuleKinds::DOMAIN));
    }

    #[test]
    fn fingerprints_that_crowd_are_found_where_there_was_room() {
        // All belong in the last line.
        let hash = |n: u64| u64::MAX - n * 4;
        let mut builder = TableBuilder::default();
        for n in 0..100 {
            builder.push(hash(n), RuleKinds::DOMAIN);
        }
        let table = builder.build();
        for n in 0..100 {
            assert!(table.find(hash(n)).is_some(), "{n}");
        }
        assert!(table.find(hash(100)).is_none());
        assert!(table.find(0).is_none());
    }
}
