//! Patterns against all names of a level at once: those directly below a name, whatever their
//! label.
//!
//! It follows every way a pattern can be matched, so that it never says no where some name matches;
//! it may say yes where none does. Called for exceptions, before a wildcard is granted.

use crate::pattern::{MatchEnd, MatchStart};

/// Longest pattern that is followed; a longer one may match. No name is so long.
const PATTERN_BYTES_MAX: usize = 512;
/// Longest label (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// True if the pattern may match `base`, which is lower-case, or some name one label below it. It
/// holds no anchors; those are `start` and `end`.
pub fn may_match(pattern: &[u8], start: MatchStart, end: MatchEnd, base: &str) -> bool {
    if pattern.len() > PATTERN_BYTES_MAX {
        return true;
    }
    let mut ways = PatternWays { pattern, start, end, at: vec![false; pattern.len() + 1] };
    ways.begin();
    let name_only = ways.at.clone();
    if ways.follow_text(base.as_bytes()) {
        return true;
    }
    ways.at = name_only;
    ways.follow_any_label();
    ways.is_over() || ways.step(|wanted| wanted == b'.') || {
        ways.label_begins();
        ways.follow_text(base.as_bytes())
    }
}

/// Holds how far the pattern may have got: a mark for each place in it.
struct PatternWays<'p> {
    pattern: &'p [u8],
    start: MatchStart,
    end: MatchEnd,
    at: Vec<bool>,
}

impl PatternWays<'_> {
    fn begin(&mut self) {
        self.at[0] = true;
        self.skip_stars();
    }

    /// A label of the name begins here.
    fn label_begins(&mut self) {
        if self.start == MatchStart::Label {
            self.begin();
        }
    }

    /// A star may stand for nothing.
    fn skip_stars(&mut self) {
        for at in 0..self.pattern.len() {
            if self.at[at] && self.pattern[at] == b'*' {
                self.at[at + 1] = true;
            }
        }
    }

    /// Takes one byte of the name, any that `fits` a byte of the pattern; says whether the pattern
    /// has come to its end and nothing more is asked.
    fn step(&mut self, fits: impl Fn(u8) -> bool) -> bool {
        let mut next = vec![false; self.at.len()];
        for (at, wanted) in self.pattern.iter().enumerate().filter(|(at, _)| self.at[*at]) {
            if *wanted == b'*' {
                next[at] = true;
            } else if fits(*wanted) {
                next[at + 1] = true;
            }
        }
        self.at = next;
        if self.start == MatchStart::Anywhere {
            self.at[0] = true;
        }
        self.skip_stars();
        self.is_over()
    }

    fn is_over(&self) -> bool {
        self.end == MatchEnd::Anywhere && self.at[self.pattern.len()]
    }

    /// Takes one label of any letters and length: all the places that one of them leads to.
    fn follow_any_label(&mut self) {
        let mut all = vec![false; self.at.len()];
        for _ in 0..LABEL_BYTES_MAX {
            self.step(|wanted| wanted.is_ascii_alphanumeric() || matches!(wanted, b'-' | b'_'));
            let before = all.clone();
            all.iter_mut().zip(&self.at).for_each(|(all, at)| *all |= *at);
            if all == before {
                break;
            }
        }
        self.at = all;
    }

    /// Takes this text, at whose end the name ends; says whether the pattern may match.
    fn follow_text(&mut self, text: &[u8]) -> bool {
        if self.is_over() {
            return true;
        }
        for byte in text {
            if self.step(|wanted| wanted == *byte) {
                return true;
            }
            if *byte == b'.' {
                self.label_begins();
            }
        }
        // At the end of a name a separator stands for nothing, as a star does.
        let is_nothing = |rest: &[u8]| rest.iter().all(|byte| matches!(byte, b'^' | b'*'));
        (0..self.at.len()).any(|at| self.at[at] && is_nothing(&self.pattern[at..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::MatchSubject;

    fn may(pattern: &str, base: &str) -> bool {
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
        let found = may_match(rest.as_bytes(), start, end, base);
        // Never no where a name matches.
        for name in ["", "a.", "www.", "cdn-1.", "example.", "ads."] {
            let name = format!("{name}{base}");
            let holds = MatchSubject::host(name.as_bytes()).contains(rest.as_bytes(), start, end);
            assert!(found || !holds, "{pattern} matches {name}");
        }
        found
    }

    #[test]
    fn a_pattern_that_some_name_of_the_level_matches_is_found() {
        for pattern in [
            "||www.example.com^",
            "||www.example.com|",
            "||example.com^",
            "||*.example.com^",
            "||cdn*.example.com^",
            "|cdn.example.com|",
            "www.ex",
            "-static-",
            "||ads*",
            "*",
            "",
            "^",
            "example.*^",
            "w*w.*.com|",
            "||a*b*c.example.com^",
        ] {
            assert!(may(pattern, "example.com"), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_other_names_is_not() {
        for pattern in [
            "||www.example.net^",
            "||www.example.org|",
            "||a.b.example.com^",
            "|example.co|",
            "||other.com^",
            "x.y.",
            ".b.example.com",
            "^ads",
            "||cdn*.example.net^",
            "|a.example.com.|",
        ] {
            assert!(!may(pattern, "example.com"), "{pattern}");
        }
        assert!(may(&"a".repeat(PATTERN_BYTES_MAX + 1), "example.com"), "too long to follow");
        assert!(!may(&"a".repeat(64), "example.com"), "no label is so long");
    }
}
