//! The clients of the `policy` section: who they are, and what holds for them at which hours.
//!
//! It looks up no client. `check` says all that is wrong at once. Read as a part of the section.

use super::{BlockStyle, UnlistedAction, check_lists};
use crate::clients::tags::ClientTags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;
use vocab::{Complaint, MacAddress, Network, NetworkError};
use weekly_hours::{HourSpan, HoursError};

/// Clients, and the lists that hold for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// The name of the profile, in logs and in `$client=` of rules. Needed, and each but once.
    pub name: String,
    /// Clients that belong to it: IP addresses and networks (`192.168.1.7`, `192.168.1.64/26`,
    /// `fd00::/8`); MAC addresses of devices on a link of this machine (`aa:bb:cc:00:11:22`), which
    /// the kernel's neighbour table tells for IPv4 and IPv6 alike; `interface:` with the interface
    /// by which their requests arrive (`interface:br-guest`); `id:` with the `ClientID` that a
    /// device gives in the path of DNS over HTTPS (`/dns-query/tablet`) or as the first label of
    /// the server's name (`tablet.dns.example`); and `user:` with a user of the proxy
    /// (`proxy.auth`).
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Names of lists. Default: those of `default`, or with `groups` none but theirs.
    pub lists: Option<Vec<String>>,
    /// Groups whose lists and schedules hold for it too.
    pub groups: Vec<String>,
    /// Tags for `$ctag=` of rules: `device_phone`, `os_android`, `user_child` and the like.
    pub tags: Vec<String>,
    /// Lists and rules that hold at certain hours besides.
    pub schedule: Vec<ScheduleSettings>,
    /// Treatment of requests that no rule is about: `pass` or `block`. Default: as `default` says.
    pub otherwise: Option<UnlistedAction>,
    /// The DNS door's answer to them for blocked names: `pixel`, `nodata`, `nxdomain`, `null` or
    /// `refused`. Default: as `dns.blocked` says.
    pub blocked: Option<BlockStyle>,
}

/// Lists and schedules that several clients share.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupSettings {
    /// Name in `groups` of clients. Needed, and each but once.
    pub name: String,
    /// Names of lists.
    pub lists: Option<Vec<String>>,
    /// Lists and rules that hold at certain hours besides.
    pub schedule: Vec<ScheduleSettings>,
}

/// Lists, or one rule, that hold at certain hours.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSettings {
    /// A rule in any syntax of lists: `||video.example^`.
    pub block: String,
    /// Names of lists; one of kind `allow` lets pass at those hours.
    pub lists: Vec<String>,
    /// Treatment of requests that no rule is about, at those hours: with `block` nothing passes but
    /// what a list of kind `allow` names. Default: as at other hours.
    pub otherwise: Option<UnlistedAction>,
    /// Days of the week: `mon-fri`, `sat,sun`. Default every day.
    pub days: String,
    /// Start: `21:00`. Default midnight.
    pub from: String,
    /// End, not included; not after the start, it is on the next day: `07:00`. Default midnight.
    pub to: String,
}

/// Tells who is meant by one entry of `match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClientMatch<'t> {
    Network(Network),
    Mac(MacAddress),
    Id(&'t str),
    User(&'t str),
    Interface(&'t str),
}

/// Why an entry of `match` means nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadClientMatch {
    /// Nothing follows the word with which the entry begins.
    Nobody(&'static str),
    /// The entry is neither an address nor a network.
    Network(NetworkError),
}

impl<'t> ClientMatch<'t> {
    /// Reads an entry; an error says what it should be.
    pub(crate) fn parse(text: &'t str) -> Result<Self, BadClientMatch> {
        type Make<'t> = fn(&'t str) -> ClientMatch<'t>;
        let words: [(&'static str, Make<'t>); 3] = [
            ("id:", ClientMatch::Id),
            ("user:", ClientMatch::User),
            ("interface:", ClientMatch::Interface),
        ];
        for (prefix, make) in words {
            if let Some(word) = text.strip_prefix(prefix) {
                let word = word.trim();
                let empty = BadClientMatch::Nobody(prefix);
                return if word.is_empty() { Err(empty) } else { Ok(make(word)) };
            }
        }
        if let Ok(mac) = text.parse() {
            return Ok(Self::Mac(mac));
        }
        text.parse().map(Self::Network).map_err(BadClientMatch::Network)
    }
}

impl fmt::Display for BadClientMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody(prefix) => write!(f, "nobody is named behind {prefix:?}"),
            Self::Network(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for BadClientMatch {}

impl ScheduleSettings {
    /// In few words, for people.
    pub(crate) fn text(&self) -> String {
        let or = |text: &str, default: &str| {
            if text.is_empty() { default.to_owned() } else { text.to_owned() }
        };
        let days = or(&self.days, "every day");
        format!("{days} {} to {}", or(&self.from, "00:00"), or(&self.to, "00:00"))
    }
}

impl ClientSettings {
    pub(super) fn check(
        &self,
        path: &str,
        groups: &HashSet<&str>,
        complaints: &mut Vec<Complaint>,
    ) {
        if self.matches.is_empty() {
            let message = "the profile matches no client";
            let remedy = "write match: [192.168.1.7]";
            complaints.push(Complaint::new(format!("{path}.match"), message).remedy(remedy));
        }
        for (at, text) in self.matches.iter().enumerate() {
            let Err(why) = ClientMatch::parse(text) else { continue };
            let remedy = "write an IP address, a network such as 192.168.1.64/26, a MAC address, \
                          id:phone, user:ann or interface:br-lan";
            let complaint = Complaint::new(format!("{path}.match.{at}"), why.to_string());
            complaints.push(complaint.remedy(remedy));
        }
        if self.blocked == Some(BlockStyle::Auto) {
            let message = "auto is for all clients, in dns.blocked";
            let remedy = "leave it out, or write pixel, nodata, nxdomain, null or refused";
            complaints.push(Complaint::new(format!("{path}.blocked"), message).remedy(remedy));
        }
        for (at, name) in self.groups.iter().enumerate() {
            if !groups.contains(name.as_str()) {
                let message = format!("there is no group {name:?}");
                let remedy = "write it under groups";
                let path = format!("{path}.groups.{at}");
                complaints.push(Complaint::new(path, message).remedy(remedy));
            }
        }
        for (at, word) in self.tags.iter().enumerate() {
            if ClientTags::by_name(word).is_none() {
                let message = format!("{word:?} is no tag");
                let remedy = format!("the tags are: {}", ClientTags::names().join(", "));
                let path = format!("{path}.tags.{at}");
                complaints.push(Complaint::new(path, message).remedy(remedy));
            }
        }
    }
}

pub(super) fn check_schedules(
    schedules: &[ScheduleSettings],
    path: &str,
    known: &HashSet<&str>,
    complaints: &mut Vec<Complaint>,
) {
    for (at, schedule) in schedules.iter().enumerate() {
        let path = format!("{path}.schedule.{at}");
        let has_rules = !schedule.block.trim().is_empty() || !schedule.lists.is_empty();
        if !has_rules && schedule.otherwise.is_none() {
            let message = "the schedule names neither a rule nor a list";
            let remedy = "write block: \"||video.example^\", lists: [games], or otherwise: block \
                          for everything";
            complaints.push(Complaint::new(&*path, message).remedy(remedy));
        }
        if schedule.block.contains('\n') {
            let message = "the schedule has more than one rule";
            let remedy = "make them a list and name it under lists";
            complaints.push(Complaint::new(format!("{path}.block"), message).remedy(remedy));
        }
        check_lists(Some(&schedule.lists), &path, known, complaints);
        let (field, text, remedy) =
            match HourSpan::parse(&schedule.days, &schedule.from, &schedule.to) {
                Ok(_) => continue,
                Err(HoursError::Days) => ("days", &schedule.days, "write days such as mon-fri,sun"),
                Err(HoursError::From) => ("from", &schedule.from, "write a time such as 21:00"),
                Err(HoursError::To) => ("to", &schedule.to, "write a time such as 07:00"),
            };
        let message = format!("{text:?} cannot be read");
        complaints.push(Complaint::new(format!("{path}.{field}"), message).remedy(remedy));
    }
}
