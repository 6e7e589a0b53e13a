//! A large body on its way: a segment of its own until it is complete.
//!
//! The body is written as it comes, behind the room that its header and text will need; the header
//! comes last, so what is unfinished is nothing to whoever walks the segment, and is cut off when
//! it is given up. Part of the disk's thread.

use crate::format::{self, ChecksumSalt, HEADER_BYTES, INLINE_BODY_BYTES_MAX};
use crate::open_segment::OpenSegment;
use crate::record::{BlockSums, PendingRecord};
use crate::writer::GATHERED_BYTES_MAX;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

// Where a body begins depends on its length only below what is gathered.
const _: () = assert!(GATHERED_BYTES_MAX as u64 >= INLINE_BODY_BYTES_MAX);

/// A large record that is being written.
pub(crate) struct LargeWrite {
    pub(crate) open: OpenSegment,
    pub(crate) record: PendingRecord,
    pub(crate) body_at: u64,
    pub(crate) len: u64,
    checksums: BlockSums,
    /// Tells the writer that it writes in vain.
    pub(crate) failed: Arc<AtomicBool>,
}

impl LargeWrite {
    pub(crate) fn new(open: OpenSegment, record: PendingRecord, failed: Arc<AtomicBool>) -> Self {
        let text_end = open.survey.end + (HEADER_BYTES + record.text.len()) as u64;
        let body_at = format::body_at(text_end, u64::MAX);
        Self { open, record, body_at, len: 0, checksums: BlockSums::default(), failed }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.open.segment.file.write_all_at(bytes, self.body_at + self.len)?;
        self.len += bytes.len() as u64;
        self.checksums.add(bytes);
        Ok(())
    }

    /// Trailer, text and, last of all, the header.
    pub(crate) fn complete(&mut self, salt: ChecksumSalt) -> io::Result<()> {
        let (file, spot) = (&self.open.segment.file, self.open.next_offset());
        let header = &mut self.record.header;
        header.body_len = self.len;
        header.text_checksum = crc32c::crc32c(&self.record.text);
        let layout = header.layout(spot.at);
        let sums = std::mem::take(&mut self.checksums).finish();
        let mut trailer = format::encode_trailer(salt, spot, header.sequence, &sums);
        trailer.resize((layout.end - layout.trailer_at) as usize, 0);
        file.write_all_at(&trailer, layout.trailer_at)?;
        file.write_all_at(&self.record.text, layout.text_at)?;
        file.write_all_at(&header.encode(salt, spot), spot.at)
    }
}
