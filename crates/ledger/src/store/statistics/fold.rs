//! Hours become days, and days months, once these are over.
//!
//! One step is one transaction, which also marks what it folded; so a process that is killed
//! between two folds nothing twice. The marks, and no clock, say what is still to be folded: a
//! clock that was set, or a zone that was changed, moves a step and doubles none. Called by the
//! writer, between batches.

use super::{DIMENSION_CODES, KeyCounts, SUMS, StepPlace, add, counts_of, open_step, span_code};
use crate::store::retain::CleanupProgress;
use crate::store::{LedgerStore, StoreError};
use rusqlite::{Connection, OptionalExtension, Result, params};
use weekly_hours::{CalendarStep, ScheduleZone};

impl LedgerStore {
    /// Folds the oldest day or month that is over.
    pub(crate) fn fold_step(
        &mut self,
        now_ms: u64,
        zone: &ScheduleZone,
    ) -> std::result::Result<CleanupProgress, StoreError> {
        let now = (now_ms / 1000) as i64;
        for (from, into) in
            [(CalendarStep::Hour, CalendarStep::Day), (CalendarStep::Day, CalendarStep::Month)]
        {
            let Some(oldest) = oldest_unfolded(&self.connection, from)? else { continue };
            let middle = middle_of(from, oldest);
            let end = zone.next_step(into, middle);
            if end > now {
                continue;
            }
            let into = StepPlace { step: into, at: zone.step_start(into, middle) };
            let transaction = self.connection.transaction()?;
            fold(&transaction, from, into, end)?;
            transaction.commit()?;
            return Ok(CleanupProgress::More);
        }
        Ok(CleanupProgress::Done)
    }
}

/// A moment in the middle of a step, which lies in the longer step that it belongs to even if the
/// zone was another when it was counted.
pub(super) const fn middle_of(step: CalendarStep, at: i64) -> i64 {
    match step {
        CalendarStep::Hour => at + 1_800,
        CalendarStep::Day => at + 12 * 3_600,
        CalendarStep::Month => at + 15 * 86_400,
    }
}

fn oldest_unfolded(connection: &Connection, step: CalendarStep) -> Result<Option<i64>> {
    let oldest = "SELECT at FROM statistic_steps WHERE span = ?1 AND folded IS NULL
                  ORDER BY at LIMIT 1";
    connection.prepare_cached(oldest)?.query_row([span_code(step)], |row| row.get(0)).optional()
}

/// Folds all steps whose middle lies before the end of the longer one.
fn fold(connection: &Connection, from: CalendarStep, into: StepPlace, end: i64) -> Result<()> {
    // Late counts may come for a month that was folded already: it takes them too.
    let beyond = open_step(connection, into)?;
    let last = end - middle_of(from, 0);
    let mut select = connection.prepare_cached(&format!(
        "SELECT key, {SUMS} FROM statistics WHERE span = ?1 AND dimension = ?2 AND at IN
             (SELECT at FROM statistic_steps WHERE span = ?1 AND folded IS NULL AND at < ?3)
         GROUP BY key ORDER BY sum(passed) + sum(blocked) DESC, key"
    ))?;
    for dimension in DIMENSION_CODES {
        let entries: Vec<KeyCounts> = select
            .query_map(params![span_code(from), dimension, last], |row| {
                Ok((super::super::bytes_of(row, 0)?.to_vec(), counts_of(row, 1)?))
            })?
            .collect::<Result<_>>()?;
        add(connection, into, dimension, &entries)?;
        if let (Some(at), CalendarStep::Day) = (beyond, into.step) {
            let month = StepPlace { step: CalendarStep::Month, at };
            open_step(connection, month)?;
            add(connection, month, dimension, &entries)?;
        }
    }
    connection
        .prepare_cached(
            "UPDATE statistic_steps SET folded = ?3
             WHERE span = ?1 AND folded IS NULL AND at < ?2",
        )?
        .execute(params![span_code(from), last, into.at])?;
    Ok(())
}
