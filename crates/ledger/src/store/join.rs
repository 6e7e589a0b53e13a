//! Small blocks at the end of the log become one.
//!
//! A quiet door fills a block of some rows a second. Such ones would cost space, and time to read,
//! so they are joined when they are many; a block that is large enough is never touched again.
//! Called by the writing of a batch, within its transaction.

use super::block::decode::ReadBlock;
use super::block::encode::BlockEncoder;
use super::block::rules::RuleTable;
use super::block::{BLOCK_ROWS_MAX, EncodedBlock};
use super::bytes_of;
use rusqlite::{Connection, Result, params};

/// Blocks of fewer rows are joined.
const SMALL_ROWS: i64 = 1_024;
/// So many small blocks, or blocks of so many rows together, become one.
const JOINED_BLOCKS: usize = 64;
const JOINED_ROWS: i64 = 3_072;

/// A block's place.
#[derive(Clone, Copy)]
struct BlockSpan {
    first: i64,
    rows: i64,
}

/// The two byte strings of a stored block.
struct BlockBytes {
    summary: Vec<u8>,
    body: Vec<u8>,
}

/// Joins the small blocks at the end, if they are many.
pub(super) fn join_small(connection: &Connection) -> Result<()> {
    let spans = small_blocks(connection)?;
    let rows: i64 = spans.iter().map(|span| span.rows).sum();
    let (Some(oldest), Some(newest)) = (spans.last(), spans.first()) else { return Ok(()) };
    if spans.len() < 2 || (spans.len() < JOINED_BLOCKS && rows < JOINED_ROWS) {
        return Ok(());
    }
    let mut select = connection.prepare_cached(
        "SELECT summary, body FROM blocks WHERE first BETWEEN ?1 AND ?2 ORDER BY first",
    )?;
    let blocks: Vec<BlockBytes> = select
        .query_map([oldest.first, newest.first], |row| {
            Ok(BlockBytes { summary: bytes_of(row, 0)?.into(), body: bytes_of(row, 1)?.into() })
        })?
        .collect::<Result<_>>()?;
    // A damaged one stays as it is, with its neighbours.
    if let Some(block) = joined(&blocks).filter(|block| i64::from(block.rows) == rows) {
        connection
            .prepare_cached("DELETE FROM blocks WHERE first BETWEEN ?1 AND ?2")?
            .execute(params![oldest.first, newest.first])?;
        block.insert(connection, oldest.first)?;
    }
    Ok(())
}

/// The small blocks at the end, newest first: neighbours whose rows fit one block.
fn small_blocks(connection: &Connection) -> Result<Vec<BlockSpan>> {
    let mut select =
        connection.prepare_cached("SELECT first, rows FROM blocks ORDER BY first DESC LIMIT ?1")?;
    let mut found = select.query([JOINED_BLOCKS as i64])?;
    let (mut spans, mut sum) = (Vec::<BlockSpan>::new(), 0);
    while let Some(row) = found.next()? {
        let span = BlockSpan { first: row.get(0)?, rows: row.get(1)? };
        sum += span.rows;
        let gap = spans.last().is_some_and(|later| later.first != span.first + span.rows);
        if span.rows >= SMALL_ROWS || sum > BLOCK_ROWS_MAX as i64 || gap {
            break;
        }
        spans.push(span);
    }
    Ok(spans)
}

/// `true` if the bytes of a summary and a body, whatever they are, have as many rows as the block
/// that is made of these rows. Called by the fuzz target.
pub fn block_round_trips(summary: &[u8], body: &[u8]) -> bool {
    let count = |block: &BlockBytes| {
        let read = ReadBlock::read(&block.summary, &block.body);
        read.map_or(0, |read| read.rows(&mut RuleTable::default()).len())
    };
    let bytes = BlockBytes { summary: summary.into(), body: body.into() };
    let rows = count(&bytes);
    let again = joined(&[bytes])
        .map_or(0, |block| count(&BlockBytes { summary: block.summary, body: block.body }));
    rows == again
}

fn joined(blocks: &[BlockBytes]) -> Option<EncodedBlock> {
    let mut rules = RuleTable::default();
    let mut rows = Vec::new();
    for block in blocks {
        rows.extend(ReadBlock::read(&block.summary, &block.body)?.rows(&mut rules));
    }
    let mut encoder = BlockEncoder::new(rows.len().min(BLOCK_ROWS_MAX));
    for row in &rows {
        encoder.push(row);
    }
    Some(encoder.finish(&rules.lines))
}
