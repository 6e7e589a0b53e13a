//! An answer that is to be stored, as it is handed in, and the record that it becomes.
//!
//! It writes nothing. Made by whoever stores an answer.

use crate::format::{HEAD_BYTES_MAX, RecordHeader, RecordKind, RecordLife};
use crate::key::KeyHash;
use crate::labels;
use crate::not_stored::NotStored;
use crate::record::PendingRecord;

/// Moment at which something was learned, among records and purges. A purge concerns what was
/// learned before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LearnedAt(pub(crate) u64);

/// An answer that is to be stored, without its body.
#[derive(Clone, Copy, Debug)]
pub struct RecordDraft<'a> {
    /// Key under which it is filed.
    pub key: KeyHash,
    /// Which of the answers under the key: a hash of the selecting fields, 0 where nothing varies.
    /// It takes the place of an older answer with the same.
    pub variant: u64,
    /// Taken before the request was sent, so that a purge which came since concerns this answer
    /// too.
    pub moment: LearnedAt,
    /// The URL, for purges.
    pub url: &'a str,
    /// Tags, for purges. URL and tags have at most [`crate::LABELS_BYTES_MAX`] bytes.
    pub tags: &'a [&'a str],
    /// The encoded head: at most [`HEAD_BYTES_MAX`] bytes, which are given back as they are.
    pub head: &'a [u8],
    /// Milliseconds since 1970 after which it is of no use, not even stale, and is reclaimed first;
    /// `u64::MAX` where there is no such time.
    pub useful_until_ms: u64,
}

impl RecordDraft<'_> {
    pub(crate) fn record(
        &self,
        kind: RecordKind,
        sequence: u64,
        body_sequence: u64,
    ) -> Result<PendingRecord, NotStored> {
        if self.head.len() > HEAD_BYTES_MAX as usize {
            return Err(NotStored::HeadTooLarge);
        }
        let mut text = Vec::with_capacity(self.url.len() + self.head.len() + 64);
        labels::encode(self.url, self.tags, &mut text)?;
        let labels_len = text.len() as u32;
        text.extend(self.head);
        let header = RecordHeader {
            kind,
            life: RecordLife::Alive,
            key: self.key,
            variant: self.variant,
            sequence,
            moment: self.moment.0,
            body_sequence,
            useful_until_s: u32::try_from(self.useful_until_ms.div_ceil(1000)).unwrap_or(u32::MAX),
            labels_len,
            head_len: self.head.len() as u32,
            // Both are known when it is laid out.
            body_len: 0,
            text_checksum: 0,
        };
        Ok(PendingRecord { header, text })
    }
}
