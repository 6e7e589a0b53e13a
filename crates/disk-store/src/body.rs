//! A stored answer that was found, and its body block by block.
//!
//! No byte of a body leaves here before the checksum of its block was compared, since the start at
//! the latest. Reading may wait for the disk, so it belongs on a thread that may. Called by doors.

use crate::format::{self, BLOCK_BYTES, RecordHeader, RecordLayout};
use crate::index::RecordMark;
use crate::labels::RecordLabels;
use crate::purge::PurgeEffect;
use crate::record;
use crate::segments::DiskSegment;
use crate::shared::DiskShared;
use crate::slot::RecordLocation;
use bytes::Bytes;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Holds what was read is not what was written. It has been dropped and will not be found again;
/// the rest of the answer has to come from the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptedBody;

impl fmt::Display for CorruptedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what was stored is damaged and has been dropped; fetch it again")
    }
}

impl std::error::Error for CorruptedBody {}

/// A stored answer.
pub struct StoredAnswer {
    pub(crate) text: Bytes,
    pub(crate) labels_len: usize,
    /// Effect of purges: stale whatever its head says, or none. Never [`PurgeEffect::Hard`].
    pub purged: PurgeEffect,
    /// Body.
    pub body: DiskBody,
}

impl StoredAnswer {
    /// The head, as it was handed in.
    pub fn head(&self) -> Bytes {
        self.text.slice(self.labels_len..)
    }

    fn labels(&self) -> Option<RecordLabels<'_>> {
        RecordLabels::decode(&self.text[..self.labels_len])
    }

    /// The URL, to be compared: two may share a key.
    pub fn url(&self) -> &str {
        self.labels().map_or("", |labels| labels.url)
    }

    /// The tags.
    pub fn tags(&self) -> Vec<&str> {
        self.labels().map_or_else(Vec::new, |labels| labels.tags().collect())
    }
}

/// A part of a segment that may be sent as it is.
#[derive(Clone, Debug)]
pub struct BodyExtent {
    segment: Arc<DiskSegment>,
    /// Where it begins in the file, in bytes.
    pub at: u64,
    /// Length, in bytes.
    pub len: u64,
}

impl BodyExtent {
    /// The file. It can be read as long as the extent is held, whatever is reclaimed.
    pub fn file(&self) -> &File {
        &self.segment.file
    }
}

impl fmt::Debug for DiskSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {:x}", self.id)
    }
}

/// The body of a stored answer.
#[derive(Clone)]
pub struct DiskBody {
    pub(crate) shared: Arc<DiskShared>,
    pub(crate) segment: Arc<DiskSegment>,
    pub(crate) header: RecordHeader,
    pub(crate) layout: RecordLayout,
    pub(crate) location: RecordLocation,
    pub(crate) inline: Option<Bytes>,
    /// The sums of its blocks, once they were needed.
    pub(crate) checksums: Option<Box<[u32]>>,
    /// Blocks from the beginning that were compared.
    pub(crate) checked: u64,
}

impl DiskBody {
    /// Returns its length, in bytes.
    pub const fn len(&self) -> u64 {
        self.header.body_len
    }

    /// True if it has no byte.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it, where it is small: it was read with the head.
    pub fn inline(&self) -> Option<Bytes> {
        self.inline.clone()
    }

    /// The bytes from `at` to the end of their block, at most 64 KiB; none at or behind the end.
    pub fn read(&mut self, at: u64) -> Result<Bytes, CorruptedBody> {
        if at >= self.len() {
            return Ok(Bytes::new());
        }
        if let Some(whole) = &self.inline {
            return Ok(whole.slice(at as usize..));
        }
        let block = self.block(at / BLOCK_BYTES)?;
        Ok(block.slice((at % BLOCK_BYTES) as usize..))
    }

    /// A part that begins at `at`, is compared with its sums and may be sent from the file: at most
    /// `most` bytes, and nothing at or behind the end. What is compared for the first time since
    /// the start is at most [`BLOCK_BYTES`] long, and then still in the page cache.
    pub fn extent(&mut self, at: u64, most: u64) -> Result<BodyExtent, CorruptedBody> {
        let at = at.min(self.len());
        let blocks = format::blocks(self.len());
        if at < self.len() && self.inline.is_none() && self.checked < blocks {
            let block = at / BLOCK_BYTES;
            if block >= self.checked {
                self.block(block)?;
            }
        }
        let sound_to = match self.inline {
            Some(_) => self.len(),
            None if at / BLOCK_BYTES < self.checked => self.checked * BLOCK_BYTES,
            None => (at / BLOCK_BYTES + 1) * BLOCK_BYTES,
        };
        let len = (sound_to.min(self.len()) - at).min(most);
        Ok(BodyExtent { segment: self.segment.clone(), at: self.layout.body_at + at, len })
    }

    /// Reads a block and compares it with its sum.
    fn block(&mut self, number: u64) -> Result<Bytes, CorruptedBody> {
        let sound = self.verified_block(number);
        if sound.is_none() {
            self.shared.drop_corrupted(self.header.key, &self.segment, self.location.at);
        }
        let block = sound.ok_or(CorruptedBody)?;
        if number == self.checked {
            self.checked += 1;
            if self.checked == format::blocks(self.len()) {
                self.shared.index.mark(self.header.key, self.location, RecordMark::Checked);
            }
        }
        Ok(block)
    }

    fn verified_block(&mut self, number: u64) -> Option<Bytes> {
        if self.checksums.is_none() {
            let salt = self.shared.salt;
            self.checksums =
                Some(record::checksums(&self.segment, self.location.at, &self.header, salt)?);
        }
        let sum = *self.checksums.as_ref()?.get(number as usize)?;
        let from = number * BLOCK_BYTES;
        let mut bytes = vec![0; BLOCK_BYTES.min(self.len() - from) as usize];
        self.segment.file.read_exact_at(&mut bytes, self.layout.body_at + from).ok()?;
        (crc32c::crc32c(&bytes) == sum).then(|| bytes.into())
    }
}
