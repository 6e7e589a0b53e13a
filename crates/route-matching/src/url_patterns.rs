//! URL patterns of a block: one index, however many there are.
//!
//! Each pattern is filed under a few of its bytes (`grams`); a URL is read once, and only patterns
//! whose bytes stand in it are held against it. So the cost does not grow with the number of
//! patterns. Built when the door takes its settings; the request path only matches and counts.

mod grams;
mod line;
mod regexes;

pub use self::line::{BadUrlPattern, PATTERN_BYTES_MAX};
pub use self::regexes::{REGEXES_BARE_MAX, REGEXES_MAX};

use self::grams::{GramCounts, GramIndex, GramKey};
use self::line::{MatchedUrl, PatternAnchor, PatternLine};
use self::regexes::{BareExpressions, LITERAL_BYTES_MIN, LazyExpression};
use policy::place_of;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Largest pattern file: a million patterns of ordinary length.
pub const PATTERNS_FILE_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of the texts of one block: offsets are 32 bits.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// Compiled patterns with their counters.
#[derive(Debug)]
pub struct PatternSet {
    /// Every pattern as it was written, and again in lower case where that differs.
    texts: String,
    rules: Box<[CountedPattern]>,
    grams: GramIndex,
    /// The regular expressions, by the numbers of their rules, which stand in order.
    regexes: Box<[(u32, LazyExpression)]>,
    bare: BareExpressions,
}

/// One pattern with its counter: half a line of the processor's cache, which a hit has read
/// already when it counts. Of a million patterns each line more is a wait for memory.
#[derive(Debug)]
#[repr(align(32))]
struct CountedPattern {
    pattern: CompiledPattern,
    hits: AtomicU64,
}

const _: () = assert!(size_of::<CountedPattern>() == 32);

/// One pattern.
#[derive(Clone, Copy, Debug)]
struct CompiledPattern {
    /// Where it stands, from 1.
    line: u32,
    /// As it was written, in `texts`.
    text: u32,
    text_len: u16,
    /// Text that is looked for: in lower case unless it is an expression.
    body_len: u16,
    body: u32,
    /// Where in the body its gram stands.
    gram: u16,
    kind: PatternKind,
}

/// Tells how a pattern is held against a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternKind {
    /// Body stands there.
    Plain,
    /// Pieces stand there in their order.
    Glob { start: PatternAnchor, end: PatternAnchor },
    /// Is a regular expression.
    Regex,
}

/// Why patterns cannot be compiled.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternsError {
    /// This line is none.
    Line {
        /// From 1.
        line: u32,
        /// Why.
        why: BadUrlPattern,
    },
    /// There is more text than [`TEXT_BYTES_MAX`].
    TooMuchText,
    /// There are more than [`REGEXES_MAX`].
    TooManyRegexes,
    /// So many, more than [`REGEXES_BARE_MAX`], hold no text to look for.
    TooManyBareRegexes(usize),
    /// The expressions that hold no text to look for are too large together.
    BareRegexes(regex::Error),
}

/// Returns whether one line is a pattern, a comment or empty.
pub fn check_pattern_line(line: &str) -> Result<(), BadUrlPattern> {
    line::read(line).map(drop)
}

/// Patterns that are being read.
#[derive(Default)]
struct PatternDraft {
    texts: String,
    rules: Vec<CompiledPattern>,
    /// The texts of expressions, by the number of the rule.
    literals: Vec<(u32, Vec<Vec<u8>>)>,
}

impl PatternDraft {
    fn add(&mut self, number: u32, written: &str) -> Result<(), PatternsError> {
        let line = line::read(written).map_err(|why| PatternsError::Line { line: number, why })?;
        let (body, kind) = match line {
            PatternLine::Blank => return Ok(()),
            PatternLine::Glob { body, start: PatternAnchor::Free, end: PatternAnchor::Free }
                if !body.contains('*') =>
            {
                (body, PatternKind::Plain)
            }
            PatternLine::Glob { body, start, end } => (body, PatternKind::Glob { start, end }),
            PatternLine::Regex { expression, literals } => {
                if self.literals.len() >= REGEXES_MAX {
                    return Err(PatternsError::TooManyRegexes);
                }
                self.literals.push((self.rules.len() as u32, literals));
                (expression, PatternKind::Regex)
            }
        };
        if self.texts.len() > TEXT_BYTES_MAX {
            return Err(PatternsError::TooMuchText);
        }
        let written = written.trim();
        let text = self.texts.len() as u32;
        self.texts.push_str(written);
        let as_written =
            kind == PatternKind::Regex || !body.bytes().any(|byte| byte.is_ascii_uppercase());
        let at = if as_written {
            text + (body.as_ptr().addr() - written.as_ptr().addr()) as u32
        } else {
            self.texts.push_str(&body.to_ascii_lowercase());
            text + written.len() as u32
        };
        // Lines are at most [`PATTERN_BYTES_MAX`] long, so lengths fit 16 bits.
        let (text_len, body_len) = (written.len() as u16, body.len() as u16);
        self.rules.push(CompiledPattern {
            line: number,
            text,
            text_len,
            body_len,
            body: at,
            gram: 0,
            kind,
        });
        Ok(())
    }

    /// The texts that must stand in a URL which the rule matches: pieces, or literals.
    fn with_texts<R>(&self, id: u32, then: impl FnOnce(&[&[u8]]) -> R) -> R {
        let rule = &self.rules[id as usize];
        if rule.kind == PatternKind::Regex {
            let at = self.literals.binary_search_by_key(&id, |(rule, _)| *rule);
            let literals = at.map_or(&[][..], |at| &self.literals[at].1);
            let long = literals.iter().filter(|literal| literal.len() >= LITERAL_BYTES_MIN);
            return then(&long.map(Vec::as_slice).collect::<Vec<_>>());
        }
        let body = body_of(&self.texts, rule).as_bytes();
        if rule.kind == PatternKind::Plain {
            return then(&[body]);
        }
        then(&body.split(|byte| *byte == b'*').collect::<Vec<_>>())
    }

    fn finish(mut self) -> Result<PatternSet, PatternsError> {
        let mut counts = GramCounts::new();
        let ids = 0..self.rules.len() as u32;
        ids.clone().for_each(|id| self.with_texts(id, |texts| counts.add(texts)));
        let (mut filed, mut bare) = (Vec::with_capacity(self.rules.len()), Vec::new());
        for id in ids {
            let found = self.with_texts(id, |texts| {
                let gram = counts.rarest(texts)?;
                let before: usize = texts[..gram.text].iter().map(|text| text.len() + 1).sum();
                Some((gram, before + gram.at))
            });
            match found {
                Some((gram, at)) => {
                    self.rules[id as usize].gram = at as u16;
                    filed.push((gram, id));
                }
                None => bare.push((id, body_of(&self.texts, &self.rules[id as usize]))),
            }
        }
        let grams = GramIndex::build(&filed as &[(GramKey, u32)]);
        if bare.len() > REGEXES_BARE_MAX {
            return Err(PatternsError::TooManyBareRegexes(bare.len()));
        }
        let bare = BareExpressions::new(&bare).map_err(PatternsError::BareRegexes)?;
        let regexes =
            self.literals.iter().map(|(id, _)| (*id, LazyExpression::default())).collect();
        self.texts.shrink_to_fit();
        let counted = |pattern| CountedPattern { pattern, hits: AtomicU64::new(0) };
        let rules = self.rules.into_iter().map(counted).collect();
        Ok(PatternSet { texts: self.texts, rules, grams, regexes, bare })
    }
}

fn body_of<'t>(texts: &'t str, rule: &CompiledPattern) -> &'t str {
    let start = rule.body as usize;
    texts.get(start..start + usize::from(rule.body_len)).unwrap_or_default()
}

impl PatternSet {
    /// Compiles one pattern a line.
    pub fn compile<'t>(lines: impl Iterator<Item = &'t str>) -> Result<Self, PatternsError> {
        let mut draft = PatternDraft::default();
        for (index, text) in lines.enumerate() {
            draft.add(u32::try_from(index + 1).unwrap_or(u32::MAX), text)?;
        }
        draft.finish()
    }

    /// Returns how many patterns there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Where its tables lie in memory, as ranges of addresses: a hit reads a few lines of them, at
    /// random. For whoever chooses the pages that memory comes in.
    pub fn tables(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let own = [place_of(&self.rules), place_of(self.texts.as_bytes())];
        own.into_iter().chain(self.grams.tables())
    }

    /// The line of a pattern that `url` (path and query) matches, as sent or percent-decoded. The
    /// match is counted.
    pub fn hit(&self, url: &str) -> Option<u32> {
        let found = &self.rules[self.find_in(url)?];
        found.hits.fetch_add(1, Relaxed);
        Some(found.pattern.line)
    }

    /// The same, uncounted.
    pub fn line_of(&self, url: &str) -> Option<u32> {
        self.find_in(url).map(|found| self.rules[found].pattern.line)
    }

    fn find_in(&self, url: &str) -> Option<usize> {
        self.find(url.as_bytes()).or_else(|| {
            match Cow::from(percent_encoding::percent_decode_str(url)) {
                Cow::Borrowed(_) => None,
                Cow::Owned(decoded) => self.find(&decoded),
            }
        })
    }

    fn find(&self, url: &[u8]) -> Option<usize> {
        let lower = url.to_ascii_lowercase();
        let matched = MatchedUrl::new(&lower);
        // Whether a whole pattern fits does not depend on where its gram was found: each is tried
        // once, or a long URL of one letter would cost its length squared.
        let mut tried: Option<HashSet<u32>> = None;
        let mut first_try = |id| tried.get_or_insert_default().insert(id);
        let found = self.grams.visit(&lower, |id, at| {
            let rule = &self.rules[id as usize].pattern;
            let (body, gram) = (body_of(&self.texts, rule), usize::from(rule.gram));
            let fits = match rule.kind {
                PatternKind::Plain => {
                    let start = at.checked_sub(gram);
                    start.is_some_and(|start| lower[start..].starts_with(body.as_bytes()))
                }
                PatternKind::Glob { start, end } => {
                    let piece = body.as_bytes()[gram..].split(|byte| *byte == b'*').next();
                    piece.is_some_and(|piece| lower[at..].starts_with(piece))
                        && first_try(id)
                        && line::matches(body.as_bytes(), start, end, &matched)
                }
                PatternKind::Regex => first_try(id) && self.matches(id, body, url),
            };
            if fits { ControlFlow::Break(id as usize) } else { ControlFlow::Continue(()) }
        });
        found.break_value().or_else(|| self.bare.find(url))
    }

    fn matches(&self, id: u32, expression: &str, url: &[u8]) -> bool {
        let at = self.regexes.binary_search_by_key(&id, |(rule, _)| *rule);
        at.is_ok_and(|at| self.regexes[at].1.is_match(expression, url))
    }

    /// The text of the pattern on `line`.
    pub fn text(&self, line: u32) -> Option<&str> {
        let at = self.rules.binary_search_by_key(&line, |rule| rule.pattern.line).ok()?;
        Some(self.text_of(&self.rules[at].pattern))
    }

    fn text_of(&self, rule: &CompiledPattern) -> &str {
        let start = rule.text as usize;
        self.texts.get(start..start + usize::from(rule.text_len)).unwrap_or_default()
    }

    /// The patterns that were hit: line, text, how often.
    pub fn hits(&self) -> impl Iterator<Item = (u32, &str, u64)> {
        self.rules.iter().filter_map(|CountedPattern { pattern, hits }| {
            let count = hits.load(Relaxed);
            (count > 0).then(|| (pattern.line, self.text_of(pattern), count))
        })
    }
}

impl fmt::Display for PatternsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, why } => write!(f, "line {line}: {why}"),
            Self::TooMuchText => f.write_str("the patterns are over 1GiB together"),
            Self::TooManyRegexes => write!(f, "there are more than {REGEXES_MAX} expressions"),
            Self::TooManyBareRegexes(count) => write!(
                f,
                "{count} expressions hold no text of {LITERAL_BYTES_MIN} bytes that every match \
                 must hold; at most {REGEXES_BARE_MAX} may"
            ),
            Self::BareRegexes(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for PatternsError {}

#[cfg(test)]
mod tests;
