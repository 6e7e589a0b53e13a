//! A block: up to some thousand rows of the request log as two byte strings.
//!
//! The **summary** holds each client and each name or URL of the block once, with its requests
//! that passed and that were blocked: top tables read nothing else, and a search reads the body of
//! those blocks alone whose summary has what is looked for. The **body** holds each combination of
//! codes once, each rule once, and then the rows: seven small numbers each. A block names nothing
//! outside itself, so it can be deleted, cut and joined by itself. Numbers are [`super::varint`]s:
//!
//! ```text
//! summary   clients, of each: 4 or 16, the address, passed, blocked
//!           the texts of all words, one behind the other
//!           words, of each: length × 2 + 1 for a URL, passed, blocked
//! body      combinations of codes, of each: door, action, cause, source, kind, status, caching
//!           lists, of each: its name; rules, of each: list, line, text
//!           moment of the first row; of each row: milliseconds since the row before, client,
//!           word, codes, the rule if the cause is one, bytes, microseconds
//! ```
//!
//! Made by [`encode`], read by [`decode`].

pub(super) mod decode;
pub(super) mod encode;
pub(super) mod rules;

use crate::queue::RowTextForm;
use crate::row_facts::RowFacts;
use rusqlite::{Connection, Result, params};
use std::net::IpAddr;

/// Rows of a block at most: what one page of the log has to read.
pub(super) const BLOCK_ROWS_MAX: usize = 4_096;

/// A row on its way into a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockRow<'r> {
    pub(super) at_ms: u64,
    pub(super) client: IpAddr,
    pub(super) text: &'r [u8],
    pub(super) form: RowTextForm,
    pub(super) facts: RowFacts,
    /// The rule's place in the table that the encoder is handed at the end; of no meaning where the
    /// cause is no rule.
    pub(super) rule: u32,
    pub(super) bytes: u32,
    pub(super) duration_us: u32,
}

/// A block as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EncodedBlock {
    pub(super) rows: u32,
    pub(super) first_ms: u64,
    pub(super) last_ms: u64,
    /// A bit for the code of each door that has a row in it, and likewise of each action.
    pub(super) doors: u64,
    pub(super) actions: u64,
    pub(super) summary: Vec<u8>,
    pub(super) body: Vec<u8>,
}

/// Requests that passed and that were blocked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestTally {
    pub(super) passed: u64,
    pub(super) blocked: u64,
}

impl EncodedBlock {
    /// Stores the block; its first row gets the number `first`. Gives the number after its last.
    pub(super) fn insert(&self, connection: &Connection, first: i64) -> Result<i64> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO blocks (first, rows, first_ms, last_ms, doors, actions, summary, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        insert.execute(params![
            first,
            self.rows,
            self.first_ms as i64,
            self.last_ms as i64,
            self.doors as i64,
            self.actions as i64,
            self.summary,
            self.body,
        ])?;
        Ok(first + i64::from(self.rows))
    }
}

impl RequestTally {
    /// Adds what another one has counted.
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.blocked += other.blocked;
    }

    /// One request with the code of its action.
    pub(super) fn one(facts: RowFacts) -> Self {
        match facts.action() {
            vocab::Action::Pass => Self { passed: 1, blocked: 0 },
            vocab::Action::Block => Self { passed: 0, blocked: 1 },
        }
    }
}

/// The bit of a code in [`EncodedBlock::doors`] and [`EncodedBlock::actions`].
pub(super) const fn code_bit(code: u8) -> u64 {
    1 << (code & 31)
}

#[cfg(test)]
#[path = "block/tests.rs"]
mod tests;
