//! What the heap takes of the system: small pages to begin with, and given back once large things were read.
//!
//! Compiling lists takes several times what is kept of them, for a moment. The allocator would hold
//! on to it, and another thread's reload could not use it: the next peak would stand on top of the
//! last one. So it is given back at the end of a start and of a reload, by the signer's process too.
//! Never called on a request's way.

use rustix::mm::{Advice, madvise};
use std::ops::Range;

/// Bytes of the heap's beginning that are kept in small pages: all that an idle program has.
const SMALL_PAGES_BYTES: usize = 32 << 20;

/// Keeps the beginning of the heap in small pages. The allocator asks for huge ones throughout, of which
/// the first byte that is touched takes 2 MiB: an idle program, which touches a little everywhere, had
/// 45 MB for 27, and half of a start was the clearing of pages. What grows beyond the beginning, tables of
/// names and stored answers, has huge pages as before: looking up in them is faster by a quarter. Called
/// first of all; where the kernel has no such pages, nothing changes.
pub(crate) fn begin_small() {
    let probe = Box::new(0_u8);
    let address = std::ptr::from_ref(&*probe).addr();
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let Some(heap) = mapping_of(&maps, address) else { return };
    let bytes = heap.len().min(SMALL_PAGES_BYTES);
    let start = std::ptr::with_exposed_provenance_mut(heap.start);
    #[allow(unsafe_code, reason = "advice about memory is given by its address")]
    // SAFETY: the range lies within one mapping of this process. The advice changes neither what it holds
    // nor who may touch it, only in which pages the kernel gives what is touched from now on.
    // A kernel that refuses has no huge pages, and needs no advice.
    let _ = unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) };
}

/// The mapping of `maps`, as proc(5) has it, in which `address` lies.
fn mapping_of(maps: &str, address: usize) -> Option<Range<usize>> {
    let range = |line: &str| {
        let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
        let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
        Some(hexadecimal(start)?..hexadecimal(end)?)
    };
    maps.lines().filter_map(range).find(|mapping| mapping.contains(&address))
}

/// Returns what this thread has freed, which takes some milliseconds.
pub(super) fn give_back() {
    #[allow(unsafe_code, reason = "mimalloc is C, and its wrapper leaves this function as it is")]
    // SAFETY: `mi_collect` takes no pointer and may be called at any time on any thread; it only
    // returns pages that hold nothing.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_its_mapping() {
        let maps = "3f926800000-3f966800000 rw-p 00000000 00:00 0 \n\
                    55ed0ce09000-55ed0d32f000 r--p 00000000 fe:00 42   /usr/bin/tidegate\n\
                    nonsense\n";
        assert_eq!(mapping_of(maps, 0x3f9_2680_0000), Some(0x3f9_2680_0000..0x3f9_6680_0000));
        assert_eq!(mapping_of(maps, 0x55ed_0d32_efff), Some(0x55ed_0ce0_9000..0x55ed_0d32_f000));
        assert_eq!(mapping_of(maps, 0x55ed_0d32_f000), None);
    }
}
