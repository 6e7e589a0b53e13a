//! Regular expressions among patterns: read when a list is compiled, built when first needed.
//!
//! They run in linear time (the `regex` crate has no backtracking), over bytes, whatever the case,
//! and within caps on their size. One is tried only where a URL holds a text that it must hold;
//! those without such a text are asked together. Called by `line` and `patterns`.

use super::line::BadUrlPattern;
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use std::sync::OnceLock;

/// Expressions of one block: each is built once to see that it can be, some 50 µs apiece.
pub const REGEXES_MAX: usize = 20_000;
/// Most expressions that hold no text of [`LITERAL_BYTES_MIN`]: every URL is held against each.
pub const REGEXES_BARE_MAX: usize = 64;
/// The shortest text that is worth looking for.
pub(super) const LITERAL_BYTES_MIN: usize = 3;

/// Largest program of one expression, and largest cache of its automaton, in bytes.
const REGEX_BYTES_MAX: usize = 128 << 10;
/// The same of all that are asked together.
const BARE_BYTES_MAX: usize = 4 << 20;

/// One expression, built when first asked.
#[derive(Debug, Default)]
pub(super) struct LazyExpression(OnceLock<Option<Regex>>);

impl LazyExpression {
    /// True if it matches. Compiling saw to it that it can be built.
    pub(super) fn is_match(&self, expression: &str, url: &[u8]) -> bool {
        let regex = self.0.get_or_init(|| build(expression).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(url))
    }
}

/// Expressions without a text to look for.
#[derive(Debug)]
pub(super) struct BareExpressions {
    set: RegexSet,
    rules: Vec<u32>,
}

impl BareExpressions {
    /// Of rules and their expressions.
    pub(super) fn new(rules: &[(u32, &str)]) -> Result<Self, regex::Error> {
        let set = RegexSetBuilder::new(rules.iter().map(|(_, expression)| expression))
            .unicode(false)
            .case_insensitive(true)
            .size_limit(BARE_BYTES_MAX)
            .dfa_size_limit(BARE_BYTES_MAX)
            .build()?;
        Ok(Self { set, rules: rules.iter().map(|(rule, _)| *rule).collect() })
    }

    /// The first rule that matches.
    pub(super) fn find(&self, url: &[u8]) -> Option<usize> {
        if self.rules.is_empty() {
            return None;
        }
        let found = self.set.matches(url).iter().next()?;
        self.rules.get(found).map(|rule| *rule as usize)
    }
}

fn build(expression: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(expression)
        .unicode(false)
        .case_insensitive(true)
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(REGEX_BYTES_MAX)
        .build()
}

/// The texts, in lower case, that whatever matches holds.
pub(super) fn read(expression: &str) -> Result<Vec<Vec<u8>>, BadUrlPattern> {
    // What regex says of a syntax error is several lines with an arrow: the last one says why.
    let brief = |why: String| why.lines().last().unwrap_or_default().trim().to_owned();
    let bad = |why: String| BadUrlPattern::Regex(brief(why));
    let hir = regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .parse(expression)
        .map_err(|why| bad(why.to_string()))?;
    let regex = build(expression).map_err(|why| bad(why.to_string()))?;
    if regex.is_match(b"") || regex.is_match(b"/") && regex.is_match(b"/x/?y") {
        return Err(BadUrlPattern::MatchesAll);
    }
    let mut literals = policy::required_literals(&hir);
    for literal in &mut literals {
        literal.make_ascii_lowercase();
    }
    Ok(literals)
}
