//! Meaning of bare words, told by the list as a whole: names, pieces of URLs, expressions, or
//! owners of records.
//!
//! A line tells its own syntax wherever it can; only a bare word cannot. It looks at the beginning
//! of a list and decides nothing about single lines. Called by `compile` once for a list.

use super::{geosite, pihole, rpz};
use filter_patterns::CaseMatching;

/// Bytes at the start of a list in which its header is looked for.
const HEADER_BYTES: usize = 2048;
/// Bytes at the start of a list by which it is judged: a thousand lines or more.
const SAMPLE_BYTES: usize = 64 << 10;
/// Header by which every line is an expression about URLs.
const URL_DIRECTIVE: &str = "syntax: url_regex";
/// Header by which every line is an expression about names.
const NAME_DIRECTIVE: &str = "syntax: domain_regex";

/// Tells what bare words of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareWords<'t> {
    /// Names, each alone.
    Names,
    /// Names with all below them, as in geosite files.
    Domains,
    /// Pieces of URLs.
    Patterns,
    /// Regular expressions: every line is one.
    Expressions(ExpressionSubject),
    /// Owners of records in a response policy zone of this origin, which has no final dot and may
    /// be empty.
    Zone(&'t str),
}

/// Texts that the expressions of a list are held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionSubject {
    /// URLs, as in Squid's `url_regex` files.
    Urls(CaseMatching),
    /// Names, as in Pi-hole's files, where case never counts.
    Names,
    /// Names and URLs: nothing in the list tells which were meant.
    Either,
}

/// Lines of a sample that speak for expressions, and for what they are about.
#[derive(Default)]
struct SyntaxEvidence {
    lines: u32,
    expressions: u32,
    about_urls: u32,
    about_names: u32,
    /// True once a line is a filter rule, which no file of expressions holds.
    has_filters: bool,
}

impl<'t> BareWords<'t> {
    /// By the header of the list and its first lines.
    pub(crate) fn of_list(text: &'t [u8]) -> Self {
        let head = &text[..text.len().min(HEADER_BYTES)];
        let is_header = memchr::memmem::find(head, b"[Adblock")
            .is_some_and(|at| at == 0 || head[at - 1] == b'\n' || head[..at] == *b"\xef\xbb\xbf");
        if is_header {
            return Self::Patterns;
        }
        let sample = &text[..text.len().min(SAMPLE_BYTES)];
        if let Some(origin) = rpz::origin_of(sample) {
            return Self::Zone(origin);
        }
        let sample = String::from_utf8_lossy(sample);
        let mut evidence = SyntaxEvidence::default();
        for line in sample.lines().map(str::trim) {
            if let Some(comment) = line.strip_prefix('#') {
                let comment = comment.trim();
                if comment.eq_ignore_ascii_case(URL_DIRECTIVE) {
                    return Self::Expressions(ExpressionSubject::Urls(CaseMatching::Differs));
                }
                if comment.eq_ignore_ascii_case(NAME_DIRECTIVE) {
                    return Self::Expressions(ExpressionSubject::Names);
                }
                continue;
            }
            if geosite::is_one(line) {
                return Self::Domains;
            }
            evidence.add(line);
        }
        evidence.subject().map_or(Self::Names, Self::Expressions)
    }
}

impl SyntaxEvidence {
    fn add(&mut self, line: &str) {
        if toggles_case(line).is_some() {
            self.about_urls += 1;
            return;
        }
        if line.is_empty() || line.starts_with('!') {
            return;
        }
        self.lines += 1;
        self.has_filters |= line.starts_with("||") || line.starts_with("@@") || line.contains("##");
        if !is_expression(line) {
            return;
        }
        self.expressions += 1;
        if pihole::is_one(line) {
            self.about_names += 1;
        } else if line.contains(['/', '=', '&', '%']) || line.contains("\\?") {
            self.about_urls += 1;
        } else {
            let is_label_edge = |it| line.contains(it);
            let edges = ["[_.-]", "[-_.]", "[.-]", "[-.]", "[._-]"];
            self.about_names += u32::from(edges.into_iter().any(is_label_edge));
        }
    }

    /// The subject of the expressions, if most lines can be nothing else.
    fn subject(&self) -> Option<ExpressionSubject> {
        if self.has_filters || self.expressions * 2 <= self.lines {
            return None;
        }
        Some(match (self.about_urls > 0, self.about_names > 0) {
            (true, false) => ExpressionSubject::Urls(CaseMatching::Differs),
            (false, true) => ExpressionSubject::Names,
            (true, true) | (false, false) => ExpressionSubject::Either,
        })
    }
}

/// Returns what Squid's `-i` and `+i` say of the lines that follow.
pub(crate) fn toggles_case(line: &str) -> Option<CaseMatching> {
    match line {
        "-i" => Some(CaseMatching::Same),
        "+i" => Some(CaseMatching::Differs),
        _ => None,
    }
}

/// True if a line can only be an expression: filter rules hold no backslash outside `/…/`, and
/// neither they nor names begin with `^http`, or with `^` and hold what only expressions do.
fn is_expression(line: &str) -> bool {
    let is_filter = line.starts_with('/') && (line.ends_with('/') || line.contains("/$"));
    !is_filter
        && !line.contains(char::is_whitespace)
        && (line.contains('\\')
            || line.starts_with("^http")
            || (line.starts_with('^') && line.contains(['[', '(', '+', '{']))
            || pihole::is_one(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_tells_what_its_bare_words_are() {
        let check =
            |text: &str, expected| assert_eq!(BareWords::of_list(text.as_bytes()), expected);
        let urls = BareWords::Expressions(ExpressionSubject::Urls(CaseMatching::Differs));
        let names = BareWords::Expressions(ExpressionSubject::Names);
        check("a.example\nb.example", BareWords::Names);
        check("[Adblock Plus 2.0]\nads", BareWords::Patterns);
        check("# site\na.example\nfull:b.example", BareWords::Domains);
        check("-i\n\\.example\\.com/ads\n^https?://ads\\.\n/banner/", urls);
        check("# Syntax: url_regex\n/banner/", urls);
        check("# syntax: domain_regex\nads", names);
        check("||a.example^\n^http://x\\.y", BareWords::Names);
        check("/ads\\.[0-9]/\n/x\\.y/$script", BareWords::Names);
        check("(^|\\.)ads\\.example$\n^track[0-9]+\\.", names);
        check("^ad([sxv]?[0-9]*|system)[_.-]\n^analytics?[_.-]", names);
        check("\\.exe$\n\\.mp3$", BareWords::Expressions(ExpressionSubject::Either));
        check("$TTL 2h\n@ IN SOA a. b. (1 2 3 4 5)\nads.example CNAME .", BareWords::Zone(""));
        check("", BareWords::Names);
    }
}
