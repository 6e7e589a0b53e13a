//! One batch of rows and counts into the store, in one transaction.
//!
//! All of a batch is stored or nothing of it. Its rows become a block, which costs a tenth of what
//! rows of a table cost (docs/adr/0034). Called by the writer thread.

use super::block::encode::BlockEncoder;
use super::block::rules::RuleLine;
use super::block::{BLOCK_ROWS_MAX, BlockRow, EncodedBlock};
use super::statistics::batch::StatisticsSums;
use super::statistics::tidy::CountedClients;
use super::statistics::{StepPlace, add_batch};
use super::{LedgerStore, StoreError};
use crate::codes::{CauseCode, LedgerCode};
use crate::counters::CountedSums;
use crate::queue::{PackedRow, RowTextForm, unpack_all};
use crate::{AnonymiseMode, RuleTexts, StatisticCounts, UpstreamCount};
use foldhash::fast::RandomState;
use rusqlite::{Connection, Result, TransactionBehavior, params};
use std::borrow::Cow;
use std::collections::HashMap;
use vocab::RuleRef;
use weekly_hours::CalendarStep;

/// Longest text of a rule that is stored, in bytes.
const RULE_BYTES_MAX: usize = 1024;

/// Holds what is to be stored at once.
pub(crate) struct RowBatch<'b> {
    /// Packed rows, a buffer a thread.
    pub(crate) buffers: &'b [Vec<u8>],
    /// What was counted since the last batch that was stored.
    pub(crate) counts: &'b CountedSums,
    /// The minute since 1970 in which to count it.
    pub(crate) minute: u64,
    /// The start of the hour of the zone in which to count it, in seconds since 1970.
    pub(crate) hour: i64,
    /// Clients that are counted by the hour.
    pub(crate) clients: CountedClients,
    /// Counts of upstreams since the last batch that was stored.
    pub(crate) upstreams: &'b [UpstreamCount],
    /// Part of a client's address that is stored.
    pub(crate) anonymise: AnonymiseMode,
    /// Who knows the rules.
    pub(crate) rules: &'b dyn RuleTexts,
}

/// The rules of a batch. Each is asked for once: a reload may have put another rule in its place by
/// the next batch.
struct BatchRules<'b> {
    texts: &'b dyn RuleTexts,
    places: HashMap<RuleRef, u32, RandomState>,
    lines: Vec<RuleLine>,
    /// The requests of each line.
    counts: Vec<StatisticCounts>,
}

impl LedgerStore {
    /// Stores a batch; after an error nothing of it is stored.
    pub(crate) fn write(&mut self, batch: &RowBatch<'_>) -> std::result::Result<(), StoreError> {
        let rows = in_order(batch.buffers);
        let mut sums = StatisticsSums::default();
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have written meanwhile: one that takes this one's place.
        let mut next = super::next_row(&transaction)?.max(self.next_row);
        let blocks = rows.len().div_ceil(BLOCK_ROWS_MAX);
        for part in rows.chunks(rows.len().div_ceil(blocks.max(1)).max(1)) {
            next = encode(part, batch, &mut sums).insert(&transaction, next)?;
        }
        if !rows.is_empty() {
            super::join::join_small(&transaction)?;
        }
        add_counts(&transaction, batch)?;
        sums.add_counted(batch.counts);
        sums.add_upstreams(batch.upstreams);
        let hour = StepPlace { step: CalendarStep::Hour, at: batch.hour };
        add_batch(&transaction, hour, &sums.finish())?;
        transaction.commit()?;
        self.next_row = next;
        Ok(())
    }
}

/// The rows of all threads, oldest first: rows are shown in the order of their numbers.
fn in_order(buffers: &[Vec<u8>]) -> Vec<PackedRow<'_>> {
    let mut rows: Vec<_> = buffers.iter().flat_map(|buffer| unpack_all(buffer)).collect();
    rows.sort_by_key(|row| row.unix_ms);
    rows
}

/// A block of the rows; their requests are added to the sums of the batch.
fn encode(rows: &[PackedRow<'_>], batch: &RowBatch<'_>, sums: &mut StatisticsSums) -> EncodedBlock {
    let mut rules = BatchRules {
        texts: batch.rules,
        places: HashMap::default(),
        lines: Vec::new(),
        counts: Vec::new(),
    };
    let mut encoder = BlockEncoder::new(rows.len());
    let mut clients: Vec<StatisticCounts> = Vec::new();
    for row in rows {
        let client = encoder.push(&BlockRow {
            at_ms: row.unix_ms,
            client: batch.anonymise.stored(row.client),
            text: row.text,
            form: row.form,
            facts: row.facts,
            rule: match row.facts.cause() {
                CauseCode::Rule => rules.place(row),
                CauseCode::NoRule
                | CauseCode::Paused
                | CauseCode::NotAsked
                | CauseCode::Unlisted
                | CauseCode::ByHand
                | CauseCode::OtherBlocker => 0,
            },
            bytes: row.bytes,
            duration_us: row.duration_us,
        });
        let client = client as usize;
        if client >= clients.len() {
            clients.resize(client + 1, StatisticCounts::default());
        }
        clients[client].count_row(row.facts, row.bytes, row.duration_us);
    }
    match batch.clients {
        CountedClients::Each => {
            for (client, counts) in encoder.clients().zip(&clients) {
                sums.add_client(client, counts);
            }
        }
        CountedClients::None => {}
    }
    for (line, counts) in rules.lines.iter().zip(&rules.counts) {
        sums.add_list(&line.list, counts);
    }
    encoder.finish(&rules.lines)
}

impl BatchRules<'_> {
    /// The place of a row's rule in the table of the batch.
    fn place(&mut self, row: &PackedRow<'_>) -> u32 {
        let place = *self.places.entry(row.rule).or_insert_with(|| {
            self.lines.push(rule_line(self.texts, row));
            self.counts.push(StatisticCounts::default());
            self.lines.len() as u32 - 1
        });
        self.counts[place as usize].count_row(row.facts, row.bytes, row.duration_us);
        place
    }
}

fn rule_line(texts: &dyn RuleTexts, row: &PackedRow<'_>) -> RuleLine {
    let text = std::str::from_utf8(row.text).unwrap_or_default();
    let host = match row.form {
        RowTextForm::Name => text,
        RowTextForm::Url => host_of(text),
    };
    let (list, line, mut text) = texts.text(row.rule, &lower(host)).unwrap_or_else(|| {
        (format!("list {}, gone", row.rule.list.0), row.rule.line, String::new())
    });
    text.truncate(text.floor_char_boundary(RULE_BYTES_MAX));
    RuleLine { list, line, text }
}

fn add_counts(connection: &Connection, batch: &RowBatch<'_>) -> Result<()> {
    let mut add = connection.prepare_cached(
        "INSERT INTO minutes (minute, door, action, source, count) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (minute, door, action, source) DO UPDATE
         SET count = count + excluded.count",
    )?;
    for (door, action, source, count) in batch.counts.counts.iter() {
        add.execute(params![
            batch.minute as i64,
            door.code(),
            action.code(),
            source.code(),
            count as i64
        ])?;
    }
    Ok(())
}

/// A host without its case.
pub(crate) fn lower(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        host.to_ascii_lowercase().into()
    } else {
        host.into()
    }
}

/// The host of a URL, without user, port and brackets; the whole text if it is none.
pub(crate) fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or(v6),
        None => host.split(':').next().unwrap_or(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_stands_alone() {
        for (url, host) in [
            ("http://www.example/a?b", "www.example"),
            ("https://user:pw@www.example:8443", "www.example"),
            ("http://[2001:db8::1]:80/", "2001:db8::1"),
            ("www.example:443", "www.example"),
            ("http://www.example?q=http://other/", "www.example"),
            ("", ""),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }
}
