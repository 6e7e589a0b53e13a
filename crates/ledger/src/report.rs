//! What can be asked of the ledger, and the answers.
//!
//! Plain structs of shared words; times are milliseconds since 1970. Nothing here is text made for
//! people: `admin` shapes these into JSON. Filled by the store's reads.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use vocab::{Action, Caching, Door, Now, RequestKind, Source, UnknownWord};

/// Tells how far back a question reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportRange {
    /// The last hour, in steps of a minute.
    Hour,
    /// The last 24 hours, in steps of ten minutes.
    Day,
    /// The last 7 days, in steps of an hour.
    Week,
    /// The last 30 days, in steps of six hours.
    Month,
}

/// Holds what is counted, over a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportTotals {
    /// From here, in milliseconds since 1970: the start of a whole minute.
    pub since_ms: u64,
    /// Each door, action and source with its count; what was not seen is left out.
    pub counts: Vec<NamedCount>,
}

/// One count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedCount {
    /// Where the requests came in.
    pub door: Door,
    /// What was done.
    pub action: Action,
    /// Where the answers came from.
    pub source: Source,
    /// How many.
    pub count: u64,
}

/// Counts over time. Steps without a request are there, with zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportSeries {
    /// Length of a step, in seconds.
    pub step_s: u32,
    /// The first minute that is counted, in milliseconds since 1970; none before any is.
    pub begins_ms: Option<u64>,
    /// Steps from old to new; the last one is not over yet.
    pub points: Vec<ReportPoint>,
}

/// One step of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportPoint {
    /// Start of the step, in milliseconds since 1970.
    pub at_ms: u64,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
}

/// Tells what a top table ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopKind {
    /// Names that were blocked.
    Blocked,
    /// Names that were asked for and passed.
    Names,
    /// Clients, by all their requests.
    Clients,
}

/// One line of a top table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopLine {
    /// The name or the client's address.
    pub text: String,
    /// Requests.
    pub count: u64,
    /// Requests among them that were blocked.
    pub blocked: u64,
}

/// Clients of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientPage {
    /// Clients, by their requests.
    pub lines: Vec<ClientLine>,
    /// Number of clients that are left out.
    pub more: usize,
}

/// A client with its requests over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLine {
    /// Address; the network's first one if clients are anonymised.
    pub client: IpAddr,
    /// Requests that passed.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
    /// The first of them, in milliseconds since 1970.
    pub first_ms: u64,
    /// The last of them.
    pub last_ms: u64,
}

/// Requests of one client, over time and by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientActivity {
    /// Length of a step, in seconds.
    pub step_s: u32,
    /// Steps from old to new; the last one is not over yet.
    pub points: Vec<ReportPoint>,
    /// Names that passed most.
    pub names: Vec<TopLine>,
    /// Names that were blocked most.
    pub blocked: Vec<TopLine>,
}

/// Rows of the log, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<LogRow>,
    /// Place to go on at ([`crate::RowFilter::before`]); none if there is nothing older. It can be
    /// there with few rows or none: a question looks through at most [`crate::SCAN_ROWS_MAX`] rows.
    pub next: Option<u64>,
}

/// Rows that are newer than one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRows {
    /// The newest of them, oldest first.
    pub rows: Vec<LogRow>,
    /// Rows that the filter finds too, and that are left out.
    pub left_out: u64,
    /// Number of the newest row that was looked at: the next question begins behind it.
    pub newest: u64,
}

/// One request as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// Number; newer rows have larger ones.
    pub id: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Where it came in.
    pub door: Door,
    /// Who asked; the network's first address if clients are anonymised.
    pub client: IpAddr,
    /// The name or URL.
    pub subject: String,
    /// What kind of thing was asked for.
    pub kind: RequestKind,
    /// What was done.
    pub action: Action,
    /// Why.
    pub cause: RowCause,
    /// Where the answer came from.
    pub source: Source,
    /// What the door's HTTP cache did; nothing in rows that are older than that.
    pub caching: Caching,
    /// DNS response code or HTTP status.
    pub status: u16,
    /// Bytes of the answer.
    pub bytes: u32,
    /// Microseconds that it took.
    pub duration_us: u32,
}

/// Why something was done, with the rule's text as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowCause {
    /// No rule matched.
    NoRule,
    /// This rule decided.
    Rule {
        /// The list's name.
        list: String,
        /// The line in it, from 1.
        line: u32,
        /// The rule.
        text: String,
    },
    /// Protection was paused.
    Paused,
    /// The policy was not asked.
    NotAsked,
    /// No rule names it, and the client's profile blocks everything that no rule lets pass.
    Unlisted,
    /// Another blocker sent it to the pixel door, and no rule names it.
    OtherBlocker,
    /// Somebody blocked the name by hand.
    ByHand,
}

/// Holds how the ledger itself does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterHealth {
    /// Rows that were not stored because the queue was full.
    pub dropped_queue: u64,
    /// Rows that were not stored because the store failed, as on a full disk.
    pub dropped_store: u64,
    /// Rows stored since the start.
    pub stored: u64,
    /// What the operator should know: a damaged file set aside, a store that fails.
    pub warnings: Vec<String>,
}

/// Latency of one door since the start, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatencyReport {
    /// The door.
    pub door: Door,
    /// Requests.
    pub count: u64,
    /// Half of them took no longer.
    pub median_us: u64,
    /// 99 of 100 took no longer.
    pub p99_us: u64,
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(pub(crate) String);

impl ReportRange {
    /// All of them, from short to long.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    /// Returns its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Week => "7d",
            Self::Month => "30d",
        }
    }

    /// Returns its length in minutes.
    pub const fn minutes(self) -> u64 {
        match self {
            Self::Hour => 60,
            Self::Day => 24 * 60,
            Self::Week => 7 * 24 * 60,
            Self::Month => 30 * 24 * 60,
        }
    }

    /// The step of its series in minutes.
    pub const fn step_minutes(self) -> u64 {
        match self {
            Self::Hour => 1,
            Self::Day => 10,
            Self::Week => 60,
            Self::Month => 360,
        }
    }

    /// The first minute (since 1970) of the series that ends at `now`: a whole step.
    pub(crate) fn first_minute(self, now: Now) -> u64 {
        let step = self.step_minutes();
        let last_step = now.unix_secs() / 60 / step * step;
        (last_step + step).saturating_sub(self.minutes())
    }

    /// The steps of that series, from old to new, without requests.
    pub(crate) fn blank_points(self, now: Now) -> Vec<ReportPoint> {
        let (first, step) = (self.first_minute(now), self.step_minutes());
        let point =
            |index| ReportPoint { at_ms: (first + index * step) * 60_000, passed: 0, blocked: 0 };
        (0..self.minutes() / step).map(point).collect()
    }
}

impl FromStr for ReportRange {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|range| range.as_str() == word)
            .ok_or_else(|| UnknownWord(word.into()))
    }
}

impl TopKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Blocked, Self::Names, Self::Clients];

    /// Returns its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Names => "names",
            Self::Clients => "clients",
        }
    }
}

impl FromStr for TopKind {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|top| top.as_str() == word)
            .ok_or_else(|| UnknownWord(word.into()))
    }
}

impl ReportPoint {
    /// Adds requests of one action.
    pub(crate) const fn add(&mut self, action: Action, count: u64) {
        match action {
            Action::Pass => self.passed += count,
            Action::Block => self.blocked += count,
        }
    }
}

impl ReportTotals {
    /// Requests of one action, over all doors and sources.
    pub fn of(&self, action: Action) -> u64 {
        self.counts.iter().filter(|count| count.action == action).map(|count| count.count).sum()
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the ledger could not be read: {}", self.0)
    }
}

impl std::error::Error for ReadError {}
