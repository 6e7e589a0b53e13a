//! Lines of v2ray's geosite files as text: `domain:`, `full:`, `keyword:`, `regexp:`.
//!
//! Attributes (`@cn`) say which lines a user may pick out of a file; whoever names the file here
//! wants all of them, so they are passed over. `include:` is refused: a list is one text, and a
//! name in it opens no file. Called by `detect`.

use super::adblock::{self, AdblockRule};
use super::detect::{Line, Separator, before_comment};
use super::options::Options;
use crate::names::Form;
use crate::report::{SkipReason, Syntax};
use crate::urls::index::is_name_byte;
use crate::urls::rule::Flags;

const PREFIXES: [&str; 5] = ["domain:", "full:", "keyword:", "regexp:", "include:"];

/// Whether the line begins as only lines of such files do.
pub(crate) fn is_one(line: &str) -> bool {
    PREFIXES.iter().any(|prefix| line.starts_with(prefix))
}

/// Reads such a line; none if it is of another syntax.
pub(crate) fn read(line: &str) -> Option<Line<'_>> {
    let (prefix, rest) = line.split_once(':')?;
    let names = |form| {
        let names = without_attributes(rest);
        Some(Line::Names { form, names, separator: Separator::Blank })
    };
    match prefix {
        "domain" => names(Form::GeositeDomain),
        "full" => names(Form::GeositeFull),
        "keyword" => {
            let word = without_attributes(rest);
            let is_word = !word.is_empty() && word.bytes().all(is_name_byte);
            Some(if !is_word {
                Line::Skip(SkipReason::BadName)
            } else if word.len() < adblock::PATTERN_CHARS_MIN {
                Line::Skip(SkipReason::TooBroad)
            } else {
                of_names(line, word, Flags::default())
            })
        }
        "regexp" => {
            // An expression may hold `@` and `#`; an attribute stands behind a blank.
            let expression = rest.split(" @").next().unwrap_or_default().trim();
            Some(if expression.is_empty() {
                Line::Skip(SkipReason::BadRegex)
            } else if expression.len() > adblock::REGEX_TEXT_BYTES_MAX {
                Line::Skip(SkipReason::TooLong)
            } else {
                of_names(line, expression, Flags::REGEX)
            })
        }
        "include" => Some(Line::Skip(SkipReason::Include)),
        _ => None,
    }
}

/// A bare name of such a file, which holds for the names below it too; none if it is no name.
pub(crate) fn bare(line: &str) -> Option<Line<'_>> {
    let names = without_attributes(line);
    let is_name = !names.is_empty() && names.bytes().all(is_name_byte);
    is_name.then_some(Line::Names { form: Form::GeositeDomain, names, separator: Separator::Blank })
}

/// Text before comments and attributes, which a blank sets off.
fn without_attributes(text: &str) -> &str {
    before_comment(text).split(" @").next().unwrap_or_default().trim()
}

/// A pattern that is held against names alone, never against the rest of a URL.
fn of_names<'l>(line: &'l str, pattern: &'l str, flags: Flags) -> Line<'l> {
    Line::Rule(AdblockRule {
        syntax: Syntax::Geosite,
        head: line,
        tail: "",
        exception: false,
        flags: flags.with(Flags::NAMES_ONLY),
        pattern,
        options: Options::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(form: Form, names: &str) -> Line<'_> {
        Line::Names { form, names, separator: Separator::Blank }
    }

    #[test]
    fn prefixes_say_how_far_a_name_reaches() {
        assert_eq!(
            read("domain:a.example @cn @ads"),
            Some(names(Form::GeositeDomain, "a.example"))
        );
        assert_eq!(read("full:a.example # seen"), Some(names(Form::GeositeFull, "a.example")));
        assert_eq!(bare("a.example @!cn"), Some(names(Form::GeositeDomain, "a.example")));
        assert_eq!(read("include:google @ads"), Some(Line::Skip(SkipReason::Include)));
        assert_eq!(read("keyword:a"), Some(Line::Skip(SkipReason::TooBroad)));
        assert_eq!(read("keyword:a/b"), Some(Line::Skip(SkipReason::BadName)));
        assert_eq!(read("https://a.example/"), None);
        assert_eq!(bare("two words"), None);
    }

    #[test]
    fn words_and_expressions_are_patterns_of_names() {
        let pattern = |line| match read(line) {
            Some(Line::Rule(rule)) => (rule.pattern, rule.flags),
            other => panic!("{line} became {other:?}"),
        };
        assert_eq!(pattern("keyword:tracker @ads"), ("tracker", Flags::NAMES_ONLY));
        let flags = Flags::REGEX.with(Flags::NAMES_ONLY);
        assert_eq!(pattern(r"regexp:^ad\d+\. @cn"), (r"^ad\d+\.", flags));
    }
}
