//! Records by zone files, answered for exactly the name, type and class that they are of.
//!
//! `arbitrary` of mosdns and OxiDNS: an alias is the answer to a question for aliases and to no
//! other, and a name without the type asked for is no concern of this. `$ORIGIN`, `$TTL`,
//! `$INCLUDE` and `$GENERATE` count; values are read by the `domain` crate, so every type works,
//! those by number too (RFC 3597). Files are read by whoever calls. Asked by the machine.

use super::RecordsAnswered;
use super::generate::{self, GenerateFault, GenerateRange};
use super::scan::{EntryOwner, LINE_BYTES_MAX, ScanFault, ZoneLine, ZoneLines};
use super::values::{self, BadValue};
use dns_wire::rendered::RenderedRecords;
use dns_wire::{CLASS_IN, DnsQuery};
use std::collections::HashMap;
use std::fmt;
use vocab::Name;

/// The TTL of a record that is written without one, with nothing before it to take it from, in
/// seconds: as in mosdns and OxiDNS.
pub const TTL_DEFAULT_S: u32 = 3600;
/// Longest TTL, in seconds (RFC 2181 §8).
const TTL_MAX_S: u32 = i32::MAX as u32;
/// Records of one zone, at most. More belong on a server made for it.
pub const RECORDS_MAX: usize = 1 << 20;
/// Bytes of all texts of one zone, included ones counted as often as they are, at most.
pub const ZONE_BYTES_MAX: usize = 256 << 20;
/// Files included by included files, at most.
pub const INCLUDE_DEPTH_MAX: usize = 8;
/// Complaints about one text, at most.
const COMPLAINTS_MAX: usize = 20;

/// Reads a file that a zone includes: given its path as written and the name of the text that
/// includes it, the file's text, or why not.
pub type Include<'a> = dyn FnMut(&str, &str) -> Result<String, String> + 'a;

/// Records by name, type and class.
///
/// ```
/// use pipeline::records::ZoneTable;
///
/// let mut builder = ZoneTable::builder();
/// let mut no_files = |path: &str, _: &str| Err(format!("{path}: no files here"));
/// builder.add("rule 1", "a.example. 60 IN A 192.0.2.1", &mut no_files).unwrap();
/// assert!(builder.add("rule 2", "a.example. 60 IN A 192.0.2", &mut no_files).is_err());
/// assert_eq!(builder.build().len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct ZoneTable {
    names: HashMap<Box<str>, Vec<ZoneSet>>,
    records: usize,
}

/// The records of one name, type and class.
#[derive(Debug)]
struct ZoneSet {
    rtype: u16,
    class: u16,
    rendered: RenderedRecords,
}

/// A zone in the making.
#[derive(Debug, Default)]
pub struct ZoneBuilder {
    zone: ZoneTable,
    bytes: usize,
}

/// Holds what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadZone {
    /// The text, by the name it was handed in with, or the path of an included file.
    pub file: String,
    /// The line in it, from 1.
    pub line: u32,
    /// What is wrong.
    pub fault: ZoneFault,
}

/// Tells what can be wrong with a line of a zone file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneFault {
    /// Cannot be cut into words.
    Scan(ScanFault),
    /// A directive that nobody here knows.
    Directive(String),
    /// A directive with too few or too many words.
    Words(&'static str),
    /// Begins with a blank, and no record comes before it.
    NoOwner,
    /// A name does not end with a dot, and there is no `$ORIGIN`.
    Relative(String),
    /// What stands for a TTL is none.
    Ttl(String),
    /// Has no type.
    NoType,
    /// The record cannot be read.
    Value(BadValue),
    /// `$GENERATE` cannot be followed.
    Generate(GenerateFault),
    /// A file could not be included.
    Include(String),
    /// Files include files to more than [`INCLUDE_DEPTH_MAX`].
    IncludeDepth,
    /// There are more records than [`RECORDS_MAX`].
    TooManyRecords,
    /// The texts are longer than [`ZONE_BYTES_MAX`].
    TooLarge,
    /// The records of one name, type and class fit no message.
    SetTooLarge,
}

impl ZoneTable {
    /// No records yet.
    pub fn builder() -> ZoneBuilder {
        ZoneBuilder::default()
    }

    /// Appends the answer to `query`, whose name is `name`, as a whole message without OPT. Nothing
    /// is written where there is none.
    pub fn write(
        &self,
        query: &DnsQuery<'_>,
        name: Name<'_>,
        out: &mut Vec<u8>,
    ) -> RecordsAnswered {
        let sets = self.names.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        let fits = |set: &&ZoneSet| (set.rtype, set.class) == (query.qtype, query.qclass);
        match sets.iter().find(fits) {
            Some(set) => {
                set.rendered.write(query, out);
                RecordsAnswered::Yes
            }
            None => RecordsAnswered::No,
        }
    }

    /// Returns how many records there are.
    pub fn len(&self) -> usize {
        self.records
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }
}

impl ZoneBuilder {
    /// Adds the records of a text, which begins without origin, owner or TTL; or says what is wrong
    /// with each bad line, of which the first twenty. Good lines of a text with bad ones stay.
    pub fn add(
        &mut self,
        file: &str,
        text: &str,
        include: &mut Include<'_>,
    ) -> Result<(), Vec<BadZone>> {
        let mut bad = Vec::new();
        let start =
            ZoneDefaults { origin: None, owner: None, class: CLASS_IN, ttl: DefaultTtl::default() };
        let mut reader = ZoneReader { builder: self, include, bad: &mut bad };
        reader.text(file, text, start, 0);
        if bad.is_empty() { Ok(()) } else { Err(bad) }
    }

    fn push(
        &mut self,
        name: Name<'_>,
        rtype: u16,
        class: u16,
        ttl: u32,
        data: &[u8],
    ) -> Result<(), ZoneFault> {
        if self.zone.records == RECORDS_MAX {
            return Err(ZoneFault::TooManyRecords);
        }
        let sets = self.zone.names.entry(name.as_str().into()).or_default();
        let at = sets.iter().position(|set| (set.rtype, set.class) == (rtype, class));
        let at = at.unwrap_or_else(|| {
            sets.push(ZoneSet { rtype, class, rendered: RenderedRecords::default() });
            sets.len() - 1
        });
        sets[at].rendered.push(rtype, class, ttl, data).map_err(|_| ZoneFault::SetTooLarge)?;
        self.zone.records += 1;
        Ok(())
    }

    /// The zone.
    pub fn build(mut self) -> ZoneTable {
        for set in self.zone.names.values_mut().flatten() {
            set.rendered.shrink();
        }
        self.zone
    }
}

/// Holds what lines take from those before them.
#[derive(Clone)]
struct ZoneDefaults {
    /// With its final dot.
    origin: Option<String>,
    /// With its final dot.
    owner: Option<String>,
    class: u16,
    ttl: DefaultTtl,
}

/// The TTL of a record without one: that of `$TTL`, else the last written (RFC 2308 §4).
#[derive(Clone, Copy, Default)]
struct DefaultTtl {
    directive: Option<u32>,
    last: Option<u32>,
}

struct ZoneReader<'r, 'i> {
    builder: &'r mut ZoneBuilder,
    include: &'r mut Include<'i>,
    bad: &'r mut Vec<BadZone>,
}

impl ZoneReader<'_, '_> {
    /// Reads one text to its end, or until there are too many complaints.
    fn text(&mut self, file: &str, text: &str, mut place: ZoneDefaults, depth: usize) {
        self.builder.bytes = self.builder.bytes.saturating_add(text.len());
        if self.builder.bytes > ZONE_BYTES_MAX {
            return self.complain(file, 1, ZoneFault::TooLarge);
        }
        for line in ZoneLines::new(text) {
            let (number, done) = match line {
                Ok(line) => (line.number, self.line(file, &line, &mut place, depth)),
                Err((number, fault)) => (number, Err(ZoneFault::Scan(fault))),
            };
            let Err(fault) = done else { continue };
            let is_last = fault == ZoneFault::TooManyRecords;
            self.complain(file, number, fault);
            if is_last || self.bad.len() >= COMPLAINTS_MAX {
                return;
            }
        }
    }

    fn complain(&mut self, file: &str, line: u32, fault: ZoneFault) {
        if self.bad.len() < COMPLAINTS_MAX {
            self.bad.push(BadZone { file: file.to_owned(), line, fault });
        }
    }

    fn line(
        &mut self,
        file: &str,
        line: &ZoneLine<'_>,
        place: &mut ZoneDefaults,
        depth: usize,
    ) -> Result<(), ZoneFault> {
        let first = line.words[0];
        if line.owner == EntryOwner::Last || !first.starts_with('$') {
            return self.record(&line.words, line.owner, place);
        }
        match (first.to_ascii_uppercase().as_str(), &line.words[1..]) {
            ("$ORIGIN", [origin]) => {
                let origin = absolute(origin, place.origin.as_deref())?;
                values::read(&origin, None, &["A", "192.0.2.1"]).map_err(ZoneFault::Value)?;
                place.origin = Some(origin);
                Ok(())
            }
            ("$ORIGIN", _) => Err(ZoneFault::Words("$ORIGIN is followed by one name")),
            ("$TTL", [ttl]) => {
                place.ttl.directive = Some(read_ttl(ttl)?);
                Ok(())
            }
            ("$TTL", _) => Err(ZoneFault::Words("$TTL is followed by one number of seconds")),
            ("$INCLUDE", [path] | [path, _]) => {
                let origin = match line.words.get(2) {
                    Some(origin) => Some(absolute(origin, place.origin.as_deref())?),
                    None => place.origin.clone(),
                };
                let path = path.trim_matches('"');
                if depth == INCLUDE_DEPTH_MAX {
                    return Err(ZoneFault::IncludeDepth);
                }
                let text = (self.include)(path, file).map_err(ZoneFault::Include)?;
                let start = ZoneDefaults { origin, owner: None, ..place.clone() };
                self.text(path, &text, start, depth + 1);
                Ok(())
            }
            ("$INCLUDE", _) => {
                Err(ZoneFault::Words("$INCLUDE is followed by a path and perhaps an origin"))
            }
            ("$GENERATE", [range, template @ ..]) if template.len() >= 3 => {
                self.generate(range, template, place)
            }
            ("$GENERATE", _) => {
                Err(ZoneFault::Words("$GENERATE is followed by a range, a name, a type, a value"))
            }
            _ => Err(ZoneFault::Directive(crate::sets::excerpt(first))),
        }
    }

    /// Counted records leave no trace: the next line has owner and TTL of the one before them.
    fn generate(
        &mut self,
        range: &str,
        template: &[&str],
        place: &ZoneDefaults,
    ) -> Result<(), ZoneFault> {
        let range = GenerateRange::parse(range).map_err(ZoneFault::Generate)?;
        let mut words = vec![String::new(); template.len()];
        for number in range.numbers() {
            for (word, template) in words.iter_mut().zip(template) {
                word.clear();
                generate::expand(template, number, word).map_err(ZoneFault::Generate)?;
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if words.iter().map(|word| word.len()).sum::<usize>() > LINE_BYTES_MAX {
                return Err(ZoneFault::Scan(ScanFault::TooLong));
            }
            self.record(&words, EntryOwner::Written, &mut place.clone())?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        words: &[&str],
        owner: EntryOwner,
        place: &mut ZoneDefaults,
    ) -> Result<(), ZoneFault> {
        let mut rest = words;
        let owner = match owner {
            EntryOwner::Last => place.owner.clone().ok_or(ZoneFault::NoOwner)?,
            EntryOwner::Written => {
                rest = &words[1..];
                absolute(words[0], place.origin.as_deref())?
            }
        };
        // TTL and class, each at most once and in either order.
        let (mut ttl, mut class) = (None, None);
        while let [word, others @ ..] = rest {
            if ttl.is_none() && word.starts_with(|c: char| c.is_ascii_digit()) {
                ttl = Some(read_ttl(word)?);
            } else if let Some(code) = class_named(word).filter(|_| class.is_none()) {
                class = Some(code);
            } else {
                break;
            }
            rest = others;
        }
        if rest.is_empty() {
            return Err(ZoneFault::NoType);
        }
        place.class = class.unwrap_or(place.class);
        place.ttl.last = ttl.or(place.ttl.last);
        let ttl = ttl.or(place.ttl.directive).or(place.ttl.last).unwrap_or(TTL_DEFAULT_S);
        let value =
            values::read(&owner, place.origin.as_deref(), rest).map_err(ZoneFault::Value)?;
        place.owner = Some(owner);
        self.builder.push(value.owner.as_name(), value.rtype, place.class, ttl, &value.data)
    }
}

/// A name with its final dot: as it stands, or with the origin behind it.
fn absolute(word: &str, origin: Option<&str>) -> Result<String, ZoneFault> {
    let relative = || ZoneFault::Relative(crate::sets::excerpt(word));
    if word == "@" {
        return origin.map(str::to_owned).ok_or_else(relative);
    }
    // A dot after a backslash is part of a label, unless the backslash is so itself.
    let stem = word.strip_suffix('.').map(|stem| stem.len() - stem.trim_end_matches('\\').len());
    if stem.is_some_and(|backslashes| backslashes % 2 == 0) {
        return Ok(word.to_owned());
    }
    match origin.ok_or_else(relative)? {
        "." => Ok(format!("{word}.")),
        origin => Ok(format!("{word}.{origin}")),
    }
}

/// Seconds, or numbers with units as in `1h30m`.
fn read_ttl(word: &str) -> Result<u32, ZoneFault> {
    values::seconds(word)
        .filter(|seconds| *seconds <= TTL_MAX_S)
        .ok_or_else(|| ZoneFault::Ttl(crate::sets::excerpt(word)))
}

/// The number of a class (RFC 1035 §3.2.4, RFC 3597 §5).
fn class_named(word: &str) -> Option<u16> {
    let named = [("IN", 1), ("CS", 2), ("CH", 3), ("HS", 4)];
    if let Some((_, code)) = named.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
        return Some(*code);
    }
    let (head, digits) = word.split_at_checked("CLASS".len())?;
    if head.eq_ignore_ascii_case("CLASS") { digits.parse().ok() } else { None }
}

impl fmt::Display for BadZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.file, self.line, self.fault)
    }
}

impl std::error::Error for BadZone {}

impl fmt::Display for ZoneFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scan(why) => why.fmt(f),
            Self::Directive(word) => {
                write!(f, "{word} is no directive: $ORIGIN, $TTL, $INCLUDE and $GENERATE are known")
            }
            Self::Words(expected) => f.write_str(expected),
            Self::NoOwner => f.write_str("it begins with a blank, and no record comes before it"),
            Self::Relative(word) => {
                write!(f, "\"{word}\" does not end with a dot: add one, or an $ORIGIN before it")
            }
            Self::Ttl(word) => write!(f, "\"{word}\" is no TTL: write seconds, or 1h30m"),
            Self::NoType => f.write_str("a name, a type and a value are needed"),
            Self::Value(why) => why.fmt(f),
            Self::Generate(why) => why.fmt(f),
            Self::Include(why) => write!(f, "it cannot be included: {why}"),
            Self::IncludeDepth => {
                write!(f, "files include files to more than {INCLUDE_DEPTH_MAX}: is it a circle?")
            }
            Self::TooManyRecords => write!(f, "more than {RECORDS_MAX} records"),
            Self::TooLarge => write!(f, "the texts are more than {} MiB", ZONE_BYTES_MAX >> 20),
            Self::SetTooLarge => {
                f.write_str("the records of one name and type are more than a message holds")
            }
        }
    }
}
