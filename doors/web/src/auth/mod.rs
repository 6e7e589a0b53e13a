//! Basic authentication (RFC 7617): a name and a password for parts of a site.
//!
//! Passwords are hashed, and checking one is dear on purpose: it runs off the core's thread, a few at
//! a time, and what was right is remembered for a minute under a key that nobody else knows. An
//! unknown name costs as much as a wrong password. It stores no password. Called by `request`.

mod hashes;
mod settings;

pub use self::settings::AuthSettings;
pub(crate) use self::settings::check;

use self::hashes::Hash;
use self::settings::check_user;
use crate::pattern::Pattern;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::header::{AUTHORIZATION, HeaderMap};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use vocab::{Complaint, Now};

/// Passwords checked at once: half of two cores is left for those that know theirs.
const JOBS_MAX: usize = 1;
/// Requests that wait for a check; the next is turned away: 503.
const WAITING_MAX: u32 = 64;
/// Credentials that are remembered as right.
const KNOWN_MAX: usize = 1024;
/// For so long, in milliseconds.
const KNOWN_MS: u64 = 60_000;
/// The longest field that is looked at, in bytes.
const FIELD_BYTES_MAX: usize = 1024;
/// The largest file of users, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What a request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody is asked here.
    Open,
    /// This user, proven.
    User(Arc<str>),
    /// The credentials must be checked first.
    Check(Credentials),
    /// A name and a password are due: 401 with this `WWW-Authenticate`.
    Denied(HeaderValue),
    /// Too many are being checked: 503.
    Busy,
}

/// A name and a password, not yet proven. Only their holder's entry can tell.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    entry: usize,
    user: Arc<str>,
    password: Vec<u8>,
    key: u128,
}

/// The guarded parts of a site.
pub(crate) struct Auth {
    entries: Vec<Entry>,
    known: Mutex<HashMap<u128, u64>>,
    /// Of this process alone.
    secret: [u8; 16],
    jobs: Arc<Semaphore>,
    waiting: AtomicU32,
}

struct Entry {
    pattern: Pattern,
    challenge: HeaderValue,
    users: BTreeMap<Box<str>, Hash>,
    /// What an unknown name's password is held against.
    nobody: Hash,
}

impl Auth {
    /// Reads the files of users, relative ones from `base`. Complaints have paths relative to `auth`.
    pub(crate) fn open(all: &[AuthSettings], base: &Path) -> Result<Self, Vec<Complaint>> {
        let (mut entries, mut complaints) = (Vec::new(), Vec::new());
        for (index, settings) in all.iter().enumerate() {
            match Entry::open(settings, base) {
                Ok(entry) => entries.push(entry),
                Err(found) => {
                    complaints.extend(found.into_iter().map(|it| it.under(&index.to_string())));
                }
            }
        }
        let mut secret = [0; 16];
        if let Err(why) = getrandom::fill(&mut secret) {
            complaints.push(Complaint::new("", format!("the system gives no randomness: {why}")));
        }
        if !complaints.is_empty() {
            return Err(complaints);
        }
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.pattern.len()));
        Ok(Self {
            entries,
            known: Mutex::default(),
            secret,
            jobs: Arc::new(Semaphore::new(JOBS_MAX)),
            waiting: AtomicU32::new(0),
        })
    }

    /// Whether somebody is asked at this decoded path.
    pub(crate) fn guards(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.pattern.matches(path))
    }

    /// What a request for this decoded path gets, without waiting.
    pub(crate) fn access(&self, path: &str, headers: &HeaderMap, now: Now) -> Access {
        let Some(at) = self.entries.iter().position(|entry| entry.pattern.matches(path)) else {
            return Access::Open;
        };
        let Some((user, password)) = credentials(headers) else {
            return Access::Denied(self.entries[at].challenge.clone());
        };
        let key = self.key(at, &user, &password);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(&key).is_some_and(|until| now.mono_ms < *until) {
            return Access::User(user.into());
        }
        Access::Check(Credentials { entry: at, user: user.into(), password, key })
    }

    /// Checks what [`Auth::access`] could not say.
    pub(crate) async fn check(&self, credentials: Credentials, now: Now) -> Access {
        let Some(entry) = self.entries.get(credentials.entry) else { return Access::Busy };
        let Credentials { user, password, key, .. } = credentials;
        let (hash, exists) = match entry.users.get(&*user) {
            Some(hash) => (hash.clone(), Exists::Yes),
            None => (entry.nobody.clone(), Exists::No),
        };
        if self.waiting.fetch_add(1, Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Relaxed);
            return Access::Busy;
        }
        let turn = {
            let _place = Place(&self.waiting);
            Arc::clone(&self.jobs).acquire_owned().await
        };
        let Ok(turn) = turn else { return Access::Busy };
        let work = spawn_blocking(move || {
            let right = hash.is_of(&password);
            drop(turn);
            right
        });
        let right = work.await.unwrap_or(false);
        if right && exists == Exists::Yes {
            self.remember(key, now);
            Access::User(user)
        } else {
            Access::Denied(entry.challenge.clone())
        }
    }

    fn remember(&self, key: u128, now: Now) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            known.retain(|_, until| now.mono_ms < *until);
        }
        // Still full: whoever is not remembered is checked again, and nothing else.
        if known.len() < KNOWN_MAX {
            known.insert(key, now.mono_ms.saturating_add(KNOWN_MS));
        }
    }

    fn key(&self, entry: usize, user: &str, password: &[u8]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_usize(entry);
        hasher.write_usize(user.len());
        hasher.write(user.as_bytes());
        hasher.write(password);
        hasher.finish128().as_u128()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Exists {
    Yes,
    No,
}

/// A place among those that wait.
struct Place<'w>(&'w AtomicU32);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the password.
        write!(f, "Credentials({:?})", self.user)
    }
}

impl Entry {
    fn open(settings: &AuthSettings, base: &Path) -> Result<Self, Vec<Complaint>> {
        let mut complaints = settings.check();
        let mut all: Vec<(String, String)> =
            settings.users.iter().map(|(user, hash)| (user.clone(), hash.clone())).collect();
        if let Some(file) = &settings.file {
            match read_file(&base.join(file)) {
                Ok(text) => all.extend(users_of(&text, file, &mut complaints)),
                Err(why) => {
                    let complaint = Complaint::new("file", format!("{file}: {why}"));
                    complaints.push(complaint.remedy("name a file that this user may read"));
                }
            }
        }
        let mut users = BTreeMap::new();
        for (user, hash) in &all {
            if let Ok(hash) = Hash::parse(hash) {
                users.insert(user.as_str().into(), hash);
            }
        }
        let nobody = users.values().next().cloned();
        if nobody.is_none() && complaints.is_empty() {
            complaints.push(Complaint::new("file", "the file has no users"));
        }
        let challenge = format!("Basic realm=\"{}\", charset=\"UTF-8\"", settings.realm);
        match (HeaderValue::from_str(&challenge), Pattern::whole(&settings.path), nobody) {
            (Ok(challenge), Ok(pattern), Some(nobody)) if complaints.is_empty() => {
                Ok(Self { pattern, challenge, users, nobody })
            }
            _ => Err(complaints),
        }
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    if std::fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("longer than {FILE_BYTES_MAX} bytes")));
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
            // The line is named, never quoted: it may be somebody's password.
            Some(mut complaint) => {
                complaint.message = format!("{file}, line {}: {}", index + 1, complaint.message);
                complaints.push(complaint);
            }
            None => users.push((user.to_owned(), hash.to_owned())),
        }
    }
    users
}

/// The name and password of a request (RFC 7617 §2).
fn credentials(headers: &HeaderMap) -> Option<(String, Vec<u8>)> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let field = fields.next()?.as_bytes();
    // Two of them: which one would a script take?
    if fields.next().is_some() || field.len() > FIELD_BYTES_MAX {
        return None;
    }
    let (scheme, rest) = field.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = STANDARD.decode(rest.trim_ascii()).ok()?;
    let colon = decoded.iter().position(|it| *it == b':')?;
    let user = String::from_utf8(decoded[..colon].to_vec()).ok()?;
    Some((user, decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { unix_ms: 0, mono_ms: 1_000 };

    fn auth(users: &[(&str, &str)]) -> Auth {
        let users = users
            .iter()
            .map(|(user, password)| ((*user).into(), bcrypt::hash(password, 4).unwrap()))
            .collect();
        let settings = AuthSettings { path: "/in/*".into(), users, ..AuthSettings::default() };
        Auth::open(&[settings], Path::new("/")).unwrap()
    }

    fn asking(user: &str, password: &str) -> HeaderMap {
        let field = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())])
    }

    async fn outcome(auth: &Auth, headers: &HeaderMap) -> Access {
        match auth.access("/in/x", headers, NOW) {
            Access::Check(credentials) => auth.check(credentials, NOW).await,
            at_once => at_once,
        }
    }

    #[tokio::test]
    async fn the_right_password_is_checked_once_a_minute() {
        let auth = auth(&[("ann", "secret:with colon")]);
        let headers = asking("ann", "secret:with colon");
        assert_eq!(auth.access("/out", &HeaderMap::new(), NOW), Access::Open);
        assert_eq!(outcome(&auth, &headers).await, Access::User("ann".into()));
        assert_eq!(auth.access("/in/y", &headers, NOW), Access::User("ann".into()));
        let later = Now { mono_ms: NOW.mono_ms + KNOWN_MS, ..NOW };
        assert!(matches!(auth.access("/in/y", &headers, later), Access::Check(_)));
    }

    #[tokio::test]
    async fn what_is_wrong_is_denied_and_never_remembered() {
        let auth = auth(&[("ann", "secret")]);
        for (user, password) in [("ann", "wrong"), ("bob", "secret"), ("", ""), ("ann", "")] {
            let headers = asking(user, password);
            for _ in 0..2 {
                assert!(matches!(outcome(&auth, &headers).await, Access::Denied(_)), "{user}");
            }
        }
        let denied = auth.access("/in/x", &HeaderMap::new(), NOW);
        let Access::Denied(challenge) = denied else { panic!("{denied:?}") };
        assert_eq!(challenge, "Basic realm=\"Restricted\", charset=\"UTF-8\"");
    }

    #[test]
    fn malformed_credentials_are_none() {
        for field in ["Basic", "Basic !!!", "Bearer abc", "Basic YWJj", "basic", "Basic /////w=="] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, field.parse().unwrap())]);
            assert_eq!(credentials(&headers), None, "{field}");
        }
        let mut twice = asking("a", "b");
        twice.append(AUTHORIZATION, "Basic YTpi".parse().unwrap());
        assert_eq!(credentials(&twice), None);
    }

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
