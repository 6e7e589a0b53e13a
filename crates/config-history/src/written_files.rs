//! Several files written, all or none, over a kill too.
//!
//! What they were stands in a mark beside the configuration, which is synced before the first is
//! written and removed when the change is in force. A start that finds one puts the files back; the
//! mark is locked while a process works on it, so that nobody undoes what another is doing. A file
//! that somebody else has changed is left alone.

use config::{RewriteError, rewrite};
use durable_file::{DraftName, FileAccess, FileReplacement, NameDurability};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that gets another text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// Text that it must have.
    pub before: String,
    /// Text that it gets.
    pub after: String,
}

/// Files that are written and not yet in force.
#[derive(Debug)]
pub struct WrittenFiles {
    changes: Vec<FileChange>,
    mark: Option<UndoMark>,
}

/// The mark, locked while this lives.
#[derive(Debug)]
struct UndoMark {
    path: PathBuf,
    _lock: File,
}

/// Text of the mark.
#[derive(Debug, Serialize, Deserialize)]
struct MarkText {
    note: String,
    files: Vec<FileChange>,
}

/// Why files are not written; none is then.
#[derive(Debug)]
pub enum WriteRefusal {
    /// The mark cannot be written.
    Mark(PathBuf, io::Error),
    /// One of the files, and why.
    File(RewriteError),
}

impl WrittenFiles {
    /// Writes files. The mark stands beside `main`; without one there must be one file alone.
    ///
    /// # Errors
    /// The first that fails; those before it are put back.
    pub fn write(main: Option<&Path>, changes: Vec<FileChange>) -> Result<Self, WriteRefusal> {
        let mark = match main {
            Some(main) if !changes.is_empty() => Some(UndoMark::set(main, &changes)?),
            _ => None,
        };
        let mut written = Self { changes: Vec::with_capacity(changes.len()), mark };
        for change in changes {
            let done = make_empty(&change)
                .and_then(|()| rewrite(&change.path, &change.before, &change.after));
            if let Err(why) = done {
                written.take_back();
                return Err(WriteRefusal::File(why));
            }
            written.changes.push(change);
        }
        Ok(written)
    }

    /// The change is in force: nothing is put back any more.
    pub fn keep(self) {
        if let Some(mark) = self.mark {
            mark.remove();
        }
    }

    /// Puts the files back; says what could not be.
    pub fn take_back(self) -> Vec<String> {
        let told = put_back(&self.changes);
        if let Some(mark) = self.mark {
            mark.remove();
        }
        told
    }
}

impl UndoMark {
    fn set(main: &Path, changes: &[FileChange]) -> Result<Self, WriteRefusal> {
        let path = mark_of(main).map_err(|why| WriteRefusal::Mark(main.into(), why))?;
        let set = || {
            let note = "a change of these files that is under way; a start takes it back";
            let text = MarkText { note: note.into(), files: changes.to_vec() };
            let text = serde_json::to_vec(&text).map_err(io::Error::other)?;
            let facts = main.metadata()?;
            let replacement = FileReplacement {
                path: &path,
                access: FileAccess::Of(&facts),
                draft: DraftName::New,
                durability: NameDurability::Tried,
            };
            let lock = replacement.write(&text)?;
            flock(&lock, FlockOperation::LockExclusive)?;
            // A process that starts may have taken it for one that was left.
            let is_ours = path.metadata().is_ok_and(|now| {
                lock.metadata().is_ok_and(|ours| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
            });
            if is_ours { Ok(lock) } else { Err(io::Error::other("another process removed it")) }
        };
        match set() {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(why) => Err(WriteRefusal::Mark(path, why)),
        }
    }

    fn remove(self) {
        // One that stays is taken back at the next start, where the files still are as written.
        let _ = fs::remove_file(&self.path);
        let folder = self.path.parent().and_then(|folder| File::open(folder).ok());
        let _ = folder.map(|folder| folder.sync_all());
    }
}

/// Takes back what a process that was killed has left half done; says what was done.
///
/// # Errors
/// The mark is there and cannot be read or removed.
pub fn undo_unfinished(main: &Path) -> io::Result<Vec<String>> {
    let Ok(path) = mark_of(main) else { return Ok(Vec::new()) };
    let lock = match File::open(&path) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    // Whoever is at work removes it before the lock is free.
    flock(&lock, FlockOperation::LockExclusive)?;
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(why),
    };
    let mark: MarkText = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let mut told = put_back(&mark.files);
    UndoMark { path, _lock: lock }.remove();
    told.insert(0, "a change of the configuration was cut off, and is taken back".into());
    Ok(told)
}

/// Makes a file that is not there yet, for its owner alone: it stays, empty, if the change does
/// not.
fn make_empty(change: &FileChange) -> Result<(), RewriteError> {
    if !change.before.is_empty() {
        return Ok(());
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&change.path);
    match made {
        Err(why) if why.kind() != ErrorKind::AlreadyExists => {
            Err(RewriteError::Unwritable(change.path.clone(), why))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts files back that have the new text, the last first; says which could not be.
fn put_back(changes: &[FileChange]) -> Vec<String> {
    let undone = changes.iter().rev().filter_map(|change| {
        match rewrite(&change.path, &change.after, &change.before) {
            Ok(()) => None,
            // It never got the new text, or has a third by now.
            Err(RewriteError::Changed(path)) => {
                let is_old = fs::read(&path).is_ok_and(|text| text == change.before.as_bytes());
                (!is_old).then(|| format!("{} has another text and stays", path.display()))
            }
            // It was not there before, and still is not.
            Err(RewriteError::Unreadable(_, why))
                if why.kind() == ErrorKind::NotFound && change.before.is_empty() =>
            {
                None
            }
            Err(why) => Some(format!("the file could not be put back as it was: {why}")),
        }
    });
    undone.collect()
}

/// Place of the mark, beside the file itself where a link leads to it.
fn mark_of(main: &Path) -> io::Result<PathBuf> {
    Ok(undo_mark(&main.canonicalize()?))
}

/// Place of the mark of a configuration that no link leads to.
pub fn undo_mark(main: &Path) -> PathBuf {
    let name = main.file_name().unwrap_or_default().to_string_lossy();
    main.with_file_name(format!(".{name}.undo"))
}

impl fmt::Display for WriteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mark(path, why) => {
                write!(f, "the configuration cannot be replaced: {}: {why}", path.display())
            }
            Self::File(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for WriteRefusal {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use test_support::ScratchFolder;

    fn changes(folder: &Path) -> Vec<FileChange> {
        let change = |name: &str| FileChange {
            path: folder.join(name),
            before: format!("{name}: 1\n"),
            after: format!("{name}: 2\n"),
        };
        let changes: Vec<_> = ["a", "b", "c"].into_iter().map(change).collect();
        for it in &changes {
            fs::write(&it.path, &it.before).unwrap();
        }
        changes
    }

    fn texts(changes: &[FileChange]) -> Vec<String> {
        changes.iter().map(|it| fs::read_to_string(&it.path).unwrap()).collect()
    }

    #[test]
    fn files_are_written_all_or_none() {
        let folder = ScratchFolder::new();
        let all = changes(folder.path());
        let main = all[0].path.clone();
        WrittenFiles::write(Some(&main), all.clone()).unwrap().keep();
        assert_eq!(texts(&all), ["a: 2\n", "b: 2\n", "c: 2\n"]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside them");
        changes(folder.path());
        let told = WrittenFiles::write(Some(&main), all.clone()).unwrap().take_back();
        assert_eq!((told.len(), texts(&all)), (0, changes_before(&all)));
        fs::write(&all[2].path, "c: 3\n").unwrap();
        let refused = WrittenFiles::write(Some(&main), all.clone()).unwrap_err();
        assert!(matches!(refused, WriteRefusal::File(RewriteError::Changed(_))), "{refused}");
        assert_eq!(texts(&all), ["a: 1\n", "b: 1\n", "c: 3\n"]);
        assert_eq!(undo_unfinished(&main).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_was_not_there_is_made_and_empty_if_the_change_is_taken_back() {
        let folder = ScratchFolder::new();
        let path = folder.path().join("new");
        let change =
            FileChange { path: path.clone(), before: String::new(), after: "a: 1\n".into() };
        let told = WrittenFiles::write(None, vec![change.clone()]).unwrap().take_back();
        assert_eq!((told.len(), texts(std::slice::from_ref(&change))), (0, vec![String::new()]));
        let mode = fs::metadata(&path).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        WrittenFiles::write(None, vec![change.clone()]).unwrap().keep();
        assert_eq!(texts(std::slice::from_ref(&change)), ["a: 1\n"]);
        // A kill before it was made leaves nothing to undo.
        let main = folder.path().join("main");
        fs::write(&main, "").unwrap();
        fs::remove_file(&path).unwrap();
        drop(UndoMark::set(&main, &[change]).unwrap());
        assert_eq!(undo_unfinished(&main).unwrap().len(), 1);
        assert!(!path.exists());
    }

    fn changes_before(all: &[FileChange]) -> Vec<String> {
        all.iter().map(|it| it.before.clone()).collect()
    }

    #[test]
    fn a_start_takes_back_what_was_cut_off_after_any_file() {
        let folder = ScratchFolder::new();
        let all = changes(folder.path());
        let main = all[0].path.clone();
        for written in 0..=all.len() {
            changes(folder.path());
            let mark = UndoMark::set(&main, &all).unwrap();
            for change in &all[..written] {
                rewrite(&change.path, &change.before, &change.after).unwrap();
            }
            // The process is gone, and the lock with it; the mark is not.
            drop(mark);
            let told = undo_unfinished(&main).unwrap();
            assert_eq!((told.len(), texts(&all)), (1, changes_before(&all)), "{written}");
            assert!(undo_unfinished(&main).unwrap().is_empty(), "once");
        }
        let mark = UndoMark::set(&main, &all).unwrap();
        fs::write(&all[1].path, "b: 3\n").unwrap();
        drop(mark);
        let told = undo_unfinished(&main).unwrap();
        assert!(told[1].contains("has another text and stays"), "{told:?}");
        assert_eq!(texts(&all), ["a: 1\n", "b: 3\n", "c: 1\n"]);
    }
}
