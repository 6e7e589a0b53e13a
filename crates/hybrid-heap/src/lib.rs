//! The heap: small blocks are mimalloc's, large ones the system allocator's.
//!
//! Small blocks are allocated and freed on different threads all day, which mimalloc does best.
//! Large ones (pieces of bodies, tables, files that are read) it keeps in pages of half a MiB and
//! more, for each thread and size its own, and their holes came to three times what was in use.
//! Which one a block is of is told by its size, which is known when it is freed (docs/adr/0010).
//! It is the binary's alone, which calls [`begin`] before anything else.

#![allow(unsafe_code, reason = "an allocator is unsafe to write; see each SAFETY")]

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{copy_nonoverlapping, null_mut};

/// From so many bytes on a block is large. musl's allocator has one lock for all threads, and gives
/// blocks from here on, and those alone, a mapping of their own.
const LARGE_BYTES: usize = if cfg!(target_env = "gnu") { 8 << 10 } else { 128 << 10 };

/// Allocator of the program: blocks are one of two allocators', by their size.
pub struct HybridHeap;

const fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE_BYTES
}

// SAFETY: each block is allocated, resized and freed by the one of two sound allocators that its
// size tells, and its size never changes but in `realloc`, which moves it where it then belongs.
unsafe impl GlobalAlloc for HybridHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that both ask for.
        unsafe { if is_large(layout) { System.alloc(layout) } else { MiMalloc.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that both ask for.
        unsafe {
            if is_large(layout) {
                System.alloc_zeroed(layout)
            } else {
                MiMalloc.alloc_zeroed(layout)
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `layout` is the block's own, so it goes back to the one that it came from.
        unsafe {
            if is_large(layout) {
                System.dealloc(block, layout);
            } else {
                MiMalloc.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (is_large(layout), size >= LARGE_BYTES) {
            // SAFETY: it came from there, and belongs there as long as its size is on this side.
            (true, true) => unsafe { System.realloc(block, layout, size) },
            // SAFETY: as above.
            (false, false) => unsafe { MiMalloc.realloc(block, layout, size) },
            (true, false) | (false, true) => {
                // SAFETY: the caller promises that `size`, rounded up to the alignment, is no
                // overflow, and that the alignment is one. The new block is no part of the old,
                // both have `kept` bytes and the old one is freed once, where it came from.
                unsafe {
                    let moved = Layout::from_size_align_unchecked(size, layout.align());
                    let new = self.alloc(moved);
                    if new.is_null() {
                        return null_mut();
                    }
                    let kept = layout.size().min(size);
                    copy_nonoverlapping(block, new, kept);
                    self.dealloc(block, layout);
                    new
                }
            }
        }
    }
}

/// From so many bytes on a block is a mapping of its own, which goes back to the kernel when it is
/// freed.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Says how the system's allocator is to keep large blocks: in one heap for two cores, for what one
/// has free, another cannot use; and the largest by themselves, for left alone it keeps blocks of
/// up to 32 MiB in the heap once one of that size was freed. Called first of all.
pub fn begin() {
    #[cfg(target_env = "gnu")]
    {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let heaps = libc::c_int::try_from(cores / 2).map_or(64, |heaps| heaps.clamp(1, 64));
        // SAFETY: `mallopt` takes two numbers, and there is one thread yet.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_keeps_its_bytes_wherever_it_is_moved() {
        let sizes = [1, 100, LARGE_BYTES - 1, LARGE_BYTES, 1 << 20, LARGE_BYTES, 4096, 16];
        for align in [1, 8, 64, 4096] {
            let layout = |size| Layout::from_size_align(size, align).expect("a layout");
            let mut size = sizes[0];
            // SAFETY: the layout has bytes, and each block is used with its own, within its length.
            unsafe {
                let mut block = HybridHeap.alloc(layout(size));
                block.write(42);
                for next in sizes {
                    block = HybridHeap.realloc(block, layout(size), next);
                    assert_eq!((block.read(), block.addr() % align), (42, 0), "{size} to {next}");
                    size = next;
                    block.add(size - 1).write(7);
                    block.write(42);
                }
                HybridHeap.dealloc(block, layout(size));
                let zeroed = HybridHeap.alloc_zeroed(layout(LARGE_BYTES));
                assert_eq!(zeroed.add(LARGE_BYTES - 1).read(), 0);
                HybridHeap.dealloc(zeroed, layout(LARGE_BYTES));
            }
        }
    }
}
