//! The size of the automaton of an expression, found by walking it: a bound on what a search costs.
//!
//! A lazy automaton reads a byte in a nanosecond or two as long as its states fit into its cache.
//! An expression whose states do not end (`(a|b)*a(a|b){20}`) throws the cache away again and again
//! and falls back to a search that costs as much for each byte as the expression is long. So every
//! expression is walked when its list is read, within a budget of work, not of time. Used by
//! `regexes`.

use crate::pattern::CaseMatching;
use regex_automata::MatchKind;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, util::alphabet::Unit};
use std::collections::HashSet;

/// Bytes of states beyond which a walk ends, whatever its budget: far more than budgets reach.
const CACHE_BYTES: usize = 32 << 20;
/// Largest program that is walked at all, in bytes.
const PROGRAM_BYTES_MAX: usize = 1 << 20;

/// Limits of a walk through an automaton.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkBudget {
    /// Most states.
    pub(crate) states: usize,
    /// Most steps, each weighed with the parts of the expression that it is about.
    pub(crate) work: usize,
}

/// Result of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AutomatonWalk {
    /// Share of the states that it saw.
    pub(crate) extent: AutomatonExtent,
    /// The work that it took.
    pub(crate) work: usize,
}

/// Size of an automaton.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AutomatonExtent {
    /// All of its states were seen.
    #[default]
    Bounded,
    /// The budget was used up.
    Unbounded,
}

/// Walks the automaton that searches for any of some expressions.
pub(crate) fn build_automaton(
    expressions: &[&str],
    case: CaseMatching,
    budget: WalkBudget,
) -> AutomatonWalk {
    let unbounded = |work| AutomatonWalk { extent: AutomatonExtent::Unbounded, work };
    let syntax = syntax::Config::new().unicode(false).utf8(false);
    let match_kind = if expressions.len() > 1 { MatchKind::All } else { MatchKind::LeftmostFirst };
    let automaton = DFA::builder()
        .syntax(syntax.case_insensitive(case == CaseMatching::Same))
        .thompson(
            thompson::Config::new()
                .utf8(false)
                .which_captures(WhichCaptures::None)
                .nfa_size_limit(Some(PROGRAM_BYTES_MAX)),
        )
        .configure(DFA::config().match_kind(match_kind).cache_capacity(CACHE_BYTES))
        .build_many(expressions);
    let Ok(automaton) = automaton else { return unbounded(0) };
    let mut cache = automaton.create_cache();
    let Ok(start) = automaton.start_state_forward(&mut cache, &Input::new(b"")) else {
        return unbounded(0);
    };
    let units: Vec<u8> =
        automaton.byte_classes().representatives(..).filter_map(Unit::as_u8).collect();
    let (mut seen, mut waiting) = (HashSet::from([start]), vec![start]);
    let (mut work, mut bytes) = (0, cache.memory_usage());
    // The first state's own size is not known; those that follow it tell theirs as they come.
    let mut weight = automaton.get_nfa().states().len();
    while let Some(state) = waiting.pop() {
        work += units.len() * weight;
        if seen.len() > budget.states || work > budget.work {
            return unbounded(work);
        }
        for unit in &units {
            let Ok(next) = automaton.next_state(&mut cache, state, *unit) else {
                return unbounded(work);
            };
            // A search ends at its first match.
            let ends = next.is_dead() || next.is_quit() || next.is_match();
            if !ends && seen.insert(next) {
                waiting.push(next);
            }
        }
        if cache.clear_count() > 0 {
            return unbounded(work);
        }
        // A state keeps the parts that it stands for, in about a byte each.
        let grown = cache.memory_usage();
        weight = weight.midpoint((grown - bytes.min(grown)) / units.len().max(1));
        bytes = grown;
    }
    AutomatonWalk { extent: AutomatonExtent::Bounded, work }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_automata_whose_states_end_are_bounded() {
        let budget = WalkBudget { states: 512, work: 1 << 19 };
        let extent = |expression| build_automaton(&[expression], CaseMatching::Same, budget).extent;
        for expression in [
            r"(^|\.)ads\.example$",
            r"^https?:\/\/[a-z]{8,15}\.com\/[a-z]+\.js$",
            "[a-z0-9]{3,60}x1",
            r"^(.+[_.-])?adse?rv(er?|ice)?s?[0-9]*[_.-]",
        ] {
            assert_eq!(extent(expression), AutomatonExtent::Bounded, "{expression}");
        }
        for expression in [
            "(a|b)*a(a|b){20}",
            "(a|b|c|d1){1,40}[a-z0-9]{3,60}x1[a-z]{5,50}",
            "a.{0,200}b.{0,200}c",
        ] {
            assert_eq!(extent(expression), AutomatonExtent::Unbounded, "{expression}");
        }
        let long = "(ab?c?){40}".repeat(40);
        assert!(
            build_automaton(&[&long], CaseMatching::Same, budget).work < 1 << 21,
            "a walk ends soon"
        );
    }
}
