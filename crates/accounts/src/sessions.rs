//! Sessions of browsers, kept in the state folder so that a restart signs nobody out.
//!
//! A browser has a random identifier in its cookie; the file holds digests of identifier and salt,
//! so that who reads it cannot sign in with it, and another salt ends every session. Begun by a
//! login, asked by the gate of `admin`, whose token is the salt.

use crate::private_file::lock;
use crate::random_text::{hex, random_digits};
use durable_file::{FileReplacement, NameDurability};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use vocab::Now;

/// The file in the state folder.
const FILE: &str = "admin.sessions";
/// Life of a session, in seconds.
pub const SESSION_SECONDS: u64 = 30 * 86_400;
/// Life of a session that single sign-on began, in seconds: who is let in no more by the provider
/// is out here within a working day.
pub const SIGN_ON_SESSION_SECONDS: u64 = 12 * 3600;
/// Sessions at once; the oldest ends for a new one.
const SESSIONS_MAX: usize = 512;
/// Sessions of one user at once: nobody ends the sessions of others by beginning many.
const SESSIONS_OF_ONE_MAX: usize = 32;
/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = SESSIONS_MAX as u64 * 1024;
/// Characters of a browser's name that are kept.
const AGENT_LENGTH_MAX: usize = 200;
/// Digits of a digest that name a session in the API: enough to tell it, too few to have it.
const ID_DIGITS: usize = 16;
/// Time after which a session's use is worth writing down, in milliseconds.
const USE_WRITTEN_MS: u64 = 3_600_000;

/// Open sessions, by digest.
pub struct OpenSessions {
    path: PathBuf,
    /// Text that digests are made with: another one ends every session.
    salt: String,
    open: Mutex<HashMap<String, StoredSession>>,
    /// Held while the file is written: what was begun last is what stands there.
    writing: Mutex<()>,
}

/// A session, as the file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    /// Digest of salt and identifier.
    digest: String,
    /// The user; none for who came by the token.
    pub user: Option<String>,
    /// The moment of its beginning, in milliseconds since 1970.
    pub began_ms: u64,
    /// The moment of its last use.
    pub seen_ms: u64,
    /// The moment of its end.
    pub until_ms: u64,
    /// Address from which it was begun.
    pub client: String,
    /// Browser, as it calls itself.
    pub agent: String,
    /// The last use that the file knows.
    #[serde(skip)]
    written_ms: u64,
}

/// Somebody who begins a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStart {
    /// The user; none for who comes by the token.
    pub user: Option<String>,
    /// Address from which it is begun.
    pub client: String,
    /// Browser, as it calls itself.
    pub agent: String,
    /// Life, in seconds: at most [`SESSION_SECONDS`].
    pub life_s: u64,
}

/// Sessions that are to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd<'s> {
    /// The one that the API calls so.
    Id(&'s str),
    /// All of a user, but perhaps one.
    OfUser {
        /// The user.
        user: &'s str,
        /// Name in the API of the one that goes on.
        but: Option<&'s str>,
    },
}

impl OpenSessions {
    /// The sessions of a state folder that have not ended. A file that cannot be read costs its
    /// sessions and nothing else.
    pub fn open(state_dir: &Path, salt: &str, now: Now) -> Self {
        let path = state_dir.join(FILE);
        let text = read(&path).unwrap_or_default();
        let latest_ms = now.unix_ms.saturating_add(SESSION_SECONDS * 1000);
        let open = text
            .lines()
            .filter_map(|line| serde_json::from_str::<StoredSession>(line).ok())
            .filter(|session| session.until_ms > now.unix_ms)
            .take(SESSIONS_MAX)
            .map(|mut session| {
                // Written under a clock that was wrong: it still ends in a month.
                session.until_ms = session.until_ms.min(latest_ms);
                session.written_ms = session.seen_ms;
                (session.digest.clone(), session)
            })
            .collect();
        Self { path, salt: salt.to_owned(), open: Mutex::new(open), writing: Mutex::default() }
    }

    /// Begins a session and gives its identifier. Writes the file.
    pub fn start(&self, start: SessionStart, now: Now) -> io::Result<String> {
        let id = random_digits::<32>()?;
        let digest = self.digest(&id);
        let session = StoredSession {
            digest: digest.clone(),
            user: start.user,
            began_ms: now.unix_ms,
            seen_ms: now.unix_ms,
            until_ms: now.unix_ms.saturating_add(start.life_s.min(SESSION_SECONDS) * 1000),
            client: start.client,
            agent: start.agent.chars().take(AGENT_LENGTH_MAX).collect(),
            written_ms: now.unix_ms,
        };
        let mut open = lock(&self.open);
        open.retain(|_, it| it.until_ms > now.unix_ms);
        let is_own = |it: &StoredSession| it.user == session.user;
        if open.values().filter(|it| is_own(it)).count() >= SESSIONS_OF_ONE_MAX {
            remove_oldest(&mut open, is_own);
        } else if open.len() >= SESSIONS_MAX {
            remove_oldest(&mut open, |_| true);
        }
        open.insert(digest, session);
        drop(open);
        self.write();
        Ok(id)
    }

    /// Ends a session by its identifier. Writes the file, if there was such a session.
    pub fn end(&self, id: &str) {
        let was_open = lock(&self.open).remove(&self.digest(id)).is_some();
        if was_open {
            self.write();
        }
    }

    /// Ends sessions and gives their number. Writes the file, if there were any.
    pub fn end_some(&self, end: SessionEnd<'_>) -> usize {
        let mut open = lock(&self.open);
        let before = open.len();
        open.retain(|_, it| match end {
            SessionEnd::Id(id) => it.id() != id,
            SessionEnd::OfUser { user, but } => {
                it.user.as_deref() != Some(user) || but == Some(it.id())
            }
        });
        let ended = before - open.len();
        drop(open);
        if ended > 0 {
            self.write();
        }
        ended
    }

    /// The session of this identifier, which is used now.
    pub fn touch(&self, id: &str, now: Now) -> Option<StoredSession> {
        let digest = self.digest(id);
        let mut open = lock(&self.open);
        let session = open.get_mut(&digest).filter(|it| it.until_ms > now.unix_ms)?;
        session.seen_ms = now.unix_ms;
        Some(session.clone())
    }

    /// All open sessions, the one that was used last first.
    pub fn list(&self, now: Now) -> Vec<StoredSession> {
        let open = lock(&self.open);
        let mut all: Vec<_> =
            open.values().filter(|it| it.until_ms > now.unix_ms).cloned().collect();
        all.sort_unstable_by(|a, b| (b.seen_ms, &b.digest).cmp(&(a.seen_ms, &a.digest)));
        all
    }

    /// True if a use should be written down by [`OpenSessions::write`]: at most once an hour.
    pub fn is_write_due(&self) -> bool {
        lock(&self.open).values().any(|it| it.seen_ms > it.written_ms + USE_WRITTEN_MS)
    }

    fn digest(&self, id: &str) -> String {
        let salted = Sha256::new().chain_update(&self.salt).chain_update([0]);
        hex(&salted.chain_update(id).finalize())
    }

    /// Writes the file.
    pub fn write(&self) {
        let _turn = lock(&self.writing);
        let mut text = String::new();
        for session in lock(&self.open).values_mut() {
            session.written_ms = session.seen_ms;
            // A session is plain data, which always turns into JSON.
            text.push_str(&serde_json::to_string(session).unwrap_or_default());
            text.push('\n');
        }
        // On a full disk nobody is kept from signing in: the session ends with the program.
        let durability = NameDurability::Tried;
        let file = FileReplacement { durability, ..FileReplacement::private(&self.path) };
        let _ = file.write(text.as_bytes());
    }
}

impl StoredSession {
    /// Name of it in the API.
    pub fn id(&self) -> &str {
        self.digest.get(..ID_DIGITS).unwrap_or_default()
    }
}

/// Text of the file, as much as it may have.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

fn remove_oldest(
    open: &mut HashMap<String, StoredSession>,
    is_meant: impl Fn(&StoredSession) -> bool,
) {
    let oldest = open.values().filter(|it| is_meant(it)).min_by_key(|it| it.until_ms);
    if let Some(digest) = oldest.map(|it| it.digest.clone()) {
        open.remove(&digest);
    }
}

#[cfg(test)]
mod tests;
