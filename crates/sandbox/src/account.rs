//! Accounts of the system: a user's numbers and groups, as `/etc/passwd` and `/etc/group` have
//! them.
//!
//! Other directories (LDAP, systemd's) are asked by the C library alone, which a static binary does
//! not have; a user of theirs is given by its number. Nothing is changed here.

use std::fmt;

/// The names that are tried where root started the program and no user is configured.
const DEFAULT_USERS: [&str; 2] = ["tidegate", "nobody"];
/// The number that systems have for nobody, where there is no `/etc/passwd`.
const NOBODY: u32 = 65534;
/// Supplementary groups of an account, at most; the kernel takes 65536.
const GROUPS_MAX: usize = 64;

/// A user with its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemAccount {
    /// Name, or its number as text.
    pub name: String,
    /// Number.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// All its groups, the primary one first.
    pub groups: Vec<u32>,
}

/// Owner, group and mode of a file, by which access to it is judged.
#[derive(Clone, Copy, Debug)]
pub struct FileAccess {
    /// Number of the owner.
    pub uid: u32,
    /// Number of the group.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

/// An account that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountError {
    /// No such user.
    NoUser(String),
    /// No such group.
    NoGroup(String),
    /// The user is root.
    Root(String),
}

/// The two files, read once.
struct AccountDirectory {
    users: String,
    groups: String,
}

impl SystemAccount {
    /// The account of `user`, with `group` in place of its own primary group. Either may be a
    /// number.
    pub fn find(user: &str, group: Option<&str>) -> Result<Self, AccountError> {
        AccountDirectory::read().account(user, group)
    }

    /// The account for a program that root started without naming one: `tidegate` where there is
    /// one, else `nobody`.
    pub fn default_of_system(group: Option<&str>) -> Result<Self, AccountError> {
        let directory = AccountDirectory::read();
        let known = DEFAULT_USERS.into_iter().find(|name| directory.user(name).is_some());
        directory.account(known.unwrap_or("nobody"), group)
    }

    /// The account that this process runs as.
    pub fn present() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let users = AccountDirectory::read().users;
        let is_it = |line: &&str| field(line, 2).and_then(|it| it.parse().ok()) == Some(uid);
        let name = users.lines().find(is_it).and_then(|line| field(line, 0));
        let name = name.map_or_else(|| uid.to_string(), str::to_owned);
        let mut groups = vec![gid];
        groups
            .extend(rustix::process::getgroups().unwrap_or_default().iter().map(|it| it.as_raw()));
        Self { name, uid, gid, groups }
    }

    /// True if the account may do what `bits` (4 read, 2 write, 1 search) say with a file.
    pub fn has_access(&self, bits: u32, file: FileAccess) -> bool {
        let granted = if self.uid == file.uid {
            file.mode >> 6
        } else if self.groups.contains(&file.gid) {
            file.mode >> 3
        } else {
            file.mode
        };
        self.uid == 0 || granted & bits == bits
    }
}

impl AccountDirectory {
    fn read() -> Self {
        // A system without these files has no names.
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Self { users: read("/etc/passwd"), groups: read("/etc/group") }
    }

    /// Number and primary group of a user.
    fn user(&self, name: &str) -> Option<(u32, u32)> {
        let line = self.users.lines().find(|line| field(line, 0) == Some(name))?;
        Some((field(line, 2)?.parse().ok()?, field(line, 3)?.parse().ok()?))
    }

    fn group(&self, name: &str) -> Option<u32> {
        let line = self.groups.lines().find(|line| field(line, 0) == Some(name));
        line.map_or_else(|| name.parse().ok(), |line| field(line, 2)?.parse().ok())
    }

    /// Groups that name the user as their member.
    fn memberships(&self, name: &str) -> Vec<u32> {
        let is_member = |line: &&str| {
            field(line, 3).is_some_and(|members| members.split(',').any(|member| member == name))
        };
        let lines = self.groups.lines().filter(is_member);
        lines.filter_map(|line| field(line, 2)?.parse().ok()).take(GROUPS_MAX).collect()
    }

    fn account(&self, user: &str, group: Option<&str>) -> Result<SystemAccount, AccountError> {
        // A number that nobody has gets the group of the same number, as useradd would make it.
        let number = if user == "nobody" { Ok(NOBODY) } else { user.parse() };
        let by_number = || number.ok().map(|number| (number, number));
        let no_user = || AccountError::NoUser(user.into());
        let (uid, own) = self.user(user).or_else(by_number).ok_or_else(no_user)?;
        let gid = match group {
            None => own,
            Some(name) => self.group(name).ok_or_else(|| AccountError::NoGroup(name.into()))?,
        };
        // The kernel takes the highest number for "no change".
        if uid == 0 || uid == u32::MAX || gid == u32::MAX {
            return Err(AccountError::Root(user.into()));
        }
        let mut groups = vec![gid];
        groups.extend(self.memberships(user).into_iter().filter(|it| *it != gid && *it != 0));
        Ok(SystemAccount { name: user.into(), uid, gid, groups })
    }
}

fn field(line: &str, index: usize) -> Option<&str> {
    line.split(':').nth(index)
}

impl AccountError {
    /// Remedy for people.
    pub fn remedy(&self) -> String {
        match self {
            Self::NoUser(name) => format!(
                "make it with `useradd --system --no-create-home --shell /usr/sbin/nologin {name}`, \
                 or name one that is there"
            ),
            Self::NoGroup(name) => {
                format!("make it with `groupadd --system {name}`, or name one that is there")
            }
            Self::Root(_) => {
                "name a user of its own, such as tidegate; ports below 1024 need no root".into()
            }
        }
    }
}

impl fmt::Display for AccountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoUser(name) => write!(f, "there is no user {name:?} on this system"),
            Self::NoGroup(name) => write!(f, "there is no group {name:?} on this system"),
            Self::Root(name) => write!(f, "the user {name:?} is root, whom Tidegate never stays"),
        }
    }
}

impl std::error::Error for AccountError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> AccountDirectory {
        AccountDirectory {
            users: "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:\nnobody2:x:7:7::/:\nbad:x:a:b\n\
                    tidegate:x:901:902::/:\n"
                .into(),
            groups: "root:x:0:tidegate\nssl:x:33:www,tidegate\nnogroup:x:65534:\n".into(),
        }
    }

    #[test]
    fn a_user_is_found_by_the_whole_name_with_all_groups_but_roots() {
        let found = directory().account("tidegate", None);
        let groups = vec![902, 33];
        assert_eq!(
            found,
            Ok(SystemAccount { name: "tidegate".into(), uid: 901, gid: 902, groups })
        );
        let other = directory().account("nobody2", Some("nogroup"));
        assert_eq!(other.map(|it| (it.uid, it.gid)), Ok((7, 65534)));
        let nobody = directory().account("nobody", None);
        assert_eq!(nobody.map(|it| (it.uid, it.gid)), Ok((NOBODY, NOBODY)));
        let number = directory().account("4711", Some("12"));
        assert_eq!(number.map(|it| (it.uid, it.gid, it.groups)), Ok((4711, 12, vec![12])));
    }

    #[test]
    fn root_by_any_name_and_who_is_not_there_are_refused() {
        for (user, group, wrong) in [
            ("root", None, AccountError::Root("root".into())),
            ("toor", None, AccountError::Root("toor".into())),
            ("0", None, AccountError::Root("0".into())),
            ("4294967295", None, AccountError::Root("4294967295".into())),
            ("noone", None, AccountError::NoUser("noone".into())),
            ("bad", None, AccountError::NoUser("bad".into())),
            ("tidegate", Some("none"), AccountError::NoGroup("none".into())),
        ] {
            assert_eq!(directory().account(user, group), Err(wrong), "{user}");
        }
    }

    #[test]
    fn access_is_judged_by_the_first_class_that_fits() {
        let account = SystemAccount { name: "a".into(), uid: 7, gid: 8, groups: vec![8, 9] };
        for ((uid, gid, mode), reads) in [
            ((7, 0, 0o400), true),
            ((7, 8, 0o044), false),
            ((0, 9, 0o640), true),
            ((0, 0, 0o640), false),
            ((0, 0, 0o604), true),
        ] {
            let file = FileAccess { uid, gid, mode };
            assert_eq!(account.has_access(4, file), reads, "{file:?}");
        }
    }
}
