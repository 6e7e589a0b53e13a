//! URL patterns of a route: one automaton, however many there are.
//!
//! Of each pattern the longest literal piece goes into an Aho-Corasick automaton that runs over
//! the URL once; only a pattern whose piece was found is held against the whole URL, once. So the
//! cost does not grow with the number of patterns. Built when the door is; the request path only
//! matches and counts.

use aho_corasick::{AhoCorasick, MatchKind};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Longest pattern: longer than any URL part that an attack list names.
pub const PATTERN_BYTES_MAX: usize = 2_048;
/// Largest pattern file: a million patterns of ordinary length.
pub const PATTERNS_FILE_BYTES_MAX: u64 = 64 << 20;

/// Compiled patterns with their counters.
#[derive(Debug)]
pub struct Patterns {
    automaton: AhoCorasick,
    rules: Box<[Rule]>,
    hits: Box<[AtomicU64]>,
}

/// One pattern.
#[derive(Debug)]
struct Rule {
    /// Where it stands, from 1.
    line: u32,
    /// As it was written.
    text: Box<str>,
    /// What else it asks than its longest piece; nothing for a plain piece of text.
    glob: Option<Glob>,
}

#[derive(Debug)]
struct Glob {
    pieces: Vec<Box<[u8]>>,
    start: Anchor,
    end: Anchor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Fixed,
    Free,
}

/// A pattern as the automaton and the rest take it.
struct Parsed {
    key: Box<[u8]>,
    glob: Option<Glob>,
}

/// Why a line is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPattern {
    /// It would match every URL.
    MatchesAll,
    /// It is over [`PATTERN_BYTES_MAX`].
    TooLong,
}

/// Why patterns cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternsError {
    /// This line is none.
    Line {
        /// From 1.
        line: u32,
        /// Why.
        why: BadPattern,
    },
    /// They are too many for one automaton.
    TooMany(String),
}

/// Whether one line is a pattern, a comment or empty.
pub(crate) fn check_line(line: &str) -> Result<(), BadPattern> {
    parse(line).map(drop)
}

/// The key of a pattern and what else it asks; none for a comment or an empty line.
fn parse(line: &str) -> Result<Option<Parsed>, BadPattern> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(['#', '!']) {
        return Ok(None);
    }
    if text.len() > PATTERN_BYTES_MAX {
        return Err(BadPattern::TooLong);
    }
    let (text, start) = match text.strip_prefix('|') {
        Some(rest) => (rest, Anchor::Fixed),
        None => (text, Anchor::Free),
    };
    let (text, end) = match text.strip_suffix('|') {
        Some(rest) => (rest, Anchor::Fixed),
        None => (text, Anchor::Free),
    };
    // A star at an anchored end takes the anchor back.
    let start = if text.starts_with('*') { Anchor::Free } else { start };
    let end = if text.ends_with('*') { Anchor::Free } else { end };
    let pieces: Vec<Box<[u8]>> = text
        .split('*')
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.to_ascii_lowercase().into_bytes().into())
        .collect();
    let Some(key) = pieces.iter().max_by_key(|piece| piece.len()).cloned() else {
        return Err(BadPattern::MatchesAll);
    };
    if *key == *b"/" && pieces.len() == 1 && end == Anchor::Free {
        return Err(BadPattern::MatchesAll);
    }
    let plain = pieces.len() == 1 && start == Anchor::Free && end == Anchor::Free;
    Ok(Some(Parsed { key, glob: (!plain).then_some(Glob { pieces, start, end }) }))
}

impl Patterns {
    /// Compiles one pattern a line.
    pub fn compile<'t>(lines: impl Iterator<Item = &'t str>) -> Result<Self, PatternsError> {
        let (mut keys, mut rules) = (Vec::new(), Vec::new());
        for (index, text) in lines.enumerate() {
            let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
            match parse(text).map_err(|why| PatternsError::Line { line, why })? {
                None => {}
                Some(Parsed { key, glob }) => {
                    keys.push(key);
                    rules.push(Rule { line, text: text.trim().into(), glob });
                }
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(&keys)
            .map_err(|why| PatternsError::TooMany(why.to_string()))?;
        let hits = rules.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Self { automaton, rules: rules.into(), hits })
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The line of a pattern that `url` (path and query) matches, as sent or percent-decoded. The
    /// match is counted.
    pub fn hit(&self, url: &str) -> Option<u32> {
        let found = self.find(url.as_bytes()).or_else(|| {
            match Cow::from(percent_encoding::percent_decode_str(url)) {
                Cow::Borrowed(_) => None,
                Cow::Owned(decoded) => self.find(&decoded),
            }
        })?;
        self.hits[found].fetch_add(1, Relaxed);
        Some(self.rules[found].line)
    }

    fn find(&self, url: &[u8]) -> Option<usize> {
        // Whether a whole pattern fits does not depend on where its piece was found: each is
        // tried once, or a long URL of one letter would cost its length squared.
        let mut tried: Option<HashSet<usize>> = None;
        let mut lower: Option<Vec<u8>> = None;
        for found in self.automaton.find_overlapping_iter(url) {
            let index = found.pattern().as_usize();
            let Some(glob) = &self.rules[index].glob else { return Some(index) };
            if tried.get_or_insert_default().insert(index) {
                let lower = lower.get_or_insert_with(|| url.to_ascii_lowercase());
                if glob.fits(lower) {
                    return Some(index);
                }
            }
        }
        None
    }

    /// The text of the pattern on `line`.
    pub fn text(&self, line: u32) -> Option<&str> {
        let at = self.rules.binary_search_by_key(&line, |rule| rule.line).ok()?;
        Some(&self.rules[at].text)
    }

    /// The patterns that were hit: line, text, how often.
    pub fn hits(&self) -> impl Iterator<Item = (u32, &str, u64)> {
        self.rules.iter().zip(&self.hits).filter_map(|(rule, hits)| {
            let count = hits.load(Relaxed);
            (count > 0).then_some((rule.line, &*rule.text, count))
        })
    }
}

impl Glob {
    /// Whether the whole pattern fits `url`, which is lower-case. Each piece is taken where it
    /// stands first, which is right because only `*` stands between pieces.
    fn fits(&self, url: &[u8]) -> bool {
        let mut rest = url;
        let last = self.pieces.len() - 1;
        for (index, piece) in self.pieces.iter().enumerate() {
            let from_start = index == 0 && self.start == Anchor::Fixed;
            let to_end = index == last && self.end == Anchor::Fixed;
            rest = match (from_start, to_end) {
                (true, true) => return rest == &**piece,
                (true, false) => match rest.strip_prefix(&**piece) {
                    Some(rest) => rest,
                    None => return false,
                },
                (false, true) => return rest.ends_with(piece),
                (false, false) => match memchr::memmem::find(rest, piece) {
                    Some(at) => &rest[at + piece.len()..],
                    None => return false,
                },
            };
        }
        true
    }
}

impl fmt::Display for BadPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MatchesAll => f.write_str("this pattern would refuse every URL"),
            Self::TooLong => {
                write!(f, "this pattern is longer than {PATTERN_BYTES_MAX} bytes")
            }
        }
    }
}

impl fmt::Display for PatternsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { line, why } => write!(f, "line {line}: {why}"),
            Self::TooMany(why) => write!(f, "too many patterns: {why}"),
        }
    }
}

impl std::error::Error for BadPattern {}
impl std::error::Error for PatternsError {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn patterns(text: &str) -> Patterns {
        Patterns::compile(text.lines()).unwrap()
    }

    #[test]
    fn a_plain_pattern_is_found_anywhere_in_any_case_and_encoding() {
        let patterns = patterns("# attacks\n/.env\n\n/wp-login.php\n../\n");
        assert_eq!(patterns.len(), 3);
        assert_eq!(patterns.hit("/.env"), Some(2));
        assert_eq!(patterns.hit("/app/.ENV?x"), Some(2));
        assert_eq!(patterns.hit("/%2eenv"), Some(2));
        assert_eq!(patterns.hit("/blog/WP-Login.php"), Some(4));
        assert_eq!(patterns.hit("/?file=..%2f..%2fetc"), Some(5));
        assert_eq!(patterns.hit("/environment"), None);
        assert_eq!(patterns.text(4), Some("/wp-login.php"));
        assert_eq!(patterns.hits().next(), Some((2, "/.env", 3)));
    }

    #[test]
    fn stars_and_anchors_hold() {
        let patterns = patterns("|/admin\n.bak|\n/cgi-bin/*.sh?*cmd=\n|/exact|\n|*/any|");
        assert_eq!(patterns.hit("/administrator"), Some(1));
        assert_eq!(patterns.hit("/x/admin"), None);
        assert_eq!(patterns.hit("/site.bak"), Some(2));
        assert_eq!(patterns.hit("/site.bak?x"), None);
        assert_eq!(patterns.hit("/cgi-bin/a/b.sh?x=1&cmd=ls"), Some(3));
        assert_eq!(patterns.hit("/cgi-bin/cmd="), None);
        assert_eq!(patterns.hit("/exact"), Some(4));
        assert_eq!(patterns.hit("/exact/"), None);
        assert_eq!(patterns.hit("/deep/any"), Some(5));
    }

    #[test]
    fn a_pattern_that_matches_all_is_refused() {
        for line in ["*", "|", "||", "**", "/", "|/*"] {
            assert_eq!(check_line(line), Err(BadPattern::MatchesAll), "{line}");
        }
        assert_eq!(check_line("|/|"), Ok(()));
        assert_eq!(check_line(&"x".repeat(PATTERN_BYTES_MAX + 1)), Err(BadPattern::TooLong));
        let compiled = Patterns::compile(["/a", "*"].into_iter());
        let expected = PatternsError::Line { line: 2, why: BadPattern::MatchesAll };
        assert_eq!(compiled.unwrap_err(), expected);
    }

    #[test]
    fn a_long_url_of_one_letter_is_held_against_a_pattern_once() {
        let patterns = patterns("a*b|\naa*aa*c|");
        let started = std::time::Instant::now();
        assert_eq!(patterns.hit(&"a".repeat(64 << 10)), None);
        // Once each is microseconds; the square of the length would be minutes.
        assert!(started.elapsed().as_secs() < 10);
    }
}
