//! Writing an archive, while a Tidegate runs on the state.
//!
//! Every file but the ledger is replaced as a whole by whoever changes it, so that an open one is a
//! version of its own; the ledger is copied by SQLite.

use crate::entry_path::{EntryPath, EntryRoot};
use crate::error::ArchiveError;
use crate::format::{self, STATE_FORMAT};
use crate::gather::{GatheredFiles, gather};
use crate::ledger_copy::copy_ledger;
use crate::manifest::{
    ARCHIVE_FORMAT, ArchiveHead, ArchiveManifest, ArchivedFile, FileContent, HEAD_NAME,
    MANIFEST_NAME, hex,
};
use crate::owners::{MODE_BITS, OwnerNames};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Compression that is quick and still halves a log.
const ZSTD_LEVEL: i32 = 3;
/// Beside the archive while it is written.
const DRAFT: &str = ".draft";
const LEDGER_DRAFT: &str = ".ledger-draft";

/// Sources of an archive.
#[derive(Clone, Debug)]
pub struct BackupSource {
    /// The state folder, as an absolute path.
    pub state: PathBuf,
    /// Folders of caches that may lie in it.
    pub cache_folders: Vec<PathBuf>,
    /// Choice about caches and what else is built again.
    pub caches: CacheChoice,
    /// The configuration; none where the built-in one runs.
    pub configuration: Option<ConfigurationFiles>,
    /// The version of this program.
    pub version: String,
    /// The time, in seconds since 1970.
    pub now_secs: u64,
}

/// Choice about caches and snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheChoice {
    /// They are built again.
    LeftOut,
    /// They are in the archive.
    Taken,
}

/// A configuration and the files that it names; of those outside of its folder none is taken.
#[derive(Clone, Debug)]
pub struct ConfigurationFiles {
    /// The file, as an absolute path.
    pub file: PathBuf,
    /// Files and folders that it names.
    pub named: Vec<PathBuf>,
}

/// Contents of an archive, in figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// Files of the state.
    pub state_files: u64,
    /// Files of the configuration.
    pub configuration_files: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Links that were passed over: what they lead to is not in the archive.
    pub links: u64,
}

impl ConfigurationFiles {
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }
}

/// Writes an archive to `file`, readable by its owner alone: the whole of it, or none.
pub fn write_backup(source: &BackupSource, file: &Path) -> Result<BackupReport, ArchiveError> {
    let draft = beside(file, DRAFT);
    let ledger_draft = beside(file, LEDGER_DRAFT);
    let written = write_draft(source, &draft, &ledger_draft).and_then(|report| {
        fs::rename(&draft, file).map_err(ArchiveError::file(file))?;
        let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new(".")))?;
        Ok(report)
    });
    let _ = fs::remove_file(&ledger_draft);
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn write_draft(
    source: &BackupSource,
    draft: &Path,
    ledger_draft: &Path,
) -> Result<BackupReport, ArchiveError> {
    if !source.state.is_dir() {
        return Err(ArchiveError::NoState(source.state.clone()));
    }
    if crate::is_unfinished(&source.state) {
        return Err(ArchiveError::Unfinished(source.state.clone()));
    }
    // What an earlier one that was killed has left.
    for path in [draft, ledger_draft] {
        match fs::remove_file(path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                return Err(ArchiveError::File(path.into(), why));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let mut options = OpenOptions::new();
    let out = options.write(true).create_new(true).mode(0o600).open(draft);
    let out = out.map_err(ArchiveError::file(draft))?;
    let ledger = source.state.join(ledger::FILE_NAME);
    let has_ledger = ledger.is_file();
    if has_ledger {
        copy_ledger(&ledger, ledger_draft)?;
    }
    let (mut files, links) = gather(source)?;
    if has_ledger {
        let name = EntryPath::new(EntryRoot::State, Path::new(ledger::FILE_NAME))?;
        files.insert(name, ledger_draft.into());
    }
    let failed = ArchiveError::file(draft);
    let encoder = zstd::stream::Encoder::new(out, ZSTD_LEVEL).map_err(&failed)?;
    let mut writer = ArchiveWriter {
        tar: tar::Builder::new(encoder),
        place: draft,
        manifest: ArchiveManifest::default(),
        report: BackupReport::default(),
        names: OwnerNames::read(),
        ledger: has_ledger.then_some((ledger, ledger_draft)),
    };
    writer.head(source)?;
    writer.files(&files)?;
    let report = BackupReport { links, ..writer.report };
    let out = writer.finish()?.finish().map_err(&failed)?;
    out.sync_all().map_err(&failed)?;
    Ok(report)
}

/// An archive that is being written.
struct ArchiveWriter<'p> {
    tar: tar::Builder<zstd::stream::Encoder<'static, File>>,
    place: &'p Path,
    manifest: ArchiveManifest,
    report: BackupReport,
    names: OwnerNames,
    /// The ledger, whose owner its copy is to have, and the copy.
    ledger: Option<(PathBuf, &'p Path)>,
}

impl ArchiveWriter<'_> {
    fn head(&mut self, source: &BackupSource) -> Result<(), ArchiveError> {
        let head = ArchiveHead {
            archive_format: ARCHIVE_FORMAT,
            state_format: format::read(&source.state).unwrap_or(STATE_FORMAT),
            version: source.version.clone(),
            made: moment(source.now_secs).to_string(),
            state: source.state.clone(),
            configuration: source.configuration.as_ref().map(|it| it.file.clone()),
        };
        self.text(HEAD_NAME, &serde_json::to_vec_pretty(&head))
    }

    fn files(&mut self, files: &GatheredFiles) -> Result<(), ArchiveError> {
        for (name, path) in files {
            match self.one(name, path) {
                // It went away after it was found, as a list does that is taken out.
                Err(ArchiveError::File(_, why)) if why.kind() == io::ErrorKind::NotFound => {}
                outcome => outcome?,
            }
        }
        Ok(())
    }

    fn one(&mut self, name: &EntryPath, path: &Path) -> Result<(), ArchiveError> {
        let failed = ArchiveError::file(path);
        let file = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(path);
        let file = file.map_err(&failed)?;
        let facts = file.metadata().map_err(&failed)?;
        let owned_like = match &self.ledger {
            Some((ledger, copy)) if path == *copy => fs::metadata(ledger).map_err(&failed)?,
            Some(_) | None => facts.clone(),
        };
        let mode = owned_like.mode() & MODE_BITS;
        let content = if facts.is_file() {
            Some(self.content(name, path, file, facts.len(), mode)?)
        } else {
            self.entry(&name.to_string(), 0, mode, tar::EntryType::Directory, io::empty())?;
            None
        };
        let owner = self.names.of(&owned_like);
        self.manifest.files.push(ArchivedFile { path: name.to_string(), mode, owner, content });
        Ok(())
    }

    fn content(
        &mut self,
        name: &EntryPath,
        path: &Path,
        file: File,
        bytes: u64,
        mode: u32,
    ) -> Result<FileContent, ArchiveError> {
        let mut hashed = HashedReader { inner: file.take(bytes), digest: Sha256::new(), bytes: 0 };
        self.entry(&name.to_string(), bytes, mode, tar::EntryType::Regular, &mut hashed)?;
        if hashed.bytes != bytes {
            return Err(ArchiveError::Changing(path.into()));
        }
        match name.root {
            EntryRoot::State => self.report.state_files += 1,
            EntryRoot::Configuration => self.report.configuration_files += 1,
        }
        self.report.bytes += bytes;
        Ok(FileContent { bytes, sha256: hex(&hashed.digest.finalize()) })
    }

    fn text(&mut self, name: &str, json: &serde_json::Result<Vec<u8>>) -> Result<(), ArchiveError> {
        let bytes = json.as_ref().expect("plain data is JSON");
        self.entry(name, bytes.len() as u64, 0o600, tar::EntryType::Regular, &bytes[..])
    }

    fn entry(
        &mut self,
        name: &str,
        bytes: u64,
        mode: u32,
        kind: tar::EntryType,
        content: impl Read,
    ) -> Result<(), ArchiveError> {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).map_err(|_| ArchiveError::LongPath(name.into()))?;
        header.set_size(bytes);
        header.set_mode(mode);
        header.set_entry_type(kind);
        header.set_cksum();
        self.tar.append(&header, content).map_err(ArchiveError::file(self.place))
    }

    fn finish(mut self) -> Result<zstd::stream::Encoder<'static, File>, ArchiveError> {
        let manifest = serde_json::to_vec(&self.manifest);
        self.text(MANIFEST_NAME, &manifest)?;
        self.tar.into_inner().map_err(ArchiveError::file(self.place))
    }
}

/// No link is followed where a file is opened.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// A reader that computes the digest of what passes.
struct HashedReader<R> {
    inner: R,
    digest: Sha256,
    bytes: u64,
}

impl<R: Read> Read for HashedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.digest.update(&buffer[..read]);
        self.bytes += read as u64;
        Ok(read)
    }
}

/// A time of seconds.
pub(crate) fn moment(now_secs: u64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(now_secs.cast_signed()).unwrap_or_default()
}

/// The path with an ending.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Has a folder's names reach the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    let failed = ArchiveError::file(folder);
    File::open(folder).map_err(&failed)?.sync_all().map_err(&failed)
}

/// Copies all of it; gives its length and digest.
pub(crate) fn copy_hashed(from: &mut impl Read, to: &mut impl Write) -> io::Result<(u64, String)> {
    let mut hashed = HashedReader { inner: from, digest: Sha256::new(), bytes: 0 };
    io::copy(&mut hashed, to)?;
    Ok((hashed.bytes, hex(&hashed.digest.finalize())))
}
