//! What bare words of a list are, told by the list as a whole: names, pieces of URLs, or expressions.
//!
//! A line tells its own syntax wherever it can; only a bare word cannot. It looks at the beginning
//! of a list and decides nothing about single lines. Called by `compile` once for a list.

use super::geosite;
use crate::urls::regexes::Case;

/// Bytes at the start of a list in which its header is looked for.
const HEADER_BYTES: usize = 2048;
/// Bytes at the start of a list by which it is judged: a thousand lines or more.
const SAMPLE_BYTES: usize = 64 << 10;
/// What a header may say to have every line taken as an expression.
const DIRECTIVE: &str = "syntax: url_regex";

/// What bare words of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bare {
    /// Names, each alone.
    Names,
    /// Names with all below them, as in geosite files.
    Domains,
    /// Pieces of URLs.
    Patterns,
    /// Regular expressions for URLs, as in Squid's `url_regex` files: every line is one.
    Expressions(Case),
}

impl Bare {
    /// By the header of the list and its first lines.
    pub(crate) fn of_list(text: &[u8]) -> Self {
        let head = &text[..text.len().min(HEADER_BYTES)];
        let is_header = memchr::memmem::find(head, b"[Adblock")
            .is_some_and(|at| at == 0 || head[at - 1] == b'\n' || head[..at] == *b"\xef\xbb\xbf");
        if is_header {
            return Self::Patterns;
        }
        let sample = String::from_utf8_lossy(&text[..text.len().min(SAMPLE_BYTES)]);
        let (mut lines, mut expressions) = (0, 0);
        let mut others = false;
        for line in sample.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix('#') {
                if comment.trim().eq_ignore_ascii_case(DIRECTIVE) {
                    return Self::Expressions(Case::Differs);
                }
                continue;
            }
            if geosite::is_one(line) {
                return Self::Domains;
            }
            if line.is_empty() || line.starts_with('!') || toggles_case(line).is_some() {
                continue;
            }
            lines += 1;
            expressions += u32::from(is_expression(line));
            others |= line.starts_with("||") || line.starts_with("@@") || line.contains("##");
        }
        if expressions * 2 > lines && !others {
            Self::Expressions(Case::Differs)
        } else {
            Self::Names
        }
    }
}

/// What Squid's `-i` and `+i` say of the lines that follow.
pub(crate) fn toggles_case(line: &str) -> Option<Case> {
    match line {
        "-i" => Some(Case::Same),
        "+i" => Some(Case::Differs),
        _ => None,
    }
}

/// Whether a line can only be an expression: filter rules hold no backslash outside `/…/`, and
/// neither they nor names begin with `^http`.
fn is_expression(line: &str) -> bool {
    let is_filter = line.starts_with('/') && (line.ends_with('/') || line.contains("/$"));
    !is_filter
        && !line.contains(char::is_whitespace)
        && (line.contains('\\') || line.starts_with("^http"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_what_its_bare_words_are() {
        let check = |text: &str, expected| assert_eq!(Bare::of_list(text.as_bytes()), expected);
        let expressions = Bare::Expressions(Case::Differs);
        check("a.example\nb.example", Bare::Names);
        check("[Adblock Plus 2.0]\nads", Bare::Patterns);
        check("# site\na.example\nfull:b.example", Bare::Domains);
        check("-i\n\\.example\\.com/ads\n^https?://ads\\.\n/banner/", expressions);
        check("# Syntax: url_regex\n/banner/", expressions);
        check("||a.example^\n^http://x\\.y", Bare::Names);
        check("/ads\\.[0-9]/\n/x\\.y/$script", Bare::Names);
        check("", Bare::Names);
    }
}
