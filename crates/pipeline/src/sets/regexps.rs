//! Regular expressions about names, asked all at once and seldom.
//!
//! They run in linear time (the `regex` crate has no backtracking) and within a cap on their size.
//! Most hold some literal text that whatever matches must hold; one automaton looks for these texts
//! first, and only a name with one of them is shown to the expressions. Built when a set is built,
//! never while a question waits.

use super::bounds::{REGEXP_BYTES_MAX, REGEXPS_MAX};
use super::keywords::{KeywordSet, KeywordsBuilder};
use super::rule::BadRule;
use regex::bytes::{RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::hir::Hir;
use std::borrow::Cow;

/// Largest program of one expression, in bytes: what repetitions in repetitions would blow up.
pub const REGEXP_PROGRAM_BYTES_MAX: usize = 256 << 10;

/// Largest program of expressions that are asked together, in bytes; more make a second group.
const GROUP_BYTES_MAX: usize = 16 << 20;
/// Largest cache of a group's automaton, in bytes and for each thread that asks at the same time.
const GROUP_CACHE_BYTES_MAX: usize = 4 << 20;
/// Shortest literal that is worth looking for.
const LITERAL_BYTES_MIN: usize = 3;
/// Literals that many names hold, and which therefore keep few away.
const FREQUENT: [&str; 8] = [".com", ".net", ".org", ".io", ".cn", ".co", "www", "http"];
/// What an expression takes, in bytes: the 163 of the `v2fly` lists take 1.6 kB each when built,
/// and 2.8 kB with the caches of one thread that has asked 400,000 times.
const BYTES_EACH: usize = 3 << 10;

/// Tells whether letters of either case count as the same. Names are always lower-case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RegexpCase {
    /// They differ, as in mosdns: `A` matches no name.
    #[default]
    Differs,
    /// They are the same, as in OxiDNS.
    Same,
}

/// The expressions.
#[derive(Debug, Default)]
pub(crate) struct ExpressionSet {
    sources: Vec<ExpressionSource>,
    /// Literals of `gated`: none of those matches a name without one.
    gate: KeywordSet,
    gated: ExpressionGroup,
    open: ExpressionGroup,
}

/// An expression as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ExpressionSource {
    pub(crate) text: Box<str>,
    pub(crate) case: RegexpCase,
}

/// Expressions that are asked together.
#[derive(Debug, Default)]
struct ExpressionGroup {
    /// Which expressions they are.
    ids: Vec<usize>,
    /// Each with the place in `ids` of its first.
    sets: Vec<(usize, RegexSet)>,
}

/// Expressions in the making.
#[derive(Debug, Default)]
pub(crate) struct RegexpsBuilder {
    drafts: Vec<ExpressionDraft>,
}

#[derive(Debug)]
struct ExpressionDraft {
    source: ExpressionSource,
    /// As it is compiled.
    expression: String,
    literal: Option<String>,
}

impl RegexpsBuilder {
    /// Takes an expression, or says why it cannot be used. Gives its number.
    pub(crate) fn push(&mut self, text: &str, case: RegexpCase) -> Result<usize, BadRule> {
        if text.len() > REGEXP_BYTES_MAX {
            return Err(BadRule::RegexpTooLong);
        }
        if self.drafts.len() == REGEXPS_MAX {
            return Err(BadRule::TooManyRegexps);
        }
        let unquoted = unquote(text);
        // Names are ASCII, and what knows no other letters is small. An expression that names
        // others may do so: it is only slow to build.
        let (hir, expression) = if let Ok(hir) = parse(&unquoted) {
            (hir, case.apply(&unquoted))
        } else {
            let wide = format!("(?u){unquoted}");
            let hir = parse(&wide).map_err(|why| BadRule::Regexp(syntax_fault(&why)))?;
            (hir, case.apply(&wide))
        };
        RegexBuilder::new(&expression)
            .unicode(false)
            .size_limit(REGEXP_PROGRAM_BYTES_MAX)
            .build()
            .map_err(|why| BadRule::Regexp(reason(&why)))?;
        let source = ExpressionSource { text: text.into(), case };
        self.drafts.push(ExpressionDraft { source, expression, literal: literal_of(&hir) });
        Ok(self.drafts.len() - 1)
    }

    pub(crate) fn len(&self) -> usize {
        self.drafts.len()
    }

    pub(crate) fn build(self) -> ExpressionSet {
        let mut gate = KeywordsBuilder::default();
        let (mut gated, mut open) = (Vec::new(), Vec::new());
        for (id, draft) in self.drafts.iter().enumerate() {
            let is_gated = draft.literal.as_ref().is_some_and(|literal| gate.push(literal).is_ok());
            if is_gated { &mut gated } else { &mut open }.push(id);
        }
        ExpressionSet {
            gate: gate.build(),
            gated: ExpressionGroup::build(gated, &self.drafts),
            open: ExpressionGroup::build(open, &self.drafts),
            sources: self.drafts.into_iter().map(|draft| draft.source).collect(),
        }
    }
}

impl RegexpCase {
    fn apply(self, expression: &str) -> String {
        match self {
            Self::Differs => expression.to_owned(),
            Self::Same => format!("(?i){expression}"),
        }
    }
}

/// The expression with its `\Q...\E` escaped, which Go's syntax has and the `regex` crate has not
/// (RE2's syntax page: literal text, even if it has punctuation). One without an end runs to the
/// last byte.
fn unquote(text: &str) -> Cow<'_, str> {
    if !text.contains(r"\Q") {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(quoted) = rest.strip_prefix(r"\Q") {
            let (literal, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
            plain.push_str(&regex_syntax::escape(literal));
            rest = after;
        } else {
            // An escape is two characters: the second of `\\Q` quotes nothing.
            let long = rest.chars().take(2).map(char::len_utf8).sum();
            plain.push_str(&rest[..long]);
            rest = &rest[long..];
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn parse(expression: &str) -> Result<Hir, Box<regex_syntax::Error>> {
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    parser.parse(expression).map_err(Box::new)
}

/// The fault alone: the error's own text is several lines with an arrow.
fn syntax_fault(why: &regex_syntax::Error) -> String {
    match why {
        regex_syntax::Error::Parse(why) => why.kind().to_string(),
        regex_syntax::Error::Translate(why) => why.kind().to_string(),
        other => other.to_string(),
    }
}

fn reason(why: &regex::Error) -> String {
    match why {
        regex::Error::CompiledTooBig(bytes) => {
            format!("compiled it is larger than {} KiB: repeat less", bytes >> 10)
        }
        other => other.to_string(),
    }
}

impl ExpressionSet {
    /// True if one matches `name`.
    #[inline]
    pub(crate) fn is_match(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        self.gate.is_match(name) && self.gated.is_match(bytes) || self.open.is_match(bytes)
    }

    /// The first of them, in the order in which they were pushed, that matches `name`. Allocates
    /// where one does.
    pub(crate) fn first(&self, name: &str) -> Option<usize> {
        let bytes = name.as_bytes();
        let gated = if self.gate.is_match(name) { self.gated.first(bytes) } else { None };
        match (gated, self.open.first(bytes)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    pub(crate) fn sources(&self) -> &[ExpressionSource] {
        &self.sources
    }

    pub(crate) fn len(&self) -> usize {
        self.sources.len()
    }

    /// Bytes of memory, by what such expressions were measured to take.
    pub(crate) fn bytes(&self) -> u64 {
        self.gate.bytes() + (self.sources.len() * BYTES_EACH) as u64
    }
}

impl ExpressionGroup {
    fn build(ids: Vec<usize>, drafts: &[ExpressionDraft]) -> Self {
        let mut sets = Vec::new();
        let mut rest = vec![(0, ids.len())];
        while let Some((start, end)) = rest.pop().filter(|(start, end)| start < end) {
            let expressions = ids[start..end].iter().map(|id| &drafts[*id].expression);
            let built = RegexSetBuilder::new(expressions)
                .unicode(false)
                .size_limit(GROUP_BYTES_MAX)
                .dfa_size_limit(GROUP_CACHE_BYTES_MAX)
                .build();
            match built {
                Ok(set) => sets.push((start, set)),
                // Too large together: each alone was built when it was pushed.
                Err(_) if end - start > 1 => {
                    let middle = start.midpoint(end);
                    rest.extend([(middle, end), (start, middle)]);
                }
                Err(_) => {}
            }
        }
        Self { ids, sets }
    }

    #[inline]
    fn is_match(&self, name: &[u8]) -> bool {
        self.sets.iter().any(|(_, set)| set.is_match(name))
    }

    fn first(&self, name: &[u8]) -> Option<usize> {
        // Asked for a yes or no first: that does not allocate, and mostly it is no.
        let (start, set) = self.sets.iter().find(|(_, set)| set.is_match(name))?;
        set.matches(name).iter().next().map(|at| self.ids[start + at])
    }
}

/// A text that whatever matches must hold, if there is one that few other names hold.
fn literal_of(hir: &Hir) -> Option<String> {
    policy::required_literals(hir)
        .into_iter()
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        // Upper case matches no name, or is meant to match any: then the name holds the lower.
        .map(|literal| literal.to_ascii_lowercase())
        .filter(|it| it.len() >= LITERAL_BYTES_MIN && !FREQUENT.contains(&it.as_str()))
        .max_by_key(String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regexps(texts: &[&str], case: RegexpCase) -> ExpressionSet {
        let mut builder = RegexpsBuilder::default();
        for text in texts {
            builder.push(text, case).unwrap();
        }
        builder.build()
    }

    #[test]
    fn the_literal_that_fewest_names_hold_is_the_gate() {
        let literal = |text: &str| literal_of(&parse(text).unwrap());
        assert_eq!(literal(r"(^|\.)91porn[0-9]?\.store$").as_deref(), Some(".store"));
        assert_eq!(literal(r"javdb\d+\.com$").as_deref(), Some("javdb"));
        assert_eq!(literal(r"(^|\.)[a-z][0-9]\.com$"), None);
        assert_eq!(literal("one|two"), None);
        assert_eq!(literal("(ADS)[0-9]").as_deref(), Some("ads"));
    }

    #[test]
    fn the_first_that_matches_is_named() {
        let set = regexps(
            &[r"^[a-z]\.com$", r"tracker\d", r"^(a|tracker1)\.", r"[0-9]{4}"],
            RegexpCase::Differs,
        );
        assert_eq!(set.first("a.com"), Some(0));
        assert_eq!(set.first("tracker1.example"), Some(1));
        assert_eq!(set.first("x1234"), Some(3));
        assert_eq!(set.first("www.example"), None);
        assert!(set.is_match("a.com") && set.is_match("tracker1.example"));
        assert!(!set.is_match("www.example"));
    }

    #[test]
    fn quoted_text_is_taken_literally() {
        for (text, plain) in [
            (r"^\Qa.b\E\d$", r"^a\.b\d$"),
            (r"\Qads.[x", r"ads\.\[x"),
            (r"a\\Qb", r"a\\Qb"),
            (r"\Q\E\Q+\E", r"\+"),
            (r"\Qä.\Eö\", r"ä\.ö\"),
            (r"a.b\E", r"a.b\E"),
        ] {
            assert_eq!(unquote(text), plain, "{text}");
        }
        let set = regexps(&[r"^\Qads.example\E$"], RegexpCase::Differs);
        assert!(set.is_match("ads.example") && !set.is_match("adsxexample"));
        assert_eq!(&*set.sources()[0].text, r"^\Qads.example\E$");
        assert!(RegexpsBuilder::default().push(r"a\", RegexpCase::Differs).is_err());
    }

    #[test]
    fn groups_that_are_too_large_are_split() {
        // Each is within its cap; all together are not.
        let texts: Vec<String> = (0..160).map(|n| format!("^x{n}.{{0,2000}}end{n}$")).collect();
        let set = regexps(&texts.iter().map(String::as_str).collect::<Vec<_>>(), RegexpCase::Same);
        assert!(set.gated.sets.len() > 1, "{}", set.gated.sets.len());
        assert_eq!(set.first("x159-end159"), Some(159));
        assert_eq!(set.first("x3-end3"), Some(3));
        assert_eq!(set.first("x3-end4"), None);
    }
}
