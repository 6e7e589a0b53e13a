//! Retention: what is past its time leaves the store, in small steps.
//!
//! Rows go after `keep`, with the names, clients and rules that stand in their blocks, or sooner
//! while the file is over its size; the chart's minutes, which say nothing about anybody, stay at
//! least [`MINUTES_KEPT_MIN`]. A block that is past its time in part is cut. A step takes some
//! milliseconds, so that rows go on being written between two. Called by the writer.

use super::block::BLOCK_ROWS_MAX;
use super::block::decode::ReadBlock;
use super::block::encode::BlockEncoder;
use super::block::rules::RuleTable;
use super::bytes_of;
use super::{LedgerStore, StoreError};
use rusqlite::{Connection, OptionalExtension, Result, params};
use std::time::Duration;

/// Blocks deleted or cut in one step.
const STEP_BLOCKS: i64 = 16;
/// Minutes of the chart that stay however short `keep` is: a chart of 30 days stays whole.
const MINUTES_KEPT_MIN: i64 = 31 * 24 * 60;
/// Minutes of the chart that are deleted in one step.
const STEP_MINUTES: i64 = 1_440;

/// Holds what may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionBounds {
    /// Rows older than this go.
    pub(crate) keep: Duration,
    /// Above this many bytes the oldest rows go.
    pub(crate) bytes_max: u64,
}

/// Tells which rows are past their time: those that are before either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RetentionCut {
    /// A moment, in milliseconds since 1970.
    before_ms: i64,
    /// A row's number.
    before_row: i64,
}

/// Tells how far a clean-up has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanupProgress {
    /// There is more to delete.
    More,
    /// Nothing is past its time.
    Done,
}

/// A block of which rows are past their time.
struct OldBlock {
    first: i64,
    rows: i64,
    last_ms: i64,
}

impl RetentionCut {
    /// `true` for a row that goes.
    const fn takes(self, row: i64, at_ms: i64) -> bool {
        row < self.before_row || at_ms < self.before_ms
    }
}

impl LedgerStore {
    /// Says what goes now: by age, and the oldest tenth of the rows while the file is too large.
    pub(crate) fn cut(
        &self,
        now_ms: u64,
        bounds: RetentionBounds,
    ) -> Result<RetentionCut, StoreError> {
        if bounds.keep.is_zero() {
            // Nothing stays, not even what a clock since set back has put into the future.
            return Ok(RetentionCut { before_ms: i64::MAX, before_row: i64::MAX });
        }
        let before_ms = now_ms.saturating_sub(bounds.keep.as_millis() as u64) as i64;
        if self.bytes()? <= bounds.bytes_max {
            return Ok(RetentionCut { before_ms, before_row: 0 });
        }
        let oldest: Option<i64> =
            self.connection.query_row("SELECT min(first) FROM blocks", [], |row| row.get(0))?;
        let oldest = oldest.unwrap_or(self.next_row);
        let before_row = oldest + (self.next_row - oldest) / 10 + 1;
        Ok(RetentionCut { before_ms, before_row })
    }

    /// Says that every row goes, and no minute of the chart.
    pub(crate) const fn cut_all(&self) -> RetentionCut {
        RetentionCut { before_ms: 0, before_row: self.next_row }
    }

    /// Writes the file anew without what was deleted, which would lie in its free pages else.
    pub(crate) fn compact(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("VACUUM")?;
        self.checkpoint()
    }

    /// Bytes of the file that are in use.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        let pragma = |name: &str| -> Result<i64> {
            self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
        };
        let used = pragma("page_count")? - pragma("freelist_count")?;
        Ok((used * pragma("page_size")?).cast_unsigned())
    }

    /// Deletes one step's worth of what is past its time.
    pub(crate) fn retain_step(
        &mut self,
        now_ms: u64,
        cut: RetentionCut,
    ) -> Result<CleanupProgress, StoreError> {
        let transaction = self.connection.transaction()?;
        let old = old_blocks(&transaction, cut)?;
        for block in &old {
            cut_block(&transaction, block, cut)?;
        }
        let minute = ((now_ms / 60_000) as i64 - MINUTES_KEPT_MIN).min(cut.before_ms / 60_000);
        let minutes = transaction.execute(
            "DELETE FROM minutes WHERE minute < ?1
                 AND minute < (SELECT min(minute) + ?2 FROM minutes)",
            params![minute, STEP_MINUTES],
        )?;
        transaction.commit()?;
        Ok(if old.is_empty() && minutes == 0 {
            CleanupProgress::Done
        } else {
            CleanupProgress::More
        })
    }
}

/// Some blocks with a row that goes.
fn old_blocks(connection: &Connection, cut: RetentionCut) -> Result<Vec<OldBlock>> {
    let read = |row: &rusqlite::Row<'_>| {
        Ok(OldBlock { first: row.get(0)?, rows: row.get(1)?, last_ms: row.get(2)? })
    };
    let mut by_number = connection.prepare_cached(
        "SELECT first, rows, last_ms FROM blocks WHERE first < ?1 ORDER BY first LIMIT ?2",
    )?;
    let found: Vec<_> =
        by_number.query_map(params![cut.before_row, STEP_BLOCKS], read)?.collect::<Result<_>>()?;
    if !found.is_empty() {
        return Ok(found);
    }
    // By the index alone, which is read as a whole: late rows stand among later ones.
    let mut by_time = connection.prepare_cached(
        "SELECT first, rows, last_ms FROM blocks WHERE first IN
             (SELECT first FROM blocks INDEXED BY block_times WHERE first_ms < ?1 LIMIT ?2)",
    )?;
    by_time.query_map(params![cut.before_ms, STEP_BLOCKS], read)?.collect()
}

/// Deletes a block, and stores what of it may stay.
fn cut_block(connection: &Connection, block: &OldBlock, cut: RetentionCut) -> Result<()> {
    let kept = if cut.takes(block.first + block.rows - 1, block.last_ms) {
        None
    } else {
        let bytes = "SELECT summary, body FROM blocks WHERE first = ?1";
        let read =
            |row: &rusqlite::Row<'_>| Ok((bytes_of(row, 0)?.to_vec(), bytes_of(row, 1)?.to_vec()));
        connection.query_row(bytes, [block.first], read).optional()?
    };
    connection.prepare_cached("DELETE FROM blocks WHERE first = ?1")?.execute([block.first])?;
    let Some(read) = kept.as_ref().and_then(|(summary, body)| ReadBlock::read(summary, body))
    else {
        return Ok(());
    };
    let mut rules = RuleTable::default();
    let rows = read.rows(&mut rules);
    let numbered: Vec<_> = (block.first..)
        .zip(&rows)
        .filter(|(number, row)| !cut.takes(*number, row.at_ms as i64))
        .collect();
    // Numbers of a block's rows have no gaps.
    for run in numbered.chunk_by(|(number, _), (next, _)| number + 1 == *next) {
        let mut encoder = BlockEncoder::new(run.len().min(BLOCK_ROWS_MAX));
        for (_, row) in run {
            encoder.push(row);
        }
        encoder.finish(&rules.lines).insert(connection, run[0].0)?;
    }
    Ok(())
}
