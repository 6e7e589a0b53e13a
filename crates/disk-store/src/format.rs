//! Layout of a record in a segment: header, text, body, trailer, and their checksums.
//!
//! A pure parser and its counterpart: no file, no clock. Every length is checked against its bound
//! before anything is computed from it, so hostile bytes can neither overflow nor allocate. Called
//! by whoever writes records, reads them, or looks through a segment.
//!
//! ```text
//! header 96 | labels | head | (to 4 KiB) body | (to 8) block sums, trailer 16 | (to 64) next
//! ```

use crate::key::{CacheKey, KeyHash, KeySeed};

/// Bytes of a record's header.
pub const HEADER_BYTES: usize = 96;
/// Records begin at multiples of this, so that 24 bits of the index reach through a segment of 1
/// GiB.
pub const RECORD_ALIGN: u64 = 64;
/// Larger bodies begin at a page, as the page cache and direct reads like it.
pub const BODY_ALIGN: u64 = 4096;
/// Bodies up to this follow their head at once: one read fetches both, and a small object does not
/// cost two pages.
pub const INLINE_BODY_BYTES_MAX: u64 = 16 << 10;
/// A body has one checksum for each block of this many bytes.
pub const BLOCK_BYTES: u64 = 64 << 10;
/// The URL and the tags of a record, in bytes with their lengths.
pub const LABELS_BYTES_MAX: u32 = 128 << 10;
/// A head, in bytes, as the caller encodes it.
pub const HEAD_BYTES_MAX: u32 = 512 << 10;
/// A body. The 4 MiB of block sums that it would have still fit in memory.
pub const BODY_BYTES_MAX: u64 = 64 << 30;

const TRAILER_BYTES: u64 = 16;
const HEADER_MAGIC: u32 = 0x5265_4754;
const TRAILER_MAGIC: u32 = 0x4565_4754;
/// Where the word is that says that a record is dead. It is written in place, later, and is
/// therefore no part of the checksum: whatever is there besides zero means dead, never alive.
const DEAD_AT: u64 = 4;

/// Value of the word at [`SegmentOffset::dead_at`] once a record is dead.
pub(crate) const DEAD: [u8; 4] = [0xff; 4];

/// A secret word that every checksum begins with, so that the body of an answer cannot be made to
/// look like a record of ours.
#[derive(Clone, Copy)]
pub struct ChecksumSalt(u32);

impl ChecksumSalt {
    /// The salt of a folder.
    pub fn of(seed: &KeySeed) -> Self {
        Self(CacheKey::new(seed, "segments").hash().0 as u32)
    }

    /// The checksum of `bytes` at `spot`: CRC-32C (RFC 3720 §12.1), begun with the salt and the
    /// place, so that a block that is written or read in another place is found out.
    pub fn checksum(self, spot: SegmentOffset, bytes: &[u8]) -> u32 {
        let sum = crc32c::crc32c_append(self.0, &spot.segment.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(sum, &spot.at.to_le_bytes()), bytes)
    }
}

/// A place in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOffset {
    /// The segment's number, which no other ever had.
    pub segment: u64,
    /// Bytes from its beginning.
    pub at: u64,
}

impl SegmentOffset {
    pub(crate) const fn dead_at(self) -> u64 {
        self.at + DEAD_AT
    }
}

/// Tells what a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A head and its body.
    Full,
    /// A newer head for the body of another record (a 304 came).
    Head,
}

impl RecordKind {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Full => 1,
            Self::Head => 2,
        }
    }

    pub(crate) const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Full),
            2 => Some(Self::Head),
            _ => None,
        }
    }
}

/// Tells whether a record still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordLife {
    /// Alive: it counts.
    Alive,
    /// A newer one took its place, or it was dropped.
    Dead,
}

/// The header of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// Kind of record.
    pub kind: RecordKind,
    /// Alive or dead.
    pub life: RecordLife,
    /// Key under which it is filed.
    pub key: KeyHash,
    /// Which of the answers under the key: a hash of the selecting fields, 0 where nothing varies.
    pub variant: u64,
    /// Of two records of one variant the one with the greater number counts.
    pub sequence: u64,
    /// Purges with this number or a greater one concern it.
    pub moment: u64,
    /// The `sequence` of the record that has the body.
    pub body_sequence: u64,
    /// Seconds since 1970 after which it is of no use, not even stale.
    pub useful_until_s: u32,
    /// Bytes of its labels.
    pub labels_len: u32,
    /// Bytes of its head.
    pub head_len: u32,
    /// Bytes of its own body: 0 in a [`RecordKind::Head`].
    pub body_len: u64,
    /// The checksum of labels and head.
    pub text_checksum: u32,
}

/// Where the parts of a record lie, in bytes from the beginning of its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// Labels and head.
    pub text_at: u64,
    /// The body.
    pub body_at: u64,
    /// The sums of its blocks, and the trailer.
    pub trailer_at: u64,
    /// Bytes from there to the end of the trailer.
    pub trailer_len: u64,
    /// Where the next record begins.
    pub end: u64,
}

/// Returns how many blocks a body of `len` bytes has.
pub(crate) const fn blocks(len: u64) -> u64 {
    len.div_ceil(BLOCK_BYTES)
}

/// Where a body begins, behind a text that ends at `text_end`.
pub(crate) const fn body_at(text_end: u64, body_len: u64) -> u64 {
    if body_len <= INLINE_BODY_BYTES_MAX { text_end } else { text_end.next_multiple_of(BODY_ALIGN) }
}

impl RecordHeader {
    /// Reads the header at `spot`; `None` where there is none that was written there and whole.
    pub fn decode(
        salt: ChecksumSalt,
        spot: SegmentOffset,
        bytes: &[u8; HEADER_BYTES],
    ) -> Option<Self> {
        let sound = u32_at(bytes, 0) == HEADER_MAGIC
            && u32_at(bytes, 92) == salt.checksum(spot, &bytes[8..92]);
        let header = Self {
            kind: RecordKind::from_code(bytes[84]).filter(|_| sound)?,
            life: if u32_at(bytes, 4) == 0 { RecordLife::Alive } else { RecordLife::Dead },
            key: KeyHash(u128::from_le_bytes(bytes[8..24].try_into().expect("sixteen bytes"))),
            variant: u64_at(bytes, 24),
            sequence: u64_at(bytes, 32),
            moment: u64_at(bytes, 40),
            body_sequence: u64_at(bytes, 48),
            body_len: u64_at(bytes, 56),
            labels_len: u32_at(bytes, 64),
            head_len: u32_at(bytes, 68),
            useful_until_s: u32_at(bytes, 72),
            text_checksum: u32_at(bytes, 80),
        };
        header.is_bounded().then_some(header)
    }

    /// The bytes of a header that stands at `spot`.
    pub fn encode(&self, salt: ChecksumSalt, spot: SegmentOffset) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&HEADER_MAGIC.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.key.0.to_le_bytes());
        let words = [self.variant, self.sequence, self.moment, self.body_sequence, self.body_len];
        for (at, word) in (24..).step_by(8).zip(words) {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let halves = [self.labels_len, self.head_len, self.useful_until_s, 0, self.text_checksum];
        for (at, half) in (64..).step_by(4).zip(halves) {
            bytes[at..at + 4].copy_from_slice(&half.to_le_bytes());
        }
        bytes[84] = self.kind.code();
        let sum = salt.checksum(spot, &bytes[8..92]);
        bytes[92..96].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn is_bounded(&self) -> bool {
        let own_body = match self.kind {
            RecordKind::Full => {
                self.body_sequence == self.sequence && self.body_len <= BODY_BYTES_MAX
            }
            RecordKind::Head => self.body_sequence < self.sequence && self.body_len == 0,
        };
        own_body && self.labels_len <= LABELS_BYTES_MAX && self.head_len <= HEAD_BYTES_MAX
    }

    /// Bytes of labels and head together.
    pub fn text_len(&self) -> u64 {
        u64::from(self.labels_len) + u64::from(self.head_len)
    }

    /// Where its parts lie if it begins at `at`, which is less than [`u64::MAX`] by far: a segment
    /// ends within some GiB, and all lengths are bounded.
    pub fn layout(&self, at: u64) -> RecordLayout {
        let text_at = at + HEADER_BYTES as u64;
        let body_at = body_at(text_at + self.text_len(), self.body_len);
        let trailer_at = (body_at + self.body_len).next_multiple_of(8);
        let trailer_len = 4 * blocks(self.body_len) + TRAILER_BYTES;
        let end = (trailer_at + trailer_len).next_multiple_of(RECORD_ALIGN);
        RecordLayout { text_at, body_at, trailer_at, trailer_len, end }
    }
}

/// The trailer of the record at `spot`: the sums of its blocks, and the mark that it was committed.
pub fn encode_trailer(
    salt: ChecksumSalt,
    spot: SegmentOffset,
    sequence: u64,
    sums: &[u32],
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 * sums.len() + TRAILER_BYTES as usize);
    bytes.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(TRAILER_MAGIC.to_le_bytes());
    let sum = salt.checksum(spot, &bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The sums in a trailer; `None` where it is not the whole trailer of that record.
pub fn decode_trailer(
    salt: ChecksumSalt,
    spot: SegmentOffset,
    sequence: u64,
    bytes: &[u8],
) -> Option<Box<[u32]>> {
    let sums = bytes.len().checked_sub(TRAILER_BYTES as usize)?;
    let sound = u64_at(bytes, sums) == sequence
        && u32_at(bytes, sums + 8) == TRAILER_MAGIC
        && u32_at(bytes, sums + 12) == salt.checksum(spot, &bytes[..sums + 12]);
    sound.then(|| bytes[..sums].chunks_exact(4).map(|sum| u32_at(sum, 0)).collect())
}

/// Four bytes, the least first. The caller knows that they are there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a slice of four"))
}

/// Eight bytes, the least first. The caller knows that they are there.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a slice of eight"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPOT: SegmentOffset = SegmentOffset { segment: 7, at: 64 };

    fn header() -> RecordHeader {
        RecordHeader {
            kind: RecordKind::Full,
            life: RecordLife::Alive,
            key: KeyHash(u128::MAX / 3),
            variant: 5,
            sequence: 9,
            moment: 8,
            body_sequence: 9,
            useful_until_s: 77,
            labels_len: 30,
            head_len: 200,
            body_len: 100_000,
            text_checksum: 4,
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written_and_only_there() {
        let salt = ChecksumSalt::of(&KeySeed([1; 16]));
        let bytes = header().encode(salt, SPOT);
        assert_eq!(RecordHeader::decode(salt, SPOT, &bytes), Some(header()));
        assert_eq!(RecordHeader::decode(salt, SegmentOffset { at: 128, ..SPOT }, &bytes), None);
        assert_eq!(RecordHeader::decode(salt, SegmentOffset { segment: 8, ..SPOT }, &bytes), None);
        assert_eq!(RecordHeader::decode(ChecksumSalt::of(&KeySeed([2; 16])), SPOT, &bytes), None);
    }

    #[test]
    fn no_flipped_bit_of_a_header_goes_unseen() {
        let salt = ChecksumSalt::of(&KeySeed([1; 16]));
        let whole = header().encode(salt, SPOT);
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            let read = RecordHeader::decode(salt, SPOT, &bytes);
            let died = Some(RecordHeader { life: RecordLife::Dead, ..header() });
            assert!(read.is_none() || read == died, "bit {bit}: {read:?}");
        }
    }

    #[test]
    fn large_bodies_begin_at_a_page_and_small_ones_follow_their_head() {
        let layout = header().layout(64);
        assert_eq!((layout.body_at % BODY_ALIGN, layout.end % RECORD_ALIGN), (0, 0));
        let small = RecordHeader { body_len: 500, ..header() }.layout(64);
        assert_eq!(small.body_at, 64 + 96 + 230);
        assert!(small.end < 64 + 1024);
    }

    #[test]
    fn no_flipped_bit_of_a_trailer_goes_unseen() {
        let salt = ChecksumSalt::of(&KeySeed([1; 16]));
        let whole = encode_trailer(salt, SPOT, 9, &[1, 2, 3]);
        let read = decode_trailer(salt, SPOT, 9, &whole);
        assert_eq!(read.as_deref(), Some(&[1, 2, 3][..]));
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode_trailer(salt, SPOT, 9, &bytes), None, "bit {bit}");
        }
        for end in 0..whole.len() {
            assert_eq!(decode_trailer(salt, SPOT, 9, &whole[..end]), None, "cut at {end}");
        }
    }
}
