//! Putting an archive back: unpacked beside what is there, checked whole, then swapped.
//!
//! Whatever ends it, and whenever, the old state or the new one is there. The configuration's files
//! are replaced one by one; meanwhile a mark beside them keeps every command from reading a mixture
//! ([`UNFINISHED_MARK`]), and the restore is done again.

use crate::backup::{beside, moment, sync_folder};
use crate::entry_path::{EntryPath, EntryRoot};
use crate::error::ArchiveError;
use crate::manifest::{ArchiveHead, ArchiveManifest};
use crate::swap;
use crate::unpack::{ArchiveReader, FolderSink, restore_owners};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The ending of a folder in which a state is unpacked.
pub(crate) const DRAFT_NAME: &str = ".restore-draft";
/// Lies beside a configuration of which some files are replaced and others not yet.
pub const UNFINISHED_MARK: &str = ".tidegate-restoring";

/// Places that an archive is put back to.
#[derive(Clone, Debug)]
pub struct RestoreTarget {
    /// The state folder; none: where it came from.
    pub state: Option<PathBuf>,
    /// The configuration.
    pub configuration: ConfigurationChoice,
    /// The time, in seconds since 1970: in names of what is kept.
    pub now_secs: u64,
}

/// Treatment of the configuration in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationChoice {
    /// To where it came from.
    Restored,
    /// To this file, and what it names below that file's folder.
    RestoredTo(PathBuf),
    /// None: the present one stays.
    LeftAlone,
}

/// Account of a restore.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// Head of the archive.
    pub head: ArchiveHead,
    /// The state folder.
    pub state: PathBuf,
    /// Where the state lies that was there before.
    pub replaced: Option<PathBuf>,
    /// Files of the configuration that were written, each with where the old one lies.
    pub configuration: Vec<(PathBuf, Option<PathBuf>)>,
}

/// Moments at which a test ends a restore, as a kill would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoreStep {
    Unpacked,
    ConfigurationMarked,
    ConfigurationFile,
    Renamed,
    Swapped,
    Marked,
    MovedOut,
    MovedIn,
}

/// Told of each step; a test ends everything on the spot, and nothing is tidied up.
pub(crate) struct StepWatch<'w> {
    pub(crate) goes_on: &'w mut dyn FnMut(RestoreStep) -> bool,
    pub(crate) is_ended: bool,
}

impl StepWatch<'_> {
    pub(crate) fn step(&mut self, step: RestoreStep) -> Result<(), ArchiveError> {
        if (self.goes_on)(step) {
            return Ok(());
        }
        self.is_ended = true;
        Err(ArchiveError::Unreadable(io::ErrorKind::Interrupted.into()))
    }
}

/// Puts `archive` back.
pub fn restore_archive(
    archive: impl Read,
    target: &RestoreTarget,
) -> Result<RestoreReport, ArchiveError> {
    restore_watched(archive, target, &mut StepWatch { goes_on: &mut |_| true, is_ended: false })
}

pub(crate) fn restore_watched(
    mut archive: impl Read,
    target: &RestoreTarget,
    watch: &mut StepWatch<'_>,
) -> Result<RestoreReport, ArchiveError> {
    // The head says where to; it is read from a copy of the beginning.
    let mut begin = vec![0; 1 << 20];
    let filled = fill(&mut archive, &mut begin).map_err(ArchiveError::Unreadable)?;
    begin.truncate(filled);
    let head = peek_head(&begin)?;
    let state = target.state.clone().unwrap_or_else(|| head.state.clone());
    let state = std::path::absolute(&state).map_err(ArchiveError::file(&state))?;
    let _lock = lock(&state)?;
    let around = state.parent().unwrap_or(Path::new("/"));
    let made = DirBuilder::new().recursive(true).mode(0o755).create(around);
    made.map_err(ArchiveError::file(around))?;
    let draft = swap::draft_place(&state);
    remove_draft(&draft)?;
    let done = (|| {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(draft.join("state"));
        made.map_err(ArchiveError::file(&draft))?;
        let whole = io::Cursor::new(begin).chain(archive);
        let mut sink = FolderSink { folder: &draft, head: None };
        let manifest = ArchiveReader::new(whole)?.read(&mut sink)?;
        restore_owners(&manifest, &draft)?;
        restore_folder_rights(&state, &draft.join("state"))?;
        watch.step(RestoreStep::Unpacked)?;
        put_in_place(
            target,
            &head,
            &manifest,
            &RestorePlaces { state: &state, draft: &draft },
            watch,
        )
    })();
    // What a kill leaves here is removed by the next restore.
    if !watch.is_ended {
        let _ = fs::remove_dir_all(&draft);
    }
    let (replaced, configuration) = done?;
    Ok(RestoreReport { head, state, replaced, configuration })
}

struct RestorePlaces<'p> {
    state: &'p Path,
    draft: &'p Path,
}

type PlacedFiles = Vec<(PathBuf, Option<PathBuf>)>;

fn put_in_place(
    target: &RestoreTarget,
    head: &ArchiveHead,
    manifest: &ArchiveManifest,
    places: &RestorePlaces<'_>,
    watch: &mut StepWatch<'_>,
) -> Result<(Option<PathBuf>, PlacedFiles), ArchiveError> {
    let date = moment(target.now_secs).strftime("%Y-%m-%dT%H%M%SZ").to_string();
    let folder = match (&target.configuration, &head.configuration) {
        (ConfigurationChoice::LeftAlone, _) | (_, None) => None,
        (ConfigurationChoice::RestoredTo(file), Some(_))
        | (ConfigurationChoice::Restored, Some(file)) => Some(folder_of(file)?),
    };
    let mut written = Vec::new();
    let mut mark = None;
    if let Some(folder) = folder {
        let renamed = match &target.configuration {
            ConfigurationChoice::RestoredTo(file) => head.configuration.as_ref().and_then(|from| {
                Some((from.file_name()?.to_owned(), file.file_name()?.to_owned()))
            }),
            ConfigurationChoice::Restored | ConfigurationChoice::LeftAlone => None,
        };
        let drafts = draft_configuration(manifest, places.draft, &folder, renamed.as_ref())?;
        let path = folder.join(UNFINISHED_MARK);
        // One that was cut off after the last file has left its mark, and nothing differs.
        if !drafts.is_empty() || path.exists() {
            fs::write(&path, "").map_err(ArchiveError::file(&path))?;
            sync_folder(&folder)?;
            mark = Some(path);
            watch.step(RestoreStep::ConfigurationMarked)?;
        }
        for (draft, file) in drafts {
            let kept = keep(&file, &date)?;
            fs::rename(&draft, &file).map_err(ArchiveError::file(&file))?;
            written.push((file, kept));
            watch.step(RestoreStep::ConfigurationFile)?;
        }
    }
    let replaced = swap::swap(places.state, &places.draft.join("state"), &date, watch)?;
    if let Some(mark) = mark {
        fs::remove_file(&mark).map_err(ArchiveError::file(&mark))?;
    }
    Ok((replaced, written))
}

fn folder_of(file: &Path) -> Result<PathBuf, ArchiveError> {
    let file = std::path::absolute(file).map_err(ArchiveError::file(file))?;
    let folder = file.parent().unwrap_or(Path::new("/")).to_path_buf();
    let made = DirBuilder::new().recursive(true).mode(0o755).create(&folder);
    made.map_err(ArchiveError::file(&folder))?;
    Ok(folder)
}

type FileRename = (std::ffi::OsString, std::ffi::OsString);

/// Copies of the configuration's files beside those that they are to replace; of files that are the
/// same already there is none.
fn draft_configuration(
    manifest: &ArchiveManifest,
    unpacked: &Path,
    folder: &Path,
    renamed: Option<&FileRename>,
) -> Result<Vec<(PathBuf, PathBuf)>, ArchiveError> {
    let mut drafts = Vec::new();
    let names = crate::owners::OwnerNames::read();
    for file in manifest.files.iter().filter(|file| file.content.is_some()) {
        let path = EntryPath::parse(&file.path)?;
        if path.root != EntryRoot::Configuration {
            continue;
        }
        let from = path.within(unpacked);
        let below = match renamed {
            Some((old, new)) if path.below.as_os_str() == old => Path::new(new),
            _ => &path.below,
        };
        let to = folder.join(below);
        if is_same(&from, &to) {
            continue;
        }
        let parent = to.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(ArchiveError::file(parent))?;
        let draft = beside(&to, DRAFT_NAME);
        let copied = fs::remove_file(&draft).or_else(|why| match why.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(why),
        });
        copied
            .and_then(|()| fs::copy(&from, &draft))
            .and_then(|_| names.restore(&draft, &file.owner, file.mode))
            .and_then(|()| File::open(&draft)?.sync_all())
            .map_err(ArchiveError::file(&draft))?;
        drafts.push((draft, to));
    }
    Ok(drafts)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let lengths = fs::metadata(one).ok().zip(fs::metadata(other).ok());
    lengths.is_some_and(|(one, other)| one.len() == other.len())
        && fs::read(one).ok() == fs::read(other).ok()
}

/// A second name for a file that is about to be replaced.
fn keep(file: &Path, date: &str) -> Result<Option<PathBuf>, ArchiveError> {
    let kept = beside(file, &format!("{}{date}", swap::REPLACED_MARK));
    match fs::hard_link(file, &kept) {
        Ok(()) => Ok(Some(kept)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(Some(kept)),
        // A file system without second names.
        Err(_) => {
            fs::copy(file, &kept).map_err(ArchiveError::file(&kept))?;
            Ok(Some(kept))
        }
    }
}

/// The new state folder belongs to whom the old one did.
fn restore_folder_rights(old: &Path, new: &Path) -> Result<(), ArchiveError> {
    use std::os::unix::fs::MetadataExt;
    let Ok(facts) = fs::metadata(old) else { return Ok(()) };
    let names = crate::owners::OwnerNames::read();
    let rights = names.restore(new, &names.of(&facts), facts.mode());
    rights.map_err(ArchiveError::file(new))
}

/// Takes the state folder's lock; none where there is no folder.
fn lock(state: &Path) -> Result<Option<File>, ArchiveError> {
    let failed = ArchiveError::file(state);
    let file = match File::open(state.join("lock")) {
        // It was made on a full disk, or not at all.
        Err(why) if why.kind() == io::ErrorKind::NotFound => match File::open(state) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            folder => folder.map_err(&failed)?,
        },
        file => file.map_err(&failed)?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Err(ArchiveError::InUse(state.into())),
        Err(why) => Err(failed(why.into())),
    }
}

fn remove_draft(draft: &Path) -> Result<(), ArchiveError> {
    match fs::remove_dir_all(draft) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(ArchiveError::File(draft.into(), why))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// The head, from the first bytes of an archive.
fn peek_head(begin: &[u8]) -> Result<ArchiveHead, ArchiveError> {
    struct HeadSink(Option<ArchiveHead>);
    impl crate::unpack::EntrySink for HeadSink {
        fn head(&mut self, head: &ArchiveHead) -> Result<(), ArchiveError> {
            self.0 = Some(head.clone());
            // That is all that is wanted of it.
            Err(ArchiveError::Unreadable(io::ErrorKind::Other.into()))
        }
        fn folder(&mut self, _: &EntryPath) -> Result<(), ArchiveError> {
            Ok(())
        }
        fn file(
            &mut self,
            _: &EntryPath,
            _: u64,
            _: &mut dyn Read,
        ) -> Result<crate::manifest::FileContent, ArchiveError> {
            Err(ArchiveError::Unreadable(io::ErrorKind::Other.into()))
        }
    }
    let mut sink = HeadSink(None);
    let read = ArchiveReader::new(begin)?.read(&mut sink);
    match (sink.0, read) {
        (Some(head), _) => Ok(head),
        (None, Err(why)) => Err(why),
        (None, Ok(_)) => Err(ArchiveError::Unreadable(io::ErrorKind::UnexpectedEof.into())),
    }
}
