//! The `policy` section of the configuration: which lists there are and who gets which.
//!
//! It reads no file and no list. `check` refuses what is wrong and what is not built yet, all at
//! once. Read by `config`, turned into [`Profiles`](crate::Profiles) by the binary.

use crate::report::ListKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::HashSet;
use std::path::PathBuf;
use vocab::{ByteSize, Complaint, Network, Span};

/// Most lists of a policy: the lists of a profile are one word of bits.
pub const LISTS_MAX: usize = 64;
/// Largest `max_size`: line numbers and offsets are 32 bits.
const LIST_BYTES_MAX: u64 = 1 << 30;
const BUILTINS: &[&str] = &["starter"];

/// Lists of rules, and which clients they hold for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The lists, at most 64. Where two rules of one rank match, the earlier list is named.
    pub lists: Vec<ListSettings>,
    /// Clients with lists of their own. The first entry that matches a client's address holds.
    pub clients: Vec<ClientSettings>,
    /// Everybody else.
    pub default: DefaultSettings,
}

/// One list: a name, and exactly one of `builtin`, `path`, `url` and `rules`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListSettings {
    /// Its name in profiles, logs and explanations. Needed, and each but once.
    pub name: String,
    /// A list that comes with the program: `starter`.
    pub builtin: Option<String>,
    /// A file; the syntax is detected: hosts, names, wildcards, dnsmasq, AdGuard, EasyList.
    /// Relative paths start at the configuration file.
    pub path: Option<PathBuf>,
    /// Where to fetch it. Not built yet: fetch the file beforehand and write `path`.
    pub url: Option<String>,
    /// Rules written here, one an entry, in any of the syntaxes.
    pub rules: Vec<String>,
    /// `block`: what it matches is blocked. `allow`: what it matches passes, whatever other lists
    /// say, unless they say it with `$important`. Default block.
    pub kind: ListKind,
    /// How often a `url` is fetched again. Not built yet, as `url` is not.
    pub refresh: Option<Text<Span>>,
    /// Largest size of the file; a larger one is refused. Default 256MiB, at most 1GiB.
    pub max_size: Option<Text<ByteSize>>,
}

/// Clients, and the lists that hold for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientSettings {
    /// The name of the profile, in logs and in `$client=` of rules. Needed, and each but once.
    pub name: String,
    /// IP addresses and networks: `192.168.1.7`, `192.168.1.64/26`, `fd00::/8`. MAC addresses are
    /// not built yet.
    #[serde(rename = "match")]
    pub matches: Vec<String>,
    /// Names of lists. Default: those of `default`.
    pub lists: Option<Vec<String>>,
    /// Rules that hold at certain hours. Not built yet.
    pub schedule: Vec<ScheduleSettings>,
}

/// A rule that holds at certain hours. Not built yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSettings {
    /// The rule.
    pub block: String,
    /// Days of the week: `mon-fri`.
    pub days: String,
    /// Start: `21:00`.
    pub from: String,
    /// End; before the start, it is on the next day: `07:00`.
    pub to: String,
}

/// What holds for clients that no entry of `clients` matches.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DefaultSettings {
    /// Names of lists. Default: all of them.
    pub lists: Option<Vec<String>>,
}

impl Settings {
    /// Everything that is wrong, with paths relative to the section.
    pub fn check(&self) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        if self.lists.len() > LISTS_MAX {
            let message =
                format!("{} lists are more than the {LISTS_MAX} allowed", self.lists.len());
            complaints.push(Complaint::new("lists", message).remedy("join some into one file"));
        }
        let mut names = HashSet::new();
        for (at, list) in self.lists.iter().enumerate() {
            let path = format!("lists.{at}");
            check_name(&list.name, &path, "list", &mut names, &mut complaints);
            list.check(&path, &mut complaints);
        }
        let known: HashSet<&str> = self.lists.iter().map(|list| list.name.as_str()).collect();
        let mut profiles = HashSet::from([crate::profiles::DEFAULT_NAME]);
        for (at, client) in self.clients.iter().enumerate() {
            let path = format!("clients.{at}");
            check_name(&client.name, &path, "profile", &mut profiles, &mut complaints);
            client.check(&path, &mut complaints);
            check_lists(client.lists.as_deref(), &path, &known, &mut complaints);
        }
        check_lists(self.default.lists.as_deref(), "default", &known, &mut complaints);
        complaints
    }
}

impl ListSettings {
    fn check(&self, path: &str, complaints: &mut Vec<Complaint>) {
        let given = [
            self.builtin.is_some(),
            self.path.is_some(),
            self.url.is_some(),
            !self.rules.is_empty(),
        ];
        let sources = given.iter().filter(|given| **given).count();
        if sources != 1 {
            let message = if sources == 0 {
                "the list has no source"
            } else {
                "the list has more than one source"
            };
            let remedy = "write exactly one of builtin, path and rules";
            complaints.push(Complaint::new(path, message).remedy(remedy));
        }
        if let Some(builtin) = &self.builtin
            && !BUILTINS.contains(&builtin.as_str())
        {
            let message = format!("{builtin:?} is no built-in list");
            let path = format!("{path}.builtin");
            complaints.push(Complaint::new(path, message).remedy("write starter"));
        }
        if self.path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
            complaints.push(Complaint::new(format!("{path}.path"), "the path is empty"));
        }
        if self.url.is_some() {
            let remedy = "fetch the file beforehand and write path";
            let message = "lists are not fetched from URLs yet";
            complaints.push(Complaint::new(format!("{path}.url"), message).remedy(remedy));
        }
        if self.refresh.is_some() && self.url.is_none() {
            let message = "only a list with url is fetched again";
            let remedy = "leave refresh out; files are read again by tidegate ctl reload";
            complaints.push(Complaint::new(format!("{path}.refresh"), message).remedy(remedy));
        }
        if let Some(size) = self.max_size
            && !(1..=LIST_BYTES_MAX).contains(&size.bytes())
        {
            let message = format!("{size} is not between 1 and 1GiB");
            complaints.push(Complaint::new(format!("{path}.max_size"), message));
        }
    }
}

impl ClientSettings {
    fn check(&self, path: &str, complaints: &mut Vec<Complaint>) {
        if self.matches.is_empty() {
            let message = "the profile matches no client";
            let remedy = "write match: [192.168.1.7]";
            complaints.push(Complaint::new(format!("{path}.match"), message).remedy(remedy));
        }
        for (at, text) in self.matches.iter().enumerate() {
            let path = format!("{path}.match.{at}");
            if is_mac(text) {
                let message = format!("{text:?} is a MAC address; these are not built yet");
                let remedy = "write the client's IP address or network";
                complaints.push(Complaint::new(path, message).remedy(remedy));
            } else if let Err(why) = text.parse::<Network>() {
                let remedy = "write an IP address or a network such as 192.168.1.64/26";
                complaints.push(Complaint::new(path, why.to_string()).remedy(remedy));
            }
        }
        if !self.schedule.is_empty() {
            let message = "schedules are not built yet";
            complaints.push(
                Complaint::new(format!("{path}.schedule"), message)
                    .remedy("leave schedule out; a list in the profile holds at all hours"),
            );
        }
    }
}

fn is_mac(text: &str) -> bool {
    let groups: Vec<&str> = text.split([':', '-']).collect();
    groups.len() == 6
        && groups.iter().all(|group| group.len() == 2 && u8::from_str_radix(group, 16).is_ok())
}

fn check_name<'s>(
    name: &'s str,
    path: &str,
    what: &str,
    seen: &mut HashSet<&'s str>,
    complaints: &mut Vec<Complaint>,
) {
    let path = format!("{path}.name");
    if name.trim().is_empty() {
        complaints.push(Complaint::new(path, format!("the {what} has no name")));
    } else if !seen.insert(name) {
        let message = format!("{name:?} is taken");
        complaints.push(Complaint::new(path, message).remedy("give each a name of its own"));
    }
}

fn check_lists(
    lists: Option<&[String]>,
    path: &str,
    known: &HashSet<&str>,
    complaints: &mut Vec<Complaint>,
) {
    for (at, name) in lists.unwrap_or_default().iter().enumerate() {
        if !known.contains(name.as_str()) {
            let mut names: Vec<&str> = known.iter().copied().collect();
            names.sort_unstable();
            let message = format!("there is no list {name:?}");
            let remedy = format!("the lists are: {}", names.join(", "));
            complaints.push(Complaint::new(format!("{path}.lists.{at}"), message).remedy(remedy));
        }
    }
}
