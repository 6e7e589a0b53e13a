//! Lists of the policy in the making: subscriptions, and rules of which each is tried.
//!
//! A rule that would do nothing is a fault of our configuration, so rules are compiled here, and
//! those that are skipped are told of with their lines.

use import_report::{ImportReport, NotePlace};
use policy::{ListKind, ListSource, SkipReason, compile};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Lists of a policy, at most; two of the 64 are left for those of one's own.
const LISTS_MAX: usize = 62;
/// Lists that are fetched or read from files, at most: rules of the configuration need room too.
const SUBSCRIPTIONS_MAX: usize = 48;
/// Rounds in which rules are tried: each tells of a hundred that are skipped.
const ROUNDS_MAX: usize = 50;

/// The line that a rule came from.
#[derive(Clone, Copy)]
pub(crate) struct RuleOrigin<'o> {
    /// The place.
    pub(crate) place: &'o NotePlace,
    /// The line as it is written.
    pub(crate) said: &'o str,
}

impl<'o> RuleOrigin<'o> {
    pub(crate) fn new(place: &'o NotePlace, said: &'o str) -> Self {
        Self { place, said }
    }
}

/// A rule with the line that it came from.
struct DraftRule {
    rule: String,
    place: NotePlace,
    source: String,
    /// The difference, where there is one.
    difference: Option<String>,
}

/// A list in the making.
struct DraftList {
    name: String,
    kind: ListKind,
    /// Keys of a list with a source elsewhere; none for rules.
    fetched: Option<Value>,
    rules: Vec<DraftRule>,
}

/// Lists in the making, in their order.
#[derive(Default)]
pub(crate) struct DraftLists {
    lists: Vec<DraftList>,
    by_origin: BTreeMap<String, String>,
    names: BTreeSet<String>,
}

impl DraftLists {
    /// Adds a list that is fetched or read from a file, by its URL or path; gives its name, that of
    /// the first one where two are the same. None where there are too many.
    pub(crate) fn subscribe(
        &mut self,
        wanted: &str,
        kind: ListKind,
        origin: &str,
        more: &[(&str, Value)],
    ) -> Option<String> {
        let key = format!("{kind:?} {origin}");
        if let Some(known) = self.by_origin.get(&key) {
            return Some(known.clone());
        }
        let subscriptions = self.lists.iter().filter(|it| it.fetched.is_some()).count();
        if subscriptions >= SUBSCRIPTIONS_MAX || self.lists.len() >= LISTS_MAX {
            return None;
        }
        let name = self.free_name(wanted);
        let is_url = origin.starts_with("http://") || origin.starts_with("https://");
        let mut fetched = json!({ "name": name });
        fetched[if is_url { "url" } else { "path" }] = json!(origin);
        if kind == ListKind::Allow {
            fetched["kind"] = json!("allow");
        }
        if is_url {
            for (key, value) in more {
                fetched[*key] = value.clone();
            }
        }
        self.lists.push(DraftList {
            name: name.clone(),
            kind,
            fetched: Some(fetched),
            rules: Vec::new(),
        });
        self.by_origin.insert(key, name.clone());
        Some(name)
    }

    /// Adds a rule to a list of rules, which is made where it is not yet.
    pub(crate) fn rule(
        &mut self,
        list: &str,
        kind: ListKind,
        rule: impl Into<String>,
        told: RuleOrigin<'_>,
    ) {
        self.rule_with(list, kind, rule, told, None);
    }

    /// The same, for a rule that does not mean quite the same.
    pub(crate) fn rule_with(
        &mut self,
        list: &str,
        kind: ListKind,
        rule: impl Into<String>,
        told: RuleOrigin<'_>,
        difference: Option<String>,
    ) {
        let (place, source) = (told.place.clone(), told.said.to_owned());
        let rule = DraftRule { rule: rule.into(), place, source, difference };
        let is_known = |name: &str, lists: &[DraftList]| {
            lists.iter().position(|it| it.fetched.is_none() && it.name == name)
        };
        let list = if is_known(list, &self.lists).is_none() && self.lists.len() >= LISTS_MAX {
            // There is no room for a list of its own, nor for what its lines are.
            if rule.rule.starts_with("# ") {
                return;
            }
            if kind == ListKind::Allow {
                "further exceptions (no room)"
            } else {
                "further rules (no room)"
            }
        } else {
            list
        };
        match is_known(list, &self.lists) {
            Some(at) => self.lists[at].rules.push(rule),
            None => {
                self.names.insert(list.to_owned());
                self.lists.push(DraftList {
                    name: list.into(),
                    kind,
                    fetched: None,
                    rules: vec![rule],
                });
            }
        }
    }

    fn free_name(&mut self, wanted: &str) -> String {
        let wanted: String = wanted.trim().chars().filter(|it| !it.is_control()).take(60).collect();
        let wanted = if wanted.is_empty() { "list".to_owned() } else { wanted };
        let mut name = wanted.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{wanted} {number}");
            number += 1;
        }
        name
    }

    /// Names of the lists so far, rules and all.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lists.iter().map(|list| list.name.clone()).collect()
    }

    /// The lists as our setting has them, without rules that would do nothing; each rule is noted.
    /// Lists of which nothing is left are named.
    pub(crate) fn finish(mut self, report: &mut ImportReport) -> (Vec<Value>, BTreeSet<String>) {
        let mut gone = BTreeSet::new();
        let mut lists = Vec::new();
        for list in &mut self.lists {
            if let Some(fetched) = list.fetched.take() {
                lists.push(fetched);
                continue;
            }
            try_rules(list, report);
            if list.rules.is_empty() {
                gone.insert(list.name.clone());
                continue;
            }
            let rules: Vec<&str> = list.rules.iter().map(|it| it.rule.as_str()).collect();
            let mut made = json!({ "name": list.name, "rules": rules });
            if list.kind == ListKind::Allow {
                made["kind"] = json!("allow");
            }
            lists.push(made);
            let setting = format!("policy.lists, {}", list.name);
            for rule in &list.rules {
                match &rule.difference {
                    Some(why) => report.changed(&rule.place, &rule.source, &setting, why),
                    None => report.carried(&rule.place, &rule.source, &setting),
                }
            }
        }
        (lists, gone)
    }
}

/// Takes out what would be skipped.
fn try_rules(list: &mut DraftList, report: &mut ImportReport) {
    // A line break would move the lines of those behind it.
    list.rules.retain(|it| !it.rule.contains(['\n', '\r']) && !it.rule.trim().is_empty());
    for _ in 0..ROUNDS_MAX {
        let text: String = list.rules.iter().flat_map(|it| [it.rule.as_str(), "\n"]).collect();
        let source =
            ListSource { name: &list.name, kind: list.kind, text: text.as_bytes(), files: &[] };
        let compiled = compile(&[source], 0);
        let skipped: BTreeMap<usize, SkipReason> = compiled
            .lists()
            .iter()
            .flat_map(|report| &report.skipped)
            .filter(|line| line.reason != SkipReason::Cancelled)
            .map(|line| (line.line as usize, line.reason))
            .collect();
        if skipped.is_empty() {
            return;
        }
        let mut at = 0;
        list.rules.retain(|rule| {
            at += 1;
            let why = skipped.get(&at);
            if let Some(why) = why {
                report.left_out(&rule.place, &rule.source, &format!("the rule {why}"));
            }
            why.is_none()
        });
    }
    // So many are none: what is left may hold more of them.
    for rule in list.rules.drain(..) {
        report.left_out(&rule.place, &rule.source, "too many rules of its list do nothing");
    }
}
