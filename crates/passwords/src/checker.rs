//! Where passwords are checked: dear on purpose, so off the core's thread and a few at a time.
//!
//! What was right is remembered for a minute under a key that nobody else knows. An unknown name
//! costs as much as a wrong password. Called by the doors.

use crate::basic::BasicCredentials;
use crate::users::{UserExistence, UserTable};
use siphasher::sip128::{Hasher128, SipHasher24};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hasher;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use vocab::Now;

/// Passwords checked at once: half of two cores is left for those that know theirs.
const JOBS_MAX: usize = 1;
/// Requests that wait for a check; the next is turned away as [`LoginOutcome::Busy`].
const WAITING_MAX: u32 = 64;
/// Credentials that are remembered as right.
const VERIFIED_MAX: usize = 1024;
/// For so long, in milliseconds.
const VERIFIED_MS: u64 = 60_000;

/// Checks passwords.
pub struct PasswordChecker {
    verified: Mutex<HashMap<u128, u64>>,
    /// Of this desk alone.
    secret: [u8; 16],
    jobs: Arc<Semaphore>,
    waiting: AtomicU32,
}

/// Credentials for one set of users, not proven.
#[derive(Clone, PartialEq, Eq)]
pub struct LoginAttempt {
    user: Arc<str>,
    password: Vec<u8>,
    key: u128,
}

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginOutcome {
    /// Is this user.
    Accepted(Arc<str>),
    /// Nobody, or a wrong password.
    Wrong,
    /// Too many wait already.
    Busy,
}

impl PasswordChecker {
    /// A desk that remembers nobody. Fails where the system gives no randomness.
    pub fn new() -> io::Result<Self> {
        let mut secret = [0; 16];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(Self {
            verified: Mutex::default(),
            secret,
            jobs: Arc::new(Semaphore::new(JOBS_MAX)),
            waiting: AtomicU32::new(0),
        })
    }

    /// An attempt to be one of the users whom the caller counts as number `room`.
    pub fn attempt(&self, room: usize, shown: BasicCredentials) -> LoginAttempt {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        hasher.write_usize(room);
        hasher.write_usize(shown.user.len());
        hasher.write(shown.user.as_bytes());
        hasher.write(&shown.password);
        let key = hasher.finish128().as_u128();
        LoginAttempt { user: shown.user.into(), password: shown.password, key }
    }

    /// The user, if the same was right within the last minute.
    pub fn remembers(&self, attempt: &LoginAttempt, now: Now) -> Option<Arc<str>> {
        let known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = known.get(&attempt.key).is_some_and(|until| now.mono_ms < *until);
        is_known.then(|| Arc::clone(&attempt.user))
    }

    /// Checks it against `users`. Within a tokio run time only.
    pub async fn check(&self, users: &UserTable, attempt: LoginAttempt, now: Now) -> LoginOutcome {
        let LoginAttempt { user, password, key } = attempt;
        let (hash, exists) = users.hash_of(&user);
        let hash = hash.clone();
        if self.waiting.fetch_add(1, Relaxed) >= WAITING_MAX {
            self.waiting.fetch_sub(1, Relaxed);
            return LoginOutcome::Busy;
        }
        let turn = {
            let _place = CheckPermit(&self.waiting);
            Arc::clone(&self.jobs).acquire_owned().await
        };
        let Ok(turn) = turn else { return LoginOutcome::Busy };
        let work = spawn_blocking(move || {
            let right = hash.is_of(&password);
            drop(turn);
            right
        });
        let right = work.await.unwrap_or(false);
        if right && exists == UserExistence::Yes {
            self.remember(key, now);
            LoginOutcome::Accepted(user)
        } else {
            LoginOutcome::Wrong
        }
    }

    fn remember(&self, key: u128, now: Now) {
        let mut known = self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= VERIFIED_MAX {
            known.retain(|_, until| now.mono_ms < *until);
        }
        // Still full: whoever is not remembered is checked again, and nothing else.
        if known.len() < VERIFIED_MAX {
            known.insert(key, now.mono_ms.saturating_add(VERIFIED_MS));
        }
    }
}

/// A place among those that wait.
struct CheckPermit<'w>(&'w AtomicU32);

impl Drop for CheckPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for PasswordChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

impl fmt::Debug for LoginAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the password.
        write!(f, "Attempt({:?})", self.user)
    }
}
