//! What can be set for effects: sets, hooks, scripts, downloads and when they run.
//!
//! Plain data with the names and defaults of mosdns and OxiDNS. It opens nothing; each `check` says
//! all that is wrong. Called by whoever reads a configuration, and by
//! [`Effects::start`](super::Effects::start).

use crate::router_settings::{RouteSpec, RouterSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::Text;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use vocab::{ByteSize, TimeSpan};

/// Effects, at most; each has a queue.
pub const EFFECTS_MAX: usize = 1024;
/// Jobs, at most.
pub const JOBS_MAX: usize = 256;
/// Files of one download effect, at most.
pub(super) const DOWNLOADS_MAX: usize = 256;

/// All effects of a configuration and their schedules. Where it is equal after a reload, running
/// effects can stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectsPlan {
    /// The effects; [`EffectId`] counts them.
    pub effects: Vec<EffectSettings>,
    /// When some of them run by themselves.
    pub jobs: Vec<JobSettings>,
}

/// Which effect, counted from 0 in [`EffectsPlan::effects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EffectId(pub u16);

/// One effect.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectSettings {
    /// What it is called in metrics and log lines.
    pub name: String,
    /// What it does.
    pub spec: EffectSpec,
}

/// Tells what an effect does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EffectSpec {
    /// Adds the answer's addresses to sets of ipset.
    Ipset(IpsetSpec),
    /// Adds the answer's addresses to sets of nftables.
    Nftset(NftsetSpec),
    /// Sends an HTTP request.
    HttpRequest(HttpSpec),
    /// Runs a program.
    Script(ScriptSpec),
    /// Fetches files.
    Download(DownloadSpec),
    /// Adds the answer's addresses to lists of a MikroTik router.
    RosAddressList(RouterSpec),
    /// Adds routes to the answer's addresses there.
    RosRoute(RouteSpec),
    /// Has lists or everything read anew.
    Reload(ReloadWhat),
}

/// A set of ipset for each family. At least one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IpsetSpec {
    /// The set for IPv4 addresses; empty: they are ignored. At most 31 bytes.
    pub set_name4: String,
    /// The set for IPv6 addresses.
    pub set_name6: String,
    /// Length of the prefix that is added. Default 24 (also for 0), at most 32. A hash:ip set
    /// takes every address of the prefix: use 32 there.
    pub mask4: u8,
    /// The same for IPv6. Default 32, at most 128.
    pub mask6: u8,
}

/// A set of nftables for each family. At least one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NftsetSpec {
    /// The set for IPv4 addresses.
    pub ipv4: Option<NftSet>,
    /// The set for IPv6 addresses.
    pub ipv6: Option<NftSet>,
}

/// Where a set of nftables is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NftSet {
    /// `ip`, `ip6` or `inet`.
    pub table_family: NftFamily,
    /// The table.
    pub table_name: String,
    /// The set. With the flag `interval` it gets prefixes, else single addresses.
    pub set_name: String,
    /// Length of the prefix. Default (also for 0) 24 for IPv4 and 48 for IPv6.
    #[serde(default)]
    pub mask: u8,
}

/// Family of a table of nftables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NftFamily {
    /// IPv4.
    Ip,
    /// IPv6.
    Ip6,
    /// Both.
    Inet,
}

/// One set, of either kind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SetTarget {
    pub(super) address: SetPlace,
    pub(super) mask: u8,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum SetPlace {
    Ipset { name: String },
    Nftset { family: NftFamily, table: String, set: String },
}

/// An HTTP request. `${...}` in its texts is filled in: `qname`, `qtype`, `qtype_name`, `qclass`,
/// `qclass_name`, `client_ip`, `client_port`, `server_name`, `url_path`, `marks`, `has_resp`,
/// `rcode`, `rcode_name`, `resp_ip`, `cron_plugin_tag`, `cron_job_name`, `cron_trigger_kind`,
/// `cron_scheduled_at_unix_ms`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSpec {
    /// The method. No default.
    pub method: String,
    /// The URL, `http://` or `https://`. Its host is fixed; what is filled in is escaped.
    pub url: String,
    /// Before the question is answered or after. Default `after`.
    pub phase: EffectPhase,
    /// True if nobody waits for it. Default true.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// Time that it may take, redirects included. Default 5s, from 10ms to 1h.
    pub timeout: Text<TimeSpan>,
    /// What a failure means where somebody waits for it. Default `continue`.
    pub error_mode: ErrorMode,
    /// Headers. At most 64.
    pub headers: BTreeMap<String, String>,
    /// Added to the URL's query. At most 64.
    pub query_params: BTreeMap<String, String>,
    /// The body as a text. At most one of `body`, `json` and `form`.
    pub body: Option<String>,
    /// The body as JSON; texts in it are filled in.
    pub json: Option<Value>,
    /// The body as a form.
    pub form: Option<BTreeMap<String, String>>,
    /// What `body` is: `text/plain`, say. With `body` alone.
    pub content_type: Option<String>,
    /// A SOCKS5 proxy by its IP address: `127.0.0.1:1080`, `user:password@127.0.0.1:1080`. Names
    /// are looked up there. Default: none.
    pub socks5: Option<String>,
    /// Not to check certificates. Default false.
    pub insecure_skip_verify: bool,
    /// Redirects that are followed. Default 5, at most 20.
    pub max_redirects: u8,
    /// Requests that wait; at the cap the newest is dropped and counted. Default 256, at most
    /// 65536.
    pub queue_size: usize,
}

/// When an effect takes place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectPhase {
    /// Before the question is answered.
    Before,
    /// Afterwards.
    #[default]
    After,
}

/// Tells what a failure means where somebody waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMode {
    /// Nothing.
    #[default]
    Continue,
    /// The sequence ends.
    Stop,
    /// The question is answered with a failure.
    Fail,
}

/// A program that is run. No shell is in between, unless it is the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptSpec {
    /// The program: a path, or a name that is searched in `PATH`. Nothing is filled in.
    pub command: String,
    /// Arguments, one word each whatever is filled in. A word that begins with something filled
    /// in is refused when that begins with `-`: programs would take it for an option. At most 256.
    pub args: Vec<String>,
    /// Environment added to Tidegate's own. At most 256.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in. Default: Tidegate's.
    pub cwd: Option<PathBuf>,
    /// Time for which it may run; then it and what it started are killed. Default 5s, from 10ms to
    /// 1h.
    pub timeout: Text<TimeSpan>,
    /// What a failure means where somebody waits for it. Default `continue`.
    pub error_mode: ErrorMode,
    /// Bytes of its output that are kept, to tell why it failed. Default 4096, at most 1 MiB.
    pub max_output_bytes: usize,
    /// How many of it run at once. Default 4, at most 64.
    pub concurrent: u8,
    /// Runs that wait; at the cap the newest is dropped and counted. Default 256, at most 65536.
    pub queue_size: usize,
}

/// Files that are fetched, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DownloadSpec {
    /// Time that one file may take, each try. Default 30s, from 100ms to 1h.
    pub timeout: Text<TimeSpan>,
    /// A SOCKS5 proxy by its IP address: `127.0.0.1:1080`, `user:password@127.0.0.1:1080`. Names
    /// are looked up there. Default: none.
    pub socks5: Option<String>,
    /// Not to check certificates. Default false.
    pub insecure_skip_verify: bool,
    /// True if a file that is not there is fetched at start. Default true.
    pub startup_if_missing: bool,
    /// Largest file. Default 64MiB, at most 1GiB.
    pub max_size: Text<ByteSize>,
    /// Tries after the first, where one can help: the server was not reached, slow or overloaded.
    /// Default 3, at most 10.
    pub retries: u8,
    /// Wait before the first of them; it doubles with each. Default 2s, at most 10m.
    pub retry_after: Text<TimeSpan>,
    /// A scheduled run begins at random within this, so that not everybody asks a server at the
    /// same second. Default 10s, at most 1h.
    pub jitter: Text<TimeSpan>,
    /// The files. At least one, at most 256.
    pub downloads: Vec<DownloadItem>,
}

/// One file that is fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DownloadItem {
    /// Where from: `http://` or `https://`.
    pub url: String,
    /// The folder it is put into; made if it is not there.
    pub dir: PathBuf,
    /// Name there. Default: the last part of the URL's path.
    #[serde(default)]
    pub filename: Option<String>,
}

/// Tells what is to be read anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "what", content = "names")]
pub enum ReloadWhat {
    /// The configuration and all that it names.
    Everything,
    /// These lists, by their names.
    Providers(Vec<String>),
    /// Whatever reads these files: they were fetched and are different.
    Files(Vec<PathBuf>),
}

/// Effects that are set off by the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// What the schedule is called that it stands in, for `${cron_plugin_tag}`.
    pub schedule: String,
    /// What it is called.
    pub name: String,
    /// When it runs.
    pub when: JobTime,
    /// What it sets off, one after the other; a failure does not stop the next.
    pub effects: Vec<EffectId>,
}

/// When a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobTime {
    /// At the minutes that five fields of cron name.
    Cron {
        /// Minute, hour, day of month, month, day of week.
        fields: String,
        /// An IANA time zone, `UTC` or `Asia/Tokyo`. None: the system's.
        timezone: Option<String>,
    },
    /// Again and again, at least a minute apart.
    Every(Duration),
}

impl Default for HttpSpec {
    fn default() -> Self {
        Self {
            method: String::new(),
            url: String::new(),
            phase: EffectPhase::After,
            is_async: true,
            timeout: Text(TimeSpan(Duration::from_secs(5))),
            error_mode: ErrorMode::Continue,
            headers: BTreeMap::new(),
            query_params: BTreeMap::new(),
            body: None,
            json: None,
            form: None,
            content_type: None,
            socks5: None,
            insecure_skip_verify: false,
            max_redirects: 5,
            queue_size: 256,
        }
    }
}

impl Default for ScriptSpec {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            timeout: Text(TimeSpan(Duration::from_secs(5))),
            error_mode: ErrorMode::Continue,
            max_output_bytes: 4096,
            concurrent: 4,
            queue_size: 256,
        }
    }
}

impl Default for DownloadSpec {
    fn default() -> Self {
        Self {
            timeout: Text(TimeSpan(Duration::from_secs(30))),
            socks5: None,
            insecure_skip_verify: false,
            startup_if_missing: true,
            max_size: Text(ByteSize(64 << 20)),
            retries: 3,
            retry_after: Text(TimeSpan(Duration::from_secs(2))),
            jitter: Text(TimeSpan(Duration::from_secs(10))),
            downloads: Vec::new(),
        }
    }
}

impl EffectSpec {
    /// Returns its name in configurations.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ipset(_) => "ipset",
            Self::Nftset(_) => "nftset",
            Self::HttpRequest(_) => "http_request",
            Self::Script(_) => "script",
            Self::Download(_) => "download",
            Self::RosAddressList(_) => "ros_address_list",
            Self::RosRoute(_) => "ros_route",
            Self::Reload(_) => "reload",
        }
    }
}

impl NftFamily {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
            Self::Inet => "inet",
        }
    }
}

impl fmt::Display for SetPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipset { name } => write!(f, "set {name}"),
            Self::Nftset { family, table, set } => {
                write!(f, "set {} {table} {set}", family.as_str())
            }
        }
    }
}
