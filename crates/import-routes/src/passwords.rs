//! Files of names and hashed passwords: which of them are taken here.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The part of a file that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserFile {
    /// All of it.
    Kept,
    /// These users; the names of the others, for people.
    Some(BTreeMap<String, String>, String),
}

/// Users that are looked at.
const USERS_MAX: usize = 10_000;
/// Names that are told.
const TOLD_MAX: usize = 10;

/// Reads a file as `htpasswd` writes it.
pub fn read(text: &str) -> UserFile {
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty() && !it.starts_with('#'));
    let (mut users, mut lost) = (BTreeMap::new(), Vec::new());
    for line in lines.take(USERS_MAX) {
        let (name, rest) = line.split_once(':').unwrap_or((line, ""));
        let hash = rest.split(':').next().unwrap_or_default();
        if is_taken(hash) {
            users.insert(name.to_owned(), hash.to_owned());
        } else {
            lost.push(name.to_owned());
        }
    }
    if lost.is_empty() && !users.is_empty() {
        return UserFile::Kept;
    }
    let more = lost.len().saturating_sub(TOLD_MAX);
    lost.truncate(TOLD_MAX);
    let mut told = lost.join(", ");
    if more > 0 {
        let _ = write!(told, " and {more} more");
    }
    UserFile::Some(users, if told.is_empty() { "nobody".into() } else { told })
}

/// True for bcrypt, Argon2 and SHA-crypt.
pub fn is_taken(hash: &str) -> bool {
    let is_bcrypt = ["$2y$", "$2a$", "$2b$"].iter().any(|it| hash.starts_with(it));
    is_bcrypt && hash.len() == 60
        || ["$argon2id$", "$argon2i$", "$argon2d$", "$5$", "$6$"]
            .iter()
            .any(|it| hash.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_hashes_are_told_by_name() {
        assert_eq!(read("a:$6$salt$hash\n"), UserFile::Kept);
        let users = [("a".to_owned(), "$6$salt$hash".to_owned())].into();
        assert_eq!(read("a:$6$salt$hash\nb:$apr1$x$y\n"), UserFile::Some(users, "b".into()));
        assert_eq!(read(""), UserFile::Some(BTreeMap::new(), "nobody".into()));
    }
}
