//! Families of the metrics page that tell of the program as a whole.
//!
//! Each is a struct of plain figures, read once when the page is asked for, with a
//! [`ledger::Collector`] that writes them. It measures nothing but the process. Called by the
//! binary, which hands the figures in; what a door counts for itself, it writes itself.

mod certificates;
mod connections;
mod family;
mod fleet;
mod fleet_rows;
mod lists;
mod logs;
mod pools;
mod process;
mod reloads;
mod stores;
mod telemetry_exports;
mod upstreams;

pub use certificates::{CertificateEnds, ServedCertificate};
pub use connections::{ConnectionFigures, DoorConnections};
pub use family::{FamilyHead, MetricValue, write_family, write_histogram};
pub use fleet::FleetFigures;
pub use fleet_rows::FleetRowFigures;
pub use lists::{FetchedRow, ListFigures, ListRow};
pub use logs::LogFigures;
pub use pools::{PoolFigures, PoolRow, ServerRow};
pub use process::{BuildFacts, ProcessFigures};
pub use reloads::{ReloadFigures, ReloadRecord};
pub use stores::StoreFigures;
pub use telemetry_exports::ExportFigures;
pub use upstreams::UpstreamFigures;
