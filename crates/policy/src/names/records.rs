//! Records of one size, one behind the other, in bytes that another process may hold too.
//!
//! Each is read where it lies. It knows nothing of what is in a record, and never changes. Used by
//! the table of names alone.

use crate::places::place_of;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;

/// Alignment of a table's first record: a line of the processor's cache.
pub(super) const ALIGNMENT: usize = 64;

/// Records of `N` bytes each.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordArray<const N: usize>(Bytes);

/// Bytes that are not those of the tables that they were offered to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesDiffer;

impl fmt::Display for TablesDiffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the tables of names differ")
    }
}

impl std::error::Error for TablesDiffer {}

/// Records on their way into an array, the first of them at a multiple of [`ALIGNMENT`].
pub(super) struct RecordWriter<const N: usize> {
    bytes: Vec<u8>,
    start: usize,
}

impl<const N: usize> RecordArray<N> {
    /// The records.
    #[inline]
    pub(super) fn all(&self) -> &[[u8; N]] {
        self.0.as_chunks().0
    }

    /// Bytes of all, one behind the other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Addresses of the memory that they lie in.
    pub(super) fn place(&self) -> Range<usize> {
        place_of(&self.0)
    }

    /// The part of `shared` that begins at `start`, if it has these bytes.
    pub(super) fn same_in(&self, shared: &Bytes, start: usize) -> Option<Self> {
        let range = start..start.checked_add(self.0.len())?;
        (shared.get(range.clone())? == &*self.0).then(|| Self(shared.slice(range)))
    }
}

impl<const N: usize> RecordWriter<N> {
    /// Room for so many.
    pub(super) fn of(count: usize) -> Self {
        let mut bytes: Vec<u8> = Vec::with_capacity(count * N + ALIGNMENT);
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        bytes.resize(start, 0);
        Self { bytes, start }
    }

    pub(super) fn push(&mut self, record: &[u8; N]) {
        self.bytes.extend_from_slice(record);
    }

    /// Adds so many of zeroes.
    pub(super) fn push_empty(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count * N, 0);
    }

    /// A record that was pushed.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut [u8; N]> {
        self.bytes[self.start..].as_chunks_mut().0.get_mut(at)
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        (self.bytes.len() - self.start) / N
    }

    pub(super) fn finish(self) -> RecordArray<N> {
        RecordArray(Bytes::from(self.bytes).slice(self.start..))
    }
}
