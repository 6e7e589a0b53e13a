//! Where patterns may be found in a URL: by a few bytes of each, however many patterns there are.
//!
//! Of each pattern one run of bytes, its gram, is filed: eight where the pattern has so many, else
//! four, three, two or one, and of those the one that fewest patterns share. A URL is read once
//! for each width in use; at every byte a hash is looked up in a filter, and what the filter lets
//! through in a table. So the work for a URL does not grow with the patterns: what is rare among
//! them is rarer still in a URL. It names candidates; whether they match is tested by `patterns`.

use policy::{fold, place_of};
use std::ops::{ControlFlow, Range};

/// Widths of grams, the widest first: a gram of eight bytes seldom stands in a URL by accident.
const WIDTHS: [usize; 5] = [8, 4, 3, 2, 1];
/// Counters of grams while a table is built: two bytes each.
const COUNTERS: usize = 1 << 22;
/// Bits of the filter for a pattern. Two are set for each: one gram in a hundred passes by
/// accident.
const FILTER_BITS_PER_PATTERN: usize = 16;

/// Patterns by their grams.
#[derive(Debug, Default)]
pub(super) struct GramIndex {
    tables: Vec<GramTable>,
}

/// Patterns with grams of one width.
#[derive(Debug)]
struct GramTable {
    width: usize,
    filter: Box<[u64]>,
    /// Where the patterns of a slot begin in `ids`; one more than there are slots.
    starts: Box<[u32]>,
    ids: Box<[u32]>,
}

/// Where a pattern is filed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GramKey {
    hash: u64,
    width: usize,
    /// The text that holds it, and where in that.
    pub(super) text: usize,
    pub(super) at: usize,
}

/// Holds how often each gram stands in patterns; those that share a counter count together.
pub(super) struct GramCounts(Box<[u16]>);

impl GramCounts {
    pub(super) fn new() -> Self {
        Self(vec![0; COUNTERS].into())
    }

    fn slot(hash: u64) -> usize {
        (hash >> 17) as usize % COUNTERS
    }

    /// Counts the grams of a pattern that consists of these texts.
    pub(super) fn add(&mut self, texts: &[&[u8]]) {
        for_each_gram(texts, |gram| {
            let count = &mut self.0[Self::slot(gram.hash)];
            *count = count.saturating_add(1);
        });
    }

    /// The rarest gram of a pattern; none if all its texts are empty.
    pub(super) fn rarest(&self, texts: &[&[u8]]) -> Option<GramKey> {
        let mut best: Option<(u16, GramKey)> = None;
        for_each_gram(texts, |gram| {
            let count = self.0[Self::slot(gram.hash)];
            if best.is_none_or(|(least, _)| count < least) {
                best = Some((count, gram));
            }
        });
        best.map(|(_, gram)| gram)
    }
}

/// Shows the grams of the greatest width that a text of these has.
fn for_each_gram(texts: &[&[u8]], mut found: impl FnMut(GramKey)) {
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    let Some(width) = WIDTHS.into_iter().find(|width| *width <= longest) else { return };
    for (text, bytes) in texts.iter().enumerate() {
        for (at, window) in bytes.windows(width).enumerate() {
            let mut gram = [0; 8];
            gram[..width].copy_from_slice(window);
            let hash = hash_of(gram);
            found(GramKey { hash, width, text, at });
        }
    }
}

impl GramIndex {
    /// Files rules, each with its number.
    pub(super) fn build(filed: &[(GramKey, u32)]) -> Self {
        let of_width = |width| {
            let of_it = filed.iter().filter(move |(gram, _)| gram.width == width);
            let rules: Vec<(u64, u32)> = of_it.map(|(gram, id)| (gram.hash, *id)).collect();
            (!rules.is_empty()).then(|| GramTable::build(width, &rules))
        };
        Self { tables: WIDTHS.into_iter().filter_map(of_width).collect() }
    }

    /// Where the tables lie in memory.
    pub(super) fn tables(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.tables.iter().flat_map(|GramTable { filter, starts, ids, .. }| {
            [place_of(filter), place_of(starts), place_of(ids)]
        })
    }

    /// Shows every rule whose gram may stand in `url` (in lower case), and where, some more than
    /// once, until `found` has enough.
    pub(super) fn visit<B>(
        &self,
        url: &[u8],
        mut found: impl FnMut(u32, usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for table in &self.tables {
            match table.width {
                8 => table.visit::<8, B>(url, &mut found)?,
                4 => table.visit::<4, B>(url, &mut found)?,
                3 => table.visit::<3, B>(url, &mut found)?,
                2 => table.visit::<2, B>(url, &mut found)?,
                _ => table.visit::<1, B>(url, &mut found)?,
            }
        }
        ControlFlow::Continue(())
    }
}

impl GramTable {
    fn build(width: usize, rules: &[(u64, u32)]) -> Self {
        let words = (rules.len() * FILTER_BITS_PER_PATTERN).next_power_of_two().max(4096) / 64;
        let slots = rules.len().next_power_of_two().max(64);
        let mut filter = vec![0; words];
        let mut starts = vec![0u32; slots + 1];
        for (hash, _) in rules {
            filter[word(*hash, words)] |= mask(*hash);
            starts[slot(*hash, slots) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut ids = vec![0; rules.len()];
        for (hash, id) in rules {
            let place = &mut next[slot(*hash, slots)];
            ids[*place as usize] = *id;
            *place += 1;
        }
        Self { width, filter: filter.into(), starts: starts.into(), ids: ids.into() }
    }

    #[inline]
    fn visit<const WIDTH: usize, B>(
        &self,
        url: &[u8],
        found: &mut impl FnMut(u32, usize) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        for (at, window) in url.windows(WIDTH).enumerate() {
            let mut gram = [0; 8];
            gram[..WIDTH].copy_from_slice(window);
            let hash = hash_of(gram);
            let mask = mask(hash);
            if self.filter[word(hash, self.filter.len())] & mask == mask {
                for id in self.of_slot(hash) {
                    found(*id, at)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Called for few bytes of a URL: the loop is the smaller without it.
    #[cold]
    fn of_slot(&self, hash: u64) -> &[u32] {
        let slot = slot(hash, self.starts.len() - 1);
        &self.ids[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

#[inline]
fn hash_of(gram: [u8; 8]) -> u64 {
    // Two odd numbers without a pattern: the digits of pi.
    fold(u64::from_le_bytes(gram) ^ 0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345)
}

/// The word of the filter for a hash; their number is a power of two, as is that of the slots.
#[inline]
const fn word(hash: u64, words: usize) -> usize {
    (hash >> 12) as usize & (words - 1)
}

/// The two bits of it.
#[inline]
const fn mask(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63)
}

#[inline]
const fn slot(hash: u64, slots: usize) -> usize {
    (hash >> 32) as usize & (slots - 1)
}
