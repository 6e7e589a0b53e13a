//! Questions to the store, each on a connection of its own that can only read.
//!
//! Charts and tops read roll-ups, never rows; rows are read backwards from a number, through a
//! bounded part of the log. A connection costs a tenth of a millisecond and is never stale, even
//! after a damaged file was replaced. Called through [`crate::Ledger`].

use crate::codes::{CauseCode, LedgerCode, kind_from_code};
use crate::report::{
    LogRow, NamedCount, ReadError, ReportPoint, ReportRange, ReportSeries, ReportTotals, RowCause,
    RowFilter, RowPage, TopKind, TopLine,
};
use crate::{LIMIT_MAX, SCAN_ROWS_MAX};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Result, named_params, params};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;
use vocab::{Action, Caching, Door, Now, Source};

/// Rows whose times are taken together when a moment is sought.
const NEIGHBOURS: i64 = 64;

/// A connection that can only read.
pub(crate) struct LedgerReader {
    connection: Connection,
}

impl From<rusqlite::Error> for ReadError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

/// Every column of a row, with its words; `CROSS JOIN` keeps the rows as the outer loop.
const ROW: &str = "
    SELECT e.id, e.time_ms, e.door, c.text, coalesce(e.url, n.text), e.kind, e.action, e.cause,
           r.list, r.line, r.text, e.source, e.status, e.bytes, e.took_us, e.caching
    FROM events e CROSS JOIN names n ON n.id = e.subject CROSS JOIN clients c ON c.id = e.client
         LEFT JOIN rules r ON r.id = e.rule";

impl LedgerReader {
    /// Opens the file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(Duration::from_secs(2))?;
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
        let mut points: Vec<_> = (0..range.minutes() / step)
            .map(|index| ReportPoint {
                at_ms: (first + index * step) * 60_000,
                passed: 0,
                blocked: 0,
            })
            .collect();
        let mut statement = self.connection.prepare(
            "SELECT (minute - ?1) / ?2, action, sum(count) FROM minutes WHERE minute >= ?1
             GROUP BY 1, 2",
        )?;
        let mut found = statement.query(params![first as i64, step as i64])?;
        while let Some(row) = found.next()? {
            let (index, action, count): (i64, u8, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            // Minutes past the last step are from a clock that was set back: not shown.
            let point = usize::try_from(index).ok().and_then(|index| points.get_mut(index));
            match (point, Action::from_code(action)) {
                (Some(point), Some(Action::Pass)) => point.passed += count.cast_unsigned(),
                (Some(point), Some(Action::Block)) => point.blocked += count.cast_unsigned(),
                (None, _) | (_, None) => {}
            }
        }
        Ok(ReportSeries { step_s: (step * 60) as u32, points })
    }

    pub(crate) fn top(
        &self,
        top: TopKind,
        range: ReportRange,
        n: usize,
        now: Now,
    ) -> Result<Vec<TopLine>, ReadError> {
        let (roll_up, words, key, rank) = match top {
            TopKind::Blocked => ("hour_names", "names", "name", "sum(blocked)"),
            TopKind::Names => ("hour_names", "names", "name", "sum(passed)"),
            TopKind::Clients => ("hour_clients", "clients", "client", "sum(passed + blocked)"),
        };
        let first_hour = (now.unix_secs() / 60).saturating_sub(range.minutes()) / 60;
        let mut statement = self.connection.prepare(&format!(
            "SELECT w.text, t.rank, t.blocked FROM
                 (SELECT {key} AS id, {rank} AS rank, sum(blocked) AS blocked FROM {roll_up}
                  WHERE hour >= ?1 GROUP BY {key} HAVING {rank} > 0
                  ORDER BY rank DESC, id LIMIT ?2) t
             JOIN {words} w ON w.id = t.id ORDER BY t.rank DESC, w.text"
        ))?;
        let found =
            statement.query_map(params![first_hour as i64, n.min(LIMIT_MAX) as i64], |row| {
                let (count, blocked): (i64, i64) = (row.get(1)?, row.get(2)?);
                Ok(TopLine {
                    text: row.get(0)?,
                    count: count.cast_unsigned(),
                    blocked: blocked.cast_unsigned(),
                })
            })?;
        Ok(found.collect::<Result<_>>()?)
    }

    pub(crate) fn rows(&self, filter: &RowFilter, limit: usize) -> Result<RowPage, ReadError> {
        // Two questions: SQLite finds one end at once, but walks all rows for both together.
        let ends = "SELECT (SELECT min(id) FROM events), (SELECT max(id) FROM events)";
        let (oldest, newest): (Option<i64>, Option<i64>) =
            self.connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(oldest), Some(newest)) = (oldest, newest) else {
            return Ok(RowPage { rows: Vec::new(), next: None });
        };
        let limit = limit.clamp(1, LIMIT_MAX);
        let before = filter
            .before
            .map_or(newest + 1, |before| i64::try_from(before).unwrap_or(i64::MAX).min(newest + 1));
        let floor = before.saturating_sub(SCAN_ROWS_MAX as i64).max(oldest);
        let mut statement = self.connection.prepare(&format!(
            "{ROW} WHERE e.id < :before AND e.id >= :floor
                 AND (:door IS NULL OR e.door = :door) AND (:action IS NULL OR e.action = :action)
                 AND (:text IS NULL OR n.text LIKE :text ESCAPE '\\'
                      OR c.text LIKE :text ESCAPE '\\' OR e.url LIKE :text ESCAPE '\\')
             ORDER BY e.id DESC LIMIT :limit"
        ))?;
        let found = statement.query_map(
            named_params! {
                ":before": before,
                ":floor": floor,
                ":door": filter.door.map(LedgerCode::code),
                ":action": filter.action.map(LedgerCode::code),
                ":text": (!filter.text.is_empty()).then(|| pattern(&filter.text)),
                ":limit": limit as i64,
            },
            read_row,
        )?;
        let rows = found.collect::<Result<Vec<LogRow>>>()?;
        let reached = match rows.last() {
            Some(last) if rows.len() == limit => last.id.cast_signed(),
            Some(_) | None => floor,
        };
        let next = (reached > oldest).then(|| reached.cast_unsigned());
        Ok(RowPage { rows, next })
    }

    pub(crate) fn row(&self, id: u64) -> Result<Option<LogRow>, ReadError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        let mut statement = self.connection.prepare(&format!("{ROW} WHERE e.id = ?1"))?;
        Ok(statement.query_row([id], read_row).optional()?)
    }

    /// Rows of one moment, newest first. Rows are written as requests end, so their times nearly
    /// rise with their numbers: the place is found by bisection, and looked through with its
    /// neighbours.
    pub(crate) fn rows_at(&self, at_ms: u64) -> Result<Vec<LogRow>, ReadError> {
        let Ok(at_ms) = i64::try_from(at_ms) else { return Ok(Vec::new()) };
        let ends = "SELECT (SELECT min(id) FROM events), (SELECT max(id) FROM events)";
        let (oldest, newest): (Option<i64>, Option<i64>) =
            self.connection.query_row(ends, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(mut from), Some(mut to)) = (oldest, newest) else { return Ok(Vec::new()) };
        // A request that took long stands among later ones; the latest of some that stand together
        // tells when they were written.
        let mut written = self.connection.prepare(
            "SELECT max(time_ms) FROM
                 (SELECT time_ms FROM events WHERE id >= ?1 ORDER BY id LIMIT ?2)",
        )?;
        while from < to {
            let middle = from + (to - from) / 2;
            let latest_ms: Option<i64> =
                written.query_row([middle, NEIGHBOURS], |row| row.get(0))?;
            if latest_ms.is_some_and(|latest_ms| latest_ms < at_ms) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        let mut statement = self.connection.prepare(&format!(
            "{ROW} WHERE e.id >= :from AND e.id <= :to AND e.time_ms = :at
             ORDER BY e.id DESC LIMIT :limit"
        ))?;
        let around = SCAN_ROWS_MAX as i64 / 2;
        let found = statement.query_map(
            named_params! {
                ":from": from.saturating_sub(around),
                ":to": from.saturating_add(around),
                ":at": at_ms,
                ":limit": LIMIT_MAX as i64,
            },
            read_row,
        )?;
        Ok(found.collect::<Result<_>>()?)
    }

    /// Returns what SQLite says of the whole file.
    #[cfg(test)]
    pub(crate) fn integrity(&self) -> String {
        let said = self.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        said.unwrap()
    }

    /// Returns how many rows, names and clients there are, for tests and the curious.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> std::collections::HashMap<&'static str, u64> {
        ["events", "names", "clients", "rules", "minutes", "hour_names", "hour_clients"]
            .into_iter()
            .map(|table| {
                let sql = format!("SELECT count(*) FROM {table}");
                let count: i64 = self.connection.query_row(&sql, [], |row| row.get(0)).unwrap();
                (table, count.cast_unsigned())
            })
            .collect()
    }
}

/// A text as a pattern of `LIKE` that finds it anywhere; its own wildcards stand for themselves.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars().take(256) {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

fn read_row(row: &rusqlite::Row<'_>) -> Result<LogRow> {
    let client: String = row.get(3)?;
    let (id, at_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
    Ok(LogRow {
        id: id.cast_unsigned(),
        at_ms: at_ms.cast_unsigned(),
        // A word of a damaged row reads as the plainest: one odd row must not hide all others.
        door: Door::from_code(row.get(2)?).unwrap_or(Door::Dns),
        client: client.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        subject: row.get(4)?,
        kind: kind_from_code(row.get(5)?),
        action: Action::from_code(row.get(6)?).unwrap_or(Action::Pass),
        cause: read_cause(row)?,
        source: Source::from_code(row.get(11)?).unwrap_or(Source::Failed),
        status: row.get(12)?,
        bytes: row.get(13)?,
        duration_us: row.get(14)?,
        caching: Caching::from_code(row.get(15)?),
    })
}

fn read_cause(row: &rusqlite::Row<'_>) -> Result<RowCause> {
    let list: Option<String> = row.get(8)?;
    // A number that is unknown reads as the plainest cause, as does a rule that is gone.
    let code = CauseCode::from_code(row.get(7)?).unwrap_or(CauseCode::NoRule);
    Ok(match (code, list) {
        (CauseCode::Rule, Some(list)) => {
            RowCause::Rule { list, line: row.get(9)?, text: row.get(10)? }
        }
        (CauseCode::Rule, None) | (CauseCode::NoRule, _) => RowCause::NoRule,
        (CauseCode::Paused, _) => RowCause::Paused,
        (CauseCode::NotAsked, _) => RowCause::NotAsked,
        (CauseCode::Unlisted, _) => RowCause::Unlisted,
    })
}
