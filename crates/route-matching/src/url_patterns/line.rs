//! One line of a pattern list: a comment, a pattern with stars and anchors, or an expression.
//!
//! It reads text and keeps nothing. Called when patterns are compiled, and by `check`.

use super::regexes;
use std::cell::OnceCell;
use std::fmt;

/// Longest pattern: longer than any URL part that an attack list names.
pub const PATTERN_BYTES_MAX: usize = 2_048;

/// Where a pattern must begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternAnchor {
    Fixed,
    Free,
}

/// Tells what a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternLine<'t> {
    /// Nothing.
    Blank,
    /// Pieces of text with `*` between them.
    Glob { body: &'t str, start: PatternAnchor, end: PatternAnchor },
    /// A regular expression, and the texts in lower case that whatever matches holds.
    Regex { expression: &'t str, literals: Vec<Vec<u8>> },
}

/// Why a line is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadUrlPattern {
    /// Would match every URL.
    MatchesAll,
    /// Is over [`PATTERN_BYTES_MAX`].
    TooLong,
    /// The expression after `~` cannot be used.
    Regex(String),
}

/// Reads a line; blanks around it do not count.
pub(super) fn read(line: &str) -> Result<PatternLine<'_>, BadUrlPattern> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(['#', '!']) {
        return Ok(PatternLine::Blank);
    }
    if text.len() > PATTERN_BYTES_MAX {
        return Err(BadUrlPattern::TooLong);
    }
    if let Some(expression) = text.strip_prefix('~') {
        return regexes::read(expression)
            .map(|literals| PatternLine::Regex { expression, literals });
    }
    glob(text)
}

fn glob(text: &str) -> Result<PatternLine<'_>, BadUrlPattern> {
    let (text, start) = match text.strip_prefix('|') {
        Some(rest) => (rest, PatternAnchor::Fixed),
        None => (text, PatternAnchor::Free),
    };
    let (text, end) = match text.strip_suffix('|') {
        Some(rest) => (rest, PatternAnchor::Fixed),
        None => (text, PatternAnchor::Free),
    };
    // A star at an anchored end takes the anchor back.
    let start = if text.starts_with('*') { PatternAnchor::Free } else { start };
    let end = if text.ends_with('*') { PatternAnchor::Free } else { end };
    let body = text.trim_matches('*');
    // Every path begins with a slash.
    if body.is_empty() || body == "/" && end == PatternAnchor::Free {
        return Err(BadUrlPattern::MatchesAll);
    }
    Ok(PatternLine::Glob { body, start, end })
}

/// Path and query in lower case, with the places at which a pattern may end that says so.
pub(super) struct MatchedUrl<'u> {
    bytes: &'u [u8],
    ends: OnceCell<[PatternEnd; 2]>,
}

/// Ends of a path or of a query: any place from where only what servers pass over follows.
#[derive(Clone, Copy)]
struct PatternEnd {
    first: usize,
    last: usize,
}

/// Ends that servers and file systems take off a path before they look for a file, so that
/// `/x.bak/`, `/x.bak.` and `/x.bak%20` are `/x.bak` to some of them.
const AFTER_PATH: [&[u8]; 6] = [b"/", b".", b" ", b"%20", b"%2f", b"%5c"];
/// The same for a query.
const AFTER_QUERY: [&[u8]; 6] = [b"&", b"+", b".", b"/", b" ", b"%20"];

impl<'u> MatchedUrl<'u> {
    /// Of path and query, in lower case.
    pub(super) const fn new(bytes: &'u [u8]) -> Self {
        Self { bytes, ends: OnceCell::new() }
    }

    /// The ends of the path and of all of it, found once, and only for patterns that ask.
    fn ends(&self) -> &[PatternEnd; 2] {
        self.ends.get_or_init(|| {
            let path_end = memchr::memchr(b'?', self.bytes).unwrap_or(self.bytes.len());
            [(path_end, AFTER_PATH), (self.bytes.len(), AFTER_QUERY)].map(|(last, passed_over)| {
                let mut rest = &self.bytes[..last];
                while let Some(shorter) = passed_over.iter().find_map(|it| rest.strip_suffix(*it)) {
                    rest = shorter;
                }
                PatternEnd { first: rest.len(), last }
            })
        })
    }

    /// True for an end of the path, or of all of it.
    fn may_end_at(&self, at: usize) -> bool {
        self.ends().iter().any(|end| (end.first..=end.last).contains(&at))
    }

    /// True if `piece` stands at or behind `from` and ends the path, or all of it.
    fn ends_with(&self, piece: &[u8], from: usize) -> bool {
        self.ends().iter().any(|end| {
            // Whatever is found here begins too late to end before `first`.
            let start = from.max(end.first.saturating_sub(piece.len()));
            let within = self.bytes.get(start..end.last);
            within.is_some_and(|within| memchr::memmem::find(within, piece).is_some())
        })
    }
}

/// True if the whole pattern fits `url`; both are in lower case. Each piece is taken where it
/// stands first, which is right because only `*` stands between pieces.
pub(super) fn matches(
    body: &[u8],
    start: PatternAnchor,
    end: PatternAnchor,
    url: &MatchedUrl<'_>,
) -> bool {
    let mut at = 0;
    let mut pieces = body.split(|byte| *byte == b'*').peekable();
    let mut is_first = true;
    while let Some(piece) = pieces.next() {
        let from_start = is_first && start == PatternAnchor::Fixed;
        let to_end = pieces.peek().is_none() && end == PatternAnchor::Fixed;
        is_first = false;
        match (from_start, to_end) {
            (true, true) => return url.bytes.starts_with(piece) && url.may_end_at(piece.len()),
            (true, false) if url.bytes.starts_with(piece) => at = piece.len(),
            (true, false) => return false,
            (false, true) => return url.ends_with(piece, at),
            (false, false) => match memchr::memmem::find(&url.bytes[at..], piece) {
                Some(found) => at += found + piece.len(),
                None => return false,
            },
        }
    }
    true
}

impl fmt::Display for BadUrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MatchesAll => f.write_str("this pattern would refuse every URL"),
            Self::TooLong => {
                write!(f, "this pattern is longer than {PATTERN_BYTES_MAX} bytes")
            }
            Self::Regex(why) => write!(f, "this expression cannot be used: {why}"),
        }
    }
}

impl std::error::Error for BadUrlPattern {}
