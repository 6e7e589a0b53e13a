//! Wrong attempts, counted for each of those who make them, so that a flood of them costs little
//! and tells little.
//!
//! Asked by `admin` for clients that guess, and by the user accounts for users whose codes are
//! guessed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use vocab::Now;

/// Wrong attempts that one may make in a window.
const ATTEMPTS_MAX: u32 = 10;
const WINDOW_MS: u64 = 60_000;
/// Keys that are counted at once; at the cap the attempts of all others are too many.
pub const ATTEMPT_KEYS_MAX: usize = 1024;

/// Wrong attempts by key.
pub struct AttemptCounts<K>(Mutex<HashMap<K, AttemptWindow>>);

/// Wrong attempts of one key since the window began.
struct AttemptWindow {
    count: u32,
    since_ms: u64,
}

/// Judgement of one more wrong attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// One that is counted.
    Counted,
    /// One too many: whoever it is has to wait for a minute.
    TooMany,
}

impl<K: Eq + Hash> AttemptCounts<K> {
    /// Counts a wrong attempt.
    pub fn add(&self, key: K, now: Now) -> AttemptVerdict {
        let mut windows = self.lock();
        if windows.len() >= ATTEMPT_KEYS_MAX && !windows.contains_key(&key) {
            windows.retain(|_, window| !window.is_over(now));
            if windows.len() >= ATTEMPT_KEYS_MAX {
                return AttemptVerdict::TooMany;
            }
        }
        let fresh = || AttemptWindow { count: 0, since_ms: now.mono_ms };
        let window = windows.entry(key).or_insert_with(fresh);
        if window.is_over(now) {
            *window = fresh();
        }
        if window.is_full() {
            return AttemptVerdict::TooMany;
        }
        window.count += 1;
        AttemptVerdict::Counted
    }

    /// True while one more attempt of this key would be too many.
    pub(crate) fn is_full(&self, key: &K, now: Now) -> bool {
        self.lock().get(key).is_some_and(|window| window.is_full() && !window.is_over(now))
    }

    /// Takes back an attempt that was counted before it turned out to be right.
    pub fn forgive(&self, key: &K) {
        if let Some(window) = self.lock().get_mut(key) {
            window.count = window.count.saturating_sub(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, AttemptWindow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AttemptWindow {
    const fn is_over(&self, now: Now) -> bool {
        now.mono_ms >= self.since_ms + WINDOW_MS
    }

    const fn is_full(&self) -> bool {
        self.count >= ATTEMPTS_MAX
    }
}

impl<K> Default for AttemptCounts<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
