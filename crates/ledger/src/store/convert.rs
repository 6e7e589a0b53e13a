//! The rows of an older version become blocks.
//!
//! Versions 1 and 2 kept a table row a request, with numbers for names, clients and rules, which
//! had tables of their own. They are taken over from the newest to the oldest, some thousand at a
//! time, while new rows are written: what is not taken over yet is not shown yet. A process that is
//! killed goes on at its next start. Called by the writer.

use super::block::encode::BlockEncoder;
use super::block::rules::{RuleTable, RuleText};
use super::block::{BLOCK_ROWS_MAX, BlockRow};
use super::retain::CleanupProgress;
use super::{LedgerStore, StoreError};
use crate::codes::{CauseCode, LedgerCode};
use crate::queue::RowTextForm;
use crate::row_facts::RowFacts;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};
use std::net::{IpAddr, Ipv4Addr};

/// Every column of a row, with its words; `CROSS JOIN` keeps the rows as the outer loop.
const NEWEST_ROWS: &str = "
    SELECT e.id, e.time_ms, e.door, c.text, coalesce(e.url, n.text), e.url IS NOT NULL, e.kind,
           e.action, e.cause, r.list, r.line, r.text, e.source, e.status, e.bytes, e.took_us,
           e.caching
    FROM events e CROSS JOIN names n ON n.id = e.subject CROSS JOIN clients c ON c.id = e.client
         LEFT JOIN rules r ON r.id = e.rule
    ORDER BY e.id DESC LIMIT ?1";

/// The tables of before.
const OLDER_TABLES: [&str; 6] =
    ["events", "names", "clients", "rules", "hour_names", "hour_clients"];

/// Tells whether the file still has rows of an older version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OlderRows {
    Waiting,
    None,
}

/// A row of an older version.
struct OlderRow {
    id: i64,
    text: String,
    client: IpAddr,
    form: RowTextForm,
    facts: RowFacts,
    rule: u32,
    at_ms: u64,
    bytes: u32,
    duration_us: u32,
}

/// Looks for the tables of before.
pub(super) fn older_rows(connection: &Connection) -> Result<OlderRows> {
    let found: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_master WHERE name = 'events'", [], |row| row.get(0))
        .optional()?;
    Ok(found.map_or(OlderRows::None, |_| OlderRows::Waiting))
}

/// The largest number of a row of before.
pub(super) fn newest_id(connection: &Connection) -> Result<i64> {
    let newest: Option<i64> =
        connection.query_row("SELECT max(id) FROM events", [], |row| row.get(0))?;
    Ok(newest.unwrap_or(0))
}

impl LedgerStore {
    /// `true` while there are rows of an older version.
    pub(crate) fn has_older_rows(&self) -> bool {
        self.older == OlderRows::Waiting
    }

    /// Takes one step's worth of older rows over.
    pub(crate) fn convert_step(&mut self) -> std::result::Result<CleanupProgress, StoreError> {
        let transaction = self.connection.transaction()?;
        let mut rules = RuleTable::default();
        let mut rows: Vec<OlderRow> = transaction
            .prepare(NEWEST_ROWS)?
            .query_map([BLOCK_ROWS_MAX as i64], |row| read_row(row, &mut rules))?
            .collect::<Result<_>>()?;
        rows.reverse();
        let Some(oldest) = rows.first() else {
            for table in OLDER_TABLES {
                transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
            }
            transaction.commit()?;
            self.older = OlderRows::None;
            return Ok(CleanupProgress::Done);
        };
        transaction.execute("DELETE FROM events WHERE id >= ?1", params![oldest.id])?;
        // Numbers of a block's rows have no gaps.
        for run in rows.chunk_by(|row, next| row.id + 1 == next.id) {
            let mut encoder = BlockEncoder::new(run.len());
            for row in run {
                encoder.push(&row.block_row());
            }
            encoder.finish(&rules.lines).insert(&transaction, run[0].id)?;
        }
        transaction.commit()?;
        Ok(CleanupProgress::More)
    }
}

impl OlderRow {
    fn block_row(&self) -> BlockRow<'_> {
        BlockRow {
            at_ms: self.at_ms,
            client: self.client,
            text: self.text.as_bytes(),
            form: self.form,
            facts: self.facts,
            rule: self.rule,
            bytes: self.bytes,
            duration_us: self.duration_us,
        }
    }
}

fn read_row(row: &Row<'_>, rules: &mut RuleTable) -> Result<OlderRow> {
    let client: String = row.get(3)?;
    let list: Option<String> = row.get(9)?;
    let mut cause = number(row, 8)? as u8;
    let rule = match list {
        Some(list) => {
            let text: String = row.get(11)?;
            rules.place(RuleText { list: &list, line: number(row, 10)? as u32, text: &text })
        }
        None if CauseCode::from_code(cause) == Some(CauseCode::Rule) => {
            cause = CauseCode::NoRule.code();
            0
        }
        None => 0,
    };
    Ok(OlderRow {
        id: row.get(0)?,
        text: row.get(4)?,
        client: client.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        form: if row.get(5)? { RowTextForm::Url } else { RowTextForm::Name },
        facts: RowFacts {
            door: number(row, 2)? as u8,
            action: number(row, 7)? as u8,
            cause,
            source: number(row, 12)? as u8,
            kind: number(row, 6)? as u32,
            status: number(row, 13)? as u16,
            caching: number(row, 16)? as u16,
        },
        rule,
        at_ms: number(row, 1)?,
        bytes: number(row, 14)? as u32,
        duration_us: number(row, 15)? as u32,
    })
}

/// A number of a row. None of ours is larger than its type: what is comes of damage, and is cut.
fn number(row: &Row<'_>, column: usize) -> Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}
