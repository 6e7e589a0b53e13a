//! Contents of a segment: read from its footer, or found by walking from record to record.
//!
//! A footer is believed only if it is whole; otherwise the records are walked from the first one
//! until something is not a committed record. Bodies are never read here, and nothing is ever
//! searched for inside of them, so what an origin sent cannot be taken for a record. Called at the
//! start and when a segment is reclaimed; fuzzed.

use crate::format::{
    ChecksumSalt, HEADER_BYTES, RECORD_ALIGN, RecordHeader, RecordKind, RecordLife, SegmentOffset,
    decode_trailer, u32_at, u64_at,
};
use crate::key::KeyHash;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a segment's own header, before the first record.
pub const OPENING_BYTES: u64 = 64;
/// The version of segments and folders that is written, and the newest that is understood.
pub(crate) const VERSION: u32 = 1;

const OPENING_MAGIC: u64 = 0x746e_656d_6765_5354;
const TAIL_MAGIC: u64 = 0x7265_746f_6f46_5354;
const TAIL_BYTES: u64 = 64;
const ENTRY_BYTES: u64 = 56;

/// Something that can be read anywhere: a file, or bytes in memory.
pub trait SurveySource {
    /// Fills `into` with what is at `at`, or fails.
    fn read_exactly(&self, into: &mut [u8], at: u64) -> io::Result<()>;
}

impl SurveySource for File {
    fn read_exactly(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.read_exact_at(into, at)
    }
}

impl SurveySource for [u8] {
    fn read_exactly(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let there = self.get(at..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// One record, as the footer lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FooterEntry {
    /// Kind of record.
    pub kind: RecordKind,
    /// Key under which it is filed.
    pub key: KeyHash,
    /// Which of the answers under the key.
    pub variant: u64,
    /// Number.
    pub sequence: u64,
    /// The number of the record that has its body.
    pub body_sequence: u64,
    /// Where it begins: bytes from the beginning of the segment.
    pub at: u64,
    /// Bytes from there to where the next may begin.
    pub len: u64,
    /// Seconds since 1970 after which it is of no use.
    pub useful_until_s: u32,
}

impl FooterEntry {
    /// The entry of a record that begins at `at`.
    pub(crate) fn of(header: &RecordHeader, at: u64) -> Self {
        Self {
            kind: header.kind,
            key: header.key,
            variant: header.variant,
            sequence: header.sequence,
            body_sequence: header.body_sequence,
            at,
            len: header.layout(at).end - at,
            useful_until_s: header.useful_until_s,
        }
    }

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.key.0.to_le_bytes());
        for word in [self.variant, self.sequence, self.body_sequence] {
            into.extend(word.to_le_bytes());
        }
        let units = [self.at / RECORD_ALIGN, self.len / RECORD_ALIGN];
        into.extend(units.iter().flat_map(|units| (*units as u32).to_le_bytes()));
        into.extend(self.useful_until_s.to_le_bytes());
        into.extend([self.kind.code(), 0, 0, 0]);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            kind: RecordKind::from_code(bytes[52])?,
            key: KeyHash(u128::from_le_bytes(bytes[..16].try_into().ok()?)),
            variant: u64_at(bytes, 16),
            sequence: u64_at(bytes, 24),
            body_sequence: u64_at(bytes, 32),
            at: u64::from(u32_at(bytes, 40)) * RECORD_ALIGN,
            len: u64::from(u32_at(bytes, 44)) * RECORD_ALIGN,
            useful_until_s: u32_at(bytes, 48),
        })
    }
}

/// Tells how a segment was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentEnding {
    /// Closed: its footer is whole.
    Sealed,
    /// Without one: the process ended while it was written, or the footer is damaged.
    Open,
}

/// Holds what is in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentSurvey {
    /// Records, in the order in which they lie; those known to be dead are left out.
    pub entries: Vec<FooterEntry>,
    /// Where the last record ends.
    pub end: u64,
    /// The least `moment` of its records; `u64::MAX` where there is none.
    pub moment_min: u64,
    /// The greatest number, of records and of moments.
    pub sequence_max: u64,
    /// Way in which its end was found.
    pub ending: SegmentEnding,
}

impl SegmentSurvey {
    /// Returns that of a segment without records.
    pub(crate) const fn empty() -> Self {
        Self {
            entries: Vec::new(),
            end: OPENING_BYTES,
            moment_min: u64::MAX,
            sequence_max: 0,
            ending: SegmentEnding::Open,
        }
    }

    /// Adds a record that was just written or found.
    pub(crate) fn add(&mut self, entry: FooterEntry, moment: u64) {
        self.end = entry.at + entry.len;
        self.moment_min = self.moment_min.min(moment);
        self.sequence_max = self.sequence_max.max(entry.sequence).max(moment);
        self.entries.push(entry);
    }

    /// Bytes of the footer that it will have.
    pub(crate) fn footer_len(&self) -> u64 {
        self.entries.len() as u64 * ENTRY_BYTES + TAIL_BYTES
    }

    /// The footer, to be written at `end`.
    pub fn footer(&self, salt: ChecksumSalt, segment: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.footer_len() as usize);
        for entry in &self.entries {
            entry.encode(&mut bytes);
        }
        let entries_sum = salt.checksum(SegmentOffset { segment, at: self.end }, &bytes);
        let at = self.end + bytes.len() as u64;
        let tail = bytes.len();
        let words = [TAIL_MAGIC, segment, self.end, self.entries.len() as u64];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(self.moment_min.to_le_bytes());
        bytes.extend(self.sequence_max.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(entries_sum.to_le_bytes());
        let sum = salt.checksum(SegmentOffset { segment, at }, &bytes[tail..]);
        bytes.extend(sum.to_le_bytes());
        bytes
    }
}

/// The first bytes of a segment.
pub fn opening(salt: ChecksumSalt, segment: u64) -> [u8; OPENING_BYTES as usize] {
    let mut bytes = [0; OPENING_BYTES as usize];
    bytes[..8].copy_from_slice(&OPENING_MAGIC.to_le_bytes());
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let sum = salt.checksum(SegmentOffset { segment, at: 0 }, &bytes[..60]);
    bytes[60..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Looks through the segment `segment` of `len` bytes. `None` where it is none: its first bytes are
/// not what they were when it was made.
pub fn scan_segment<S: SurveySource + ?Sized>(
    source: &S,
    len: u64,
    segment: u64,
    salt: ChecksumSalt,
) -> Option<SegmentSurvey> {
    let mut first = [0; OPENING_BYTES as usize];
    source.read_exactly(&mut first, 0).ok()?;
    if first != opening(salt, segment) {
        return None;
    }
    Some(
        from_footer(source, len, segment, salt).unwrap_or_else(|| walk(source, len, segment, salt)),
    )
}

/// Returns how many records the footer speaks of, not checked: so that memory is taken for them at
/// once. Never more than there is space for in the file.
pub(crate) fn count<S: SurveySource + ?Sized>(source: &S, len: u64) -> u64 {
    let mut tail = [0; TAIL_BYTES as usize];
    match source.read_exactly(&mut tail, len.saturating_sub(TAIL_BYTES)) {
        Ok(()) if u64_at(&tail, 0) == TAIL_MAGIC => u64_at(&tail, 24).min(len / ENTRY_BYTES),
        Ok(()) | Err(_) => 0,
    }
}

fn from_footer<S: SurveySource + ?Sized>(
    source: &S,
    len: u64,
    segment: u64,
    salt: ChecksumSalt,
) -> Option<SegmentSurvey> {
    let at = len.checked_sub(TAIL_BYTES)?;
    let mut tail = [0; TAIL_BYTES as usize];
    source.read_exactly(&mut tail, at).ok()?;
    let (end, count) = (u64_at(&tail, 16), u64_at(&tail, 24));
    let sound = u64_at(&tail, 0) == TAIL_MAGIC
        && u64_at(&tail, 8) == segment
        && u32_at(&tail, 60) == salt.checksum(SegmentOffset { segment, at }, &tail[..60])
        // Checked before memory is taken for it: the footer lies within the file.
        && count <= len / ENTRY_BYTES
        && end.checked_add(count * ENTRY_BYTES) == Some(at);
    if !sound {
        return None;
    }
    let mut bytes = vec![0; (count * ENTRY_BYTES) as usize];
    source.read_exactly(&mut bytes, end).ok()?;
    if u32_at(&tail, 56) != salt.checksum(SegmentOffset { segment, at: end }, &bytes) {
        return None;
    }
    let mut entries = Vec::with_capacity(count as usize);
    let mut before = OPENING_BYTES;
    for bytes in bytes.chunks_exact(ENTRY_BYTES as usize) {
        let entry = FooterEntry::decode(bytes)?;
        if entry.at < before || entry.at + entry.len > end {
            return None;
        }
        before = entry.at + entry.len;
        entries.push(entry);
    }
    let (moment_min, sequence_max) = (u64_at(&tail, 32), u64_at(&tail, 40));
    Some(SegmentSurvey { entries, end, moment_min, sequence_max, ending: SegmentEnding::Sealed })
}

fn walk<S: SurveySource + ?Sized>(
    source: &S,
    len: u64,
    segment: u64,
    salt: ChecksumSalt,
) -> SegmentSurvey {
    let mut survey = SegmentSurvey::empty();
    let mut at = OPENING_BYTES;
    while let Some((header, end)) = committed(source, len, SegmentOffset { segment, at }, salt) {
        match header.life {
            RecordLife::Alive => survey.add(FooterEntry::of(&header, at), header.moment),
            RecordLife::Dead => survey.end = end,
        }
        survey.sequence_max = survey.sequence_max.max(header.sequence).max(header.moment);
        at = end;
    }
    survey
}

/// The header of the record at `spot` and where the record ends, if it was committed.
fn committed<S: SurveySource + ?Sized>(
    source: &S,
    len: u64,
    spot: SegmentOffset,
    salt: ChecksumSalt,
) -> Option<(RecordHeader, u64)> {
    let mut bytes = [0; HEADER_BYTES];
    source.read_exactly(&mut bytes, spot.at).ok()?;
    let header = RecordHeader::decode(salt, spot, &bytes)?;
    let layout = header.layout(spot.at);
    if layout.trailer_at + layout.trailer_len > len {
        return None;
    }
    let mut trailer = vec![0; layout.trailer_len as usize];
    source.read_exactly(&mut trailer, layout.trailer_at).ok()?;
    decode_trailer(salt, spot, header.sequence, &trailer)?;
    Some((header, layout.end))
}
