//! Rules that answer in their own way: which of those that match a request hold, and what they say.
//!
//! Rewrites, stand-ins and trims are settled alike: an exception of their own kind takes back what
//! has its value, or all if it has none, but nothing important unless it is important itself; of
//! what is left, important rules silence the rest. What an allow list names is left as it is. Asked
//! by `rules` and `decide` where such rules exist at all.

use crate::lists::parameter_removal::{ParameterTrim, UrlQuery};
use crate::lists::rewrite::DnsRewrite;
use crate::report::ListKind;
use crate::request::RuleRequest;
use crate::rules::RuleSet;
use crate::urls::flags::RuleFlags;
use crate::urls::index::UrlIndex;
use crate::verdict::{RewriteAnswer, RewrittenAnswer, StandInId, TrimmedUrl, VerdictManner};

/// Most rules of one kind that are weighed for one request; those beyond, in the order of lists and
/// lines, are not looked at.
const MATCHES_MAX: usize = 256;
/// The stand-in that means none, as uBlock Origin has it.
const NO_STAND_IN: &str = "none";

/// Rules of one kind that match a request.
#[derive(Default)]
pub(crate) struct SettledRules {
    /// Those that hold, in the order of lists and lines.
    pub(crate) active: Vec<u32>,
    /// Those that an exception took back.
    pub(crate) cancelled: Vec<u32>,
    /// The exceptions.
    pub(crate) exceptions: Vec<u32>,
}

impl RuleSet {
    /// Weighs the rules of one kind; `same` is whether an exception takes back a rule.
    fn resolve(
        &self,
        index: &UrlIndex,
        request: &RuleRequest<'_>,
        same: impl Fn(u32, u32) -> bool,
    ) -> SettledRules {
        let mut found = Vec::new();
        self.for_each_match(index, request, |id| {
            if found.len() < MATCHES_MAX {
                found.push(id);
            }
        });
        let mut settled = SettledRules::default();
        if found.is_empty() {
            return settled;
        }
        found.sort_unstable();
        found.dedup();
        let has = |id: u32, flag: RuleFlags| self.table.rules[id as usize].flags.contains(flag);
        let (exceptions, rules): (Vec<u32>, Vec<u32>) =
            found.into_iter().partition(|id| has(*id, RuleFlags::EXCEPTION));
        let is_taken_back = |rule: &u32| {
            exceptions.iter().any(|exception| {
                let may =
                    has(*exception, RuleFlags::IMPORTANT) || !has(*rule, RuleFlags::IMPORTANT);
                may && same(*exception, *rule)
            })
        };
        (settled.cancelled, settled.active) = rules.into_iter().partition(is_taken_back);
        settled.exceptions = exceptions;
        if settled.active.iter().any(|id| has(*id, RuleFlags::IMPORTANT)) {
            settled.active.retain(|id| has(*id, RuleFlags::IMPORTANT));
        }
        if !settled.active.is_empty() && self.is_in_allow_list(request) {
            settled.cancelled.append(&mut settled.active);
        }
        settled
    }

    pub(crate) fn resolve_rewrites(&self, request: &RuleRequest<'_>) -> SettledRules {
        self.resolve(&self.indexes.rewrites, request, |exception, rule| {
            match self.answers.rewrite(exception) {
                Some(DnsRewrite::Off) => true,
                value => value == self.answers.rewrite(rule),
            }
        })
    }

    pub(crate) fn resolve_parameter_removals(&self, request: &RuleRequest<'_>) -> SettledRules {
        self.resolve(&self.indexes.parameter_removals, request, |exception, rule| {
            match (self.answers.parameter_removal(exception), self.answers.parameter_removal(rule))
            {
                (Some(ParameterTrim::All), _) => true,
                (Some(value), Some(other)) => value.equals(other),
                (_, None) | (None, _) => false,
            }
        })
    }

    pub(crate) fn resolve_stand_ins(&self, request: &RuleRequest<'_>) -> SettledRules {
        self.resolve(&self.indexes.stand_ins, request, |exception, rule| {
            match (self.answers.stand_in(exception), self.answers.stand_in(rule)) {
                (Some(value), Some(other)) => value.name.is_empty() || value.name == other.name,
                (_, None) | (None, _) => false,
            }
        })
    }

    /// The answer to a look-up, if rules rewrite it.
    pub(crate) fn rewritten(&self, request: &RuleRequest<'_>) -> Option<RewrittenAnswer> {
        let holding = self.resolve_rewrites(request).active;
        let (mut rules, mut records) = (Vec::new(), Vec::new());
        for id in holding {
            let rule = self.table.rule_ref(id);
            let answer = match self.answers.rewrite(id)? {
                DnsRewrite::Off => continue,
                DnsRewrite::Record(record) => {
                    rules.push(rule);
                    records.push(record.clone());
                    continue;
                }
                DnsRewrite::Code(code) => RewriteAnswer::Code(*code),
                DnsRewrite::Alias(name) if name.as_name() == request.host() => continue,
                DnsRewrite::Alias(name) => RewriteAnswer::Alias(name.clone()),
            };
            // A name that is an alias has no other records, and an error has none at all.
            return Some(RewrittenAnswer { rules: vec![rule], answer });
        }
        let answer = RewriteAnswer::Records(records);
        (!rules.is_empty()).then_some(RewrittenAnswer { rules, answer })
    }

    /// The stand-in for a request that is blocked: that of the highest priority, then the first.
    pub(crate) fn stand_in(&self, request: &RuleRequest<'_>) -> VerdictManner {
        if !request.has_url() || self.indexes.stand_ins.is_empty() {
            return VerdictManner::Default;
        }
        let holding = self.resolve_stand_ins(request).active;
        let priority = |id: &u32| self.answers.stand_in(*id).map_or(0, |it| it.priority);
        // Of equals `max_by_key` gives the last.
        match holding.iter().rev().max_by_key(|id| priority(id)) {
            Some(id) if self.answers.stand_in(*id).is_some_and(|it| &*it.name != NO_STAND_IN) => {
                VerdictManner::StandIn(StandInId(*id))
            }
            Some(_) | None => VerdictManner::Default,
        }
    }

    /// The URL without what rules take off; none if they take nothing.
    pub(crate) fn without_parameters(
        &self,
        request: &RuleRequest<'_>,
        url: &str,
    ) -> Option<TrimmedUrl> {
        let query = UrlQuery::of(url)?;
        let holding = self.resolve_parameter_removals(request).active;
        let taking: Vec<(u32, &ParameterTrim)> = holding
            .into_iter()
            .filter_map(|id| Some((id, self.answers.parameter_removal(id)?)))
            .filter(|(_, trim)| query.parameters().any(|parameter| trim.removes(parameter)))
            .collect();
        if taking.is_empty() {
            return None;
        }
        let url = query.with(|parameter| !taking.iter().any(|(_, trim)| trim.removes(parameter)));
        Some(TrimmedUrl {
            url,
            rules: taking.iter().map(|(id, _)| self.table.rule_ref(*id)).collect(),
        })
    }

    /// True if a list of kind `allow` that holds for the client names the host or the URL.
    fn is_in_allow_list(&self, request: &RuleRequest<'_>) -> bool {
        let allows = |list: u8| {
            self.lists.get(usize::from(list)).is_some_and(|list| list.kind == ListKind::Allow)
        };
        let mut found = false;
        self.names.visit(&self.keys, request.host_name(), |row| {
            let list = row.tag.list();
            found |= allows(list)
                && row.tag.is_exception()
                && request.in_profile(list)
                && self.row_applies(row, request).is_ok();
        });
        if !found {
            let exceptions = &self.indexes.exceptions;
            self.for_each_match(exceptions, request, |id| {
                found |= allows(self.table.rules[id as usize].list);
            });
        }
        found
    }
}
