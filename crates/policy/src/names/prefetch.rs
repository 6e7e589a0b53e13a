//! A word to the processor that memory will soon be read.
//!
//! It changes nothing but the time that the read takes. Where the processor is not an x86-64 it
//! does nothing. Used by the table of names alone.
#![allow(unsafe_code)] // The instruction is only to be had as an unsafe function.

/// Sends for the line of the cache in which a value begins.
#[inline]
pub(super) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address at all never faults, and SSE is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
