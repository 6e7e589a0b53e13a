//! Names that rules are about: written in place, in sets, in files.

use crate::book::PluginBook;
use crate::kept_reason::KeptReason;
use crate::steps::NameTest;
use mosdns_compat::language::{PlacedWord, Provider, SetArgs, SetWords};
use pipeline::sets::{DomainKind, DomainRule, without_comment};
use vocab::Network;

/// Sets that lead on from one another, at most.
const DEPTH_MAX: usize = 16;
/// Names that are written in place, at most.
const NAMES_MAX: usize = 16_384;

/// Names of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedRules {
    pub(crate) names: Vec<NamedRule>,
    /// Rules in `AdGuard`'s syntax.
    pub(crate) filters: Vec<String>,
    pub(crate) files: Vec<NameFile>,
}

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedRule {
    pub(crate) kind: DomainKind,
    pub(crate) text: String,
}

/// A file of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameFile {
    pub(crate) path: String,
    pub(crate) syntax: FileSyntax,
}

/// Syntax of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSyntax {
    /// A name a line.
    Names,
    /// `AdGuard`'s.
    Filters,
}

impl NamedRule {
    /// A rule as it is written, of this kind if it says none.
    pub(crate) fn parse(text: &str, bare: DomainKind) -> Option<Self> {
        let rule = DomainRule::parse(text, bare).ok()?;
        (!rule.text.is_empty()).then(|| Self { kind: rule.kind, text: rule.text.into_owned() })
    }

    /// The rule as lists have it.
    pub(crate) fn listed(&self) -> String {
        format!("{}:{}", self.kind.as_str(), self.text)
    }

    /// The owner of a record or a rewrite: a name, or one with all below it.
    pub(crate) fn owner(&self) -> Result<String, KeptReason> {
        match self.kind {
            DomainKind::Full => Ok(self.text.clone()),
            DomainKind::Domain => Ok(format!("||{}^", self.text)),
            DomainKind::Keyword => Err(KeptReason::NameKind("keywords")),
            DomainKind::Regexp => Err(KeptReason::NameKind("expressions")),
        }
    }

    /// True if all names of `other` are names of this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.kind == DomainKind::Domain
            && matches!(other.kind, DomainKind::Domain | DomainKind::Full)
            && is_at_or_below(&other.text, &self.text)
    }

    /// True if a name may be one of both.
    fn may_meet(&self, other: &Self) -> bool {
        let is_name = |it: &Self| matches!(it.kind, DomainKind::Domain | DomainKind::Full);
        if !is_name(self) || !is_name(other) {
            return true;
        }
        self.text == other.text || self.covers(other) || other.covers(self)
    }
}

fn is_at_or_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

impl NamedRules {
    /// True if a name may be one of both.
    pub(crate) fn may_meet(&self, others: &[NamedRule]) -> bool {
        let is_open = !self.files.is_empty() || !self.filters.is_empty();
        !others.is_empty()
            && (is_open
                || self.names.iter().any(|it| others.iter().any(|other| it.may_meet(other))))
    }
}

/// The names that a rule is about.
pub(crate) fn names(test: NameTest<'_>, book: &PluginBook<'_>) -> Result<NamedRules, KeptReason> {
    let mut found = NamedRules::default();
    match test {
        NameTest::Words(words) => add_words(words, book, &mut found)?,
        NameTest::Providers(providers) => add_sets(providers, book, 0, &mut found)?,
    }
    if found.names.len() > NAMES_MAX {
        return Err(KeptReason::TooLong);
    }
    Ok(found)
}

fn add_words(
    words: &SetWords,
    book: &PluginBook<'_>,
    found: &mut NamedRules,
) -> Result<(), KeptReason> {
    add_rules(&words.rules, found);
    add_files(&words.files, FileSyntax::Names, found);
    add_sets(&words.sets, book, 0, found)
}

/// Words that can be no name matches nothing, there and here.
fn add_rules(rules: &[PlacedWord], found: &mut NamedRules) {
    found
        .names
        .extend(rules.iter().filter_map(|it| NamedRule::parse(&it.text, DomainKind::Domain)));
}

fn add_files(files: &[PlacedWord], syntax: FileSyntax, found: &mut NamedRules) {
    found.files.extend(files.iter().map(|it| NameFile { path: it.text.clone(), syntax }));
}

fn add_sets(
    sets: &[PlacedWord],
    book: &PluginBook<'_>,
    depth: usize,
    found: &mut NamedRules,
) -> Result<(), KeptReason> {
    if depth > DEPTH_MAX {
        return Err(KeptReason::TooLong);
    }
    for set in sets {
        let tag = set.text.trim().trim_start_matches('$');
        match book.provider(tag) {
            Some(Provider::DomainSet(SetArgs { rules, files, sets })) => {
                add_rules(rules, found);
                add_files(files, FileSyntax::Names, found);
                add_sets(sets, book, depth + 1, found)?;
            }
            Some(Provider::AdguardRule(SetArgs { rules, files, .. })) => {
                found.filters.extend(rules.iter().map(|it| it.text.clone()));
                add_files(files, FileSyntax::Filters, found);
            }
            Some(Provider::Geosite(_)) => return Err(KeptReason::Matcher("a geosite.dat")),
            Some(Provider::DynamicDomainSet(_)) => {
                return Err(KeptReason::Matcher("names that are learnt"));
            }
            Some(Provider::IpSet(_) | Provider::Geoip(_)) | None => {
                return Err(KeptReason::Tag(tag.to_owned()));
            }
        }
    }
    Ok(())
}

/// Refuses a file of which a list of ours would take less: bare names, which mosdns takes with
/// those below them.
pub(crate) fn check_file(file: &NameFile, book: &PluginBook<'_>) -> Result<(), KeptReason> {
    let text = book.files.text(&file.path);
    let text = text.map_err(|why| KeptReason::Unread(format!("{}: {why}", file.path)))?;
    if file.syntax == FileSyntax::Filters {
        return Ok(());
    }
    let is_named = |line: &str| {
        line.split_once(':').is_some_and(|(kind, _)| DomainKind::named(kind).is_some())
    };
    let mut lines = text.lines().map(|line| without_comment(line).trim());
    if lines.all(|line| line.is_empty() || is_named(line)) {
        Ok(())
    } else {
        Err(KeptReason::BareNames(file.path.clone()))
    }
}

/// Networks that are written in place.
pub(crate) fn networks(words: &SetWords, book: &PluginBook<'_>) -> Result<Vec<String>, KeptReason> {
    let mut found = Vec::new();
    if !words.files.is_empty() {
        return Err(KeptReason::Matcher("clients of a file"));
    }
    add_networks(&words.rules, &mut found)?;
    add_network_sets(&words.sets, book, 0, &mut found)?;
    Ok(found)
}

fn add_networks(rules: &[PlacedWord], found: &mut Vec<String>) -> Result<(), KeptReason> {
    for rule in rules {
        let network = rule.text.parse::<Network>().map_err(|_| KeptReason::Value("network"))?;
        found.push(network.to_string());
    }
    Ok(())
}

fn add_network_sets(
    sets: &[PlacedWord],
    book: &PluginBook<'_>,
    depth: usize,
    found: &mut Vec<String>,
) -> Result<(), KeptReason> {
    if depth > DEPTH_MAX {
        return Err(KeptReason::TooLong);
    }
    for set in sets {
        let tag = set.text.trim().trim_start_matches('$');
        match book.provider(tag) {
            Some(Provider::IpSet(SetArgs { rules, files, sets })) if files.is_empty() => {
                add_networks(rules, found)?;
                add_network_sets(sets, book, depth + 1, found)?;
            }
            Some(Provider::IpSet(_)) => return Err(KeptReason::Matcher("clients of a file")),
            Some(Provider::Geoip(_)) => return Err(KeptReason::Matcher("a geoip.dat")),
            _ => return Err(KeptReason::Tag(tag.to_owned())),
        }
    }
    Ok(())
}
