//! The ledger's settings: what is kept, of whom, for how long.
//!
//! A setting outside its bounds is a complaint, never a silent clamp. Read by `config`, checked
//! there, and handed to [`crate::open`] and [`crate::Ledger::apply`].

use crate::zone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};
use weekly_hours::ScheduleZone;

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
    /// Statistics by the hour, the day and the month, which stay when rows go.
    pub statistics: StatisticsSettings,
}

/// Statistics: counts of requests for each hour, day and month, in all and by door, client, list
/// and upstream. They hold no names that were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatisticsSettings {
    /// Time for which counts by the hour are kept. Default 40d, from 3d to 400d.
    pub keep_hours: Text<TimeSpan>,
    /// Time for which counts by the day are kept. Default 730d, from 62d to 3650d.
    pub keep_days: Text<TimeSpan>,
    /// Time for which counts by the month are kept. Default 3650d, from 366d to 36500d.
    pub keep_months: Text<TimeSpan>,
    /// Clients for which requests are counted: for `each`, or for `none`. With
    /// `ledger.keep: 0` there are none in any case, and `ledger.anonymise` counts networks. What is
    /// there of clients goes at once. Default each.
    pub clients: StatisticClients,
    /// Zone whose hours, days and months are counted: `local` for the machine's, or an offset
    /// (`+02:00`) or name (`Europe/Zurich`). Default local.
    pub time_zone: String,
}

/// Clients that statistics count for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatisticClients {
    /// For each.
    Each,
    /// For none.
    None,
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
            statistics: StatisticsSettings::default(),
        }
    }
}

impl Default for StatisticsSettings {
    fn default() -> Self {
        Self {
            keep_hours: days(40),
            keep_days: days(730),
            keep_months: days(3650),
            clients: StatisticClients::Each,
            time_zone: zone::LOCAL.into(),
        }
    }
}

const fn days(count: u64) -> Text<TimeSpan> {
    Text(TimeSpan(Duration::from_hours(count * 24)))
}

impl StatisticsSettings {
    fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (path, kept, [least, most]) in [
            ("statistics.keep_hours", &self.keep_hours, [3, 400]),
            ("statistics.keep_days", &self.keep_days, [62, 3650]),
            ("statistics.keep_months", &self.keep_months, [366, 36_500]),
        ] {
            if !(days(least).0.0..=days(most).0.0).contains(&kept.0.0) {
                complaints.push(
                    Complaint::new(path, format!("{kept} is out of bounds"))
                        .remedy(format!("write {least}d to {most}d")),
                );
            }
        }
        if self.time_zone != zone::LOCAL && ScheduleZone::parse(&self.time_zone).is_none() {
            complaints.push(
                Complaint::new(
                    "statistics.time_zone",
                    format!("{:?} is no time zone", self.time_zone),
                )
                .remedy("write local, UTC, +02:00 or a name such as Europe/Zurich"),
            );
        }
        complaints
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
        complaints.extend(self.statistics.check());
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
            statistics: StatisticsSettings {
                keep_hours: days(2),
                keep_days: days(4000),
                keep_months: days(365),
                time_zone: "Europe/Atlantis".into(),
                ..StatisticsSettings::default()
            },
            ..Settings::default()
        };
        let complaints = wrong.check();
        let paths: Vec<_> = complaints.iter().map(|complaint| complaint.path.as_str()).collect();
        let below = ["keep_hours", "keep_days", "keep_months", "time_zone"];
        let below = below.map(|name| format!("statistics.{name}"));
        assert_eq!(paths[..2], ["keep", "max_size"]);
        assert_eq!(paths[2..], below);
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
