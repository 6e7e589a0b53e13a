//! Snapshots of the caches in a directory: written when the process ends or is told to, read when
//! it starts.
//!
//! Each is written aside, synced and renamed, so that a crash leaves the old one. It blocks while
//! the disk does; called through [`crate::Resolver`] by a thread that may.

use super::answer_cache::AnswerCache;
use super::caches::AnswerCaches;
use super::snapshot::{self, BadSnapshot, CacheSnapshotWriter, SNAPSHOT_BYTES_MAX};
use crate::question::CacheId;
use durable_file::FileReplacement;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use vocab::Now;

/// Holds what was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DumpReport {
    /// Answers written.
    pub entries: usize,
    /// Answers that were too old, or had no room in a file of 1 GiB.
    pub left_out: usize,
    /// Bytes written.
    pub bytes: u64,
}

/// Holds what was read.
#[derive(Debug, Default)]
pub struct RestoreReport {
    /// Answers that are in the cache again.
    pub entries: usize,
    /// Answers that were too old, or claim to come from the future: the clock was changed.
    pub dropped: usize,
    /// Files that were not taken, and why. A file that is not there is none of them.
    pub refused: Vec<(PathBuf, NotRestored)>,
}

/// Tells what stands where a cache is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpFile {
    /// Nothing, or an empty file.
    Absent,
    /// A snapshot of ours, whole or not.
    Valid,
    /// Something else, which is not ours to write over.
    Foreign,
}

impl DumpFile {
    /// Returns what stands at `file`, by its first bytes.
    pub fn at(file: &Path) -> io::Result<Self> {
        let mut begin = Vec::new();
        match File::open(file) {
            Ok(open) => open.take(snapshot::MAGIC.len() as u64).read_to_end(&mut begin)?,
            Err(why) if why.kind() == io::ErrorKind::NotFound => 0,
            Err(why) => return Err(why),
        };
        Ok(match begin.as_slice() {
            [] => Self::Absent,
            snapshot::MAGIC => Self::Valid,
            [..] => Self::Foreign,
        })
    }
}

/// Why a file was not taken.
#[derive(Debug)]
pub enum NotRestored {
    /// Could not be read.
    Io(io::Error),
    /// Is no snapshot.
    Bad(BadSnapshot),
}

impl AnswerCaches {
    pub(crate) fn dump(&self, dir: &Path, now: Now) -> io::Result<DumpReport> {
        let mut report = DumpReport::default();
        for (id, cache) in self.all() {
            let one = dump_one(cache, &file_of(dir, id), now)?;
            report.entries += one.entries;
            report.left_out += one.left_out;
            report.bytes += one.bytes;
        }
        Ok(report)
    }

    pub(crate) fn dump_to(&self, id: CacheId, file: &Path, now: Now) -> io::Result<DumpReport> {
        let cache = self.get(id).ok_or(io::ErrorKind::NotFound)?;
        dump_one(cache, file, now)
    }

    pub(crate) fn restore(&self, dir: &Path, now: Now) -> RestoreReport {
        let mut report = RestoreReport::default();
        for (id, _) in self.all() {
            self.restore_file(id, &file_of(dir, id), now, &mut report);
        }
        report
    }

    pub(crate) fn restore_file(
        &self,
        id: CacheId,
        file: &Path,
        now: Now,
        report: &mut RestoreReport,
    ) {
        let outcome = match read_file(file) {
            Ok(bytes) => self.restore_bytes(id, &bytes, now).map_err(NotRestored::Bad),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return,
            Err(why) => Err(NotRestored::Io(why)),
        };
        match outcome {
            Ok((entries, dropped)) => {
                report.entries += entries;
                report.dropped += dropped;
            }
            Err(why) => report.refused.push((file.into(), why)),
        }
    }

    /// Takes the answers of a snapshot into a cache; says how many were taken and how many dropped.
    pub(crate) fn restore_bytes(
        &self,
        id: CacheId,
        bytes: &[u8],
        now: Now,
    ) -> Result<(usize, usize), BadSnapshot> {
        let (mut entries, mut dropped) = (0, 0);
        snapshot::read(bytes, |stored| {
            let age_ms = now.unix_ms.checked_sub(stored.stored_unix_ms);
            let useful = age_ms.and_then(|age_ms| {
                let cache = self.get(id).filter(|it| it.is_of_use(&stored.answer, age_ms))?;
                Some((cache, i64::try_from(age_ms).ok()?))
            });
            let Some((cache, age_ms)) = useful else {
                dropped += 1;
                return;
            };
            entries += 1;
            let stored_ms = now.mono_ms.cast_signed().saturating_sub(age_ms);
            cache.store_from(stored.key, stored.answer.into(), stored_ms);
        })?;
        Ok((entries, dropped))
    }
}

fn file_of(dir: &Path, id: CacheId) -> PathBuf {
    dir.join(format!("answers-{}", id.0))
}

fn dump_one(cache: &AnswerCache, file: &Path, now: Now) -> io::Result<DumpReport> {
    let mut writer = CacheSnapshotWriter::new(now.unix_ms);
    let mut too_old = 0;
    for (key, entry) in cache.entries() {
        let age_ms = entry.age_ms(now);
        if cache.is_of_use(&entry.answer, age_ms) {
            writer.add(&key, &entry.answer, now.unix_ms.saturating_sub(age_ms));
        } else {
            too_old += 1;
        }
    }
    let (bytes, entries, no_room) = writer.finish();
    // What names clients have asked for is nobody else's business.
    FileReplacement::private(file).write(&bytes)?;
    Ok(DumpReport { entries, left_out: too_old + no_room, bytes: bytes.len() as u64 })
}

fn read_file(file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than may be, so that a longer file is noticed.
    File::open(file)?.take(SNAPSHOT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl fmt::Display for NotRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => write!(f, "it cannot be read: {why}"),
            Self::Bad(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NotRestored {}
