//! Which requests become rows: one of so many, by the number of the row.
//!
//! The same number always has the same answer, so that a row that is looked at twice is chosen
//! twice or never. The number is mixed first: questions come in pairs (A and AAAA), and every tenth
//! would always be the same one of them.

/// Choice of rows: one of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowSample(pub(crate) u32);

impl RowSample {
    /// `true` if the row of this number is sent.
    pub(crate) const fn has(self, row: u64) -> bool {
        match self.0 {
            0 => false,
            1 => true,
            many => mixed(row) < u64::MAX / many as u64,
        }
    }
}

/// The number with all its bits mixed (the finish of `SplitMix64`).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_sent_whatever_the_rhythm_of_requests() {
        let sample = RowSample(10);
        for remainder in 0..6 {
            let chosen = (0..60_000).filter(|row| row % 6 == remainder && sample.has(*row)).count();
            assert!((850..1150).contains(&chosen), "{chosen} of 10000 with remainder {remainder}");
        }
        assert!((0..1000).all(|row| RowSample(1).has(row) && !RowSample(0).has(row)));
    }
}
