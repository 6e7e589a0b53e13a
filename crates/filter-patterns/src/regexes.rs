//! Regular expressions in rules: read when a list is compiled, built when first needed.
//!
//! They run in linear time (the `regex` crate has no backtracking), over bytes, without Unicode
//! classes, and within a cap on their size. Look-around and back references are refused when the
//! list is read.

use crate::automata::{self, AutomatonExtent, WalkBudget};
use crate::pattern::{CaseMatching, is_token_byte};
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::sync::OnceLock;

/// Largest program of one expression, in bytes. EasyList's largest is about 40 kB.
const REGEX_BYTES_MAX: usize = 256 << 10;
/// Largest cache of one expression's lazy automaton, in bytes.
const REGEX_CACHE_BYTES_MAX: usize = 256 << 10;
/// Most expressions of a policy: each is built once to see that it can be, some 50 µs apiece, and
/// some milliseconds where it was made to hurt. EasyList has two dozen.
pub const REGEXES_MAX: usize = 3_000;

/// Automata of single expressions that are small enough to be held against any name: a search then
/// costs a nanosecond or two for each byte.
const WALK_ONE: WalkBudget = WalkBudget { states: 512, work: 1 << 19 };
/// The automaton of a group, which is one search in place of some dozens.
const WALK_GROUP: WalkBudget = WalkBudget { states: 4096, work: 1 << 22 };
/// Work for all expressions of a policy; about half a second on a small box. Those beyond are
/// refused.
pub const WALKS_MAX: usize = 1 << 26;

/// Largest program and largest cache of a group, in bytes: room for a thousand usual expressions.
const GROUP_BYTES_MAX: usize = 16 << 20;
const GROUP_CACHE_BYTES_MAX: usize = 4 << 20;

/// One expression, built when first asked.
#[derive(Debug, Default)]
pub struct LazyRegex(OnceLock<Option<Regex>>);

impl LazyRegex {
    /// True if it matches. What cannot be built matches nothing; compiling saw to it that it can.
    #[inline]
    pub fn is_match(&self, expression: &str, case: CaseMatching, text: &[u8]) -> bool {
        self.0
            .get_or_init(|| build(expression, case))
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

/// Expressions that nothing files under a token, asked all at once: a text that none of them
/// matches is read once, not once for each. Letters of either case count as the same.
#[derive(Debug, Default)]
pub struct RegexGroup {
    /// The rules, in their order.
    pub rules: Vec<u32>,
    set: OnceLock<Option<RegexSet>>,
}

impl RegexGroup {
    /// A group of these rules, in their order.
    pub fn new(rules: Vec<u32>) -> Self {
        Self { rules, set: OnceLock::new() }
    }

    /// The rules to be tried on this text: none if none matches. Where the group has too many
    /// states to be searched for as one, all of them: they are few, and each has few.
    #[inline]
    pub fn candidates<'t>(&self, text: &[u8], expression: impl Fn(u32) -> &'t str) -> &[u32] {
        if self.rules.is_empty() {
            return &[];
        }
        let set = self.set.get_or_init(|| {
            let all: Vec<&str> = self.rules.iter().map(|id| expression(*id)).collect();
            if automata::build_automaton(&all, CaseMatching::Same, WALK_GROUP).extent
                == AutomatonExtent::Unbounded
            {
                return None;
            }
            RegexSetBuilder::new(self.rules.iter().map(|id| expression(*id)))
                .unicode(false)
                .case_insensitive(true)
                .size_limit(GROUP_BYTES_MAX)
                .dfa_size_limit(GROUP_CACHE_BYTES_MAX)
                .build()
                .ok()
        });
        match set {
            Some(set) if !set.is_match(text) => &[],
            Some(_) | None => &self.rules,
        }
    }
}

fn build(expression: &str, case: CaseMatching) -> Option<Regex> {
    RegexBuilder::new(expression)
        .unicode(false)
        .case_insensitive(case == CaseMatching::Same)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_CACHE_BYTES_MAX)
        .build()
        .ok()
}

/// Facts about an expression, found before it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredExpression {
    /// The texts that whatever matches must hold, as a pattern: `*` stands between them, `^` where
    /// a token surely begins or ends.
    pub outline: Vec<u8>,
    /// Size of its automaton: unbounded ones are not held against every name.
    pub extent: AutomatonExtent,
    /// The work of finding that out.
    pub work: usize,
}

/// Reads an expression; none if it cannot be used.
pub fn read(expression: &str, case: CaseMatching) -> Option<MeasuredExpression> {
    let measured = measure(expression, case)?;
    build(expression, case)?;
    Some(measured)
}

/// The same of an expression that was used before.
pub fn measure(expression: &str, case: CaseMatching) -> Option<MeasuredExpression> {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    let mut outline = Vec::new();
    outline_of(&parser.parse(expression).ok()?, &mut outline);
    let walk = automata::build_automaton(&[expression], case, WALK_ONE);
    Some(MeasuredExpression { outline, extent: walk.extent, work: walk.work })
}

/// The texts that whatever matches an expression must hold; none if it cannot be read.
pub fn literals(expression: &str) -> Option<Vec<Vec<u8>>> {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    parser.parse(expression).ok().map(|hir| required_literals(&hir))
}

/// Writes what whatever matches `hir` must hold.
fn outline_of(hir: &Hir, outline: &mut Vec<u8>) {
    if is_boundary(hir) {
        outline.push(b'^');
        return;
    }
    match hir.kind() {
        HirKind::Literal(literal) => outline.extend_from_slice(&literal.0),
        HirKind::Capture(capture) => outline_of(&capture.sub, outline),
        HirKind::Concat(parts) => parts.iter().for_each(|part| outline_of(part, outline)),
        HirKind::Repetition(repeat) if repeat.min > 0 => {
            outline.push(b'*');
            outline_of(&repeat.sub, outline);
            outline.push(b'*');
        }
        HirKind::Empty => {}
        HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) | HirKind::Alternation(_) => {
            outline.push(b'*');
        }
    }
}

/// True for an expression that matches nothing but the start or the end of the text, or bytes that
/// no token holds.
fn is_boundary(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Look(Look::Start | Look::End) => true,
        HirKind::Literal(literal) => !literal.0.iter().any(|byte| is_token_byte(*byte)),
        HirKind::Class(Class::Bytes(class)) => {
            let mut bytes = class.iter().flat_map(|range| range.start()..=range.end());
            class.iter().next().is_some() && !bytes.any(is_token_byte)
        }
        HirKind::Capture(capture) => is_boundary(&capture.sub),
        HirKind::Repetition(repeat) => repeat.min > 0 && is_boundary(&repeat.sub),
        HirKind::Alternation(parts) => parts.iter().all(is_boundary),
        HirKind::Class(Class::Unicode(_))
        | HirKind::Empty
        | HirKind::Look(_)
        | HirKind::Concat(_) => false,
    }
}

/// The texts that whatever matches `hir` must hold: literal runs of a concatenation, or of groups
/// around one; alternatives promise nothing.
pub fn required_literals(hir: &Hir) -> Vec<Vec<u8>> {
    let mut literals = Vec::new();
    collect(hir, &mut literals);
    literals
}

fn collect(hir: &Hir, literals: &mut Vec<Vec<u8>>) {
    match hir.kind() {
        HirKind::Literal(literal) => literals.push(literal.0.to_vec()),
        HirKind::Capture(capture) => collect(&capture.sub, literals),
        HirKind::Concat(parts) => {
            for part in parts {
                collect(part, literals);
            }
        }
        HirKind::Repetition(repeat) if repeat.min > 0 => collect(&repeat.sub, literals),
        HirKind::Empty
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_occur_is_known_beforehand() {
        let outline = |expression| {
            let outline = read(expression, CaseMatching::Same).unwrap().outline;
            String::from_utf8(outline).unwrap()
        };
        assert_eq!(
            outline(r"^https?:\/\/[a-z]{8,15}\.com\/[a-z]+\.js$"),
            "^http*^***.com/***.js^",
            "a literal that only separates is a boundary"
        );
        assert_eq!(outline(r"(^|\.)ads\.example$"), "^ads.example^");
        assert_eq!(outline(r"[_.-]ads[._-]x?"), "^ads^*");
        assert_eq!(outline("(a|b)"), "*");
    }

    #[test]
    fn bombs_and_what_needs_backtracking_are_refused() {
        assert!(read("(?=ads)", CaseMatching::Same).is_none());
        assert!(read("((((a{100}){100}){100}){100})", CaseMatching::Same).is_none());
        assert!(read("(", CaseMatching::Same).is_none());
        assert!(read(&"(".repeat(10_000), CaseMatching::Same).is_none());
    }

    #[test]
    fn a_group_names_its_rules_only_where_one_matches() {
        let expressions = ["^ads?[0-9]+", "track(er|ing)"];
        let group = RegexGroup::new(vec![0, 1]);
        let found = |text: &[u8]| group.candidates(text, |id| expressions[id as usize]);
        assert_eq!(found(b"ads1.example"), [0, 1]);
        assert_eq!(found(b"TRACKER.example"), [0, 1]);
        assert!(found(b"www.example").is_empty());
    }

    #[test]
    fn case_counts_only_when_told() {
        assert!(LazyRegex::default().is_match("ADS[0-9]", CaseMatching::Same, b"/ads1"));
        assert!(!LazyRegex::default().is_match("ADS[0-9]", CaseMatching::Differs, b"/ads1"));
    }
}
