//! What the heap takes of the system: small pages, huge ones for the tables that every request
//! reads, and what is free is given back once large things were read.
//!
//! Compiling lists takes several times what is kept of them, for a moment. The allocator would hold
//! on to it, and another thread's reload could not use it: the next peak would stand on top of the
//! last one. So it is given back at the end of a start and of a reload, by the signer's process
//! too. Never called on a request's way.

#![allow(unsafe_code, reason = "advice about memory is given by its address; see each SAFETY")]

use door_gateway::GatewayDoor;
use policy::RuleSet;
use rustix::mm::{Advice, madvise};
use std::ops::Range;

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// `MADV_COLLAPSE` of Linux 6.1, which musl's headers lack.
const COLLAPSE: libc::c_int = 25;

/// Keeps the heap in small pages where the system gives huge ones to all: the first byte that is
/// touched takes 2 MiB, of which nothing can be given back while one byte is in use. Before it was
/// so, an idle program, which touches a little everywhere, had 45 MB for 27, and caches of 12 MiB
/// had 190 MB under load. Called first of all; where the kernel has no such pages, nothing changes.
pub(crate) fn begin_small() {
    let probe = Box::new(0_u8);
    let address = std::ptr::from_ref(&*probe).addr();
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let Some(heap) = mapping_of(&maps, address) else { return };
    let start = std::ptr::with_exposed_provenance_mut(heap.start);
    // SAFETY: the range is one mapping of this process. The advice changes neither what it holds
    // nor who may touch it, only in which pages the kernel gives what is touched from now on. A
    // kernel that refuses has no huge pages, and needs no advice.
    let _ = unsafe { madvise(start, heap.len(), Advice::LinuxNoHugepage) };
}

/// Puts a table into huge pages, where it is large enough to fill some: a look-up reads it at
/// random, and is faster by a quarter. Takes a millisecond for some MiB. The table is held by
/// whoever shows it.
fn hold_in_huge_pages(table: Range<usize>) {
    let start = table.start.next_multiple_of(HUGE_PAGE_BYTES);
    let end = table.end / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    let Some(bytes) = end.checked_sub(start).filter(|bytes| *bytes > 0) else { return };
    let place = std::ptr::with_exposed_provenance_mut(start);
    // SAFETY: the range lies within one allocation, which the caller's caller holds meanwhile. Both
    // say in which pages the kernel keeps it; what it holds and who may touch it stays. One that
    // refuses (before Linux 6.1 it does not know the second) leaves it as it is, and the first lets
    // it follow by and by.
    unsafe {
        let _ = madvise(place, bytes, Advice::LinuxHugepage);
        libc::madvise(place, bytes, COLLAPSE);
    }
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

/// Returns small blocks that this thread has freed, and large ones of all threads, which takes some
/// milliseconds.
pub(super) fn return_memory() {
    // SAFETY: neither takes a pointer, and both may be called at any time on any thread; they only
    // return pages that hold nothing.
    unsafe {
        libmimalloc_sys::mi_collect(true);
        #[cfg(target_env = "gnu")]
        libc::malloc_trim(0);
    }
}

/// The same once `rules` were compiled, which stay.
pub(super) fn release_after_compile(rules: &RuleSet) {
    return_memory();
    rules.tables().for_each(hold_in_huge_pages);
}

/// Chooses pages for the blocks of `gateway`, which it has just taken.
pub(super) fn hold_blocks(gateway: &GatewayDoor) {
    gateway.visit_tables(hold_in_huge_pages);
}

/// Resident memory of this process, in bytes, as Linux tells it.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
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
