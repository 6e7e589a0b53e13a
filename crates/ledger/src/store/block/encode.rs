//! Rows into a block.
//!
//! A row costs a look-up of its word and some ten bytes; nothing is allocated for it. Called by the
//! writer with each batch, and where blocks are joined or cut.

use super::rules::RuleLine;
use super::{BLOCK_ROWS_MAX, BlockRow, EncodedBlock, RequestTally, code_bit};
use crate::codes::CauseCode;
use crate::queue::RowTextForm;
use crate::row_facts::RowFacts;
use crate::store::varint::{put, put_signed, put_text};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

/// A block that is being filled.
pub(in crate::store) struct BlockEncoder<'r> {
    words: NumberedTable<WordKey<'r>>,
    clients: NumberedTable<IpAddr>,
    facts: NumberedTable<RowFacts>,
    rules: UsedRules,
    rows: Vec<u8>,
    count: u32,
    begun_ms: u64,
    before_ms: u64,
    first_ms: u64,
    last_ms: u64,
}

/// A name or URL.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct WordKey<'r> {
    text: &'r [u8],
    form: RowTextForm,
}

/// Things in the order in which they came, each once, with its requests.
struct NumberedTable<K> {
    numbers: HashMap<K, u32, RandomState>,
    entries: Vec<(K, RequestTally)>,
    /// The one of the row before, which mostly is that of the next: no look-up then.
    latest: u32,
}

impl<K: Copy + Eq + Hash> NumberedTable<K> {
    fn new(capacity: usize) -> Self {
        Self {
            numbers: HashMap::with_capacity_and_hasher(capacity, RandomState::default()),
            entries: Vec::with_capacity(capacity),
            latest: 0,
        }
    }

    /// The number of a thing, which one request is counted for.
    fn number(&mut self, key: K, tally: RequestTally) -> u32 {
        if let Some((_, sum)) =
            self.entries.get_mut(self.latest as usize).filter(|(latest, _)| *latest == key)
        {
            sum.add(tally);
            return self.latest;
        }
        let next = self.entries.len() as u32;
        self.latest = *self.numbers.entry(key).or_insert(next);
        if self.latest == next {
            self.entries.push((key, tally));
        } else {
            self.entries[self.latest as usize].1.add(tally);
        }
        self.latest
    }
}

/// The rules of the caller's table that rows have named, in the order in which they came.
#[derive(Default)]
struct UsedRules {
    /// Of each place in that table, the rule's number in the block and 1; 0 where it has none.
    numbers: Vec<u32>,
    places: Vec<u32>,
}

impl UsedRules {
    /// The number of the rule at a place.
    fn number(&mut self, place: u32) -> u32 {
        let index = place as usize;
        if index >= self.numbers.len() {
            self.numbers.resize(index + 1, 0);
        }
        if self.numbers[index] == 0 {
            self.places.push(place);
            self.numbers[index] = self.places.len() as u32;
        }
        self.numbers[index] - 1
    }
}

impl<'r> BlockEncoder<'r> {
    /// An empty block, with memory for as many rows.
    pub(in crate::store) fn new(rows: usize) -> Self {
        debug_assert!(rows <= BLOCK_ROWS_MAX, "a caller cuts what is longer");
        Self {
            words: NumberedTable::new(rows),
            clients: NumberedTable::new(8),
            facts: NumberedTable::new(8),
            rules: UsedRules::default(),
            rows: Vec::with_capacity(rows * 12),
            count: 0,
            begun_ms: 0,
            before_ms: 0,
            first_ms: u64::MAX,
            last_ms: 0,
        }
    }

    /// The clients, in the order of their numbers.
    pub(in crate::store) fn clients(&self) -> impl Iterator<Item = IpAddr> {
        self.clients.entries.iter().map(|(client, _)| *client)
    }

    /// Appends a row; gives the number of its client.
    pub(in crate::store) fn push(&mut self, row: &BlockRow<'r>) -> u32 {
        let tally = RequestTally::one(row.facts);
        let word = self.words.number(WordKey { text: row.text, form: row.form }, tally);
        let client = self.clients.number(row.client, tally);
        let facts = self.facts.number(row.facts, tally);
        if self.count == 0 {
            (self.begun_ms, self.before_ms) = (row.at_ms, row.at_ms);
        }
        put_signed(&mut self.rows, row.at_ms.wrapping_sub(self.before_ms).cast_signed());
        put(&mut self.rows, client);
        put(&mut self.rows, word);
        put(&mut self.rows, facts);
        if row.facts.cause() == CauseCode::Rule {
            put(&mut self.rows, self.rules.number(row.rule));
        }
        put(&mut self.rows, row.bytes);
        put(&mut self.rows, row.duration_us);
        self.before_ms = row.at_ms;
        self.first_ms = self.first_ms.min(row.at_ms);
        self.last_ms = self.last_ms.max(row.at_ms);
        self.count += 1;
        client
    }

    /// The block; `rules` is the table in which its rows have named their rules.
    pub(in crate::store) fn finish(self, rules: &[RuleLine]) -> EncodedBlock {
        let (mut doors, mut actions) = (0, 0);
        for (facts, _) in &self.facts.entries {
            doors |= code_bit(facts.door);
            actions |= code_bit(facts.action);
        }
        EncodedBlock {
            rows: self.count,
            first_ms: self.first_ms,
            last_ms: self.last_ms,
            doors,
            actions,
            summary: self.summary(),
            body: self.body(rules),
        }
    }

    fn summary(&self) -> Vec<u8> {
        let texts: usize = self.words.entries.iter().map(|(word, _)| word.text.len()).sum();
        let mut out = Vec::with_capacity(texts + self.words.entries.len() * 4 + 64);
        put(&mut out, self.clients.entries.len() as u64);
        for (client, tally) in &self.clients.entries {
            match client {
                IpAddr::V4(v4) => {
                    out.push(4);
                    out.extend_from_slice(&v4.octets());
                }
                IpAddr::V6(v6) => {
                    out.push(16);
                    out.extend_from_slice(&v6.octets());
                }
            }
            put_tally(&mut out, *tally);
        }
        put(&mut out, texts as u64);
        for (word, _) in &self.words.entries {
            let begun = out.len();
            out.extend_from_slice(word.text);
            match word.form {
                // A name has no case.
                RowTextForm::Name => out[begun..].make_ascii_lowercase(),
                RowTextForm::Url => {}
            }
        }
        put(&mut out, self.words.entries.len() as u64);
        for (word, tally) in &self.words.entries {
            let url = match word.form {
                RowTextForm::Name => 0,
                RowTextForm::Url => 1,
            };
            put(&mut out, (word.text.len() as u64) << 1 | url);
            put_tally(&mut out, *tally);
        }
        out
    }

    fn body(self, rules: &[RuleLine]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.rows.len() + self.facts.entries.len() * 16 + 64);
        put(&mut out, self.facts.entries.len() as u64);
        for (facts, _) in &self.facts.entries {
            out.extend_from_slice(&[facts.door, facts.action, facts.cause, facts.source]);
            put(&mut out, facts.kind);
            put(&mut out, facts.status);
            put(&mut out, facts.caching);
        }
        put_rules(&mut out, &self.rules, rules);
        put(&mut out, self.begun_ms);
        out.extend_from_slice(&self.rows);
        out
    }
}

fn put_tally(out: &mut Vec<u8>, tally: RequestTally) {
    put(out, tally.passed);
    put(out, tally.blocked);
}

/// The lists and the rules that rows have named.
fn put_rules(out: &mut Vec<u8>, used: &UsedRules, rules: &[RuleLine]) {
    let none = RuleLine::default();
    let used: Vec<_> =
        used.places.iter().map(|place| rules.get(*place as usize).unwrap_or(&none)).collect();
    let mut lists: Vec<&str> = Vec::new();
    let mut numbers: HashMap<&str, usize, RandomState> = HashMap::default();
    let mut latest = 0;
    let list_of: Vec<usize> = used
        .iter()
        .map(|rule| {
            // Mostly that of the rule before.
            if lists.get(latest).is_none_or(|list| *list != rule.list) {
                latest = *numbers.entry(&rule.list).or_insert_with(|| {
                    lists.push(&rule.list);
                    lists.len() - 1
                });
            }
            latest
        })
        .collect();
    put(out, lists.len() as u64);
    for list in lists {
        put_text(out, list);
    }
    put(out, used.len() as u64);
    for (rule, list) in used.into_iter().zip(list_of) {
        put(out, list as u64);
        put(out, rule.line);
        put_text(out, &rule.text);
    }
}
