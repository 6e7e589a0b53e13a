//! The whole reasoning behind a verdict, rule by rule, for people.
//!
//! It walks the same tables and indexes as `decide` and asks the same tests; only it stops at
//! nothing. The verdict in an explanation is `decide`'s own. Called by `why` and the admin API.

use crate::ask::Ask;
use crate::decide::Policy;
use crate::hook::PolicyHook;
use crate::names::NameRow;
use crate::profiles::ListHold;
use crate::report::ListSyntax;
use crate::request::RuleRequest;
use crate::special::SettledRules;
use crate::urls::flags::RuleFlags;
use crate::urls::index::{UrlIndex, UrlIndexes};
use crate::verdict::{
    ConsideredRule, PolicyExplanation, RuleEffect, RuleOutcome, RuleText, StandInId, VerdictManner,
};
use filter_patterns::PatternTarget;
use std::collections::HashSet;
use vocab::{Action, Cause, Name, Now, RequestKind, RuleRef};

/// Most rules that an explanation tells of; those beyond are left out, the deciding one never.
const CONSIDERED_MAX: usize = 200;

/// A rule that matches host or URL, before its text is looked up.
struct FoundRule {
    rule: RuleRef,
    effect: RuleEffect,
    important: bool,
    /// Why it does not count, if it does not.
    miss: Option<RuleOutcome>,
}

impl FoundRule {
    /// A rule that nothing of the request itself matches.
    const fn deciding(rule: RuleRef, action: Action) -> Self {
        let effect = match action {
            Action::Block => RuleEffect::Block,
            Action::Pass => RuleEffect::Exception,
        };
        Self { rule, effect, important: false, miss: None }
    }
}

/// Holds what rules that answer in their own way come to.
#[derive(Default)]
struct SpecialAnswers {
    deciding: Vec<RuleRef>,
    switched_off: Vec<RuleRef>,
    /// Rules that hold and have nothing to do.
    idle: Vec<RuleRef>,
}

impl Policy {
    /// Returns what `decide` says, with every rule that matches, in lists of this client and in
    /// others.
    pub fn explain(&self, ask: &Ask<'_>, now: Now) -> PolicyExplanation {
        let verdict = self.decide(ask, now);
        let is_by_hand = matches!(verdict.cause, Cause::Paused | Cause::ByHand);
        let by_hand = if is_by_hand { self.override_in_force(ask, now) } else { None };
        let (reasoned, mut found, special) = self.with_request(ask, now, |request| {
            let mut found = self.matching_names(ask, request, now);
            for (index, effect) in self.kinds_for(ask) {
                self.matching_patterns(index, effect, ask, request, now, &mut found);
            }
            (self.rules.evaluate(request), found, self.special(request))
        });
        let trimmed =
            if verdict.action == Action::Pass { self.remove_parameters(ask, now) } else { None };
        let rewritten = self.rewritten(ask, now);
        if let Cause::Rule(rule) = verdict.cause
            && reasoned != verdict
        {
            // Nothing matches the name itself: what stands behind it does, or the hook decides.
            found.push(FoundRule::deciding(rule, verdict.action));
        }
        let by_hook = verdict.cause.rule().filter(|rule| PolicyHook::is_of(*rule));
        let decisive = by_hook.or(reasoned.cause.rule()).or(verdict.cause.rule());
        let outcome = |found: &FoundRule| match found.miss {
            Some(miss) => miss,
            None if special.switched_off.contains(&found.rule) => RuleOutcome::SwitchedOff,
            None if Some(found.rule) == decisive && by_hand.is_some() => RuleOutcome::Paused,
            None if Some(found.rule) == decisive => RuleOutcome::Decides,
            None if special.deciding.contains(&found.rule) && by_hand.is_none() => {
                RuleOutcome::Decides
            }
            None if special.idle.contains(&found.rule) => RuleOutcome::NothingToRemove,
            None if found.effect == RuleEffect::Exception && verdict.cause == Cause::NoRule => {
                RuleOutcome::NothingToExcept
            }
            None => RuleOutcome::Outranked,
        };
        // The rule that the verdict names comes first, whatever else has its say beside it.
        found.sort_by_key(|found| (outcome(found), Some(found.rule) != decisive, found.rule));
        // One rule can be found by host and by URL; the better outcome came first.
        let mut seen = HashSet::new();
        found.retain(|found| seen.insert((found.rule, found.effect)));
        found.truncate(CONSIDERED_MAX);
        let considered = found.iter().map(|found| ConsideredRule {
            rule: self.text_or_blank(found.rule, ask.host),
            effect: found.effect,
            important: found.important,
            outcome: outcome(found),
        });
        let considered = considered.collect();
        let profile = self.profiles.of(ask.client, ask.identity);
        let of_list = decisive.filter(|rule| !PolicyHook::is_of(*rule));
        let holds = of_list.map(|rule| self.profiles.list_hold(profile, rule.list.0, now));
        PolicyExplanation {
            verdict,
            winner: verdict.cause.rule().and_then(|rule| self.rule_text(rule, ask.host)),
            profile: profile.name.clone(),
            schedule: match holds {
                Some(ListHold::BySchedule(text)) => Some(text),
                Some(ListHold::Always | ListHold::NotNow | ListHold::Never) | None => None,
            },
            by_hand,
            rewritten,
            stand_in: match verdict.manner {
                VerdictManner::StandIn(id) => self.stand_in(id).map(str::to_owned),
                VerdictManner::Default | VerdictManner::Rewrite => None,
            },
            without_parameters: trimmed,
            considered,
        }
    }

    /// The indexes in which rules for a request stand, with what they do.
    fn kinds_for(&self, ask: &Ask<'_>) -> Vec<(&UrlIndex, RuleEffect)> {
        let UrlIndexes { blocks, exceptions, rewrites, stand_ins, parameter_removals: trims } =
            &self.rules.indexes;
        let mut kinds = vec![(blocks, RuleEffect::Block), (exceptions, RuleEffect::Exception)];
        if matches!(ask.kind, RequestKind::Lookup(_)) {
            kinds.push((rewrites, RuleEffect::Rewrite));
        }
        if ask.url.is_some() {
            kinds.extend([(stand_ins, RuleEffect::StandIn), (trims, RuleEffect::RemoveParameters)]);
        }
        kinds
    }

    /// Which rules that answer in their own way have their say.
    fn special(&self, request: &RuleRequest<'_>) -> SpecialAnswers {
        let rules = &self.rules;
        let mut special = SpecialAnswers::default();
        let mut add = |settled: SettledRules, deciding: Vec<RuleRef>| {
            let of = |id: &u32| rules.table.rule_ref(*id);
            special.deciding.extend(deciding);
            if !settled.cancelled.is_empty() {
                special.deciding.extend(settled.exceptions.iter().map(of));
            }
            special.switched_off.extend(settled.cancelled.iter().map(of));
        };
        if matches!(request.kind(), RequestKind::Lookup(_)) {
            let deciding = rules.rewritten(request).map(|it| it.rules);
            add(rules.resolve_rewrites(request), deciding.unwrap_or_default());
        }
        if let Some(url) = request.url() {
            let chosen = match rules.evaluate(request).manner {
                VerdictManner::StandIn(StandInId(id)) => vec![rules.table.rule_ref(id)],
                VerdictManner::Default | VerdictManner::Rewrite => Vec::new(),
            };
            add(rules.resolve_stand_ins(request), chosen);
            let deciding =
                rules.without_parameters(request, url).map(|it| it.rules).unwrap_or_default();
            let settled = rules.resolve_parameter_removals(request);
            let holding = settled.active.iter().map(|id| rules.table.rule_ref(*id));
            let idle = holding.filter(|rule| !deciding.contains(rule)).collect();
            add(settled, deciding);
            special.idle = idle;
        }
        special
    }

    /// Why a list does not count for a client now, if it does not.
    fn list_miss(&self, ask: &Ask<'_>, list: u8, now: Now) -> Option<RuleOutcome> {
        let profile = self.profiles.of(ask.client, ask.identity);
        match self.profiles.list_hold(profile, list, now) {
            ListHold::Always | ListHold::BySchedule(_) => None,
            ListHold::NotNow => Some(RuleOutcome::NotAtThisHour),
            ListHold::Never => Some(RuleOutcome::NotInProfile),
        }
    }

    fn matching_names(&self, ask: &Ask<'_>, request: &RuleRequest<'_>, now: Now) -> Vec<FoundRule> {
        let mut found = Vec::new();
        self.rules.names.visit(&self.rules.keys, request.host_name(), |row| {
            let miss = self
                .list_miss(ask, row.tag.list(), now)
                .or_else(|| self.rules.row_applies(row, request).err());
            let effect =
                if row.tag.is_exception() { RuleEffect::Exception } else { RuleEffect::Block };
            let rule = self.rules.row_rule(row);
            found.push(FoundRule { rule, effect, important: row.tag.is_important(), miss });
        });
        found
    }

    fn matching_patterns(
        &self,
        index: &UrlIndex,
        effect: RuleEffect,
        ask: &Ask<'_>,
        request: &RuleRequest<'_>,
        now: Now,
        found: &mut Vec<FoundRule>,
    ) {
        let rules = &self.rules;
        let mut tell = |id: u32, place: PatternTarget| {
            let rule = &rules.table.rules[id as usize];
            if !rules.table.pattern_matches(id, request, place) {
                return;
            }
            let miss = self
                .list_miss(ask, rule.list, now)
                .or_else(|| rules.rule_applies(rule, request, place).err());
            let effect = match effect {
                RuleEffect::Rewrite | RuleEffect::StandIn | RuleEffect::RemoveParameters
                    if rule.flags.contains(RuleFlags::EXCEPTION) =>
                {
                    RuleEffect::SwitchOff
                }
                effect => effect,
            };
            let important = rule.flags.contains(RuleFlags::IMPORTANT);
            found.push(FoundRule { rule: rules.table.rule_ref(id), effect, important, miss });
        };
        index.visit(&rules.table, request, &mut tell);
        if !request.has_url() {
            // Rules that wait for a URL of this host: a person who asks why it is not blocked
            // should see them. Those with paths cannot be told yet.
            index.visit_host_rules(request, |id| {
                if rules.table.rules[id as usize].flags.contains(RuleFlags::HOST_ONLY) {
                    tell(id, PatternTarget::Url);
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

impl NameRow {
    /// The rule, written anew from the part of the host that it holds for, as a list of this syntax
    /// has it.
    pub(crate) fn text(self, host: Name<'_>, syntax: ListSyntax) -> String {
        let mut text = self.tag.form().write_in(&host.as_str()[self.start..], syntax);
        if self.tag.is_important() {
            text.push_str("$important");
        }
        text
    }
}
