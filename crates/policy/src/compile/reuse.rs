//! Lists compiled anew after some of them changed: what did not change is taken over, not read.
//!
//! The result is the same, bit for bit, as if all had been compiled with the seed of before. Where
//! that cannot be known beforehand (a `$badfilter` came or went, a cap was reached), all are.
//! Called at reload and when a list was fetched.

use super::{CancelledRules, ExpressionTally, ListCompiler, ListSource, compile};
use crate::lists::adblock;
use crate::lists::parameter_removal::ParameterTrim;
use crate::names::NamesBuilder;
use crate::report::SkipReason;
use crate::rules::RuleSet;
use crate::settings::LISTS_MAX;
use crate::subdomain_blocks::ExceptionsBelow;
use crate::urls::conditions::{EntryPart, NO_CONDITIONS, RuleConditions};
use crate::urls::flags::RuleFlags;
use crate::urls::index::RuleDraft;
use crate::urls::rule::{RuleTable, UrlRule};
use filter_patterns::CaseMatching;
use filter_patterns::regexes::{self, LazyRegex, MeasuredExpression, REGEXES_MAX, WALKS_MAX};
use std::ops::Range;

/// Compiles lists of which some stand in `old`: those of the same place, name, kind and text are
/// not read again. Takes about as long as the changed lists alone would, and a copy of the rest.
pub fn recompile(old: &RuleSet, lists: &[ListSource<'_>]) -> RuleSet {
    let seed = old.keys.seed();
    let lists = &lists[..lists.len().min(LISTS_MAX)];
    let cancelled = CancelledRules::read(lists);
    let stays: Vec<bool> =
        lists.iter().enumerate().map(|(at, list)| is_same(old, at, list)).collect();
    if !stays.contains(&true) || cancelled.digest() != old.cancelled || has_reached_a_cap(old) {
        return compile(lists, seed);
    }
    let mut compiler = ListCompiler {
        keys: old.keys,
        names: NamesBuilder::default(),
        excepted: kept_entries(old, &stays),
        table: RuleTable::default(),
        drafts: Vec::new(),
        cancelled,
        expressions: ExpressionTally::default(),
    };
    let mut reports = Vec::with_capacity(lists.len());
    // Where the numbers of a list's rules begin, before and now.
    let mut starts = [(0, 0); LISTS_MAX];
    for (at, list) in lists.iter().enumerate() {
        if stays[at] {
            let range = rules_of(&old.table, at as u8);
            starts[at] = (range.start as u32, compiler.table.rules.len() as u32);
            for id in range {
                compiler.copy_rule(&old.table, id);
            }
            reports.push(old.lists[at].clone());
        } else {
            reports.push(compiler.list(at as u8, list));
        }
    }
    let ExpressionTally { count, work } = compiler.expressions;
    if count > REGEXES_MAX || work > WALKS_MAX {
        return compile(lists, seed);
    }
    let kept = old.names.cells().filter_map(|mut cell| {
        let list = usize::from(cell.tag.list());
        if cell.tag.is_modified() {
            let (before, now) = starts[list];
            cell.line = cell.line.wrapping_sub(before).wrapping_add(now);
        }
        stays.get(list).is_some_and(|stays| *stays).then_some(cell)
    });
    let names = std::mem::take(&mut compiler.names).build_with(kept);
    compiler.finish(lists, reports, names)
}

/// Returns what is known of the exceptions of lists that stay.
fn kept_entries(old: &RuleSet, stays: &[bool]) -> Vec<u64> {
    let stays =
        |entry: &&u64| stays.get(usize::from(ExceptionsBelow::list_of(**entry))) == Some(&true);
    old.exceptions_below.entries().iter().filter(stays).copied().collect()
}

fn is_same(old: &RuleSet, at: usize, list: &ListSource<'_>) -> bool {
    old.lists.get(at).zip(old.list_digests.get(at)).is_some_and(|(report, sum)| {
        report.name == list.name && report.kind == list.kind && *sum == list.digest()
    })
}

/// True if lines were left out that there might be room for now.
fn has_reached_a_cap(old: &RuleSet) -> bool {
    let capped = [SkipReason::TooManyRegexes, SkipReason::TooMany, SkipReason::TooDear];
    old.lists.iter().flat_map(|list| &list.skipped_by_reason).any(|(it, _)| capped.contains(it))
}

fn rules_of(table: &RuleTable, list: u8) -> Range<usize> {
    let start = table.rules.partition_point(|rule| rule.list < list);
    let end = table.rules.partition_point(|rule| rule.list <= list);
    start..end
}

impl ListCompiler {
    /// Copies a rule with all that it points to, in the order in which it was written first.
    fn copy_rule(&mut self, old: &RuleTable, at: usize) {
        let rule = &old.rules[at];
        let id = self.table.rules.len() as u32;
        let conditions = match old.conditions.get(rule.conditions as usize) {
            None => NO_CONDITIONS,
            Some(conditions) => self.table.copy_conditions(old, conditions),
        };
        let text = self.table.texts.len() as u32;
        self.table.texts.push_str(old.text(rule));
        let within =
            rule.pattern.checked_sub(rule.text).filter(|at| *at < u32::from(rule.text_len));
        let pattern = if let Some(at) = within {
            text + at
        } else {
            let at = self.table.texts.len() as u32;
            self.table.texts.push_str(old.pattern(rule));
            at
        };
        let mut expression = MeasuredExpression::default();
        let mut measure = |text: &str, case: CaseMatching| {
            let measured = regexes::measure(text, case).unwrap_or_default();
            self.expressions.count += 1;
            self.expressions.work += measured.work;
            measured
        };
        if rule.flags.contains(RuleFlags::REMOVE_PARAMETERS)
            && let Some(value) =
                adblock::read(old.text(rule)).ok().and_then(|it| it.options.removeparam)
            && let Some((text, case)) = ParameterTrim::expression(value)
        {
            measure(&text, case);
        }
        if rule.flags.contains(RuleFlags::REGEX) {
            expression = measure(old.pattern(rule), rule.flags.case());
            self.table.regex_rules.push(id);
            self.table.regexes.push(LazyRegex::default());
        }
        self.table.rules.push(UrlRule { text, pattern, conditions, ..*rule });
        // Rules that the table of names leads to are in no index.
        if !(rule.flags.contains(RuleFlags::FOR_NAMES) && rule.flags.contains(RuleFlags::HOST_ONLY))
        {
            self.drafts.push(RuleDraft { id, expression });
        }
    }
}

impl RuleTable {
    fn copy_conditions(&mut self, old: &Self, conditions: &RuleConditions) -> u32 {
        let RuleConditions { pages, hosts, record_types, clients, tags } = *conditions;
        let conditions = RuleConditions {
            pages: copy_part(pages, &old.numbers, &mut self.numbers),
            hosts: copy_part(hosts, &old.numbers, &mut self.numbers),
            record_types: copy_part(record_types, &old.numbers, &mut self.numbers),
            clients: copy_part(clients, &old.clients, &mut self.clients),
            tags,
        };
        self.conditions.push(conditions);
        self.conditions.len() as u32 - 1
    }
}

fn copy_part<T: Clone>(part: EntryPart, from: &[T], into: &mut Vec<T>) -> EntryPart {
    let length = usize::from(part.only) + usize::from(part.never);
    if length == 0 {
        return EntryPart::default();
    }
    let start = into.len() as u32;
    into.extend_from_slice(&from[part.start as usize..][..length]);
    EntryPart { start, ..part }
}
