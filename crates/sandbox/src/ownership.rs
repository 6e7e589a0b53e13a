//! Owners of files: what an account must be able to write is given to it before root is left.
//!
//! The account may have been taken over at an earlier start, so nothing here follows a link inside
//! a folder, and a file with a second name, which may be anybody's, is left alone. Called by the
//! binary at a start as root.

use crate::account::SystemAccount;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fstat, mkdirat, openat,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Folders inside one another that are walked, at most.
const DEPTH_MAX: u32 = 32;

/// A file or folder whose owner could not be changed.
#[derive(Debug)]
pub struct OwnershipError {
    /// The path that was to be given away.
    pub path: PathBuf,
    /// Why it could not.
    pub why: io::Error,
}

/// New owners of a file.
#[derive(Clone, Copy)]
struct FileOwners {
    uid: u32,
    gid: u32,
}

/// Gives a file, or a folder with all that is in it, to the account; `except` names an entry of the
/// folder that is left as it is.
pub fn give_ownership(
    path: &Path,
    account: &SystemAccount,
    except: Option<&CStr>,
) -> Result<(), OwnershipError> {
    let owners = FileOwners { uid: account.uid, gid: account.gid };
    // The last name may be a link: an administrator wrote the path.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty())
        .and_then(|file| change_owner(file.as_fd(), owners, except, DEPTH_MAX))
        .map_err(|why| OwnershipError { path: path.into(), why: why.into() })
}

/// Makes the folder, or takes it with the files in it, for root alone to write, and opens it.
pub fn make_folder_of_root(path: &Path) -> Result<OwnedFd, OwnershipError> {
    let root = FileOwners { uid: 0, gid: 0 };
    let open = || -> Result<OwnedFd, Errno> {
        match mkdirat(CWD, path, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(why) => return Err(why),
        }
        // No link: the folder around it belongs to the account that must not reach into this one.
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())?;
        change_owner(folder.as_fd(), root, None, 1)?;
        fchmod(&folder, Mode::from_raw_mode(0o755))?;
        Ok(folder)
    };
    open().map_err(|why| OwnershipError { path: path.into(), why: why.into() })
}

/// Gives away what `file` is open for, with what is in it down to `depth`.
fn change_owner(
    file: rustix::fd::BorrowedFd<'_>,
    owners: FileOwners,
    except: Option<&CStr>,
    depth: u32,
) -> Result<(), Errno> {
    let found = fstat(file)?;
    let kind = FileType::from_raw_mode(found.st_mode);
    let is_folder = kind == FileType::Directory;
    if !is_folder && found.st_nlink > 1 {
        return Ok(());
    }
    if (found.st_uid, found.st_gid) != (owners.uid, owners.gid) {
        let (uid, gid) = (Uid::from_raw(owners.uid), Gid::from_raw(owners.gid));
        chownat(file, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?;
    }
    if !is_folder || depth == 0 {
        return Ok(());
    }
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(file, c".", flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." || Some(name) == except {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&folder, name, flags, Mode::empty()) {
            Ok(inside) => change_owner(inside.as_fd(), owners, None, depth - 1)?,
            // Gone since it was listed.
            Err(Errno::NOENT) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(())
}

impl fmt::Display for OwnershipError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the owner of {} cannot be changed: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for OwnershipError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    struct Folder(PathBuf);

    impl Folder {
        fn new(test: &str) -> Self {
            let name = format!("tidegate-owners-{}-{test}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(path.join("inner")).unwrap();
            Self(path)
        }
        fn owner(&self, name: &str) -> u32 {
            std::fs::symlink_metadata(self.0.join(name)).unwrap().uid()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Only root gives files away; others find that everything is theirs already.
    fn account() -> SystemAccount {
        if rustix::process::geteuid().is_root() {
            SystemAccount { name: "4711".into(), uid: 4711, gid: 4712, groups: vec![4712] }
        } else {
            SystemAccount::present()
        }
    }

    #[test]
    fn a_folder_is_given_away_but_no_file_behind_a_link_or_with_two_names() {
        let (folder, account) = (Folder::new("give"), account());
        let elsewhere = Folder::new("elsewhere");
        for (place, name) in
            [(&folder, "a"), (&folder, "inner/b"), (&elsewhere, "secret"), (&elsewhere, "twice")]
        {
            std::fs::write(place.0.join(name), "x").unwrap();
        }
        std::fs::create_dir(folder.0.join("ca")).unwrap();
        std::fs::write(folder.0.join("ca/ca.key"), "x").unwrap();
        std::os::unix::fs::symlink(elsewhere.0.join("secret"), folder.0.join("link")).unwrap();
        std::os::unix::fs::symlink(&elsewhere.0, folder.0.join("folder")).unwrap();
        std::fs::hard_link(elsewhere.0.join("twice"), folder.0.join("second")).unwrap();
        let before = elsewhere.owner("secret");
        give_ownership(&folder.0, &account, Some(c"ca")).unwrap();
        for name in ["", "a", "inner", "inner/b", "link"] {
            assert_eq!(folder.owner(name), account.uid, "{name}");
        }
        assert_eq!((folder.owner("ca"), folder.owner("ca/ca.key")), (before, before));
        assert_eq!((elsewhere.owner("secret"), elsewhere.owner("twice")), (before, before));
    }

    #[test]
    fn a_folder_of_roots_is_no_link() {
        let folder = Folder::new("root");
        std::os::unix::fs::symlink(folder.0.join("inner"), folder.0.join("ca")).unwrap();
        assert!(make_folder_of_root(&folder.0.join("ca")).is_err());
        if rustix::process::geteuid().is_root() {
            std::fs::write(folder.0.join("inner/ca.key"), "x").unwrap();
            give_ownership(&folder.0, &account(), None).unwrap();
            make_folder_of_root(&folder.0.join("inner")).unwrap();
            assert_eq!((folder.owner("inner"), folder.owner("inner/ca.key")), (0, 0));
        }
    }
}
