//! A set of names that grows while it is asked: what sequences learn, beside the rules of its file.
//!
//! A name that is learnt counts from then on, on every thread. It keeps nothing beyond the process:
//! whoever writes the file does, and hands its rules in. Asked by matchers, fed by the DNS door.

use super::domains::DomainSet;
use super::regexps::RegexpCase;
use super::rule::{BadRule, DomainKind, DomainRule, without_comment};
use std::collections::HashSet;
use std::fmt;
use std::sync::{PoisonError, RwLock};
use vocab::Name;

/// Rules of one set, those of its file among them, at most; names beyond are not learnt.
pub const LEARNED_MAX: usize = 262_144;

/// Tells what a learnt name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedKind {
    /// For itself.
    Full,
    /// For itself and everything below it.
    Domain,
}

/// Outcome of learning a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnOutcome {
    /// Learnt now.
    New,
    /// Known before.
    Known,
    /// There is no room.
    Full,
}

/// A set of names that grows.
pub struct LearnedNames {
    seed: u64,
    case: RegexpCase,
    table: RwLock<LearnedTable>,
}

#[derive(Default)]
struct LearnedTable {
    /// Other rules of its file: keywords and expressions.
    kept: Option<DomainSet>,
    names: HashSet<Box<str>>,
    domains: HashSet<Box<str>>,
}

impl LearnedKind {
    /// Returns how it is written in front of a name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Domain => "domain",
        }
    }
}

impl LearnedNames {
    /// An empty set. `seed` is a secret random number.
    pub fn new(seed: u64, case: RegexpCase) -> Self {
        Self { seed, case, table: RwLock::default() }
    }

    /// Takes the rules of its file, one a line, and forgets what was learnt: that is among them.
    /// Returns how many lines are no rule, and left out.
    pub fn replace<'l>(&self, lines: impl Iterator<Item = &'l [u8]>) -> usize {
        let mut made = LearnedTable::default();
        let mut kept = DomainSet::builder(self.seed).regexp_case(self.case);
        let mut left_out = 0;
        for line in lines {
            let line = std::str::from_utf8(line).map(without_comment);
            let added = match line.map(str::trim) {
                Ok("") => Ok(()),
                Ok(rule) => DomainRule::parse(rule, DomainKind::Domain)
                    .and_then(|rule| made.take(&rule).map_or(Ok(()), |rule| kept.add(rule))),
                Err(_) => Err(BadRule::NotAscii),
            };
            left_out += usize::from(added.is_err());
        }
        made.kept = Some(kept.build());
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = made;
        left_out
    }

    /// True if a rule of the file, or a learnt name, fits `name`.
    pub fn contains(&self, name: Name<'_>) -> bool {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.contains(name)
    }

    /// Learns `name`, unless it fits already or there is no room.
    pub fn learn(&self, kind: LearnedKind, name: Name<'_>) -> LearnOutcome {
        // Nearly always it is known, and readers are not held up.
        {
            let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
            if table.is_known(kind, name) {
                return LearnOutcome::Known;
            }
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        if table.is_known(kind, name) {
            return LearnOutcome::Known;
        }
        if table.len() >= LEARNED_MAX {
            return LearnOutcome::Full;
        }
        let names = match kind {
            LearnedKind::Full => &mut table.names,
            LearnedKind::Domain => &mut table.domains,
        };
        names.insert(name.as_str().into());
        LearnOutcome::New
    }

    /// Forgets a name that could not be kept.
    pub fn forget(&self, kind: LearnedKind, name: &str) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match kind {
            LearnedKind::Full => table.names.remove(name),
            LearnedKind::Domain => table.domains.remove(name),
        };
    }

    /// Returns how many rules it holds.
    pub fn len(&self) -> usize {
        self.table.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LearnedTable {
    fn contains(&self, name: Name<'_>) -> bool {
        self.names.contains(name.as_str())
            || is_among(&self.domains, name)
            || self.kept.as_ref().is_some_and(|kept| kept.contains(name))
    }

    /// Takes a rule of the file that is one as they are learnt; gives another back.
    fn take<'r>(&mut self, rule: &'r DomainRule<'r>) -> Option<&'r DomainRule<'r>> {
        let names = match rule.kind {
            _ if rule.text.is_empty() || self.len() >= LEARNED_MAX => return Some(rule),
            DomainKind::Full => &mut self.names,
            DomainKind::Domain => &mut self.domains,
            DomainKind::Regexp | DomainKind::Keyword => return Some(rule),
        };
        names.insert(rule.text.as_ref().into());
        None
    }

    /// True if learning `name` would change nothing.
    fn is_known(&self, kind: LearnedKind, name: Name<'_>) -> bool {
        match kind {
            LearnedKind::Full => self.contains(name),
            LearnedKind::Domain => is_among(&self.domains, name),
        }
    }

    fn len(&self) -> usize {
        self.kept.as_ref().map_or(0, DomainSet::len) + self.names.len() + self.domains.len()
    }
}

/// True if `name` or one above it is among `domains`.
fn is_among(domains: &HashSet<Box<str>>, name: Name<'_>) -> bool {
    if domains.is_empty() {
        return false;
    }
    let mut text = name.as_str();
    loop {
        if domains.contains(text) {
            return true;
        }
        match text.split_once('.') {
            Some((_, above)) => text = above,
            None => return false,
        }
    }
}

impl fmt::Debug for LearnedNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LearnedNames({} rules)", self.len())
    }
}
