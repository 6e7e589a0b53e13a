//! The buffer of a thread in which heads of requests are written, lent from one to the next.

use std::cell::Cell;

/// A thread's buffer for heads that has grown beyond this is given up.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// An empty buffer of this thread.
pub(super) fn take_scratch() -> Vec<u8> {
    SCRATCH.take()
}

/// Leaves an emptied buffer to the next head of this thread.
pub(super) fn give_back(mut scratch: Vec<u8>) {
    if scratch.capacity() <= SCRATCH_BYTES_MAX {
        scratch.clear();
        SCRATCH.set(scratch);
    }
}
