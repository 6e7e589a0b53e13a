//! A slab: memory that one writer fills from front to back while readers hold what is there.
//!
//! Readers get slices without a copy, also of a slab that is still being filled: an empty rest is
//! never visible. It is here, and not in `BytesMut`, because a tiny write must not cost a slice of
//! its own, and because the account must hear when the last slice is gone. Called by the fill.

#![allow(unsafe_code, reason = "appending behind slices that are being read; see each SAFETY")]

use crate::budget::ByteCharge;
use bytes::Bytes;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of a slab besides its contents: itself, its counts, its place in the list of parts.
pub(crate) const SLAB_OVERHEAD_BYTES: usize = 192;

/// Memory that is filled once.
pub(crate) struct Slab {
    bytes: Box<[UnsafeCell<MaybeUninit<u8>>]>,
    /// Bytes from the front that are written and will never change again.
    filled: AtomicUsize,
    charge: ByteCharge,
}

// SAFETY: bytes below `filled` are only read; bytes above are touched by the one `SlabTail` alone,
// which raises `filled` with release ordering after it wrote them.
unsafe impl Sync for Slab {}

/// The right to write into a slab. There is one a slab, and it cannot be copied.
pub(crate) struct SlabTail {
    slab: Arc<Slab>,
}

/// A slice of a slab that keeps it alive.
struct SlabView {
    slab: Arc<Slab>,
    range: Range<usize>,
}

impl SlabTail {
    /// An empty slab of `capacity` bytes, paid for by `charge`.
    pub(crate) fn new(capacity: usize, charge: ByteCharge) -> Self {
        let bytes = Box::into_raw(Box::<[MaybeUninit<u8>]>::new_uninit_slice(capacity));
        let bytes = bytes as *mut [UnsafeCell<MaybeUninit<u8>>];
        // SAFETY: the pointer comes from `into_raw` one line above. `UnsafeCell` and `MaybeUninit`
        // have their content's layout, and `MaybeUninit<u8>` needs no initial value.
        let bytes = unsafe { Box::from_raw(bytes) };
        Self { slab: Arc::new(Slab { bytes, filled: AtomicUsize::new(0), charge }) }
    }

    /// The slab, for readers.
    pub(crate) const fn slab(&self) -> &Arc<Slab> {
        &self.slab
    }

    /// Bytes that still fit.
    pub(crate) fn free(&self) -> usize {
        self.slab.capacity() - self.slab.filled()
    }

    /// Appends as much of `bytes` as fits and returns how much that was.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> usize {
        let filled = self.slab.filled.load(Ordering::Relaxed);
        let taken = bytes.len().min(self.slab.capacity() - filled);
        let place = UnsafeCell::raw_get(self.slab.bytes[filled..].as_ptr()).cast::<u8>();
        // SAFETY: `taken` cells from `filled` on lie within the slice the pointer was taken from.
        // No reader looks at them before `filled` is raised, and this `SlabTail`, held by `&mut`,
        // is the only writer. The source cannot overlap: nobody has a slice of these cells.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, taken);
        }
        self.slab.filled.store(filled + taken, Ordering::Release);
        taken
    }
}

impl Slab {
    /// Bytes it takes, used or not.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that are written.
    pub(crate) fn filled(&self) -> usize {
        self.filled.load(Ordering::Acquire)
    }

    /// Returns what it is counted as.
    pub(crate) const fn charge(&self) -> &ByteCharge {
        &self.charge
    }

    /// A slice of what is written. Ends early where less is there.
    pub(crate) fn view(self: &Arc<Self>, range: Range<usize>) -> Bytes {
        let end = range.end.min(self.filled());
        let range = range.start.min(end)..end;
        Bytes::from_owner(SlabView { slab: Arc::clone(self), range })
    }
}

impl AsRef<[u8]> for SlabView {
    fn as_ref(&self) -> &[u8] {
        let cells = &self.slab.bytes[self.range.clone()];
        // SAFETY: `view` cut the range at `filled`, read with acquire ordering: these cells are
        // written and never change again. The pointer is that of a slice of this length.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast::<u8>(), cells.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, ByteClass};

    #[test]
    fn slices_are_read_while_the_rest_is_written_and_pay_until_they_are_gone() {
        let budget = Budget::new(1 << 20);
        let mut tail = SlabTail::new(8, budget.charge(ByteClass::Windows, 8));
        assert_eq!(tail.push(b"abc"), 3);
        let first = tail.slab().view(0..100);
        assert_eq!(tail.push(b"defghi"), 5);
        assert_eq!((&first[..], &tail.slab().view(2..6)[..]), (&b"abc"[..], &b"cdef"[..]));
        assert_eq!((tail.free(), tail.push(b"x"), tail.slab().view(9..12).len()), (0, 0, 0));
        drop(tail);
        assert_eq!(budget.total(), 8);
        drop(first);
        assert_eq!(budget.total(), 0);
    }

    #[test]
    fn a_writer_and_readers_on_other_threads_agree() {
        const LENGTH: usize = 1 << 16;
        let budget = Budget::new(1 << 20);
        let mut tail = SlabTail::new(LENGTH, budget.charge(ByteClass::Windows, LENGTH as u64));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let slab = Arc::clone(tail.slab());
                scope.spawn(move || {
                    let mut seen = 0;
                    while seen < LENGTH {
                        let view = slab.view(seen..LENGTH);
                        for (index, byte) in view.iter().enumerate() {
                            assert_eq!(*byte, (seen + index) as u8);
                        }
                        seen += view.len();
                    }
                });
            }
            for start in (0..LENGTH).step_by(251) {
                let bytes: Vec<u8> =
                    (start..(start + 251).min(LENGTH)).map(|it| it as u8).collect();
                tail.push(&bytes);
            }
        });
    }
}
