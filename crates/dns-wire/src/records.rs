//! Records answered from the configuration: `router.lan A 192.168.1.1`, `||dev.example^ A
//! 10.0.0.5`.
//!
//! The `domain` crate reads them in zone-file presentation, so every type works; here they are kept
//! as the bytes of the answer, and a hit is a copy. An alias must lead to another local record:
//! nothing is looked up from here. Called by the DNS door before policy and cache.

use crate::codes::{Rcode, record_type};
use crate::query::DnsQuery;
use crate::synthesize;
use crate::wire::{POINTER_TO_QUESTION, bits, push_u16, push_u32};
use domain::base::iana::{Class, Rtype};
use domain::base::name::ToName;
use domain::base::rdata::ComposeRecordData;
use domain::base::{Name as WireName, RecordData};
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{self, Entry, Zonefile};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use vocab::{DomainName, Name, NameBuffer, NameError};

/// The TTL of a record that is written without one, in seconds.
pub const TTL_DEFAULT_S: u32 = 300;
/// Records of one configuration, at most; more belong in a zone on a server made for it.
pub const RECORDS_MAX: usize = 65_536;
/// Bytes of one line, at most: more than the longest record that any answer could hold.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// Records of one name and type, at most.
pub const SET_RECORDS_MAX: usize = 64;
/// Aliases that lead from one local name to the next, at most.
const ALIASES_MAX: usize = 8;

/// All local records.
#[derive(Clone, Debug, Default)]
pub struct LocalRecords {
    exact: HashMap<Box<str>, OwnerNode>,
    /// Of a name and everything below it.
    subtree: HashMap<Box<str>, OwnerNode>,
}

/// The rendered answers for one name.
#[derive(Clone, Debug, Default)]
struct OwnerNode {
    sets: BTreeMap<u16, RecordSet>,
    /// For every other type, if the name is an alias.
    alias: Option<RecordSet>,
}

/// The records of an answer: their owner is a pointer to the question, so they fit any query.
#[derive(Clone, Debug)]
struct RecordSet {
    count: u16,
    wire: Box<[u8]>,
}

/// Holds what is here for a name that is local.
#[derive(Clone, Copy, Debug)]
pub struct LocalAnswer<'r>(Option<&'r RecordSet>);

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// Place among the lines, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for BadRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadRecord {}

/// Why a line is no record.
#[derive(Debug)]
enum BadLine {
    /// There are more than [`LINE_BYTES_MAX`].
    TooLong,
    /// A line break stands in it.
    LineBreak,
    /// The last character escapes nothing.
    Backslash,
    /// A parenthesis stands outside of quotation marks.
    Parenthesis,
    /// A quotation mark is not closed.
    Quote,
    /// A word stands there alone.
    OneWord,
    /// The owner is no name.
    Owner(String, NameError),
    /// Another file is named.
    Include,
    /// Nothing follows the name.
    NameOnly,
    /// The zone-file reader does not know what this is.
    Unreadable(String, inplace::Error),
    /// The class is not IN.
    Class(Class),
    /// The value is too long for a record.
    DataTooLong,
    /// A CNAME leads to what is no name.
    Target(NameError),
    /// The type has no place among local records.
    Type(Rtype),
}

/// One line, read.
struct ParsedRecord {
    index: usize,
    name: DomainName,
    owner_match: OwnerMatch,
    rtype: u16,
    ttl: u32,
    data: Vec<u8>,
    /// Where a CNAME leads.
    target: Option<DomainName>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnerMatch {
    Exact,
    Subtree,
}

impl LocalRecords {
    /// Reads all `lines`, or says what is wrong with each bad one.
    pub fn parse<L: AsRef<str>>(lines: &[L]) -> Result<Self, Vec<BadRecord>> {
        let mut bad = Vec::new();
        let mut parsed = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            match read_line(index, line.as_ref()) {
                Ok(record) => parsed.push(record),
                Err(why) => bad.push(BadRecord { index, message: why.to_string() }),
            }
        }
        if parsed.len() > RECORDS_MAX {
            let message =
                format!("{} records are too many; {RECORDS_MAX} is the most", parsed.len());
            bad.push(BadRecord { index: RECORDS_MAX, message });
        }
        let plain = RecordsBuilder::new(&parsed, &mut bad);
        let records = plain.render(&mut bad);
        if bad.is_empty() { Ok(records) } else { Err(bad) }
    }

    /// Returns what is here for `name` and `qtype` of class IN: nothing, if the name is not local.
    /// An exact name beats one that is above it, and of those the longest wins.
    pub fn lookup(&self, name: Name<'_>, qtype: u16) -> Option<LocalAnswer<'_>> {
        let node = self.node(name)?;
        Some(LocalAnswer(node.sets.get(&qtype).or(node.alias.as_ref())))
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.subtree.is_empty()
    }

    fn node(&self, name: Name<'_>) -> Option<&OwnerNode> {
        if !self.exact.is_empty()
            && let Some(node) = self.exact.get(name.as_str())
        {
            return Some(node);
        }
        if self.subtree.is_empty() {
            return None;
        }
        let mut above = Some(name);
        while let Some(here) = above {
            if let Some(node) = self.subtree.get(here.as_str()) {
                return Some(node);
            }
            above = here.parent();
        }
        None
    }
}

impl LocalAnswer<'_> {
    /// True if the name has nothing of the type asked for.
    pub fn is_nodata(&self) -> bool {
        self.0.is_none()
    }

    /// Appends the answer to `query`, in at most `limit` bytes; what does not fit is left out, with
    /// TC set.
    pub fn write(&self, query: &DnsQuery<'_>, limit: usize, out: &mut Vec<u8>) {
        let Some(set) = self.0 else { return synthesize::nodata(query, TTL_DEFAULT_S, None, out) };
        let start = synthesize::write_head(query, Rcode::NoError, [set.count, 0], out);
        let opt = synthesize::opt_len(query, None);
        if out.len() - start + set.wire.len() + opt <= limit {
            out.extend_from_slice(&set.wire);
        } else {
            let flags = u16::from_be_bytes([out[start + 2], out[start + 3]]) | bits::TRUNCATED;
            out[start + 2..start + 4].copy_from_slice(&flags.to_be_bytes());
            out[start + 6..start + 8].fill(0);
        }
        synthesize::push_opt(query, None, start, out);
    }
}

fn read_line(index: usize, line: &str) -> Result<ParsedRecord, BadLine> {
    let line = line.trim();
    if line.len() > LINE_BYTES_MAX {
        return Err(BadLine::TooLong);
    }
    if line.contains(['\n', '\r']) {
        return Err(BadLine::LineBreak);
    }
    check_quotes(line)?;
    let (owner, rest) = line.split_once(char::is_whitespace).ok_or(BadLine::OneWord)?;
    let (reach, owner) = match owner.strip_prefix("||") {
        Some(name) => (OwnerMatch::Subtree, name.strip_suffix('^').unwrap_or(name)),
        None => (OwnerMatch::Exact, owner),
    };
    let name = DomainName::parse(owner).map_err(|why| BadLine::Owner(owner.into(), why))?;
    // Its name was read here; the rest is the zone-file reader's, which sees this one line only.
    let text = format!("$TTL {TTL_DEFAULT_S}\n{name}. {rest}\n");
    let mut zone = Zonefile::with_capacity(text.len());
    zone.extend_from_slice(text.as_bytes());
    zone.set_origin(WireName::root_bytes());
    zone.set_default_class(Class::IN);
    let record = match zone.next_entry() {
        Ok(Some(Entry::Record(record))) => record,
        Ok(Some(Entry::Include { .. })) => return Err(BadLine::Include),
        Ok(None) => return Err(BadLine::NameOnly),
        Err(why) => return Err(BadLine::Unreadable(line.into(), why)),
    };
    if record.class() != Class::IN {
        return Err(BadLine::Class(record.class()));
    }
    let mut data = Vec::new();
    record.data().compose_rdata(&mut data).map_err(|_| BadLine::DataTooLong)?;
    let target = match record.data() {
        ZoneRecordData::Cname(cname) => Some(to_text(cname.cname()).map_err(BadLine::Target)?),
        _ => None,
    };
    let rtype = record.data().rtype().to_int();
    if matches!(rtype, record_type::OPT | record_type::TSIG | record_type::DNAME | 128..=255) {
        return Err(BadLine::Type(record.data().rtype()));
    }
    Ok(ParsedRecord {
        index,
        name,
        owner_match: reach,
        rtype,
        ttl: record.ttl().as_secs(),
        data,
        target,
    })
}

/// Refuses what only makes sense over several lines, and what ends in the middle: the zone-file
/// reader is made for files, and panics at the end of some that break off.
fn check_quotes(line: &str) -> Result<(), BadLine> {
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next().is_none() => return Err(BadLine::Backslash),
            '"' => quoted = !quoted,
            '(' | ')' if !quoted => {
                return Err(BadLine::Parenthesis);
            }
            _ => {}
        }
    }
    if quoted { Err(BadLine::Quote) } else { Ok(()) }
}

fn to_text(name: &impl ToName) -> Result<DomainName, NameError> {
    let mut text = NameBuffer::new();
    for label in name.iter_labels().filter(|label| !label.is_root()) {
        text.push_label(label.as_slice())?;
    }
    Ok(text.as_name().to_owned())
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the record is longer than {LINE_BYTES_MAX} bytes"),
            Self::LineBreak => f.write_str("a record is one line"),
            Self::Backslash => f.write_str("it ends with a backslash"),
            Self::Parenthesis => f.write_str("parentheses have no use in one line; leave them out"),
            Self::Quote => f.write_str("a quotation mark is not closed"),
            Self::OneWord => {
                f.write_str("a name, a type and a value are needed, as in router.lan A 192.168.1.1")
            }
            Self::Owner(owner, why) => write!(f, "{owner:?}: {why}"),
            Self::Include => f.write_str("a file cannot be included here"),
            Self::NameOnly => f.write_str("nothing follows the name"),
            Self::Unreadable(line, why) => write!(f, "{line:?} is no record: {why}"),
            Self::Class(class) => write!(f, "only class IN is answered, not {class}"),
            Self::DataTooLong => f.write_str("its value is too long for a record"),
            Self::Target(why) => why.fmt(f),
            Self::Type(rtype) => write!(f, "type {rtype} cannot be a local record"),
        }
    }
}

impl std::error::Error for BadLine {}

/// The records by name, before their answers are rendered.
#[derive(Default)]
struct RecordsBuilder<'p> {
    exact: BTreeMap<&'p str, Vec<&'p ParsedRecord>>,
    subtree: BTreeMap<&'p str, Vec<&'p ParsedRecord>>,
}

impl<'p> RecordsBuilder<'p> {
    fn new(parsed: &'p [ParsedRecord], bad: &mut Vec<BadRecord>) -> Self {
        let mut draft = Self::default();
        for record in parsed {
            let names = match record.owner_match {
                OwnerMatch::Exact => &mut draft.exact,
                OwnerMatch::Subtree => &mut draft.subtree,
            };
            let others = names.entry(record.name.as_str()).or_default();
            let mut complain = |message| bad.push(BadRecord { index: record.index, message });
            // RFC 1034 §3.6.2, without which two answers would be right.
            if others.iter().any(|it| it.target.is_some() || record.target.is_some()) {
                complain(format!("{} is an alias and can have no other record", record.name));
                continue;
            }
            let of_type = others.iter().filter(|it| it.rtype == record.rtype).count();
            if of_type == SET_RECORDS_MAX {
                complain(format!("{} has over {SET_RECORDS_MAX} records of a type", record.name));
                continue;
            }
            others.push(record);
        }
        draft
    }

    fn find(&self, name: &DomainName) -> Option<&[&'p ParsedRecord]> {
        if let Some(records) = self.exact.get(name.as_str()) {
            return Some(records);
        }
        let mut above = Some(name.as_name());
        while let Some(here) = above {
            if let Some(records) = self.subtree.get(here.as_str()) {
                return Some(records);
            }
            above = here.parent();
        }
        None
    }

    fn render(&self, bad: &mut Vec<BadRecord>) -> LocalRecords {
        let mut node = |records: &[&ParsedRecord]| match self.node(records) {
            Ok(node) => node,
            Err(complaint) => {
                bad.push(complaint);
                OwnerNode::default()
            }
        };
        let mut all = |names: &BTreeMap<&str, Vec<&ParsedRecord>>| {
            names.iter().map(|(name, records)| ((*name).into(), node(records))).collect()
        };
        LocalRecords { exact: all(&self.exact), subtree: all(&self.subtree) }
    }

    fn node(&self, records: &[&ParsedRecord]) -> Result<OwnerNode, BadRecord> {
        let mut chain = Vec::new();
        let mut last = records;
        while let Some((alias, target)) = alias_of(last) {
            let complain = |message| Err(BadRecord { index: alias.index, message });
            if chain.len() == ALIASES_MAX {
                return complain(format!("the aliases of {} lead too far", alias.name));
            }
            chain.push((alias, target));
            let Some(next) = self.find(target) else {
                return complain(format!(
                    "{target} has no local record, so this alias leads nowhere; add one for it"
                ));
            };
            last = next;
        }
        let mut prefix = Vec::new();
        let mut owner = POINTER_TO_QUESTION.to_vec();
        for (alias, target) in &chain {
            push(alias, &owner, &mut prefix);
            owner = wire_name(target);
        }
        let with_prefix = |records: &[&&ParsedRecord]| {
            let mut wire = prefix.clone();
            for record in records {
                push(record, &owner, &mut wire);
            }
            RecordSet { count: (chain.len() + records.len()) as u16, wire: wire.into() }
        };
        let mut by_type: BTreeMap<u16, Vec<&&ParsedRecord>> = BTreeMap::new();
        for record in last {
            by_type.entry(record.rtype).or_default().push(record);
        }
        let mut sets: BTreeMap<u16, RecordSet> =
            by_type.iter().map(|(&rtype, records)| (rtype, with_prefix(records))).collect();
        let alias = (!chain.is_empty()).then(|| with_prefix(&[]));
        if let Some((first, _)) = chain.first() {
            // Asked for the alias itself, nothing more is said.
            let mut wire = Vec::new();
            push(first, &POINTER_TO_QUESTION, &mut wire);
            sets.insert(record_type::CNAME, RecordSet { count: 1, wire: wire.into() });
        }
        Ok(OwnerNode { sets, alias })
    }
}

fn alias_of<'p>(records: &[&'p ParsedRecord]) -> Option<(&'p ParsedRecord, &'p DomainName)> {
    records.iter().find_map(|it| it.target.as_ref().map(|target| (*it, target)))
}

fn push(record: &ParsedRecord, owner: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(owner);
    push_u16(out, record.rtype);
    push_u16(out, Class::IN.to_int());
    push_u32(out, record.ttl);
    push_u16(out, record.data.len() as u16);
    out.extend_from_slice(&record.data);
}

fn wire_name(name: &DomainName) -> Vec<u8> {
    // A key is the name in wire form, then five bytes.
    crate::ask::key_of(name.as_name(), 0).map_or(vec![0], |key| key[..key.len() - 5].to_vec())
}
