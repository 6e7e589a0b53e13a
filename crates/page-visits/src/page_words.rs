//! The JSON of visits, with the description for `OpenAPI`: what is asked, and a visit on a line.

use crate::found_visit::FoundVisit;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Visits that are wanted.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
pub struct PagesQuery {
    /// The client's address.
    pub client: String,
    /// The site, or a name of it.
    pub site: String,
    /// Moment within the visit that is told in full, in milliseconds since 1970; the newest if left
    /// out or if none is there.
    pub at: Option<u64>,
    /// Time: `1h`, `24h`, `7d` or `30d`; 24h if left out.
    pub range: Option<String>,
}

/// A visit.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PageVisit {
    /// First request.
    pub at: String,
    /// Last one.
    pub until: String,
    /// Requests.
    pub requests: usize,
    /// Requests among them that were blocked.
    pub blocked: usize,
}

impl PageVisit {
    /// A visit as it is told; `iso` writes moments.
    pub fn of(visit: &FoundVisit, iso: fn(u64) -> String) -> Self {
        Self {
            at: iso(visit.at_ms),
            until: iso(visit.until_ms),
            requests: visit.rows.len(),
            blocked: visit.blocked,
        }
    }
}
