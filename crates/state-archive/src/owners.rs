//! Owners of files, by number and by name: on another machine the same name has another number.

use rustix::fs::{Gid, Uid};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Permission bits that are kept: no set-user bits.
pub(crate) const MODE_BITS: u32 = 0o777;

/// Owner and group of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileOwner {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
}

/// Users and groups of this machine.
pub(crate) struct OwnerNames {
    users: Vec<(String, u32)>,
    groups: Vec<(String, u32)>,
    is_root: bool,
}

impl OwnerNames {
    pub(crate) fn read() -> Self {
        let table = |path: &str| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let entry = |line: &str| {
                let mut parts = line.split(':');
                Some((parts.next()?.to_owned(), parts.nth(1)?.parse().ok()?))
            };
            text.lines().filter_map(entry).collect()
        };
        Self {
            users: table("/etc/passwd"),
            groups: table("/etc/group"),
            is_root: rustix::process::geteuid().is_root(),
        }
    }

    pub(crate) fn of(&self, facts: &fs::Metadata) -> FileOwner {
        let name = |table: &[(String, u32)], id: u32| {
            table.iter().find(|(_, known)| *known == id).map(|(name, _)| name.clone())
        };
        FileOwner {
            uid: facts.uid(),
            gid: facts.gid(),
            user: name(&self.users, facts.uid()),
            group: name(&self.groups, facts.gid()),
        }
    }

    /// Gives a file the mode, and where root does this the owner, that it had.
    pub(crate) fn restore(&self, path: &Path, owner: &FileOwner, mode: u32) -> io::Result<()> {
        if self.is_root {
            let number = |table: &[(String, u32)], name: &Option<String>, id: u32| {
                let known = |name: &String| table.iter().find(|(known, _)| known == name);
                name.as_ref().and_then(known).map_or(id, |(_, id)| *id)
            };
            let uid = number(&self.users, &owner.user, owner.uid);
            let gid = number(&self.groups, &owner.group, owner.gid);
            // The file is one that was just made here: no link is followed.
            let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
            rustix::fs::chown(path, uid, gid)?;
        }
        fs::set_permissions(path, fs::Permissions::from_mode(mode & MODE_BITS))
    }
}
