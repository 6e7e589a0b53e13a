//! Buffers of a thread, lent to the connection that it serves at the moment.
//!
//! Thousands of idle connections hold none of their own. Called by [`super::connection`].

use std::cell::Cell;

/// Bytes read at once, and of the largest head that stays in the fast path; browsers send 1 KiB,
/// with cookies up to 4. A longer head goes to hyper, which has limits of its own.
pub(super) const INPUT_BYTES: usize = 8 << 10;

/// Holds what a thread lends to the connection that it serves at the moment.
#[derive(Default)]
pub(super) struct ThreadScratch {
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
}

thread_local! {
    static SCRATCH: Cell<ThreadScratch> = const {
        Cell::new(ThreadScratch { input: Vec::new(), output: Vec::new() })
    };
}

/// Lends the thread's buffers, the one for reading with its full length.
pub(super) fn with_scratch<T>(work: impl FnOnce(&mut ThreadScratch) -> T) -> T {
    let mut scratch = SCRATCH.take();
    if scratch.input.is_empty() {
        scratch.input.resize(INPUT_BYTES, 0);
    }
    let done = work(&mut scratch);
    scratch.output.clear();
    SCRATCH.set(scratch);
    done
}
