//! Single clients: which there are, with their requests and when they were seen; and what one of
//! them asked for, over time and by name.
//!
//! Counts come from the summaries of blocks; rows are read of those blocks alone in which a client
//! was seen first or last, or where one client is meant. Called by questions to the store.

use super::block::RequestTally;
use super::block::decode::{BlockBody, BlockSummary, StoredRow};
use super::block_view::BlockView;
use super::bytes_of;
use super::top::{NameTable, name_of};
use crate::LIMIT_MAX;
use crate::report::{ClientActivity, ClientLine, ClientPage, ReadError, ReportRange, TopKind};
use foldhash::fast::RandomState;
use rusqlite::Connection;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use vocab::Now;

/// Different clients that are counted at once; the ones beyond are passed over.
const CLIENTS_MAX: usize = 1 << 16;

type ClientTable = HashMap<IpAddr, SeenClient, RandomState>;

/// A client's requests, and the blocks in which it was seen first and last.
struct SeenClient {
    tally: RequestTally,
    first_block: i64,
    last_block: i64,
}

/// Blocks that end after the range begins, in the order in which they end.
const BLOCKS: &str =
    "SELECT first, first_ms, summary, body FROM blocks WHERE last_ms >= ?1 ORDER BY last_ms, first";

/// The clients of a range, those with most requests first, at most `n`.
pub(super) fn clients(
    connection: &Connection,
    range: ReportRange,
    n: usize,
    now: Now,
) -> Result<ClientPage, ReadError> {
    let since_ms = range.first_minute(now) * 60_000;
    let mut table = ClientTable::default();
    let mut blocks = connection.prepare(BLOCKS)?;
    let mut found = blocks.query([since_ms as i64])?;
    while let Some(row) = found.next()? {
        let (first, first_ms): (i64, i64) = (row.get(0)?, row.get(1)?);
        // A damaged block counts nothing.
        let Some(summary) = BlockSummary::read(bytes_of(row, 2)?) else { continue };
        if first_ms >= since_ms as i64 {
            for entry in &summary.clients {
                note(&mut table, entry.client, entry.tally, first);
            }
        } else if let Some(body) = BlockBody::read(bytes_of(row, 3)?) {
            for stored in body.rows().filter(|stored| stored.at_ms >= since_ms) {
                if let Some(entry) = summary.clients.get(stored.client) {
                    note(&mut table, entry.client, RequestTally::one(stored.facts), first);
                }
            }
        }
    }
    let all = table.len();
    let mut ranked: Vec<_> = table.into_iter().collect();
    ranked.sort_unstable_by_key(|(client, seen)| (u64::MAX - requests(&seen.tally), *client));
    ranked.truncate(n.min(LIMIT_MAX));
    let more = all - ranked.len();
    let line = |(client, seen): &(IpAddr, SeenClient)| ClientLine {
        client: *client,
        passed: seen.tally.passed,
        blocked: seen.tally.blocked,
        first_ms: u64::MAX,
        last_ms: 0,
    };
    let mut lines: Vec<_> = ranked.iter().map(line).collect();
    let ends = |(_, seen): &(IpAddr, SeenClient)| [seen.first_block, seen.last_block];
    let blocks: BTreeSet<i64> = ranked.iter().flat_map(ends).collect();
    date(connection, &mut lines, &blocks, since_ms)?;
    Ok(ClientPage { lines, more })
}

fn requests(tally: &RequestTally) -> u64 {
    tally.passed + tally.blocked
}

fn note(table: &mut ClientTable, client: IpAddr, tally: RequestTally, block: i64) {
    if let Some(seen) = table.get_mut(&client) {
        seen.tally.add(tally);
        seen.last_block = block;
    } else if table.len() < CLIENTS_MAX {
        table.insert(client, SeenClient { tally, first_block: block, last_block: block });
    }
}

/// Finds the moments of the first and the last request of each, in the blocks that have them.
fn date(
    connection: &Connection,
    lines: &mut [ClientLine],
    blocks: &BTreeSet<i64>,
    since_ms: u64,
) -> Result<(), ReadError> {
    let places = lines.iter().zip(0_usize..).map(|(line, place)| (line.client, place));
    let places: HashMap<IpAddr, usize, RandomState> = places.collect();
    let mut block =
        connection.prepare("SELECT first, summary, body FROM blocks WHERE first = ?1")?;
    for first in blocks {
        let mut found = block.query([first])?;
        let Some(row) = found.next()? else { continue };
        let Some(BlockView { summary, body, .. }) = BlockView::read(row)? else { continue };
        for stored in body.rows().filter(|stored| stored.at_ms >= since_ms) {
            let client = summary.clients.get(stored.client);
            if let Some(place) = client.and_then(|entry| places.get(&entry.client)) {
                let line = &mut lines[*place];
                line.first_ms = line.first_ms.min(stored.at_ms);
                line.last_ms = line.last_ms.max(stored.at_ms);
            }
        }
    }
    Ok(())
}

/// Requests of one client, over time and by name: at most `n` names of each kind.
pub(super) fn activity(
    connection: &Connection,
    client: IpAddr,
    range: ReportRange,
    n: usize,
    now: Now,
) -> Result<ClientActivity, ReadError> {
    let (since_ms, step) = (range.first_minute(now) * 60_000, range.step_minutes());
    let mut points = range.blank_points(now);
    let mut names = NameTable::of_names();
    let mut blocks = connection.prepare(BLOCKS)?;
    let mut found = blocks.query([since_ms as i64])?;
    while let Some(row) = found.next()? {
        let Some(summary) = BlockSummary::read(bytes_of(row, 2)?) else { continue };
        let Some(place) = summary.clients.iter().position(|entry| entry.client == client) else {
            continue;
        };
        let Some(body) = BlockBody::read(bytes_of(row, 3)?) else { continue };
        let theirs = |stored: &StoredRow| stored.client == place && stored.at_ms >= since_ms;
        for stored in body.rows().filter(theirs) {
            // A moment past the last step is from a clock that was set back: not shown.
            let index = usize::try_from((stored.at_ms - since_ms) / (step * 60_000)).ok();
            if let Some(point) = index.and_then(|index| points.get_mut(index)) {
                point.add(stored.facts.action(), 1);
            }
            if let Some(name) = name_of(&summary, stored.word) {
                names.add(&*name, RequestTally::one(stored.facts));
            }
        }
    }
    Ok(ClientActivity {
        step_s: (step * 60) as u32,
        points,
        names: names.top(TopKind::Names, n),
        blocked: names.top(TopKind::Blocked, n),
    })
}
