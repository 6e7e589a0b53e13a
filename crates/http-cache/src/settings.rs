//! What can be set for a door's cache.
//!
//! It opens nothing. Read by `config` as part of the doors' sections.

use crate::freshness::FreshnessRule;
use http_freshness::{CacheAudience, CachingRules, RedirectStorage, SetCookie, StaleUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::path::{Path, PathBuf};
use store::DiskSettings;
use vocab::{ByteSize, Complaint};

/// A cache.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Memory for stored responses and for bodies on their way, together. What is stored gives way
    /// to what is on its way. Default 256MiB, from 256KiB to 1TiB.
    pub memory: Text<ByteSize>,
    /// The longest body that is kept in memory. Default 32MiB, from 0 to 1TiB.
    pub memory_object: Text<ByteSize>,
    /// A fetch whose last client has left is finished, so that its answer can be stored, if at
    /// least this share of the body is there, in percent, or if the body is at most 1 MiB long.
    /// Default 50, from 0 (always) to 100 (never, unless small).
    pub finish_percent: u8,
    /// Use of stale answers that the origin has not explicitly allowed: `never`, `unreachable` (the
    /// default: when the origin cannot be reached), `failing` (also when it answers 500, 502, 503
    /// or 504), `always` (at once, while a new one is fetched) or `offline` (always, and nothing is
    /// fetched).
    pub stale: StalePolicy,
    /// A folder in which answers outlive a restart, and find room that memory has not. Default:
    /// none.
    pub disk: Option<DiskSettings>,
    /// URLs whose answers are neither stored nor taken from what is stored, as rules of filter
    /// lists without options: `||live.example^` (a host with all below it), `||www.example/feed/*`
    /// (all that begins so), `/expression/`; `@@` in front spares what it matches. At most 10000.
    /// For the proxy alone: the gateway's routes say it by `cache`. Default: none.
    pub never: Vec<String>,
    /// Audience of the cache: `true` (the default) for several people, `false` for one person, who
    /// is then sent again what is for nobody else: answers marked `private`, and answers to
    /// requests with `Authorization`. `s-maxage` and `proxy-revalidate` do not count then. On disk
    /// it has a folder of its own, `PATH/private`. For the proxy alone.
    pub shared: bool,
    /// Storing of answers that set a cookie: `true` (the default) without it, which goes to the
    /// client alone that caused the fetch, `false` not at all. For the proxy alone.
    pub store_cookies: bool,
    /// Storing of redirects (300 to 303, 307 and 308): `true` (the default) as of other answers,
    /// `false` not at all.
    pub store_redirects: bool,
    /// For how long answers of certain URLs are fresh: the first rule whose `urls` name the URL
    /// counts. `no-store`, `no-cache` and `must-revalidate` are obeyed all the same. At most 100.
    /// For the proxy alone. Default: none.
    pub freshness: Vec<FreshnessRule>,
}

/// When an answer is sent past its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StalePolicy {
    /// Only as origin or client allow.
    Never,
    /// When the origin cannot be reached.
    #[default]
    Unreachable,
    /// And when it answers with an error.
    Failing,
    /// Always; a new one is fetched meanwhile.
    Always,
    /// Always; nothing is fetched.
    Offline,
}

impl Default for Settings {
    fn default() -> Self {
        let store = store::Settings::default();
        Self {
            memory: store.memory,
            memory_object: store.memory_object,
            finish_percent: store.finish_percent,
            stale: StalePolicy::default(),
            disk: None,
            never: Vec::new(),
            shared: true,
            store_cookies: true,
            store_redirects: true,
            freshness: Vec::new(),
        }
    }
}

impl Settings {
    /// Everything that is wrong; paths are relative to the section.
    pub fn check(&self) -> Vec<Complaint> {
        self.store(Path::new("")).check()
    }

    /// Everything in it that a cache before one's own origins, for all their visitors, cannot have.
    pub fn check_reverse(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if !self.never.is_empty() {
            complaints.push(
                Complaint::new("never", "the gateway's routes say what is kept")
                    .remedy("leave cache out of the routes whose answers are not to be kept"),
            );
        }
        if !self.shared {
            complaints.push(
                Complaint::new("shared", "the gateway's cache is for all its visitors")
                    .remedy("leave it out, and leave cache out of routes that are for one person"),
            );
        }
        if !self.store_cookies {
            complaints.push(
                Complaint::new("store_cookies", "the gateway's routes say what becomes of cookies")
                    .remedy("leave it out: without a word of theirs such answers are not kept"),
            );
        }
        if !self.freshness.is_empty() {
            complaints.push(
                Complaint::new("freshness", "the gateway's servers say for how long it is fresh")
                    .remedy("leave it out, and have them send Cache-Control"),
            );
        }
        complaints
    }

    /// Returns who is served from it.
    pub(crate) const fn audience(&self) -> CacheAudience {
        if self.shared { CacheAudience::Shared } else { CacheAudience::Private }
    }

    /// Returns what the store has to know. `folder`: where a relative path of its disk tier begins.
    pub(crate) fn store(&self, folder: &Path) -> store::Settings {
        let disk = self.disk.as_ref().map(|disk| {
            // Joined, an empty path would become the folder itself.
            let is_empty = disk.path.as_os_str().is_empty();
            let mut path = if is_empty { PathBuf::new() } else { folder.join(&disk.path) };
            // What is one person's must not be found by a cache that several share later.
            if !self.shared && !is_empty {
                path.push(store::PRIVATE_FOLDER);
            }
            DiskSettings { path, size: disk.size }
        });
        store::Settings {
            memory: self.memory,
            memory_object: self.memory_object,
            finish_percent: self.finish_percent,
            disk,
        }
    }

    /// On which terms responses are stored and sent, beside what the door's kind says.
    pub(crate) const fn rules(&self, of_door: &CachingRules) -> CachingRules {
        let stale = match self.stale {
            StalePolicy::Never => StaleUse::OnlyIfAllowed,
            StalePolicy::Unreachable => StaleUse::WhenUnreachable,
            StalePolicy::Failing => StaleUse::WhenFailing,
            StalePolicy::Always => StaleUse::Always,
            StalePolicy::Offline => StaleUse::Offline,
        };
        let cookies = if self.store_cookies { of_door.cookies } else { SetCookie::Refused };
        let redirects =
            if self.store_redirects { of_door.redirects } else { RedirectStorage::Refused };
        CachingRules { audience: self.audience(), stale, cookies, redirects, ..*of_door }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_persons_cache_is_in_a_folder_below_the_shared_one() {
        let at = |shared, path: &str| {
            let size = store::DiskSettings { path: path.into(), size: Text(ByteSize(1 << 30)) };
            let settings = Settings { shared, disk: Some(size), ..Settings::default() };
            settings.store(Path::new("/state")).disk.map(|disk| disk.path)
        };
        assert_eq!(at(true, "cache"), Some(PathBuf::from("/state/cache")));
        assert_eq!(at(false, "cache"), Some(PathBuf::from("/state/cache/private")));
        assert_eq!(at(false, ""), Some(PathBuf::new()));
    }

    #[test]
    fn a_gateway_refuses_what_is_a_proxys_alone() {
        assert_eq!(Settings::default().check_reverse(), []);
        let never = vec!["||a.example^".to_owned()];
        let freshness = vec![FreshnessRule::default()];
        let (shared, store_cookies) = (false, false);
        let settings = Settings { never, shared, store_cookies, freshness, ..Settings::default() };
        let paths: Vec<_> = settings.check_reverse().into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["never", "shared", "store_cookies", "freshness"]);
    }
}
