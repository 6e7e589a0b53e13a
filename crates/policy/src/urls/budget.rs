//! Budgets for what rules cost the requests that come across them, by where they are filed.
//!
//! A request tries every rule of each shelf that it reaches: those of its host, of its tokens, of
//! its page, and those that nothing could be filed under. Whoever writes a list decides what stands
//! there, so each shelf has a budget, and a rule beyond it is refused with a reason. A unit is some
//! 25 nanoseconds on a machine of 2020; a name reaches one shelf of its own and three or four of
//! tokens, which makes 40 microseconds at the very most. Used by `index` when rules are filed.

use super::flags::RuleFlags;
use super::rule::RuleTable;
use filter_patterns::AutomatonExtent;
use std::collections::HashMap;

/// Units of a pattern without stars, or with a few.
const PATTERN_UNITS: u32 = 2;
/// Stars of a pattern for a unit more.
const STARS_PER_UNIT: usize = 8;
/// Entries of `$client=` for a unit more: they are compared one by one.
const CLIENTS_PER_UNIT: u32 = 4;
/// Units of an expression whose automaton is bounded, held against a name, and against a URL, which
/// is ten times as long.
const EXPRESSION_UNITS: u32 = 2;
const EXPRESSION_URL_UNITS: u32 = 16;
/// Units of any other expression: a search of a long URL may take microseconds.
const UNBOUNDED_UNITS: u32 = 256;

/// Shelves by what leads to them, each with the hash that it is found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RuleShelf {
    /// Rules about URLs of a host.
    Host(u64),
    /// Rules about URLs with a token.
    Token(u64),
    /// Rules about URLs with four bytes in a row.
    Gram(u64),
    /// Rules about what pages of a host fetch.
    Page(u64),
    /// Rules about any URL.
    AnyUrl,
    /// Rules about names with a token.
    NameToken(u64),
    /// Rules about any name.
    AnyName,
}

/// Units that the rules of a shelf may cost.
impl RuleShelf {
    const fn budget(self) -> u32 {
        match self {
            Self::Host(_) | Self::Page(_) => 16_384,
            Self::Token(_) | Self::Gram(_) => 4096,
            // Generic `$removeparam` rules: the lists that people use have some two thousand.
            Self::AnyUrl => 8192,
            Self::NameToken(_) => 256,
            Self::AnyName => 512,
        }
    }

    const fn is_for_names(self) -> bool {
        matches!(self, Self::NameToken(_) | Self::AnyName)
    }
}

/// Costs of the rules that were filed, shelf by shelf.
#[derive(Default)]
pub(crate) struct ShelfCosts(HashMap<RuleShelf, u32>);

/// Cost of a rule to a request that comes across it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleCost {
    for_names: u32,
    for_urls: u32,
    extent: AutomatonExtent,
}

impl RuleCost {
    /// The cost of a rule; `extent` is what a walk of its expression said.
    pub(crate) fn of(table: &RuleTable, id: u32, extent: AutomatonExtent) -> Self {
        let rule = &table.rules[id as usize];
        let clients = table
            .conditions
            .get(rule.conditions as usize)
            .map_or(0, |it| u32::from(it.clients.only) + u32::from(it.clients.never));
        let pattern = match (rule.flags.contains(RuleFlags::REGEX), extent) {
            (true, AutomatonExtent::Unbounded) => (UNBOUNDED_UNITS, UNBOUNDED_UNITS),
            (true, AutomatonExtent::Bounded) => (EXPRESSION_UNITS, EXPRESSION_URL_UNITS),
            (false, _) => {
                let stars = table.pattern(rule).bytes().filter(|byte| *byte == b'*').count();
                let units = PATTERN_UNITS + (stars / STARS_PER_UNIT) as u32;
                (units, units)
            }
        };
        let (for_names, for_urls) = pattern;
        let more = clients / CLIENTS_PER_UNIT;
        Self { for_names: for_names + more, for_urls: for_urls + more, extent }
    }

    const fn units_on(self, place: RuleShelf) -> u32 {
        if place.is_for_names() { self.for_names } else { self.for_urls }
    }
}

impl ShelfCosts {
    /// Counts a rule on all of these shelves; false, and nothing counted, where one has no room.
    pub(crate) fn admit(&mut self, shelves: &[RuleShelf], cost: RuleCost) -> bool {
        let fits = |shelf: &RuleShelf| {
            let spent = self.0.get(shelf).copied().unwrap_or(0);
            // Any request would pay for it, or any name with a common word.
            let is_too_wide = cost.extent == AutomatonExtent::Unbounded
                && (shelf.is_for_names() || *shelf == RuleShelf::AnyUrl);
            !is_too_wide && spent + cost.units_on(*shelf) <= shelf.budget()
        };
        if !shelves.iter().all(fits) {
            return false;
        }
        for shelf in shelves {
            *self.0.entry(*shelf).or_default() += cost.units_on(*shelf);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{ListKind, SkipReason};
    use crate::{Ask, ClientProfiles, ListSource, Policy, compile};
    use std::fmt::Write;
    use vocab::{Name, Now};

    const NOW: Now = Now { unix_ms: 0, mono_ms: 0 };

    /// Makes a policy of a list of so many lines; says how many are in force.
    fn hostile(count: u32, line: impl Fn(u32) -> String) -> (Policy, u32) {
        let mut text = String::new();
        for number in 0..count {
            writeln!(text, "{}", line(number)).unwrap();
        }
        let source = ListSource {
            name: "hostile",
            kind: ListKind::Block,
            text: text.as_bytes(),
            files: &[],
        };
        let rules = compile(&[source], 7);
        let report = &rules.lists()[0];
        let refused = report.skipped_by_reason.iter().find(|(it, _)| *it == SkipReason::TooDear);
        assert!(refused.is_some(), "nothing of {} is refused", line(0));
        let taken = report.rules_names + report.rules_urls;
        (Policy::new(rules.into(), ClientProfiles::everyone()), taken)
    }

    /// Number of rules that are tried for a look-up.
    fn tried(policy: &Policy, host: &str) -> usize {
        let host = Name::from_lowercase(host).unwrap();
        let ask = Ask::addresses(host, [192, 0, 2, 1].into());
        let rules = policy.rules();
        policy.with_request(&ask, NOW, |request| {
            let mut tried = 0;
            rules.indexes.blocks.visit(&rules.table, request, |_, _| tried += 1);
            rules.names.visit(&rules.keys, host.as_str(), |_| tried += 1);
            tried
        })
    }

    #[test]
    fn thousands_of_costly_patterns_cost_a_name_some_hundred_comparisons() {
        let stars = |number| format!("||*abc*.7*a*b*c{number}^");
        let tokens = |number| format!("||*q{number}x*.com^");
        let named = |number| format!("||www.com^$client=c{number}");
        let single = |number| format!("/[a-z]{{3}}x{number}[0-9]/");
        for line in [&stars as &dyn Fn(u32) -> String, &tokens, &named, &single] {
            let (policy, taken) = hostile(2900, line);
            assert!(taken >= 60, "the first {taken} are in force");
            for host in ["www.com", "www.q7x.com", "abc.7a.b.c.com", "x.example"] {
                let tried = tried(&policy, host);
                assert!(tried <= 512, "{tried} rules like {} are tried for {host}", line(0));
            }
        }
    }

    #[test]
    fn expressions_whose_states_do_not_end_are_refused() {
        let line =
            |number| format!("/(a|b|c|d{number}){{1,40}}[a-z0-9]{{3,60}}x{number}[a-z]{{5,50}}/");
        let (policy, taken) = hostile(3000, line);
        assert_eq!(taken, 0);
        assert_eq!(tried(&policy, "www.example.com"), 0);
    }
}
