//! Reading an archive: everything is checked while it is unpacked to a folder of its own.
//!
//! Only files and folders are taken, each once, below that folder; the sizes that the archive
//! claims are held against the room on the disk before a byte is written.

use crate::backup::copy_hashed;
use crate::entry_path::EntryPath;
use crate::error::{ArchiveError, HostileEntry};
use crate::format::STATE_FORMAT;
use crate::gather::FILES_MAX;
use crate::manifest::{
    ARCHIVE_FORMAT, ArchiveHead, ArchiveManifest, ArchivedFile, FileContent, HEAD_BYTES_MAX,
    HEAD_NAME, MANIFEST_BYTES_MAX, MANIFEST_NAME,
};
use crate::owners::OwnerNames;
use rustix::fs::statvfs;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Largest window of a zstd frame, as a power of two: the memory that reading takes.
const WINDOW_LOG_MAX: u32 = 27;
/// Room that stays on the disk.
const ROOM_LEFT: u64 = 16 << 20;

/// An archive that is read once, from its head to its manifest.
pub(crate) struct ArchiveReader<R: Read> {
    tar: tar::Archive<zstd::stream::Decoder<'static, io::BufReader<R>>>,
}

/// Where entries go.
pub(crate) trait EntrySink {
    /// Takes the head.
    fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError>;
    /// Takes a folder.
    fn folder(&mut self, path: &EntryPath) -> Result<(), ArchiveError>;
    /// Takes a file, which claims so many bytes; says what came.
    fn file(
        &mut self,
        path: &EntryPath,
        claimed: u64,
        content: &mut dyn Read,
    ) -> Result<FileContent, ArchiveError>;
}

impl<R: Read> ArchiveReader<R> {
    pub(crate) fn new(archive: R) -> Result<Self, ArchiveError> {
        let mut decoder =
            zstd::stream::Decoder::new(archive).map_err(ArchiveError::Unreadable)?.single_frame();
        decoder.window_log_max(WINDOW_LOG_MAX).map_err(ArchiveError::Unreadable)?;
        Ok(Self { tar: tar::Archive::new(decoder) })
    }

    /// Hands every entry to `sink`; the manifest, once all agrees with it.
    pub(crate) fn read(
        mut self,
        sink: &mut dyn EntrySink,
    ) -> Result<ArchiveManifest, ArchiveError> {
        let mut seen: HashMap<EntryPath, Option<FileContent>> = HashMap::new();
        // Raw: extensions, as of long names, are entries of their own, and refused as such.
        let entries = self.tar.entries().map_err(ArchiveError::Unreadable)?.raw(true);
        let mut has_head = false;
        for entry in entries {
            let mut entry = entry.map_err(ArchiveError::Unreadable)?;
            let name = entry.path_bytes().into_owned();
            let name =
                String::from_utf8(name).map_err(|why| HostileEntry::Path(why.to_string()))?;
            let kind = entry.header().entry_type();
            let claimed = entry.header().entry_size().map_err(ArchiveError::Unreadable)?;
            if !has_head {
                let head = json_entry(&mut entry, claimed, HEAD_BYTES_MAX)?;
                if name != HEAD_NAME {
                    return Err(HostileEntry::Manifest("it does not begin with one".into()).into());
                }
                sink.head(&check_head(&head)?)?;
                has_head = true;
                continue;
            }
            if name == MANIFEST_NAME {
                let manifest = json_entry(&mut entry, claimed, MANIFEST_BYTES_MAX)?;
                return agreed(read_json(&manifest)?, seen);
            }
            let path = EntryPath::parse(&name)?;
            let content = match kind {
                tar::EntryType::Directory if claimed == 0 => {
                    sink.folder(&path)?;
                    None
                }
                tar::EntryType::Regular => Some(sink.file(&path, claimed, &mut entry)?),
                _ => return Err(HostileEntry::Kind(name).into()),
            };
            if content.as_ref().is_some_and(|content| content.bytes != claimed) {
                return Err(cut_off());
            }
            if seen.len() >= FILES_MAX {
                return Err(HostileEntry::Count.into());
            }
            if seen.insert(path, content).is_some() {
                return Err(HostileEntry::Twice(name).into());
            }
        }
        Err(cut_off())
    }
}

fn cut_off() -> ArchiveError {
    ArchiveError::Unreadable(io::ErrorKind::UnexpectedEof.into())
}

fn json_entry(entry: &mut impl Read, claimed: u64, most: u64) -> Result<Vec<u8>, ArchiveError> {
    if claimed > most {
        return Err(HostileEntry::Manifest(format!("it has {claimed} bytes")).into());
    }
    let mut bytes = Vec::new();
    entry.take(most).read_to_end(&mut bytes).map_err(ArchiveError::Unreadable)?;
    if bytes.len() as u64 == claimed { Ok(bytes) } else { Err(cut_off()) }
}

fn read_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, ArchiveError> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|why| HostileEntry::Manifest(why.to_string()).into())
}

fn check_head(bytes: &[u8]) -> Result<ArchiveHead, ArchiveError> {
    let head: ArchiveHead = read_json(bytes)?;
    for (found, known) in [(head.archive_format, ARCHIVE_FORMAT), (head.state_format, STATE_FORMAT)]
    {
        if found > known {
            return Err(ArchiveError::Newer { found, known });
        }
    }
    Ok(head)
}

/// The manifest, if it and the files are the same.
fn agreed(
    manifest: ArchiveManifest,
    mut seen: HashMap<EntryPath, Option<FileContent>>,
) -> Result<ArchiveManifest, ArchiveError> {
    for file in &manifest.files {
        let path = EntryPath::parse(&file.path)?;
        let Some(content) = seen.remove(&path) else {
            return Err(HostileEntry::Unlisted(file.path.clone()).into());
        };
        if content != file.content {
            return Err(ArchiveError::Differs(file.path.clone()));
        }
    }
    match seen.into_keys().next() {
        Some(path) => Err(HostileEntry::Unlisted(path.to_string()).into()),
        None => Ok(manifest),
    }
}

/// Unpacks below a folder.
pub(crate) struct FolderSink<'p> {
    pub(crate) folder: &'p Path,
    pub(crate) head: Option<ArchiveHead>,
}

impl EntrySink for FolderSink<'_> {
    fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError> {
        self.head = Some(head.clone());
        Ok(())
    }

    fn folder(&mut self, path: &EntryPath) -> Result<(), ArchiveError> {
        make_folder(&path.within(self.folder))
    }

    fn file(
        &mut self,
        path: &EntryPath,
        claimed: u64,
        content: &mut dyn Read,
    ) -> Result<FileContent, ArchiveError> {
        let disk = statvfs(self.folder)
            .map_err(|why| ArchiveError::File(self.folder.into(), why.into()))?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < claimed.saturating_add(ROOM_LEFT) {
            return Err(ArchiveError::NoRoom(self.folder.into()));
        }
        let place = path.within(self.folder);
        make_folder(place.parent().unwrap_or(self.folder))?;
        let failed = |why: io::Error| match why.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                ArchiveError::NoRoom(self.folder.into())
            }
            io::ErrorKind::AlreadyExists => HostileEntry::Twice(path.to_string()).into(),
            _ => ArchiveError::File(place.clone(), why),
        };
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).open(&place).map_err(failed)?;
        let (bytes, sha256) = copy_hashed(&mut content.take(claimed), &mut file).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(FileContent { bytes, sha256 })
    }
}

fn make_folder(path: &Path) -> Result<(), ArchiveError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(ArchiveError::file(path))
}

/// Gives unpacked files the owners and modes that they had; folders last, the innermost first.
pub(crate) fn restore_owners(
    manifest: &ArchiveManifest,
    folder: &Path,
) -> Result<(), ArchiveError> {
    let names = OwnerNames::read();
    let give = |file: &ArchivedFile| {
        let path = EntryPath::parse(&file.path)?.within(folder);
        names.restore(&path, &file.owner, file.mode).map_err(ArchiveError::file(&path))
    };
    manifest.files.iter().filter(|it| it.content.is_some()).try_for_each(give)?;
    let mut folders: Vec<_> = manifest.files.iter().filter(|it| it.content.is_none()).collect();
    folders.sort_unstable_by(|one, other| other.path.cmp(&one.path));
    for file in folders {
        let path = EntryPath::parse(&file.path)?.within(folder);
        fs::File::open(&path).and_then(|it| it.sync_all()).map_err(ArchiveError::file(&path))?;
        give(file)?;
    }
    Ok(())
}

/// Reads an archive to its end and writes nothing: whether it is whole.
pub fn check_archive(archive: impl Read) -> Result<ArchiveHead, ArchiveError> {
    struct HeadAlone(Option<ArchiveHead>);
    impl EntrySink for HeadAlone {
        fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError> {
            self.0 = Some(head.clone());
            Ok(())
        }
        fn folder(&mut self, _: &EntryPath) -> Result<(), ArchiveError> {
            Ok(())
        }
        fn file(
            &mut self,
            _: &EntryPath,
            claimed: u64,
            mut content: &mut dyn Read,
        ) -> Result<FileContent, ArchiveError> {
            let read = copy_hashed(&mut (&mut content).take(claimed), &mut io::sink());
            let (bytes, sha256) = read.map_err(ArchiveError::Unreadable)?;
            Ok(FileContent { bytes, sha256 })
        }
    }
    let mut sink = HeadAlone(None);
    ArchiveReader::new(archive)?.read(&mut sink)?;
    sink.0.ok_or_else(cut_off)
}
