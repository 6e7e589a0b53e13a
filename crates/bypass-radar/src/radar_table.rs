//! The JSON of the bypass radar: signs by device, with the description for `OpenAPI`.

use crate::sweep::{DeviceSignals, FoundName, FoundSignal, RadarReport};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Time of the radar.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
pub struct BypassQuery {
    /// Time: `24h`, `7d` or `30d`; 24h if left out.
    pub range: Option<String>,
}

/// Devices that showed a sign of going around the filter. None is called guilty.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BypassTable {
    /// Time that was asked for.
    pub range: String,
    /// Moment from which rows were looked at: later than the range where there are more than ten
    /// million.
    pub since: String,
    /// Devices, those with most requests that are signs first; at most 200.
    pub devices: Vec<BypassDevice>,
    /// Number of devices that are left out.
    pub more: usize,
}

/// A device with its signs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BypassDevice {
    /// Address.
    pub client: String,
    /// Name, where it has one.
    pub name: Option<String>,
    /// Signs.
    pub signals: Vec<BypassSignal>,
}

/// A sign.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BypassSignal {
    /// Kind: `encrypted_dns`, `relay`, `vpn`, `ech`, `canary`; `no_dns` for requests at other doors
    /// and no DNS question in that time; `silent` for a device that asked on at least five of seven
    /// days, then nothing for a day, while its link is up or other doors hear of it.
    pub kind: String,
    /// Requests; of `silent` the days on which it asked.
    pub count: u64,
    /// Moment of the last; of `silent` of its last question.
    pub last_at: String,
    /// Names, or doors for `no_dns`, with most requests first; at most 10.
    pub names: Vec<BypassName>,
}

/// A name with its requests.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct BypassName {
    /// The name, or the door.
    pub text: String,
    /// Requests.
    pub count: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
}

impl BypassTable {
    /// A report as it is told. Names of devices are in the order of its devices; `iso` writes
    /// moments.
    pub fn of(report: RadarReport, names: Vec<Option<String>>, iso: fn(u64) -> String) -> Self {
        let device = |(DeviceSignals { client, signals }, name)| BypassDevice {
            client: client.to_string(),
            name,
            signals: signals.into_iter().map(|found| signal(found, iso)).collect(),
        };
        let devices = report.devices.into_iter().zip(names).map(device).collect();
        Self { devices, more: report.more, ..Self::default() }
    }
}

fn signal(found: FoundSignal, iso: fn(u64) -> String) -> BypassSignal {
    let name = |FoundName { text, count, blocked }| BypassName { text, count, blocked };
    BypassSignal {
        kind: found.kind.as_str().into(),
        count: found.count,
        last_at: iso(found.last_ms),
        names: found.names.into_iter().map(name).collect(),
    }
}
