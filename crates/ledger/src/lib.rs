//! The ledger: one typed event a request, its counters and histograms at once, its row in the
//! request log a moment later.
//!
//! It refuses nothing and nobody waits for it: at a cap it drops rows and counts what it dropped.
//! Doors call [`Ledger::record`]; the admin API asks for [`ReportTotals`], [`ReportSeries`], top
//! tables, rows, statistics and metrics; the binary opens and closes it.

mod clock;
mod codes;
mod counters;
mod error;
mod event;
#[allow(clippy::module_inception, reason = "the handle has the crate's name, as it should")]
mod ledger;
mod metrics;
mod notes;
mod page;
mod queue;
mod report;
mod row_facts;
mod row_filter;
mod rule_texts;
mod setup;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod upkeep;
mod writer;
mod zone;

pub use counters::CountedRequest;
pub use error::OpenError;
pub use event::{CUT_MARK, EventSubject, NAME_BYTES_MAX, NameText, RequestEvent, URL_BYTES_MAX};
pub use ledger::{Ledger, open};
pub use notes::{NOTE_BYTES_MAX, NOTES_MAX, OperatorNote, RecentNotes};
pub use prometheus_client;
pub use prometheus_client::collector::Collector;
pub use report::{
    ClientActivity, ClientLine, ClientPage, LatencyReport, LogRow, NamedCount, NewRows, ReadError,
    ReportPoint, ReportRange, ReportSeries, ReportTotals, RowCause, RowPage, TopKind, TopLine,
    WriterHealth,
};
pub use row_filter::{RowFilter, StatusPattern, UnknownStatus, status_name};
pub use rule_texts::RuleTexts;
pub use setup::{AnonymiseMode, LogScope, Settings, StatisticClients, StatisticsSettings};
pub use statistics::{
    STEPS_MAX, StatisticCounts, StatisticDimension, StatisticLine, StatisticPoint, StatisticRange,
    StatisticRanking, StatisticSeries, StatisticStep, StatisticsQuery, StatisticsReport,
    UpstreamCount, UpstreamCounts,
};
pub use store::follow::{FollowBounds, FollowPlace, FollowedRows, MinuteCount};
pub use store::glimpses::{GlimpseEnd, GlimpseSpan, RowGlimpse};
pub use store::join::block_round_trips;
pub use store::recorded::{RecordedRequest, read_recorded};
pub use writer::FileSharing;
pub use writer::clearing::RowsCleared;

/// Rows that one question for rows looks through at most; the page says where to go on.
pub const SCAN_ROWS_MAX: u64 = 1_000_000;

/// Rows or lines that one question gives at most.
pub const LIMIT_MAX: usize = 500;

/// Rows that one question for what is new gives at most.
pub const NEW_ROWS_MAX: usize = 1_000;

/// The store's file in the state folder.
pub const FILE_NAME: &str = "ledger.db";

/// Version of its tables, which the file keeps as `user_version`; older ones are brought up to it.
pub const TABLES_VERSION: u32 = store::VERSION;
