//! Ranges of numbers, merged and sorted, with an index on the top bits: an address is found by
//! reading two places of it and a few starts.
//!
//! Ranges that touch are one. The index is as fine as there are ranges, over the span that they
//! take up: IPv6 addresses in use share their first bits. Filled by [`super::addresses`].

/// A number that ranges are made of: an address.
pub(crate) trait AddressNumber: Copy + Ord {
    /// As the widest of them.
    fn wide(self) -> u128;
}

impl AddressNumber for u32 {
    fn wide(self) -> u128 {
        self.into()
    }
}

impl AddressNumber for u128 {
    fn wide(self) -> u128 {
        self
    }
}

/// Finest index, in bits: 4 MiB of it.
const INDEX_BITS_MAX: u32 = 20;

/// Sorted ranges that neither meet nor touch.
#[derive(Debug)]
pub(crate) struct AddressRanges<T> {
    starts: Vec<T>,
    ends: Vec<T>,
    /// For each slice of the span, how many ranges start before it.
    index: Vec<u32>,
    /// Where the span begins.
    base: u128,
    /// How far the distance from `base` is shifted to give its slice.
    shift: u32,
}

impl<T: AddressNumber> AddressRanges<T> {
    /// Takes ranges in any order, each from its first number to its last.
    pub(crate) fn build(mut ranges: Vec<(T, T)>) -> Self {
        ranges.sort_unstable();
        let (mut starts, mut ends): (Vec<T>, Vec<T>) = (Vec::new(), Vec::new());
        for (start, end) in ranges {
            match ends.last_mut() {
                Some(last) if last.wide().saturating_add(1) >= start.wide() => {
                    *last = (*last).max(end);
                }
                Some(_) | None => {
                    starts.push(start);
                    ends.push(end);
                }
            }
        }
        starts.shrink_to_fit();
        ends.shrink_to_fit();
        let base = starts.first().map_or(0, |first| first.wide());
        let span = starts.last().map_or(0, |last| last.wide() - base);
        let bits = (starts.len().max(1).ilog2() + 1).min(INDEX_BITS_MAX);
        let shift = (128 - span.leading_zeros()).saturating_sub(bits);
        let slices = (span >> shift) as usize + 1;
        let mut index = Vec::with_capacity(slices + 1);
        let mut at = 0;
        for slice in 0..slices {
            while at < starts.len() && ((starts[at].wide() - base) >> shift) < slice as u128 {
                at += 1;
            }
            index.push(at as u32);
        }
        index.push(starts.len() as u32);
        Self { starts, ends, index, base, shift }
    }

    /// True if a range holds `number`.
    #[inline]
    pub(crate) fn contains(&self, number: T) -> bool {
        let Some(distance) = number.wide().checked_sub(self.base) else { return false };
        // Past the span only the last range can reach.
        let slice = usize::try_from(distance >> self.shift).unwrap_or(usize::MAX);
        let (from, to) = match self.index.get(slice..).and_then(<[u32]>::first_chunk::<2>) {
            Some(&[from, to]) => (from as usize, to as usize),
            None => (self.starts.len(), self.starts.len()),
        };
        let before = from + self.starts[from..to].partition_point(|start| *start <= number);
        before > 0 && number <= self.ends[before - 1]
    }

    /// All ranges, from first number to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (T, T)> {
        self.starts.iter().copied().zip(self.ends.iter().copied())
    }

    /// Returns how many ranges there are, touching ones counted as one.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let ranges = (self.starts.capacity() + self.ends.capacity()) * size_of::<T>();
        (ranges + self.index.capacity() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_where_it_should_be() {
        // A few thousand small sets, each asked for every number of its span and around it.
        let mut word = 1u64;
        let mut next = |below: u64| {
            word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (word >> 33) % below
        };
        for round in 0..2000 {
            let ranges: Vec<(u32, u32)> = (0..next(12))
                .map(|_| {
                    let start = next(300) as u32;
                    (start, start + next(20) as u32)
                })
                .collect();
            let built = AddressRanges::build(ranges.clone());
            let wide = ranges.iter().map(|(a, b)| {
                let far = u128::MAX - 400;
                (far + u128::from(*a), far + u128::from(*b))
            });
            let built_wide = AddressRanges::build(wide.collect());
            for number in 0..350u32 {
                let expected = ranges.iter().any(|(a, b)| (*a..=*b).contains(&number));
                assert_eq!(built.contains(number), expected, "{number}, round {round}");
                let far = u128::MAX - 400 + u128::from(number);
                assert_eq!(built_wide.contains(far), expected, "{far}, round {round}");
            }
            assert!(!built.contains(u32::MAX));
            assert!(!built_wide.contains(0));
        }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let ranges = AddressRanges::build(vec![(10u32, 19), (20, 29), (15, 17), (40, 49)]);
        assert_eq!(ranges.len(), 2);
        let all = AddressRanges::build(vec![(0u128, u128::MAX), (5, 6)]);
        assert_eq!(all.len(), 1);
        assert!(all.contains(0) && all.contains(u128::MAX));
        assert!(!AddressRanges::<u32>::build(Vec::new()).contains(0));
    }
}
