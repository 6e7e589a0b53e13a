//! What can be set about how many like answers go to one network over UDP.

use super::networks::{check_prefixes, too_many};
use pipeline::limiter::{BadRate, BucketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::ops::RangeInclusive;
use std::time::Duration;
use vocab::{Complaint, Network, TimeSpan};

const WINDOW: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);
/// The largest `slip`: one in so many is next to none.
const SLIP_MAX: u8 = 100;
/// Number of like answers that go to one network over UDP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResponseRateLimitSettings {
    /// Like answers (same name and type, or errors of one kind) that one network gets in a second.
    /// Default 0: no limit, which is right where only a known network can ask. 5 to 20 suit a
    /// server that anybody can reach.
    pub responses_per_second: u32,
    /// Every so many-th answer over the limit is sent empty and truncated, so that a real client
    /// comes again over TCP; 1 sends all so, 0 none. The rest is not sent. Default 2, at most 100.
    pub slip: u8,
    /// Time for which a flood that goes on stays limited after it ends. Default 15s, from 1s to 1h.
    pub window: Text<TimeSpan>,
    /// Leading bits of an IPv4 address that make one network. Default 24, at most 32.
    pub ipv4_prefix: u8,
    /// Leading bits of an IPv6 address that make one network. Default 56, at most 128.
    pub ipv6_prefix: u8,
    /// Addresses and networks that are not limited. At most 100,000. Default: none.
    pub exempt: Vec<Text<Network>>,
}

impl Default for ResponseRateLimitSettings {
    fn default() -> Self {
        Self {
            responses_per_second: 0,
            slip: 2,
            window: Text(TimeSpan(Duration::from_secs(15))),
            ipv4_prefix: 24,
            ipv6_prefix: 56,
            exempt: Vec::new(),
        }
    }
}

impl ResponseRateLimitSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = check_prefixes(self.ipv4_prefix, self.ipv6_prefix);
        complaints.extend(too_many("exempt", &self.exempt));
        if self.responses_per_second > 0
            && let Err(why) = self.rate()
        {
            complaints.push(Complaint::new("responses_per_second", why.to_string()));
        }
        if self.slip > SLIP_MAX {
            let message = format!("{} is over {SLIP_MAX}", self.slip);
            complaints.push(Complaint::new("slip", message).remedy("write 2, or 0 for none"));
        }
        if !WINDOW.contains(&self.window.0.0) {
            let message = format!("{} is not between 1s and 1h", self.window);
            complaints.push(Complaint::new("window", message).remedy("write 15s"));
        }
        complaints
    }

    /// A second's worth at once, and no more after any rest.
    pub(crate) fn rate(&self) -> Result<BucketRate, BadRate> {
        BucketRate::per_second(self.responses_per_second, self.responses_per_second)
    }
}
