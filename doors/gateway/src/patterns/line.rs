//! One line of a pattern list: a comment, a pattern with stars and anchors, or an expression.
//!
//! It reads text and keeps nothing. Called when patterns are compiled, and by `check`.

use super::regexes;
use std::fmt;

/// Longest pattern: longer than any URL part that an attack list names.
pub const PATTERN_BYTES_MAX: usize = 2_048;

/// Where a pattern must begin or end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Fixed,
    Free,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line<'t> {
    /// Nothing.
    Blank,
    /// Pieces of text with `*` between them.
    Glob { body: &'t str, start: Anchor, end: Anchor },
    /// A regular expression, and the texts in lower case that whatever matches holds.
    Regex { expression: &'t str, literals: Vec<Vec<u8>> },
}

/// Why a line is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadPattern {
    /// It would match every URL.
    MatchesAll,
    /// It is over [`PATTERN_BYTES_MAX`].
    TooLong,
    /// The expression after `~` cannot be used.
    Regex(String),
}

/// Reads a line; blanks around it do not count.
pub(super) fn read(line: &str) -> Result<Line<'_>, BadPattern> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(['#', '!']) {
        return Ok(Line::Blank);
    }
    if text.len() > PATTERN_BYTES_MAX {
        return Err(BadPattern::TooLong);
    }
    if let Some(expression) = text.strip_prefix('~') {
        return regexes::read(expression).map(|literals| Line::Regex { expression, literals });
    }
    glob(text)
}

fn glob(text: &str) -> Result<Line<'_>, BadPattern> {
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
    let body = text.trim_matches('*');
    // Every path begins with a slash.
    if body.is_empty() || body == "/" && end == Anchor::Free {
        return Err(BadPattern::MatchesAll);
    }
    Ok(Line::Glob { body, start, end })
}

/// Whether the whole pattern fits `url`; both are in lower case. Each piece is taken where it
/// stands first, which is right because only `*` stands between pieces.
pub(super) fn fits(body: &[u8], start: Anchor, end: Anchor, url: &[u8]) -> bool {
    let mut rest = url;
    let mut pieces = body.split(|byte| *byte == b'*').peekable();
    let mut is_first = true;
    while let Some(piece) = pieces.next() {
        let from_start = is_first && start == Anchor::Fixed;
        let to_end = pieces.peek().is_none() && end == Anchor::Fixed;
        is_first = false;
        rest = match (from_start, to_end) {
            (true, true) => return rest == piece,
            (true, false) => match rest.strip_prefix(piece) {
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

impl fmt::Display for BadPattern {
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

impl std::error::Error for BadPattern {}
