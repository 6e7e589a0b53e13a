//! The whole reasoning behind a verdict, rule by rule, for people.
//!
//! It walks the same tables and indexes as `decide` and asks the same tests; only it stops at
//! nothing. The verdict in an explanation is `decide`'s own. Called by `why` and the admin API.

use crate::ask::Ask;
use crate::decide::Policy;
use crate::names::Row;
use crate::profiles::Holds;
use crate::report::Syntax;
use crate::request::Request;
use crate::special::Settled;
use crate::urls::index::{Index, Indexes};
use crate::urls::rule::{Flags, Place};
use crate::verdict::{Considered, Effect, Explanation, Manner, Outcome, RuleText, StandInId};
use std::collections::HashSet;
use vocab::{Action, Cause, Kind, Name, Now, RuleRef};

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

/// What rules that answer in their own way come to.
#[derive(Default)]
struct Special {
    deciding: Vec<RuleRef>,
    switched_off: Vec<RuleRef>,
    /// Rules that hold and have nothing to do.
    idle: Vec<RuleRef>,
}

impl Policy {
    /// What `decide` says, with every rule that matches, in lists of this client and in others.
    pub fn explain(&self, ask: &Ask<'_>, now: Now) -> Explanation {
        let verdict = self.decide(ask, now);
        let leave = match verdict.cause {
            Cause::Paused => self.holding_leave(ask, now),
            Cause::NoRule | Cause::Rule(_) | Cause::Unlisted | Cause::NotAsked => None,
        };
        let (reasoned, mut found, special) = self.with_request(ask, now, |request| {
            let mut found = self.matching_names(ask, request, now);
            for (index, effect) in self.kinds_for(ask) {
                self.matching_patterns(index, effect, ask, request, now, &mut found);
            }
            (self.rules.judge(request), found, self.special(request))
        });
        let trimmed = if verdict.action == Action::Pass { self.trim(ask, now) } else { None };
        let rewritten = self.rewritten(ask, now);
        if reasoned != verdict
            && let Cause::Rule(rule) = verdict.cause
        {
            // Nothing matches the name itself: a rule about what stands behind it decides.
            found.push(Found { rule, effect: Effect::Block, important: false, miss: None });
        }
        let decisive = reasoned.cause.rule().or(verdict.cause.rule());
        let outcome = |found: &Found| match found.miss {
            Some(miss) => miss,
            None if special.switched_off.contains(&found.rule) => Outcome::SwitchedOff,
            None if Some(found.rule) == decisive && leave.is_some() => Outcome::Paused,
            None if Some(found.rule) == decisive => Outcome::Decides,
            None if special.deciding.contains(&found.rule) && leave.is_none() => Outcome::Decides,
            None if special.idle.contains(&found.rule) => Outcome::NothingToTake,
            None if found.effect == Effect::Exception && verdict.cause == Cause::NoRule => {
                Outcome::NothingToExcept
            }
            None => Outcome::Outranked,
        };
        // The rule that the verdict names comes first, whatever else has its say beside it.
        found.sort_by_key(|found| (outcome(found), Some(found.rule) != decisive, found.rule));
        // One rule can be found by host and by URL; the better outcome came first.
        let mut seen = HashSet::new();
        found.retain(|found| seen.insert((found.rule, found.effect)));
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
        let profile = self.profiles.of(ask.client, ask.who);
        let holds = decisive.map(|rule| self.profiles.holds(profile, rule.list.0, now));
        Explanation {
            verdict,
            winner: verdict.cause.rule().and_then(|rule| self.rule_text(rule, ask.host)),
            profile: profile.name.clone(),
            schedule: match holds {
                Some(Holds::BySchedule(text)) => Some(text),
                Some(Holds::Always | Holds::NotNow | Holds::Never) | None => None,
            },
            leave,
            rewritten,
            stand_in: match verdict.manner {
                Manner::StandIn(id) => self.stand_in(id).map(str::to_owned),
                Manner::Usual | Manner::Rewrite => None,
            },
            trimmed,
            considered,
        }
    }

    /// The indexes in which rules for a request stand, with what they do.
    fn kinds_for(&self, ask: &Ask<'_>) -> Vec<(&Index, Effect)> {
        let Indexes { blocks, exceptions, rewrites, stand_ins, trims } = &self.rules.indexes;
        let mut kinds = vec![(blocks, Effect::Block), (exceptions, Effect::Exception)];
        if matches!(ask.kind, Kind::Lookup(_)) {
            kinds.push((rewrites, Effect::Rewrite));
        }
        if ask.url.is_some() {
            kinds.extend([(stand_ins, Effect::StandIn), (trims, Effect::Trim)]);
        }
        kinds
    }

    /// Which rules that answer in their own way have their say.
    fn special(&self, request: &Request<'_>) -> Special {
        let rules = &self.rules;
        let mut special = Special::default();
        let mut add = |settled: Settled, deciding: Vec<RuleRef>| {
            let of = |id: &u32| rules.table.rule_ref(*id);
            special.deciding.extend(deciding);
            if !settled.taken_back.is_empty() {
                special.deciding.extend(settled.exceptions.iter().map(of));
            }
            special.switched_off.extend(settled.taken_back.iter().map(of));
        };
        if matches!(request.kind(), Kind::Lookup(_)) {
            let deciding = rules.rewritten(request).map(|it| it.rules);
            add(rules.settle_rewrites(request), deciding.unwrap_or_default());
        }
        if let Some(url) = request.url() {
            let chosen = match rules.judge(request).manner {
                Manner::StandIn(StandInId(id)) => vec![rules.table.rule_ref(id)],
                Manner::Usual | Manner::Rewrite => Vec::new(),
            };
            add(rules.settle_stand_ins(request), chosen);
            let deciding = rules.trimmed(request, url).map(|it| it.rules).unwrap_or_default();
            let settled = rules.settle_trims(request);
            let holding = settled.holding.iter().map(|id| rules.table.rule_ref(*id));
            let idle = holding.filter(|rule| !deciding.contains(rule)).collect();
            add(settled, deciding);
            special.idle = idle;
        }
        special
    }

    /// Why a list does not count for a client now, if it does not.
    fn list_miss(&self, ask: &Ask<'_>, list: u8, now: Now) -> Option<Outcome> {
        let profile = self.profiles.of(ask.client, ask.who);
        match self.profiles.holds(profile, list, now) {
            Holds::Always | Holds::BySchedule(_) => None,
            Holds::NotNow => Some(Outcome::NotAtThisHour),
            Holds::Never => Some(Outcome::NotInProfile),
        }
    }

    fn matching_names(&self, ask: &Ask<'_>, request: &Request<'_>, now: Now) -> Vec<Found> {
        let mut found = Vec::new();
        self.rules.names.visit(&self.rules.keys, request.host_name(), |row| {
            let miss = self
                .list_miss(ask, row.tag.list(), now)
                .or_else(|| self.rules.row_holds(row, request).err());
            let effect = if row.tag.is_exception() { Effect::Exception } else { Effect::Block };
            let rule = self.rules.row_rule(row);
            found.push(Found { rule, effect, important: row.tag.is_important(), miss });
        });
        found
    }

    fn matching_patterns(
        &self,
        index: &Index,
        effect: Effect,
        ask: &Ask<'_>,
        request: &Request<'_>,
        now: Now,
        found: &mut Vec<Found>,
    ) {
        let rules = &self.rules;
        let mut tell = |id: u32, place: Place| {
            let rule = &rules.table.rules[id as usize];
            if !rules.table.pattern_holds(id, request, place) {
                return;
            }
            let miss = self
                .list_miss(ask, rule.list, now)
                .or_else(|| rules.rule_holds(rule, request, place).err());
            let effect = match effect {
                Effect::Rewrite | Effect::StandIn | Effect::Trim
                    if rule.flags.has(Flags::EXCEPTION) =>
                {
                    Effect::SwitchOff
                }
                effect => effect,
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
    /// The rule, written anew from the part of the host that it holds for, as a list of this syntax
    /// has it.
    pub(crate) fn text(self, host: Name<'_>, syntax: Syntax) -> String {
        let mut text = self.tag.form().write_in(&host.as_str()[self.start..], syntax);
        if self.tag.is_important() {
            text.push_str("$important");
        }
        text
    }
}
