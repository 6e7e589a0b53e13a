//! Facts about files and folders, as dav-server asks for them.

use dav_server::fs::{DavDirEntry, DavMetaData, FsError, FsFuture, FsResult};
use rustix::fs::{FileType, Stat};
use std::time::{Duration, SystemTime};

/// Facts about one file or folder.
#[derive(Clone, Debug)]
pub(crate) struct FileEntry {
    stat: Stat,
    /// Tag of the file, without its quotes: the same that reading it gives.
    tag: String,
}

/// One name of a folder.
#[derive(Debug)]
pub(crate) struct FolderEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) entry: FileEntry,
}

impl FileEntry {
    pub(crate) fn new(stat: Stat, tag: fn(&Stat) -> String) -> Self {
        Self { tag: tag(&stat), stat }
    }

    fn is(&self, file_type: FileType) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == file_type
    }
}

/// Bytes of a file; none of what is none.
pub(crate) fn file_bytes(stat: &Stat) -> u64 {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return 0;
    }
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn time(secs: i64, nanos: u64) -> SystemTime {
    let secs = Duration::from_secs(u64::try_from(secs).unwrap_or(0));
    SystemTime::UNIX_EPOCH + secs + Duration::from_nanos(nanos)
}

impl DavMetaData for FileEntry {
    fn len(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    #[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between machines")]
    fn modified(&self) -> FsResult<SystemTime> {
        Ok(time(self.stat.st_mtime as i64, self.stat.st_mtime_nsec as u64))
    }

    fn is_dir(&self) -> bool {
        self.is(FileType::Directory)
    }

    fn is_file(&self) -> bool {
        self.is(FileType::RegularFile)
    }

    fn is_symlink(&self) -> bool {
        self.is(FileType::Symlink)
    }

    fn etag(&self) -> Option<String> {
        Some(self.tag.clone())
    }

    fn executable(&self) -> FsResult<bool> {
        Ok(self.stat.st_mode & 0o100 != 0)
    }
}

impl DavDirEntry for FolderEntry {
    fn name(&self) -> Vec<u8> {
        self.name.clone()
    }

    fn metadata(&'_ self) -> FsFuture<'_, Box<dyn DavMetaData>> {
        let entry: Box<dyn DavMetaData> = Box::new(self.entry.clone());
        Box::pin(std::future::ready(Ok::<_, FsError>(entry)))
    }
}
