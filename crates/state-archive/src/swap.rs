//! One state folder in place of another.
//!
//! Where the system can, both change places in one call (`RENAME_EXCHANGE`), so that at any moment
//! the old or the new one is there, whole. A folder that is a mount point, or whose parent cannot
//! be written, is emptied and filled by renames inside of it; a mark says so meanwhile, and no
//! Tidegate starts on it ([`is_unfinished`]).

use crate::backup::{beside, sync_folder};
use crate::error::ArchiveError;
use crate::restore::{DRAFT_NAME, RestoreStep, StepWatch};
use durable_file::{FileAccess, FileReplacement};
use rustix::fs::{Access, CWD, RenameFlags, access, renameat_with};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// In names of folders with a state that was replaced.
pub(crate) const REPLACED_MARK: &str = ".replaced-";
/// The mark of a swap inside a folder that is under way: the date, then `out` or `in`.
pub(crate) const UNFINISHED_NAME: &str = ".restoring";

/// True if a swap inside this state folder was cut off: what is there is neither old nor new.
pub fn is_unfinished(state: &Path) -> bool {
    state.join(UNFINISHED_NAME).exists()
}

/// Files and folders that restores have left beside a file or folder: what was replaced, and drafts
/// that were cut off. They hold what the original holds, keys among it.
pub fn leftovers(original: &Path) -> Vec<PathBuf> {
    let folder = original.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let Some(name) = original.file_name().map(|name| name.to_string_lossy()) else {
        return Vec::new();
    };
    let (replaced, draft) = (format!("{name}{REPLACED_MARK}"), format!(".{name}{DRAFT_NAME}"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| {
        let found = path.file_name().unwrap_or_default().to_string_lossy();
        found.starts_with(&replaced) || found == draft
    };
    entries.map(|entry| entry.path()).filter(is_left).collect()
}

/// The folder in which a draft of the new state is made.
pub(crate) fn draft_place(state: &Path) -> PathBuf {
    if is_replaceable(state) {
        let name = state.file_name().unwrap_or_default().to_string_lossy();
        state.with_file_name(format!(".{name}{DRAFT_NAME}"))
    } else {
        state.join(DRAFT_NAME)
    }
}

/// True if the folder can be renamed as a whole: it is no mount point, and the folder around it can
/// be written.
fn is_replaceable(state: &Path) -> bool {
    let Some(parent) = state.parent() else { return false };
    let is_mount = match (fs::symlink_metadata(state), fs::metadata(parent)) {
        (Ok(inner), Ok(outer)) => inner.dev() != outer.dev() || !inner.is_dir(),
        _ => false,
    };
    let is_begun = is_unfinished(state);
    !is_mount && !is_begun && access(parent, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Puts `draft`, a finished state, where the state is; says where the old one went.
pub(crate) fn swap(
    state: &Path,
    draft: &Path,
    date: &str,
    watch: &mut StepWatch<'_>,
) -> Result<Option<PathBuf>, ArchiveError> {
    if draft.starts_with(state) {
        return swap_within(state, draft, date, watch).map(Some);
    }
    let failed = ArchiveError::file(state);
    let folder = state.parent().unwrap_or(Path::new("/"));
    if !state.exists() {
        fs::rename(draft, state).map_err(&failed)?;
        sync_folder(folder)?;
        return Ok(None);
    }
    let replaced = free_name(&beside(state, &format!("{REPLACED_MARK}{date}")));
    // The new state has this name for a moment, the old one for ever: one call swaps them.
    fs::rename(draft, &replaced).map_err(&failed)?;
    watch.step(RestoreStep::Renamed)?;
    match renameat_with(CWD, &replaced, CWD, state, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(Errno::INVAL | Errno::NOSYS | Errno::XDEV | Errno::BUSY) => {
            // A file system that cannot: the slower way.
            let inside = state.join(DRAFT_NAME).join("state");
            let _ = fs::remove_dir_all(state.join(DRAFT_NAME));
            fs::create_dir(state.join(DRAFT_NAME)).map_err(&failed)?;
            fs::rename(&replaced, &inside).map_err(&failed)?;
            return swap_within(state, &inside, date, watch).map(Some);
        }
        Err(why) => {
            let _ = fs::remove_dir_all(&replaced);
            return Err(failed(why.into()));
        }
    }
    watch.step(RestoreStep::Swapped)?;
    sync_folder(folder)?;
    Ok(Some(replaced))
}

/// The path, or one like it that nothing has.
fn free_name(path: &Path) -> PathBuf {
    let more = (1..1000).map(|number| beside(path, &format!("-{number}")));
    let all = std::iter::once(path.to_path_buf()).chain(more);
    all.into_iter().find(|path| !path.exists()).unwrap_or_else(|| path.into())
}

/// Moves what is in the folder into one below it, and the draft's content up. Begun anew, it goes
/// on where it was cut off.
fn swap_within(
    state: &Path,
    draft: &Path,
    date: &str,
    watch: &mut StepWatch<'_>,
) -> Result<PathBuf, ArchiveError> {
    let failed = ArchiveError::file(state);
    let mark = state.join(UNFINISHED_NAME);
    let begun = fs::read_to_string(&mark).unwrap_or_default();
    let (begun_at, phase) = begun.trim().split_once(' ').unwrap_or((date, "out"));
    // A mark is written by us; what else stands there leads nowhere.
    let is_date = begun_at.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let date = if is_date { begun_at } else { date };
    let replaced = state.join(format!("{REPLACED_MARK}{date}"));
    if phase == "in" {
        // Of an earlier archive; the old state is out already.
        for path in entries(state)? {
            let is_dir = path.is_dir() && !path.is_symlink();
            let removed = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(ArchiveError::file(&path))?;
        }
    } else {
        write_mark(state, &format!("{date} out"))?;
        watch.step(RestoreStep::Marked)?;
        match fs::create_dir(&replaced) {
            Err(why) if why.kind() != io::ErrorKind::AlreadyExists => return Err(failed(why)),
            Ok(()) | Err(_) => {}
        }
        for path in entries(state)? {
            let to = replaced.join(path.file_name().unwrap_or_default());
            fs::rename(&path, to).map_err(ArchiveError::file(&path))?;
            watch.step(RestoreStep::MovedOut)?;
        }
        sync_folder(&replaced)?;
        write_mark(state, &format!("{date} in"))?;
    }
    for path in entries(draft)? {
        let to = state.join(path.file_name().unwrap_or_default());
        fs::rename(&path, to).map_err(ArchiveError::file(&path))?;
        watch.step(RestoreStep::MovedIn)?;
    }
    sync_folder(state)?;
    fs::remove_file(&mark).map_err(&failed)?;
    sync_folder(state)?;
    Ok(replaced)
}

fn write_mark(state: &Path, text: &str) -> Result<(), ArchiveError> {
    let mark = state.join(UNFINISHED_NAME);
    let file = FileReplacement { access: FileAccess::Umask, ..FileReplacement::private(&mark) };
    file.write(text.as_bytes()).map(drop).map_err(ArchiveError::file(&mark))
}

/// Entries of a folder that belong to its state: neither the lock, which is held, nor what a swap
/// needs.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let failed = ArchiveError::file(folder);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = name == "lock"
            || name == DRAFT_NAME
            || name.starts_with(UNFINISHED_NAME)
            || name.starts_with(REPLACED_MARK);
        if !is_ours {
            found.push(entry.path());
        }
    }
    Ok(found)
}
