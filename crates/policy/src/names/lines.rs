//! Rows of the table of names in lines of the processor's cache, each row in the line that its hash
//! names.
//!
//! A sieve of some bits a name, small enough for the caches that processors share, settles nearly
//! all names that are in no list; a name that is in one costs one line of memory besides, sent for
//! while the sieve is read. What found its line full stands in a sorted rest, and eight bits of the
//! line say which hashes are worth a look there. Never changed after it was built. Used by the
//! table of names alone.

use super::prefetch::prefetch;
use super::sieve::{NameSieve, place, place_of};
use super::{NameCell, RowTag};
use crate::buckets::BucketDirectory;
use crate::fingerprint::NameFingerprint;
use std::ops::Range;

/// Rows of a line: 16 bytes each, in the 64 bytes that x86-64 and most of `AArch64` fetch at once.
const ROWS: usize = 4;
/// Rows for which there are [`LINES_TO`] lines: 2.25 to a line on average, so that one row of
/// twenty finds its line full, and a row costs 31 bytes with its share of the rest and of the
/// sieve.
const LINES_FROM: u64 = 9;
/// Lines for so many rows as [`LINES_FROM`] says.
const LINES_TO: u64 = 4;
/// Rows on average, or up to twice as many, to a bucket of the rest.
const REST_ROWS: usize = 2;

/// A mark of a slot: its row's tag, whether there is a row, and two of the line's bits for the
/// rest.
const TAKEN: u16 = 1 << 15;
const REST_SHIFT: u32 = 13;
const _: () = assert!(RowTag::MASK >> REST_SHIFT == 0, "the bits above a tag are the line's own");

/// The rows that share a place.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct RowLine {
    hashes: [u64; ROWS],
    numbers: [u32; ROWS],
    checks: [u16; ROWS],
    marks: [u16; ROWS],
}

const _: () = assert!(size_of::<RowLine>() == 64, "a line of the table is one of the cache");

/// All rows.
#[derive(Debug, Default)]
pub(super) struct RowLines {
    all: Vec<RowLine>,
    sieve: NameSieve,
    /// Rows that found their line full, in their order.
    rest: Vec<NameCell>,
    directory: BucketDirectory,
    count: usize,
}

impl RowLines {
    /// Takes so many rows, in their order.
    pub(super) fn build(count: usize, cells: impl Iterator<Item = NameCell>) -> Self {
        let wanted = (count as u64 * LINES_TO).div_ceil(LINES_FROM);
        let mut all = Vec::with_capacity(wanted as usize);
        let mut sieve = NameSieve::of(count);
        let (mut rest, mut line, mut filled) = (Vec::new(), RowLine::default(), 0);
        let mut taken = 0;
        for cell in cells {
            sieve.add(cell.hash);
            let place = place(cell.hash, wanted);
            while all.len() < place {
                all.push(std::mem::take(&mut line));
                filled = 0;
            }
            if filled < ROWS {
                line.put(filled, cell);
                filled += 1;
            } else {
                line.send_on(cell.hash);
                rest.push(cell);
            }
            taken += 1;
        }
        while (all.len() as u64) < wanted {
            all.push(std::mem::take(&mut line));
        }
        debug_assert_eq!(taken, count, "the lines were made for as many rows as come");
        rest.shrink_to_fit();
        let directory = BucketDirectory::build(rest.iter().map(|cell| cell.hash), REST_ROWS);
        Self { all, sieve, rest, directory, count: taken }
    }

    /// Where to look for a name, if it may be there. Its line is sent for, and not waited for.
    #[inline]
    pub(super) fn look(&self, hash: u64) -> LineLook {
        let place = place(hash, self.all.len() as u64);
        if let Some(line) = self.all.get(place) {
            prefetch(line);
        }
        LineLook { place, sieved: self.sieve.word(hash) }
    }

    /// Shows the tag and the line of every row of a name.
    #[inline]
    pub(super) fn visit(
        &self,
        look: LineLook,
        name: NameFingerprint,
        mut found: impl FnMut(RowTag, u32),
    ) {
        if !NameSieve::may_contain(look.sieved, name.hash) {
            return;
        }
        let Some(line) = self.all.get(look.place) else { return };
        // All four are compared before one is asked about: where a row stands, nobody can guess.
        let [a, b, c, d] = line.hashes.map(|hash| hash == name.hash);
        if a | b | c | d {
            let is_it = |slot: &usize| {
                let (hash, check) = (line.hashes[*slot], line.checks[*slot]);
                hash == name.hash && check == name.check && line.marks[*slot] & TAKEN != 0
            };
            for slot in (0..ROWS).filter(is_it) {
                found(RowTag(line.marks[slot] & RowTag::MASK), line.numbers[slot]);
            }
        }
        let (slot, bit) = rest_bit(name.hash);
        if line.marks[slot] >> bit & 1 == 1 {
            self.visit_rest(name, found);
        }
    }

    #[cold]
    fn visit_rest(&self, name: NameFingerprint, mut found: impl FnMut(RowTag, u32)) {
        let Some(from) = self.directory.look(name.hash).start(name.hash) else { return };
        let cells = self.rest[from..].iter().take_while(|cell| cell.hash <= name.hash);
        for cell in cells.filter(|cell| cell.hash == name.hash && cell.check == name.check) {
            found(cell.tag, cell.line);
        }
    }

    /// Every row, in their order: a line's own come before those that it sent on.
    pub(super) fn cells(&self) -> impl Iterator<Item = NameCell> + Clone {
        let (mut rest, count) = (self.rest.iter(), self.all.len() as u64);
        let (mut at, mut slot) = (0, 0);
        std::iter::from_fn(move || {
            loop {
                let line = self.all.get(at)?;
                if slot < ROWS && line.marks[slot] & TAKEN != 0 {
                    slot += 1;
                    return Some(line.cell(slot - 1));
                }
                if let Some(cell) = rest.as_slice().first()
                    && place(cell.hash, count) == at
                {
                    return rest.next().copied();
                }
                (at, slot) = (at + 1, 0);
            }
        })
    }

    /// Returns how many rows there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Where the tables lie in memory that every look-up reads.
    pub(super) fn places(&self) -> [Range<usize>; 2] {
        [place_of(&self.all), self.sieve.place()]
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        let lines = self.all.capacity() * size_of::<RowLine>();
        let rest = self.rest.capacity() * size_of::<NameCell>();
        (lines + rest) as u64 + self.directory.bytes() + self.sieve.bytes()
    }
}

/// The line of a name, and what the sieve says of it.
#[derive(Clone, Copy, Default)]
pub(super) struct LineLook {
    place: usize,
    sieved: u64,
}

impl RowLine {
    fn put(&mut self, slot: usize, cell: NameCell) {
        self.hashes[slot] = cell.hash;
        self.checks[slot] = cell.check;
        self.numbers[slot] = cell.line;
        self.marks[slot] = cell.tag.0 & RowTag::MASK | TAKEN;
    }

    /// Notes that a row of this hash stands in the rest.
    fn send_on(&mut self, hash: u64) {
        let (slot, shift) = rest_bit(hash);
        self.marks[slot] |= 1 << shift;
    }

    fn cell(&self, slot: usize) -> NameCell {
        NameCell {
            hash: self.hashes[slot],
            check: self.checks[slot],
            tag: RowTag(self.marks[slot] & RowTag::MASK),
            line: self.numbers[slot],
        }
    }
}

/// Which mark of the line speaks of a hash in the rest, and the place of its bit. Lines are told
/// apart by the top bits of a hash, so this takes the lowest.
#[inline]
fn rest_bit(hash: u64) -> (usize, u32) {
    ((hash & 3) as usize, REST_SHIFT + (hash >> 2 & 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::split_mix;
    use crate::names::{NameForm, NamesBuilder};
    use std::collections::HashMap;

    /// The rows of each name, by its fingerprint.
    type Model = HashMap<(u64, u16), Vec<(RowTag, u32)>>;

    /// Builds a table of rows and holds it against a model, name by name; `strangers` are in
    /// neither.
    fn check(rows: &[NameCell], strangers: &[NameFingerprint]) {
        let mut model = Model::new();
        let mut cells = rows.to_vec();
        cells.sort_unstable();
        for cell in &cells {
            model.entry((cell.hash, cell.check)).or_default().push((cell.tag, cell.line));
        }
        let lines = RowLines::build(cells.len(), cells.iter().copied());
        assert_eq!(lines.len(), cells.len());
        assert!(lines.cells().eq(cells.iter().copied()), "all rows come back in their order");
        let listed =
            model.keys().map(|(hash, check)| NameFingerprint { hash: *hash, check: *check });
        for name in listed.chain(strangers.iter().copied()) {
            let mut found = Vec::new();
            lines.visit(lines.look(name.hash), name, |tag, line| found.push((tag, line)));
            found.sort_unstable();
            let expected = model.get(&(name.hash, name.check)).cloned().unwrap_or_default();
            assert_eq!(found, expected, "{name:?} of {} rows", cells.len());
        }
    }

    fn row(hash: u64, number: u32) -> NameCell {
        let tag = RowTag::new((number % 64) as u8, NameForm::Adblock);
        NameCell { hash, check: (number % 3) as u16, tag, line: number }
    }

    #[test]
    fn every_row_is_found_and_no_other() {
        let mut word = 7;
        for count in [0_u32, 1, 2, 3, 4, 5, 8, 9, 10, 100, 5_000, 60_000] {
            let names: Vec<u64> = (0..=count / 2).map(|_| split_mix(&mut word)).collect();
            // Some names have no row, some one, some many: as of names in several lists.
            let pick = |word: &mut u64| names[(split_mix(word) % names.len() as u64) as usize];
            let rows: Vec<NameCell> =
                (0..count).map(|number| row(pick(&mut word), number)).collect();
            let near = names.iter().map(|hash| NameFingerprint { hash: hash ^ 8, check: 0 });
            let far = (0..1000).map(|_| NameFingerprint { hash: split_mix(&mut word), check: 1 });
            let other = names.iter().map(|hash| NameFingerprint { hash: *hash, check: 9 });
            check(&rows, &near.chain(far).chain(other).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_place_that_thousands_want_gives_them_all() {
        let mut rows: Vec<NameCell> = (0..3_000).map(|number| row(u64::MAX, number)).collect();
        rows.extend((0..3_000).map(|number| row(u64::from(number), number)));
        rows.extend((0..3_000).map(|number| row(u64::MAX - u64::from(number), number)));
        let strangers = [4_000, u64::MAX - 4_000, 1 << 63];
        check(&rows, &strangers.map(|hash| NameFingerprint { hash, check: 0 }));
    }

    #[test]
    fn an_empty_slot_is_no_row() {
        let nothing = NameFingerprint::default();
        check(&[], &[nothing]);
        check(&[row(1, 1)], &[nothing]);
        check(&[row(0, 0)], &[]);
    }

    #[test]
    fn a_name_costs_at_most_thirty_two_bytes() {
        let mut word = 3;
        let mut names = NamesBuilder::default();
        for number in 0..100_000 {
            let name = NameFingerprint { hash: split_mix(&mut word), check: 0 };
            names.push(name, RowTag::new(0, NameForm::Adblock), number);
        }
        let names = names.build().table;
        let bytes = names.bytes() as f64 / names.len() as f64;
        assert!(bytes <= 32.0, "{bytes} bytes a name");
    }
}
