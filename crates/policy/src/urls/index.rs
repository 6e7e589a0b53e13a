//! Where to look for the rules that may match: by host, by token, by page, and a short rest.
//!
//! Each rule is filed where the fewest requests will come across it. One index holds rules that
//! block, another exceptions, which are asked for only when something blocks. It names candidates;
//! whether they match is tested by whoever asked.

use super::budget::{RuleCost, RuleShelf, ShelfCosts};
use super::conditions::RuleConditions;
use super::flags::RuleFlags;
use super::grams::{GramHistogram, GramSieve};
use super::rule::{RuleTable, UrlRule};
use super::tokens::{self, TokenHistogram};
use crate::buckets::MultiHashes;
use crate::fingerprint::HashKeys;
use crate::request::RuleRequest;
use filter_patterns::regexes::{MeasuredExpression, RegexGroup};
use filter_patterns::{MatchEnd, MatchStart, PatternTarget, behind_scheme, is_name_byte};
use std::ops::Range;

/// A token in so many patterns is worse than the pages a rule names.
const TOKEN_COUNT_GOOD: u32 = 32;
/// Most pages under which one rule is filed.
const PAGES_MAX: usize = 2000;

/// One index.
#[derive(Debug, Default)]
pub(crate) struct UrlIndex {
    /// `||name/path`, `||name^$options`, by the fingerprint of the name.
    pub(crate) by_host: MultiHashes,
    /// By a token of the URL.
    pub(crate) by_token: MultiHashes,
    /// By the fingerprint of a page.
    pub(crate) by_page: MultiHashes,
    /// By four bytes in a row of the URL.
    pub(crate) by_gram: MultiHashes,
    pub(crate) gram_filter: GramSieve,
    /// Those with nothing to file them under.
    pub(crate) always: Vec<u32>,
    /// Regular expressions with nothing to file them under.
    pub(crate) regexes: RegexGroup,
    /// Patterns of names by a token of the host.
    pub(crate) by_host_token: MultiHashes,
    /// Patterns of names with nothing to file them under.
    pub(crate) host_always: Vec<u32>,
    /// Regular expressions about names with nothing to file them under.
    pub(crate) host_regexes: RegexGroup,
}

/// The indexes of a policy.
#[derive(Debug, Default)]
pub(crate) struct UrlIndexes {
    /// What blocks.
    pub(crate) blocks: UrlIndex,
    /// Exceptions to it, asked only when something blocks.
    pub(crate) exceptions: UrlIndex,
    /// `$dnsrewrite`, exceptions among them.
    pub(crate) rewrites: UrlIndex,
    /// `$redirect` and `$redirect-rule`, exceptions among them.
    pub(crate) stand_ins: UrlIndex,
    /// `$removeparam`, exceptions among them.
    pub(crate) parameter_removals: UrlIndex,
}

/// Rules on their way into an index.
#[derive(Default)]
struct RuleFiling {
    by_host: Vec<(u64, u32)>,
    by_token: Vec<(u64, u32)>,
    by_page: Vec<(u64, u32)>,
    by_gram: Vec<(u64, u32)>,
    always: Vec<u32>,
    regexes: Vec<u32>,
    by_host_token: Vec<(u64, u32)>,
    host_always: Vec<u32>,
    host_regexes: Vec<u32>,
    costs: ShelfCosts,
}

/// A rule that is to be filed, with what `compile` knows of it.
pub(crate) struct RuleDraft {
    pub(crate) id: u32,
    /// Facts about the expression, if it is one.
    pub(crate) expression: MeasuredExpression,
}

/// Files all rules, by what they do; those that would cost too much are named, and in no index.
pub(crate) fn build(
    table: &RuleTable,
    drafts: &[RuleDraft],
    keys: &HashKeys,
) -> (UrlIndexes, Vec<u32>) {
    let mut histogram = LiteralHistograms::default();
    for draft in drafts {
        let mut has_token = false;
        for_each_token(table, draft, |token| {
            has_token = true;
            histogram.tokens.add(token);
        });
        if !has_token {
            histogram.grams.add(text_of(table, draft));
        }
    }
    let mut filings: [RuleFiling; 5] = Default::default();
    let [blocks, exceptions, rewrites, stand_ins, trims] = &mut filings;
    let mut refused = Vec::new();
    for draft in drafts {
        let flags = table.rules[draft.id as usize].flags;
        let file = |filing: &mut RuleFiling| filing.file(table, draft, &histogram, keys);
        let is_filed = if flags.contains(RuleFlags::REWRITE) {
            file(rewrites)
        } else if flags.contains(RuleFlags::REMOVE_PARAMETERS) {
            file(trims)
        } else if flags.contains(RuleFlags::STAND_IN) {
            file(stand_ins)
        } else {
            true
        };
        let only =
            RuleFlags::REWRITE.with(RuleFlags::REMOVE_PARAMETERS).with(RuleFlags::STAND_IN_ONLY);
        let blocks_too = !flags.contains(only);
        if !is_filed
            || (blocks_too
                && !file(if flags.contains(RuleFlags::EXCEPTION) { exceptions } else { blocks }))
        {
            refused.push(draft.id);
        }
    }
    let [blocks, exceptions, rewrites, stand_ins, trims] = filings.map(RuleFiling::build);
    (UrlIndexes { blocks, exceptions, rewrites, stand_ins, parameter_removals: trims }, refused)
}

impl UrlIndexes {
    /// All of them, in the order in which they are stored.
    pub(crate) fn all(&self) -> [&UrlIndex; 5] {
        [&self.blocks, &self.exceptions, &self.rewrites, &self.stand_ins, &self.parameter_removals]
    }

    /// Where the tables that find rules lie in memory.
    pub(crate) fn places(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.all().into_iter().flat_map(UrlIndex::multis).flat_map(MultiHashes::places)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.all().into_iter().map(UrlIndex::bytes).sum()
    }
}

/// Frequencies of tokens in patterns, and of grams in those without tokens.
#[derive(Default)]
struct LiteralHistograms {
    tokens: TokenHistogram,
    grams: GramHistogram,
}

/// Bytes that a matching text must hold, with `*` and `^` where others may stand.
fn text_of<'t>(table: &'t RuleTable, draft: &'t RuleDraft) -> &'t [u8] {
    let rule = &table.rules[draft.id as usize];
    if rule.flags.contains(RuleFlags::REGEX) {
        &draft.expression.outline
    } else {
        table.pattern(rule).as_bytes()
    }
}

fn for_each_token<'t>(table: &'t RuleTable, draft: &'t RuleDraft, mut found: impl FnMut(&'t [u8])) {
    let rule = &table.rules[draft.id as usize];
    let (start, end) = if rule.flags.contains(RuleFlags::REGEX) {
        (MatchStart::Anywhere, MatchEnd::Anywhere)
    } else {
        (rule.flags.start(), rule.flags.end())
    };
    tokens::of_pattern(text_of(table, draft), start, end, &mut found);
}

/// The complete name after `||`, if one stands there: what follows it is no part of a name.
pub(crate) fn anchored_host(rule: &UrlRule, pattern: &str) -> Option<usize> {
    if !rule.flags.contains(RuleFlags::AT_LABEL) {
        return None;
    }
    let end = pattern.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(pattern.len());
    let closed = match pattern.as_bytes().get(end) {
        Some(next) => matches!(next, b'^' | b'/' | b':' | b'?'),
        None => rule.flags.contains(RuleFlags::AT_END),
    };
    (end > 0 && closed).then_some(end)
}

/// Where a rule is filed: once for names, once for URLs, or under each of its pages.
fn shelves(
    table: &RuleTable,
    draft: &RuleDraft,
    histogram: &LiteralHistograms,
    keys: &HashKeys,
) -> Vec<RuleShelf> {
    let rule = &table.rules[draft.id as usize];
    let mut shelves = Vec::with_capacity(2);
    let mut found = Vec::new();
    for_each_token(table, draft, |token| found.push(token));
    let token = histogram.tokens.rarest(found.into_iter());
    if rule.flags.contains(RuleFlags::FOR_NAMES) {
        // A name is held against what stands behind the scheme, and has no token of that.
        let host = behind_scheme(table.pattern(rule));
        let token = match host.filter(|_| !rule.flags.contains(RuleFlags::REGEX)) {
            Some(host) => {
                let mut found = Vec::new();
                let end = rule.flags.end();
                tokens::of_pattern(host.as_bytes(), MatchStart::Text, end, |token| {
                    found.push(token);
                });
                histogram.tokens.rarest(found.into_iter())
            }
            None => token,
        };
        shelves.push(token.map_or(RuleShelf::AnyName, |(hash, _)| RuleShelf::NameToken(hash)));
    }
    if rule.flags.contains(RuleFlags::NAMES_ONLY.with(RuleFlags::REWRITE)) {
        return shelves;
    }
    let pattern = table.pattern(rule);
    if let Some(end) = anchored_host(rule, pattern) {
        let name = keys.of(&pattern[..end].to_ascii_lowercase());
        shelves.push(RuleShelf::Host(name.hash));
        return shelves;
    }
    let conditions = table.conditions.get(rule.conditions as usize);
    let pages =
        conditions.map_or(&[][..], |conditions: &RuleConditions| table.numbers(conditions.pages).0);
    match token {
        Some((hash, count)) if count <= TOKEN_COUNT_GOOD || pages.is_empty() => {
            shelves.push(RuleShelf::Token(hash));
        }
        _ if !pages.is_empty() && pages.len() <= PAGES_MAX => {
            shelves.extend(pages.iter().map(|page| RuleShelf::Page(*page)));
        }
        Some((hash, _)) => shelves.push(RuleShelf::Token(hash)),
        None => {
            let gram = histogram.grams.rarest(text_of(table, draft));
            shelves.push(gram.map_or(RuleShelf::AnyUrl, RuleShelf::Gram));
        }
    }
    shelves
}

impl RuleFiling {
    /// Files a rule; says whether there was room for it.
    fn file(
        &mut self,
        table: &RuleTable,
        draft: &RuleDraft,
        histogram: &LiteralHistograms,
        keys: &HashKeys,
    ) -> bool {
        let (rule, id) = (&table.rules[draft.id as usize], draft.id);
        let shelves = shelves(table, draft, histogram, keys);
        let cost = RuleCost::of(table, id, draft.expression.extent);
        if !self.costs.admit(&shelves, cost) {
            return false;
        }
        // A group ignores case, so the few that do not stand outside.
        let grouped =
            rule.flags.contains(RuleFlags::REGEX) && !rule.flags.contains(RuleFlags::MATCH_CASE);
        for shelf in shelves {
            match shelf {
                RuleShelf::Host(hash) => self.by_host.push((hash, id)),
                RuleShelf::Token(hash) => self.by_token.push((hash, id)),
                RuleShelf::Page(hash) => self.by_page.push((hash, id)),
                RuleShelf::Gram(hash) => self.by_gram.push((hash, id)),
                RuleShelf::AnyUrl if grouped => self.regexes.push(id),
                RuleShelf::AnyUrl => self.always.push(id),
                RuleShelf::NameToken(hash) => self.by_host_token.push((hash, id)),
                RuleShelf::AnyName if grouped => self.host_regexes.push(id),
                RuleShelf::AnyName => self.host_always.push(id),
            }
        }
        true
    }

    fn build(self) -> UrlIndex {
        let by_gram = MultiHashes::build(self.by_gram);
        UrlIndex {
            gram_filter: GramSieve::of(by_gram.index.hashes()),
            by_gram,
            by_host: MultiHashes::build(self.by_host),
            by_token: MultiHashes::build(self.by_token),
            by_page: MultiHashes::build(self.by_page),
            always: self.always,
            regexes: RegexGroup::new(self.regexes),
            by_host_token: MultiHashes::build(self.by_host_token),
            host_always: self.host_always,
            host_regexes: RegexGroup::new(self.host_regexes),
        }
    }
}

impl UrlIndex {
    /// Returns its tables, in the order in which they are stored.
    pub(crate) fn multis(&self) -> [&MultiHashes; 5] {
        [&self.by_host, &self.by_token, &self.by_page, &self.by_gram, &self.by_host_token]
    }

    /// True if no rule is filed.
    pub(crate) fn is_empty(&self) -> bool {
        let multis = self.multis();
        let lists =
            [&self.always, &self.regexes.rules, &self.host_always, &self.host_regexes.rules];
        multis.iter().all(|multi| multi.values.is_empty()) && lists.iter().all(|it| it.is_empty())
    }

    /// Shows every rule that may match, some more than once.
    #[inline]
    pub(crate) fn visit(
        &self,
        table: &RuleTable,
        request: &RuleRequest<'_>,
        mut found: impl FnMut(u32, PatternTarget),
    ) {
        let expression = |id: u32| table.pattern(&table.rules[id as usize]);
        let host = request.host_name();
        if self.by_host_token.index.len() > 0 {
            request.for_each_host_token(|token| {
                self.by_host_token
                    .find(token)
                    .iter()
                    .for_each(|id| found(*id, PatternTarget::Host));
            });
        }
        self.host_always.iter().for_each(|id| found(*id, PatternTarget::Host));
        let regexes = self.host_regexes.candidates(host.as_bytes(), expression);
        for id in regexes {
            found(*id, PatternTarget::Host);
        }
        if let Some(url) = request.url_text() {
            self.visit_url(request, url, |id| found(id, PatternTarget::Url));
            let regexes = self.regexes.candidates(url, expression);
            for id in regexes {
                found(*id, PatternTarget::Url);
            }
        }
    }

    fn visit_url(&self, request: &RuleRequest<'_>, url: &[u8], mut found: impl FnMut(u32)) {
        self.visit_host_rules(request, &mut found);
        if self.by_token.index.len() > 0 {
            tokens::of_url(url, |token| {
                self.by_token.find(token).iter().for_each(|id| found(*id));
            });
        }
        if self.by_page.index.len() > 0 {
            for page in request.page_names() {
                self.by_page.find(*page).iter().for_each(|id| found(*id));
            }
        }
        self.gram_filter.for_each_gram(url, |gram| {
            self.by_gram.find(gram).iter().for_each(|id| found(*id));
        });
        self.always.iter().for_each(|id| found(*id));
    }

    /// Rules about URLs of the host and its parents. They are shown to those who ask why, even
    /// where no URL is known.
    pub(crate) fn visit_host_rules(&self, request: &RuleRequest<'_>, mut found: impl FnMut(u32)) {
        for (name, _) in request.keys().suffixes(request.host_name()) {
            self.by_host.find(name.hash).iter().for_each(|id| found(*id));
        }
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        let lists = (self.always.capacity()
            + self.host_always.capacity()
            + self.regexes.rules.capacity()
            + self.host_regexes.rules.capacity())
            * 4;
        let multis = self.multis().into_iter().map(MultiHashes::bytes).sum::<u64>();
        multis + lists as u64 + self.gram_filter.bytes()
    }
}
