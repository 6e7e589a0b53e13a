//! What is past its time leaves the store, in small steps.
//!
//! Rows, names, clients and rules go after `keep`, or sooner while the file is over its size; the
//! chart's minutes, which say nothing about anybody, stay at least [`MINUTES_KEPT_MIN`]. A step
//! takes some milliseconds, so that rows go on being written between two. Called by the writer.

use super::{LedgerStore, StoreError};
use rusqlite::{Result, params};
use std::time::Duration;

/// Rows or words deleted in one step.
const STEP_ROWS: i64 = 5_000;
/// Minutes of the chart that stay however short `keep` is: a chart of 30 days stays whole.
const MINUTES_KEPT_MIN: i64 = 31 * 24 * 60;
const HOUR_MS: u64 = 3_600_000;

/// Holds what may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionBounds {
    /// Rows older than this go.
    pub(crate) keep: Duration,
    /// Above this many bytes the oldest rows go.
    pub(crate) bytes_max: u64,
}

/// Tells how far a clean-up has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanupProgress {
    /// There is more to delete.
    More,
    /// Nothing is past its time.
    Done,
}

impl LedgerStore {
    /// The moment before which everything goes, in milliseconds since 1970: by age, or by the
    /// oldest tenth of the rows while the file is too large.
    pub(crate) fn cutoff(&self, now_ms: u64, bounds: RetentionBounds) -> Result<u64, StoreError> {
        if bounds.keep.is_zero() {
            // Nothing stays, not even what a clock since set back has put into the future.
            return Ok(u64::MAX);
        }
        let by_age = now_ms.saturating_sub(bounds.keep.as_millis() as u64);
        if self.bytes()? <= bounds.bytes_max {
            return Ok(by_age);
        }
        let by_size: Option<i64> = self
            .connection
            .query_row(
                "SELECT time_ms FROM events WHERE id >=
                 (SELECT low + (high - low) / 10 + 1 FROM
                     (SELECT (SELECT min(id) FROM events) AS low,
                             (SELECT max(id) FROM events) AS high))
             ORDER BY id LIMIT 1",
                [],
                |row| row.get(0),
            )
            .or_else(none_if_empty)?;
        Ok(by_age.max(by_size.map_or(0, i64::cast_unsigned)))
    }

    /// Bytes of the file that are in use.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        let pragma = |name: &str| -> Result<i64> {
            self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        };
        let used = pragma("page_count")? - pragma("freelist_count")?;
        Ok((used * pragma("page_size")?).cast_unsigned())
    }

    /// Deletes one step's worth of what is older than `cutoff_ms`.
    pub(crate) fn retain_step(
        &mut self,
        now_ms: u64,
        cutoff_ms: u64,
    ) -> Result<CleanupProgress, StoreError> {
        let cutoff = cutoff_ms.min(i64::MAX as u64) as i64;
        // A word used in the hour of the oldest row must stay: only whole hours go, unless nothing
        // at all is to stay.
        let hour = (cutoff_ms / HOUR_MS) as i64 + i64::from(cutoff_ms >= now_ms);
        let minute = ((now_ms / 60_000) as i64 - MINUTES_KEPT_MIN).min(cutoff / 60_000);
        let transaction = self.connection.transaction()?;
        let mut deleted = transaction.execute(
            "DELETE FROM events WHERE id IN
                 (SELECT id FROM events ORDER BY id LIMIT ?2) AND time_ms < ?1",
            params![cutoff, STEP_ROWS],
        )?;
        for (table, key, before, span) in [
            ("hour_names", "hour", hour, 1),
            ("hour_clients", "hour", hour, 1),
            ("minutes", "minute", minute, 1_440),
        ] {
            deleted += transaction.execute(
                &format!(
                    "DELETE FROM {table} WHERE {key} < ?1
                     AND {key} < (SELECT min({key}) + ?2 FROM {table})"
                ),
                params![before, span],
            )?;
        }
        if deleted == 0 {
            for table in ["names", "clients", "rules"] {
                deleted += transaction.execute(
                    &format!(
                        "DELETE FROM {table} WHERE id IN
                             (SELECT id FROM {table} WHERE last_hour < ?1 LIMIT ?2)"
                    ),
                    params![hour, STEP_ROWS],
                )?;
            }
        }
        transaction.commit()?;
        if deleted == 0 {
            return Ok(CleanupProgress::Done);
        }
        self.dictionaries.forget();
        Ok(CleanupProgress::More)
    }
}

fn none_if_empty(error: rusqlite::Error) -> Result<Option<i64>> {
    match error {
        rusqlite::Error::QueryReturnedNoRows => Ok(None),
        other => Err(other),
    }
}
