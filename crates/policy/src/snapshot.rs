//! Compiled rules as bytes and back, so that a start need not read lists.
//!
//! Little-endian: magic, format, checksum, the caller's key, then every array with its length.
//! Reading copies arrays in bulk and checks every bound that a later look-up relies on, so that a
//! cut, flipped or forged file is an error and never a panic. Called by `RuleSet`.

use crate::answers::AnswerValues;
use crate::buckets::{HashBuckets, MultiHashes};
use crate::clients::tags::ClientTags;
use crate::fingerprint::{HashKeys, checksum};
use crate::lists::fitness::UnfitList;
use crate::names::{CELL_BYTES, NameCell, NameTable};
use crate::report::{FileLines, ListKind, ListReport, ListSyntax, SkipReason, SkippedLine};
use crate::rules::RuleSet;
use crate::settings::LISTS_MAX;
use crate::subdomain_blocks::ExceptionsBelow;
use crate::urls::conditions::{EntryPart, RuleClient, RuleConditions, TagPart};
use crate::urls::flags::RuleFlags;
use crate::urls::grams::GramSieve;
use crate::urls::index::{UrlIndex, UrlIndexes};
use crate::urls::rule::{RuleTable, UrlRule};
use filter_patterns::regexes::{LazyRegex, RegexGroup};
use std::fmt;

const MAGIC: [u8; 8] = *b"tidegate";
/// Raised whenever the layout or the meaning of a field changes.
const FORMAT: u32 = 8;
const HEADER_BYTES: usize = MAGIC.len() + 4 + 8 + 32;
/// Sizes of a rule and of its conditions.
const RULE_BYTES: usize = 28;
const CONDITIONS_BYTES: usize = 40;

/// Why bytes are no snapshot of the rules wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The bytes are no snapshot at all.
    NotASnapshot,
    /// Made by another version of the program.
    Version,
    /// Made from other lists.
    OtherLists,
    /// Cut off or changed.
    Damaged,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotASnapshot => "the file is no snapshot of compiled lists",
            Self::Version => "the snapshot was made by another version",
            Self::OtherLists => "the snapshot is of other lists",
            Self::Damaged => "the snapshot is damaged",
        })
    }
}

impl std::error::Error for SnapshotError {}

impl RuleSet {
    /// The rules as bytes, for the next start. `key` identifies what they were compiled from.
    pub fn to_snapshot(&self, key: [u8; 32]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.memory().total() as usize + 4096);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&key);
        let mut writer = SnapshotWriter(out);
        writer.u64(self.keys.seed());
        writer.u32(self.lists.len() as u32);
        for list in &self.lists {
            writer.report(list);
        }
        writer.u64s(&self.list_digests);
        writer.u64(self.cancelled);
        writer.u64(self.names.len() as u64);
        for cell in self.names.cells() {
            writer.0.extend_from_slice(&cell.to_bytes());
        }
        writer.u64s(self.exceptions_below.entries());
        writer.table(&self.table);
        for index in self.indexes.all() {
            for multi in index.multis() {
                writer.u64s(multi.index.hashes());
                writer.u32s(&multi.values);
            }
            let (regexes, host_regexes) = (&index.regexes.rules, &index.host_regexes.rules);
            for list in [&index.always, regexes, &index.host_always, host_regexes] {
                writer.u32s(list);
            }
        }
        let mut out = writer.0;
        let sum = checksum(&out[HEADER_BYTES - 32..]);
        out[MAGIC.len() + 4..][..8].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// The rules that `to_snapshot` wrote under the same key. Any other bytes are an error.
    pub fn from_snapshot(bytes: &[u8], key: [u8; 32]) -> Result<Self, SnapshotError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(SnapshotError::NotASnapshot)?;
        let (format, rest) = rest.split_first_chunk().ok_or(SnapshotError::Damaged)?;
        if u32::from_le_bytes(*format) != FORMAT {
            return Err(SnapshotError::Version);
        }
        let (sum, rest) = rest.split_first_chunk().ok_or(SnapshotError::Damaged)?;
        let (stored_key, body) = rest.split_first_chunk::<32>().ok_or(SnapshotError::Damaged)?;
        if *stored_key != key {
            return Err(SnapshotError::OtherLists);
        }
        if u64::from_le_bytes(*sum) != checksum(rest) {
            return Err(SnapshotError::Damaged);
        }
        SnapshotReader(body).rules().ok_or(SnapshotError::Damaged)
    }
}

struct SnapshotWriter(Vec<u8>);

impl SnapshotWriter {
    fn u32(&mut self, word: u32) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn u64(&mut self, word: u64) {
        self.0.extend_from_slice(&word.to_le_bytes());
    }

    fn array<T, const N: usize>(&mut self, items: &[T], bytes: impl Fn(&T) -> [u8; N]) {
        self.u64(items.len() as u64);
        for item in items {
            self.0.extend_from_slice(&bytes(item));
        }
    }

    fn u32s(&mut self, words: &[u32]) {
        self.array(words, |word| word.to_le_bytes());
    }

    fn u64s(&mut self, words: &[u64]) {
        self.array(words, |word| word.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn report(&mut self, report: &ListReport) {
        self.text(&report.name);
        self.u32(u32::from(report.kind == ListKind::Allow));
        self.u32(
            ListSyntax::ALL.iter().position(|syntax| *syntax == report.syntax).unwrap_or(0) as u32
        );
        let unfit = |why| UnfitList::ALL.iter().position(|other| *other == why);
        self.u32(report.unfit.and_then(unfit).map_or(0, |at| at as u32 + 1));
        self.u32(report.lines);
        self.u32(report.files.len() as u32);
        for file in &report.files {
            self.text(&file.name);
            self.u32(file.first_line);
        }
        self.u32(report.rules_names);
        self.u32(report.rules_urls);
        self.u32(report.skipped.len() as u32);
        for line in &report.skipped {
            self.u32(line.line);
            self.u32(u32::from(line.reason.code()));
            self.text(&line.text);
        }
        self.u32(report.skipped_by_reason.len() as u32);
        for (reason, count) in &report.skipped_by_reason {
            self.u32(u32::from(reason.code()));
            self.u32(*count);
        }
    }

    fn table(&mut self, table: &RuleTable) {
        self.array(&table.rules, rule_bytes);
        self.text(&table.texts);
        self.array(&table.conditions, conditions_bytes);
        self.u64s(&table.numbers);
        self.u32(table.clients.len() as u32);
        for client in &table.clients {
            match client {
                RuleClient::Network(network) => {
                    self.u32(0);
                    self.text(&network.to_string());
                }
                RuleClient::Name(name) => {
                    self.u32(1);
                    self.text(name);
                }
            }
        }
    }
}

/// The word that stands at a place within a record of fixed size.
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn rule_bytes(rule: &UrlRule) -> [u8; RULE_BYTES] {
    let mut bytes = [0; RULE_BYTES];
    let words = [rule.text, rule.pattern, rule.line, rule.conditions];
    for (slot, word) in bytes.chunks_exact_mut(4).zip(words) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    let halves =
        [rule.text_len, rule.pattern_len, rule.types, rule.flags.0, u16::from(rule.list), 0];
    for (slot, half) in bytes[16..].chunks_exact_mut(2).zip(halves) {
        slot.copy_from_slice(&half.to_le_bytes());
    }
    bytes
}

fn rule_of(bytes: [u8; RULE_BYTES]) -> UrlRule {
    UrlRule {
        text: read_u32(&bytes, 0),
        pattern: read_u32(&bytes, 4),
        line: read_u32(&bytes, 8),
        conditions: read_u32(&bytes, 12),
        text_len: read_u16(&bytes, 16),
        pattern_len: read_u16(&bytes, 18),
        types: read_u16(&bytes, 20),
        flags: RuleFlags(read_u16(&bytes, 22)),
        list: bytes[24],
    }
}

fn conditions_bytes(conditions: &RuleConditions) -> [u8; CONDITIONS_BYTES] {
    let mut bytes = [0; CONDITIONS_BYTES];
    let RuleConditions { pages, hosts, record_types, clients, tags } = *conditions;
    for (slot, part) in bytes.chunks_exact_mut(8).zip([pages, hosts, record_types, clients]) {
        slot[..4].copy_from_slice(&part.start.to_le_bytes());
        slot[4..6].copy_from_slice(&part.only.to_le_bytes());
        slot[6..].copy_from_slice(&part.never.to_le_bytes());
    }
    bytes[32..36].copy_from_slice(&tags.only.bits().to_le_bytes());
    bytes[36..].copy_from_slice(&tags.never.bits().to_le_bytes());
    bytes
}

fn conditions_of(bytes: [u8; CONDITIONS_BYTES]) -> RuleConditions {
    let part = |at: usize| EntryPart {
        start: read_u32(&bytes, at),
        only: read_u16(&bytes, at + 4),
        never: read_u16(&bytes, at + 6),
    };
    let tags = |at: usize| ClientTags::from_bits(read_u32(&bytes, at)).unwrap_or_default();
    RuleConditions {
        pages: part(0),
        hosts: part(8),
        record_types: part(16),
        clients: part(24),
        tags: TagPart { only: tags(32), never: tags(36) },
    }
}

/// Holds what is still to be read. Every method gives none at the end of the bytes, or where they
/// say what cannot be.
struct SnapshotReader<'b>(&'b [u8]);

impl<'b> SnapshotReader<'b> {
    fn read_bytes(&mut self, length: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.chunk().map(u64::from_le_bytes)
    }

    /// Records whose number stands before them: no more than the bytes that are there.
    fn records<const N: usize>(&mut self) -> Option<&'b [[u8; N]]> {
        let length = usize::try_from(self.u64()?).ok()?.checked_mul(N)?;
        Some(self.read_bytes(length)?.as_chunks::<N>().0)
    }

    /// An array of such records.
    fn array<T, const N: usize>(&mut self, item: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        Some(self.records()?.iter().map(|bytes| item(*bytes)).collect())
    }

    fn u32s(&mut self) -> Option<Vec<u32>> {
        self.array(u32::from_le_bytes)
    }

    fn u64s(&mut self) -> Option<Vec<u64>> {
        self.array(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.u64()?).ok()?;
        std::str::from_utf8(self.read_bytes(length)?).ok().map(str::to_owned)
    }

    fn rules(mut self) -> Option<RuleSet> {
        let keys = HashKeys::new(self.u64()?);
        let lists = self.u32()? as usize;
        if lists > LISTS_MAX {
            return None;
        }
        let lists = (0..lists).map(|_| self.report()).collect::<Option<Vec<_>>>()?;
        let sums = self.u64s()?;
        let cancelled = self.u64()?;
        let cells = self.records::<CELL_BYTES>()?;
        let excepted = self.u64s()?;
        let table = self.table(lists.len())?;
        let cells = cells.iter().map(NameCell::from_bytes);
        let names = NameTable::from_stored(cells, lists.len(), table.rules.len())?;
        let mut index = || self.index(table.rules.len());
        let indexes = UrlIndexes {
            blocks: index()?,
            exceptions: index()?,
            rewrites: index()?,
            stand_ins: index()?,
            parameter_removals: index()?,
        };
        let answers = AnswerValues::of(&table)?;
        let below = ExceptionsBelow::build(excepted, &table);
        self.0.is_empty().then_some(RuleSet {
            keys,
            lists,
            list_digests: sums,
            cancelled,
            names,
            exceptions_below: below,
            table,
            indexes,
            answers,
        })
    }

    fn report(&mut self) -> Option<ListReport> {
        let name = self.text()?;
        let kind = match self.u32()? {
            0 => ListKind::Block,
            1 => ListKind::Allow,
            _ => return None,
        };
        let syntax = *ListSyntax::ALL.get(self.u32()? as usize)?;
        let unfit = match self.u32()? as usize {
            0 => None,
            at => Some(*UnfitList::ALL.get(at - 1)?),
        };
        let lines = self.u32()?;
        let mut files = Vec::new();
        for _ in 0..self.u32()? {
            files.push(FileLines { name: self.text()?, first_line: self.u32()? });
        }
        // Looked up by halves.
        if !files.is_sorted_by_key(|file| file.first_line) {
            return None;
        }
        let (rules_names, rules_urls) = (self.u32()?, self.u32()?);
        let mut skipped = Vec::new();
        for _ in 0..self.u32()? {
            let (line, reason) = (self.u32()?, self.reason()?);
            skipped.push(SkippedLine { line, reason, text: self.text()? });
        }
        let mut skipped_by_reason = Vec::new();
        for _ in 0..self.u32()? {
            skipped_by_reason.push((self.reason()?, self.u32()?));
        }
        Some(ListReport {
            name,
            kind,
            syntax,
            unfit,
            lines,
            files,
            rules_names,
            rules_urls,
            skipped,
            skipped_by_reason,
        })
    }

    fn reason(&mut self) -> Option<SkipReason> {
        SkipReason::from_code(u8::try_from(self.u32()?).ok()?)
    }

    fn table(&mut self, lists: usize) -> Option<RuleTable> {
        let rules = self.array(rule_of)?;
        let texts = self.text()?;
        let conditions = self.array(conditions_of)?;
        let numbers = self.u64s()?;
        let mut clients = Vec::new();
        for _ in 0..self.u32()? {
            let kind = self.u32()?;
            let text = self.text()?;
            clients.push(match kind {
                0 => RuleClient::Network(text.parse().ok()?),
                1 => RuleClient::Name(text),
                _ => return None,
            });
        }
        let regex_rules: Vec<u32> = (0..rules.len() as u32)
            .filter(|id| rules[*id as usize].flags.contains(RuleFlags::REGEX))
            .collect();
        let regexes = regex_rules.iter().map(|_| LazyRegex::default()).collect();
        let table = RuleTable { rules, texts, conditions, numbers, clients, regex_rules, regexes };
        table.is_consistent(lists).then_some(table)
    }

    fn index(&mut self, rules: usize) -> Option<UrlIndex> {
        let is_known = |id: &u32| (*id as usize) < rules;
        let (by_host, by_token, by_page) = (self.multi()?, self.multi()?, self.multi()?);
        let by_gram = self.multi()?;
        let index = UrlIndex {
            by_host,
            by_token,
            by_page,
            gram_filter: GramSieve::of(by_gram.index.hashes()),
            by_gram,
            by_host_token: self.multi()?,
            always: self.u32s()?,
            regexes: RegexGroup::new(self.u32s()?),
            host_always: self.u32s()?,
            host_regexes: RegexGroup::new(self.u32s()?),
        };
        let (regexes, host_regexes) = (&index.regexes.rules, &index.host_regexes.rules);
        let lists = [&index.always, regexes, &index.host_always, host_regexes];
        let known = index.multis().iter().all(|multi| multi.values.iter().all(is_known))
            && lists.into_iter().flatten().all(is_known);
        known.then_some(index)
    }

    fn multi(&mut self) -> Option<MultiHashes> {
        let index = HashBuckets::from_stored(self.u64s()?)?;
        let values = self.u32s()?;
        (values.len() == index.len()).then_some(MultiHashes { index, values })
    }
}

impl RuleTable {
    /// True if every range of a stored table lies within what it points into.
    fn is_consistent(&self, lists: usize) -> bool {
        let text = |start: u32, length: u16| {
            let start = start as usize;
            self.texts.get(start..start + usize::from(length)).is_some()
        };
        let part = |part: EntryPart, length: usize| {
            part.start as usize + usize::from(part.only) + usize::from(part.never) <= length
        };
        self.rules.is_sorted_by_key(|rule| (rule.list, rule.line))
            && self.rules.iter().all(|rule| {
                usize::from(rule.list) < lists
                    && text(rule.text, rule.text_len)
                    && text(rule.pattern, rule.pattern_len)
            })
            && self.conditions.iter().all(|conditions| {
                part(conditions.pages, self.numbers.len())
                    && part(conditions.hosts, self.numbers.len())
                    && part(conditions.record_types, self.numbers.len())
                    && part(conditions.clients, self.clients.len())
            })
    }
}
