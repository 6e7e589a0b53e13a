//! Other names to ask for: `full:a.example b.example` asks for b wherever a is asked for.
//!
//! It only says which; the machine changes the question and makes the answer one to the first name.
//! `redirect` of mosdns and OxiDNS.

use super::BadEntry;
use crate::redirect_target::RedirectTarget;
use crate::sets::without_comment;
use crate::sets::{DomainKind, DomainMap, DomainMapBuilder, DomainRule, RegexpCase};
use std::sync::Arc;
use vocab::{DomainName, Name, NameError};

/// Rules with the names that they lead to.
///
/// ```
/// use vocab::Name;
///
/// let rules = pipeline::records::RedirectTable::parse(&["domain:a.example b.example."]).unwrap();
/// let name = Name::from_lowercase("www.a.example").unwrap();
/// assert_eq!(rules.find(name).unwrap().name.as_str(), "b.example");
/// ```
#[derive(Debug, Default)]
pub struct RedirectTable(DomainMap<Arc<RedirectTarget>>);

/// Rules in the making.
#[derive(Debug)]
pub struct RedirectBuilder(DomainMapBuilder<Arc<RedirectTarget>>);

impl RedirectTable {
    /// No rules yet.
    pub fn builder() -> RedirectBuilder {
        RedirectBuilder(DomainMap::builder())
    }

    /// Reads rules, or says what is wrong with each bad one, by its place from 0.
    pub fn parse<L: AsRef<str>>(lines: &[L]) -> Result<Self, Vec<(usize, BadEntry)>> {
        let mut builder = Self::builder();
        let mut bad = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if let Err(why) = builder.add_line(line.as_ref()) {
                bad.push((at, why));
            }
        }
        if bad.is_empty() { Ok(builder.build()) } else { Err(bad) }
    }

    /// The name to ask for instead of `name`, if there is one. A name that leads to itself is left
    /// alone.
    pub fn find(&self, name: Name<'_>) -> Option<&Arc<RedirectTarget>> {
        self.0.find(name).filter(|target| target.name.as_name() != name)
    }

    /// Returns how many rules there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl RedirectBuilder {
    /// Returns how letters count in the regular expressions that are added from now on.
    #[must_use]
    pub fn regexp_case(mut self, case: RegexpCase) -> Self {
        self.0 = self.0.regexp_case(case);
        self
    }

    /// Adds a rule, of kind `full` where none is written, in place of an equal one. A comment after
    /// `#` is left out, and the line may be blank.
    pub fn add_line(&mut self, line: &str) -> Result<(), BadEntry> {
        let words: Vec<&str> = without_comment(line).split_whitespace().collect();
        let (rule, target) = match words[..] {
            [] => return Ok(()),
            [rule, target] => (rule, target),
            _ => return Err(BadEntry::NotTwoFields(words.len())),
        };
        let rule = DomainRule::parse(rule, DomainKind::Full).map_err(BadEntry::Rule)?;
        let name = DomainName::parse(target).map_err(BadEntry::Target)?;
        let target = RedirectTarget::new(name).ok_or(BadEntry::Target(NameError::TooLong))?;
        self.0.insert(&rule, Arc::new(target)).map_err(BadEntry::Rule)
    }

    /// The rules.
    pub fn build(self) -> RedirectTable {
        RedirectTable(self.0.build())
    }
}
