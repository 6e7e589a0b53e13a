//! A block back into rows.
//!
//! What is read may be damaged: then there are fewer rows, and nothing worse. Called by questions
//! to the store, and where blocks are joined or cut.

use super::rules::{RuleTable, RuleText};
use super::{BlockRow, RequestTally};
use crate::codes::CauseCode;
use crate::queue::RowTextForm;
use crate::row_facts::RowFacts;
use crate::store::varint::ByteReader;
use std::net::IpAddr;

/// The clients of a block, and the texts of its words as one.
pub(in crate::store) struct SummaryTexts<'b> {
    pub(in crate::store) clients: Vec<ClientEntry>,
    pub(in crate::store) text: &'b [u8],
    words: ByteReader<'b>,
}

/// The clients and words of a block.
pub(in crate::store) struct BlockSummary<'b> {
    pub(in crate::store) clients: Vec<ClientEntry>,
    pub(in crate::store) words: Vec<WordEntry>,
    /// The texts of all words, one behind the other.
    pub(in crate::store) text: &'b str,
}

/// A client of a block, with its requests.
#[derive(Clone, Copy)]
pub(in crate::store) struct ClientEntry {
    pub(in crate::store) client: IpAddr,
    pub(in crate::store) tally: RequestTally,
}

/// A name or URL of a block, with its requests.
#[derive(Clone, Copy)]
pub(in crate::store) struct WordEntry {
    /// Where its text begins and ends.
    pub(in crate::store) start: usize,
    pub(in crate::store) end: usize,
    pub(in crate::store) form: RowTextForm,
    pub(in crate::store) tally: RequestTally,
}

/// The rows of a block.
pub(in crate::store) struct BlockBody<'b> {
    facts: Vec<RowFacts>,
    rules: Vec<RuleText<'b>>,
    rows: ByteReader<'b>,
    begun_ms: u64,
}

/// A row of a block; client, word and rule are places in its tables.
#[derive(Clone, Copy)]
pub(in crate::store) struct StoredRow {
    pub(in crate::store) at_ms: u64,
    pub(in crate::store) client: usize,
    pub(in crate::store) word: usize,
    pub(in crate::store) facts: RowFacts,
    pub(in crate::store) rule: Option<usize>,
    pub(in crate::store) bytes: u32,
    pub(in crate::store) duration_us: u32,
}

impl<'b> SummaryTexts<'b> {
    /// Reads a summary up to its words.
    pub(in crate::store) fn read(bytes: &'b [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let count = reader.count()?;
        let mut clients = Vec::with_capacity(count);
        for _ in 0..count {
            let client = read_address(&mut reader)?;
            clients.push(ClientEntry { client, tally: read_tally(&mut reader)? });
        }
        let length = reader.small()?;
        Some(Self { clients, text: reader.bytes(length)?, words: reader })
    }
}

impl<'b> BlockSummary<'b> {
    /// Reads a summary.
    pub(in crate::store) fn read(bytes: &'b [u8]) -> Option<Self> {
        SummaryTexts::read(bytes).and_then(Self::read_words)
    }

    /// Reads the words behind their texts.
    pub(in crate::store) fn read_words(texts: SummaryTexts<'b>) -> Option<Self> {
        let SummaryTexts { clients, text, words: mut reader } = texts;
        let count = reader.count()?;
        let mut words = Vec::with_capacity(count);
        let mut start = 0_usize;
        for _ in 0..count {
            let head: u32 = reader.small()?;
            let end = start.checked_add((head >> 1) as usize)?;
            let form = if head & 1 == 1 { RowTextForm::Url } else { RowTextForm::Name };
            words.push(WordEntry { start, end, form, tally: read_tally(&mut reader)? });
            start = end;
        }
        Some(Self { clients, words, text: std::str::from_utf8(text).ok()? })
    }

    /// The text of a word.
    pub(in crate::store) fn word(&self, place: usize) -> Option<(&'b str, RowTextForm)> {
        let word = self.words.get(place)?;
        Some((self.text.get(word.start..word.end)?, word.form))
    }
}

impl<'b> BlockBody<'b> {
    /// Reads a body up to its rows.
    pub(in crate::store) fn read(bytes: &'b [u8]) -> Option<Self> {
        let mut reader = ByteReader::new(bytes);
        let count = reader.count()?;
        let mut facts = Vec::with_capacity(count);
        for _ in 0..count {
            let &[door, action, cause, source] = reader.bytes(4)?.first_chunk()?;
            let (kind, status, caching) = (reader.small()?, reader.small()?, reader.small()?);
            facts.push(RowFacts { door, action, cause, source, kind, status, caching });
        }
        let count = reader.count()?;
        let mut lists = Vec::with_capacity(count);
        for _ in 0..count {
            lists.push(reader.text()?);
        }
        let count = reader.count()?;
        let mut rules = Vec::with_capacity(count);
        for _ in 0..count {
            let list = *lists.get(reader.small::<usize>()?)?;
            rules.push(RuleText { list, line: reader.small()?, text: reader.text()? });
        }
        let begun_ms = reader.number()?;
        Some(Self { facts, rules, rows: reader, begun_ms })
    }

    /// The rows, oldest first.
    pub(in crate::store) fn rows(&self) -> impl Iterator<Item = StoredRow> {
        let (mut reader, mut at_ms) = (self.rows, self.begun_ms);
        std::iter::from_fn(move || {
            at_ms = at_ms.wrapping_add(reader.signed()?.cast_unsigned());
            let (client, word) = (reader.small()?, reader.small()?);
            let facts = *self.facts.get(reader.small::<usize>()?)?;
            let rule = match facts.cause() {
                CauseCode::Rule => Some(reader.small()?),
                CauseCode::NoRule
                | CauseCode::Paused
                | CauseCode::NotAsked
                | CauseCode::Unlisted
                | CauseCode::ByHand
                | CauseCode::OtherBlocker => None,
            };
            let (bytes, duration_us) = (reader.small()?, reader.small()?);
            Some(StoredRow { at_ms, client, word, facts, rule, bytes, duration_us })
        })
    }

    /// Of each rule, true if it stands in this list.
    pub(in crate::store) fn rules_of(&self, list: &str) -> Vec<bool> {
        self.rules.iter().map(|rule| rule.list == list).collect()
    }

    /// A rule that a row names.
    pub(in crate::store) fn rule(&self, place: usize) -> Option<RuleText<'b>> {
        self.rules.get(place).copied()
    }
}

/// A whole block, whose rows go into another one.
pub(in crate::store) struct ReadBlock<'b> {
    summary: BlockSummary<'b>,
    body: BlockBody<'b>,
}

impl<'b> ReadBlock<'b> {
    /// Reads a whole block.
    pub(in crate::store) fn read(summary: &'b [u8], body: &'b [u8]) -> Option<Self> {
        Some(Self { summary: BlockSummary::read(summary)?, body: BlockBody::read(body)? })
    }

    /// The rows for an encoder, oldest first, with their rules in `rules`.
    pub(in crate::store) fn rows(&self, rules: &mut RuleTable) -> Vec<BlockRow<'b>> {
        let places: Vec<u32> = self.body.rules.iter().map(|rule| rules.place(*rule)).collect();
        let row = |row: StoredRow| {
            let (text, form) = self.summary.word(row.word)?;
            let rule = row.rule.and_then(|rule| places.get(rule).copied());
            Some(BlockRow {
                at_ms: row.at_ms,
                client: self.summary.clients.get(row.client)?.client,
                text: text.as_bytes(),
                form,
                facts: row.facts,
                rule: rule.unwrap_or(0),
                bytes: row.bytes,
                duration_us: row.duration_us,
            })
        };
        self.body.rows().map_while(row).collect()
    }
}

fn read_address(reader: &mut ByteReader<'_>) -> Option<IpAddr> {
    match reader.number()? {
        4 => Some(IpAddr::from(*reader.bytes(4)?.first_chunk::<4>()?)),
        16 => Some(IpAddr::from(*reader.bytes(16)?.first_chunk::<16>()?)),
        _ => None,
    }
}

fn read_tally(reader: &mut ByteReader<'_>) -> Option<RequestTally> {
    // Of a damaged block: no sum of them may overflow.
    let (passed, blocked): (u32, u32) = (reader.small()?, reader.small()?);
    Some(RequestTally { passed: passed.into(), blocked: blocked.into() })
}
