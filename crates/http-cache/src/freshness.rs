//! For how long answers of certain URLs are fresh: what an administrator sets over the heuristics.
//!
//! The rule alone; who looks which URL it is for is the door. Read as part of a cache's settings.

use http_freshness::{CachingRules, DELTA_SECS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::time::Duration;
use vocab::{Complaint, TimeSpan};

/// Freshness that is set for certain URLs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FreshnessRule {
    /// URLs that it is for, in the words of `never`. Default: every URL.
    pub urls: Vec<String>,
    /// The least time for which an answer is fresh that does not say for how long; also without
    /// `Last-Modified`. Default 0s; at most `max`.
    pub min: Text<TimeSpan>,
    /// Part of the time since `Last-Modified` for which such an answer is fresh, in percent.
    /// Default 10, from 0 to 100.
    pub last_modified_percent: u8,
    /// The most time for which such an answer is fresh. Default 1d, at most 3650d.
    pub max: Text<TimeSpan>,
    /// The most time for which an answer is fresh that says for how long. Default: as it says; at
    /// most 3650d.
    pub explicit_max: Option<Text<TimeSpan>>,
}

/// Ten years: longer than anything was stored for.
const SPAN_MAX: Duration = Duration::from_hours(3650 * 24);

impl Default for FreshnessRule {
    fn default() -> Self {
        Self {
            urls: Vec::new(),
            min: Text(TimeSpan(Duration::ZERO)),
            last_modified_percent: CachingRules::forward().heuristic_percent,
            max: Text(TimeSpan(Duration::from_hours(24))),
            explicit_max: None,
        }
    }
}

impl FreshnessRule {
    /// Everything that is wrong, but for the URLs; paths are relative to the rule.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        let explicit = self.explicit_max.as_ref().map(|most| ("explicit_max", *most));
        for (path, span) in [("max", self.max)].into_iter().chain(explicit) {
            if span.0.0 > SPAN_MAX {
                let complaint = Complaint::new(path, format!("{} is out of bounds", *span));
                complaints.push(complaint.remedy("write a span of at most 3650d"));
            }
        }
        if self.min.0 > self.max.0 {
            let message = format!("{} is more than max, {}", *self.min, *self.max);
            complaints.push(Complaint::new("min", message).remedy("set max too, to no less"));
        }
        if self.last_modified_percent > 100 {
            let message = format!("{} is no part of a whole", self.last_modified_percent);
            let complaint = Complaint::new("last_modified_percent", message);
            complaints.push(complaint.remedy("write 0 to 100"));
        }
        complaints
    }

    /// Returns a door's rules with this one's times.
    pub(crate) fn rules(&self, of_door: &CachingRules) -> CachingRules {
        CachingRules {
            heuristic_percent: self.last_modified_percent,
            heuristic_min_secs: seconds(self.min),
            heuristic_max_secs: seconds(self.max),
            explicit_max_secs: self.explicit_max.map_or(of_door.explicit_max_secs, seconds),
            ..*of_door
        }
    }
}

fn seconds(span: Text<TimeSpan>) -> u32 {
    u32::try_from(span.0.0.as_secs()).map_or(DELTA_SECS_MAX, |secs| secs.min(DELTA_SECS_MAX))
}
