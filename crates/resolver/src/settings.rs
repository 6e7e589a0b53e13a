//! What can be set for the resolver: groups of upstreams, and caches. The DNS door has the first of
//! each flat in its own section; whoever else resolves names uses the same ones.

pub(crate) mod address;
pub(crate) mod cache;
pub(crate) mod dial_settings;
pub(crate) mod pin;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod upstream;
pub(crate) mod upstream_check;

use address::{PlainServer, UpstreamAddress};
use cache::CacheSettings;
use probe::ProbeSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::ops::RangeInclusive;
use std::time::Duration;
use upstream::{DOMAINS_MAX, UpstreamSettings};
use vocab::{Complaint, TimeSpan};

/// Upstreams of one group, at most.
pub const UPSTREAMS_MAX: usize = 64;
/// Groups of upstreams, at most: a foreign file has one for each of its `forward` plugins.
pub const GROUPS_MAX: usize = 256;
/// Caches, at most.
pub const CACHES_MAX: usize = 64;
/// Upstreams that are asked one question at once, as set when nothing is said.
pub const CONCURRENT_DEFAULT: u8 = 3;
const CONCURRENT: RangeInclusive<u8> = 1..=32;
const TIMEOUT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(30);

/// Holds how names are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverSettings {
    /// Groups of upstreams. The first is used by whoever names none: every door that dials a name.
    /// At least one, at most 256.
    pub groups: Vec<GroupSettings>,
    /// Caches of answers, the first likewise. At least one, at most 64.
    pub caches: Vec<CacheSettings>,
}

/// Upstreams among which one question finds its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupSettings {
    /// What the group is called where several are. Default: nothing.
    pub name: String,
    /// Whom to ask: `https://HOST/PATH` (DNS over HTTPS), `tls://HOST` (DNS over TLS),
    /// `quic://HOST` (DNS over QUIC), `tcp://IP`, `udp://IP` or just an IP address; or a mapping
    /// with `address`, `name`, `domains` and more. At most 64. Default:
    /// `https://dns.quad9.net/dns-query` and `tls://1.1.1.1`.
    pub upstreams: Vec<UpstreamSettings>,
    /// How one of several upstreams is chosen: `race` asks several at once and takes the first
    /// answer, `ordered` takes them as written and goes on when one fails or is slow, `fastest`
    /// prefers the one that answered soonest of late, `random` spreads; `fastest_address` asks all
    /// at once, connects to the addresses that they answer, and puts the fastest first. Default
    /// `race`.
    pub strategy: SelectionStrategy,
    /// Answer that counts where upstreams that are asked at once disagree. `first`: the first that
    /// says there are records, or that there are none. `fastest`: the first at all, failures among
    /// them. `balanced`: one with records at once, an empty one ("no such name", nothing of the
    /// type) after 100 ms. `prefer_positive`: an empty one when all that were asked have answered,
    /// or the time is up. `consensus`: an empty one when two agree on it, or likewise. Not with the
    /// strategy `fastest_address`. Default `first`.
    pub response_selection: ResponseSelection,
    /// Measuring for the strategy `fastest_address`.
    pub probe: ProbeSettings,
    /// Number of upstreams that are asked one question at once, at most: a race begins with so
    /// many, the other strategies add one at a time while those asked are slow. Default 3, from 1
    /// to 32.
    pub concurrent: u8,
    /// IP addresses of plain DNS servers that find the addresses of upstreams given by name.
    /// Default: the upstreams given by IP that speak UDP, else those of `/etc/resolv.conf`.
    pub bootstrap: Vec<Text<PlainServer>>,
    /// Time that a question may take, all tries together. Default 5s, from 100ms to 30s.
    pub timeout: Text<TimeSpan>,
}

/// Tells how one of several upstreams is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SelectionStrategy {
    /// Several at once; the first answer wins.
    #[default]
    Race,
    /// As written; the next when one fails or is slow.
    Ordered,
    /// The one that answered soonest of late; the others are tried now and then.
    Fastest,
    /// Any.
    Random,
    /// All at once, and of what they answer the address that lets us connect soonest.
    #[serde(rename = "fastest_address")]
    FastestAddress,
}

/// Tells which answer counts where upstreams disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseSelection {
    /// The first that is an answer: with records, or that there are none.
    #[default]
    First,
    /// The first at all, failures among them.
    Fastest,
    /// One with records at once, an empty one a moment later.
    Balanced,
    /// One with records at once, an empty one when all have answered.
    PreferPositive,
    /// One with records at once, an empty one when two agree on it.
    Consensus,
}

impl Default for ResolverSettings {
    fn default() -> Self {
        Self { groups: vec![GroupSettings::default()], caches: vec![CacheSettings::default()] }
    }
}

impl Default for GroupSettings {
    fn default() -> Self {
        let address = |text: &str| UpstreamSettings::Address(text.into());
        Self {
            name: String::new(),
            upstreams: vec![address("https://dns.quad9.net/dns-query"), address("tls://1.1.1.1")],
            strategy: SelectionStrategy::default(),
            response_selection: ResponseSelection::default(),
            probe: ProbeSettings::default(),
            concurrent: CONCURRENT_DEFAULT,
            bootstrap: Vec::new(),
            timeout: Text(TimeSpan(Duration::from_secs(5))),
        }
    }
}

impl ResolverSettings {
    /// Every complaint about them. What is wrong with the first group stands where the DNS door has
    /// it, at the top, and what is wrong with the first cache under `cache`; the others stand under
    /// `groups.N` and `caches.N`.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for (key, count, most) in
            [("groups", self.groups.len(), GROUPS_MAX), ("caches", self.caches.len(), CACHES_MAX)]
        {
            if count == 0 || count > most {
                complaints.push(
                    Complaint::new(key, format!("{count} {key} cannot be had"))
                        .remedy(format!("from 1 to {most}")),
                );
            }
        }
        for (index, group) in self.groups.iter().enumerate() {
            let found = group.check().into_iter();
            if index == 0 {
                complaints.extend(found);
            } else {
                let place = format!("groups.{index}");
                complaints.extend(found.map(|it| it.under(&place)));
            }
            let same = |other: &GroupSettings| other.name == group.name && !group.name.is_empty();
            if self.groups[..index].iter().any(same) {
                let message = format!("another group is called {:?} too", group.name);
                complaints.push(
                    Complaint::new(format!("groups.{index}.name"), message)
                        .remedy("give it a name of its own"),
                );
            }
        }
        for (index, cache) in self.caches.iter().enumerate() {
            let place = if index == 0 { "cache".into() } else { format!("caches.{index}") };
            complaints.extend(cache.check().into_iter().map(|it| it.under(&place)));
        }
        if let (Some(group), Some(cache)) = (self.groups.first(), self.caches.first()) {
            complaints.extend(cache.check_against(group.timeout.0.0).map(|it| it.under("cache")));
        }
        complaints
    }
}

impl GroupSettings {
    /// Every complaint about it; paths are relative to the group.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.upstreams.is_empty() {
            complaints.push(
                Complaint::new("upstreams", "no upstream is given")
                    .remedy("for example [\"https://dns.quad9.net/dns-query\"]"),
            );
        }
        if self.upstreams.len() > UPSTREAMS_MAX {
            let message = format!("{} upstreams are too many", self.upstreams.len());
            complaints.push(Complaint::new("upstreams", message).remedy("64 is the most"));
        }
        for (index, upstream) in self.upstreams.iter().enumerate() {
            self.check_upstream(index, upstream, &mut complaints);
        }
        if !self.upstreams.is_empty() && self.upstreams.iter().all(|it| !it.domains().is_empty()) {
            let message = "every upstream has domains, so no one is asked about other names";
            complaints.push(
                Complaint::new("upstreams", message).remedy("add one upstream without domains"),
            );
        }
        if !CONCURRENT.contains(&self.concurrent) {
            let message = format!("{} is out of bounds", self.concurrent);
            complaints.push(Complaint::new("concurrent", message).remedy("from 1 to 32"));
        }
        if self.strategy == SelectionStrategy::FastestAddress
            && self.response_selection != ResponseSelection::First
        {
            let message = "the strategy fastest_address chooses among the answers itself";
            complaints.push(
                Complaint::new("response_selection", message).remedy("leave one of the two out"),
            );
        }
        complaints.extend(self.probe.check().into_iter().map(|it| it.under("probe")));
        if !TIMEOUT.contains(&self.timeout.0.0) {
            let message = format!("{} is out of bounds", self.timeout);
            complaints.push(Complaint::new("timeout", message).remedy("from 100ms to 30s"));
        }
        complaints
    }

    fn check_upstream(&self, index: usize, it: &UpstreamSettings, all: &mut Vec<Complaint>) {
        let place = format!("upstreams.{index}");
        let address = match it {
            UpstreamSettings::Address(_) => place.clone(),
            UpstreamSettings::Detailed(details) => {
                all.extend(details.check().into_iter().map(|it| it.under(&place)));
                format!("{place}.address")
            }
        };
        match it.address().parse::<UpstreamAddress>() {
            Err(why) => {
                all.push(Complaint::new(address, why.to_string()).remedy(why.remedy()));
            }
            Ok(_) if it.parsed().is_err() => all.push(
                Complaint::new(address, "plain DNS goes to an IP address, not to a name")
                    .remedy("write its address, or use tls:// or https://"),
            ),
            Ok(_) => {}
        }
        if it.domains().len() > DOMAINS_MAX {
            let message = format!("{} domains are too many", it.domains().len());
            all.push(
                Complaint::new(format!("{place}.domains"), message).remedy("4096 is the most"),
            );
        }
        if self.upstreams[..index].iter().any(|other| other.name() == it.name()) {
            let message = format!("another upstream is called {:?} too", it.name());
            all.push(Complaint::new(place, message).remedy("give it a `name` of its own"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use serde_json::{Value, json};

    fn read(group: Value, cache: Value) -> ResolverSettings {
        ResolverSettings {
            groups: vec![serde_json::from_value(group).unwrap()],
            caches: vec![serde_json::from_value(cache).unwrap()],
        }
    }

    fn check(settings: &ResolverSettings, expected: &[(&str, &str)]) {
        let complaints = settings.check();
        let found: Vec<_> =
            complaints.iter().map(|it| (it.path.as_str(), it.message.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_default_is_right() {
        check(&ResolverSettings::default(), &[]);
        assert_eq!(read(json!({}), json!({})), ResolverSettings::default());
    }

    #[test]
    fn the_contract_example_is_read() {
        let group = json!({
            "upstreams": ["https://dns.quad9.net/dns-query",
                { "address": "tls://1.1.1.1", "name": "cf", "domains": ["corp.example"] }],
            "strategy": "race",
            "bootstrap": ["9.9.9.9"],
        });
        let cache = json!({ "size": "64MiB", "stale": "12h", "prefetch": true });
        check(&read(group, cache), &[]);
    }

    #[test]
    fn all_complaints_come_at_once_with_their_places() {
        let group = json!({
            "upstreams": ["ftp://9.9.9.9", { "address": "udp://dns.example" },
                "tls://a.example", "tls://a.example"],
            "timeout": "1ms",
            "concurrent": 0,
        });
        let cache = json!({ "stale": "30d", "size": "1TiB", "stale_after": "20s" });
        check(
            &read(group, cache),
            &[
                ("upstreams.0", "\"ftp\" is no protocol of upstreams"),
                ("upstreams.1.address", "plain DNS goes to an IP address, not to a name"),
                ("upstreams.3", "another upstream is called \"tls://a.example\" too"),
                ("concurrent", "0 is out of bounds"),
                ("timeout", "1ms is out of bounds"),
                ("cache.size", "1TiB is out of bounds"),
                ("cache.stale", "30d is out of bounds"),
                ("cache.stale_after", "20s is longer than the timeout"),
            ],
        );
    }

    #[test]
    fn other_groups_and_caches_are_named_by_their_place() {
        let group: GroupSettings =
            serde_json::from_value(json!({ "name": "x", "concurrent": 99 })).unwrap();
        let cache: CacheSettings = serde_json::from_value(json!({ "size": "1TiB" })).unwrap();
        let mut settings = ResolverSettings::default();
        settings.groups.extend([group.clone(), group]);
        settings.caches.push(cache);
        check(
            &settings,
            &[
                ("groups.1.concurrent", "99 is out of bounds"),
                ("groups.2.concurrent", "99 is out of bounds"),
                ("groups.2.name", "another group is called \"x\" too"),
                ("caches.1.size", "1TiB is out of bounds"),
            ],
        );
        check(
            &ResolverSettings { groups: Vec::new(), caches: Vec::new() },
            &[("groups", "0 groups cannot be had"), ("caches", "0 caches cannot be had")],
        );
    }

    #[test]
    fn someone_must_be_asked_about_everything() {
        check(
            &read(
                json!({ "upstreams": [{ "address": "9.9.9.9", "domains": ["a.example"] }] }),
                json!({}),
            ),
            &[("upstreams", "every upstream has domains, so no one is asked about other names")],
        );
        check(
            &read(json!({ "upstreams": [] }), json!({})),
            &[("upstreams", "no upstream is given")],
        );
    }
}
