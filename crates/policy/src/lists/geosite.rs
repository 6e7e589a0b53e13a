//! Lines of v2ray's geosite files as text: `domain:`, `full:`, `keyword:`, `regexp:`.
//!
//! Attributes (`@cn`) say which lines a user may pick out of a file; whoever names the file here
//! wants all of them, so they are passed over. `include:` is refused: a list is one text, and a
//! name in it opens no file. Called by `detect`.

use super::adblock::{self, AdblockRule};
use super::line::{DetectedLine, NameSeparator, before_comment};
use super::options::RuleOptions;
use crate::names::NameForm;
use crate::report::{ListSyntax, SkipReason};
use crate::urls::flags::RuleFlags;
use filter_patterns::is_name_byte;

const PREFIXES: [&str; 5] = ["domain:", "full:", "keyword:", "regexp:", "include:"];

/// True if the line begins as only lines of such files do.
pub(crate) fn is_one(line: &str) -> bool {
    PREFIXES.iter().any(|prefix| line.starts_with(prefix))
}

/// Reads such a line; none if it is of another syntax.
pub(crate) fn read(line: &str) -> Option<DetectedLine<'_>> {
    let (prefix, rest) = line.split_once(':')?;
    let names = |form| {
        let names = without_attributes(rest);
        Some(DetectedLine::Names { form, names, separator: NameSeparator::Blank })
    };
    match prefix {
        "domain" => names(NameForm::GeositeDomain),
        "full" => names(NameForm::GeositeFull),
        "keyword" => {
            let word = without_attributes(rest);
            let is_word = !word.is_empty() && word.bytes().all(is_name_byte);
            Some(if !is_word {
                DetectedLine::Skip(SkipReason::BadName)
            } else if word.len() < adblock::PATTERN_CHARS_MIN {
                DetectedLine::Skip(SkipReason::TooBroad)
            } else {
                of_names(line, word, RuleFlags::default())
            })
        }
        "regexp" => {
            // An expression may hold `@` and `#`; an attribute stands behind a blank.
            let expression = rest.split(" @").next().unwrap_or_default().trim();
            Some(if expression.is_empty() {
                DetectedLine::Skip(SkipReason::BadRegex)
            } else if expression.len() > adblock::REGEX_TEXT_BYTES_MAX {
                DetectedLine::Skip(SkipReason::TooLong)
            } else {
                of_names(line, expression, RuleFlags::REGEX)
            })
        }
        "include" => Some(DetectedLine::Skip(SkipReason::Include)),
        _ => None,
    }
}

/// A bare name of such a file, which holds for the names below it too; none if it is no name.
pub(crate) fn bare(line: &str) -> Option<DetectedLine<'_>> {
    let names = without_attributes(line);
    let is_name = !names.is_empty() && names.bytes().all(is_name_byte);
    is_name.then_some(DetectedLine::Names {
        form: NameForm::GeositeDomain,
        names,
        separator: NameSeparator::Blank,
    })
}

/// Text before comments and attributes, which a blank sets off.
fn without_attributes(text: &str) -> &str {
    before_comment(text).split(" @").next().unwrap_or_default().trim()
}

/// A pattern that is held against names alone, never against the rest of a URL.
fn of_names<'l>(line: &'l str, pattern: &'l str, flags: RuleFlags) -> DetectedLine<'l> {
    DetectedLine::Rule(AdblockRule {
        syntax: ListSyntax::Geosite,
        head: line,
        tail: "",
        exception: false,
        flags: flags.with(RuleFlags::NAMES_ONLY),
        pattern,
        options: RuleOptions::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(form: NameForm, names: &str) -> DetectedLine<'_> {
        DetectedLine::Names { form, names, separator: NameSeparator::Blank }
    }

    #[test]
    fn prefixes_say_how_far_a_name_reaches() {
        assert_eq!(
            read("domain:a.example @cn @ads"),
            Some(names(NameForm::GeositeDomain, "a.example"))
        );
        assert_eq!(read("full:a.example # seen"), Some(names(NameForm::GeositeFull, "a.example")));
        assert_eq!(bare("a.example @!cn"), Some(names(NameForm::GeositeDomain, "a.example")));
        assert_eq!(read("include:google @ads"), Some(DetectedLine::Skip(SkipReason::Include)));
        assert_eq!(read("keyword:a"), Some(DetectedLine::Skip(SkipReason::TooBroad)));
        assert_eq!(read("keyword:a/b"), Some(DetectedLine::Skip(SkipReason::BadName)));
        assert_eq!(read("https://a.example/"), None);
        assert_eq!(bare("two words"), None);
    }

    #[test]
    fn words_and_expressions_are_patterns_of_names() {
        let pattern = |line| match read(line) {
            Some(DetectedLine::Rule(rule)) => (rule.pattern, rule.flags),
            other => panic!("{line} became {other:?}"),
        };
        assert_eq!(pattern("keyword:tracker @ads"), ("tracker", RuleFlags::NAMES_ONLY));
        let flags = RuleFlags::REGEX.with(RuleFlags::NAMES_ONLY);
        assert_eq!(pattern(r"regexp:^ad\d+\. @cn"), (r"^ad\d+\.", flags));
    }
}
