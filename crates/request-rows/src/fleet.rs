//! Rows of the request logs of all machines of a fleet, as JSON.

use crate::query::RowsQuery;
use crate::row::RequestRow;
use fleet_api::FleetReply;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Words that say of which machines rows are wanted, and how many.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FleetRowsQuery {
    /// Name of one machine; all of them if left out.
    pub edge: Option<String>,
    /// Rows wanted, 1 to 200; 50 if left out.
    pub limit: Option<u32>,
}

impl FleetRowsQuery {
    /// The words with those of a filter, as far as there are some, for a log.
    pub fn told_with(&self, filter: &RowsQuery) -> Value {
        let mut told = serde_json::to_value(filter).unwrap_or_default();
        if let Value::Object(words) = &mut told {
            words.insert("edge".into(), self.edge.clone().into());
            words.retain(|_, word| !word.is_null());
        }
        told
    }
}

/// Rows of the request logs of all machines, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct FleetRequests {
    /// Name of the machine that was asked for them.
    pub own: String,
    /// The rows.
    pub rows: Vec<FleetRequestRow>,
    /// The machines, by name.
    pub machines: Vec<MachineRows>,
}

/// One request at one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetRequestRow {
    /// Name of the machine.
    pub edge: String,
    /// The row, as the machine's own log has it; `id` counts there.
    #[serde(flatten)]
    pub row: RequestRow,
}

/// Rows of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MachineRows {
    /// Reply of the machine.
    #[serde(flatten)]
    pub reply: FleetReply,
    /// Number of rows that it gave.
    pub rows: u32,
    /// True if it has older ones besides.
    pub has_more: bool,
}
