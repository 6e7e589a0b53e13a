//! Rows of the table of names in lines of the processor's cache, each row in the line that its hash
//! names.
//!
//! A sieve of some bits a name, small enough for the caches that processors share, settles nearly
//! all names that are in no list; a name that is in one costs one line of memory besides, sent for
//! while the sieve is read. What found its line full stands in a sorted rest, and eight bits of the
//! line say which hashes are worth a look there. Never changed after it was built. Used by the
//! table of names alone.

use super::prefetch::prefetch;
use super::records::{ALIGNMENT, RecordArray, RecordWriter, TablesDiffer};
use super::sieve::{NameSieve, SieveBuilder, place};
use super::{CELL_BYTES, NameCell, RowTag};
use crate::buckets::BucketDirectory;
use crate::fingerprint::NameFingerprint;
use bytes::Bytes;
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

/// Bytes of a line.
const LINE_BYTES: usize = 64;
const _: () = assert!(ROWS * (8 + 4 + 2 + 2) == LINE_BYTES && LINE_BYTES <= ALIGNMENT);

/// The rows that share a place, while they are put together.
#[derive(Clone, Copy, Debug, Default)]
struct RowLine {
    hashes: [u64; ROWS],
    numbers: [u32; ROWS],
    checks: [u16; ROWS],
    marks: [u16; ROWS],
}

/// A line where it lies: hashes, numbers, checks, and then marks of all its rows.
#[derive(Clone, Copy)]
struct LineView<'b> {
    hashes: &'b [[u8; 8]; ROWS],
    numbers: &'b [[u8; 4]; ROWS],
    checks: &'b [[u8; 2]; ROWS],
    marks: &'b [[u8; 2]; ROWS],
}

/// All rows.
#[derive(Debug, Default)]
pub(super) struct RowLines {
    all: RecordArray<LINE_BYTES>,
    sieve: NameSieve,
    /// Rows that found their line full, in their order.
    rest: RecordArray<CELL_BYTES>,
    directory: BucketDirectory,
    count: usize,
}

impl RowLines {
    /// Takes so many rows, in their order.
    pub(super) fn build(count: usize, cells: impl Iterator<Item = NameCell>) -> Self {
        let wanted = (count as u64 * LINES_TO).div_ceil(LINES_FROM);
        let mut all = RecordWriter::of(wanted as usize);
        let mut sieve = SieveBuilder::of(count);
        let (mut rest, mut line, mut filled) = (Vec::new(), RowLine::default(), 0);
        let mut taken = 0;
        for cell in cells {
            sieve.add(cell.hash);
            let place = place(cell.hash, wanted);
            while all.len() < place {
                all.push(&std::mem::take(&mut line).to_bytes());
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
            all.push(&std::mem::take(&mut line).to_bytes());
        }
        debug_assert_eq!(taken, count, "the lines were made for as many rows as come");
        let directory = BucketDirectory::build(rest.iter().map(|cell| cell.hash), REST_ROWS);
        let mut writer = RecordWriter::of(rest.len());
        for cell in rest {
            writer.push(&cell.to_bytes());
        }
        let (all, sieve, rest) = (all.finish(), sieve.finish(), writer.finish());
        Self { all, sieve, rest, directory, count: taken }
    }

    /// Where to look for a name, if it may be there. Its line is sent for, and not waited for.
    #[inline]
    pub(super) fn look(&self, hash: u64) -> LineLook {
        let lines = self.all.all();
        let place = place(hash, lines.len() as u64);
        if let Some(line) = lines.get(place) {
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
        let Some(line) = self.all.all().get(look.place).and_then(LineView::of) else { return };
        // All four are compared before one is asked about: where a row stands, nobody can guess.
        let is_hash = |slot: usize| line.hash(slot) == name.hash;
        if is_hash(0) | is_hash(1) | is_hash(2) | is_hash(3) {
            let is_it = |slot: &usize| {
                is_hash(*slot) && line.check(*slot) == name.check && line.mark(*slot) & TAKEN != 0
            };
            for slot in (0..ROWS).filter(is_it) {
                found(RowTag(line.mark(slot) & RowTag::MASK), line.number(slot));
            }
        }
        let (slot, bit) = rest_bit(name.hash);
        if line.mark(slot) >> bit & 1 == 1 {
            self.visit_rest(name, found);
        }
    }

    #[cold]
    fn visit_rest(&self, name: NameFingerprint, mut found: impl FnMut(RowTag, u32)) {
        let Some(from) = self.directory.look(name.hash).start(name.hash) else { return };
        let rest = self.rest.all().get(from..).unwrap_or_default().iter();
        let cells = rest.map(NameCell::from_bytes).take_while(|cell| cell.hash <= name.hash);
        for cell in cells.filter(|cell| cell.hash == name.hash && cell.check == name.check) {
            found(cell.tag, cell.line);
        }
    }

    /// Every row, in their order: a line's own come before those that it sent on.
    pub(super) fn cells(&self) -> impl Iterator<Item = NameCell> + Clone {
        let (lines, mut rest) = (self.all.all(), self.rest.all());
        let (mut at, mut slot) = (0, 0);
        std::iter::from_fn(move || {
            loop {
                let line = lines.get(at).and_then(LineView::of)?;
                if slot < ROWS
                    && let Some(cell) = line.cell(slot)
                {
                    slot += 1;
                    return Some(cell);
                }
                if let Some((first, behind)) = rest.split_first()
                    && let cell = NameCell::from_bytes(first)
                    && place(cell.hash, lines.len() as u64) == at
                {
                    rest = behind;
                    return Some(cell);
                }
                (at, slot) = (at + 1, 0);
            }
        })
    }

    /// Returns how many rows there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Where the tables lie in memory that every look-up reads. Where they lie side by side, the
    /// first place is that of all.
    pub(super) fn places(&self) -> [Range<usize>; 2] {
        let (sieve, lines) = (self.sieve.place(), self.all.place());
        // Counted from the first byte, as `pieces` does, wherever that lies.
        if sieve.start + sieve.len().next_multiple_of(ALIGNMENT) == lines.start {
            return [sieve.start..self.rest.place().end.max(lines.end), 0..0];
        }
        [sieve, lines]
    }

    /// The bytes of all, as [`Self::share`] takes them: the sieve, zeroes up to where a line may
    /// begin, the lines, and the rest.
    pub(super) fn pieces(&self) -> [&[u8]; 4] {
        const ZEROES: [u8; ALIGNMENT] = [0; ALIGNMENT];
        let sieve = self.sieve.records().bytes();
        let between = sieve.len().next_multiple_of(ALIGNMENT) - sieve.len();
        [sieve, &ZEROES[..between], self.all.bytes(), self.rest.bytes()]
    }

    /// Takes all from `shared` from now on, if that is what [`Self::pieces`] gives.
    pub(super) fn share(&mut self, shared: &Bytes) -> Result<(), TablesDiffer> {
        let [sieve, between, lines, rest] = self.pieces().map(<[u8]>::len);
        if shared.len() != sieve + between + lines + rest {
            return Err(TablesDiffer);
        }
        let sieve_there = self.sieve.records().same_in(shared, 0).ok_or(TablesDiffer)?;
        let lines_there = self.all.same_in(shared, sieve + between).ok_or(TablesDiffer)?;
        let rest_at = sieve + between + lines;
        self.rest = self.rest.same_in(shared, rest_at).ok_or(TablesDiffer)?;
        self.sieve = NameSieve::of(sieve_there);
        self.all = lines_there;
        Ok(())
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> u64 {
        let tables: usize = self.pieces().iter().map(|piece| piece.len()).sum();
        tables as u64 + self.directory.bytes()
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

    fn to_bytes(self) -> [u8; LINE_BYTES] {
        let mut bytes = [0; LINE_BYTES];
        let (hashes, rest) = bytes.split_at_mut(ROWS * 8);
        let (numbers, rest) = rest.split_at_mut(ROWS * 4);
        let (checks, marks) = rest.split_at_mut(ROWS * 2);
        for slot in 0..ROWS {
            hashes[slot * 8..][..8].copy_from_slice(&self.hashes[slot].to_le_bytes());
            numbers[slot * 4..][..4].copy_from_slice(&self.numbers[slot].to_le_bytes());
            checks[slot * 2..][..2].copy_from_slice(&self.checks[slot].to_le_bytes());
            marks[slot * 2..][..2].copy_from_slice(&self.marks[slot].to_le_bytes());
        }
        bytes
    }
}

impl<'b> LineView<'b> {
    /// The parts of a line; there always are these.
    #[inline]
    fn of(bytes: &'b [u8; LINE_BYTES]) -> Option<Self> {
        let (hashes, rest) = bytes.split_first_chunk::<{ ROWS * 8 }>()?;
        let (numbers, rest) = rest.split_first_chunk::<{ ROWS * 4 }>()?;
        let (checks, marks) = rest.split_first_chunk::<{ ROWS * 2 }>()?;
        Some(Self {
            hashes: hashes.as_chunks().0.first_chunk()?,
            numbers: numbers.as_chunks().0.first_chunk()?,
            checks: checks.as_chunks().0.first_chunk()?,
            marks: marks.as_chunks().0.first_chunk()?,
        })
    }

    #[inline]
    fn hash(self, slot: usize) -> u64 {
        u64::from_le_bytes(self.hashes[slot])
    }

    #[inline]
    fn number(self, slot: usize) -> u32 {
        u32::from_le_bytes(self.numbers[slot])
    }

    #[inline]
    fn check(self, slot: usize) -> u16 {
        u16::from_le_bytes(self.checks[slot])
    }

    #[inline]
    fn mark(self, slot: usize) -> u16 {
        u16::from_le_bytes(self.marks[slot])
    }

    /// The row of a slot, if there is one.
    fn cell(self, slot: usize) -> Option<NameCell> {
        let mark = self.mark(slot);
        (mark & TAKEN != 0).then(|| NameCell {
            hash: self.hash(slot),
            check: self.check(slot),
            tag: RowTag(mark & RowTag::MASK),
            line: self.number(slot),
        })
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
    fn tables_that_are_shared_give_the_same_rows_and_others_are_refused() {
        let mut word = 9;
        let mut rows: Vec<NameCell> =
            (0..5_003).map(|number| row(split_mix(&mut word), number)).collect();
        rows.sort_unstable();
        let mut lines = RowLines::build(rows.len(), rows.iter().copied());
        let image = lines.pieces().concat();
        for at in [0, image.len() / 3, image.len() / 2, image.len() - 1] {
            let mut other = image.clone();
            other[at] ^= 1;
            assert_eq!(lines.share(&Bytes::from(other)), Err(TablesDiffer), "byte {at}");
        }
        assert_eq!(lines.share(&Bytes::copy_from_slice(&image[1..])), Err(TablesDiffer));
        assert_eq!(lines.share(&Bytes::new()), Err(TablesDiffer));
        assert!(lines.cells().eq(rows.iter().copied()), "what was refused has changed nothing");
        let shared = Bytes::from(image);
        assert_eq!(lines.share(&shared), Ok(()));
        let [place, _] = lines.places();
        assert_eq!(place, shared.as_ptr_range().start.addr()..shared.as_ptr_range().end.addr());
        assert!(lines.cells().eq(rows.iter().copied()));
        for cell in &rows {
            let (mut found, name) = (0, NameFingerprint { hash: cell.hash, check: cell.check });
            lines.visit(lines.look(cell.hash), name, |_, _| found += 1);
            assert_eq!(found, 1);
        }
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
