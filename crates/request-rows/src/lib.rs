//! Rows of the request log for whoever asks over HTTP: the words of a filter, rows as JSON, and
//! live rows as server-sent events.
//!
//! It opens no socket and knows no credential: the admin hands in who may read. Called by the
//! routes of the request log.

mod fleet;
mod found;
mod live;
mod places;
mod query;
mod row;
#[cfg(test)]
mod tests;

pub use fleet::{FleetRequestRow, FleetRequests, FleetRowsQuery, MachineRows};
pub use found::found_rows;
pub use live::{LiveSource, LiveWish, ROWS_PER_SECOND_MAX, live_rows};
pub use places::{LivePlace, LivePlaces, NoPlace, STREAMS_MAX, STREAMS_PER_CLIENT_MAX};
pub use query::{RowsPageQuery, RowsQuery, UnknownQueryWord};
pub use row::{RequestPage, RequestRow, RuleInfo};
