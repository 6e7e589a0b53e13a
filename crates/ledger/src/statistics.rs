//! Statistics: what can be asked of the roll-ups, and the answers.
//!
//! A roll-up is one line of counts for each hour, day or month and each door, client, list and
//! upstream. They stay when the rows of the log are long gone. Plain structs; `admin` shapes them.
//! Filled by the store's reads.

use std::net::IpAddr;
use std::str::FromStr;
use vocab::UnknownWord;
use weekly_hours::CalendarStep;

/// Keys of one dimension that an hour, a day and a month hold; what is beyond is counted together
/// as others.
pub(crate) const HOUR_KEYS_MAX: usize = 1_024;
pub(crate) const DAY_KEYS_MAX: usize = 512;
pub(crate) const MONTH_KEYS_MAX: usize = 256;

/// Steps of a series at most: a coarser step is taken where there would be more.
pub const STEPS_MAX: usize = 800;

/// Counts of requests, or of questions to an upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatisticCounts {
    /// Requests that passed; of an upstream, all that was sent to it.
    pub passed: u64,
    /// Requests that were blocked.
    pub blocked: u64,
    /// Requests that a cache answered.
    pub cached: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes of the answers.
    pub bytes: u64,
    /// Microseconds that the answers took together.
    pub took_us: u64,
}

/// Tells by what requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatisticDimension {
    /// By the door where they came in.
    Door,
    /// By who asked.
    Client,
    /// By the list whose rule decided.
    List,
    /// By the upstream resolver or the server of a pool that was asked.
    Upstream,
}

/// Length of a step of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatisticStep {
    /// A minute: of all requests and of doors alone, for the last hours.
    Minute,
    /// An hour of the zone.
    Hour,
    /// A day, from midnight to midnight in the zone.
    Day,
    /// A month.
    Month,
}

/// Time that a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticRange {
    /// The last 60 minutes.
    Hour,
    /// The last 24 hours.
    Day,
    /// The last 7 days, in hours.
    Week,
    /// Today and the 29 days before.
    Month,
    /// Today and the 364 days before.
    Year,
    /// Everything there is.
    All,
    /// From one moment to another, in milliseconds since 1970.
    Between {
        /// The first.
        from_ms: u64,
        /// The one that is not in it any more.
        to_ms: u64,
    },
}

/// Tells whose requests a series counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StatisticSeries {
    /// Everybody's.
    #[default]
    All,
    /// Requests of one door, client, list or upstream.
    One(StatisticDimension, String),
}

/// A question for statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsQuery {
    /// The time.
    pub range: StatisticRange,
    /// Step of the series; chosen by the range if none is given, and where it would be too fine.
    pub step: Option<StatisticStep>,
    /// Requests that are counted over time.
    pub series: StatisticSeries,
    /// Rankings that are wanted.
    pub rankings: Vec<StatisticDimension>,
    /// Lines of a ranking, at most [`crate::LIMIT_MAX`].
    pub limit: usize,
}

/// Statistics over a time.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsReport {
    /// The zone whose days these are: `Europe/Zurich`, or `local` for the machine's.
    pub zone: String,
    /// The first moment that is counted at all, in milliseconds since 1970; none before any is.
    pub begins_ms: Option<u64>,
    /// Ranges for which there is more to see than for the next shorter one.
    pub offered: Vec<StatisticRange>,
    /// Step of the series.
    pub step: StatisticStep,
    /// Sum of the series.
    pub total: StatisticCounts,
    /// Steps from old to new, those without a request too.
    pub points: Vec<StatisticPoint>,
    /// Rankings in the order in which they were asked for.
    pub rankings: Vec<StatisticRanking>,
}

/// One step of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticPoint {
    /// Start, in milliseconds since 1970.
    pub at_ms: u64,
    /// End, which may be still to come.
    pub until_ms: u64,
    /// Part of it that is counted, 0 to 1: less than all for the step that is not over yet, and
    /// for the one in which counting began.
    pub share: f64,
    /// Requests in it.
    pub counts: StatisticCounts,
}

/// Ranking by requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticRanking {
    /// By what it ranks.
    pub dimension: StatisticDimension,
    /// The largest first.
    pub lines: Vec<StatisticLine>,
    /// Requests of all that have no line.
    pub others: StatisticCounts,
    /// Number of those that have a name and no line.
    pub more: usize,
}

/// One line of a ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticLine {
    /// The door's word, the client's address, the list's or the upstream's name.
    pub key: String,
    /// Requests.
    pub counts: StatisticCounts,
}

/// Counts of one upstream since the program began, as its part keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamCount {
    /// Name: of a resolver, or of a pool's server behind the pool's.
    pub name: String,
    /// Questions or requests that it was sent.
    pub sent: u64,
    /// Questions or requests that it failed.
    pub failed: u64,
    /// Microseconds that its answers took together.
    pub took_us: u64,
}

/// The source of upstreams' counts: the resolver and the gateway, through the binary.
pub trait UpstreamCounts: Send + Sync + 'static {
    /// The counts of every upstream there is.
    fn counts(&self) -> Vec<UpstreamCount>;
}

impl StatisticCounts {
    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.blocked = self.blocked.saturating_add(other.blocked);
        self.cached = self.cached.saturating_add(other.cached);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.took_us = self.took_us.saturating_add(other.took_us);
    }

    /// All requests.
    pub const fn requests(&self) -> u64 {
        self.passed.saturating_add(self.blocked)
    }
}

impl StatisticDimension {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Client, Self::List, Self::Door, Self::Upstream];

    /// Returns its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Door => "door",
            Self::Client => "client",
            Self::List => "list",
            Self::Upstream => "upstream",
        }
    }
}

impl FromStr for StatisticDimension {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| UnknownWord(word.into()))
    }
}

impl StatisticStep {
    /// All of them, from short to long.
    pub const ALL: [Self; 4] = [Self::Minute, Self::Hour, Self::Day, Self::Month];

    /// Returns its name in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// The step of the calendar; none for a minute, which no zone changes.
    pub(crate) const fn calendar(self) -> Option<CalendarStep> {
        match self {
            Self::Minute => None,
            Self::Hour => Some(CalendarStep::Hour),
            Self::Day => Some(CalendarStep::Day),
            Self::Month => Some(CalendarStep::Month),
        }
    }

    /// The next longer one; of a month, a month.
    pub(crate) const fn coarser(self) -> Self {
        match self {
            Self::Minute => Self::Hour,
            Self::Hour => Self::Day,
            Self::Day | Self::Month => Self::Month,
        }
    }
}

impl FromStr for StatisticStep {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL.into_iter().find(|it| it.as_str() == word).ok_or_else(|| UnknownWord(word.into()))
    }
}

impl StatisticRange {
    /// Ranges with a name, from short to long.
    pub const NAMED: [Self; 6] =
        [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Year, Self::All];

    /// Returns its name in the API; empty for one between two moments.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
            Self::All => "all",
            Self::Between { .. } => "",
        }
    }
}

impl FromStr for StatisticRange {
    type Err = UnknownWord;
    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let mut named = Self::NAMED.into_iter();
        named.find(|it| it.as_str() == word).ok_or_else(|| UnknownWord(word.into()))
    }
}

/// The text of a client's key: its address, as bytes.
pub(crate) fn client_key(client: IpAddr) -> Vec<u8> {
    match client {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// The client of a key.
pub(crate) fn client_of(key: &[u8]) -> Option<IpAddr> {
    match key.len() {
        4 => Some(IpAddr::from(*key.first_chunk::<4>()?)),
        16 => Some(IpAddr::from(*key.first_chunk::<16>()?)),
        _ => None,
    }
}
