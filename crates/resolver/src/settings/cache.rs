//! What can be set for one cache of answers, and what is wrong with it.

use dns_wire::{NEGATIVE_TTL_MAX_S, TTL_MAX_S};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

const SIZE_MAX: u64 = 64 << 30;
/// RFC 8767 §5 suggests one to three days as the longest use of stale data.
const STALE_MAX: Duration = Duration::from_hours(7 * 24);
const STALE_AFTER_MAX: Duration = Duration::from_secs(30);
/// Longer than that, changes of names would not be seen for longer than their owners can bear.
const MIN_TTL_MAX: Duration = Duration::from_hours(1);

/// The cache of answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CacheSettings {
    /// What it is called in statistics; whoever has several says so. Not a setting of its own.
    #[serde(skip)]
    pub name: String,
    /// Memory it may take; grows up to it. Default 64MiB, from 0 (no cache) to 64GiB.
    pub size: Text<ByteSize>,
    /// Time for which an answer may still be used when its time is over and no upstream gives a
    /// newer one (RFC 8767). Default 12h, from 0 (never) to 7d.
    pub stale: Text<TimeSpan>,
    /// When an answer past its time is given: `after-upstream` once the upstreams were asked and
    /// failed or are slow (RFC 8767), or `at-once`, while a newer one is fetched in the background.
    /// Default `after-upstream`.
    pub stale_mode: StaleMode,
    /// Time for which clients wait for an upstream before they get the stale answer (RFC 8767 §5:
    /// 1.8 s). Default 1800ms, up to `timeout`.
    pub stale_after: Text<TimeSpan>,
    /// True if an answer that is still in use is looked up again shortly before its time is over.
    /// Default true.
    pub prefetch: bool,
    /// Records with a shorter life are kept, and given to clients, as if they had this one. Does
    /// not hold for negative answers. Default 0s, up to 1h.
    pub min_ttl: Text<TimeSpan>,
    /// An answer with records whose life is shorter is given to clients and not kept. Default 0s
    /// (all are kept), up to 24h.
    pub kept_ttl_min: Text<TimeSpan>,
    /// Records with a longer life are kept, and given to clients, as if they had this one.
    /// Default 24h, from 1s to 24h.
    pub max_ttl: Text<TimeSpan>,
    /// The same for answers that there is no such name or nothing of the type.
    /// Default 3h (RFC 2308 §5), from 1s to 3h.
    pub max_negative_ttl: Text<TimeSpan>,
}

/// When an answer past its time is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StaleMode {
    /// Once the upstreams were asked, and failed or are slow (RFC 8767).
    #[default]
    AfterUpstream,
    /// At once, while a newer one is fetched in the background.
    AtOnce,
}

impl Default for CacheSettings {
    fn default() -> Self {
        let span = |long| Text(TimeSpan(long));
        Self {
            name: String::new(),
            size: Text(ByteSize(64 << 20)),
            stale: span(Duration::from_hours(12)),
            stale_mode: StaleMode::default(),
            stale_after: span(Duration::from_millis(1800)),
            prefetch: true,
            min_ttl: span(Duration::ZERO),
            kept_ttl_min: span(Duration::ZERO),
            max_ttl: span(Duration::from_secs(TTL_MAX_S.into())),
            max_negative_ttl: span(Duration::from_secs(NEGATIVE_TTL_MAX_S.into())),
        }
    }
}

impl CacheSettings {
    /// Every complaint about it; paths are relative to the cache.
    pub fn check(&self) -> Vec<Complaint> {
        const SECOND: Duration = Duration::from_secs(1);
        let default = Self::default();
        let mut complaints = Vec::new();
        if self.size.bytes() > SIZE_MAX {
            let message = format!("{} is out of bounds", self.size);
            complaints.push(Complaint::new("size", message).remedy("at most 64GiB"));
        }
        for (key, given, least, most, remedy) in [
            ("stale", self.stale, Duration::ZERO, STALE_MAX, "at most 7d"),
            ("stale_after", self.stale_after, Duration::ZERO, STALE_AFTER_MAX, "at most 30s"),
            ("min_ttl", self.min_ttl, Duration::ZERO, MIN_TTL_MAX, "at most 1h"),
            ("kept_ttl_min", self.kept_ttl_min, Duration::ZERO, default.max_ttl.0.0, "at most 24h"),
            ("max_ttl", self.max_ttl, SECOND, default.max_ttl.0.0, "from 1s to 24h"),
            (
                "max_negative_ttl",
                self.max_negative_ttl,
                SECOND,
                default.max_negative_ttl.0.0,
                "from 1s to 3h",
            ),
        ] {
            if !(least..=most).contains(&given.0.0) {
                let message = format!("{given} is out of bounds");
                complaints.push(Complaint::new(key, message).remedy(remedy));
            }
        }
        if self.min_ttl.0.0 > self.max_ttl.0.0 {
            let message = format!("{} is longer than max_ttl", self.min_ttl);
            complaints.push(Complaint::new("min_ttl", message).remedy("at most max_ttl"));
        }
        complaints
    }

    /// Returns what is wrong where a question may take `timeout` in all.
    pub(crate) fn check_against(&self, timeout: Duration) -> Option<Complaint> {
        // The default is left alone where only the timeout is shorter.
        let wrong = self.stale_after.0.0 > timeout
            && self.stale_after.0.0 <= STALE_AFTER_MAX
            && self.stale_after != Self::default().stale_after;
        wrong.then(|| {
            let message = format!("{} is longer than the timeout", self.stale_after);
            Complaint::new("stale_after", message).remedy("at most the timeout")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_bounds_is_said_with_its_bounds() {
        let hours = |hours| Text(TimeSpan(Duration::from_hours(hours)));
        let settings = CacheSettings {
            min_ttl: hours(2),
            max_ttl: Text(TimeSpan(Duration::ZERO)),
            max_negative_ttl: hours(4),
            stale_after: hours(1),
            ..CacheSettings::default()
        };
        let complaints = settings.check();
        let found: Vec<_> = complaints.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(found, ["stale_after", "min_ttl", "max_ttl", "max_negative_ttl", "min_ttl"]);
        assert!(complaints.iter().all(|it| it.remedy.is_some()));
        assert_eq!(CacheSettings::default().check(), []);
    }
}
