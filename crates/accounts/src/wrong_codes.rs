//! Wrong codes of two-step sign-in, counted for each user.
//!
//! Six digits are a million: without a bound whoever knows a password would have tried them all in
//! hours. Asked by the user accounts, and for their users alone, of which there are few.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Wrong codes of a user in a window; further ones are not looked at.
const WRONG_CODES_MAX: u32 = 10;
const WINDOW_MS: u64 = 60_000;

/// Wrong codes of each user since the window began.
#[derive(Default)]
pub(crate) struct WrongCodes(Mutex<HashMap<String, (u32, u64)>>);

impl WrongCodes {
    /// True while no code of this user is looked at.
    pub(crate) fn is_full(&self, user: &str, now: Now) -> bool {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(user);
        window.is_some_and(|(count, since_ms)| {
            *count >= WRONG_CODES_MAX && now.mono_ms < since_ms + WINDOW_MS
        })
    }

    /// Counts a wrong code.
    pub(crate) fn add(&self, user: &str, now: Now) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|_, (_, since_ms)| now.mono_ms < *since_ms + WINDOW_MS);
        windows.entry(user.to_owned()).or_insert((0, now.mono_ms)).0 += 1;
    }
}
