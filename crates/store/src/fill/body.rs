//! A body in slabs: what a fill gathers, what the memory tier keeps, what readers take slices of.
//!
//! It is never changed once it is whole. Made by the fill; read by doors and by the disk tier.

use super::slab::{SLAB_OVERHEAD_BYTES, Slab, SlabTail};
use crate::budget::{Budget, ByteClass};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// The size of a slab of a long body, in bytes, with what it takes beside them. 64 KiB is what one
/// write to a socket takes on a fast path; larger slabs waste more at each end.
pub(crate) const SLAB_BYTES: usize = (64 << 10) - SLAB_OVERHEAD_BYTES;

/// One slab of a body, and where it stands in it.
#[derive(Clone)]
pub(super) struct SlabPart {
    pub(super) start: u64,
    pub(super) slab: Arc<Slab>,
    /// All of it, made once nothing more is written into it: slices then cost a count and nothing
    /// else.
    pub(super) sealed: Option<Bytes>,
}

impl SlabPart {
    pub(super) const fn open(start: u64, slab: Arc<Slab>) -> Self {
        Self { start, slab, sealed: None }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.slab.filled() as u64
    }

    pub(super) fn seal(&mut self) {
        if self.sealed.is_none() {
            self.sealed = Some(self.slab.view(0..self.slab.filled()));
        }
    }

    /// The bytes of the body's `range` that stand here.
    pub(super) fn slice(&self, range: &Range<u64>) -> Bytes {
        let from = range.start.saturating_sub(self.start) as usize;
        let to = range.end.min(self.end()).saturating_sub(self.start) as usize;
        match &self.sealed {
            Some(bytes) => bytes.slice(from.min(to)..to),
            None => self.slab.view(from..to),
        }
    }
}

/// A body, or the front of one.
#[derive(Clone, Default)]
pub struct FillBody {
    parts: Box<[SlabPart]>,
    len: u64,
}

impl FillBody {
    pub(super) fn of(parts: impl Iterator<Item = SlabPart>) -> Self {
        let mut parts: Box<[SlabPart]> = parts.filter(|part| part.slab.filled() > 0).collect();
        parts.iter_mut().for_each(SlabPart::seal);
        let len = parts.last().map_or(0, SlabPart::end);
        Self { parts, len }
    }

    pub(super) fn parts(&self) -> &[SlabPart] {
        &self.parts
    }

    /// A body of bytes that are at hand, copied into one slab. `None` where the account has no
    /// room.
    pub(crate) fn copied(budget: &Arc<Budget>, bytes: &[u8]) -> Option<Self> {
        let cost = (bytes.len() + SLAB_OVERHEAD_BYTES) as u64;
        let mut tail = SlabTail::new(bytes.len(), budget.try_charge(ByteClass::Windows, cost)?);
        tail.push(bytes);
        Some(Self::of(std::iter::once(SlabPart::open(0, Arc::clone(tail.slab())))))
    }

    /// Returns its length in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True if there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All of it in one piece, where it is one: every body up to 64 KiB is.
    pub fn as_single(&self) -> Option<Bytes> {
        match &self.parts[..] {
            [] => Some(Bytes::new()),
            [part] => part.sealed.clone(),
            _ => None,
        }
    }

    /// The pieces of a range of it, in order, without a copy. Ends where the body ends.
    pub fn chunks(&self, range: Range<u64>) -> impl Iterator<Item = Bytes> + '_ {
        let first = self.parts.partition_point(|part| part.end() <= range.start);
        let parts = self.parts[first..].iter();
        parts
            .take_while({
                let end = range.end;
                move |part| part.start < end
            })
            .map(move |part| part.slice(&range))
            .filter(|piece| !piece.is_empty())
    }

    /// Returns what it takes in memory, in bytes.
    pub(crate) fn cost(&self) -> u64 {
        self.parts.iter().map(|part| part.slab.charge().bytes()).sum()
    }

    /// Counts its slabs as another class.
    pub(crate) fn move_to(&self, class: ByteClass) {
        self.parts.iter().for_each(|part| part.slab.charge().move_to(class));
    }
}
