//! A map from rules about names to values: one answer for a name, by precedence.
//!
//! A full name goes before the longest domain, that before regular expressions, those before
//! keywords; of equal rules the last written counts, of unlike expressions or keywords the first.
//! Texts are kept, so that nothing is answered for a name that only shares a fingerprint. Filled by
//! [`crate::records`].

use super::fingerprint::SetKeys;
use super::keywords::{KeywordSet, KeywordsBuilder};
use super::regexps::{ExpressionSet, RegexpCase, RegexpsBuilder};
use super::rule::{BadRule, DomainKind, DomainRule};
use super::table::{DomainTable, NAMES_MAX, RuleKinds, TableBuilder};
use std::collections::HashMap;
use std::fmt;
use vocab::Name;

/// A map from rules to values.
///
/// ```
/// use pipeline::sets::{DomainKind, DomainMap, DomainRule};
/// use vocab::Name;
///
/// let mut builder = DomainMap::builder();
/// for (rule, value) in [("domain:example", 1), ("full:www.example", 2), ("keyword:exam", 3)] {
///     builder.insert(&DomainRule::parse(rule, DomainKind::Full).unwrap(), value).unwrap();
/// }
/// let map = builder.build();
/// let find = |name| map.find(Name::from_lowercase(name).unwrap()).copied();
/// assert_eq!(find("www.example"), Some(2));
/// assert_eq!(find("a.www.example"), Some(1));
/// assert_eq!(find("exams.test"), Some(3));
/// assert_eq!(find("test"), None);
/// ```
pub struct DomainMap<V> {
    keys: SetKeys,
    names: DomainTable,
    /// For each cell of the table, which of the entries it is.
    cells: Box<[u32]>,
    entries: Box<[MapEntry]>,
    root: MapEntry,
    regexps: ExpressionSet,
    keywords: KeywordSet,
    values: MapValues<V>,
}

/// Holds what a name stands for: places among the values.
#[derive(Clone, Debug, Default)]
struct MapEntry {
    text: Box<str>,
    full: Option<u32>,
    domain: Option<u32>,
}

#[derive(Debug)]
struct MapValues<V> {
    names: Vec<V>,
    regexps: Vec<V>,
    keywords: Vec<V>,
}

/// A map in the making.
#[derive(Debug)]
pub struct DomainMapBuilder<V> {
    case: RegexpCase,
    names: HashMap<Box<str>, MapEntry>,
    regexps: RegexpsBuilder,
    regexp_ids: HashMap<Box<str>, usize>,
    keywords: KeywordsBuilder,
    keyword_ids: HashMap<Box<str>, usize>,
    values: MapValues<V>,
}

impl<V> DomainMap<V> {
    /// An empty map in the making.
    pub fn builder() -> DomainMapBuilder<V> {
        DomainMapBuilder {
            case: RegexpCase::default(),
            names: HashMap::new(),
            regexps: RegexpsBuilder::default(),
            regexp_ids: HashMap::new(),
            keywords: KeywordsBuilder::default(),
            keyword_ids: HashMap::new(),
            values: MapValues { names: Vec::new(), regexps: Vec::new(), keywords: Vec::new() },
        }
    }

    /// The value of the rule that goes before all others that hold for `name`. Allocates only where
    /// a regular expression or a keyword holds.
    pub fn find(&self, name: Name<'_>) -> Option<&V> {
        let text = name.as_str();
        if let Some(at) = self.of_name(text) {
            return self.values.names.get(at as usize);
        }
        if let Some(at) = self.regexps.first(text) {
            return self.values.regexps.get(at);
        }
        self.values.keywords.get(self.keywords.first(text)?)
    }

    #[inline]
    fn of_name(&self, name: &str) -> Option<u32> {
        let mut best = self.root.domain;
        if name.is_empty() {
            return self.root.full.or(best);
        }
        if self.names.len() == 0 {
            return best;
        }
        for (hash, start) in self.keys.suffixes(name) {
            let Some((at, _)) = self.names.find(hash) else { continue };
            let entry = &self.entries[self.cells[at] as usize];
            if *entry.text == name[start..] {
                best = entry.domain.or(best);
                if start == 0 {
                    best = entry.full.or(best);
                }
            }
        }
        best
    }

    /// Returns how many rules it holds.
    pub fn len(&self) -> usize {
        self.values.names.len() + self.values.regexps.len() + self.values.keywords.len()
    }

    /// True if it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory, what values keep elsewhere not counted.
    pub fn memory(&self) -> u64 {
        let texts: usize = self.entries.iter().map(|entry| entry.text.len()).sum();
        let values = self.len() * size_of::<V>();
        self.names.bytes()
            + self.regexps.bytes()
            + self.keywords.bytes()
            + (texts + values + self.entries.len() * size_of::<MapEntry>() + self.cells.len() * 4)
                as u64
    }
}

impl<V> DomainMapBuilder<V> {
    /// Returns how letters count in the regular expressions that are inserted from now on.
    #[must_use]
    pub fn regexp_case(mut self, case: RegexpCase) -> Self {
        self.case = case;
        self
    }

    /// Inserts a rule, in place of an equal one; or says why it cannot be used.
    pub fn insert(&mut self, rule: &DomainRule<'_>, value: V) -> Result<(), BadRule> {
        let values = &mut self.values;
        match rule.kind {
            DomainKind::Full | DomainKind::Domain => {
                if values.names.len() == NAMES_MAX {
                    return Err(BadRule::TooManyNames);
                }
                let entry = self.names.entry((*rule.text).into()).or_default();
                let slot = match rule.kind {
                    DomainKind::Full => &mut entry.full,
                    DomainKind::Domain | DomainKind::Regexp | DomainKind::Keyword => {
                        &mut entry.domain
                    }
                };
                put(&mut values.names, slot.map(|at| at as usize), value);
                slot.get_or_insert(values.names.len() as u32 - 1);
            }
            DomainKind::Regexp => {
                let known = self.regexp_ids.get(&*rule.text).copied();
                if known.is_none() {
                    let id = self.regexps.push(&rule.text, self.case)?;
                    self.regexp_ids.insert((*rule.text).into(), id);
                }
                put(&mut values.regexps, known, value);
            }
            DomainKind::Keyword => {
                let known = self.keyword_ids.get(&*rule.text).copied();
                if known.is_none() {
                    let id = self.keywords.push(&rule.text)?;
                    self.keyword_ids.insert((*rule.text).into(), id);
                }
                put(&mut values.keywords, known, value);
            }
        }
        Ok(())
    }

    /// The map.
    pub fn build(mut self) -> DomainMap<V> {
        let root = self.names.remove("").unwrap_or_default();
        let entries: Box<[MapEntry]> =
            self.names.into_iter().map(|(text, entry)| MapEntry { text, ..entry }).collect();
        let (keys, table) = table_of(&entries);
        let mut cells = vec![0; table.cells()];
        for (number, entry) in entries.iter().enumerate() {
            if let Some((at, _)) = table.find(keys.of(&entry.text)) {
                cells[at] = number as u32;
            }
        }
        DomainMap {
            keys,
            names: table,
            cells: cells.into(),
            entries,
            root,
            regexps: self.regexps.build(),
            keywords: self.keywords.build(),
            values: self.values,
        }
    }
}

fn put<V>(values: &mut Vec<V>, at: Option<usize>, value: V) {
    match at.and_then(|at| values.get_mut(at)) {
        Some(old) => *old = value,
        None => values.push(value),
    }
}

/// A table in which each name has a cell of its own. The seed is no secret, for texts are compared;
/// should names be written so that two share a fingerprint, the next seed tells them apart.
fn table_of(names: &[MapEntry]) -> (SetKeys, DomainTable) {
    let mut seed = 0;
    loop {
        let keys = SetKeys::new(seed);
        let mut builder = TableBuilder::default();
        for entry in names {
            builder.push(keys.of(&entry.text), RuleKinds::FULL);
        }
        let table = builder.build();
        if table.len() == names.len() {
            return (keys, table);
        }
        seed += 1;
    }
}

impl<V> Default for DomainMap<V> {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl<V> fmt::Debug for DomainMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DomainMap({} rules)", self.len())
    }
}
