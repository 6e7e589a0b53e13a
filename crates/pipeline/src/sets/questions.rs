//! Rules about whole questions, name and type: AdGuard rules, as `adguard_rule` of OxiDNS has them.
//!
//! They are read and judged by crate `policy`, the same as the lists that block: exceptions,
//! `$important`, `$badfilter`, `$denyallow` and `$dnstype` count, what is about URLs does not. A
//! line that cannot be used is counted and left out, never fatal. Built by `mosdns-compat`,
//! asked by matchers.

use policy::{Ask, ClientProfiles, ListKind, ListSource, Policy, SkipReason, SkippedLine};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use vocab::{Action, Name, Now};

/// Texts of one set, at most: what a policy has lists. Of more, the rest are read as one.
pub const QUESTION_TEXTS_MAX: usize = policy::LISTS_MAX;

/// Rules for clients (`$client`) hold for nobody here: a set is asked about a question alone.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// Nothing here depends on the time.
const NEVER: Now = Now { unix_ms: 0, mono_ms: 0 };

/// A set of rules about questions.
///
/// ```
/// use pipeline::sets::QuestionSet;
/// use vocab::Name;
///
/// let rules = b"||ads.example^\n@@||good.ads.example^\n||six.example^$dnstype=AAAA\n";
/// let set = QuestionSet::parse(&[("mine", rules)], 42);
/// let matches = |name, qtype| set.matches(Name::from_lowercase(name).unwrap(), qtype);
/// assert!(matches("cdn.ads.example", 1) && !matches("good.ads.example", 1));
/// assert!(matches("six.example", 28) && !matches("six.example", 1));
/// ```
pub struct QuestionSet(Policy);

impl QuestionSet {
    /// Reads texts, each with the name that its reports carry. `seed` is a secret random number.
    pub fn parse(texts: &[(&str, &[u8])], seed: u64) -> Self {
        let (first, rest) = texts.split_at(texts.len().min(QUESTION_TEXTS_MAX - 1));
        let joined = rest.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(&b'\n');
        let rest = rest.first().map(|(name, _)| (*name, &joined[..]));
        let lists: Vec<ListSource<'_>> = first
            .iter()
            .copied()
            .chain(rest)
            .map(|(name, text)| ListSource { name, kind: ListKind::Block, text, files: &[] })
            .collect();
        Self(Policy::new(policy::compile(&lists, seed).into(), ClientProfiles::everyone()))
    }

    /// True if the rules hold for a question of class IN. Allocates nothing, but for a regular
    /// expression that is met for the first time.
    pub fn matches(&self, name: Name<'_>, qtype: u16) -> bool {
        self.0.decide(&Ask::lookup(name, qtype, NOBODY), NEVER).action == Action::Block
    }

    /// Returns how many rules can hold for a question.
    pub fn len(&self) -> usize {
        self.0.rules().lists().iter().map(|list| list.rules_names as usize).sum()
    }

    /// True if no rule can hold.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many lines were left out, by reason.
    pub fn skipped(&self) -> BTreeMap<SkipReason, u32> {
        let mut skipped = BTreeMap::new();
        for list in self.0.rules().lists() {
            for (reason, count) in &list.skipped_by_reason {
                *skipped.entry(*reason).or_default() += count;
            }
        }
        skipped
    }

    /// The first lines of each text that were left out, with the text's name.
    pub fn skipped_lines(&self) -> impl Iterator<Item = (&str, &SkippedLine)> {
        let lists = self.0.rules().lists().iter();
        lists.flat_map(|list| list.skipped.iter().map(|line| (list.name.as_str(), line)))
    }

    /// Bytes of memory.
    pub fn memory(&self) -> u64 {
        self.0.rules().memory().total()
    }
}

impl fmt::Debug for QuestionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QuestionSet({} rules)", self.len())
    }
}
