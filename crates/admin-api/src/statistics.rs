//! Statistics as the API shows them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A question for statistics.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StatisticsQuery {
    /// `hour`, `day`, `week`, `month`, `year` or `all`, up to now; day if left out. Left out with
    /// `from` and `to`.
    pub range: Option<String>,
    /// Start, in milliseconds since 1970.
    pub from: Option<u64>,
    /// End, in milliseconds since 1970; now if left out.
    pub to: Option<u64>,
    /// Step of the series: `minute`, `hour`, `day` or `month`. Chosen by the range if left out; a
    /// coarser one is taken where this one is not kept for so long, or is more than 800 steps.
    pub step: Option<String>,
    /// Only requests of this client. One of `client`, `list`, `door` and `upstream` at most: counts
    /// are kept for each by itself.
    pub client: Option<String>,
    /// Only requests that a rule of this list decided.
    pub list: Option<String>,
    /// Only requests at this door.
    pub door: Option<String>,
    /// Only what this upstream was sent: a resolver's name, or a pool's and its server's.
    pub upstream: Option<String>,
    /// Ranking that is wanted: `client`, `list`, `door` or `upstream`; all four if left out. In a
    /// file this ranking alone, and the series if it is left out.
    pub by: Option<String>,
    /// Lines of a ranking, 1 to 500; 20 if left out.
    pub limit: Option<u32>,
    /// `json`, `csv` or `jsonl`; json if left out.
    pub format: Option<String>,
}

/// Statistics over a time.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatisticsPage {
    /// The range that was asked for; empty for one between two moments.
    pub range: String,
    /// Ranges for which there is more to see than for the next shorter one.
    pub offered: Vec<String>,
    /// The zone whose hours, days and months these are; `local` is the machine's, without a name.
    pub zone: String,
    /// When counting began; null before the first request.
    pub begins: Option<String>,
    /// Step of the series: `minute`, `hour`, `day` or `month`.
    pub step: String,
    /// The door, client, list or upstream whose requests the series counts; null for all requests.
    pub only: Option<StatisticKey>,
    /// Sum of the series.
    pub total: CountInfo,
    /// Steps from old to new, those without requests too. None is older than the first request.
    pub points: Vec<StatisticsPoint>,
    /// Rankings, widened to whole steps, and to whole hours at least.
    pub rankings: Vec<RankingInfo>,
}

/// A door, client, list or upstream.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatisticKey {
    /// `client`, `list`, `door` or `upstream`.
    pub by: String,
    /// Address, name or word.
    pub key: String,
}

/// Counts of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountInfo {
    /// Requests that passed; of an upstream, all that it was sent.
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

/// One step of a series.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatisticsPoint {
    /// Start of the step.
    pub at: String,
    /// End, which may be still to come.
    pub until: String,
    /// Part of it that is counted, 0 to 1: less than 1 for the step that is not over yet, and for
    /// the one in which counting began.
    pub share: f64,
    /// Requests in it.
    #[serde(flatten)]
    pub counts: CountInfo,
}

/// Ranking by requests.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RankingInfo {
    /// `client`, `list`, `door` or `upstream`.
    pub by: String,
    /// The largest first.
    pub lines: Vec<RankingLine>,
    /// Requests of all that have no line: beyond `limit`, or beyond what is kept one by one.
    pub others: CountInfo,
    /// Number of those beyond `limit`.
    pub more: u64,
}

/// One line of a ranking.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RankingLine {
    /// The client's address, the list's or upstream's name, the door's word.
    pub key: String,
    /// Requests.
    #[serde(flatten)]
    pub counts: CountInfo,
}
