//! Sessions of browsers, kept in the state folder so that a restart signs nobody out.
//!
//! A browser has a random identifier in its cookie; the file holds digests of identifier and token,
//! so that who reads it cannot sign in with it, and another token ends every session. Begun by a
//! login, asked by the gate.

use crate::secret_file;
use crate::token::{AdminToken, TokenError, random_hex};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::Now;

/// The file in the state folder.
pub(crate) const FILE: &str = "admin.sessions";
/// Life of a session, in seconds.
pub(crate) const SESSION_SECONDS: u64 = 30 * 86_400;
/// Sessions at once; the oldest ends for a new one.
const SESSIONS_MAX: usize = 256;
/// Largest file that is read, in bytes: a line has 64 digits, a blank, a time and its end.
const FILE_BYTES_MAX: u64 = SESSIONS_MAX as u64 * 96;

type Sum = [u8; 32];

/// Open sessions, by digest, with the moment when each ends in milliseconds since 1970.
pub(crate) struct OpenSessions {
    path: PathBuf,
    token: AdminToken,
    open: Mutex<HashMap<Sum, u64>>,
    /// Held while the file is written: what was begun last is what stands there.
    writing: Mutex<()>,
}

impl OpenSessions {
    /// The sessions of a state folder that have not ended. A file that cannot be read costs its
    /// sessions and nothing else.
    pub(crate) fn open(state_dir: &Path, token: AdminToken, now: Now) -> Self {
        let path = state_dir.join(FILE);
        let text = secret_file::read(&path, FILE_BYTES_MAX).unwrap_or_default();
        let latest_ms = now.unix_ms.saturating_add(SESSION_SECONDS * 1000);
        let open = text
            .lines()
            .filter_map(read_line)
            .filter(|(_, until_ms)| *until_ms > now.unix_ms)
            // Written under a clock that was wrong: it still ends in a month.
            .map(|(sum, until_ms)| (sum, until_ms.min(latest_ms)))
            .take(SESSIONS_MAX)
            .collect();
        Self { path, token, open: Mutex::new(open), writing: Mutex::default() }
    }

    /// Begins a session and gives its identifier. Writes the file.
    pub(crate) fn start(&self, now: Now) -> Result<String, TokenError> {
        let id = random_hex()?;
        let mut open = lock(&self.open);
        open.retain(|_, until_ms| *until_ms > now.unix_ms);
        if open.len() >= SESSIONS_MAX {
            let oldest = open.iter().min_by_key(|(_, until_ms)| **until_ms);
            if let Some(sum) = oldest.map(|(sum, _)| *sum) {
                open.remove(&sum);
            }
        }
        open.insert(self.digest(&id), now.unix_ms.saturating_add(SESSION_SECONDS * 1000));
        drop(open);
        self.write();
        Ok(id)
    }

    /// Ends a session. Writes the file, if there was such a session.
    pub(crate) fn end(&self, id: &str) {
        let was_open = lock(&self.open).remove(&self.digest(id)).is_some();
        if was_open {
            self.write();
        }
    }

    /// True while a session of this identifier is open.
    pub(crate) fn is_open(&self, id: &str, now: Now) -> bool {
        let until_ms = lock(&self.open).get(&self.digest(id)).copied();
        until_ms.is_some_and(|until_ms| until_ms > now.unix_ms)
    }

    fn digest(&self, id: &str) -> Sum {
        Sha256::new()
            .chain_update(self.token.as_str())
            .chain_update([0])
            .chain_update(id)
            .finalize()
            .into()
    }

    fn write(&self) {
        let _turn = lock(&self.writing);
        let mut text = String::new();
        for (sum, until_ms) in &*lock(&self.open) {
            for byte in sum {
                // A text grows in memory and cannot fail.
                let _ = write!(text, "{byte:02x}");
            }
            let _ = writeln!(text, " {until_ms}");
        }
        // On a full disk nobody is kept from signing in: the session ends with the program.
        let _ = secret_file::replace(&self.path, text.as_bytes());
    }
}

fn read_line(line: &str) -> Option<(Sum, u64)> {
    let (digits, until_ms) = line.split_once(' ')?;
    let mut sum = Sum::default();
    if digits.len() != sum.len() * 2 || !digits.is_ascii() {
        return None;
    }
    for (at, byte) in sum.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some((sum, until_ms.parse().ok()?))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Folder;
    use crate::token::TOKEN_FILE;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const DAY_MS: u64 = 86_400_000;

    fn at(unix_ms: u64) -> Now {
        Now { unix_ms, mono_ms: 0 }
    }

    fn open(folder: &Folder, now: Now) -> OpenSessions {
        OpenSessions::open(folder.path(), AdminToken::open(folder.path()).unwrap(), now)
    }

    #[test]
    fn a_session_outlives_a_restart_and_ends_when_it_is_over() {
        let folder = Folder::new();
        let id = open(&folder, at(0)).start(at(0)).unwrap();
        assert!(open(&folder, at(DAY_MS)).is_open(&id, at(DAY_MS)));
        let over = at(SESSION_SECONDS * 1000);
        assert!(!open(&folder, over).is_open(&id, over));
        let again = open(&folder, at(1));
        again.end(&id);
        assert!(!again.is_open(&id, at(1)));
        assert!(!open(&folder, at(1)).is_open(&id, at(1)), "a logout outlives it too");
    }

    #[test]
    fn the_file_is_secret_and_tells_no_identifier() {
        let folder = Folder::new();
        let id = open(&folder, at(0)).start(at(0)).unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&path).unwrap().contains(&id));
    }

    #[test]
    fn another_token_ends_every_session() {
        let folder = Folder::new();
        let id = open(&folder, at(0)).start(at(0)).unwrap();
        fs::remove_file(folder.path().join(TOKEN_FILE)).unwrap();
        assert!(!open(&folder, at(0)).is_open(&id, at(0)));
    }

    #[test]
    fn what_stands_in_the_file_is_believed_as_far_as_it_is_sound() {
        let folder = Folder::new();
        let id = open(&folder, at(0)).start(at(0)).unwrap();
        let path = folder.path().join(FILE);
        let good = fs::read_to_string(&path).unwrap();
        let odd = format!("\n x 1\n{} 9\n{} soup\n{good}", "é".repeat(32), "0".repeat(64));
        fs::write(&path, odd).unwrap();
        assert!(open(&folder, at(1)).is_open(&id, at(1)));
        fs::write(&path, good.replace(" 2592000000", " 18446744073709551615")).unwrap();
        let wrong_clock = open(&folder, at(1));
        assert!(!wrong_clock.is_open(&id, at(SESSION_SECONDS * 1000 + 1)), "it ends in a month");
        fs::write(&path, vec![0xff; 1 << 20]).unwrap();
        assert!(!open(&folder, at(1)).is_open(&id, at(1)));
    }

    #[test]
    fn the_oldest_ends_at_the_cap() {
        let folder = Folder::new();
        let sessions = open(&folder, at(0));
        let first = sessions.start(at(0)).unwrap();
        let second = sessions.start(at(1)).unwrap();
        for number in 1..SESSIONS_MAX as u64 {
            sessions.start(at(1 + number)).unwrap();
        }
        let now = at(SESSIONS_MAX as u64);
        assert!(!sessions.is_open(&first, now));
        assert!(sessions.is_open(&second, now));
        assert!(open(&folder, now).is_open(&second, now), "all of them fit into the file");
    }
}
