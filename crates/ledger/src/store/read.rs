//! Questions to the store, each on a connection of its own that can only read.
//!
//! Charts read counts by the minute, tops the summaries of blocks, and rows are searched for by
//! [`super::row_search`]. A connection costs a tenth of a millisecond and is
//! never stale, even after a damaged file was replaced; each sees the store as it was at its first
//! question, since blocks are joined and cut meanwhile. Called through [`crate::Ledger`].

use super::block::decode::StoredRow;
use super::block_view::BlockView;
use crate::codes::{CauseCode, LedgerCode};
use crate::report::{
    ClientActivity, ClientPage, LogRow, NamedCount, NewRows, ReadError, ReportRange, ReportSeries,
    ReportTotals, RowCause, RowPage, TopKind, TopLine,
};
use crate::row_filter::RowFilter;
use crate::statistics::{StatisticsQuery, StatisticsReport};
use crate::zone::LedgerZone;
use crate::{LIMIT_MAX, SCAN_ROWS_MAX};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Result, params};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;
use vocab::{Action, Door, Now, Source};

/// A connection that can only read.
pub(crate) struct LedgerReader {
    pub(super) connection: Connection,
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl LedgerReader {
    /// Opens the file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(2))?;
        connection.execute_batch("BEGIN")?;
        Ok(Self { connection })
    }

    pub(crate) fn totals(&self, range: ReportRange, now: Now) -> Result<ReportTotals, ReadError> {
        let first = range.first_minute(now);
        let mut statement = self.connection.prepare(
            "SELECT door, action, source, sum(count) FROM minutes WHERE minute >= ?1
             GROUP BY door, action, source ORDER BY door, action, source",
        )?;
        let found = statement.query_map([first as i64], |row| {
            let (door, action, source) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let count: i64 = row.get(3)?;
            Ok((|| {
                Some(NamedCount {
                    door: Door::from_code(door)?,
                    action: Action::from_code(action)?,
                    source: Source::from_code(source)?,
                    count: count.cast_unsigned(),
                })
            })())
        })?;
        let counts = found.filter_map(Result::transpose).collect::<Result<_>>()?;
        Ok(ReportTotals { since_ms: first * 60_000, counts })
    }

    pub(crate) fn series(&self, range: ReportRange, now: Now) -> Result<ReportSeries, ReadError> {
        let (first, step) = (range.first_minute(now), range.step_minutes());
        let mut points = range.blank_points(now);
        let mut statement = self.connection.prepare(
            "SELECT (minute - ?1) / ?2, action, sum(count) FROM minutes WHERE minute >= ?1
             GROUP BY 1, 2",
        )?;
        let mut found = statement.query(params![first as i64, step as i64])?;
        while let Some(row) = found.next()? {
            let (index, action, count): (i64, u8, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            // Minutes past the last step are from a clock that was set back: not shown.
            let point = usize::try_from(index).ok().and_then(|index| points.get_mut(index));
            if let (Some(point), Some(action)) = (point, Action::from_code(action)) {
                point.add(action, count.cast_unsigned());
            }
        }
        let begun: Option<i64> =
            self.connection.query_row("SELECT min(minute) FROM minutes", [], |row| row.get(0))?;
        let begins_ms = begun.map(|minute| minute.cast_unsigned().saturating_mul(60_000));
        Ok(ReportSeries { step_s: (step * 60) as u32, begins_ms, points })
    }

    pub(crate) fn statistics(
        &self,
        query: &StatisticsQuery,
        zone: &LedgerZone,
        now: Now,
    ) -> Result<StatisticsReport, ReadError> {
        super::statistics::read::statistics(&self.connection, query, zone, now)
    }

    pub(crate) fn top(
        &self,
        top: TopKind,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<Vec<TopLine>, ReadError> {
        super::top::top(&self.connection, top, range, n, now)
    }

    pub(crate) fn clients(
        &self,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<ClientPage, ReadError> {
        super::by_client::clients(&self.connection, range, n, now)
    }

    pub(crate) fn activity(
        &self,
        client: IpAddr,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<ClientActivity, ReadError> {
        super::by_client::activity(&self.connection, client, range, n, now)
    }

    pub(crate) fn rows(&self, filter: &RowFilter, limit: usize) -> Result<RowPage, ReadError> {
        super::row_search::page(&self.connection, filter, limit)
    }

    pub(crate) fn new_rows(&self, filter: &RowFilter, limit: usize) -> Result<NewRows, ReadError> {
        super::row_search::new_rows(&self.connection, filter, limit)
    }

    pub(crate) fn row(&self, id: u64) -> Result<Option<LogRow>, ReadError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let mut select = self.connection.prepare(
            "SELECT first, summary, body FROM blocks WHERE first <= ?1
             ORDER BY first DESC LIMIT 1",
        )?;
        let row = select.query_row([id], |row| {
            let Some(block) = BlockView::read(row)? else { return Ok(None) };
            let place = usize::try_from(id - block.first).ok();
            let stored = place.and_then(|place| block.body.rows().nth(place));
            Ok(stored.and_then(|stored| block.log_row(id, &stored)))
        });
        Ok(row.optional()?.flatten())
    }

    /// Rows of one moment, newest first. Rows are written as requests end: those of a moment are in
    /// the first block that ends later, and where a request took long in one behind it.
    pub(crate) fn rows_at(&self, at_ms: u64) -> Result<Vec<LogRow>, ReadError> {
        let mut select = self.connection.prepare(
            "SELECT first, summary, body FROM blocks
             WHERE last_ms >= ?1 AND first_ms <= ?1 ORDER BY last_ms",
        )?;
        let Ok(at) = i64::try_from(at_ms) else { return Ok(Vec::new()) };
        let (mut found, mut rows, mut looked) = (select.query([at])?, Vec::new(), 0);
        while let Some(row) = found.next()? {
            let Some(block) = BlockView::read(row)? else { continue };
            for (id, stored) in (block.first..).zip(block.body.rows()) {
                looked += 1;
                if stored.at_ms == at_ms {
                    rows.extend(block.log_row(id, &stored));
                }
            }
            if looked >= SCAN_ROWS_MAX || rows.len() >= LIMIT_MAX {
                break;
            }
        }
        rows.sort_unstable_by_key(|row| std::cmp::Reverse(row.id));
        rows.truncate(LIMIT_MAX);
        Ok(rows)
    }

    /// Returns what SQLite says of the whole file.
    #[cfg(test)]
    pub(crate) fn integrity(&self) -> String {
        let said = self.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        said.unwrap()
    }

    /// Returns how many rows, blocks and minutes there are, for tests and the curious.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> std::collections::HashMap<&'static str, u64> {
        [
            ("rows", "SELECT coalesce(sum(rows), 0) FROM blocks"),
            ("blocks", "SELECT count(*) FROM blocks"),
            ("minutes", "SELECT count(*) FROM minutes"),
            ("tables", "SELECT count(*) FROM sqlite_master WHERE type = 'table'"),
        ]
        .into_iter()
        .map(|(what, sql)| {
            let count: i64 = self.connection.query_row(sql, [], |row| row.get(0)).unwrap();
            (what, count.cast_unsigned())
        })
        .collect()
    }
}

impl BlockView<'_> {
    pub(super) fn log_row(&self, id: i64, row: &StoredRow) -> Option<LogRow> {
        let (subject, _) = self.summary.word(row.word)?;
        Some(LogRow {
            id: id.cast_unsigned(),
            at_ms: row.at_ms,
            door: row.facts.door(),
            client: self.summary.clients.get(row.client)?.client,
            subject: subject.into(),
            kind: row.facts.kind(),
            action: row.facts.action(),
            cause: self.cause(row),
            source: row.facts.source(),
            caching: row.facts.caching(),
            status: row.facts.status,
            bytes: row.bytes,
            duration_us: row.duration_us,
        })
    }

    fn cause(&self, row: &StoredRow) -> RowCause {
        match row.facts.cause() {
            CauseCode::Rule => match row.rule.and_then(|rule| self.body.rule(rule)) {
                Some(rule) => RowCause::Rule {
                    list: rule.list.into(),
                    line: rule.line,
                    text: rule.text.into(),
                },
                None => RowCause::NoRule,
            },
            CauseCode::NoRule => RowCause::NoRule,
            CauseCode::Paused => RowCause::Paused,
            CauseCode::NotAsked => RowCause::NotAsked,
            CauseCode::Unlisted => RowCause::Unlisted,
            CauseCode::OtherBlocker => RowCause::OtherBlocker,
            CauseCode::ByHand => RowCause::ByHand,
        }
    }
}
