//! Statistics of what an older version has stored: its rows and the minutes of its chart.
//!
//! Where the tables of statistics are made in a file that has rows, the file notes how far these
//! go; they are counted from there in steps, while new rows are written and counted at once. The
//! place where a step ended is noted with what it counted, so a process that is killed goes on at
//! its next start and counts nothing twice. Called by the writer.

use super::batch::StatisticsSums;
use super::{StepPlace, add_batch};
use crate::AnonymiseMode;
use crate::codes::{CauseCode, LedgerCode};
use crate::statistics::StatisticCounts;
use crate::store::block::BLOCK_ROWS_MAX;
use crate::store::block_view::BlockView;
use crate::store::retain::CleanupProgress;
use crate::store::{LedgerStore, StoreError};
use rusqlite::{Connection, OptionalExtension, Result, params};
use std::collections::BTreeMap;
use vocab::{Action, Door, Source};
use weekly_hours::{CalendarStep, ScheduleZone};

/// Blocks and minutes that one step counts.
const STEP_BLOCKS: usize = 8;
const STEP_MINUTES: i64 = 1_440;

/// Where the next step begins, and where the last one ends: numbers of rows, and minutes.
const TABLE: &str = "CREATE TABLE statistic_backfill (
    row INTEGER NOT NULL, row_end INTEGER NOT NULL, minute INTEGER NOT NULL,
    minute_end INTEGER NOT NULL, minute_first INTEGER NOT NULL)";

/// Tells whether rows of before are still to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UncountedRows {
    Waiting,
    None,
}

/// Tells what of the rows of before is counted.
#[derive(Clone, Copy)]
pub(crate) struct BackfillTerms<'z> {
    /// The zone whose hours these are.
    pub(crate) zone: &'z ScheduleZone,
    /// Part of a client's address that is stored.
    pub(crate) anonymise: AnonymiseMode,
    /// Clients that are counted.
    pub(crate) clients: super::tidy::CountedClients,
}

/// Where the counting is.
struct BackfillPlace {
    row: i64,
    row_end: i64,
    minute: i64,
    minute_end: i64,
    /// The first minute of the chart: before it, rows alone tell of requests.
    minute_first: i64,
}

/// Notes in a file of an older version what is to be counted. `next_row` is the number of the row
/// that is written next.
pub(in crate::store) fn begin(connection: &Connection, next_row: i64) -> Result<()> {
    connection.execute_batch(TABLE)?;
    let (first, last): (Option<i64>, Option<i64>) =
        connection.query_row("SELECT min(minute), max(minute) FROM minutes", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    // More may be counted for the last minute, by whoever made these tables: it is left out.
    let end = last.unwrap_or(0);
    let first = first.unwrap_or(i64::MAX);
    connection.execute(
        "INSERT INTO statistic_backfill VALUES (1, ?1, ?2, ?3, ?2)",
        params![next_row, first, end],
    )?;
    Ok(())
}

/// Looks for rows that are still to be counted.
pub(in crate::store) fn uncounted(connection: &Connection) -> Result<UncountedRows> {
    let found: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'statistic_backfill'", [], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(found.map_or(UncountedRows::None, |_| UncountedRows::Waiting))
}

impl LedgerStore {
    /// `true` while rows of an older version are still to be counted.
    pub(crate) fn has_uncounted_rows(&self) -> bool {
        self.uncounted == UncountedRows::Waiting
    }

    /// Counts one step's worth of what an older version has stored.
    pub(crate) fn backfill_step(
        &mut self,
        terms: BackfillTerms<'_>,
    ) -> std::result::Result<CleanupProgress, StoreError> {
        let transaction = self.connection.transaction()?;
        let place = transaction.query_row("SELECT * FROM statistic_backfill", [], |row| {
            Ok(BackfillPlace {
                row: row.get(0)?,
                row_end: row.get(1)?,
                minute: row.get(2)?,
                minute_end: row.get(3)?,
                minute_first: row.get(4)?,
            })
        })?;
        let mut hours = HourSums { zone: terms.zone, sums: BTreeMap::new() };
        let minute = count_minutes(&transaction, &place, &mut hours)?;
        let row = match minute {
            Some(_) => Some(place.row),
            None => count_rows(&transaction, &place, &terms, &mut hours)?,
        };
        hours.write(&transaction)?;
        let Some(row) = row else {
            transaction.execute_batch("DROP TABLE statistic_backfill")?;
            transaction.commit()?;
            self.uncounted = UncountedRows::None;
            return Ok(CleanupProgress::Done);
        };
        transaction.execute(
            "UPDATE statistic_backfill SET row = ?1, minute = ?2",
            params![row, minute.unwrap_or(place.minute_end)],
        )?;
        transaction.commit()?;
        Ok(CleanupProgress::More)
    }
}

/// Counts of several hours.
struct HourSums<'z> {
    zone: &'z ScheduleZone,
    sums: BTreeMap<i64, StatisticsSums>,
}

impl HourSums<'_> {
    /// The counts of the hour of a moment, in seconds since 1970.
    fn at(&mut self, unix_s: i64) -> &mut StatisticsSums {
        let hour = self.zone.step_start(CalendarStep::Hour, unix_s);
        self.sums.entry(hour).or_default()
    }

    fn write(self, connection: &Connection) -> Result<()> {
        for (at, mut sums) in self.sums {
            sums.sum_doors();
            let place = StepPlace { step: CalendarStep::Hour, at };
            add_batch(connection, place, &sums.finish())?;
        }
        Ok(())
    }
}

/// Counts minutes of the chart. Gives the minute where the next step begins; none after the last.
fn count_minutes(
    connection: &Connection,
    place: &BackfillPlace,
    hours: &mut HourSums<'_>,
) -> Result<Option<i64>> {
    if place.minute >= place.minute_end {
        return Ok(None);
    }
    let until = place.minute.saturating_add(STEP_MINUTES).min(place.minute_end);
    let mut select = connection.prepare_cached(
        "SELECT minute, door, action, source, count FROM minutes
         WHERE minute >= ?1 AND minute < ?2",
    )?;
    let mut found = select.query(params![place.minute, until])?;
    while let Some(row) = found.next()? {
        let (minute, count): (i64, i64) = (row.get(0)?, row.get(4)?);
        let words = (
            Door::from_code(row.get(1)?),
            Action::from_code(row.get(2)?),
            Source::from_code(row.get(3)?),
        );
        let (Some(door), Some(action), Some(source)) = words else { continue };
        hours.at(minute.saturating_mul(60)).door(door).count(action, source, count.cast_unsigned());
    }
    Ok(Some(until))
}

/// Counts the rows of some blocks. Gives the number where the next step begins; none after the
/// last.
fn count_rows(
    connection: &Connection,
    place: &BackfillPlace,
    terms: &BackfillTerms<'_>,
    hours: &mut HourSums<'_>,
) -> Result<Option<i64>> {
    // A block may have been joined with rows that were counted when they were written.
    let mut select = connection.prepare_cached(
        "SELECT first, summary, body, rows FROM blocks
         WHERE first > ?1 AND first < ?2 AND first + rows > ?3 ORDER BY first LIMIT ?4",
    )?;
    let from = place.row.saturating_sub(BLOCK_ROWS_MAX as i64 + 1);
    let mut found = select.query(params![from, place.row_end, place.row, STEP_BLOCKS as i64])?;
    let mut next = None;
    while let Some(row) = found.next()? {
        let (first, rows): (i64, i64) = (row.get(0)?, row.get(3)?);
        next = Some(first.saturating_add(rows));
        let Some(block) = BlockView::read(row)? else { continue };
        count_block(&block, place, terms, hours);
    }
    Ok(next)
}

fn count_block(
    block: &BlockView<'_>,
    place: &BackfillPlace,
    terms: &BackfillTerms<'_>,
    hours: &mut HourSums<'_>,
) {
    for (number, row) in (block.first..).zip(block.body.rows()) {
        if number < place.row || number >= place.row_end {
            continue;
        }
        let at = (row.at_ms / 1000) as i64;
        let mut counts = StatisticCounts::default();
        counts.count_row(row.facts, row.bytes, row.duration_us);
        let sums = hours.at(at);
        let door = sums.door(row.facts.door());
        if at / 60 < place.minute_first {
            door.add(&counts);
        } else {
            // The minutes of the chart have counted it, without its bytes and its time.
            door.bytes += u64::from(row.bytes);
            door.took_us += u64::from(row.duration_us);
        }
        if terms.clients == super::tidy::CountedClients::Each
            && let Some(entry) = block.summary.clients.get(row.client)
        {
            sums.add_client(terms.anonymise.stored(entry.client), &counts);
        }
        if row.facts.cause() == CauseCode::Rule
            && let Some(rule) = row.rule.and_then(|rule| block.body.rule(rule))
        {
            sums.add_list(rule.list, &counts);
        }
    }
}
