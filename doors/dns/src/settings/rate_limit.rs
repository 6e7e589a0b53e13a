//! What can be set about how much one client may ask.

use super::guard_defaults::GuardDefaults;
use super::networks::{check_prefixes, too_many};
use pipeline::limiter::{BadRate, BucketRate, ClientPrefixes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use vocab::{Complaint, Network};

/// Queries in a second, unless another number is set.
const PER_SECOND_DEFAULT: u32 = 300;
/// Seconds of them that may come at once.
const BURST_SECONDS: u32 = 3;

/// The rate limit for one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimitSettings {
    /// Queries that a client may send in a second, over all protocols together; 0: as many as it
    /// likes. Default 300, which no household reaches and a flood passes at once; with a
    /// `pipeline`,
    /// 0. At most 1,000,000.
    pub queries_per_second: Option<u32>,
    /// Queries that it may send at once after a rest. Default: three times `queries_per_second`,
    /// 900: a browser that comes back with all its tabs. It must come back within a day.
    pub burst: Option<u32>,
    /// Leading bits of an IPv4 address that make one client. Default 32, at most 32; AdGuard Home
    /// counts by 24.
    pub ipv4_prefix: u8,
    /// Leading bits of an IPv6 address that make one client. Default 56, at most 128: what a
    /// household is given; one host has as many addresses of it as it likes.
    pub ipv6_prefix: u8,
    /// Addresses and networks that are not limited. At most 100,000. Default: loopback,
    /// `127.0.0.0/8` and `::1`, where a forwarder on this machine asks for everybody; what is
    /// written takes their place.
    pub exempt: Vec<Text<Network>>,
    /// The answer to a client that asks more: `refuse` (REFUSED), `drop` (nothing) or `truncate`
    /// (an empty answer that asks it to come again over TCP, which is impossible from a forged
    /// address). Over connections all three are `refuse`. Default `refuse`.
    pub action: RateAction,
}

/// Tells what a client gets that asks too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RateAction {
    /// REFUSED.
    #[default]
    Refuse,
    /// Nothing.
    Drop,
    /// An empty answer with TC set.
    Truncate,
}

fn loopback() -> [Network; 2] {
    ["127.0.0.0/8", "::1"].map(|it| it.parse().expect("both are written as networks"))
}

impl Default for RateLimitSettings {
    fn default() -> Self {
        Self {
            queries_per_second: None,
            burst: None,
            ipv4_prefix: 32,
            ipv6_prefix: 56,
            exempt: loopback().map(Text).into(),
            action: RateAction::default(),
        }
    }
}

impl RateLimitSettings {
    /// Returns what is wrong, with paths relative to the section.
    pub(crate) fn check(&self) -> Vec<Complaint> {
        let mut complaints = check_prefixes(self.ipv4_prefix, self.ipv6_prefix);
        complaints.extend(too_many("exempt", &self.exempt));
        if self.queries_per_second != Some(0)
            && let Err(why) = self.rate(GuardDefaults::Guarded)
        {
            complaints.push(Complaint::new("queries_per_second", why.to_string()));
        }
        if self.queries_per_second == Some(0) && self.burst.is_some() {
            let message = "a burst without queries_per_second limits nothing";
            complaints.push(
                Complaint::new("burst", message).remedy("write queries_per_second: 20 beside it"),
            );
        }
        complaints
    }

    pub(crate) fn rate(&self, unless_said: GuardDefaults) -> Result<BucketRate, BadRate> {
        let per_second = self.queries_per_second.unwrap_or(match unless_said {
            GuardDefaults::Guarded => PER_SECOND_DEFAULT,
            GuardDefaults::Unguarded => 0,
        });
        let burst = self.burst.unwrap_or(per_second.saturating_mul(BURST_SECONDS));
        BucketRate::per_second(per_second, burst)
    }

    pub(crate) fn prefixes(&self) -> ClientPrefixes {
        ClientPrefixes { ipv4: self.ipv4_prefix, ipv6: self.ipv6_prefix }
    }
}
