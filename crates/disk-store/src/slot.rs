//! A record in the index: sixteen bytes.
//!
//! It holds no sequence and no full key: whoever follows it reads the record's header and compares.
//! Pure arithmetic on bits, called by the index and by those who fill it.
//!
//! ```text
//! a: tag 40 | variant 16 | size 8
//! b: segment 20 | at 24 | until 16 | hot, checked, head, used
//! ```

use crate::format::{RECORD_ALIGN, RecordKind};

/// Segments that a slot can name.
pub(crate) const SEGMENTS_MAX: u32 = 1 << 20;
/// Bytes of a segment within which records may begin.
pub(crate) const REACH_BYTES: u64 = RECORD_ALIGN << 24;

/// Bits of the key that are kept; with the shard's six, two keys of a million share all of them
/// once in some hundred million look-ups, and are then told apart by the header.
pub(crate) const TAG_BITS: u32 = 40;

/// Usefulness is counted in steps of four hours since 2024, rounded up: thirty years in 16 bits. It
/// only decides what is reclaimed first.
const UNTIL_STEP_S: u64 = 4 * 3600;
const UNTIL_SINCE_S: u64 = 1_704_067_200;

const HOT: u64 = 1;
const CHECKED: u64 = 1 << 1;
const HEAD: u64 = 1 << 2;
const USED: u64 = 1 << 3;

/// Where a record is: the place of its segment in the table, and where it begins there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordLocation {
    pub(crate) segment: u32,
    pub(crate) at: u64,
}

/// One record in the index, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexSlot {
    a: u64,
    b: u64,
}

impl IndexSlot {
    pub(crate) const EMPTY: Self = Self { a: 0, b: 0 };

    pub(crate) fn new(
        tag: u64,
        variant: u64,
        kind: RecordKind,
        place: RecordLocation,
        len: u64,
    ) -> Self {
        debug_assert!(tag >> TAG_BITS == 0 && place.segment < SEGMENTS_MAX);
        debug_assert!(place.at < REACH_BYTES && place.at.is_multiple_of(RECORD_ALIGN));
        let head = match kind {
            RecordKind::Full => 0,
            RecordKind::Head => HEAD,
        };
        let size = u64::from(size_code(len.div_ceil(RECORD_ALIGN)));
        Self {
            a: tag << 24 | (variant & 0xffff) << 8 | size,
            b: u64::from(place.segment) << 44 | (place.at / RECORD_ALIGN) << 20 | head | USED,
        }
    }

    pub(crate) const fn is_used(self) -> bool {
        self.b & USED != 0
    }

    pub(crate) const fn tag(self) -> u64 {
        self.a >> 24
    }

    /// Sixteen bits of the variant. Two variants of a key that share them take turns: each is a
    /// miss after the other, never mistaken for it.
    pub(crate) const fn variant(self) -> u16 {
        (self.a >> 8) as u16
    }

    pub(crate) const fn kind(self) -> RecordKind {
        if self.b & HEAD == 0 { RecordKind::Full } else { RecordKind::Head }
    }

    pub(crate) const fn location(self) -> RecordLocation {
        RecordLocation {
            segment: (self.b >> 44) as u32,
            at: (self.b >> 20 & 0xff_ffff) * RECORD_ALIGN,
        }
    }

    /// At least the bytes that the record takes, and at most an eighth more.
    pub(crate) const fn len(self) -> u64 {
        size_of(self.a as u8) * RECORD_ALIGN
    }

    /// True if it was of use since reclaiming last came by.
    pub(crate) const fn is_hot(self) -> bool {
        self.b & HOT != 0
    }

    /// True if its whole body was compared with its sums since the start.
    pub(crate) const fn is_checked(self) -> bool {
        self.b & CHECKED != 0
    }

    pub(crate) const fn mark_used(&mut self) {
        self.b |= HOT;
    }

    pub(crate) const fn cool(&mut self) {
        self.b &= !HOT;
    }

    pub(crate) const fn set_checked(&mut self) {
        self.b |= CHECKED;
    }

    /// Sets how long it is of use: seconds since 1970.
    pub(crate) fn set_until(&mut self, until_s: u32) {
        let steps = u64::from(until_s).saturating_sub(UNTIL_SINCE_S).div_ceil(UNTIL_STEP_S);
        self.b = self.b & !(0xffff << 4) | steps.min(0xffff) << 4;
    }

    /// True if it was of no use any more at `unix_s`.
    pub(crate) const fn is_expired(self, unix_s: u64) -> bool {
        let steps = self.b >> 4 & 0xffff;
        steps != 0xffff && UNTIL_SINCE_S + steps * UNTIL_STEP_S < unix_s
    }

    /// The same at another place, cool and unchecked.
    pub(crate) fn moved(self, place: RecordLocation) -> Self {
        let there = u64::from(place.segment) << 44 | (place.at / RECORD_ALIGN) << 20;
        Self { a: self.a, b: there | self.b & 0xf_ffff & !HOT & !CHECKED }
    }
}

/// A number of units in eight bits: three of mantissa behind an implied one, five of exponent,
/// rounded up.
const fn size_code(units: u64) -> u8 {
    if units < 8 {
        return units as u8;
    }
    let shift = 60 - units.leading_zeros();
    let mantissa = (units + (1 << shift) - 1) >> shift;
    let code = (shift as u64 + 1) * 8 + (mantissa - 8);
    if code > 255 { 255 } else { code as u8 }
}

const fn size_of(code: u8) -> u64 {
    match code / 8 {
        0 => code as u64,
        exponent => (8 + (code % 8) as u64) << (exponent - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_by_an_eighth_at_most() {
        for units in
            (0..5000).chain((13..34).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]))
        {
            let back = size_of(size_code(units));
            assert!(back >= units && back <= units + units / 8, "{units} became {back}");
        }
    }

    #[test]
    fn a_slot_gives_back_what_it_was_given() {
        let place = RecordLocation { segment: SEGMENTS_MAX - 1, at: REACH_BYTES - RECORD_ALIGN };
        let mut slot =
            IndexSlot::new((1 << TAG_BITS) - 1, 0x1234_5678, RecordKind::Head, place, 5000);
        slot.set_until(1_800_000_000);
        slot.mark_used();
        assert_eq!((slot.tag(), slot.variant()), ((1 << TAG_BITS) - 1, 0x5678));
        assert_eq!((slot.location(), slot.kind()), (place, RecordKind::Head));
        assert!(slot.is_hot() && !slot.is_checked() && slot.is_used());
        assert!(!slot.is_expired(1_800_000_000) && slot.is_expired(1_800_020_000));
        let moved = slot.moved(RecordLocation { segment: 3, at: 64 });
        assert_eq!((moved.location().segment, moved.location().at), (3, 64));
        assert!(!moved.is_hot() && moved.is_used() && moved.is_expired(1_800_020_000));
        slot.set_until(u32::MAX);
        assert!(!slot.is_expired(u64::MAX), "beyond the last step nobody knows");
    }
}
