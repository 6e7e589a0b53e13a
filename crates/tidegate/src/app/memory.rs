//! Memory given back to the system once large things were read.
//!
//! Compiling lists takes several times what is kept of them, for a moment. The allocator would hold
//! on to it, and another thread's reload could not use it: the next peak would stand on top of the
//! last one. Called at the end of a start and of a reload, by the signer's process too, never on a
//! request's way.

/// Returns what this thread has freed, which takes some milliseconds.
pub(super) fn give_back() {
    #[allow(unsafe_code, reason = "mimalloc is C, and its wrapper leaves this function as it is")]
    // SAFETY: `mi_collect` takes no pointer and may be called at any time on any thread; it only
    // returns pages that hold nothing.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}
