//! What a line is: each is told by its own look, so that a list may mix syntaxes.
//!
//! Only one thing depends on the list as a whole: what a bare word is, which `bare` tells. It never
//! fails: what is no rule has a reason. Called by `compile` for every line.

use super::adblock::{self, AdblockRule};
use super::bare::{BareWords, ExpressionSubject};
use super::line::{DetectedLine, NameSeparator, before_comment};
use super::options::RuleOptions;
use super::{dnsmasq, geosite, hosts, pihole, rpz, surge, unbound};
use crate::names::NameForm;
use crate::report::{ListSyntax, SkipReason};
use crate::urls::flags::{RuleFlags, TYPES_ALL};
use filter_patterns::CaseMatching;
use filter_patterns::is_name_byte;

/// Reads one line, without its line end.
pub(crate) fn read<'l>(line: &'l str, bare: BareWords<'_>) -> DetectedLine<'l> {
    if let BareWords::Zone(origin) = bare {
        return rpz::read(line, origin);
    }
    let line = line.trim();
    if let BareWords::Expressions(subject) = bare {
        return expression(line, subject);
    }
    // Nine of ten lines of a filter list, ahead of everything else.
    if let Some(name) = line.strip_prefix("||").and_then(|rest| rest.strip_suffix('^'))
        && name.bytes().all(is_name_byte)
        && name.len() > 2
    {
        return DetectedLine::names(NameForm::Adblock, name, NameSeparator::Blank);
    }
    match line.as_bytes() {
        [] | [b'!', ..] => return DetectedLine::Blank,
        [b'#', rest @ ..] => return after_hash(rest),
        [b'[', rest @ ..] => {
            let is_rule = rest.starts_with(b"$") && line.contains("##");
            return if is_rule {
                DetectedLine::Skip(SkipReason::Cosmetic)
            } else {
                DetectedLine::Blank
            };
        }
        [_, ..] => {}
    }
    if let Some(line) = hosts_line(line) {
        return line;
    }
    if is_cosmetic(line) {
        return DetectedLine::Skip(SkipReason::Cosmetic);
    }
    match dnsmasq::read(line) {
        Some(Ok((form, names))) => return DetectedLine::names(form, names, NameSeparator::Slash),
        Some(Err(reason)) => return DetectedLine::Skip(reason),
        None => {}
    }
    match unbound::read(line) {
        Some(Ok((form, names))) => return DetectedLine::names(form, names, NameSeparator::Blank),
        Some(Err(reason)) => return DetectedLine::Skip(reason),
        None => {}
    }
    if let Some(line) = geosite::read(line).or_else(|| surge::read(line)) {
        return line;
    }
    if let Some(line) = rpz::rpz_line(line) {
        return line;
    }
    if pihole::is_one(line) {
        return pihole::read(line).map_or_else(DetectedLine::Skip, DetectedLine::Rule);
    }
    let named = match bare {
        BareWords::Names => name_line(line),
        // Stars and dots in front say more than the file's habit.
        BareWords::Domains => geosite::bare(line).or_else(|| name_line(line)),
        BareWords::Patterns | BareWords::Expressions(_) | BareWords::Zone(_) => None,
    };
    if let Some(line) = named {
        return line;
    }
    match adblock::read(line) {
        Ok(rule) => DetectedLine::Rule(rule),
        Err(reason) => DetectedLine::Skip(reason),
    }
}

/// A line of a file in which every line is an expression. Those about URLs are about pages, too.
fn expression(line: &str, subject: ExpressionSubject) -> DetectedLine<'_> {
    if line.is_empty() || line.starts_with(['#', '!']) {
        return DetectedLine::Blank;
    }
    let mut options = RuleOptions::default();
    match subject {
        ExpressionSubject::Names => {
            return pihole::read(line).map_or_else(DetectedLine::Skip, DetectedLine::Rule);
        }
        ExpressionSubject::Urls(case) => {
            options.types = Some(TYPES_ALL);
            options.marks.match_case = case == CaseMatching::Differs;
        }
        ExpressionSubject::Either => options.marks.all = true,
    }
    if line.len() > adblock::REGEX_TEXT_BYTES_MAX {
        return DetectedLine::Skip(SkipReason::TooLong);
    }
    DetectedLine::Rule(AdblockRule {
        syntax: ListSyntax::UrlRegex,
        head: line,
        tail: "",
        exception: false,
        flags: RuleFlags::REGEX,
        pattern: line,
        options,
    })
}

/// A line that begins with `#`: a comment, unless it goes on like a rule that hides elements.
fn after_hash(rest: &[u8]) -> DetectedLine<'static> {
    let is_rule = match rest {
        [b'#', next, ..] => !matches!(next, b'#' | b' ' | b'\t' | b'-' | b'='),
        [_, ..] => opens_cosmetic(rest),
        [] => false,
    };
    if is_rule { DetectedLine::Skip(SkipReason::Cosmetic) } else { DetectedLine::Blank }
}

/// Most marks between the two `#` of a cosmetic rule: `#@$?#` of AdGuard has three.
const COSMETIC_MARKS_MAX: usize = 4;

/// True if a `#` followed by these bytes opens a cosmetic rule: marks, another `#`, and more.
fn opens_cosmetic(rest: &[u8]) -> bool {
    let is_mark = |byte: &&u8| matches!(**byte, b'@' | b'?' | b'$' | b'%');
    let marks = rest.iter().take_while(is_mark).count();
    marks <= COSMETIC_MARKS_MAX && rest.get(marks) == Some(&b'#') && rest.len() > marks + 1
}

/// True if a rule hides elements, changes a page's style or runs scripts: `##`, `#@#`, `#?#`,
/// `#$#`, `#$?#`, `#%#`, and their exceptions; `$$` and `$@$` remove elements.
fn is_cosmetic(line: &str) -> bool {
    let bytes = line.as_bytes();
    memchr::memchr_iter(b'#', bytes).any(|at| opens_cosmetic(&bytes[at + 1..]))
        || ["$$", "$@$"].iter().any(|marker| {
            line.split_once(marker).is_some_and(|(domains, rest)| {
                // `example.com$$script[...]`, not a URL with two dollars.
                domains.bytes().all(|byte| is_name_byte(byte) || matches!(byte, b',' | b'~'))
                    && rest.starts_with(|c: char| c.is_ascii_lowercase())
            })
        })
}

/// A line of a hosts file: an address, then names, then perhaps a comment.
fn hosts_line(line: &str) -> Option<DetectedLine<'_>> {
    let (address, names) = line.split_once([' ', '\t'])?;
    let form = match hosts::form_of(address)? {
        Ok(form) => form,
        Err(reason) => {
            let first = names.split_whitespace().next().unwrap_or_default();
            let reason = if hosts::is_local(first) { SkipReason::LocalName } else { reason };
            return Some(DetectedLine::Skip(reason));
        }
    };
    let names = names.split('#').next().unwrap_or_default();
    Some(DetectedLine::Names { form, names, separator: NameSeparator::Blank })
}

/// A line that is a name, `*.name` or `.name`, with perhaps a comment behind.
fn name_line(line: &str) -> Option<DetectedLine<'_>> {
    let name = before_comment(line);
    let (form, name) = if let Some(rest) = name.strip_prefix("*.") {
        (NameForm::Wildcard, rest)
    } else if let Some(rest) = name.strip_prefix('.') {
        (NameForm::Dotted, rest)
    } else {
        (NameForm::Plain, name)
    };
    let is_name = !name.is_empty()
        && name.bytes().all(is_name_byte)
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.as_bytes().last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
    is_name.then_some(DetectedLine::Names { form, names: name, separator: NameSeparator::Blank })
}

impl NameForm {
    /// The syntax that lines of this form are written in.
    pub(crate) fn syntax(self) -> ListSyntax {
        match self {
            Self::HostsNull | Self::HostsLoopback | Self::HostsNullV6 | Self::HostsLoopbackV6 => {
                ListSyntax::Hosts
            }
            Self::Plain => ListSyntax::Names,
            Self::Wildcard | Self::Dotted => ListSyntax::Wildcards,
            Self::Adblock | Self::AdblockException => ListSyntax::Adblock,
            Self::DnsmasqAddress | Self::DnsmasqServer | Self::DnsmasqLocal => ListSyntax::Dnsmasq,
            Self::GeositeDomain | Self::GeositeFull => ListSyntax::Geosite,
            Self::UnboundZone | Self::UnboundData => ListSyntax::Unbound,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &DetectedLine<'_>) {
        assert_eq!(read(line, BareWords::Names), *expected, "{line}");
    }

    fn names(form: NameForm, names: &str) -> DetectedLine<'_> {
        DetectedLine::Names { form, names, separator: NameSeparator::Blank }
    }

    #[test]
    fn every_syntax_is_told_by_the_line() {
        check("0.0.0.0 ads.example # seen today", &names(NameForm::HostsNull, "ads.example "));
        check(":: a.example b.example", &names(NameForm::HostsNullV6, "a.example b.example"));
        check("ads.example", &names(NameForm::Plain, "ads.example"));
        check("ads.example # why", &names(NameForm::Plain, "ads.example"));
        check("*.ads.example", &names(NameForm::Wildcard, "ads.example"));
        check(".ads.example", &names(NameForm::Dotted, "ads.example"));
        check("||ads.example^", &names(NameForm::Adblock, "ads.example"));
        check("! comment", &DetectedLine::Blank);
        check("# comment", &DetectedLine::Blank);
        check("## comment", &DetectedLine::Blank);
        check("#", &DetectedLine::Blank);
        check("[Adblock Plus 2.0]", &DetectedLine::Blank);
        assert!(matches!(read("-ads-$image", BareWords::Names), DetectedLine::Rule(_)));
        assert!(matches!(read("ads.example", BareWords::Patterns), DetectedLine::Rule(_)));
    }

    #[test]
    fn rules_that_hide_elements_are_told_apart() {
        for line in [
            "example.com##.ad",
            "##.ad",
            "#@#.ad",
            "example.com#@#.ad",
            "example.com#?#div:has(> .ad)",
            "example.com#$#abort-on-property-read x",
            "example.com#%#//scriptlet()",
            "example.com#@$#x { }",
            "example.com#@?#.x",
            "example.com#$?#.x { remove: true; }",
            "example.com#@$?#.x { padding: 0 }",
            "example.com#@%#//scriptlet()",
            "#@$?#.x { padding: 0 }",
            "example.com$@$script[tag-content=\"ad\"]",
            "example.com$$script[tag-content=\"ad\"]",
            "[$path=/x]example.com##.ad",
        ] {
            check(line, &DetectedLine::Skip(SkipReason::Cosmetic));
        }
    }

    #[test]
    fn a_number_sign_without_a_blank_opens_no_comment() {
        check("example.net#foo$script,domain=x.org", &DetectedLine::Skip(SkipReason::Fragment));
        check("*.com#$image,domain=x.org", &DetectedLine::Skip(SkipReason::Fragment));
        check("ads.example#why", &DetectedLine::Skip(SkipReason::Fragment));
        check("ads.example\t#why", &names(NameForm::Plain, "ads.example"));
        assert_eq!(
            read("ads.example#why", BareWords::Domains),
            DetectedLine::Skip(SkipReason::Fragment),
            "in geosite files too"
        );
    }

    #[test]
    fn prose_is_no_rule() {
        check("The page was not found.", &DetectedLine::Skip(SkipReason::NotARule));
        check("127.0.0.1", &names(NameForm::Plain, "127.0.0.1"));
    }
}
