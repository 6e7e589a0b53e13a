//! One row of the table of names, and its bytes where it is stored.
//!
//! It refuses nothing: whoever reads bytes of others checks what they say. Used by the table of
//! names and by the snapshot.

use super::RowTag;

/// Holds what is kept of a name: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NameCell {
    pub(crate) hash: u64,
    pub(crate) check: u16,
    pub(crate) tag: RowTag,
    pub(crate) line: u32,
}

/// Bytes of a cell where it is stored.
pub(crate) const CELL_BYTES: usize = 16;

impl NameCell {
    pub(crate) fn to_bytes(self) -> [u8; CELL_BYTES] {
        let Self { hash, check, tag, line } = self;
        let halves = u64::from(check) | u64::from(tag.0) << 16 | u64::from(line) << 32;
        (u128::from(hash) | u128::from(halves) << 64).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8; CELL_BYTES]) -> Self {
        let all = u128::from_le_bytes(*bytes);
        let halves = (all >> 64) as u64;
        Self {
            hash: all as u64,
            check: halves as u16,
            tag: RowTag((halves >> 16) as u16),
            line: (halves >> 32) as u32,
        }
    }
}
