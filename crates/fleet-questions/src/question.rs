//! A question as it goes to all machines.

use admin_api::WhyQuery;
use request_rows::RowsQuery;
use serde::{Deserialize, Serialize};

/// Question with its asker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FleetQuestion {
    /// Moment at which it was asked by the server's clock, in milliseconds since 1970.
    pub(crate) asked_ms: u64,
    /// Name of the machine that asks.
    pub(crate) by: String,
    /// Name of the person, or of the token, that asked there.
    pub(crate) who: String,
    /// Machine that is asked; none for all.
    pub(crate) of: Option<String>,
    /// Words of the question.
    pub(crate) what: QuestionWords,
}

/// Words of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuestionWords {
    /// Why a name is let through or blocked.
    Why(WhyQuery),
    /// Rows of the request log.
    Rows {
        /// The words of their filter.
        filter: RowsQuery,
        /// Most rows.
        limit: u32,
    },
}
