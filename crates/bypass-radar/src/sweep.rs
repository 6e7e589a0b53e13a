//! Signs counted by device, over rows that are handed in from the newest back.
//!
//! Devices and names beyond a cap are passed over. A device is one of this network: strangers from
//! the internet ask no DNS questions of ours, and that says nothing.

use crate::known_names::known_name;
use crate::signal_kind::SignalKind;
use foldhash::fast::RandomState;
use ledger::RowGlimpse;
use std::collections::HashMap;
use std::net::IpAddr;
use vocab::{Action, Door, is_own_network};

/// Rows that one report looks through, the newest.
pub const ROWS_MAX: u64 = 10_000_000;
/// Names that a sign is told with.
pub const NAMES_MAX: usize = 10;

/// Devices that are counted; those met later are passed over.
const DEVICES_MAX: usize = 4096;
/// Names that are counted of each sign of a device.
const COUNTED_NAMES_MAX: usize = 256;
const DAY_MS: u64 = 86_400_000;
/// Days before the last one on which a device may have asked, and those on which it must have.
const DAYS: u64 = 7;
const DAYS_MIN: u32 = 5;

/// Time of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadarSpan {
    /// Signs from this moment on, in milliseconds since 1970.
    pub since_ms: u64,
    /// Now.
    pub now_ms: u64,
}

/// Devices with their signs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RadarReport {
    /// Devices, those with most requests that are signs first.
    pub devices: Vec<DeviceSignals>,
    /// Number of devices that are left out.
    pub more: usize,
}

/// A device with its signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSignals {
    /// Address.
    pub client: IpAddr,
    /// Signs, in the order of their kinds.
    pub signals: Vec<FoundSignal>,
}

/// A sign of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSignal {
    /// Kind of it.
    pub kind: SignalKind,
    /// Requests that are this sign; of a silent one the days on which it asked.
    pub count: u64,
    /// The last of them, in milliseconds since 1970; of a silent one its last question.
    pub last_ms: u64,
    /// Names that were asked for most; doors, where no name is the sign.
    pub names: Vec<FoundName>,
}

/// A name with its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundName {
    /// The name, or the door.
    pub text: String,
    /// Requests.
    pub count: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
}

/// Counts of a sweep over rows.
#[derive(Debug)]
pub struct RadarSweep {
    span: RadarSpan,
    devices: HashMap<IpAddr, SweptDevice, RandomState>,
    /// True once anybody has asked a DNS question: else nobody asks us, which is no sign.
    has_dns: bool,
}

#[derive(Debug, Default)]
struct SweptDevice {
    signs: HashMap<SignalKind, SweptSign, RandomState>,
    /// Requests at other doors than the DNS door, within the span.
    elsewhere: HashMap<Door, RequestTally, RandomState>,
    /// Questions within the span.
    questions: u64,
    last_question_ms: u64,
    /// Last request at another door, whenever it was.
    last_elsewhere_ms: u64,
    /// A bit for each day before the last one on which it asked.
    days: u32,
    asked_today: bool,
}

#[derive(Debug, Default)]
struct SweptSign {
    all: RequestTally,
    names: HashMap<Box<str>, RequestTally, RandomState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RequestTally {
    count: u64,
    blocked: u64,
    last_ms: u64,
}

/// Moment from which rows are needed: days before the span tell who has fallen silent.
pub fn look_back(span: RadarSpan) -> u64 {
    span.since_ms.min(span.now_ms.saturating_sub((DAYS + 1) * DAY_MS))
}

impl RadarSweep {
    /// A sweep that has seen no row.
    pub fn new(span: RadarSpan) -> Self {
        Self { span, devices: HashMap::default(), has_dns: false }
    }

    /// Counts a row.
    pub fn add(&mut self, row: &RowGlimpse<'_>) {
        if !is_near(row.client) {
            return;
        }
        let RadarSpan { since_ms, now_ms } = self.span;
        let is_full = self.devices.len() >= DEVICES_MAX;
        if is_full && !self.devices.contains_key(&row.client) {
            return;
        }
        let device = self.devices.entry(row.client).or_default();
        let is_within = row.at_ms >= since_ms;
        if row.door == Door::Dns {
            self.has_dns |= is_within;
            device.note_question(row.at_ms, now_ms);
            device.questions += u64::from(is_within);
        } else {
            device.last_elsewhere_ms = device.last_elsewhere_ms.max(row.at_ms);
            if is_within {
                device.elsewhere.entry(row.door).or_default().add(row);
            }
        }
        if let (true, Some(name)) = (is_within, row.wanted)
            && let Some(kind) = known_name(name)
        {
            device.signs.entry(kind).or_default().add(name, row);
        }
    }

    /// The devices that showed a sign, at most `devices_max`. `link_up` says whether a device is
    /// known to the kernel as a neighbour; it is asked about those that may have fallen silent.
    pub fn report(
        self,
        devices_max: usize,
        link_up: impl Fn(&[IpAddr]) -> Vec<bool>,
    ) -> RadarReport {
        let RadarSpan { now_ms, .. } = self.span;
        let quiet: Vec<IpAddr> = self
            .devices
            .iter()
            .filter(|(_, it)| it.may_be_silent())
            .map(|(client, _)| *client)
            .collect();
        let up: HashMap<IpAddr, bool, RandomState> =
            quiet.iter().copied().zip(link_up(&quiet)).collect();
        let has_dns = self.has_dns;
        let found = self.devices.into_iter().filter_map(|(client, device)| {
            let is_up = up.get(&client).is_some_and(|up| *up)
                || now_ms.saturating_sub(device.last_elsewhere_ms) < DAY_MS;
            let signals = device.signals(has_dns, is_up);
            (!signals.is_empty()).then_some(DeviceSignals { client, signals })
        });
        let mut devices: Vec<DeviceSignals> = found.collect();
        let weight = |device: &DeviceSignals| device.signals.iter().map(|it| it.count).sum::<u64>();
        devices.sort_by_cached_key(|it| (u64::MAX - weight(it), it.client));
        let more = devices.len().saturating_sub(devices_max);
        devices.truncate(devices_max);
        RadarReport { devices, more }
    }
}

impl SweptDevice {
    fn note_question(&mut self, at_ms: u64, now_ms: u64) {
        self.last_question_ms = self.last_question_ms.max(at_ms);
        match now_ms.saturating_sub(at_ms) / DAY_MS {
            0 => self.asked_today = true,
            day @ 1..=DAYS => self.days |= 1 << day,
            _ => {}
        }
    }

    /// True where it asked on most of the days before the last one, and on that one nothing.
    fn may_be_silent(&self) -> bool {
        !self.asked_today && self.days.count_ones() >= DAYS_MIN
    }

    fn signals(self, has_dns: bool, is_up: bool) -> Vec<FoundSignal> {
        let silent = (self.may_be_silent() && is_up).then(|| FoundSignal {
            kind: SignalKind::Silent,
            count: u64::from(self.days.count_ones()),
            last_ms: self.last_question_ms,
            names: Vec::new(),
        });
        let is_without = has_dns && self.questions == 0 && !self.elsewhere.is_empty();
        let without = is_without.then(|| {
            let all = self.elsewhere.values();
            FoundSignal {
                kind: SignalKind::NoDns,
                count: all.clone().map(|it| it.count).sum(),
                last_ms: all.map(|it| it.last_ms).max().unwrap_or_default(),
                names: ranked(self.elsewhere.iter().map(|(door, it)| (door.as_str(), *it))),
            }
        });
        let named = self.signs.into_iter().map(|(kind, sign)| FoundSignal {
            kind,
            count: sign.all.count,
            last_ms: sign.all.last_ms,
            names: ranked(sign.names.iter().map(|(name, it)| (&**name, *it))),
        });
        let mut signals: Vec<FoundSignal> = named.chain(without).chain(silent).collect();
        signals.sort_by_key(|it| it.kind);
        signals
    }
}

impl SweptSign {
    fn add(&mut self, name: &str, row: &RowGlimpse<'_>) {
        self.all.add(row);
        if let Some(tally) = self.names.get_mut(name) {
            tally.add(row);
        } else if self.names.len() < COUNTED_NAMES_MAX {
            self.names.entry(name.into()).or_default().add(row);
        }
    }
}

impl RequestTally {
    fn add(&mut self, row: &RowGlimpse<'_>) {
        self.count += 1;
        self.blocked += u64::from(row.action == Action::Block);
        self.last_ms = self.last_ms.max(row.at_ms);
    }
}

/// Names by their requests.
fn ranked<'n>(names: impl Iterator<Item = (&'n str, RequestTally)>) -> Vec<FoundName> {
    let mut names: Vec<(&str, RequestTally)> = names.collect();
    names.sort_unstable_by_key(|(name, tally)| (u64::MAX - tally.count, *name));
    let found = |(name, tally): (&str, RequestTally)| FoundName {
        text: name.to_owned(),
        count: tally.count,
        blocked: tally.blocked,
    };
    names.into_iter().take(NAMES_MAX).map(found).collect()
}

/// True for addresses that a network of one's own has: private, link-local, loopback, shared.
fn is_near(client: IpAddr) -> bool {
    let is_shared = |client: IpAddr| match client {
        IpAddr::V4(v4) => matches!(v4.octets(), [100, 64..=127, ..]),
        IpAddr::V6(_) => false,
    };
    let client = client.to_canonical();
    client.is_loopback() || is_own_network(client) || is_shared(client)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;
    const SPAN: RadarSpan = RadarSpan { since_ms: NOW - DAY_MS, now_ms: NOW };

    fn client(last: u8) -> IpAddr {
        IpAddr::from([192, 168, 1, last])
    }

    fn row(client: IpAddr, door: Door, at_ms: u64, wanted: Option<&str>) -> RowGlimpse<'_> {
        RowGlimpse { at_ms, door, client, action: Action::Pass, wanted }
    }

    fn swept(rows: &[RowGlimpse<'_>], neighbours: &[IpAddr]) -> Vec<DeviceSignals> {
        let mut sweep = RadarSweep::new(SPAN);
        for row in rows {
            sweep.add(row);
        }
        let up = |asked: &[IpAddr]| asked.iter().map(|it| neighbours.contains(it)).collect();
        sweep.report(200, up).devices
    }

    fn kinds(devices: &[DeviceSignals], of: IpAddr) -> Vec<SignalKind> {
        let signals = devices.iter().filter(|it| it.client == of).flat_map(|it| &it.signals);
        signals.map(|it| it.kind).collect()
    }

    #[test]
    fn names_are_told_by_kind_with_counts_and_the_last_time() {
        let blocked = RowGlimpse {
            action: Action::Block,
            ..row(client(7), Door::Dns, NOW - 5, Some("dns.google"))
        };
        let rows = [
            row(client(7), Door::Dns, NOW - 9, Some("dns.google")),
            blocked,
            row(client(7), Door::Proxy, NOW - 7, Some("a.nordvpn.com")),
            row(client(7), Door::Dns, NOW - 2 * DAY_MS, Some("mask.icloud.com")),
            row(client(8), Door::Dns, NOW - 1, None),
        ];
        let found = swept(&rows, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        let [encrypted, vpn] = found[0].signals.as_slice() else { panic!("{found:?}") };
        assert_eq!((encrypted.kind, encrypted.count), (SignalKind::EncryptedDns, 2));
        assert_eq!(encrypted.last_ms, NOW - 5);
        let name = FoundName { text: "dns.google".into(), count: 2, blocked: 1 };
        assert_eq!(encrypted.names, [name]);
        assert_eq!(vpn.kind, SignalKind::Vpn);
    }

    #[test]
    fn traffic_without_a_question_is_a_sign_where_anybody_asks_us() {
        let stranger = IpAddr::from([203, 0, 113, 7]);
        let mut rows = vec![
            row(client(7), Door::Proxy, NOW - 9, None),
            row(client(7), Door::Pixel, NOW - 8, None),
            row(stranger, Door::Gateway, NOW - 8, None),
        ];
        assert_eq!(swept(&rows, &[]), [], "nobody asks us");
        rows.push(row(client(8), Door::Dns, NOW - 9, None));
        rows.push(row(client(8), Door::Proxy, NOW - 9, None));
        let found = swept(&rows, &[]);
        assert_eq!(kinds(&found, client(7)), [SignalKind::NoDns]);
        assert_eq!(found.len(), 1, "neither who asks nor a stranger: {found:?}");
        let doors: Vec<_> = found[0].signals[0].names.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(doors, ["pixel", "proxy"]);
    }

    #[test]
    fn a_device_that_asked_daily_is_silent_only_while_its_link_is_up() {
        let asked = |of: u8, days: std::ops::RangeInclusive<u64>| {
            days.map(move |day| row(client(of), Door::Dns, NOW - day * DAY_MS - 9, None))
        };
        let mut rows: Vec<_> = asked(1, 1..=5).chain(asked(2, 1..=4)).collect();
        rows.extend(asked(3, 0..=7).chain(asked(4, 1..=7)).chain(asked(5, 2..=7)));
        rows.push(row(client(5), Door::Proxy, NOW - 9, None));
        let found = swept(&rows, &[client(1), client(2), client(3)]);
        assert_eq!(kinds(&found, client(1)), [SignalKind::Silent]);
        assert!(kinds(&found, client(2)).is_empty(), "seldom here");
        assert!(kinds(&found, client(3)).is_empty(), "it asks");
        assert!(kinds(&found, client(4)).is_empty(), "away");
        assert_eq!(kinds(&found, client(5)), [SignalKind::NoDns, SignalKind::Silent]);
        let silent = &found.iter().find(|it| it.client == client(1)).unwrap().signals[0];
        assert_eq!((silent.count, silent.last_ms), (5, NOW - DAY_MS - 9));
        assert_eq!(look_back(SPAN), NOW - 8 * DAY_MS);
    }

    #[test]
    fn devices_and_names_are_bounded() {
        let mut sweep = RadarSweep::new(SPAN);
        for last in 0..=255 {
            for third in 0..=20 {
                let client = IpAddr::from([10, 0, third, last]);
                sweep.add(&row(client, Door::Dns, NOW - 1, Some("dns.google")));
            }
        }
        for number in 0..2000 {
            let name = format!("n{number}.nordvpn.com");
            sweep.add(&row(IpAddr::from([10, 0, 0, 0]), Door::Dns, NOW - 1, Some(&name)));
        }
        assert_eq!(sweep.devices.len(), DEVICES_MAX);
        let report = sweep.report(200, |asked| vec![false; asked.len()]);
        assert_eq!((report.devices.len(), report.more), (200, DEVICES_MAX - 200));
        assert_eq!(report.devices[0].signals[1].count, 2000);
        assert_eq!(report.devices[0].signals[1].names.len(), NAMES_MAX);
    }
}
