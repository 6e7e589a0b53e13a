//! Looks at folders and all that is below them. Every look has a bound, and none follows a link.

use crate::asked::{DavAsked, DavPurpose};
use crate::entries::{FileEntry, FolderEntry, file_bytes};
use crate::rules::{PathRules, PathStanding, may_become};
use file_access::beneath::{FolderRoot, OpenedFile};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use vocab::Now;

/// Names of one folder that are listed, copied or removed at once.
const NAMES_MAX: usize = 100_000;
/// Files and folders that are counted for a quota.
const COUNTED_MAX: usize = 1_000_000;
/// Files and folders of a folder that is moved, where each must be looked at.
const MOVED_MAX: usize = 100_000;

const READING: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// The names of a folder that a request may see.
pub(crate) fn names(
    root: &FolderRoot,
    below: &Path,
    asked: &DavAsked,
    tag: fn(&Stat) -> String,
) -> Result<Vec<FolderEntry>, Errno> {
    let mut found = Vec::new();
    for_each_name(root, below, asked.now, &mut |name, stat| {
        let path = below.join(name);
        if asked.rules.standing(&path) != PathStanding::Open {
            return Ok(());
        }
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link && asked.purpose == DavPurpose::Copy {
            let target = root.open_beneath(&path, OFlags::PATH, asked.now);
            let is_file =
                |it: &OpenedFile| FileType::from_raw_mode(it.stat.st_mode) == FileType::RegularFile;
            if !target.as_ref().is_ok_and(is_file) {
                return Ok(());
            }
        }
        if found.len() == NAMES_MAX {
            return Err(Errno::FBIG);
        }
        let name = name.as_bytes().to_vec();
        found.push(FolderEntry { name, entry: FileEntry::new(*stat, tag) });
        Ok(())
    })?;
    Ok(found)
}

/// The bytes of all files below the root; none if there are too many to be counted.
pub(crate) fn bytes_below(root: &FolderRoot, now: Now) -> Option<u64> {
    let mut bytes = 0_u64;
    let counted = walk(root, PathBuf::new(), COUNTED_MAX, now, &mut |_, stat| {
        bytes = bytes.saturating_add(file_bytes(stat));
        true
    });
    counted.ok().map(|_| bytes)
}

/// True if everything in the folder `from` may have its path below `to`.
pub(crate) fn may_move(
    root: &FolderRoot,
    from: &Path,
    to: &Path,
    rules: &dyn PathRules,
    now: Now,
) -> Result<bool, Errno> {
    walk(root, from.to_owned(), MOVED_MAX, now, &mut |path, _| {
        path.strip_prefix(from).is_ok_and(|rest| may_become(rules, path, &to.join(rest)))
    })
}

/// Shows everything in a folder until `see` says no; tells whether it never did. Fails with
/// [`Errno::FBIG`] beyond `most` files and folders.
fn walk(
    root: &FolderRoot,
    folder: PathBuf,
    most: usize,
    now: Now,
    see: &mut impl FnMut(&Path, &Stat) -> bool,
) -> Result<bool, Errno> {
    let (mut due, mut seen) = (vec![folder], 0);
    while let Some(folder) = due.pop() {
        let mut goes_on = true;
        let read = for_each_name(root, &folder, now, &mut |name, stat| {
            seen += 1;
            if seen > most {
                return Err(Errno::FBIG);
            }
            let path = folder.join(name);
            goes_on = goes_on && see(&path, stat);
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                due.push(path);
            }
            Ok(())
        });
        match read {
            // Gone meanwhile, or another's folder.
            Ok(()) | Err(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR) => {}
            Err(why) => return Err(why),
        }
        if !goes_on {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Shows every name of a folder but those of private files.
fn for_each_name(
    root: &FolderRoot,
    below: &Path,
    now: Now,
    see: &mut impl FnMut(&OsStr, &Stat) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let OpenedFile { file: folder, stat: of_folder } = root.open_beneath(below, READING, now)?;
    let open = root.current(now);
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = OsString::from(OsStr::from_bytes(entry.file_name().to_bytes()));
        if matches!(name.as_bytes(), b"." | b"..") {
            continue;
        }
        // One that is gone meanwhile is none.
        let Ok(stat) = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if !open.is_hidden(&of_folder, &name, &stat) {
            see(&name, &stat)?;
        }
    }
    Ok(())
}
