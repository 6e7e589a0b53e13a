//! The tables in PostgreSQL: made and brought forward by version, partitions ahead of time.
//!
//! Any edge may be the first: whoever makes or changes a table holds the advisory lock
//! [`SCHEMA_LOCK`] until the end of its transaction. Called by [`crate::postgres`].

use crate::days::{DAY_MS, PartitionSpan, TablePartition};
use crate::failure::DatabaseFailure;
use std::collections::HashSet;
use tokio_postgres::{Client, Transaction};

/// Version of the tables that this release makes.
pub(crate) const VERSION: i32 = 1;
/// Key of the advisory lock for changes of tables: `TGFLEET` in ASCII.
const SCHEMA_LOCK: i64 = 0x0054_4746_4c45_4554;
/// Days, and thus months, for which partitions are made ahead.
const DAYS_AHEAD: u64 = 3;

/// Tables of version 1. A later version adds to them; `usable_from` is the oldest version whose
/// releases can go on writing.
const TABLES: &str = "
    CREATE SCHEMA IF NOT EXISTS tidegate;
    CREATE TABLE tidegate.schema (version integer NOT NULL, usable_from integer NOT NULL);
    INSERT INTO tidegate.schema VALUES (1, 1);
    CREATE TABLE tidegate.edges (
        edge text PRIMARY KEY, version text NOT NULL, started timestamptz NOT NULL,
        seen timestamptz NOT NULL, sample integer NOT NULL, waiting bigint NOT NULL DEFAULT 0,
        dropped bigint NOT NULL DEFAULT 0, sequence bigint NOT NULL DEFAULT 0,
        sequence_at timestamptz, minute bigint NOT NULL DEFAULT 0);
    CREATE TABLE tidegate.requests (
        at timestamptz NOT NULL, edge text NOT NULL, sequence bigint NOT NULL, door text NOT NULL,
        client inet NOT NULL, subject text NOT NULL, kind text NOT NULL, action text NOT NULL,
        cause text NOT NULL, list text, line bigint, rule text, source text NOT NULL, cache text,
        status integer NOT NULL, bytes bigint NOT NULL, duration_us bigint NOT NULL,
        sample integer NOT NULL, UNIQUE (edge, sequence, at)) PARTITION BY RANGE (at);
    CREATE INDEX requests_at ON tidegate.requests USING brin (at);
    CREATE TABLE tidegate.minutes (
        minute timestamptz NOT NULL, edge text NOT NULL, door text NOT NULL, action text NOT NULL,
        source text NOT NULL, requests bigint NOT NULL,
        PRIMARY KEY (minute, edge, door, action, source)) PARTITION BY RANGE (minute);
";

/// Table that is split into partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SplitTable {
    /// Rows of requests, by the day.
    Requests,
    /// Counts by the minute, by the month.
    Minutes,
}

/// Partitions that are known to be there.
#[derive(Debug, Default)]
pub(crate) struct KnownPartitions(HashSet<(SplitTable, TablePartition)>);

impl SplitTable {
    const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Minutes => "minutes",
        }
    }

    const fn span(self) -> PartitionSpan {
        match self {
            Self::Requests => PartitionSpan::Day,
            Self::Minutes => PartitionSpan::Month,
        }
    }
}

/// Makes the tables, or finds that they are those of this release or fit for it.
pub(crate) async fn bring_about(client: &mut Client) -> Result<(), DatabaseFailure> {
    if !has_tables(client).await? {
        let transaction = client.transaction().await?;
        lock(&transaction).await?;
        let is_made = "SELECT to_regclass('tidegate.schema') IS NOT NULL";
        if !transaction.query_one(is_made, &[]).await?.try_get::<_, bool>(0)? {
            transaction.batch_execute(TABLES).await?;
        }
        transaction.commit().await?;
    }
    let found = client.query_one("SELECT version, usable_from FROM tidegate.schema", &[]).await?;
    let (version, usable_from): (i32, i32) = (found.try_get(0)?, found.try_get(1)?);
    if usable_from > VERSION { Err(DatabaseFailure::Newer(version)) } else { Ok(()) }
}

/// `true` if tables of any version are there. Asked before anything is made: a role that may write
/// and make nothing is enough from then on.
async fn has_tables(client: &Client) -> Result<bool, DatabaseFailure> {
    let row = client.query_one("SELECT to_regclass('tidegate.schema') IS NOT NULL", &[]).await;
    // Without the right to use the schema the name is not looked up.
    match row.map_err(DatabaseFailure::from) {
        Ok(row) => Ok(row.try_get(0)?),
        Err(failure) => Err(failure),
    }
}

async fn lock(transaction: &Transaction<'_>) -> Result<(), DatabaseFailure> {
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SCHEMA_LOCK]).await?;
    Ok(())
}

/// Makes the partitions of these moments, where they are not there.
pub(crate) async fn make_partitions(
    client: &mut Client,
    known: &mut KnownPartitions,
    table: SplitTable,
    moments_ms: impl Iterator<Item = u64>,
) -> Result<(), DatabaseFailure> {
    let wanted = moments_ms.filter_map(|at_ms| table.span().partition(at_ms));
    let wanted: HashSet<_> = wanted.filter(|it| !known.0.contains(&(table, it.clone()))).collect();
    for partition in wanted {
        let name = format!("tidegate.{}_{}", table.name(), partition.suffix);
        let is_there = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&name]).await?;
        if !is_there.try_get::<_, bool>(0)? {
            let transaction = client.transaction().await?;
            lock(&transaction).await?;
            let (parent, from, to) = (table.name(), &partition.from, &partition.to);
            let make = format!(
                "CREATE TABLE IF NOT EXISTS {name} PARTITION OF tidegate.{parent}
                 FOR VALUES FROM ('{from}') TO ('{to}')"
            );
            transaction.batch_execute(&make).await?;
            transaction.commit().await?;
        }
        known.0.insert((table, partition));
    }
    Ok(())
}

/// The moments for which partitions are made ahead.
pub(crate) fn moments_ahead(now_ms: u64) -> impl Iterator<Item = u64> {
    (0..=DAYS_AHEAD).map(move |day| now_ms.saturating_add(day * DAY_MS))
}

/// Drops the partitions whose last moment is before `before_ms`, unless another edge is at it.
pub(crate) async fn drop_partitions(
    client: &mut Client,
    known: &mut KnownPartitions,
    table: SplitTable,
    before_ms: u64,
) -> Result<(), DatabaseFailure> {
    let Some(first_kept) = table.span().partition(before_ms) else { return Ok(()) };
    let transaction = client.transaction().await?;
    let free = transaction.query_one("SELECT pg_try_advisory_xact_lock($1)", &[&SCHEMA_LOCK]);
    if !free.await?.try_get::<_, bool>(0)? {
        return Ok(());
    }
    let partitions =
        "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                      WHERE i.inhparent = to_regclass($1)";
    let parent = format!("tidegate.{}", table.name());
    for row in transaction.query(partitions, &[&parent]).await? {
        let name: String = row.try_get(0)?;
        let suffix = name.strip_prefix(table.name()).and_then(|it| it.strip_prefix('_'));
        // A partition that somebody else has named is somebody else's.
        let is_ours = suffix.is_some_and(|it| {
            it.len() == first_kept.suffix.len() && it.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_ours && suffix < Some(first_kept.suffix.as_str()) {
            transaction.batch_execute(&format!("DROP TABLE tidegate.{name}")).await?;
            known.0.retain(|(of, it)| *of != table || Some(it.suffix.as_str()) != suffix);
        }
    }
    transaction.commit().await?;
    Ok(())
}
