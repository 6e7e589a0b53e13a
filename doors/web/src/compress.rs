//! Files in the coding that a client likes best: precompressed ones, or coded once and kept.
//!
//! A coded file is another representation, with a tag of its own. A file that does not get smaller
//! is sent as it is, and that is remembered. Coding runs off the core's thread, a few at a time;
//! when too many wait, the original is sent. It never codes what is compressed already. Called by
//! `negotiate` and `script`.

mod kept;
mod settings;

pub use self::settings::{CodingName, CompressChoice, CompressSettings};

use self::kept::{CodedFile, CodedKey, KeptFiles};
use crate::root::{FileFacts, FileId};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{HeaderMap, RANGE};
use http_engine::conditional::ETag;
use http_engine::encoding::{
    AcceptedCodings, CodingLevel, CodingOffer, CodingWorth, ContentCoding, IdentityCoding,
    coded_tag, compress, worth_coding,
};
use rustix::fd::OwnedFd;
use rustix::fs::fstat;
use rustix::io::{Errno, pread};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use vocab::Now;

/// Codings under way at once, in all: two cores' worth and a little.
const JOBS_MAX: usize = 4;
/// Requests that wait for their turn to code; the next gets the original.
const WAITING_MAX: u32 = 64;
/// A file of this length at most, in bytes, is coded where it is asked for if its coding is a quick
/// one: 128 KiB of script take half a millisecond, and to hand them to another thread and wait for
/// it costs a tenth of a millisecond more.
const AT_ONCE_BYTES_MAX: u64 = 128 << 10;
/// The highest gzip level that is a quick one.
const AT_ONCE_LEVEL_MAX: u8 = 3;
/// A precompressed file that appears beside a kept one is seen after so long, in milliseconds.
const PRECOMPRESSED_CHECK_MS: u64 = 1000;

/// Tells what the answer for a file depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodingPlan {
    /// Not on `Accept-Encoding`: it is never coded.
    Never,
    /// On it, and this time the file itself is due. `Vary` must be said.
    Identity,
    /// This coding is due, if it can be had.
    Coded(ContentCoding),
}

/// Tells how a file is to be sent.
#[derive(Debug)]
pub(crate) enum SentForm {
    /// As it is, this time.
    Identity,
    /// As it is, as long as it stays what it is: coding it gains nothing, or it is too large.
    NotWorth,
    /// These bytes.
    Bytes(ContentCoding, CodingLevel, Bytes),
    /// This precompressed file, which has a tag and a length of its own.
    Precompressed(ContentCoding, OwnedFd, FileFacts),
}

/// Tells what is to be coded.
pub(crate) enum CodingInput {
    /// A file that is open.
    Open(OwnedFd),
    /// A file's bytes, all of them, as they were when it had the identity that comes with them.
    Read(Bytes),
}

/// Compression of one site.
pub(crate) struct SiteCompression {
    settings: CompressSettings,
    order: Vec<ContentCoding>,
    offer: CodingOffer,
    kept: KeptFiles,
    jobs: Arc<Semaphore>,
    waiting: AtomicU32,
}

impl SiteCompression {
    /// With settings that are right.
    pub(crate) fn new(settings: CompressSettings) -> Self {
        Self {
            order: settings.order(),
            offer: settings.offer(),
            kept: KeptFiles::new(settings.keep.bytes()),
            jobs: Arc::new(Semaphore::new(JOBS_MAX)),
            waiting: AtomicU32::new(0),
            settings,
        }
    }

    /// True if a file of this type and length goes out in several forms.
    #[allow(clippy::unused_self, reason = "a question to a site that compresses, not to any")]
    pub(crate) fn may_code(&self, media: &HeaderValue, len: u64) -> bool {
        len > 0 && worth_coding(media) == CodingWorth::Coding
    }

    /// Returns what a request for a file of this type, length and tag leads to.
    ///
    /// A range is cut from the file itself, unless `If-Range` names a coded form: then from that
    /// one, or a client would put together halves of two (RFC 9110 §14.2).
    pub(crate) fn plan(
        &self,
        headers: &HeaderMap,
        media: &HeaderValue,
        len: u64,
        tag: Option<&ETag>,
    ) -> CodingPlan {
        if !self.may_code(media, len) {
            return CodingPlan::Never;
        }
        let accepted = AcceptedCodings::of(headers);
        let Some(coding) = accepted.choose(&self.order) else { return CodingPlan::Identity };
        if headers.contains_key(RANGE) {
            let named = headers.get(http::header::IF_RANGE).and_then(|value| value.to_str().ok());
            let ours = tag.and_then(|tag| coded_tag(tag, coding, self.settings.level(coding)));
            let is_ours = ours.is_some_and(|ours| named == Some(ours.to_string().as_str()));
            return if is_ours { CodingPlan::Coded(coding) } else { CodingPlan::Identity };
        }
        self.plan_whole(accepted, len)
    }

    /// The same for a whole file that may be coded.
    pub(crate) fn plan_whole(&self, accepted: AcceptedCodings, len: u64) -> CodingPlan {
        match accepted.choose(&self.order) {
            Some(_)
                if len < self.settings.min.bytes()
                    && accepted.identity() == IdentityCoding::Acceptable =>
            {
                CodingPlan::Identity
            }
            Some(coding) => CodingPlan::Coded(coding),
            None => CodingPlan::Identity,
        }
    }

    /// True if files may stand precompressed beside others.
    pub(crate) fn has_precompressed(&self) -> bool {
        self.settings.precompressed
    }

    /// The codings for bodies under way.
    pub(crate) fn offer(&self) -> &CodingOffer {
        &self.offer
    }

    /// Returns what is kept, without waiting: the usual case.
    pub(crate) fn cached(&self, coding: ContentCoding, id: FileId, now: Now) -> Option<SentForm> {
        let entry = self.kept.get(&self.key(coding, id))?;
        let looked = entry.precompressed_checked_ms.load(Relaxed);
        if self.settings.precompressed
            && now.mono_ms >= looked.saturating_add(PRECOMPRESSED_CHECK_MS)
        {
            return None;
        }
        Some(self.form_of(coding, &entry.coded))
    }

    /// The coded form of a file: kept, precompressed (`side` opens `FILE.EXTENSION`), or made
    /// now.
    pub(crate) async fn form(
        &self,
        coding: ContentCoding,
        file: impl FnOnce() -> Option<CodingInput>,
        id: FileId,
        now: Now,
        side: impl FnOnce(ContentCoding) -> Option<OwnedFd>,
    ) -> SentForm {
        if self.settings.precompressed {
            if let Some(found) = side(coding)
                && let Ok(stat) = fstat(&found)
            {
                let facts = FileFacts::new(&stat);
                if !facts.id().is_older_than(&id) && facts.len > 0 {
                    return SentForm::Precompressed(coding, found, facts);
                }
            }
            if let Some(entry) = self.kept.get(&self.key(coding, id)) {
                entry.precompressed_checked_ms.store(now.mono_ms, Relaxed);
            }
        }
        if id.len > self.settings.max.bytes() {
            return SentForm::NotWorth;
        }
        let Some(file) = file() else { return SentForm::Identity };
        let key = self.key(coding, id);
        let made = self.kept.get_or_make(key, now.mono_ms, self.make(file, key)).await;
        made.map_or(SentForm::Identity, |entry| self.form_of(coding, &entry.coded))
    }

    /// Returns how many files were coded so far: a second request for the same adds none.
    #[cfg(test)]
    pub(crate) fn made(&self) -> u64 {
        self.kept.made()
    }

    fn key(&self, coding: ContentCoding, file: FileId) -> CodedKey {
        CodedKey { file, coding, level: self.settings.level(coding) }
    }

    fn form_of(&self, coding: ContentCoding, coded: &CodedFile) -> SentForm {
        match coded {
            CodedFile::Bytes(bytes) => {
                SentForm::Bytes(coding, self.settings.level(coding), bytes.clone())
            }
            CodedFile::NotSmaller => SentForm::NotWorth,
        }
    }

    async fn make(&self, file: CodingInput, key: CodedKey) -> Option<CodedFile> {
        // Read already: nothing here waits for a disk.
        if matches!(file, CodingInput::Read(_))
            && key.file.len <= AT_ONCE_BYTES_MAX
            && key.coding == ContentCoding::Gzip
            && key.level.get() <= AT_ONCE_LEVEL_MAX
        {
            return code(&file, key);
        }
        let permit = if let Ok(permit) = Arc::clone(&self.jobs).try_acquire_owned() {
            permit
        } else {
            let _place = CodingPermit::acquire(&self.waiting)?;
            Arc::clone(&self.jobs).acquire_owned().await.ok()?
        };
        // The permit goes with the work: a client that leaves does not end it.
        let work = spawn_blocking(move || {
            let made = code(&file, key);
            drop(permit);
            made
        });
        work.await.ok()?
    }
}

/// A place among those that wait.
struct CodingPermit<'w>(&'w AtomicU32);

impl<'w> CodingPermit<'w> {
    fn acquire(waiting: &'w AtomicU32) -> Option<Self> {
        if waiting.fetch_add(1, Relaxed) >= WAITING_MAX {
            waiting.fetch_sub(1, Relaxed);
            return None;
        }
        Some(Self(waiting))
    }
}

impl Drop for CodingPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Codes a whole file; `None` if it changed meanwhile or could not be read.
fn code(file: &CodingInput, key: CodedKey) -> Option<CodedFile> {
    let read;
    let plain: &[u8] = match file {
        CodingInput::Read(bytes) => bytes,
        CodingInput::Open(file) => {
            read = read_whole(file, key)?;
            &read
        }
    };
    let coded = compress(key.coding, key.level, plain).ok()?;
    Some(if coded.len() < plain.len() {
        CodedFile::Bytes(Bytes::from(coded))
    } else {
        CodedFile::NotSmaller
    })
}

fn read_whole(file: &OwnedFd, key: CodedKey) -> Option<Vec<u8>> {
    let mut plain = vec![0; usize::try_from(key.file.len).ok()?];
    let mut filled = 0;
    while filled < plain.len() {
        match pread(file, &mut plain[filled..], filled as u64) {
            Ok(0) => return None,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    (FileFacts::new(&fstat(file).ok()?).id() == key.file).then_some(plain)
}

#[cfg(test)]
mod tests;
