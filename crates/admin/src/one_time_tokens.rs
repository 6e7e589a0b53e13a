//! One-time tokens: what a form must bring back, once.
//!
//! Each is random, for one session and one purpose, and ends with its use or after a quarter of an
//! hour. A page of another site can neither read nor guess one. Asked by the page that lets a name
//! through.

use crate::token::{TokenError, random_hex};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Time for which a form may stand open before it is sent.
const LIFE_MS: u64 = 15 * 60_000;
/// Tokens at once, each in a page that a person has open; the oldest ends for a new one.
const TOKENS_MAX: usize = 256;

/// Tokens that are out.
#[derive(Default)]
pub(crate) struct OneTimeTokens(Mutex<HashMap<String, IssuedToken>>);

struct IssuedToken {
    session: String,
    purpose: String,
    until_ms: u64,
}

impl OneTimeTokens {
    /// A token for one use, in this session, for this purpose.
    pub(crate) fn issue(
        &self,
        session: &str,
        purpose: &str,
        now: Now,
    ) -> Result<String, TokenError> {
        let token = random_hex()?;
        let mut issued = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        issued.retain(|_, it| it.until_ms > now.mono_ms);
        if issued.len() >= TOKENS_MAX {
            let oldest = issued.iter().min_by_key(|(_, it)| it.until_ms);
            if let Some(token) = oldest.map(|(token, _)| token.clone()) {
                issued.remove(&token);
            }
        }
        let (session, purpose) = (session.to_owned(), purpose.to_owned());
        issued.insert(
            token.clone(),
            IssuedToken { session, purpose, until_ms: now.mono_ms + LIFE_MS },
        );
        Ok(token)
    }

    /// True if this token is out for that; from then on it is not.
    pub(crate) fn redeem(&self, token: &str, session: &str, purpose: &str, now: Now) -> bool {
        let mut issued = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = issued.remove(token);
        found.is_some_and(|it| {
            it.session == session && it.purpose == purpose && it.until_ms > now.mono_ms
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_token_is_good_once_for_its_session_and_purpose_and_for_a_while() {
        let once = OneTimeTokens::default();
        let issue = || once.issue("s", "p", at(0)).unwrap();
        let token = issue();
        assert!(once.redeem(&token, "s", "p", at(1)));
        assert!(!once.redeem(&token, "s", "p", at(2)), "used");
        assert!(!once.redeem(&issue(), "other", "p", at(1)));
        assert!(!once.redeem(&issue(), "s", "other", at(1)));
        assert!(!once.redeem(&issue(), "s", "p", at(LIFE_MS)), "too late");
        assert!(!once.redeem("", "s", "p", at(1)));
    }

    #[test]
    fn the_oldest_ends_at_the_cap() {
        let once = OneTimeTokens::default();
        let first = once.issue("s", "p", at(0)).unwrap();
        let second = once.issue("s", "p", at(1)).unwrap();
        for _ in 1..TOKENS_MAX {
            once.issue("s", "p", at(2)).unwrap();
        }
        assert!(!once.redeem(&first, "s", "p", at(3)));
        assert!(once.redeem(&second, "s", "p", at(3)));
    }
}
