//! A stored block, read as a whole.
//!
//! Called by questions to the store that need its rows.

use super::block::decode::{BlockBody, BlockSummary};
use super::bytes_of;

/// Both byte strings of a block, and the number of its first row.
pub(super) struct BlockView<'b> {
    pub(super) first: i64,
    pub(super) summary: BlockSummary<'b>,
    pub(super) body: BlockBody<'b>,
}

impl<'b> BlockView<'b> {
    /// Reads the block of a row with the columns `first`, `summary` and `body`; none of a damaged
    /// one.
    pub(super) fn read(row: &'b rusqlite::Row<'_>) -> rusqlite::Result<Option<Self>> {
        let summary = BlockSummary::read(bytes_of(row, 1)?);
        let body = BlockBody::read(bytes_of(row, 2)?);
        let first = row.get(0)?;
        Ok(summary.zip(body).map(|(summary, body)| Self { first, summary, body }))
    }
}
