//! The `policy` section of the configuration: which lists there are and who gets which.
//!
//! It reads no file and no list. `check` refuses what is wrong and what is not built yet, all at
//! once. Read by `config`, turned into [`ClientProfiles`](crate::ClientProfiles) by the binary.

mod clients;
mod dead_rules;
mod style;

pub(crate) use clients::ClientMatch;
pub use clients::{ClientSettings, GroupSettings, ScheduleSettings};
pub use style::BlockStyle;

use crate::report::ListKind;
use clients::check_schedules;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use settings::Text;
use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;
use vocab::{ByteSize, Complaint, TimeSpan};
use weekly_hours::ScheduleZone;

/// Most lists of a policy: the lists of a profile are one word of bits.
pub const LISTS_MAX: usize = 64;
/// The name of the profile of everybody else.
pub(crate) const DEFAULT_NAME: &str = "default";
/// Largest `max_size`: line numbers and offsets are 32 bits.
const LIST_BYTES_MAX: u64 = 1 << 30;
/// Bounds of `refresh`. Lists change a few times a day at most, and their servers are free of
/// charge; what is older than a month protects from nothing new.
const REFRESH_MIN: Duration = Duration::from_mins(10);
const REFRESH_MAX: Duration = Duration::from_hours(30 * 24);
const REFRESH: Duration = Duration::from_hours(24);
/// `max_size` of a list with `url`: ten times EasyList, and less than fills a small box's memory.
const FETCHED_BYTES: u64 = 32 << 20;
/// `max_size` of a list with `path`: ten times the largest list in common use.
const FILE_BYTES: u64 = 256 << 20;
const BUILTINS: &[&str] = &["starter"];

/// Lists of rules, and which clients they hold for.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The lists, at most 64. Where two rules of one rank match, the earlier list is named.
    pub lists: Vec<ListSettings>,
    /// Names of lists that hold for nobody at the moment. They are read and fetched as before, so
    /// that they are in force again at once.
    pub lists_off: Vec<String>,
    /// Sets of lists and schedules that several clients share.
    pub groups: Vec<GroupSettings>,
    /// Clients with lists of their own. The first entry that matches a client holds.
    pub clients: Vec<ClientSettings>,
    /// Everybody else.
    pub default: DefaultSettings,
    /// Where the hours of schedules are read: `UTC`, an offset such as `+02:00`, or a place of the
    /// IANA database such as `Europe/Zurich`, with its summer time. Default UTC.
    pub time_zone: Option<String>,
    /// The page that people are shown in place of a blocked one, at the pixel and proxy doors: a
    /// file of HTML with slots such as `{{host}}`, up to 256 KiB, or a URL that they are redirected
    /// to, with slots such as `{host}`. Relative paths start at the configuration file. Default:
    /// the page that says why.
    pub block_page: Option<String>,
    /// A file of Luau whose `on_decide` may give other verdicts than the lists, at all doors.
    /// Relative paths start at the configuration file. Default: none.
    pub script: Option<String>,
}

/// One list: a name, and exactly one of `builtin`, `path`, `url` and `rules`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListSettings {
    /// Name in profiles, logs and explanations. Needed, and each but once.
    pub name: String,
    /// A list that comes with the program: `starter`.
    pub builtin: Option<String>,
    /// A file; the syntax is detected: hosts, names, wildcards, dnsmasq, Unbound, geosite, RPZ,
    /// Surge, Clash, Pi-hole expressions, AdGuard, EasyList. Or a folder: all files in it (not
    /// below it) whose names end in `.txt`, `.list` or `.hosts` are one list, in the order of their
    /// names, at most 1,000; hidden files are left out. Relative paths start at the configuration
    /// file.
    pub path: Option<PathBuf>,
    /// Where it is fetched from, `https://` or `http://`; redirects are followed, but never from
    /// https to http. The last good version is kept in the state folder and used until a better one
    /// is there.
    pub url: Option<String>,
    /// Rules written here, one an entry, in any of the syntaxes.
    pub rules: Vec<String>,
    /// `block`: what it matches is blocked. `allow`: what it matches passes, whatever other lists
    /// say, unless they say it with `$important`. Default block.
    pub kind: ListKind,
    /// Interval at which a `url` is asked for a newer version, give or take a tenth. Default 24h,
    /// from 10m to 30d.
    pub refresh: Option<Text<TimeSpan>>,
    /// Largest size of the list; a larger one is refused. Default 32MiB with `url`, else 256MiB; at
    /// most 1GiB.
    pub max_size: Option<Text<ByteSize>>,
    /// The SHA-256 that the text at `url` must have, 64 hexadecimal digits: any other text is
    /// refused.
    pub sha256: Option<String>,
    /// A PEM file of authorities that may vouch for the server of `url` besides the public ones, 1
    /// MiB at most; read at each fetch. Relative paths start at the configuration file. Default
    /// none.
    pub ca: Option<PathBuf>,
}

/// Lists and default for clients that no entry of `clients` matches.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DefaultSettings {
    /// Names of lists. Default: all of them.
    pub lists: Option<Vec<String>>,
    /// Treatment of requests that no rule is about. `pass`: they pass. `block`: they are blocked,
    /// so that only what a list of kind `allow` or an exception (`@@||name^`) names can be reached;
    /// the DNS door's own records (`dns.local`) and the sites of the web and gateway doors stay.
    /// Default pass.
    pub otherwise: UnlistedAction,
}

/// Treatment of requests that no rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnlistedAction {
    /// They pass.
    #[default]
    Pass,
    /// They are blocked.
    Block,
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
        let scheduled = self.schedule_lists().len();
        if scheduled > 0
            && self.lists.len() <= LISTS_MAX
            && self.lists.len() + scheduled > LISTS_MAX
        {
            let message = format!(
                "{} lists and {scheduled} rules of schedules are more than the {LISTS_MAX} allowed",
                self.lists.len()
            );
            let remedy = "put rules of schedules into a list and name it there";
            complaints.push(Complaint::new("clients", message).remedy(remedy));
        }
        if self.time_zone.as_deref().is_some_and(|zone| ScheduleZone::parse(zone).is_none()) {
            let message = format!("{:?} is no time zone", self.time_zone.as_deref().unwrap_or(""));
            let remedy = "write UTC, an offset such as +02:00, or a place such as Europe/Zurich";
            complaints.push(Complaint::new("time_zone", message).remedy(remedy));
        }
        let known: HashSet<&str> = self.lists.iter().map(|list| list.name.as_str()).collect();
        let groups: HashSet<&str> = self.groups.iter().map(|group| group.name.as_str()).collect();
        let mut names = HashSet::new();
        for (at, group) in self.groups.iter().enumerate() {
            let path = format!("groups.{at}");
            check_name(&group.name, &path, "group", &mut names, &mut complaints);
            check_lists(group.lists.as_deref(), &path, &known, &mut complaints);
            check_schedules(&group.schedule, &path, &known, &mut complaints);
        }
        let mut profiles = HashSet::from([DEFAULT_NAME]);
        for (at, client) in self.clients.iter().enumerate() {
            let path = format!("clients.{at}");
            check_name(&client.name, &path, "profile", &mut profiles, &mut complaints);
            client.check(&path, &groups, &mut complaints);
            check_lists(client.lists.as_deref(), &path, &known, &mut complaints);
            check_schedules(&client.schedule, &path, &known, &mut complaints);
        }
        check_lists(self.default.lists.as_deref(), "default", &known, &mut complaints);
        for (at, name) in self.lists_off.iter().enumerate() {
            check_list(name, &format!("lists_off.{at}"), &known, &mut complaints);
        }
        dead_rules::check(self, &mut complaints);
        complaints
    }

    /// The zone of the schedules; UTC where it cannot be read, which `check` refuses first.
    pub(crate) fn zone(&self) -> ScheduleZone {
        self.time_zone.as_deref().and_then(ScheduleZone::parse).unwrap_or(ScheduleZone::UTC)
    }

    /// The rules of schedules as lists, each a name and a text, to be compiled behind
    /// [`Self::lists`] in this order.
    pub fn schedule_lists(&self) -> Vec<(String, String)> {
        let of_groups = self.groups.iter().map(|group| (&group.name, &group.schedule));
        let of_clients = self.clients.iter().map(|client| (&client.name, &client.schedule));
        of_groups
            .chain(of_clients)
            .flat_map(|(name, schedule)| schedule.iter().map(move |entry| (name, entry)))
            .filter(|(_, entry)| !entry.block.is_empty())
            .map(|(name, entry)| (format!("{name}, {}", entry.text()), entry.block.clone()))
            .collect()
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
            let remedy = "write exactly one of builtin, path, url and rules";
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
        self.check_fetching(path, complaints);
        if let Some(size) = self.max_size
            && !(1..=LIST_BYTES_MAX).contains(&size.bytes())
        {
            let message = format!("{size} is not between 1 and 1GiB");
            complaints.push(Complaint::new(format!("{path}.max_size"), message));
        }
    }

    /// What concerns lists with `url`. That the URL can be asked shows when it is read for that.
    fn check_fetching(&self, path: &str, complaints: &mut Vec<Complaint>) {
        let lower = self.url.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
        if self.url.is_some() && !lower.starts_with("https://") && !lower.starts_with("http://") {
            let message = format!("{lower:?} is no URL that lists are fetched from");
            let remedy = "write https://, a host and a path; a file on this machine is a path";
            complaints.push(Complaint::new(format!("{path}.url"), message).remedy(remedy));
        }
        let fetching = [
            ("refresh", self.refresh.is_some()),
            ("sha256", self.sha256.is_some()),
            ("ca", self.ca.is_some()),
        ];
        for (key, _) in fetching.into_iter().filter(|(_, given)| *given && self.url.is_none()) {
            let message = format!("only a list with url has {key}");
            let remedy = "leave it out; files are read again by tidegate ctl reload";
            complaints.push(Complaint::new(format!("{path}.{key}"), message).remedy(remedy));
        }
        if let Some(refresh) = self.refresh
            && !(REFRESH_MIN..=REFRESH_MAX).contains(&refresh.0.0)
        {
            let message = format!("{refresh} is not between 10m and 30d");
            let remedy = "write 24h; tidegate lists update fetches at once";
            complaints.push(Complaint::new(format!("{path}.refresh"), message).remedy(remedy));
        }
        let is_digest =
            |text: &String| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if self.sha256.as_ref().is_some_and(|text| !is_digest(text)) {
            let message = "a SHA-256 has 64 hexadecimal digits";
            let remedy = "write what sha256sum prints for the list";
            complaints.push(Complaint::new(format!("{path}.sha256"), message).remedy(remedy));
        }
    }

    /// Returns how often its `url` is asked for a newer version.
    pub fn refresh_every(&self) -> Duration {
        self.refresh.map_or(REFRESH, |refresh| refresh.0.0)
    }

    /// Returns its largest size, in bytes.
    pub fn bytes_max(&self) -> u64 {
        let usual = if self.url.is_some() { FETCHED_BYTES } else { FILE_BYTES };
        self.max_size.map_or(usual, |size| size.bytes())
    }
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
        check_list(name, &format!("{path}.lists.{at}"), known, complaints);
    }
}

fn check_list(name: &str, path: &str, known: &HashSet<&str>, complaints: &mut Vec<Complaint>) {
    if known.contains(name) {
        return;
    }
    let mut names: Vec<&str> = known.iter().copied().collect();
    names.sort_unstable();
    let message = format!("there is no list {name:?}");
    let remedy = format!("the lists are: {}", names.join(", "));
    complaints.push(Complaint::new(path, message).remedy(remedy));
}
