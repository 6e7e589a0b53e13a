//! Visits of a site by a client, found again in the request log.
//!
//! The log keeps no page beside a request, so a visit is told by time ([`visits`] says how): what a
//! client asked for soon after the site's own name. It may have something of another page in it.
//! Rows are handed in; it reads no clock. Called by the admin API.

mod found_visit;
mod page_words;
mod visited_hosts;

pub use found_visit::{
    FoundVisit, GAP_MAX_MS, LENGTH_MAX_MS, OWN_GAP_MAX_MS, ROWS_MAX, VISITS_MAX, picked,
    site_named, visits,
};
pub use page_words::{PageVisit, PagesQuery};
pub use visited_hosts::{HOSTS_MAX, VisitedHost, visited_hosts};
