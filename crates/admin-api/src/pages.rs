//! The JSON of the page view: visits of a site by a client.

use crate::{InspectedInfo, RequestRow};
use page_visits::{PageVisit, VisitedHost};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Visits of a site by a client: what it asked for soon after the site's own name. A visit goes on
/// until a pause of five seconds (of thirty before a name of the site), for two minutes at most.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PageTable {
    /// The client.
    pub client: String,
    /// The site.
    pub site: String,
    /// Visits among the client's newest 50,000 requests of the time, the newest first; at most 50.
    pub visits: Vec<PageVisit>,
    /// One of them in full; null where there is none.
    pub visit: Option<PageDetails>,
    /// True where requests are told apart by the page that they name. The log keeps no page, so it
    /// is false, and what another page asked for meanwhile may be among them.
    pub by_referer: bool,
}

/// A visit in full.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PageDetails {
    /// The visit.
    #[serde(flatten)]
    pub visit: PageVisit,
    /// Bytes of all answers.
    pub bytes: u64,
    /// Hosts, in the order in which they were asked for; at most 500.
    pub hosts: Vec<VisitedHost>,
    /// Rows, oldest first; at most 500.
    pub rows: Vec<RequestRow>,
    /// Number of rows that are left out.
    pub more: usize,
    /// Bodies that the client posted to blocked hosts meanwhile, as far as they are kept and the
    /// asker may see them: an administrator.
    pub sent: Vec<InspectedInfo>,
}
