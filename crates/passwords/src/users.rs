//! Users with their hashed passwords: from settings, and from a file of `htpasswd`'s form.
//!
//! A line that is wrong is named by its number and never quoted: it may be somebody's password.
//! Nothing is written. Called by the doors when they are made and reloaded.

use crate::hashes::PasswordHash;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use vocab::Complaint;

/// The largest file of users, in bytes; a larger one is a complaint.
pub const USERS_FILE_BYTES_MAX: u64 = 4 << 20;
/// What to write in place of a hash that is refused.
const REMEDY: &str = "make one with: htpasswd -nB USER, or argon2, or mkpasswd -m sha-512";

/// Names and hashes, at least one.
#[derive(Clone, Debug)]
pub struct UserTable {
    all: BTreeMap<Box<str>, PasswordHash>,
    /// What an unknown name's password is held against.
    dummy_hash: PasswordHash,
}

impl UserTable {
    /// Reads `users` and `file`, a relative one from `base`. Complaints stand at `users.NAME` and
    /// `file`.
    pub fn open(
        users: &BTreeMap<String, String>,
        file: Option<&str>,
        base: &Path,
    ) -> Result<Self, Vec<Complaint>> {
        let mut complaints = Self::check(users);
        let mut all = users.clone();
        if let Some(file) = file {
            match read_file(&base.join(file)) {
                Ok(text) => all.extend(users_of(&text, file, &mut complaints)),
                Err(why) => {
                    let complaint = Complaint::new("file", format!("{file}: {why}"));
                    complaints.push(complaint.remedy("name a file that this user may read"));
                }
            }
        }
        let hashed = |(user, hash): (&String, &String)| {
            Some((user.as_str().into(), PasswordHash::parse(hash).ok()?))
        };
        let all: BTreeMap<Box<str>, PasswordHash> = all.iter().filter_map(hashed).collect();
        match all.values().next().cloned() {
            Some(nobody) if complaints.is_empty() => Ok(Self { all, dummy_hash: nobody }),
            Some(_) => Err(complaints),
            None => {
                if complaints.is_empty() {
                    complaints.push(Complaint::new("file", "the file has no users"));
                }
                Err(complaints)
            }
        }
    }

    /// Returns what is wrong with `users` as they stand in settings, at `users.NAME`.
    pub fn check(users: &BTreeMap<String, String>) -> Vec<Complaint> {
        let check =
            |(user, hash): (&String, &String)| check_user(&format!("users.{user}"), user, hash);
        users.iter().filter_map(check).collect()
    }

    /// The hash to hold a password of `user` against, and whether there is such a user.
    pub(crate) fn hash_of(&self, user: &str) -> (&PasswordHash, UserExistence) {
        match self.all.get(user) {
            Some(hash) => (hash, UserExistence::Yes),
            None => (&self.dummy_hash, UserExistence::No),
        }
    }
}

/// Tells whether a name is somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserExistence {
    Yes,
    No,
}

fn check_user(path: &str, user: &str, hash: &str) -> Option<Complaint> {
    if user.is_empty() || user.contains([':', '\0', '\n', '\r']) {
        // RFC 7617 §2: the first colon ends the name.
        return Some(Complaint::new(path, "a user's name is not empty and has no colon"));
    }
    let why = PasswordHash::parse(hash).err()?;
    Some(Complaint::new(path, why.to_string()).remedy(REMEDY))
}

fn read_file(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > USERS_FILE_BYTES_MAX {
        return Err(io::Error::other(format!("longer than {USERS_FILE_BYTES_MAX} bytes")));
    }
    std::fs::read_to_string(path)
}

/// The users of a file of `htpasswd`'s form: `NAME:HASH`, `#` begins a comment.
fn users_of(text: &str, file: &str, complaints: &mut Vec<Complaint>) -> Vec<(String, String)> {
    let mut users = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (user, hash) = line.split_once(':').unwrap_or((line, ""));
        match check_user("file", user, hash) {
            Some(mut complaint) => {
                complaint.message = format!("{file}, line {}: {}", index + 1, complaint.message);
                complaints.push(complaint);
            }
            None => users.push((user.to_owned(), hash.to_owned())),
        }
    }
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_weak_hash_is_refused_by_line_without_its_text() {
        let mut complaints = Vec::new();
        let good = bcrypt::hash("x", 4).unwrap();
        let text = format!("# users\nann:{good}\n\nbob:hunter2\n");
        let users = users_of(&text, "users", &mut complaints);
        assert_eq!(users.len(), 1);
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].message.contains("line 4"), "{complaints:?}");
        assert!(!complaints[0].to_string().contains("hunter2"));
        assert!(complaints[0].remedy.as_deref().unwrap().contains("htpasswd"));
    }
}
