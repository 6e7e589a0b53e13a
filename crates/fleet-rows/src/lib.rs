//! Rows and minutes of a fleet's requests in PostgreSQL or ClickHouse.
//!
//! A task of its own follows the request log by row number and sends what `sample` says, and the
//! counts of each minute in any case (docs/adr/0071, 0074). How far it has come stands in the
//! database, moved with the rows: none is there twice, and none is lost that the log still has. It
//! keeps no request waiting and refuses none: the log is what waits, and what it has no more is
//! counted. Called by the binary, which hands its questions to the admin API too.

mod clickhouse;
mod clickhouse_client;
mod clickhouse_questions;
mod connection;
mod database;
mod days;
mod failure;
mod figures;
#[allow(clippy::module_inception, reason = "the handle has the crate's name, as it should")]
mod fleet_rows;
mod postgres;
mod question;
mod row_form;
mod row_step;
mod sample;
mod schema;
mod sender;
mod settings;
mod target;
mod tls;

pub use failure::DatabaseFailure;
pub use figures::{DatabaseLink, RowFigures};
pub use fleet_rows::{FleetRows, RowQuestions, RowWiring};
pub use question::{EdgeRow, MinutePoint, MinuteQuestion, RATE_MINUTES};
pub use settings::RowSettings;
