//! A record on its way to the disk, and one that is read back.
//!
//! Nothing read is given out before its checksum was compared; what does not fit is an error, and
//! the caller drops the record. Called by writers, readers, and whoever moves records.

use crate::body_chunks::BodyPieces;
use crate::format::{
    self, BLOCK_BYTES, ChecksumSalt, HEADER_BYTES, INLINE_BODY_BYTES_MAX, RecordHeader, RecordKind,
    RecordLayout, RecordLife, SegmentOffset,
};
use crate::segments::DiskSegment;
use bytes::Bytes;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are read of a large record at first: header and text, in nearly all cases.
const FIRST_BYTES: u64 = 8 << 10;
/// Bytes that are read at first where the body is not wanted.
const TEXT_BYTES: usize = 2 << 10;
/// Records up to this are read whole at once.
const WHOLE_BYTES_MAX: u64 = INLINE_BODY_BYTES_MAX + FIRST_BYTES;

/// A record that is to be written: its text is labels and head.
pub(crate) struct PendingRecord {
    pub(crate) header: RecordHeader,
    pub(crate) text: Vec<u8>,
}

/// The sums of a body's blocks, as it comes by.
#[derive(Default)]
pub(crate) struct BlockSums {
    done: Vec<u32>,
    running: u32,
    /// Bytes of the block that is not full yet.
    filled: u64,
}

impl BlockSums {
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = (BLOCK_BYTES - self.filled) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.running = crc32c::crc32c_append(self.running, now);
            self.filled += now.len() as u64;
            if self.filled == BLOCK_BYTES {
                self.done.push(std::mem::take(&mut self.running));
                self.filled = 0;
            }
            bytes = later;
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u32> {
        if self.filled > 0 {
            self.done.push(self.running);
        }
        self.done
    }
}

impl PendingRecord {
    /// Lays the record with this whole body into `bytes`, as it is to stand at `spot`.
    pub(crate) fn write_into(
        &mut self,
        body: &BodyPieces,
        salt: ChecksumSalt,
        spot: SegmentOffset,
        bytes: &mut Vec<u8>,
    ) {
        self.header.body_len = body.len() as u64;
        self.header.text_checksum = crc32c::crc32c(&self.text);
        let layout = self.header.layout(spot.at);
        let pad = |bytes: &mut Vec<u8>, to: u64| bytes.resize((to - spot.at) as usize, 0);
        let mut sums = BlockSums::default();
        body.iter().for_each(|piece| sums.add(piece));
        bytes.clear();
        bytes.extend(self.header.encode(salt, spot));
        bytes.extend(&self.text);
        pad(bytes, layout.body_at);
        body.iter().for_each(|piece| bytes.extend(piece));
        pad(bytes, layout.trailer_at);
        bytes.extend(format::encode_trailer(salt, spot, self.header.sequence, &sums.finish()));
        pad(bytes, layout.end);
    }
}

/// A record that was read: its text is as it was written, its body only where it is small.
pub(crate) struct LoadedRecord {
    pub(crate) header: RecordHeader,
    pub(crate) layout: RecordLayout,
    pub(crate) text: Bytes,
    pub(crate) inline: Option<Bytes>,
}

/// Why a record was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFailure {
    /// Does not count any more.
    Dead,
    /// Is not what was written, or could not be read.
    Damaged,
}

/// The header of the record at `at`.
pub(crate) fn header(
    segment: &DiskSegment,
    at: u64,
    salt: ChecksumSalt,
) -> Result<RecordHeader, ReadFailure> {
    let mut bytes = [0; HEADER_BYTES];
    segment.file.read_exact_at(&mut bytes, at).map_err(|_| ReadFailure::Damaged)?;
    alive(RecordHeader::decode(salt, SegmentOffset { segment: segment.id, at }, &bytes))
}

fn alive(header: Option<RecordHeader>) -> Result<RecordHeader, ReadFailure> {
    let header = header.ok_or(ReadFailure::Damaged)?;
    match header.life {
        RecordLife::Alive => Ok(header),
        RecordLife::Dead => Err(ReadFailure::Dead),
    }
}

/// The sums in the trailer of a record.
pub(crate) fn checksums(
    segment: &DiskSegment,
    at: u64,
    header: &RecordHeader,
    salt: ChecksumSalt,
) -> Option<Box<[u32]>> {
    let layout = header.layout(at);
    let mut bytes = vec![0; layout.trailer_len as usize];
    segment.file.read_exact_at(&mut bytes, layout.trailer_at).ok()?;
    format::decode_trailer(salt, SegmentOffset { segment: segment.id, at }, header.sequence, &bytes)
}

/// Labels and head of a record, without its body.
pub(crate) struct RecordText {
    pub(crate) header: RecordHeader,
    pub(crate) text: Vec<u8>,
}

/// Reads header and text of the record at `at`, mostly with one read.
pub(crate) fn load_text(
    segment: &DiskSegment,
    at: u64,
    salt: ChecksumSalt,
) -> Result<RecordText, ReadFailure> {
    let damaged = |_| ReadFailure::Damaged;
    let mut bytes = read_up_to(segment, at, TEXT_BYTES).map_err(damaged)?;
    let first: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(ReadFailure::Damaged)?;
    let header =
        alive(RecordHeader::decode(salt, SegmentOffset { segment: segment.id, at }, first))?;
    let end = HEADER_BYTES + header.text_len() as usize;
    let there = bytes.len();
    bytes.resize(end, 0);
    if there < end {
        segment.file.read_exact_at(&mut bytes[there..], at + there as u64).map_err(damaged)?;
    }
    let text = bytes.split_off(HEADER_BYTES);
    if crc32c::crc32c(&text) != header.text_checksum {
        return Err(ReadFailure::Damaged);
    }
    Ok(RecordText { header, text })
}

/// Reads the record at `at`, of at most `len` bytes, mostly with one read.
pub(crate) fn load(
    segment: &DiskSegment,
    at: u64,
    len: u64,
    salt: ChecksumSalt,
) -> Result<LoadedRecord, ReadFailure> {
    let first = if len <= WHOLE_BYTES_MAX { len } else { FIRST_BYTES };
    let bytes = read_up_to(segment, at, first as usize).map_err(|_| ReadFailure::Damaged)?;
    let first: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(ReadFailure::Damaged)?;
    let header =
        alive(RecordHeader::decode(salt, SegmentOffset { segment: segment.id, at }, first))?;
    split(segment, at, header, bytes, salt).ok_or(ReadFailure::Damaged)
}

/// The parts of a record whose first bytes were read; `None` where one is not what was written.
fn split(
    segment: &DiskSegment,
    at: u64,
    header: RecordHeader,
    mut bytes: Vec<u8>,
    salt: ChecksumSalt,
) -> Option<LoadedRecord> {
    let layout = header.layout(at);
    let part = |from: u64, to: u64| (from - at) as usize..(to - at) as usize;
    let is_inline = header.kind == RecordKind::Full && header.body_len <= INLINE_BODY_BYTES_MAX;
    let trailer_end = layout.trailer_at + layout.trailer_len;
    let text_end = layout.text_at + header.text_len();
    let needed = part(at, if is_inline { trailer_end } else { text_end }).end;
    if bytes.len() < needed {
        let mut rest = vec![0; needed - bytes.len()];
        segment.file.read_exact_at(&mut rest, at + bytes.len() as u64).ok()?;
        bytes.extend(rest);
    }
    let bytes = Bytes::from(bytes);
    let text = bytes.slice(part(layout.text_at, text_end));
    let mut is_sound = crc32c::crc32c(&text) == header.text_checksum;
    let mut inline = None;
    if is_inline {
        let body = bytes.slice(part(layout.body_at, layout.body_at + header.body_len));
        let trailer = &bytes[part(layout.trailer_at, trailer_end)];
        let spot = SegmentOffset { segment: segment.id, at };
        let sums = format::decode_trailer(salt, spot, header.sequence, trailer)?;
        is_sound &= sums.first().is_none_or(|sum| *sum == crc32c::crc32c(&body));
        inline = Some(body);
    }
    is_sound.then_some(LoadedRecord { header, layout, text, inline })
}

/// Reads `len` bytes, or up to the end of the file.
fn read_up_to(segment: &DiskSegment, at: u64, len: usize) -> io::Result<Vec<u8>> {
    // Of one size for all that are read whole: each of the threads that read would have blocks of
    // its own for every other.
    let mut bytes = Vec::with_capacity(len.max(WHOLE_BYTES_MAX as usize));
    bytes.resize(len, 0);
    let mut filled = 0;
    while filled < len {
        match segment.file.read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
