//! The whole reasoning behind a verdict, rule by rule, for people.
//!
//! It walks the same tables and indexes as `decide` and asks the same tests; only it stops at
//! nothing. The verdict in an explanation is `decide`'s own. Called by `why` and the admin API.

use crate::ask::Ask;
use crate::decide::Policy;
use crate::names::Row;
use crate::request::Request;
use crate::urls::index::Index;
use crate::urls::rule::{Flags, Place};
use crate::verdict::{Considered, Effect, Explanation, Outcome, RuleText};
use std::collections::HashSet;
use vocab::{Cause, Name, Now, RuleRef};

/// Most rules that an explanation tells of; those beyond are left out, the deciding one never.
const CONSIDERED_MAX: usize = 200;

/// A rule that matches host or URL, before its text is looked up.
struct Found {
    rule: RuleRef,
    effect: Effect,
    important: bool,
    /// Why it does not count, if it does not.
    miss: Option<Outcome>,
}

impl Policy {
    /// What `decide` says, with every rule that matches, in lists of this client and in others.
    pub fn explain(&self, ask: &Ask<'_>, now: Now) -> Explanation {
        let verdict = self.decide(ask, now);
        let (reasoned, mut found) = self.with_request(ask, |request| {
            let mut found = self.matching_names(request);
            self.matching_patterns(&self.rules.blocks, request, Effect::Block, &mut found);
            self.matching_patterns(&self.rules.exceptions, request, Effect::Exception, &mut found);
            (self.rules.judge(request), found)
        });
        if reasoned != verdict
            && let Cause::Rule(rule) = verdict.cause
        {
            // Nothing matches the name itself: a rule about what stands behind it decides.
            found.push(Found { rule, effect: Effect::Block, important: false, miss: None });
        }
        let decisive = reasoned.cause.rule().or(verdict.cause.rule());
        let paused = verdict.cause == Cause::Paused;
        let outcome = |found: &Found| match found.miss {
            Some(miss) => miss,
            None if Some(found.rule) != decisive => Outcome::Outranked,
            None if paused => Outcome::Paused,
            None => Outcome::Decides,
        };
        found.sort_by_key(|found| (outcome(found), found.rule));
        // One rule can be found by host and by URL; the better outcome came first.
        let mut seen = HashSet::new();
        found.retain(|found| seen.insert(found.rule));
        found.truncate(CONSIDERED_MAX);
        let considered = found
            .iter()
            .map(|found| Considered {
                rule: self.text_or_blank(found.rule, ask.host),
                effect: found.effect,
                important: found.important,
                outcome: outcome(found),
            })
            .collect();
        Explanation {
            verdict,
            winner: verdict.cause.rule().and_then(|rule| self.rule_text(rule, ask.host)),
            profile: self.profile_of(ask.client).to_owned(),
            considered,
        }
    }

    fn matching_names(&self, request: &Request<'_>) -> Vec<Found> {
        let mut found = Vec::new();
        self.rules.names.visit(&self.rules.keys, request.host_name(), |row| {
            let miss = if request.in_profile(row.tag.list()) {
                self.rules.row_holds(row, request).err()
            } else {
                Some(Outcome::NotInProfile)
            };
            let effect = if row.tag.is_exception() { Effect::Exception } else { Effect::Block };
            let rule = self.rules.row_rule(row);
            found.push(Found { rule, effect, important: row.tag.is_important(), miss });
        });
        found
    }

    fn matching_patterns(
        &self,
        index: &Index,
        request: &Request<'_>,
        effect: Effect,
        found: &mut Vec<Found>,
    ) {
        let rules = &self.rules;
        let mut tell = |id: u32, place: Place| {
            let rule = &rules.table.rules[id as usize];
            if !rules.table.pattern_holds(id, request, place) {
                return;
            }
            let miss = if request.in_profile(rule.list) {
                rules.rule_holds(rule, request, place).err()
            } else {
                Some(Outcome::NotInProfile)
            };
            let important = rule.flags.has(Flags::IMPORTANT);
            found.push(Found { rule: rules.table.rule_ref(id), effect, important, miss });
        };
        index.visit(&rules.table, request, &mut tell);
        if !request.has_url() {
            // Rules that wait for a URL of this host: a person who asks why it is not blocked
            // should see them. Those with paths cannot be told yet.
            index.visit_host_rules(request, |id| {
                if rules.table.rules[id as usize].flags.has(Flags::HOST_ONLY) {
                    tell(id, Place::Url);
                }
            });
        }
    }

    fn text_or_blank(&self, rule: RuleRef, host: Name<'_>) -> RuleText {
        self.rule_text(rule, host).unwrap_or_else(|| RuleText {
            list: String::new(),
            line: rule.line,
            text: String::new(),
        })
    }
}

impl Row {
    /// The rule, written anew from the part of the host that it holds for.
    pub(crate) fn text(self, host: Name<'_>) -> String {
        let mut text = self.tag.form().write(&host.as_str()[self.start..]);
        if self.tag.is_important() {
            text.push_str("$important");
        }
        text
    }
}
