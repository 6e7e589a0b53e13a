//! Places in a filter's memory, as it names them: any two numbers.

use std::ops::Range;

/// The bytes from `pointer` on, if all of them are within a memory of `length` bytes.
pub fn guest_span(length: usize, pointer: u32, size: u32) -> Option<Range<usize>> {
    let (start, size) = (usize::try_from(pointer).ok()?, usize::try_from(size).ok()?);
    let end = start.checked_add(size)?;
    (end <= length).then_some(start..end)
}

/// The words of a property's path, between zeros: `request`, `path`.
pub fn property_words(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == 0).filter(|word| !word.is_empty()).take(WORDS_MAX).collect()
}

/// Words of a property's path that are read.
const WORDS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_ends_within_the_memory() {
        assert_eq!(guest_span(10, 2, 8), Some(2..10));
        assert_eq!(guest_span(10, 10, 0), Some(10..10));
        assert_eq!(guest_span(10, 2, 9), None);
        assert_eq!(guest_span(10, u32::MAX, u32::MAX), None);
    }
}
