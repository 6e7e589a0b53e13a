//! One plugin, rule or match at a time, in either dialect.

use super::{mosdns, oxidns, read, refused};
use mosdns_compat::language::{
    CalledMatcher, Dialect, Executor, MatcherSpec, PluginKind, RuleAction, SequenceRule,
};

pub(crate) const MOSDNS: Dialect = Dialect::Mosdns;
pub(crate) const OXIDNS: Dialect = Dialect::Oxidns;

/// The plugin `type: args`.
pub(crate) fn plugin(dialect: Dialect, kind: &str, args: &str) -> PluginKind {
    let head = if dialect == OXIDNS { "runtime: {}\n" } else { "" };
    let text = format!("{head}plugins: [ {{ tag: it, type: {kind}, args: {args} }} ]");
    read(&text).plugins.swap_remove(0).kind
}

pub(crate) fn executor(dialect: Dialect, kind: &str, args: &str) -> Executor {
    match plugin(dialect, kind, args) {
        PluginKind::Executor(it) => it,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn rules(text: &str) -> Vec<SequenceRule> {
    match &read(text).plugins[0].kind {
        PluginKind::Executor(Executor::Sequence(rules)) => rules.clone(),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn rule(dialect: Dialect, line: &str) -> SequenceRule {
    let text = if dialect == OXIDNS { oxidns(line) } else { mosdns(line) };
    rules(&text).swap_remove(0)
}

/// The quick form `exec`.
pub(crate) fn quick(dialect: Dialect, exec: &str) -> Executor {
    match rule(dialect, &format!("- exec: '{exec}'")).exec {
        RuleAction::Quick(it) => it,
        other => panic!("{other:?}"),
    }
}

/// The match `text`.
pub(crate) fn matcher(dialect: Dialect, text: &str) -> MatcherSpec {
    let mut rule = rule(dialect, &format!("- {{ matches: '{text}', exec: accept }}"));
    match rule.tests.swap_remove(0).matcher {
        CalledMatcher::Quick(it) => it,
        CalledMatcher::Tag(tag) => panic!("{tag}"),
    }
}

/// The first complaint about the executor `exec`.
pub(crate) fn bad(dialect: Dialect, exec: &str) -> String {
    let line = format!("- exec: '{exec}'");
    refused(&if dialect == OXIDNS { oxidns(&line) } else { mosdns(&line) }).swap_remove(0)
}

/// The first complaint about the match `text`.
pub(crate) fn bad_match(dialect: Dialect, text: &str) -> String {
    let line = format!("- {{ matches: '{text}', exec: accept }}");
    refused(&if dialect == OXIDNS { oxidns(&line) } else { mosdns(&line) }).swap_remove(0)
}

pub(crate) fn check(complaint: &str, expected: &str) {
    assert!(complaint.contains(expected), "{complaint:?} does not hold {expected:?}");
}
