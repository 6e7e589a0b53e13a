//! Questions to the store, each on a connection of its own that can only read.
//!
//! Charts read counts by the minute, tops the summaries of blocks; rows are read backwards from a
//! number, through a bounded part of the log. A connection costs a tenth of a millisecond and is
//! never stale, even after a damaged file was replaced; each sees the store as it was at its first
//! question, since blocks are joined and cut meanwhile. Called through [`crate::Ledger`].

use super::block::decode::{BlockBody, BlockSummary, StoredRow, SummaryTexts};
use super::block::{BLOCK_ROWS_MAX, code_bit};
use super::block_view::BlockView;
use super::bytes_of;
use super::text_search::{FoundPlaces, TextSearch};
use crate::codes::{CauseCode, LedgerCode};
use crate::report::{
    ClientActivity, ClientPage, LogRow, NamedCount, ReadError, ReportRange, ReportSeries,
    ReportTotals, RowCause, RowFilter, RowPage, TopKind, TopLine,
};
use crate::statistics::{StatisticsQuery, StatisticsReport};
use crate::zone::LedgerZone;
use crate::{LIMIT_MAX, SCAN_ROWS_MAX};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Result, named_params, params};
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

/// Rows of a block that are wanted: their numbers are below `before` and at least `floor`.
struct WantedRows<'f> {
    filter: &'f RowFilter,
    before: i64,
    floor: i64,
    limit: usize,
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
        let oldest: Option<i64> =
            self.connection.query_row("SELECT min(first) FROM blocks", [], |row| row.get(0))?;
        let Some(oldest) = oldest else { return Ok(RowPage { rows: Vec::new(), next: None }) };
        let end = super::next_row(&self.connection)?;
        let before = filter.before.map_or(end, |it| i64::try_from(it).unwrap_or(i64::MAX).min(end));
        let floor = before.saturating_sub(SCAN_ROWS_MAX as i64).max(oldest);
        let limit = limit.clamp(1, LIMIT_MAX);
        let rows = self.wanted_rows(&WantedRows { filter, before, floor, limit })?;
        let reached = match rows.last() {
            Some(last) if rows.len() == limit => last.id.cast_signed(),
            Some(_) | None => floor,
        };
        let next = (reached > oldest).then(|| reached.cast_unsigned());
        Ok(RowPage { rows, next })
    }

    /// The rows that are wanted, newest first, out of the blocks that may have them.
    fn wanted_rows(&self, wanted: &WantedRows<'_>) -> Result<Vec<LogRow>> {
        let mut search = TextSearch::new(&wanted.filter.text);
        let mut bodies = self.connection.prepare("SELECT body FROM blocks WHERE first = ?1")?;
        let mut blocks = self.connection.prepare(
            "SELECT first, summary FROM blocks
             WHERE first < :before AND first > :floor AND doors & :doors AND actions & :actions
             ORDER BY first DESC",
        )?;
        let mut blocks = blocks.query(named_params! {
            ":before": wanted.before,
            // A block has no more rows, so none before this one reaches the floor.
            ":floor": wanted.floor.saturating_sub(BLOCK_ROWS_MAX as i64),
            ":doors": wanted.filter.door.map_or(-1, |door| code_bit(door.code()) as i64),
            ":actions": wanted.filter.action.map_or(-1, |action| code_bit(action.code()) as i64),
        })?;
        let mut rows = Vec::new();
        while let Some(row) = blocks.next()? {
            let Some(texts) = SummaryTexts::read(bytes_of(row, 1)?) else { continue };
            let found = match &mut search {
                Some(search) => search.find(texts).map(|(summary, places)| (summary, Some(places))),
                None => BlockSummary::read_words(texts).map(|summary| (summary, None)),
            };
            let Some((summary, places)) = found else { continue };
            let first = row.get(0)?;
            let mut body = bodies.query([first])?;
            let Some(body) = body.next()? else { continue };
            let Some(body) = BlockBody::read(bytes_of(body, 0)?) else { continue };
            let block = BlockView { first, summary, body };
            block.collect(wanted, places.as_ref(), &mut rows);
            if rows.len() >= wanted.limit {
                break;
            }
        }
        Ok(rows)
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
    /// Appends the rows that are wanted, newest first, up to the limit.
    fn collect(
        &self,
        wanted: &WantedRows<'_>,
        places: Option<&FoundPlaces>,
        out: &mut Vec<LogRow>,
    ) {
        let stored: Vec<_> = self.body.rows().collect();
        for (place, row) in stored.iter().enumerate().rev() {
            let id = self.first + place as i64;
            let in_range = id < wanted.before && id >= wanted.floor;
            let asked_for = wanted.filter.door.is_none_or(|door| row.facts.door() == door)
                && wanted.filter.action.is_none_or(|action| row.facts.action() == action)
                && places.is_none_or(|places| places.has(row.client, row.word));
            if in_range && asked_for {
                out.extend(self.log_row(id, row));
            }
            if out.len() >= wanted.limit {
                return;
            }
        }
    }

    fn log_row(&self, id: i64, row: &StoredRow) -> Option<LogRow> {
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
