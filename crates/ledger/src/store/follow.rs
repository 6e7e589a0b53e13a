//! Rows in the order in which they were stored, for whoever sends them on.
//!
//! Reads whole blocks from a place on, and says what the log no longer had there: rows that
//! retention took are told, never passed over in silence. A log that was begun anew is read from
//! its first row. Called through [`crate::Ledger::follow`].

use super::block::BLOCK_ROWS_MAX;
use super::block_view::BlockView;
use super::read::LedgerReader;
use crate::codes::LedgerCode;
use crate::report::{LogRow, ReadError, RowCause};
use rusqlite::{Connection, OptionalExtension, Result, params};
use vocab::{Action, Door, Source};

/// Missing rows of which each is asked about; of more, the share of these is taken.
const GONE_ASKED_MAX: u64 = 1 << 20;
/// Bytes that a row takes beside its texts, about.
const ROW_BYTES: usize = 128;

/// Place in the request log up to which it was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowPlace {
    /// The last row that was looked at; 0 before the first.
    pub row: u64,
    /// Moment of that row, in milliseconds since 1970, by which a log that was begun anew is known;
    /// 0 where it is not known.
    pub at_ms: u64,
}

/// Amount that one look along the log gives at most.
#[derive(Clone, Copy, Debug)]
pub struct FollowBounds {
    /// Rows that are given.
    pub rows: usize,
    /// Their bytes, about.
    pub bytes: usize,
    /// Rows that are looked at.
    pub looked: usize,
    /// Rows that the place may be behind the newest one: those before are passed over and told.
    pub backlog: u64,
}

/// Rows of the log behind a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedRows {
    /// Rows that are wanted, oldest first.
    pub rows: Vec<LogRow>,
    /// The place behind the last one that was looked at: where to go on.
    pub place: FollowPlace,
    /// The newest row of the log.
    pub newest: u64,
    /// Wanted rows that the log had no more, or that were too far behind.
    pub gone: u64,
}

/// Requests of one kind in one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinuteCount {
    /// The minute, since 1970.
    pub minute: u64,
    /// Door at which they came in.
    pub door: Door,
    /// Action that was taken.
    pub action: Action,
    /// Where the answers came from.
    pub source: Source,
    /// Number of them, up to now.
    pub count: u64,
}

/// A walk along the log.
struct LogWalk<W> {
    bounds: FollowBounds,
    wants: W,
    found: FollowedRows,
    bytes: usize,
    looked: usize,
}

impl LedgerReader {
    /// Rows behind a place; `wants` is asked about each number.
    pub(crate) fn follow(
        &self,
        place: FollowPlace,
        bounds: FollowBounds,
        wants: impl FnMut(u64) -> bool,
    ) -> std::result::Result<FollowedRows, ReadError> {
        let newest = (super::next_row(&self.connection)? - 1).cast_unsigned();
        let place = if is_of_this_log(&self.connection, place, newest)? {
            place
        } else {
            FollowPlace::default()
        };
        let found = FollowedRows { place, newest, ..FollowedRows::default() };
        let mut walk = LogWalk { bounds, wants, found, bytes: 0, looked: 0 };
        let oldest: Option<i64> =
            self.connection.query_row("SELECT min(first) FROM blocks", [], |row| row.get(0))?;
        let Some(oldest) = oldest else { return Ok(walk.found) };
        walk.keep_up(oldest.cast_unsigned());
        let mut blocks = self.connection.prepare(
            "SELECT first, summary, body, rows FROM blocks WHERE first > ?1 ORDER BY first",
        )?;
        let floor = (walk.found.place.row as i64).saturating_sub(BLOCK_ROWS_MAX as i64);
        let mut blocks = blocks.query([floor])?;
        while let Some(row) = blocks.next()? {
            let (first, rows): (i64, i64) = (row.get(0)?, row.get(3)?);
            let behind = (first + rows).cast_unsigned();
            if behind <= walk.found.place.row + 1 {
                continue;
            }
            match BlockView::read(row)? {
                Some(block) => walk.read(&block),
                None => walk.miss(behind),
            }
            if walk.is_full() {
                break;
            }
        }
        Ok(walk.found)
    }

    /// Counts of a minute and those behind it, oldest first, at most `limit` lines.
    pub(crate) fn minutes_since(
        &self,
        minute: u64,
        limit: usize,
    ) -> std::result::Result<Vec<MinuteCount>, ReadError> {
        let mut select = self.connection.prepare(
            "SELECT minute, door, action, source, count FROM minutes WHERE minute >= ?1
             ORDER BY minute LIMIT ?2",
        )?;
        let minute = i64::try_from(minute).unwrap_or(i64::MAX);
        let found = select.query_map(params![minute, limit as i64], |row| {
            let (minute, count): (i64, i64) = (row.get(0)?, row.get(4)?);
            let (door, action, source) = (row.get(1)?, row.get(2)?, row.get(3)?);
            // A code of a newer release has no word here.
            Ok((|| {
                Some(MinuteCount {
                    minute: minute.cast_unsigned(),
                    door: Door::from_code(door)?,
                    action: Action::from_code(action)?,
                    source: Source::from_code(source)?,
                    count: count.cast_unsigned(),
                })
            })())
        })?;
        Ok(found.filter_map(Result::transpose).collect::<Result<_>>()?)
    }
}

impl<W: FnMut(u64) -> bool> LogWalk<W> {
    fn is_full(&self) -> bool {
        self.found.rows.len() >= self.bounds.rows
            || self.bytes >= self.bounds.bytes
            || self.looked >= self.bounds.looked
    }

    /// Passes over what is too far behind the newest row.
    fn keep_up(&mut self, oldest: u64) {
        let place = self.found.place.row;
        let next = self.found.newest.saturating_sub(self.bounds.backlog) + 1;
        if next > place + 1 {
            self.found.place.row = place.max(oldest - 1);
            self.leave(next);
        }
    }

    /// Takes the wanted rows of a block, from the place on.
    fn read(&mut self, block: &BlockView<'_>) {
        for (id, stored) in (block.first.cast_unsigned()..).zip(block.body.rows()) {
            if id <= self.found.place.row {
                continue;
            }
            if self.is_full() {
                return;
            }
            self.miss(id);
            self.looked += 1;
            self.found.place = FollowPlace { row: id, at_ms: stored.at_ms };
            if (self.wants)(id) {
                match block.log_row(id.cast_signed(), &stored) {
                    Some(row) => {
                        self.bytes += ROW_BYTES + text_bytes(&row);
                        self.found.rows.push(row);
                    }
                    None => self.found.gone += 1,
                }
            }
        }
    }

    /// Counts what is missing before a row that is there. A log that was never followed begins
    /// where it begins.
    fn miss(&mut self, next: u64) {
        if self.found.place.row > 0 {
            self.leave(next);
        }
    }

    /// Counts what is wanted between the place and a row, and goes on before that.
    fn leave(&mut self, next: u64) {
        let gone = self.found.place.row + 1..next;
        let missing = gone.end.saturating_sub(gone.start);
        if missing == 0 {
            return;
        }
        let asked = missing.min(GONE_ASKED_MAX);
        let wanted = gone.take(asked as usize).filter(|id| (self.wants)(*id)).count() as u64;
        let scaled = u128::from(wanted) * u128::from(missing) / u128::from(asked);
        self.found.gone += u64::try_from(scaled).unwrap_or(u64::MAX);
        self.found.place = FollowPlace { row: next - 1, at_ms: 0 };
    }
}

/// Tells the texts' bytes of a row.
fn text_bytes(row: &LogRow) -> usize {
    let rule = match &row.cause {
        RowCause::Rule { list, text, .. } => list.len() + text.len(),
        RowCause::NoRule
        | RowCause::Paused
        | RowCause::NotAsked
        | RowCause::Unlisted
        | RowCause::OtherBlocker
        | RowCause::ByHand => 0,
    };
    row.subject.len() + rule
}

/// `true` if the place can be one of this log: its row is there with its moment, or is gone and
/// later ones came.
fn is_of_this_log(connection: &Connection, place: FollowPlace, newest: u64) -> Result<bool> {
    if place.row > newest {
        return Ok(false);
    }
    if place.row == 0 || place.at_ms == 0 {
        return Ok(true);
    }
    let row = place.row as i64;
    let mut select = connection.prepare(
        "SELECT first, summary, body FROM blocks WHERE first <= ?1 ORDER BY first DESC LIMIT 1",
    )?;
    let at_ms = select.query_row([row], |found| {
        let Some(block) = BlockView::read(found)? else { return Ok(None) };
        let place = usize::try_from(row - block.first).ok();
        Ok(place.and_then(|place| block.body.rows().nth(place)).map(|stored| stored.at_ms))
    });
    Ok(at_ms.optional()?.flatten().is_none_or(|at_ms| at_ms == place.at_ms))
}
