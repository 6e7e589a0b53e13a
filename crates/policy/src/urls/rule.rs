//! Rules with patterns or modifiers, as flat records: texts in one arena, conditions in one array.
//!
//! A record is 28 bytes and points into the arena for its text and its pattern. It is made by
//! `compile`, named by an index, and tested here in the order of cost. It knows no list and no
//! profile; `decide` does.

use super::conditions::{EntryPart, RuleClient, RuleConditions, TagPart};
use super::flags::{RuleFlags, type_bit};
use crate::places::place_of;
use crate::request::RuleRequest;
use crate::verdict::RuleOutcome;
use filter_patterns::regexes::LazyRegex;
use filter_patterns::{MatchStart, PatternTarget, behind_scheme};
use std::ops::Range;
use vocab::{ListId, RequestKind, RuleRef};

/// One rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrlRule {
    pub(crate) text: u32,
    pub(crate) pattern: u32,
    pub(crate) line: u32,
    pub(crate) conditions: u32,
    pub(crate) text_len: u16,
    pub(crate) pattern_len: u16,
    pub(crate) types: u16,
    pub(crate) flags: RuleFlags,
    pub(crate) list: u8,
}

/// All rules with patterns or modifiers.
#[derive(Debug, Default)]
pub(crate) struct RuleTable {
    pub(crate) rules: Vec<UrlRule>,
    pub(crate) texts: String,
    pub(crate) conditions: Vec<RuleConditions>,
    /// Fingerprints and record types; those of one part stand in order.
    pub(crate) numbers: Vec<u64>,
    pub(crate) clients: Vec<RuleClient>,
    /// Which rules are regular expressions, in order, and those expressions once built.
    pub(crate) regex_rules: Vec<u32>,
    pub(crate) regexes: Vec<LazyRegex>,
}

impl UrlRule {
    /// Returns what can be seen from the record alone. A rule about names, held against the host,
    /// is for every type; against a URL, only for those that it names.
    #[inline]
    pub(crate) fn check_record(
        &self,
        request: &RuleRequest<'_>,
        place: PatternTarget,
    ) -> Result<(), RuleOutcome> {
        if place == PatternTarget::Host {
            return Ok(());
        }
        if !request.has_url() {
            return Err(RuleOutcome::NotForNames);
        }
        if self.types & type_bit(request.kind()) == 0 {
            return Err(RuleOutcome::NotForThisType);
        }
        if self.flags.contains(RuleFlags::THIRD_PARTY.with(RuleFlags::FIRST_PARTY)) {
            let wanted = self.flags.contains(RuleFlags::THIRD_PARTY);
            if request.is_third_party() != Some(wanted) {
                return Err(RuleOutcome::NotForThisParty);
            }
        }
        Ok(())
    }
}

impl RuleTable {
    pub(crate) fn text(&self, rule: &UrlRule) -> &str {
        self.slice(rule.text, rule.text_len)
    }

    pub(crate) fn pattern(&self, rule: &UrlRule) -> &str {
        self.slice(rule.pattern, rule.pattern_len)
    }

    fn slice(&self, start: u32, length: u16) -> &str {
        let start = start as usize;
        // Ranges are made by `compile` or were checked with the snapshot.
        self.texts.get(start..start + usize::from(length)).unwrap_or_default()
    }

    pub(crate) fn rule_ref(&self, id: u32) -> RuleRef {
        let rule = &self.rules[id as usize];
        RuleRef { list: ListId(rule.list), line: rule.line }
    }

    /// The rule that stands there; rules are in the order of lists and lines.
    pub(crate) fn by_ref(&self, wanted: RuleRef) -> Option<&UrlRule> {
        let key = (wanted.list.0, wanted.line);
        let at = self.rules.binary_search_by_key(&key, |rule| (rule.list, rule.line)).ok()?;
        self.rules.get(at)
    }

    /// True if the pattern occurs in the URL, or in the host alone.
    #[inline]
    pub(crate) fn pattern_matches(
        &self,
        id: u32,
        request: &RuleRequest<'_>,
        place: PatternTarget,
    ) -> bool {
        let rule = &self.rules[id as usize];
        if rule.flags.contains(RuleFlags::HOST_ONLY) {
            return true;
        }
        let subject = request.subject(place, rule.flags.case());
        let pattern = self.pattern(rule);
        if rule.flags.contains(RuleFlags::REGEX) {
            let regex = self.regex_rules.binary_search(&id).ok();
            return regex.is_some_and(|at| {
                self.regexes[at].is_match(pattern, rule.flags.case(), subject.text)
            });
        }
        if place == PatternTarget::Host
            && let Some(host) = behind_scheme(pattern)
        {
            return subject.contains(host.as_bytes(), MatchStart::Text, rule.flags.end());
        }
        subject.contains(pattern.as_bytes(), rule.flags.start(), rule.flags.end())
    }

    /// Returns what the conditions say.
    #[inline]
    pub(crate) fn check_conditions(
        &self,
        rule: &UrlRule,
        request: &RuleRequest<'_>,
    ) -> Result<(), RuleOutcome> {
        let Some(conditions) = self.conditions.get(rule.conditions as usize) else { return Ok(()) };
        if !self.record_type_matches(conditions.record_types, request.kind()) {
            return Err(RuleOutcome::NotForThisType);
        }
        if !self.list_matches(conditions.pages, |only| request.page_is_among(only)) {
            return Err(RuleOutcome::NotForThisPage);
        }
        if !self.list_matches(conditions.hosts, |only| request.host_is_among(only)) {
            return Err(RuleOutcome::HostExempt);
        }
        let EntryPart { start, only, never } = conditions.clients;
        let clients = &self.clients[start as usize..][..usize::from(only) + usize::from(never)];
        let (only, never) = clients.split_at(usize::from(only));
        let named = |client: &RuleClient| request.client_is(client);
        if (!only.is_empty() && !only.iter().any(named)) || never.iter().any(named) {
            return Err(RuleOutcome::NotForThisClient);
        }
        let TagPart { only, never } = conditions.tags;
        let tags = request.client_tags();
        if (!only.is_empty() && !only.intersects(tags)) || never.intersects(tags) {
            return Err(RuleOutcome::NotForThisTag);
        }
        Ok(())
    }

    fn record_type_matches(&self, part: EntryPart, kind: RequestKind) -> bool {
        if part == EntryPart::default() {
            return true;
        }
        let RequestKind::Lookup(code) = kind else { return false };
        self.list_matches(part, |codes| codes.binary_search(&u64::from(code)).is_ok())
    }

    /// True if one of the numbers asked for is met, if any is, and none of the refused ones.
    #[inline]
    fn list_matches(&self, part: EntryPart, met: impl Fn(&[u64]) -> bool) -> bool {
        let (only, never) = self.numbers(part);
        (only.is_empty() || met(only)) && (never.is_empty() || !met(never))
    }

    pub(crate) fn numbers(&self, part: EntryPart) -> (&[u64], &[u64]) {
        let (only, never) = (usize::from(part.only), usize::from(part.never));
        self.numbers[part.start as usize..][..only + never].split_at(only)
    }

    /// Where the records and their texts lie in memory.
    pub(crate) fn places(&self) -> [Range<usize>; 2] {
        [place_of(&self.rules), place_of(self.texts.as_bytes())]
    }

    /// Bytes of memory, compiled expressions not counted.
    pub(crate) fn bytes(&self) -> u64 {
        let size = |length: usize, each: usize| (length * each) as u64;
        size(self.rules.capacity(), size_of::<UrlRule>())
            + self.texts.capacity() as u64
            + size(self.conditions.capacity(), size_of::<RuleConditions>())
            + size(self.numbers.capacity(), 8)
            + size(self.clients.capacity(), size_of::<RuleClient>())
            + size(self.regexes.capacity(), size_of::<LazyRegex>() + 4)
    }
}
