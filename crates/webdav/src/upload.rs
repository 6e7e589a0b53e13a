//! One body on its way to a file.
//!
//! Pieces are gathered and written by a thread that may wait for the disk, one write at a time
//! while the next piece comes. The file gets its name when all of it is there and is what its
//! digests say. Called by dav-server, through the file that `filesystem` opens.

use crate::asked::DavAsked;
use crate::digests::RunningDigests;
use crate::entries::FileEntry;
use crate::fault::{DavFault, fs_error};
use crate::quota::QuotaShare;
use bytes::{Buf, Bytes};
use dav_server::fs::{DavFile, DavMetaData, FsError, FsFuture, FsResult};
use file_access::writable::{ExistingFile, UnfinishedFile};
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use std::fmt;
use std::io::SeekFrom;
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes that are written at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A body on its way to a file.
pub(crate) struct UploadFile {
    asked: DavAsked,
    tag: fn(&Stat) -> String,
    existing: ExistingFile,
    /// Bytes of the file that is replaced.
    replaced: u64,
    file_max: u64,
    share: Option<QuotaShare>,
    /// Pieces not yet written.
    gathered: Vec<Bytes>,
    gathered_bytes: usize,
    position: u64,
    begin: WriteBegin,
    writer: UploadWriter,
    /// Facts about the file, once it has its name.
    published: Option<Stat>,
}

/// Where a body begins in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteBegin {
    /// Where the request says; at the start if it says nothing.
    Asked,
    /// Behind what is there.
    End,
}

/// Holder of the unfinished file.
enum UploadWriter {
    Idle(Box<WrittenFile>),
    Writing(JoinHandle<Result<Box<WrittenFile>, Errno>>),
    /// Nobody: it has its name, or is given up.
    Done,
}

/// An unfinished file with what is known of its content.
struct WrittenFile {
    file: UnfinishedFile,
    digests: RunningDigests,
}

/// Begin of an upload.
pub(crate) struct UploadStart {
    pub(crate) file: UnfinishedFile,
    pub(crate) existing: ExistingFile,
    pub(crate) replaced: u64,
    /// Bytes that the file has already.
    pub(crate) len: u64,
    pub(crate) begin: WriteBegin,
    pub(crate) file_max: u64,
    pub(crate) share: QuotaShare,
}

impl UploadFile {
    pub(crate) fn new(start: UploadStart, asked: &DavAsked, tag: fn(&Stat) -> String) -> Self {
        let UploadStart { file, existing, replaced, len, begin, file_max, share } = start;
        let digests = asked.digests.begin();
        Self {
            asked: asked.clone(),
            tag,
            existing,
            replaced,
            file_max,
            share: Some(share),
            gathered: Vec::new(),
            gathered_bytes: 0,
            position: if begin == WriteBegin::End { len } else { 0 },
            begin,
            writer: UploadWriter::Idle(Box::new(WrittenFile { file, digests })),
            published: None,
        }
    }

    fn fail<T>(&self, fault: DavFault) -> FsResult<T> {
        self.asked.fault.write(fault);
        Err(match fault {
            DavFault::NoRoom => FsError::InsufficientStorage,
            DavFault::TooLarge => FsError::TooLarge,
            DavFault::Digest | DavFault::Exists | DavFault::NoFile => FsError::GeneralFailure,
        })
    }

    fn failed<T>(&self, why: Errno) -> FsResult<T> {
        match why {
            Errno::NOSPC | Errno::DQUOT => self.fail(DavFault::NoRoom),
            Errno::FBIG => self.fail(DavFault::TooLarge),
            Errno::EXIST => self.fail(DavFault::Exists),
            Errno::ISDIR => self.fail(DavFault::NoFile),
            why => Err(fs_error(why)),
        }
    }

    async fn add(&mut self, piece: Bytes) -> FsResult<()> {
        let end = self.position + self.gathered_bytes as u64 + piece.len() as u64;
        if end > self.file_max {
            return self.fail(DavFault::TooLarge);
        }
        if let Some(Err(fault)) = self.share.as_mut().map(|share| share.grow_to(end)) {
            return self.fail(fault);
        }
        self.gathered_bytes += piece.len();
        self.gathered.push(piece);
        if self.gathered_bytes < CHUNK_BYTES { Ok(()) } else { self.write().await }
    }

    /// Takes the unfinished file back from whoever writes.
    async fn idle(&mut self) -> FsResult<Box<WrittenFile>> {
        match std::mem::replace(&mut self.writer, UploadWriter::Done) {
            UploadWriter::Idle(written) => Ok(written),
            UploadWriter::Writing(task) => match task.await {
                Ok(Ok(written)) => Ok(written),
                Ok(Err(why)) => self.failed(why),
                Err(_) => Err(FsError::GeneralFailure),
            },
            UploadWriter::Done => Err(FsError::GeneralFailure),
        }
    }

    /// Begins to write what was gathered.
    async fn write(&mut self) -> FsResult<()> {
        let mut written = self.idle().await?;
        let pieces = std::mem::take(&mut self.gathered);
        let mut at = self.position;
        self.position += self.gathered_bytes as u64;
        self.gathered_bytes = 0;
        self.writer = UploadWriter::Writing(spawn_blocking(move || {
            for piece in pieces {
                written.file.write_all(&piece, at)?;
                written.digests.update(&piece);
                at += piece.len() as u64;
            }
            Ok(written)
        }));
        Ok(())
    }

    /// Gives the file its name.
    async fn publish(&mut self) -> FsResult<()> {
        if self.gathered_bytes > 0 {
            self.write().await?;
        }
        let WrittenFile { file, digests } = *self.idle().await?;
        if !self.asked.digests.agree(digests) {
            return self.fail(DavFault::Digest);
        }
        let existing = self.existing;
        let published = spawn_blocking(move || file.publish(existing)).await;
        match published.unwrap_or(Err(Errno::IO)) {
            Ok(stat) => {
                self.published = Some(stat);
                if let Some(share) = self.share.take() {
                    share.settle(self.replaced);
                }
                Ok(())
            }
            Err(why) => self.failed(why),
        }
    }

    async fn seek_to(&mut self, position: SeekFrom) -> FsResult<u64> {
        if self.begin == WriteBegin::End {
            return Ok(self.position);
        }
        let SeekFrom::Start(position) = position else { return Err(FsError::NotImplemented) };
        let written = self.idle().await?;
        let len = fstat(written.file.file()).map_or(0, |stat| stat.st_size);
        self.writer = UploadWriter::Idle(written);
        // A hole that nobody has written would be a file larger than what came.
        if position > u64::try_from(len).unwrap_or(0) {
            return Err(FsError::GeneralFailure);
        }
        self.position = position;
        Ok(position)
    }
}

impl DavFile for UploadFile {
    fn metadata(&'_ mut self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        let known = self.published.map(|stat| FileEntry::new(stat, self.tag));
        let entry = known.map(|it| Box::new(it) as Box<dyn DavMetaData>);
        Box::pin(std::future::ready(entry.ok_or(FsError::NotFound)))
    }

    fn write_buf(&'_ mut self, mut buf: Box<dyn Buf + Send>) -> FsFuture<'_, ()> {
        let piece = buf.copy_to_bytes(buf.remaining());
        Box::pin(self.add(piece))
    }

    fn write_bytes(&'_ mut self, buf: Bytes) -> FsFuture<'_, ()> {
        Box::pin(self.add(buf))
    }

    fn read_bytes(&'_ mut self, _: usize) -> FsFuture<'_, Bytes> {
        // Files are read by the door.
        Box::pin(std::future::ready(Err(FsError::NotImplemented)))
    }

    fn seek(&'_ mut self, pos: SeekFrom) -> FsFuture<'_, u64> {
        Box::pin(self.seek_to(pos))
    }

    fn flush(&'_ mut self) -> FsFuture<'_, ()> {
        Box::pin(self.publish())
    }
}

impl fmt::Debug for UploadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadFile").field("position", &self.position).finish_non_exhaustive()
    }
}
