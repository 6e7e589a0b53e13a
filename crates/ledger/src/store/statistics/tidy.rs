//! Retention of statistics: steps past their time, and clients that are not to be in them, leave.
//!
//! A step goes when it was folded and its time is over. Clients go at once where the settings say
//! so, and become their networks where addresses are to be anonymised from now on. Called by the
//! writer, in small steps.

use super::{CLIENTS, DIMENSION_CODES, KeyCounts, SUMS, StepPlace, add, counts_of, span_code};
use crate::AnonymiseMode;
use crate::statistics::{client_key, client_of};
use crate::store::retain::CleanupProgress;
use crate::store::{LedgerStore, StoreError, bytes_of};
use rusqlite::{Connection, Result, params};
use std::time::Duration;
use weekly_hours::CalendarStep;

/// Steps that are deleted at once, and lines of clients.
const STEPS_AT_ONCE: i64 = 16;
const LINES_AT_ONCE: i64 = 4_096;

const SPANS: [CalendarStep; 3] = [CalendarStep::Hour, CalendarStep::Day, CalendarStep::Month];

/// Tells whether statistics say anything about single clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedClients {
    Each,
    None,
}

/// Holds what may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatisticsBounds {
    pub(crate) keep_hours: Duration,
    pub(crate) keep_days: Duration,
    pub(crate) keep_months: Duration,
    pub(crate) clients: CountedClients,
}

impl LedgerStore {
    /// Deletes one step's worth of what is past its time, or of clients that are not wanted.
    pub(crate) fn tidy_step(
        &mut self,
        now_ms: u64,
        bounds: StatisticsBounds,
    ) -> std::result::Result<CleanupProgress, StoreError> {
        let now = (now_ms / 1000) as i64;
        let transaction = self.connection.transaction()?;
        let mut gone = 0;
        for (span, keep) in
            SPANS.into_iter().zip([bounds.keep_hours, bounds.keep_days, bounds.keep_months])
        {
            let before = now.saturating_sub(i64::try_from(keep.as_secs()).unwrap_or(i64::MAX));
            gone += delete_steps(&transaction, span, before)?;
            if bounds.clients == CountedClients::None {
                gone += delete_clients(&transaction, span)?;
            }
        }
        transaction.commit()?;
        Ok(if gone == 0 { CleanupProgress::Done } else { CleanupProgress::More })
    }

    /// Makes networks of the clients that were counted with their whole address.
    pub(crate) fn anonymise_statistics(
        &mut self,
        mode: AnonymiseMode,
    ) -> std::result::Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        for step in SPANS {
            anonymise(&transaction, step, mode)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Deletes some of the oldest steps before a moment; a month, which is folded into nothing, too.
fn delete_steps(connection: &Connection, step: CalendarStep, before: i64) -> Result<usize> {
    let mut select = connection.prepare_cached(
        "SELECT at FROM statistic_steps
         WHERE span = ?1 AND at < ?2 AND (span = 2 OR folded IS NOT NULL) ORDER BY at LIMIT ?3",
    )?;
    let span = span_code(step);
    let old: Vec<i64> = select
        .query_map(params![span, before, STEPS_AT_ONCE], |row| row.get(0))?
        .collect::<Result<_>>()?;
    let delete = "DELETE FROM statistics WHERE span = ?1 AND dimension = ?2 AND at = ?3";
    let mut delete = connection.prepare_cached(delete)?;
    let mut forget =
        connection.prepare_cached("DELETE FROM statistic_steps WHERE span = ?1 AND at = ?2")?;
    for at in &old {
        for dimension in DIMENSION_CODES {
            delete.execute(params![span, dimension, at])?;
        }
        forget.execute(params![span, at])?;
    }
    Ok(old.len())
}

fn delete_clients(connection: &Connection, step: CalendarStep) -> Result<usize> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM statistics WHERE span = ?1 AND dimension = ?2 AND at <= coalesce(
             (SELECT at FROM statistics WHERE span = ?1 AND dimension = ?2
              ORDER BY at LIMIT 1 OFFSET ?3), ?4)",
    )?;
    delete.execute(params![span_code(step), CLIENTS, LINES_AT_ONCE, i64::MAX])
}

fn anonymise(connection: &Connection, step: CalendarStep, mode: AnonymiseMode) -> Result<()> {
    let span = span_code(step);
    let keys: Vec<Vec<u8>> = connection
        .prepare("SELECT DISTINCT key FROM statistics WHERE span = ?1 AND dimension = ?2")?
        .query_map(params![span, CLIENTS], |row| Ok(bytes_of(row, 0)?.to_vec()))?
        .collect::<Result<_>>()?;
    let mut select = connection.prepare(&format!(
        "SELECT at, {SUMS} FROM statistics WHERE span = ?1 AND dimension = ?2 AND key = ?3
         GROUP BY at"
    ))?;
    let mut delete = connection
        .prepare("DELETE FROM statistics WHERE span = ?1 AND dimension = ?2 AND key = ?3")?;
    for key in keys {
        let Some(client) = client_of(&key) else { continue };
        let network = client_key(mode.stored(client));
        if network == key {
            continue;
        }
        let lines: Vec<(i64, KeyCounts)> = select
            .query_map(params![span, CLIENTS, key], |row| {
                Ok((row.get(0)?, (network.clone(), counts_of(row, 1)?)))
            })?
            .collect::<Result<_>>()?;
        delete.execute(params![span, CLIENTS, key])?;
        for (at, entry) in lines {
            add(connection, StepPlace { step, at }, CLIENTS, &[entry])?;
        }
    }
    Ok(())
}
