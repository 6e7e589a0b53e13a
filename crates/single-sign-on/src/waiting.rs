//! Sign-ins that are under way: begun here, and with the provider now.
//!
//! Each is for the browser that began it, holds once, and ends after ten minutes. Asked by
//! [`crate::SingleSignOn`].

use crate::failure::SignOnFailure;
use crate::random_text::{challenge, is_same, random_text};
use rate_limit::client_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Time that a sign-in may take, in seconds.
pub const SIGN_ON_SECONDS: u64 = 10 * 60;
/// Sign-ins at once; the oldest ends for a new one.
const WAITING_MAX: usize = 512;
/// Sign-ins of one client (a /64 of IPv6) at once: nobody ends those of others by beginning many.
const WAITING_OF_ONE_MAX: usize = 16;

/// Sign-ins that are under way, by their state.
#[derive(Default)]
pub(crate) struct WaitingSignOns(Mutex<HashMap<String, WaitingSignOn>>);

/// A sign-in that is under way.
#[derive(Clone)]
pub(crate) struct WaitingSignOn {
    /// Text in the cookie of the browser that began it.
    browser: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
    client: IpAddr,
    until_ms: u64,
}

/// Texts that a new sign-in goes out with.
pub(crate) struct BegunSignOn {
    pub(crate) browser: String,
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) challenge: String,
}

impl WaitingSignOns {
    /// Begins one for a client.
    pub(crate) fn begin(&self, client: IpAddr, now: Now) -> Result<BegunSignOn, SignOnFailure> {
        let client = client_of(client);
        let (state, verifier) = (random_text()?, random_text()?);
        let sign_on = WaitingSignOn {
            browser: random_text()?,
            nonce: random_text()?,
            verifier,
            client,
            until_ms: now.mono_ms + SIGN_ON_SECONDS * 1000,
        };
        let begun = BegunSignOn {
            browser: sign_on.browser.clone(),
            state: state.clone(),
            nonce: sign_on.nonce.clone(),
            challenge: challenge(&sign_on.verifier),
        };
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, it| it.until_ms > now.mono_ms);
        let is_own = |it: &WaitingSignOn| it.client == client;
        if waiting.values().filter(|it| is_own(it)).count() >= WAITING_OF_ONE_MAX {
            remove_oldest(&mut waiting, is_own);
        } else if waiting.len() >= WAITING_MAX {
            remove_oldest(&mut waiting, |_| true);
        }
        waiting.insert(state, sign_on);
        Ok(begun)
    }

    /// Takes the one of this state, if this browser began it. Whatever comes of it, it is over.
    pub(crate) fn take(
        &self,
        state: &str,
        browser: Option<&str>,
        now: Now,
    ) -> Result<WaitingSignOn, SignOnFailure> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = waiting.remove(state).filter(|it| it.until_ms > now.mono_ms);
        let found = found.ok_or(SignOnFailure::UnknownState)?;
        if browser.is_some_and(|it| is_same(it, &found.browser)) {
            Ok(found)
        } else {
            Err(SignOnFailure::OtherBrowser)
        }
    }
}

fn remove_oldest(
    waiting: &mut HashMap<String, WaitingSignOn>,
    is_meant: impl Fn(&WaitingSignOn) -> bool,
) {
    let oldest = waiting.iter().filter(|(_, it)| is_meant(it)).min_by_key(|(_, it)| it.until_ms);
    if let Some(state) = oldest.map(|(state, _)| state.clone()) {
        waiting.remove(&state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;

    const ANNA: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 7));

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn one_holds_once_for_its_browser_and_for_ten_minutes() {
        let waiting = WaitingSignOns::default();
        let begin = || waiting.begin(ANNA, at(0)).unwrap();
        let take = |begun: &BegunSignOn, browser: Option<&str>, mono_ms| {
            waiting.take(&begun.state, browser, at(mono_ms)).map(|it| it.nonce)
        };
        let one = begin();
        assert_eq!(take(&one, Some(&one.browser), 1), Ok(one.nonce.clone()));
        assert_eq!(take(&one, Some(&one.browser), 2), Err(SignOnFailure::UnknownState));
        for browser in [None, Some(""), Some(begin().browser.as_str())] {
            let one = begin();
            assert_eq!(take(&one, browser, 1), Err(SignOnFailure::OtherBrowser));
            let now_the_right_one = take(&one, Some(&one.browser), 1);
            assert_eq!(now_the_right_one, Err(SignOnFailure::UnknownState), "it was shown already");
        }
        let slow = begin();
        let late = take(&slow, Some(&slow.browser), SIGN_ON_SECONDS * 1000);
        assert_eq!(late, Err(SignOnFailure::UnknownState));
    }

    #[test]
    fn who_begins_many_ends_his_own() {
        let waiting = WaitingSignOns::default();
        let first = waiting.begin(ANNA, at(0)).unwrap();
        for number in 0..WAITING_OF_ONE_MAX as u16 * 2 {
            let other = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number);
            waiting.begin(other.into(), at(1)).unwrap();
        }
        assert_eq!(waiting.0.lock().unwrap().len(), 1 + WAITING_OF_ONE_MAX);
        assert!(waiting.take(&first.state, Some(&first.browser), at(2)).is_ok());
    }

    #[test]
    fn the_oldest_ends_at_the_cap() {
        let waiting = WaitingSignOns::default();
        let first = waiting.begin(ANNA, at(0)).unwrap();
        for number in 0..WAITING_MAX as u16 {
            let other = Ipv6Addr::new(0x2001, 0xdb8, 0, number, 0, 0, 0, 1);
            waiting.begin(other.into(), at(1)).unwrap();
        }
        assert_eq!(waiting.0.lock().unwrap().len(), WAITING_MAX);
        assert!(waiting.take(&first.state, Some(&first.browser), at(2)).is_err());
    }
}
