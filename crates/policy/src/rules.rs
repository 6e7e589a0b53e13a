//! Compiled lists: the table of names, the rules with patterns, and the reports.
//!
//! Immutable; shared by every thread. It knows no client: a request brings its profile. Made by
//! `compile` or read from a snapshot, asked by `Policy`.

use crate::answers::AnswerValues;
use crate::fingerprint::HashKeys;
use crate::names::{NameRow, NameTable, TablesDiffer};
use crate::report::ListReport;
use crate::request::RuleRequest;
use crate::subdomain_blocks::ExceptionsBelow;
use crate::urls::conditions::EntryPart;
use crate::urls::flags::RuleFlags;
use crate::urls::index::{UrlIndex, UrlIndexes};
use crate::urls::rule::{RuleTable, UrlRule};
use crate::verdict::{RuleOutcome, Verdict};
use bytes::Bytes;
use filter_patterns::PatternTarget;
use std::fmt;
use std::ops::Range;
use vocab::{Action, Cause, RequestKind, RuleRef};

/// Compiled lists.
#[derive(Debug)]
pub struct RuleSet {
    pub(crate) keys: HashKeys,
    pub(crate) lists: Vec<ListReport>,
    /// Of each list's text, by which an unchanged one is known.
    pub(crate) list_digests: Vec<u64>,
    /// Of all rules that `$badfilter` cancels.
    pub(crate) cancelled: u64,
    pub(crate) names: NameTable,
    /// Which names exceptions may let through, for the signer.
    pub(crate) exceptions_below: ExceptionsBelow,
    pub(crate) table: RuleTable,
    pub(crate) indexes: UrlIndexes,
    pub(crate) answers: AnswerValues,
}

/// Holds what the rules cost, in bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleMemory {
    /// Number of rules about plain names there are.
    pub names: u64,
    /// Bytes of the table of names.
    pub names_bytes: u64,
    /// Number of rules with patterns or modifiers there are.
    pub patterns: u64,
    /// Bytes of those, with their texts and indexes; regular expressions grow when first used.
    pub patterns_bytes: u64,
    /// Bytes of the list reports.
    pub reports_bytes: u64,
}

/// Lists that hold one name: a bit for each, the first list's the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameHolders {
    /// Lists that would block it.
    pub blocking: u64,
    /// Lists that would let it pass.
    pub passing: u64,
}

/// The best rule so far: important before not, other rules before hosts lines, earlier lists
/// before later ones, then earlier lines.
#[derive(Clone, Copy, Default)]
pub(crate) struct BestRule(Option<(u64, RuleRef)>);

impl BestRule {
    #[inline]
    fn offer(&mut self, weight: u64, rule: RuleRef) {
        if self.loses_to(weight) {
            self.0 = Some((weight, rule));
        }
    }

    #[inline]
    fn loses_to(self, weight: u64) -> bool {
        self.0.is_none_or(|(best, _)| weight > best)
    }

    fn is_important(self) -> bool {
        self.0.is_some_and(|(weight, _)| weight & IMPORTANT != 0)
    }
}

const IMPORTANT: u64 = 1 << 63;
const NOT_HOSTS: u64 = 1 << 62;

#[inline]
fn weight(important: bool, hosts: bool, rule: RuleRef) -> u64 {
    let first = if important { IMPORTANT } else { 0 } | if hosts { 0 } else { NOT_HOSTS };
    first | u64::from(u8::MAX - rule.list.0) << 32 | u64::from(u32::MAX - rule.line)
}

impl RuleSet {
    /// Returns what each list holds, in the order given to `compile`.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// Of each list's text and its files a sum, which tells whether they changed.
    pub fn list_digests(&self) -> &[u64] {
        &self.list_digests
    }

    /// Shows each name that a rule about names names, once: the lists that hold it, a bit each, of
    /// those that would block it and of those that would let it pass. Takes no memory, and reads
    /// the whole table: for whoever has time.
    pub fn each_name(&self, mut found: impl FnMut(NameHolders)) {
        let mut before = None;
        let mut holders = NameHolders::default();
        // Rows of one name lie one behind the other.
        for cell in self.names.cells() {
            let name = Some((cell.hash, cell.check));
            if name != before && before.is_some() {
                found(std::mem::take(&mut holders));
            }
            before = name;
            let lists =
                if cell.tag.is_exception() { &mut holders.passing } else { &mut holders.blocking };
            *lists |= 1 << cell.tag.list();
        }
        if before.is_some() {
            found(holders);
        }
    }

    /// True if there is no rule at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.len() == 0 && self.table.rules.is_empty()
    }

    /// Returns what the rules cost.
    pub fn memory(&self) -> RuleMemory {
        let report = |report: &ListReport| {
            let lines = report.skipped.iter().map(|line| size_of_val(line) + line.text.capacity());
            let files = report.files.iter().map(|file| size_of_val(file) + file.name.capacity());
            let parts = lines.sum::<usize>() + files.sum::<usize>();
            size_of_val(report) + report.name.capacity() + parts
        };
        RuleMemory {
            names: self.names.len() as u64,
            names_bytes: self.names.bytes() + self.exceptions_below.bytes(),
            patterns: self.table.rules.len() as u64,
            patterns_bytes: self.table.bytes() + self.indexes.bytes() + self.answers.bytes(),
            reports_bytes: self.lists.iter().map(report).sum::<usize>() as u64,
        }
    }

    /// Where the tables of names and of patterns lie in memory, as ranges of addresses: every
    /// request reads a few lines of them, at random. For whoever chooses the pages that memory
    /// comes in.
    pub fn tables(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let patterns = self.indexes.places().chain(self.table.places());
        self.names.places().into_iter().chain(patterns)
    }

    /// Pieces that are the bytes of the tables of names, one behind the other: what
    /// [`Self::share_tables`] takes. The same rules under the same seed have the same bytes.
    pub fn table_pieces(&self) -> [&[u8]; 4] {
        self.names.pieces()
    }

    /// Reads the tables of names from `shared` from now on and gives their own memory back, so
    /// that processes with the same rules hold them once. Whoever offers `shared` need not be
    /// trusted: every byte is compared first. It must not change later, as memory of a [`Bytes`]
    /// never may.
    pub fn share_tables(&mut self, shared: &Bytes) -> Result<(), TablesDiffer> {
        self.names.share(shared)
    }

    /// The verdict on a request: by rewrites first, then by exceptions and blocks. Exceptions with
    /// patterns are looked for only when something blocks.
    pub(crate) fn evaluate(&self, request: &RuleRequest<'_>) -> Verdict {
        if !self.indexes.rewrites.is_empty()
            && matches!(request.kind(), RequestKind::Lookup(_))
            && let Some(rewritten) = self.rewritten(request)
        {
            return rewritten.verdict();
        }
        let (mut block, mut exception) = (BestRule::default(), BestRule::default());
        // The rows come from memory while the patterns are gone through.
        let mut looks = self.names.look(&self.keys, request.host_name());
        self.best_pattern(&self.indexes.blocks, request, &mut block);
        looks.visit(|row| {
            if request.in_profile(row.tag.list()) {
                let best = if row.tag.is_exception() { &mut exception } else { &mut block };
                let rule = self.row_rule(row);
                let weight = weight(row.tag.is_important(), row.tag.form().is_hosts(), rule);
                if best.loses_to(weight) && self.row_applies(row, request).is_ok() {
                    best.offer(weight, rule);
                }
            }
        });
        if block.0.is_none() && !request.is_blocked_unlisted() {
            return Verdict::NO_RULE;
        }
        self.best_pattern(&self.indexes.exceptions, request, &mut exception);
        match exception.0 {
            Some((_, rule)) if exception.is_important() || !block.is_important() => {
                Verdict::usual(Action::Pass, Cause::Rule(rule))
            }
            Some(_) | None => {
                let manner = self.stand_in(request);
                let cause = block.0.map_or(Cause::Unlisted, |(_, rule)| Cause::Rule(rule));
                Verdict { action: Action::Block, cause, manner }
            }
        }
    }

    /// The exception that speaks for a request, whether or not anything blocks it.
    pub(crate) fn exception(&self, request: &RuleRequest<'_>) -> Option<RuleRef> {
        let mut exception = BestRule::default();
        self.names.look(&self.keys, request.host_name()).visit(|row| {
            let is_ours = row.tag.is_exception() && request.in_profile(row.tag.list());
            if is_ours && self.row_applies(row, request).is_ok() {
                let rule = self.row_rule(row);
                exception
                    .offer(weight(row.tag.is_important(), row.tag.form().is_hosts(), rule), rule);
            }
        });
        self.best_pattern(&self.indexes.exceptions, request, &mut exception);
        exception.0.map(|(_, rule)| rule)
    }

    /// Shows every rule of an index that matches and holds, some more than once.
    pub(crate) fn for_each_match(
        &self,
        index: &UrlIndex,
        request: &RuleRequest<'_>,
        mut found: impl FnMut(u32),
    ) {
        index.visit(&self.table, request, |id, place| {
            if self.applies(id, request, place) {
                found(id);
            }
        });
    }

    #[inline]
    fn applies(&self, id: u32, request: &RuleRequest<'_>, place: PatternTarget) -> bool {
        let rule = &self.table.rules[id as usize];
        request.in_profile(rule.list)
            && rule.check_record(request, place).is_ok()
            && self.table.pattern_matches(id, request, place)
            && self.table.check_conditions(rule, request).is_ok()
    }

    #[inline]
    fn best_pattern(&self, index: &UrlIndex, request: &RuleRequest<'_>, best: &mut BestRule) {
        index.visit(&self.table, request, |id, place| {
            let rule = &self.table.rules[id as usize];
            let rule_ref = self.table.rule_ref(id);
            let weight = weight(rule.flags.contains(RuleFlags::IMPORTANT), false, rule_ref);
            if best.loses_to(weight) && self.applies(id, request, place) {
                best.offer(weight, rule_ref);
            }
        });
    }

    /// True if one block is about all names directly below the request's name and itself, and no
    /// exception of any list, for anybody, may hold for one of them.
    pub(crate) fn blocks_all_subdomains(&self, request: &RuleRequest<'_>) -> bool {
        let base = request.host_name();
        let (mut is_blocked, mut is_excepted) = (false, false);
        self.names.visit(&self.keys, base, |row| {
            let is_about_all = || {
                let modified = row.tag.is_modified();
                let rule = || &self.table.rules[row.line as usize];
                let names_hosts = |conditions: u32| {
                    let conditions = self.table.conditions.get(conditions as usize);
                    conditions.is_some_and(|it| it.hosts != EntryPart::default())
                };
                !(row.tag.form().is_exact() || modified && names_hosts(rule().conditions))
            };
            if row.tag.is_exception() {
                is_excepted = true;
            } else if request.in_profile(row.tag.list()) && is_about_all() {
                is_blocked |= self.row_applies(row, request).is_ok();
            }
        });
        is_blocked
            && !is_excepted
            && !self.exceptions_below.may_apply(base, &self.keys, &self.table)
    }

    /// Where the row's rule stands.
    pub(crate) fn row_rule(&self, row: NameRow) -> RuleRef {
        if row.tag.is_modified() { self.table.rule_ref(row.line) } else { row.rule() }
    }

    /// Returns whether the row's modifiers, if it has any, hold too.
    pub(crate) fn row_applies(
        &self,
        row: NameRow,
        request: &RuleRequest<'_>,
    ) -> Result<(), RuleOutcome> {
        if !row.tag.is_modified() {
            return Ok(());
        }
        self.table.check_conditions(&self.table.rules[row.line as usize], request)
    }

    /// The rule with its conditions, as far as one look at it tells.
    pub(crate) fn rule_applies(
        &self,
        rule: &UrlRule,
        request: &RuleRequest<'_>,
        place: PatternTarget,
    ) -> Result<(), RuleOutcome> {
        rule.check_record(request, place)?;
        self.table.check_conditions(rule, request)
    }
}

impl RuleMemory {
    /// Bytes of memory for a name.
    pub fn bytes_per_name(&self) -> f64 {
        if self.names == 0 { 0.0 } else { self.names_bytes as f64 / self.names as f64 }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.names_bytes + self.patterns_bytes + self.reports_bytes
    }
}

impl fmt::Display for RuleMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / 1_048_576.0;
        write!(
            f,
            "{:.1} MiB: {} names in {:.1} MiB ({:.1} bytes a name), {} patterns in {:.1} MiB",
            mib(self.total()),
            self.names,
            mib(self.names_bytes),
            self.bytes_per_name(),
            self.patterns,
            mib(self.patterns_bytes)
        )
    }
}
