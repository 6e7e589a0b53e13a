//! Settings of bandwidth: `proxy.bandwidth`.
//!
//! Read and checked as a part of the section; `bandwidth` goes by it.

use crate::url_rules;
use rate_limit::ByteRate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::IpAddr;
use vocab::{ByteSize, Complaint, Network};

/// Classes, each of which a request may be held against.
const CLASSES_MAX: usize = 64;
/// The slowest rate: less, shared by many, would look like servers that have died.
const RATE_MIN: u64 = 4 << 10;
const RATE_MAX: u64 = 1 << 40;

/// One class of traffic, and what it may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BandwidthSettings {
    /// Clients of this class: networks or addresses. Default: all.
    pub clients: Vec<Text<Network>>,
    /// URLs of this class, in the words of `cache.never`: `||video.example^` (a host with all below
    /// it), `/\.iso$/`. Of a tunnel only its host is known (`https://HOST/`). At most 10000.
    /// Default: all.
    pub urls: Vec<String>,
    /// Bytes a second for the whole class, from 4KiB to 1TiB. Transfers share it evenly. Default:
    /// no bound.
    pub rate: Option<Text<ByteSize>>,
    /// Bytes a second for each client of the class (a /64 of IPv6 is one), from 4KiB to 1TiB.
    /// Default: no bound.
    pub rate_per_client: Option<Text<ByteSize>>,
    /// Bytes that come at once after a pause, from 0 to 1TiB. Default: those of a second.
    pub burst: Option<Text<ByteSize>>,
}

impl BandwidthSettings {
    /// True for a client of this class.
    pub(crate) fn is_for(&self, client: IpAddr) -> bool {
        self.clients.is_empty() || self.clients.iter().any(|network| network.contains(client))
    }

    /// The rate for the whole class, and that for each client.
    pub(crate) fn rates(&self) -> [Option<ByteRate>; 2] {
        [&self.rate, &self.rate_per_client].map(|rate| {
            let per_second = rate.as_ref()?.0.0;
            let burst = self.burst.as_ref().map_or(per_second, |burst| burst.0.0);
            Some(ByteRate { per_second, burst })
        })
    }

    fn check(&self) -> Vec<Complaint> {
        let mut complaints = url_rules::check("urls", &self.urls);
        if self.rate.is_none() && self.rate_per_client.is_none() {
            let complaint = Complaint::new("", "this class has no rate");
            complaints.push(complaint.remedy("write rate: 2MiB, or rate_per_client: 500KiB"));
        }
        for (path, rate) in [("rate", &self.rate), ("rate_per_client", &self.rate_per_client)] {
            let is_wrong = |rate: &Text<ByteSize>| !(RATE_MIN..=RATE_MAX).contains(&rate.0.0);
            if rate.as_ref().is_some_and(is_wrong) {
                let complaint = Complaint::new(path, "it is out of bounds");
                complaints.push(complaint.remedy("write bytes a second, from 4KiB to 1TiB"));
            }
        }
        if self.burst.as_ref().is_some_and(|burst| burst.0.0 > RATE_MAX) {
            let complaint = Complaint::new("burst", "it is out of bounds");
            complaints.push(complaint.remedy("write bytes, from 0 to 1TiB"));
        }
        complaints
    }
}

/// Everything that is wrong with `bandwidth`.
pub(super) fn check(classes: &[BandwidthSettings]) -> Vec<Complaint> {
    if classes.len() > CLASSES_MAX {
        let message = format!("{} classes are over the {CLASSES_MAX} allowed", classes.len());
        let complaint = Complaint::new("bandwidth", message);
        return vec![complaint.remedy("write URLs and clients with the same rates into one")];
    }
    let numbered = classes.iter().enumerate();
    numbered
        .flat_map(|(index, class)| {
            let found = class.check().into_iter();
            found.map(move |it| it.under(&format!("bandwidth.{index}")))
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn size(text: &str) -> Text<ByteSize> {
        Text(text.parse().unwrap())
    }

    #[test]
    fn what_bounds_nothing_or_everything_is_a_complaint() {
        let classes = [
            BandwidthSettings::default(),
            BandwidthSettings { rate: Some(size("1KiB")), ..BandwidthSettings::default() },
            BandwidthSettings {
                rate_per_client: Some(size("2TiB")),
                burst: Some(size("2TiB")),
                urls: vec!["a".into()],
                ..BandwidthSettings::default()
            },
        ];
        let paths: Vec<_> = check(&classes).into_iter().map(|it| it.path).collect();
        let expected = [
            "bandwidth.0",
            "bandwidth.1.rate",
            "bandwidth.2.urls.0",
            "bandwidth.2.rate_per_client",
        ];
        assert_eq!(paths[..4], expected);
        assert_eq!(paths[4..], ["bandwidth.2.burst"]);
        let right = BandwidthSettings { rate: Some(size("1MiB")), ..BandwidthSettings::default() };
        assert_eq!(check(std::slice::from_ref(&right)), []);
        let second = ByteRate { per_second: 1 << 20, burst: 1 << 20 };
        assert_eq!(right.rates(), [Some(second), None]);
    }
}
