//! Patterns of the filter syntax against a text: `|`, `||`, `^` and `*`.
//!
//! A pattern is cut at its `*`, and each piece takes the first place it finds: no choice is ever
//! taken back, so ten thousand stars cost no more than their pieces. No allocation, no regular
//! expressions (those are in `regexes`). Called for the rules that the policy's index named.

use std::ops::Range;

/// Where a match must begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchStart {
    /// Anywhere.
    Anywhere,
    /// At the beginning of the text: `|`.
    Text,
    /// At the beginning of a label of the host: `||`.
    Label,
}

/// Where a match must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchEnd {
    /// Anywhere.
    Anywhere,
    /// At the end of the text: `|`.
    Text,
}

/// Holds what patterns are held against: a URL or a host name, and where the host stands in it.
#[derive(Clone, Copy, Debug)]
pub struct MatchSubject<'t> {
    /// The text.
    pub text: &'t [u8],
    host_start: usize,
    host_end: usize,
}

/// Letters of either case: the same, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseMatching {
    /// They do: `A` matches `a`.
    Same,
    /// They do not.
    Differs,
}

/// Tells what a pattern is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternTarget {
    /// The host name.
    Host,
    /// The whole URL.
    Url,
}

/// Pieces longer than this are searched for by an algorithm that is linear whatever they hold.
const SHORT_PIECE_BYTES: usize = 24;

impl<'t> MatchSubject<'t> {
    /// A host name alone.
    #[inline]
    pub fn host(text: &'t [u8]) -> Self {
        Self { text, host_start: 0, host_end: text.len() }
    }

    /// A URL: the host stands between `//`, or user and `@`, and the next `/`, `?`, `#` or `:`.
    #[inline]
    pub fn url(text: &'t [u8]) -> Self {
        let in_scheme = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(*byte);
        let scheme = text.iter().take_while(in_scheme).count();
        let authority = if text[scheme..].starts_with(b"://") { scheme + 3 } else { 0 };
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let end = text[authority..].iter().position(is_end).map_or(text.len(), |at| authority + at);
        let user = memchr::memrchr(b'@', &text[authority..end]);
        let host_start = user.map_or(authority, |at| authority + at + 1);
        let host_end =
            memchr::memchr(b':', &text[host_start..end]).map_or(end, |at| host_start + at);
        Self { text, host_start, host_end }
    }

    /// The same places in another spelling of the same text.
    #[must_use]
    #[inline]
    pub fn with_text(self, text: &'t [u8]) -> Self {
        debug_assert_eq!(text.len(), self.text.len());
        Self { text, ..self }
    }

    /// True if the pattern occurs. It holds no anchors; those are `start` and `end`.
    #[inline]
    pub fn contains(self, pattern: &[u8], start: MatchStart, end: MatchEnd) -> bool {
        let mut pieces = pattern.split(|byte| *byte == b'*');
        let first = pieces.next().unwrap_or_default();
        let Some(last) = pieces.next_back() else { return self.contains_piece(first, start, end) };
        let Some(mut at) = self.first_piece(first, start) else { return false };
        for piece in pieces {
            match find(piece, self.text, at, LastPiece::No) {
                Some(end) => at = end,
                None => return false,
            }
        }
        match end {
            MatchEnd::Anywhere => find(last, self.text, at, LastPiece::Yes).is_some(),
            MatchEnd::Text => ends_with(last, self.text, at),
        }
    }

    /// A pattern without stars.
    fn contains_piece(self, piece: &[u8], start: MatchStart, end: MatchEnd) -> bool {
        let fits = |at: usize| match (match_piece(piece, self.text, at, LastPiece::Yes), end) {
            (None, _) => false,
            (Some(_), MatchEnd::Anywhere) => true,
            (Some(after), MatchEnd::Text) => after == self.text.len(),
        };
        match (start, end) {
            (MatchStart::Text, _) => fits(0),
            (MatchStart::Label, _) => self.labels().any(fits),
            (MatchStart::Anywhere, MatchEnd::Anywhere) => {
                find(piece, self.text, 0, LastPiece::Yes).is_some()
            }
            (MatchStart::Anywhere, MatchEnd::Text) => ends_with(piece, self.text, 0),
        }
    }

    /// Where the first piece of several ends, at its first place: an earlier one leaves more.
    fn first_piece(self, piece: &[u8], start: MatchStart) -> Option<usize> {
        match start {
            MatchStart::Anywhere => find(piece, self.text, 0, LastPiece::No),
            MatchStart::Text => match_piece(piece, self.text, 0, LastPiece::No),
            MatchStart::Label => {
                self.labels().find_map(|at| match_piece(piece, self.text, at, LastPiece::No))
            }
        }
    }

    /// Where the labels of the host begin.
    fn labels(self) -> impl Iterator<Item = usize> {
        let Range { start, end } = self.host_start..self.host_end;
        let dots = memchr::memchr_iter(b'.', &self.text[start..end]);
        std::iter::once(start).chain(dots.map(move |at| start + at + 1))
    }
}

/// Tells whether a piece is the last of its pattern: only there may `^` stand for the end of the
/// text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastPiece {
    Yes,
    No,
}

/// True if `^` stands for this byte: anything but letters, digits and `_`, `-`, `.`, `%`.
#[inline]
const fn is_separator(byte: u8) -> bool {
    !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%'))
}

/// True if tokens are made of this byte: letters, digits and `%`.
#[inline]
pub const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'%'
}

/// True if names are written with this byte.
#[inline]
pub const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Rest of a pattern behind the scheme with which it begins: `://`, `//`, `http://`, `https://`.
#[inline]
pub fn behind_scheme(pattern: &str) -> Option<&str> {
    // Hardly any pattern gets beyond this.
    if !matches!(pattern.as_bytes().first(), Some(b':' | b'/' | b'h')) {
        return None;
    }
    let schemes = ["://", "//", "http://", "https://"];
    schemes.into_iter().find_map(|scheme| pattern.strip_prefix(scheme))
}

/// Where the piece ends if it stands at `at`.
#[inline]
fn match_piece(piece: &[u8], text: &[u8], at: usize, last: LastPiece) -> Option<usize> {
    let mut at = at;
    for (done, wanted) in piece.iter().enumerate() {
        match text.get(at) {
            Some(byte) if byte == wanted || (*wanted == b'^' && is_separator(*byte)) => at += 1,
            Some(_) => return None,
            None => {
                let rest_is_ends = piece[done..].iter().all(|byte| *byte == b'^');
                return (last == LastPiece::Yes && rest_is_ends).then_some(at);
            }
        }
    }
    Some(at)
}

/// Where the piece ends at its first place from `from` on.
fn find(piece: &[u8], text: &[u8], from: usize, last: LastPiece) -> Option<usize> {
    let Some(&head) = piece.first() else { return Some(from) };
    if head == b'^' {
        // The end of the text counts as a place for a last separator.
        return (from..=text.len()).find_map(|at| match_piece(piece, text, at, last));
    }
    let literal = memchr::memchr(b'^', piece).unwrap_or(piece.len());
    if literal > SHORT_PIECE_BYTES {
        let finder = memchr::memmem::Finder::new(&piece[..literal]);
        return finder
            .find_iter(text.get(from..)?)
            .find_map(|at| match_piece(&piece[literal..], text, from + at + literal, last));
    }
    memchr::memchr_iter(head, text.get(from..)?)
        .find_map(|at| match_piece(piece, text, from + at, last))
}

/// True if the piece stands at the end of the text, and not before `from`.
fn ends_with(piece: &[u8], text: &[u8], from: usize) -> bool {
    // A last `^` either takes a byte or stands for the end.
    let spare = usize::from(piece.last() == Some(&b'^'));
    (piece.len() - spare..=piece.len()).any(|length| {
        text.len().checked_sub(length).is_some_and(|at| {
            at >= from && match_piece(piece, text, at, LastPiece::Yes) == Some(text.len())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: bool) {
        let (start, rest) = match pattern.strip_prefix("||") {
            Some(rest) => (MatchStart::Label, rest),
            None => match pattern.strip_prefix('|') {
                Some(rest) => (MatchStart::Text, rest),
                None => (MatchStart::Anywhere, pattern),
            },
        };
        let (end, rest) = match rest.strip_suffix('|') {
            Some(rest) => (MatchEnd::Text, rest),
            None => (MatchEnd::Anywhere, rest),
        };
        let subject = if text.contains("://") {
            MatchSubject::url(text.as_bytes())
        } else {
            MatchSubject::host(text.as_bytes())
        };
        let holds = subject.contains(rest.as_bytes(), start, end);
        assert_eq!(holds, expected, "{pattern} against {text}");
    }

    #[test]
    fn anchors_tie_a_pattern_to_host_start_and_end() {
        check("||example.com^", "https://example.com/", true);
        check("||example.com^", "https://ads.example.com:8080/x", true);
        check("||example.com^", "https://example.com.evil.net/", false);
        check("||example.com^", "https://badexample.com/", false);
        check("||example.com^", "https://other.net/?u=example.com/", false);
        check("||example.com^", "https://user:pw@example.com/", true);
        check("||example.com/a", "https://example.com/abc", true);
        check("||example.com/a", "https:/x?u=https://example.com/abc", false);
        check("|https://x.", "https://x.example/", true);
        check("|x.", "https://x.example/", false);
        check("swf|", "https://x.example/a.swf", true);
        check("swf|", "https://x.example/a.swf?x", false);
        check("||ads.*^", "https://ads.example/", true);
        check("||ads.example|", "ads.example", true);
        check("||ads.example|", "www.ads.example", true);
        check("||ads.example|", "ads.example.net", false);
        check("||example.*.js|", "https://a.example.com/x.js", true);
        check("||example.*.js|", "https://a.example.com/x.js?", false);
    }

    #[test]
    fn a_separator_is_no_letter_digit_or_mark_of_names() {
        check("^ads^", "https://x.example/ads/", true);
        check("^ads^", "https://x.example/ads", true);
        check("^ads^", "https://x.example/-ads-", false);
        check("^ads^", "https://x.example/ads_1", false);
        check("^ads^", "https://x.example/?ads=1", true);
        check("^ads^x", "https://x.example/ads", false);
        check("/ads^|", "https://x.example/ads", true);
        check("/ads^|", "https://x.example/ads?", true);
        check("/ads^|", "https://x.example/ads?x", false);
        check("^", "https://x.example/", true);
    }

    #[test]
    fn stars_take_any_text_and_never_cost_more_than_their_pieces() {
        check("/a*b*c", "https://x.example/a1b2c3", true);
        check("/a*b*c", "https://x.example/a1c2b3", false);
        check("a**b", "https://x.example/a--b", true);
        check("a*b|", "https://x.example/ab.b", true);
        check("|https*b|", "https://x.example/ab.bc", false);
        check("*a*|", "https://x.example/a", true);
        let stars = "a*".repeat(10_000);
        let text = format!("https://x.example/{}", "a".repeat(2000));
        check(&stars, &text, false);
        check(&format!("{}b", "a".repeat(1000)), &text, false);
    }
}
