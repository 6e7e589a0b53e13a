//! Regular expressions in rules: read when a list is compiled, built when first needed.
//!
//! They run in linear time (the `regex` crate has no backtracking), over bytes, without Unicode
//! classes, and within a cap on their size. Look-around and back references are refused when the
//! list is read.

use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use std::sync::OnceLock;

/// Largest program of one expression, in bytes. EasyList's largest is about 40 kB.
const REGEX_BYTES_MAX: usize = 256 << 10;
/// Largest cache of one expression's lazy automaton, in bytes.
const REGEX_CACHE_BYTES_MAX: usize = 256 << 10;
/// Most expressions of a policy: each is built once to see that it can be, some 50 µs apiece, and
/// some milliseconds where it was made to hurt. EasyList has two dozen.
pub(crate) const REGEXES_MAX: usize = 3_000;

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
    let hir = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .parse(expression)
        .ok()?;
    build(expression, case)?;
    let mut literals = Vec::new();
    collect(&hir, &mut literals);
    Some(literals)
}

/// Literal runs of a concatenation, or of groups around one; alternatives promise nothing.
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
    fn case_counts_only_when_told() {
        assert!(Lazy::default().is_match("ADS[0-9]", Case::Same, b"/ads1"));
        assert!(!Lazy::default().is_match("ADS[0-9]", Case::Differs, b"/ads1"));
    }
}
