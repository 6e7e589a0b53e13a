//! The database as the sender sees it: joined, then given rows and minutes, whichever it is.
//!
//! Called by [`crate::sender`].

use crate::clickhouse::ClickHouseTables;
use crate::failure::DatabaseFailure;
use crate::postgres::PostgresTables;
use crate::row_step::{EdgeFacts, EdgePosition, RowStep};
use crate::settings::RowSettings;
use crate::target::RowTarget;
use crate::tls::DatabaseTls;
use ledger::MinuteCount;
use origins::Dialer;
use std::fmt;
use std::time::Duration;

/// Ways to a database.
#[derive(Clone)]
pub(crate) struct DatabaseWays {
    /// TLS with PostgreSQL.
    pub(crate) tls: DatabaseTls,
    /// Connections to ClickHouse.
    pub(crate) dialer: Dialer,
}

impl fmt::Debug for DatabaseWays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseWays").finish_non_exhaustive()
    }
}

/// A joined database.
pub(crate) enum RowDatabase {
    Postgres(Box<PostgresTables>),
    ClickHouse(Box<ClickHouseTables>),
}

/// Time in which rows gather, once the log was followed to its end.
const GATHER: Duration = Duration::from_millis(250);
/// The same for ClickHouse, which makes a file of every insert and joins files afterwards.
const GATHER_FILES: Duration = Duration::from_secs(5);

impl RowDatabase {
    /// Connects, makes what is missing, and finds how far this edge has come.
    pub(crate) async fn join(
        settings: &RowSettings,
        ways: &DatabaseWays,
        facts: EdgeFacts,
    ) -> Result<(Self, EdgePosition), DatabaseFailure> {
        match settings.target().map_err(|why| DatabaseFailure::Refused(why.to_string()))? {
            RowTarget::Postgres(config) => {
                let (tables, place) = PostgresTables::join(&config, &ways.tls, facts).await?;
                Ok((Self::Postgres(Box::new(tables)), place))
            }
            RowTarget::ClickHouse(address) => {
                let (tables, place) =
                    ClickHouseTables::join(&address, ways.dialer.clone(), facts).await?;
                Ok((Self::ClickHouse(Box::new(tables)), place))
            }
        }
    }

    /// Time in which rows gather for one step.
    pub(crate) const fn gather(&self) -> Duration {
        match self {
            Self::Postgres(_) => GATHER,
            Self::ClickHouse(_) => GATHER_FILES,
        }
    }

    /// Makes partitions ahead, and drops those past their time.
    pub(crate) async fn keep_partitions(
        &mut self,
        settings: &RowSettings,
        now_ms: u64,
    ) -> Result<(), DatabaseFailure> {
        match self {
            Self::Postgres(tables) => tables.keep_partitions(settings, now_ms).await,
            Self::ClickHouse(tables) => tables.drop_partitions(settings, now_ms).await,
        }
    }

    /// Stores rows and moves on.
    pub(crate) async fn store(&mut self, step: &RowStep<'_>) -> Result<(), DatabaseFailure> {
        match self {
            Self::Postgres(tables) => tables.store(step).await,
            Self::ClickHouse(tables) => tables.store(step).await,
        }
    }

    /// Stores counts by the minute, each as the largest that was sent, and says that the edge is
    /// there: it has come to `minute`, and so many rows wait.
    pub(crate) async fn beat(
        &mut self,
        counts: &[MinuteCount],
        minute: u64,
        waiting: u64,
    ) -> Result<(), DatabaseFailure> {
        match self {
            Self::Postgres(tables) => tables.beat(counts, minute, waiting).await,
            Self::ClickHouse(tables) => tables.beat(counts, minute, waiting).await,
        }
    }
}
