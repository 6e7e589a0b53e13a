//! Limits of a route: how often, and how many at once.
//!
//! Plain data. Read as part of the `gateway` section.

use crate::limit_key::LimitKey;
use pipeline::limiter::{BadRate, BucketRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use vocab::Complaint;

/// Most characters of a name that machines share.
const SHARED_NAME_MAX: usize = 64;

/// A rate limit: a token bucket (GCRA) for each key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// So many a second, minute or hour: `10/s`, `100/m`, `1000/h`. At most 1000000 a second.
    pub rate: String,
    /// Number at once after a rest; they must come back within a day. Default: the count of
    /// `rate`.
    #[serde(default)]
    pub burst: Option<u32>,
    /// Requests that share a bucket: those of a `client` (an IPv4 address, a /64 of IPv6), of the
    /// `route` (all), or with the same value of `header:NAME` or `cookie:NAME` (without one, of the
    /// client). Default `client`.
    #[serde(default = "client")]
    pub key: String,
    /// Count what would be refused, and let it pass. Default false.
    #[serde(default)]
    pub log_only: bool,
    /// Name under which all machines of the fleet count together, by `fleet.live`: letters, digits,
    /// `.`, `-` and `_`, at most 64. Machines whose limit has this name, this rate, burst and key
    /// share its buckets. Default: each machine counts for itself.
    #[serde(default)]
    pub shared: Option<String>,
}

/// Number of requests that may be under way: beyond it 503, at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsSettings {
    /// So many, from 1 to 65536.
    pub max: u32,
    /// Requests that share the number, as in `limit`. Default `client`.
    #[serde(default = "client")]
    pub key: String,
}

/// Why a limit has no rate.
#[derive(Debug)]
pub(crate) enum BadLimitRate {
    /// The text is not like `10/s`.
    Unreadable(String),
    /// The numbers are out of bounds.
    OutOfBounds(BadRate),
}

fn client() -> String {
    "client".into()
}

impl LimitSettings {
    /// Reads `10/s` and the like.
    pub(crate) fn bucket_rate(&self) -> Result<BucketRate, BadLimitRate> {
        let unreadable = || BadLimitRate::Unreadable(self.rate.clone());
        let (count, per) = self.rate.split_once('/').ok_or_else(unreadable)?;
        let count: u32 = count.trim().parse().map_err(|_| unreadable())?;
        let per_ms = match per.trim() {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(unreadable()),
        };
        let burst = self.burst.unwrap_or(count);
        BucketRate::new(count, per_ms, burst).map_err(BadLimitRate::OutOfBounds)
    }

    pub(super) fn check(&self) -> Vec<Complaint> {
        let rate = self.bucket_rate().err().map(|why| {
            Complaint::new("rate", why.to_string())
                .remedy("write rate: \"10/s\", \"100/m\" or \"1000/h\"")
        });
        let shared = self.shared.as_ref().filter(|name| !is_shared_name(name)).map(|name| {
            Complaint::new("shared", format!("{name:?} is no name"))
                .remedy("write 1 to 64 letters, digits, dots, dashes and underscores")
        });
        rate.into_iter().chain(check_key(&self.key)).chain(shared).collect()
    }
}

impl RequestsSettings {
    pub(super) fn check(&self) -> Vec<Complaint> {
        let bounds = (1..=65_536).contains(&self.max);
        let max = (!bounds).then(|| Complaint::new("max", "write a number from 1 to 65536"));
        max.into_iter().chain(check_key(&self.key)).collect()
    }
}

fn check_key(key: &str) -> Option<Complaint> {
    let why = LimitKey::parse(key).err()?;
    let complaint = Complaint::new("key", why.to_string());
    Some(complaint.remedy("write client, route, header:NAME or cookie:NAME"))
}

fn is_shared_name(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || ".-_".contains(it);
    (1..=SHARED_NAME_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

impl fmt::Display for BadLimitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(rate) => write!(f, "{rate:?} is no rate"),
            Self::OutOfBounds(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadLimitRate {}
