//! Where tables lie in memory, as ranges of addresses.
//!
//! For whoever chooses the pages that memory comes in; nothing is read through them. Used by the
//! tables of names and of patterns, and by those of the gateway.

use std::ops::Range;

/// Returns the addresses of a slice.
pub fn place_of<T>(table: &[T]) -> Range<usize> {
    let Range { start, end } = table.as_ptr_range();
    start.addr()..end.addr()
}
