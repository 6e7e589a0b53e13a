//! Regular expressions in rules: read when a list is compiled, built when first needed.
//!
//! They run in linear time (the `regex` crate has no backtracking), over bytes, without Unicode
//! classes, and within a cap on their size. Look-around and back references are refused when the
//! list is read.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::hir::{Hir, HirKind};
use std::sync::OnceLock;

/// Largest program of one expression, in bytes. EasyList's largest is about 40 kB.
const REGEX_BYTES_MAX: usize = 256 << 10;
/// Largest cache of one expression's lazy automaton, in bytes.
const REGEX_CACHE_BYTES_MAX: usize = 256 << 10;
/// Most expressions of a policy: each is built once to see that it can be, some 50 µs apiece, and
/// some milliseconds where it was made to hurt. EasyList has two dozen.
pub(crate) const REGEXES_MAX: usize = 3_000;

/// Largest program and largest cache of a group, in bytes: room for a thousand usual expressions.
const GROUP_BYTES_MAX: usize = 16 << 20;
const GROUP_CACHE_BYTES_MAX: usize = 4 << 20;

/// Whether letters of either case count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Same,
    Differs,
}

/// One expression, built when first asked.
#[derive(Debug, Default)]
pub(crate) struct Lazy(OnceLock<Option<Regex>>);

impl Lazy {
    /// Whether it matches. What cannot be built matches nothing; compiling saw to it that it can.
    pub(crate) fn is_match(&self, expression: &str, case: Case, text: &[u8]) -> bool {
        self.0
            .get_or_init(|| build(expression, case))
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

/// Expressions that nothing files under a token, asked all at once: a text that none of them matches
/// is read once, not once for each. Letters of either case count as the same.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The rules, in their order.
    pub(crate) rules: Vec<u32>,
    set: OnceLock<Option<RegexSet>>,
}

impl Group {
    pub(crate) fn new(rules: Vec<u32>) -> Self {
        Self { rules, set: OnceLock::new() }
    }

    /// The rules to be tried on this text: none if none matches. Where the group is too large to be
    /// built as one, all of them.
    pub(crate) fn candidates<'t>(
        &self,
        text: &[u8],
        expression: impl Fn(u32) -> &'t str,
    ) -> &[u32] {
        if self.rules.is_empty() {
            return &[];
        }
        let set = self.set.get_or_init(|| {
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

fn build(expression: &str, case: Case) -> Option<Regex> {
    RegexBuilder::new(expression)
        .unicode(false)
        .case_insensitive(case == Case::Same)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_CACHE_BYTES_MAX)
        .build()
        .ok()
}

/// The literal texts that whatever matches must hold, longest runs first as they stand; none if
/// the expression cannot be used.
pub(crate) fn read(expression: &str, case: Case) -> Option<Vec<Vec<u8>>> {
    let literals = literals(expression)?;
    build(expression, case)?;
    Some(literals)
}

/// The same of an expression that was used before.
pub(crate) fn literals(expression: &str) -> Option<Vec<Vec<u8>>> {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    parser.parse(expression).ok().map(|hir| required_literals(&hir))
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
        let literals = read(r"^https?:\/\/[a-z]{8,15}\.com\/[a-z]+\.js$", Case::Same).unwrap();
        assert!(literals.contains(&b".com/".to_vec()), "{literals:?}");
        assert_eq!(read("a|b", Case::Same).unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn bombs_and_what_needs_backtracking_are_refused() {
        assert!(read("(?=ads)", Case::Same).is_none());
        assert!(read("((((a{100}){100}){100}){100})", Case::Same).is_none());
        assert!(read("(", Case::Same).is_none());
        assert!(read(&"(".repeat(10_000), Case::Same).is_none());
    }

    #[test]
    fn a_group_names_its_rules_only_where_one_matches() {
        let expressions = ["^ads?[0-9]+", "track(er|ing)"];
        let group = Group::new(vec![0, 1]);
        let found = |text: &[u8]| group.candidates(text, |id| expressions[id as usize]);
        assert_eq!(found(b"ads1.example"), [0, 1]);
        assert_eq!(found(b"TRACKER.example"), [0, 1]);
        assert!(found(b"www.example").is_empty());
    }

    #[test]
    fn case_counts_only_when_told() {
        assert!(Lazy::default().is_match("ADS[0-9]", Case::Same, b"/ads1"));
        assert!(!Lazy::default().is_match("ADS[0-9]", Case::Differs, b"/ads1"));
    }
}
