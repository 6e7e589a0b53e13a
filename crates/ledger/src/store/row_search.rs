//! A search for rows: read backwards from a number, through a bounded part of the log.
//!
//! Bounds of number and time say at which blocks it begins and ends; of the blocks between, those
//! alone are read whole whose summary has the client, the name or the text that is looked for.
//! Called by questions to the store.

use super::block::decode::{BlockBody, BlockSummary, ClientEntry, StoredRow, SummaryTexts};
use super::block::{BLOCK_ROWS_MAX, code_bit};
use super::block_view::BlockView;
use super::bytes_of;
use super::text_search::{FoundPlaces, TextSearch};
use super::top::name_of;
use crate::codes::LedgerCode;
use crate::report::{LogRow, NewRows, ReadError, RowPage};
use crate::row_filter::{RowFilter, RowMeasures, is_under};
use crate::{LIMIT_MAX, NEW_ROWS_MAX, SCAN_ROWS_MAX};
use rusqlite::{Connection, Result, Row, named_params};
use std::net::IpAddr;

/// Rows that are wanted: their numbers are below `before` and at least `floor`.
struct WantedRows<'f> {
    filter: &'f RowFilter,
    before: i64,
    floor: i64,
    /// The oldest number that the filter lets be looked at at all.
    oldest: i64,
    limit: usize,
    beyond: RowsBeyond,
}

/// Treatment of rows beyond the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowsBeyond {
    NotReached,
    Counted,
}

/// Rows that were found, newest first.
#[derive(Default)]
struct FoundRows {
    rows: Vec<LogRow>,
    left_out: u64,
}

/// A search with what it looks for in the summaries of blocks.
struct RowSearch<'w, 'f> {
    wanted: &'w WantedRows<'f>,
    text: Option<TextSearch>,
    name: Option<TextSearch>,
}

/// The clients, words and rules of one block that are looked for; none for all of them.
struct WantedPlaces {
    text: Option<FoundPlaces>,
    client: Option<usize>,
    words: Option<Vec<bool>>,
    rules: Option<Vec<bool>>,
}

/// Rows, newest first, at most `limit`.
pub(super) fn page(
    connection: &Connection,
    filter: &RowFilter,
    limit: usize,
) -> Result<RowPage, ReadError> {
    let limit = limit.clamp(1, LIMIT_MAX);
    let Some(wanted) = WantedRows::of(connection, filter, limit, RowsBeyond::NotReached)? else {
        return Ok(RowPage { rows: Vec::new(), next: None });
    };
    let FoundRows { rows, .. } = RowSearch::new(&wanted).run(connection)?;
    let reached = match rows.last() {
        Some(last) if rows.len() == limit => last.id.cast_signed(),
        Some(_) | None => wanted.floor,
    };
    let next = (reached > wanted.oldest).then(|| reached.cast_unsigned());
    Ok(RowPage { rows, next })
}

/// The newest rows, oldest first, at most `limit`; the others are counted.
pub(super) fn new_rows(
    connection: &Connection,
    filter: &RowFilter,
    limit: usize,
) -> Result<NewRows, ReadError> {
    let newest = (super::next_row(connection)? - 1).cast_unsigned();
    let limit = limit.min(NEW_ROWS_MAX);
    let Some(wanted) = WantedRows::of(connection, filter, limit, RowsBeyond::Counted)? else {
        return Ok(NewRows { newest, ..NewRows::default() });
    };
    let FoundRows { mut rows, left_out } = RowSearch::new(&wanted).run(connection)?;
    rows.reverse();
    Ok(NewRows { rows, left_out, newest })
}

impl<'f> WantedRows<'f> {
    /// The rows that a filter may find; none if there are none.
    fn of(
        connection: &Connection,
        filter: &'f RowFilter,
        limit: usize,
        beyond: RowsBeyond,
    ) -> Result<Option<Self>> {
        let number = |sql: &str, at: u64| -> Result<Option<i64>> {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            connection.query_row(sql, [at], |row| row.get(0))
        };
        // Rows are written as requests end, mostly in the order of their moments; both questions
        // read the index of moments alone.
        let begin = filter.from_ms.unwrap_or(0);
        let begin = number("SELECT min(first) FROM blocks WHERE last_ms >= ?1", begin)?;
        let Some(mut oldest) = begin else { return Ok(None) };
        let mut before = super::next_row(connection)?;
        if let Some(to) = filter.to_ms {
            let end = number("SELECT max(first) FROM blocks WHERE first_ms < ?1", to)?;
            let Some(end) = end else { return Ok(None) };
            before = before.min(end + BLOCK_ROWS_MAX as i64);
        }
        let row = |id: u64| i64::try_from(id).unwrap_or(i64::MAX);
        before = filter.before.map_or(before, |it| row(it).min(before));
        oldest = filter.after.map_or(oldest, |it| row(it).saturating_add(1).max(oldest));
        let floor = before.saturating_sub(SCAN_ROWS_MAX as i64).max(oldest);
        let wanted = Self { filter, before, floor, oldest, limit, beyond };
        Ok((before > floor).then_some(wanted))
    }

    /// True for a row that is wanted, with this number.
    fn has(&self, id: i64, row: &StoredRow, places: &WantedPlaces) -> bool {
        let StoredRow { facts, at_ms, duration_us, .. } = *row;
        id < self.before
            && id >= self.floor
            && places.have(row)
            && self.filter.fits_measures(&RowMeasures { facts, at_ms, duration_us })
    }

    /// Adds the rows of a block that are wanted, newest first.
    fn collect(&self, block: &BlockView<'_>, places: &WantedPlaces, found: &mut FoundRows) {
        let stored: Vec<_> = block.body.rows().collect();
        for (place, row) in stored.iter().enumerate().rev() {
            if found.is_full(self) {
                return;
            }
            let id = block.first + place as i64;
            if !self.has(id, row, places) {
                continue;
            }
            if found.rows.len() < self.limit {
                found.rows.extend(block.log_row(id, row));
            } else {
                found.left_out += 1;
            }
        }
    }
}

impl FoundRows {
    fn is_full(&self, wanted: &WantedRows<'_>) -> bool {
        wanted.beyond == RowsBeyond::NotReached && self.rows.len() >= wanted.limit
    }
}

impl<'w, 'f> RowSearch<'w, 'f> {
    fn new(wanted: &'w WantedRows<'f>) -> Self {
        let name = wanted.filter.name.as_deref();
        Self {
            wanted,
            text: TextSearch::new(&wanted.filter.text),
            name: name.and_then(TextSearch::new),
        }
    }

    /// The rows that are wanted, out of the blocks that may have them.
    fn run(mut self, connection: &Connection) -> Result<FoundRows> {
        let wanted = self.wanted;
        let filter = wanted.filter;
        let mut bodies = connection.prepare("SELECT body FROM blocks WHERE first = ?1")?;
        let mut blocks = connection.prepare(
            "SELECT first, summary FROM blocks
             WHERE first < :before AND first > :floor AND doors & :doors AND actions & :actions
             AND last_ms >= :from AND first_ms <= :to
             ORDER BY first DESC",
        )?;
        let moment = |at: Option<u64>, other: i64| {
            at.map_or(other, |at| i64::try_from(at).unwrap_or(i64::MAX))
        };
        let mut blocks = blocks.query(named_params! {
            ":before": wanted.before,
            // A block has no more rows, so none before this one reaches the floor.
            ":floor": wanted.floor.saturating_sub(BLOCK_ROWS_MAX as i64),
            ":doors": filter.door.map_or(-1, |door| code_bit(door.code()) as i64),
            ":actions": filter.action.map_or(-1, |action| code_bit(action.code()) as i64),
            ":from": moment(filter.from_ms, i64::MIN),
            ":to": moment(filter.to_ms, i64::MAX),
        })?;
        let mut found = FoundRows::default();
        while let Some(row) = blocks.next()? {
            let Some((summary, mut places)) = self.places(row)? else { continue };
            let first = row.get(0)?;
            let mut body = bodies.query([first])?;
            let Some(body) = body.next()? else { continue };
            let Some(body) = BlockBody::read(bytes_of(body, 0)?) else { continue };
            if let Some(list) = &filter.list {
                places.rules = Some(body.rules_of(list));
            }
            wanted.collect(&BlockView { first, summary, body }, &places, &mut found);
            if found.is_full(wanted) {
                break;
            }
        }
        Ok(found)
    }

    /// The summary of a block and what is looked for in it; none if that is not there.
    fn places<'b>(&mut self, row: &'b Row<'_>) -> Result<Option<(BlockSummary<'b>, WantedPlaces)>> {
        let bytes = bytes_of(row, 1)?;
        let Some(texts) = SummaryTexts::read(bytes) else { return Ok(None) };
        let client = match self.wanted.filter.client {
            None => None,
            Some(client) => match place_of(&texts.clients, client) {
                None => return Ok(None),
                place => place,
            },
        };
        let mut places = WantedPlaces { text: None, client, words: None, rules: None };
        if let (Some(search), Some(name)) = (&mut self.name, &self.wanted.filter.name) {
            let found = SummaryTexts::read(bytes).and_then(|texts| search.find(texts));
            let Some((summary, found)) = found else { return Ok(None) };
            let is_it = |place| {
                let host = name_of(&summary, place).filter(|_| found.has_word(place));
                host.is_some_and(|host| is_under(&host, name))
            };
            let words: Vec<_> = (0..summary.words.len()).map(is_it).collect();
            if !words.contains(&true) {
                return Ok(None);
            }
            places.words = Some(words);
        }
        let summary = match &mut self.text {
            None => BlockSummary::read_words(texts),
            Some(search) => search.find(texts).map(|(summary, found)| {
                places.text = Some(found);
                summary
            }),
        };
        Ok(summary.map(|summary| (summary, places)))
    }
}

impl WantedPlaces {
    /// True for a row that names what is looked for.
    fn have(&self, row: &StoredRow) -> bool {
        let at = |places: &[bool], place: usize| places.get(place).copied().unwrap_or(false);
        self.client.is_none_or(|client| row.client == client)
            && self.words.as_deref().is_none_or(|words| at(words, row.word))
            && self.text.as_ref().is_none_or(|text| text.has(row.client, row.word))
            && (self.rules.as_deref()).is_none_or(|rules| row.rule.is_some_and(|it| at(rules, it)))
    }
}

fn place_of(clients: &[ClientEntry], wanted: IpAddr) -> Option<usize> {
    clients.iter().position(|entry| entry.client == wanted)
}
