//! Many rows at a glance, for whoever looks for few names among them, and all rows of one client
//! in a while.
//!
//! Blocks are read from the newest back, one at a time, up to a number of rows. The words of a
//! block are asked about once each; a row says what it was for only where the word is wanted.
//! Called through [`crate::Ledger`].

use super::block::decode::{BlockBody, BlockSummary};
use super::block_view::BlockView;
use super::bytes_of;
use super::read::LedgerReader;
use super::top::name_of;
use crate::report::{LogRow, ReadError};
use std::net::IpAddr;
use std::ops::Range;
use vocab::{Action, Door};

/// Rows of all clients among which those of one are looked for.
const LOOKED_ROWS_MAX: i64 = 10_000_000;

/// A request in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowGlimpse<'r> {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Where it came in.
    pub door: Door,
    /// Client that asked.
    pub client: IpAddr,
    /// Action that was taken.
    pub action: Action,
    /// The host, in lower case, where it is wanted.
    pub wanted: Option<&'r str>,
}

/// Extent of such a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlimpseSpan {
    /// Requests from this moment on, in milliseconds since 1970.
    pub since_ms: u64,
    /// Rows at most, to the end of a block; the newest.
    pub rows_max: u64,
}

/// Extent that it had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlimpseEnd {
    /// Rows that were looked at.
    pub rows: u64,
    /// Moment that it reaches back to: later than was asked for where there were too many rows.
    pub since_ms: u64,
}

impl LedgerReader {
    pub(crate) fn glimpses(
        &self,
        span: GlimpseSpan,
        mut wants: impl FnMut(&str) -> bool,
        mut visit: impl FnMut(RowGlimpse<'_>),
    ) -> Result<GlimpseEnd, ReadError> {
        let mut blocks = self.connection.prepare(
            "SELECT summary, body, last_ms FROM blocks WHERE last_ms >= ?1
             ORDER BY last_ms DESC, first DESC",
        )?;
        let mut found = blocks.query([span.since_ms.cast_signed()])?;
        let mut end = GlimpseEnd { rows: 0, since_ms: span.since_ms };
        while let Some(row) = found.next()? {
            if end.rows >= span.rows_max {
                // This block is left out, and those before it.
                let last_ms: i64 = row.get(2)?;
                end.since_ms = end.since_ms.max(last_ms.cast_unsigned());
                break;
            }
            // A damaged block has no rows.
            let Some(summary) = BlockSummary::read(bytes_of(row, 0)?) else { continue };
            let Some(body) = BlockBody::read(bytes_of(row, 1)?) else { continue };
            let names: Vec<_> = (0..summary.words.len())
                .map(|place| name_of(&summary, place).filter(|name| wants(name)))
                .collect();
            for stored in body.rows() {
                end.rows += 1;
                if stored.at_ms < span.since_ms {
                    continue;
                }
                let Some(client) = summary.clients.get(stored.client) else { continue };
                visit(RowGlimpse {
                    at_ms: stored.at_ms,
                    door: stored.facts.door(),
                    client: client.client,
                    action: stored.facts.action(),
                    wanted: names.get(stored.word).and_then(|name| name.as_deref()),
                });
            }
        }
        Ok(end)
    }

    /// Rows of one client from a moment on and before another, oldest first; at most `rows_max`,
    /// the newest, found among so many of all clients at most.
    pub(crate) fn rows_of(
        &self,
        client: IpAddr,
        span: Range<u64>,
        rows_max: usize,
    ) -> Result<Vec<LogRow>, ReadError> {
        let mut select = self.connection.prepare(
            "SELECT first, summary, body, rows FROM blocks WHERE last_ms >= ?1 AND first_ms < ?2
             ORDER BY last_ms DESC, first DESC",
        )?;
        let bounds = [span.start.cast_signed(), i64::try_from(span.end).unwrap_or(i64::MAX)];
        let (mut found, mut rows, mut looked) = (select.query(bounds)?, Vec::new(), 0);
        while let Some(row) = found.next()? {
            if looked >= LOOKED_ROWS_MAX {
                break;
            }
            let Some(block) = BlockView::read(row)? else { continue };
            looked += row.get::<_, i64>(3)?;
            let Some(place) = block.summary.clients.iter().position(|it| it.client == client)
            else {
                continue;
            };
            for (id, stored) in (block.first..).zip(block.body.rows()) {
                if stored.client == place && span.contains(&stored.at_ms) {
                    rows.extend(block.log_row(id, &stored));
                }
            }
            if rows.len() >= rows_max {
                break;
            }
        }
        rows.sort_unstable_by_key(|row| (row.at_ms, row.id));
        let extra = rows.len().saturating_sub(rows_max);
        rows.drain(..extra);
        Ok(rows)
    }
}
