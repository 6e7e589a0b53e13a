//! URLs of which this machine has heard that what was stored may be wrong: a request has changed
//! something there (RFC 9111 §4.4).
//!
//! The server is not told: what came before is not believed here, as it is not in the own store.

use std::collections::HashMap;
use vocab::Now;

/// URLs that are remembered; beyond it nothing is believed that was asked for until then.
const URLS_MAX: usize = 4096;
/// Lead of another machine's clock that is allowed for, in milliseconds.
const AHEAD_MS: u64 = 2_000;

/// URLs with the moment until which responses are not believed, in milliseconds since 1970.
#[derive(Debug, Default)]
pub(crate) struct ForgottenUrls {
    all_unix_ms: u64,
    urls: HashMap<Box<str>, u64>,
}

impl ForgottenUrls {
    /// Notes a URL.
    pub(crate) fn note(&mut self, url: &str, now: Now) {
        let until = now.unix_ms + AHEAD_MS;
        if self.urls.len() >= URLS_MAX && !self.urls.contains_key(url) {
            self.urls.clear();
            self.all_unix_ms = until;
        }
        self.urls.insert(url.into(), until);
    }

    /// True if a response that was asked for at this moment may be believed.
    pub(crate) fn is_past(&self, url: &str, requested_unix_ms: u64) -> bool {
        let of_url = self.urls.get(url).copied().unwrap_or(0);
        requested_unix_ms > of_url.max(self.all_unix_ms) || of_url.max(self.all_unix_ms) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(unix_ms: u64) -> Now {
        Now { unix_ms, mono_ms: 0 }
    }

    #[test]
    fn what_was_asked_for_before_a_change_is_not_believed() {
        let mut forgotten = ForgottenUrls::default();
        assert!(forgotten.is_past("a", 0));
        forgotten.note("a", at(10_000));
        assert!(!forgotten.is_past("a", 12_000) && forgotten.is_past("a", 12_001));
        assert!(forgotten.is_past("b", 1));
    }

    #[test]
    fn too_many_urls_are_all_forgotten() {
        let mut forgotten = ForgottenUrls::default();
        for number in 0..=URLS_MAX {
            forgotten.note(&number.to_string(), at(10_000));
        }
        assert!(forgotten.urls.len() <= URLS_MAX);
        assert!(!forgotten.is_past("0", 12_000) && !forgotten.is_past("b", 12_000));
        assert!(forgotten.is_past("b", 12_001));
    }
}
