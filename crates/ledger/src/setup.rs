//! The ledger's settings: what is kept, of whom, for how long.
//!
//! A setting outside its bounds is a complaint, never a silent clamp. Read by `config`, checked
//! there, and handed to [`crate::open`] and [`crate::Ledger::apply`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};

/// Longest time that rows are kept: ten years of 365 days.
const KEEP_MAX: Duration = Duration::from_hours(3650 * 24);
const SIZE_MIN: u64 = 16 << 20;
const SIZE_MAX: u64 = 1 << 40;

/// The request log: what is kept, for how long, and of whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Time for which a row of the request log is kept, and with it the names and clients that the
    /// top tables count. `0` keeps no rows, names or clients at all. Default 30d, from 0 to 3650d.
    pub keep: Text<TimeSpan>,
    /// Part of a client's address that is stored: all of it (`none`), or only its network
    /// (`network`: IPv4 /24, IPv6 /48). Default none.
    pub anonymise: AnonymiseMode,
    /// Requests that become rows of the log. Counters, charts and metrics count all of them in any
    /// case. Default all.
    pub log: LogScope,
    /// Largest size of the ledger's file; beyond it the oldest rows are deleted early. Default
    /// 2GiB, from 16MiB to 1TiB.
    pub max_size: Text<ByteSize>,
}

/// Tells how much of a client's address is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnonymiseMode {
    /// The whole address.
    None,
    /// The network only: IPv4 /24, IPv6 /48.
    Network,
}

/// Which requests become rows of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogScope {
    /// Every request.
    All,
    /// Only what was blocked.
    Blocked,
    /// No request: counters only.
    None,
}

impl AnonymiseMode {
    /// The client's address as it is stored.
    pub fn stored(self, client: IpAddr) -> IpAddr {
        match (self, client) {
            (Self::None, client) => client,
            (Self::Network, IpAddr::V4(v4)) => {
                Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << 8)).into()
            }
            (Self::Network, IpAddr::V6(v6)) => {
                Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 80)).into()
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            keep: Text(TimeSpan(Duration::from_hours(30 * 24))),
            anonymise: AnonymiseMode::None,
            log: LogScope::All,
            max_size: Text(ByteSize(2 << 30)),
        }
    }
}

impl Settings {
    /// Every complaint, with paths relative to this section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.keep.0.0 > KEEP_MAX {
            complaints.push(
                Complaint::new("keep", format!("{} is more than ten years", self.keep))
                    .remedy("write 3650d or less"),
            );
        }
        if !(SIZE_MIN..=SIZE_MAX).contains(&self.max_size.bytes()) {
            complaints.push(
                Complaint::new("max_size", format!("{} is out of bounds", self.max_size))
                    .remedy("write 16MiB to 1TiB"),
            );
        }
        complaints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_are_right() {
        assert_eq!(Settings::default().check(), []);
    }

    #[test]
    fn every_setting_out_of_bounds_is_a_complaint() {
        let wrong = Settings {
            keep: Text(TimeSpan(KEEP_MAX + Duration::from_millis(1))),
            max_size: Text(ByteSize(SIZE_MIN - 1)),
            ..Settings::default()
        };
        let complaints = wrong.check();
        let paths: Vec<_> = complaints.iter().map(|complaint| complaint.path.as_str()).collect();
        assert_eq!(paths, ["keep", "max_size"]);
        let nothing_kept = Settings { keep: Text(TimeSpan(Duration::ZERO)), ..Settings::default() };
        assert_eq!(nothing_kept.check(), []);
    }

    #[test]
    fn an_anonymised_client_is_its_network() {
        let stored = |text: &str| AnonymiseMode::Network.stored(text.parse().unwrap()).to_string();
        assert_eq!(stored("192.168.7.201"), "192.168.7.0");
        assert_eq!(stored("2001:db8:1:2:3:4:5:6"), "2001:db8:1::");
        let whole: IpAddr = "192.168.7.201".parse().unwrap();
        assert_eq!(AnonymiseMode::None.stored(whole), whole);
    }
}
