//! Statistics: counts by the hour, the day and the month that stay when rows go.
//!
//! A line stands for a step and one door, client, list or upstream, whose key it holds itself; so
//! nothing else has to be looked up, kept or cleaned. A batch adds its counts to its hour in the
//! transaction that stores its rows: nothing is lost or counted twice by kill -9. An hour is folded
//! into its day once that is over ([`fold`]), a day into its month; what comes late for an hour
//! that was folded is added to its day and month too. Beyond a cap of keys the rest is counted
//! together. Called by the writing of a batch.

pub(crate) mod backfill;
pub(super) mod batch;
pub(crate) mod fold;
pub(super) mod read;
pub(crate) mod tidy;

use crate::statistics::{
    DAY_KEYS_MAX, HOUR_KEYS_MAX, MONTH_KEYS_MAX, StatisticCounts, StatisticDimension,
};
use batch::StatisticsBatch;
use rusqlite::{Connection, OptionalExtension, Result, params};
use weekly_hours::CalendarStep;

/// Times are in seconds since 1970: the start of an hour, day or month in the zone. The empty key
/// stands for others. `folded` is the start of the step into which a step was folded.
pub(super) const TABLES: &str = "
    CREATE TABLE statistics (
        span INTEGER, dimension INTEGER, at INTEGER, key BLOB, passed INTEGER NOT NULL,
        blocked INTEGER NOT NULL, cached INTEGER NOT NULL, failed INTEGER NOT NULL,
        bytes INTEGER NOT NULL, took_us INTEGER NOT NULL,
        PRIMARY KEY (span, dimension, at, key)) WITHOUT ROWID;
    CREATE TABLE statistic_steps (
        span INTEGER, at INTEGER, folded INTEGER, PRIMARY KEY (span, at)) WITHOUT ROWID;
    CREATE INDEX statistic_unfolded ON statistic_steps (span, at) WHERE folded IS NULL;
";

/// The columns of counts, in the order in which [`counts_of`] reads them.
pub(super) const SUMS: &str =
    "sum(passed), sum(blocked), sum(cached), sum(failed), sum(bytes), sum(took_us)";

/// Dimensions with their codes, 0 for all requests together.
pub(super) const DIMENSION_CODES: [u8; 5] = [0, 1, 2, 3, 4];
/// The code of clients, which alone say something about anybody.
pub(super) const CLIENTS: u8 = 2;

/// The number of a dimension in the file, for ever.
pub(super) const fn dimension_code(dimension: Option<StatisticDimension>) -> u8 {
    match dimension {
        None => 0,
        Some(StatisticDimension::Door) => 1,
        Some(StatisticDimension::Client) => CLIENTS,
        Some(StatisticDimension::List) => 3,
        Some(StatisticDimension::Upstream) => 4,
    }
}

/// The number of a step's length in the file, for ever.
pub(super) const fn span_code(step: CalendarStep) -> u8 {
    match step {
        CalendarStep::Hour => 0,
        CalendarStep::Day => 1,
        CalendarStep::Month => 2,
    }
}

/// A key with its counts.
pub(super) type KeyCounts = (Vec<u8>, StatisticCounts);

/// A step on the calendar.
#[derive(Clone, Copy)]
pub(super) struct StepPlace {
    pub(super) step: CalendarStep,
    pub(super) at: i64,
}

impl StepPlace {
    /// Keys of a dimension that it may hold.
    const fn keys_max(self) -> usize {
        match self.step {
            CalendarStep::Hour => HOUR_KEYS_MAX,
            CalendarStep::Day => DAY_KEYS_MAX,
            CalendarStep::Month => MONTH_KEYS_MAX,
        }
    }
}

/// Adds a batch to a step, and to those that it was folded into.
pub(super) fn add_batch(
    connection: &Connection,
    place: StepPlace,
    batch: &StatisticsBatch,
) -> Result<()> {
    let mut places = [Some(place), None, None];
    let mut next = place;
    for into in &mut places {
        let Some(folded) = open_step(connection, next)? else {
            *into = Some(next);
            break;
        };
        *into = Some(next);
        let step = match next.step {
            CalendarStep::Hour => CalendarStep::Day,
            CalendarStep::Day => CalendarStep::Month,
            CalendarStep::Month => break,
        };
        next = StepPlace { step, at: folded };
    }
    for place in places.into_iter().flatten() {
        for (code, entries) in batch.by_dimension() {
            add(connection, place, code, entries)?;
        }
    }
    Ok(())
}

/// Sees to it that a step is there; gives the start of the one that it was folded into.
pub(super) fn open_step(connection: &Connection, place: StepPlace) -> Result<Option<i64>> {
    let key = params![span_code(place.step), place.at];
    let mut select = connection
        .prepare_cached("SELECT folded FROM statistic_steps WHERE span = ?1 AND at = ?2")?;
    let found: Option<Option<i64>> = select.query_row(key, |row| row.get(0)).optional()?;
    if found.is_none() {
        let insert = "INSERT INTO statistic_steps (span, at, folded) VALUES (?1, ?2, NULL)";
        connection.prepare_cached(insert)?.execute(key)?;
    }
    Ok(found.flatten())
}

/// Adds counts to the keys of a step; a key that finds no room counts among the others.
pub(super) fn add(
    connection: &Connection,
    place: StepPlace,
    dimension: u8,
    entries: &[KeyCounts],
) -> Result<()> {
    let mut update = connection.prepare_cached(
        "UPDATE statistics SET passed = passed + ?5, blocked = blocked + ?6, cached = cached + ?7,
             failed = failed + ?8, bytes = bytes + ?9, took_us = took_us + ?10
         WHERE span = ?1 AND dimension = ?2 AND at = ?3 AND key = ?4",
    )?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO statistics VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    let write = |statement: &mut rusqlite::Statement<'_>, key: &[u8], it: &StatisticCounts| {
        statement.execute(params![
            span_code(place.step),
            dimension,
            place.at,
            key,
            bounded(it.passed),
            bounded(it.blocked),
            bounded(it.cached),
            bounded(it.failed),
            bounded(it.bytes),
            bounded(it.took_us)
        ])
    };
    let (mut room, mut others) = (None, StatisticCounts::default());
    for (key, counts) in entries {
        if write(&mut update, key, counts)? > 0 {
            continue;
        }
        // Counted once a batch, and only where a key is new.
        let left = match room {
            Some(left) => left,
            None => place.keys_max().saturating_sub(keys(connection, place, dimension)?),
        };
        if left == 0 && !key.is_empty() {
            others.add(counts);
            room = Some(0);
            continue;
        }
        write(&mut insert, key, counts)?;
        room = Some(left.saturating_sub(1));
    }
    if others != StatisticCounts::default() && write(&mut update, &[], &others)? == 0 {
        write(&mut insert, &[], &others)?;
    }
    Ok(())
}

/// Keys that a step holds of a dimension.
fn keys(connection: &Connection, place: StepPlace, dimension: u8) -> Result<usize> {
    let count = "SELECT count(*) FROM statistics WHERE span = ?1 AND dimension = ?2 AND at = ?3";
    let mut count = connection.prepare_cached(count)?;
    let found: u32 =
        count.query_row(params![span_code(place.step), dimension, place.at], |row| row.get(0))?;
    Ok(found as usize)
}

/// The counts that stand in a row from a column on.
pub(super) fn counts_of(row: &rusqlite::Row<'_>, from: usize) -> Result<StatisticCounts> {
    let number = |column: usize| {
        let value: Option<i64> = row.get(from + column)?;
        // None of ours is negative; what is comes of damage.
        Ok::<_, rusqlite::Error>(u64::try_from(value.unwrap_or(0)).unwrap_or(0))
    };
    Ok(StatisticCounts {
        passed: number(0)?,
        blocked: number(1)?,
        cached: number(2)?,
        failed: number(3)?,
        bytes: number(4)?,
        took_us: number(5)?,
    })
}

/// A count as SQLite keeps it: far below its end, so that no sum of a thousand steps overflows.
fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).min(i64::MAX >> 16)
}
