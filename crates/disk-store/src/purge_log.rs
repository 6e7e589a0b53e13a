//! The file that purges are written to before they count as done.
//!
//! It only appends, and syncs before it says so; it is replaced as a whole when most of it is of no
//! use any more. What it cannot read it does not guess at: unless the rest of the file is the
//! beginning of an entry whose writing was cut off, every purge may have been lost, and everything
//! stored is taken for purged. Called by the table of purges and at the start.

use crate::durable_file::{options, replace};
use crate::format::{u32_at, u64_at};
use crate::key::KeyHash;
use crate::purge::{NumberedPurge, PATTERN_BYTES_MAX, Purge, PurgeStrength};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The name of the file in the folder.
pub(crate) const NAME: &str = "purges";

const MAGIC: u64 = 0x7365_6772_7570_4754;
/// Magic, the next number, a checksum, and four bytes that are zero.
const OPENING_BYTES: usize = 24;
/// Number, strength and kind.
const FIXED_BYTES: usize = 10;
/// A length, and its checksum.
const LEAD_BYTES: usize = 8;

/// Holds what was read from the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PurgeLogContent {
    pub(crate) noted: Vec<NumberedPurge>,
    /// Numbers below were given out before.
    pub(crate) next: u64,
    /// Bytes that were understood.
    len: u64,
    pub(crate) completeness: PurgeHistory,
}

/// Tells whether the purges of former runs are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeHistory {
    /// All that were acknowledged.
    Complete,
    /// Some may have been lost, so everything stored before counts as purged.
    Lost,
}

/// The file.
pub(crate) struct PurgeLog {
    folder: PathBuf,
    /// `None` once a write or a sync failed: the file is then replaced by the next purge.
    file: Option<File>,
    len: u64,
    /// Entries in it, those included that a later one has made useless.
    entries: usize,
    pub(crate) read: PurgeLogContent,
}

impl PurgeLog {
    /// A new one, in a new folder.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        let read = PurgeLogContent {
            noted: Vec::new(),
            next: 1,
            len: 0,
            completeness: PurgeHistory::Complete,
        };
        let mut log = Self { folder: folder.into(), file: None, len: 0, entries: 0, read };
        log.rewrite(&[], 1)?;
        Ok(log)
    }

    /// Returns that of a former run.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let bytes = match fs::read(folder.join(NAME)) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes?,
        };
        let read = read(&bytes);
        let file = match read.completeness {
            PurgeHistory::Complete => Some(options().open(folder.join(NAME))?),
            PurgeHistory::Lost => None,
        };
        Ok(Self { folder: folder.into(), file, len: read.len, entries: read.noted.len(), read })
    }

    /// Entries in the file.
    pub(crate) const fn entries(&self) -> usize {
        self.entries
    }

    /// True if it can be appended to; otherwise it has to be rewritten.
    pub(crate) const fn is_appendable(&self) -> bool {
        self.file.is_some()
    }

    /// Adds purges; on the disk when this returns.
    pub(crate) fn append(&mut self, noted: &[NumberedPurge]) -> io::Result<()> {
        let file = self.file.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut bytes = Vec::new();
        encode_all(noted, &mut bytes);
        file.write_all_at(&bytes, self.len)?;
        file.sync_data()?;
        self.len += bytes.len() as u64;
        self.entries += noted.len();
        // Only now: after a failed sync nobody knows what of the file is on the disk.
        self.file = Some(file);
        Ok(())
    }

    /// Replaces the file by one with these purges.
    pub(crate) fn rewrite(&mut self, noted: &[NumberedPurge], next: u64) -> io::Result<()> {
        let mut bytes = opening(next).to_vec();
        encode_all(noted, &mut bytes);
        self.file = None;
        self.file = Some(replace(&self.folder, NAME, &bytes)?);
        (self.len, self.entries) = (bytes.len() as u64, noted.len());
        Ok(())
    }
}

fn opening(next: u64) -> [u8; OPENING_BYTES] {
    let mut bytes = [0; OPENING_BYTES];
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&next.to_le_bytes());
    let sum = crc32c::crc32c(&bytes[..16]);
    bytes[16..20].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn encode_all(noted: &[NumberedPurge], bytes: &mut Vec<u8>) {
    for noted in noted {
        encode(noted, bytes);
    }
}

fn encode(noted: &NumberedPurge, bytes: &mut Vec<u8>) {
    let key;
    let (kind, text) = match &noted.purge {
        Purge::Everything => (0, &[][..]),
        Purge::Key(hash) => {
            key = hash.0.to_le_bytes();
            (1, &key[..])
        }
        Purge::Prefix(text) => (2, text.as_bytes()),
        Purge::Host(text) => (3, text.as_bytes()),
        Purge::Tag(text) => (4, text.as_bytes()),
    };
    let len = ((FIXED_BYTES + text.len()) as u32).to_le_bytes();
    bytes.extend(len);
    bytes.extend(crc32c::crc32c(&len).to_le_bytes());
    let from = bytes.len();
    bytes.extend(noted.number.to_le_bytes());
    bytes.push(match noted.strength {
        PurgeStrength::Soft => 0,
        PurgeStrength::Hard => 1,
    });
    bytes.push(kind);
    bytes.extend(text);
    let sum = crc32c::crc32c(&bytes[from..]);
    bytes.extend(sum.to_le_bytes());
}

fn decode(entry: &[u8]) -> Option<NumberedPurge> {
    let text = entry.get(FIXED_BYTES..)?;
    let pattern = || String::from_utf8(text.to_vec()).ok();
    let strength = match entry[8] {
        0 => PurgeStrength::Soft,
        1 => PurgeStrength::Hard,
        _ => return None,
    };
    let purge = match entry[9] {
        0 if text.is_empty() => Purge::Everything,
        1 => Purge::Key(KeyHash(u128::from_le_bytes(text.try_into().ok()?))),
        2 => Purge::Prefix(pattern()?),
        3 => Purge::Host(pattern()?),
        4 => Purge::Tag(pattern()?),
        _ => return None,
    };
    Some(NumberedPurge { number: u64_at(entry, 0), strength, purge })
}

/// One step through the file.
enum LogStep {
    Entry(NumberedPurge, usize),
    /// The beginning of an entry, or nothing: its writing was cut off, so it was never
    /// acknowledged.
    Torn,
    Unknown,
}

fn step(rest: &[u8]) -> LogStep {
    // A file whose length was written before its bytes ends in zeros.
    if rest.len() < LEAD_BYTES || rest.iter().all(|byte| *byte == 0) {
        return LogStep::Torn;
    }
    let len = u32_at(rest, 0) as usize;
    let is_bounded = (FIXED_BYTES..=FIXED_BYTES + PATTERN_BYTES_MAX).contains(&len);
    if u32_at(rest, 4) != crc32c::crc32c(&rest[..4]) || !is_bounded {
        return LogStep::Unknown;
    }
    let end = LEAD_BYTES + len;
    let Some(entry) = rest.get(LEAD_BYTES..end).filter(|_| rest.len() >= end + 4) else {
        return LogStep::Torn;
    };
    match decode(entry).filter(|_| u32_at(rest, end) == crc32c::crc32c(entry)) {
        Some(noted) => LogStep::Entry(noted, end + 4),
        None => LogStep::Unknown,
    }
}

/// Reads a whole file.
fn read(bytes: &[u8]) -> PurgeLogContent {
    let lost =
        PurgeLogContent { noted: Vec::new(), next: 1, len: 0, completeness: PurgeHistory::Lost };
    if bytes.len() < OPENING_BYTES || bytes[..OPENING_BYTES] != opening(u64_at(bytes, 8)) {
        return lost;
    }
    let (mut at, mut noted) = (OPENING_BYTES, Vec::new());
    let mut next = u64_at(bytes, 8);
    let completeness = loop {
        match step(&bytes[at..]) {
            LogStep::Entry(found, len) => {
                next = next.max(found.number.saturating_add(1));
                noted.push(found);
                at += len;
            }
            LogStep::Torn => break PurgeHistory::Complete,
            LogStep::Unknown => break PurgeHistory::Lost,
        }
    };
    PurgeLogContent { noted, next, len: at as u64, completeness }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted() -> Vec<NumberedPurge> {
        let purges = [
            Purge::Key(KeyHash(77)),
            Purge::Prefix("http://a.example/x".into()),
            Purge::Host("a.example".into()),
            Purge::Tag("news".into()),
            Purge::Everything,
        ];
        let strengths = [PurgeStrength::Hard, PurgeStrength::Soft].into_iter().cycle();
        let numbered = purges.into_iter().zip(strengths).zip(10..);
        numbered
            .map(|((purge, strength), number)| NumberedPurge { number, strength, purge })
            .collect()
    }

    fn file() -> Vec<u8> {
        let mut bytes = opening(10).to_vec();
        encode_all(&noted(), &mut bytes);
        bytes
    }

    #[test]
    fn purges_are_read_as_they_were_written() {
        let found = read(&file());
        assert_eq!((found.noted, found.next), (noted(), 15));
        assert_eq!((found.len, found.completeness), (file().len() as u64, PurgeHistory::Complete));
    }

    #[test]
    fn a_cut_off_entry_costs_only_itself() {
        let whole = file();
        for end in 0..whole.len() {
            let found = read(&whole[..end]);
            if end < OPENING_BYTES {
                assert_eq!(found.completeness, PurgeHistory::Lost, "cut at {end}");
            } else {
                assert_eq!(found.completeness, PurgeHistory::Complete, "cut at {end}");
                assert_eq!(found.noted, noted()[..found.noted.len()], "cut at {end}");
                assert!(found.len as usize <= end);
            }
        }
        let zeros = [whole, vec![0; 4096]].concat();
        assert_eq!(read(&zeros).noted, noted());
    }

    #[test]
    fn a_flipped_bit_is_never_taken_for_an_end() {
        let whole = file();
        for bit in 0..(whole.len()) * 8 {
            // The four bytes behind the opening's checksum are compared like all others.
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bytes).completeness, PurgeHistory::Lost, "bit {bit}");
        }
    }
}
