//! Taking back what is stored, and telling what is: for the administrator.
//!
//! Called through the doors by the admin API.

use crate::http_cache::HttpCache;
use store::{Purge, PurgeError, PurgeReport, PurgeStrength, StoreFigures};

/// Which stored responses to take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PurgeTarget {
    /// All variants of this URL.
    Url(String),
    /// Those whose URL begins so.
    Prefix(String),
    /// Those of this host, whatever their port.
    Host(String),
    /// Those that carry this tag (`Surrogate-Key`, `Cache-Tag`).
    Tag(String),
    /// All.
    Everything,
}

impl HttpCache {
    /// Takes stored responses back: they are gone, or softly, stale. Waits for the disk.
    pub fn purge(
        &self,
        what: &PurgeTarget,
        strength: PurgeStrength,
    ) -> Result<PurgeReport, PurgeError> {
        let store = self.store();
        let purge = match what {
            PurgeTarget::Url(url) => Purge::Key(store.key(&canonical(url)).hash()),
            PurgeTarget::Prefix(prefix) => Purge::Prefix(canonical(prefix)),
            PurgeTarget::Host(host) => Purge::Host(host.to_ascii_lowercase()),
            PurgeTarget::Tag(tag) => Purge::Tag(tag.clone()),
            PurgeTarget::Everything => Purge::Everything,
        };
        store.purge(&purge, strength, (self.clock)())
    }

    /// Returns what is known of a URL: a sentence for each stored variant and for what is under
    /// way; none where it is not stored.
    pub fn explain(&self, url: &str) -> Vec<String> {
        let store = self.store();
        store.explain(&store.key(&canonical(url)), &self.rules, (self.clock)())
    }

    /// Returns how its store stands.
    pub fn stats(&self) -> StoreFigures {
        self.store().stats()
    }
}

/// A URL in the form that responses are filed under: scheme and host in lower case, no default
/// port, no fragment, a path. What is no URL stays as it is, and is found nowhere.
pub(crate) fn canonical(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default).unwrap_or(&authority);
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://{authority}{slash}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_found_however_it_is_written() {
        for (written, filed) in [
            ("HTTP://WWW.Example:80/A?B#c", "http://www.example/A?B"),
            ("https://a.example:443", "https://a.example/"),
            ("https://a.example:80/", "https://a.example:80/"),
            ("http://a.example?x", "http://a.example/?x"),
            ("http://[::1]:80/x", "http://[::1]/x"),
            ("soup", "soup"),
        ] {
            assert_eq!(canonical(written), filed);
        }
    }
}
