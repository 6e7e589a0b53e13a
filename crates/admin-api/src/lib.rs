//! The JSON of the control API, both ways.
//!
//! Times are ISO 8601 in UTC with milliseconds (`2026-11-21T12:00:00.000Z`); spans and sizes are
//! numbers that carry their unit in the name (`_s`, `_us`, `_bytes`); words are the lower-case ones
//! of the configuration. Fields are added, never renamed. Filled by the handlers, described by
//! utoipa, read by the dashboard and `tidegate ctl`.

mod accounts;
mod cache_index;
mod clients;
mod configuration;
mod inspected;
mod list_changes;
mod list_text;
mod lists;
mod notes;
mod origins;
mod overrides;
mod pages;
mod profiles;
mod replay;
mod settings;
mod statistics;
mod stores;
mod why;

pub use self::accounts::{
    AuditLine, AuditTable, AuditWords, CallerInfo, CodeSent, LoginRequest, NewToken, NewUser,
    PasswordChange, PasswordSent, RecoveryCodes, SessionInfo, SessionRemoval, SessionTable,
    SignInOffer, SignOnOffer, TokenMade, TokenName, TokenTable, TotpInfo, UserEdit, UserLine,
    UserName, UserTable,
};
pub use self::cache_index::{
    CacheIndex, CachePage, CacheQuery, CachedResponse, CachedSite, CachedUrl,
};
pub use self::clients::{
    ActivityQuery, ClientActivity, ClientHold, ClientInfo, ClientTable, ClientTrust, ClientsTrust,
    DeviceInfo,
};
pub use self::configuration::{
    ApplyOutcome, ApplyRequest, ChangeDetails, ChangeInfo, ChangeList, ChangedText, CheckDraft,
    CheckedDraft, ConfigFileInfo, ConfigFileList, DraftDifference, DraftFile, EditDraft,
    EditedDraft, FilesProblem, PlacedProblem, ReplayDraft, RestoreRequest, WrittenValueInfo,
};
pub use self::inspected::{InspectedInfo, InspectedList};
pub use self::list_changes::{ListName, ListSwitch, NewList, OwnRules, OwnRulesUpdate, RulesText};
pub use self::lists::{
    HeldBy, ListInfo, ListOverlap, ListOverlaps, ListUpdateOutcome, ListsInfo, SkippedCount,
    SkippedLine, SubscriptionInfo, UpdateRequest, UpdatedList,
};
pub use self::notes::{NoteLine, NoteTable};
pub use self::origins::{OriginInfo, OriginList};
pub use self::overrides::{
    AllowList, BlockList, EVERY_NAME, EndOverrideRequest, OverrideInfo, OverrideMinutes,
    OverrideRequest, OverrideWords,
};
pub use self::pages::{PageDetails, PageTable};
pub use self::profiles::{
    GroupUpdate, ItemRemoval, ListChoice, MadeItem, ProfileTable, ProfileUpdate,
};
pub use self::replay::{ReplayOutcome, ReplayRequest, ReplayedName, ReplayedRule};
pub use self::settings::{ConfigText, SettingEdit, SettingQuery, SettingValue, SettingsRequest};
pub use self::statistics::{
    CountInfo, RankingInfo, RankingLine, StatisticKey, StatisticsPage, StatisticsPoint,
    StatisticsQuery,
};
pub use self::stores::{StoreDisk, StoreInfo, StoreList, TakeBackRequest, TakenBack};
pub use self::why::{GatewayWhy, RuleMatch, WhyAnswer, WhyQuery};
pub use first_run_api::{
    AskingDevice, FirstList, FirstRunInfo, FirstRunOutcome, FirstRunQuery, FirstRunRequest,
    OwnAddress, PixelAddress, PortInfo, UpstreamChoice, WaitingChange,
};
pub use pool_api::{
    NewServer, PoolChangeRequest, PoolInfo, PoolList, PoolName, PoolResolve, PoolServer,
    PoolServersRequest, ServerRequest,
};
pub use request_rows::{RequestPage, RequestRow, RuleInfo};

pub use bypass_radar::{BypassDevice, BypassName, BypassQuery, BypassSignal, BypassTable};
pub use page_visits::{PageVisit, PagesQuery, VisitedHost};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Problem details (RFC 9457) of the type `about:blank`, with what to do about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiProblem {
    /// Name of the status.
    #[serde(default)]
    pub title: String,
    /// HTTP status.
    #[serde(default)]
    pub status: u16,
    /// The same as `error`.
    #[serde(default)]
    pub detail: String,
    /// What is wrong, in one sentence.
    pub error: String,
    /// What to do about it.
    pub remedy: String,
    /// Every complaint, where there can be several: a configuration that was not taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub complaints: Vec<String>,
    /// Lack of a sign-in: `code`, the second step; left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
}

/// Holds how the running Tidegate does.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProgramStatus {
    /// What the program says of itself.
    #[serde(flatten)]
    pub running: ProgramInfo,
    /// How the request log does.
    pub ledger: LedgerHealth,
    /// Latency of each door that was used, since the start.
    pub latency: Vec<DoorLatency>,
}

/// Holds what the running program says of itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ProgramInfo {
    /// Version of the program.
    pub version: String,
    /// When it started.
    pub started_at: String,
    /// Seconds since then.
    pub uptime_s: u64,
    /// Until when protection is paused; null if it is not.
    pub paused_until: Option<String>,
    /// Number of the process.
    pub pid: u32,
    /// The configuration file, absolute; null for the built-in one.
    pub config: Option<String>,
    /// The state folder, absolute.
    pub state: String,
    /// Where each door listens.
    pub listeners: Vec<ListenerInfo>,
    /// Lists in force.
    pub lists: u32,
    /// Rules in force.
    pub rules: u64,
    /// Memory of the compiled rules, in bytes.
    pub rules_bytes: u64,
    /// Resident memory of the process, in bytes; null where the system does not tell.
    pub resident_bytes: Option<u64>,
    /// SHA-256 fingerprint of the CA certificate, in hexadecimal with colons; null without a CA.
    pub ca_fingerprint: Option<String>,
    /// Privileges that are left: `user tidegate, no capabilities, no-new-privs, seccomp, landlock`.
    pub privileges: String,
    /// What the operator should know.
    pub warnings: Vec<String>,
    /// A newer version, where `updates.releases` told of one; null otherwise.
    #[serde(default)]
    pub newer: Option<NewerVersion>,
    /// Name of this machine in its fleet; null where it neither looks for bundles nor sends rows.
    #[serde(default)]
    pub fleet: Option<String>,
    /// True if it asks all machines of its fleet: `/api/fleet/why`, `/api/fleet/requests`.
    #[serde(default)]
    pub asks_fleet: bool,
    /// Parts of its fleet of which the API tells; none where it neither looks nor sends.
    #[serde(default)]
    pub fleet_parts: Vec<fleet_api::FleetPart>,
}

/// A version that is newer than the one that runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct NewerVersion {
    /// Version.
    pub version: String,
    /// Page to read; null where none was told.
    pub page: Option<String>,
}

/// One place where a door listens.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ListenerInfo {
    /// `dns`, `pixel`, `proxy`, `web`, `gateway`, `admin` or `metrics`.
    pub door: String,
    /// The address as a URL: `udp://127.0.0.1:5353`.
    pub url: String,
}

/// Holds how the request log does.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LedgerHealth {
    /// Rows stored since the start.
    pub stored: u64,
    /// Rows dropped because the queue was full.
    pub dropped_queue: u64,
    /// Rows dropped because the store failed, as on a full disk.
    pub dropped_store: u64,
}

/// Latency of one door since the start.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DoorLatency {
    /// The door.
    pub door: String,
    /// Requests.
    pub count: u64,
    /// Half of the requests took no longer, in microseconds.
    pub median_us: u64,
    /// 99 of 100 requests took no longer, in microseconds.
    pub p99_us: u64,
}

/// A question about a range of time.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RangeQuery {
    /// `1h`, `24h`, `7d` or `30d`; 24h if left out.
    pub range: Option<String>,
}

/// Counts over a range of time.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RequestTotals {
    /// The range: `1h`, `24h`, `7d` or `30d`.
    pub range: String,
    /// Start.
    pub since: String,
    /// End: now.
    pub until: String,
    /// All requests.
    pub requests: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that were blocked.
    pub blocked: u64,
    /// The blocked ones' part of all, 0 to 1; 0 without requests.
    pub blocked_share: f64,
    /// By door; doors without requests are left out.
    pub by_door: Vec<DoorCount>,
    /// By where the answer came from; sources without requests are left out.
    pub by_source: Vec<SourceCount>,
}

/// Counts of one door.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DoorCount {
    /// The door.
    pub door: String,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

/// Count of one source of answers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceCount {
    /// `policy`, `local`, `cache`, `stale`, `upstream`, `origin`, `file`, `tunnel`, `refused` or
    /// `failed`.
    pub source: String,
    /// Requests.
    pub count: u64,
}

/// Counts over time, for a chart.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimeSeries {
    /// The range: `1h`, `24h`, `7d` or `30d`.
    pub range: String,
    /// Length of a step, in seconds.
    pub step_s: u32,
    /// When counting began; null before the first request.
    #[serde(default)]
    pub begins: Option<String>,
    /// Steps from old to new, those without requests too; the last is not over yet.
    pub points: Vec<TimePoint>,
}

/// One step of a chart.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TimePoint {
    /// Start of the step.
    pub at: String,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

/// A question for a top table.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TopQuery {
    /// `blocked`, `names` or `clients`.
    pub what: String,
    /// `1h`, `24h`, `7d` or `30d`, widened to whole hours; 24h if left out.
    pub range: Option<String>,
    /// Lines wanted, 1 to 100; 10 if left out.
    pub limit: Option<u32>,
}

/// A top table.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TopTable {
    /// What is ranked.
    pub what: String,
    /// The range.
    pub range: String,
    /// Lines, the largest count first.
    pub lines: Vec<TopLine>,
}

/// One line of a top table.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TopLine {
    /// The name or the client's address.
    pub text: String,
    /// Requests.
    pub count: u64,
    /// Those among them that were blocked.
    pub blocked: u64,
}

/// The upstream resolvers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpstreamList {
    /// In the order of the configuration.
    pub upstreams: Vec<UpstreamInfo>,
}

/// One upstream resolver.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct UpstreamInfo {
    /// The group that asks it: a view, `fallback`, a plugin of a foreign file; empty for the first.
    /// Groups that share it are joined by `+`.
    pub group: String,
    /// Name.
    pub name: String,
    /// Address as a URL: `tls://1.1.1.1`.
    pub address: String,
    /// Queries sent to it since the start.
    pub queries: u64,
    /// Queries that it failed: no answer in time, or a useless one.
    pub failures: u64,
    /// Those among them that nothing came back for in time.
    pub timeouts: u64,
    /// Answers that lacked a proof which was asked for (letters in their case, a cookie), so that
    /// the question went over TCP.
    pub unproved: u64,
    /// Smoothed time to its answers, in microseconds; null before the first.
    pub latency_us: Option<u64>,
    /// True if it is being used.
    pub healthy: bool,
}

/// The caches of answers to DNS questions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DnsCacheList {
    /// In the order of the configuration.
    pub caches: Vec<DnsCacheInfo>,
}

/// One cache of answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DnsCacheInfo {
    /// Name: `everybody`, a view, a plugin of a foreign file. No two are alike.
    pub name: String,
    /// Answers held.
    pub entries: u64,
    /// Memory they take, in bytes.
    pub bytes: u64,
    /// Memory they may take, in bytes.
    pub bytes_max: u64,
    /// Questions answered from it since the start.
    pub hits: u64,
    /// Questions it had no answer to.
    pub misses: u64,
    /// Questions answered from it past the answer's time.
    pub stale: u64,
}

/// Holds what a reload did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReloadOutcome {
    /// Lists in force now.
    pub lists: u32,
    /// Rules in force now.
    pub rules: u64,
    /// Time that it took, in milliseconds.
    pub took_ms: u64,
    /// What the operator should know.
    pub warnings: Vec<String>,
}

/// Holds how long to pause protection.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PauseRequest {
    /// Seconds from now, 1 to 86,400.
    #[schema(minimum = 1, maximum = 86400)]
    pub seconds: u64,
}

/// Holds whether protection is paused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PauseState {
    /// Until when; null if it is not.
    pub paused_until: Option<String>,
}

/// Which answers to DNS questions to forget.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PurgeRequest {
    /// `name`, `suffix` (the name and all below it) or `all`.
    pub what: String,
    /// The name; left out for `all`.
    pub name: Option<String>,
}

/// Holds what a purge did.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PurgeOutcome {
    /// Answers that were forgotten, in all caches together.
    pub answers: u64,
}
