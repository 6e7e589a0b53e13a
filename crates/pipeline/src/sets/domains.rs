//! A set of names: which rules hold for a name does not matter, only whether one does.
//!
//! Plain names stand in a table of fingerprints; a look-up is a walk up the labels. Keywords and
//! regular expressions are asked after that, each kind all at once. Built by `mosdns-compat`
//! from rules and files, asked by matchers.

use super::fingerprint::SetKeys;
use super::keywords::{KeywordSet, KeywordsBuilder};
use super::regexps::{ExpressionSet, RegexpCase, RegexpsBuilder};
use super::rule::{BadRule, DomainKind, DomainRule, without_comment};
use super::table::{DomainTable, NAMES_MAX, RuleKinds, TableBuilder};
use std::fmt;
use vocab::Name;

/// A set of names.
///
/// ```
/// use pipeline::sets::{DomainKind, DomainSet};
/// use vocab::Name;
///
/// let mut builder = DomainSet::builder(42);
/// for line in ["full:www.example", "ads.example # and below", r"regexp:^a\d+\."] {
///     builder.add_line(line, DomainKind::Domain).unwrap();
/// }
/// let set = builder.build();
/// let holds = |name| set.contains(Name::from_lowercase(name).unwrap());
/// assert!(holds("www.example") && holds("cdn.ads.example") && holds("a12.test"));
/// assert!(!holds("cdn.www.example") && !holds("bads.example"));
/// ```
pub struct DomainSet {
    keys: SetKeys,
    names: DomainTable,
    keywords: KeywordSet,
    regexps: ExpressionSet,
    root: RootRule,
}

/// Tells what there is about the root, of which every name is part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RootRule {
    /// Nothing.
    #[default]
    Nothing,
    /// `full:.`
    Itself,
    /// `domain:.`: everything.
    Everything,
}

/// A set in the making.
#[derive(Debug)]
pub struct DomainSetBuilder {
    keys: SetKeys,
    case: RegexpCase,
    names: TableBuilder,
    keywords: KeywordsBuilder,
    regexps: RegexpsBuilder,
    root: RootRule,
}

/// Why one set could not be added to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMerged {
    /// They were built with different seeds: their fingerprints cannot be joined.
    OtherSeed,
    /// Together they are more than a set holds.
    Rule(BadRule),
}

impl DomainSet {
    /// An empty set in the making. `seed` is a secret random number: without it nobody can make up
    /// a name whose fingerprint is that of a listed one.
    pub fn builder(seed: u64) -> DomainSetBuilder {
        DomainSetBuilder {
            keys: SetKeys::new(seed),
            case: RegexpCase::default(),
            names: TableBuilder::default(),
            keywords: KeywordsBuilder::default(),
            regexps: RegexpsBuilder::default(),
            root: RootRule::default(),
        }
    }

    /// True if a rule of the set holds for `name`. Allocates nothing, but for the caches of regular
    /// expressions, which grow to a cap while they meet what they have not met before.
    #[inline]
    pub fn contains(&self, name: Name<'_>) -> bool {
        let text = name.as_str();
        self.names.contains(&self.keys, text)
            || self.root != RootRule::Nothing
                && (self.root == RootRule::Everything || text.is_empty())
            || self.keywords.is_match(text)
            || self.regexps.is_match(text)
    }

    /// Returns how many rules it holds; equal names are one.
    pub fn len(&self) -> usize {
        let root = usize::from(self.root != RootRule::Nothing);
        self.names.len() + self.keywords.len() + self.regexps.len() + root
    }

    /// True if it holds no rule.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory; regular expressions by a measured figure, for each grows as it is asked.
    pub fn memory(&self) -> u64 {
        size_of::<Self>() as u64 + self.names.bytes() + self.keywords.bytes() + self.regexps.bytes()
    }
}

impl DomainSetBuilder {
    /// Returns how letters count in the regular expressions that are added from now on.
    #[must_use]
    pub fn regexp_case(mut self, case: RegexpCase) -> Self {
        self.case = case;
        self
    }

    /// Adds one rule, or says why it cannot be used; what was added before stays.
    pub fn add(&mut self, rule: &DomainRule<'_>) -> Result<(), BadRule> {
        let kinds = match rule.kind {
            DomainKind::Full => RuleKinds::FULL,
            DomainKind::Domain => RuleKinds::DOMAIN,
            DomainKind::Keyword => return self.keywords.push(&rule.text).map(drop),
            DomainKind::Regexp => return self.regexps.push(&rule.text, self.case).map(drop),
        };
        if rule.text.is_empty() {
            let root =
                if kinds == RuleKinds::FULL { RootRule::Itself } else { RootRule::Everything };
            self.root = self.root.max(root);
            return Ok(());
        }
        if self.names.len() == NAMES_MAX {
            return Err(BadRule::TooManyNames);
        }
        self.names.push(self.keys.of(&rule.text), kinds);
        Ok(())
    }

    /// Adds the rule of a line, which may be blank or a comment; without a kind it is of the kind
    /// `bare`.
    pub fn add_line(&mut self, line: &str, bare: DomainKind) -> Result<(), BadRule> {
        let line = without_comment(line);
        if line.is_empty() {
            return Ok(());
        }
        self.add(&DomainRule::parse(line, bare)?)
    }

    /// Adds all rules of a set that was built with the same seed. Its regular expressions keep
    /// their own case; a cap that is passed ends it with what was added so far.
    pub fn merge(&mut self, other: &DomainSet) -> Result<(), NotMerged> {
        if other.keys.seed() != self.keys.seed() {
            return Err(NotMerged::OtherSeed);
        }
        if self.names.len() + other.names.len() > NAMES_MAX {
            return Err(NotMerged::Rule(BadRule::TooManyNames));
        }
        for (hash, kinds) in other.names.entries() {
            self.names.push(hash, kinds);
        }
        for keyword in other.keywords.texts() {
            self.keywords.push(keyword).map_err(NotMerged::Rule)?;
        }
        for regexp in other.regexps.sources() {
            self.regexps.push(&regexp.text, regexp.case).map_err(NotMerged::Rule)?;
        }
        self.root = self.root.max(other.root);
        Ok(())
    }

    /// Returns how many rules were added.
    pub fn len(&self) -> usize {
        let root = usize::from(self.root != RootRule::Nothing);
        self.names.len() + self.keywords.len() + self.regexps.len() + root
    }

    /// True if none was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The set. What takes time is done here and not at the first question.
    pub fn build(self) -> DomainSet {
        DomainSet {
            keys: self.keys,
            names: self.names.build(),
            keywords: self.keywords.build(),
            regexps: self.regexps.build(),
            root: self.root,
        }
    }
}

impl Default for DomainSet {
    /// The empty set.
    fn default() -> Self {
        Self::builder(0).build()
    }
}

impl fmt::Debug for DomainSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DomainSet({} rules)", self.len())
    }
}

impl fmt::Display for NotMerged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherSeed => f.write_str(
                "sets built with different seeds cannot be joined: ask one after the other",
            ),
            Self::Rule(why) => write!(f, "the sets together are too large: {why}"),
        }
    }
}

impl std::error::Error for NotMerged {}
