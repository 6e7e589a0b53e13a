//! Rules as Surge, Clash, Quantumult X and Loon have them: `DOMAIN-SUFFIX,ads.example,REJECT`, and
//! the items of Clash's rule sets, `- '+.ads.example'`.
//!
//! A rule whose policy is another than to reject sends traffic elsewhere and blocks nothing. Called
//! by `detect` for lines that begin so.

use super::adblock::{AdblockRule, PATTERN_CHARS_MIN, REGEX_TEXT_BYTES_MAX};
use super::line::{DetectedLine, EntryEffect};
use super::options::RuleOptions;
use crate::names::NameForm;
use crate::report::{ListSyntax, SkipReason};
use crate::urls::flags::RuleFlags;
use filter_patterns::is_name_byte;
use std::net::IpAddr;

/// Words before the first comma that are about what no door sees, or about no request in
/// particular.
const OTHERS: [&str; 31] = [
    "IP-CIDR",
    "IP-CIDR6",
    "IP6-CIDR",
    "IP-ASN",
    "IP-SUFFIX",
    "SRC-IP",
    "SRC-IP-CIDR",
    "SRC-PORT",
    "DST-PORT",
    "DEST-PORT",
    "IN-PORT",
    "IN-TYPE",
    "IN-USER",
    "IN-NAME",
    "GEOIP",
    "SRC-GEOIP",
    "SRC-IP-ASN",
    "PROCESS-NAME",
    "PROCESS-PATH",
    "USER-AGENT",
    "URL-REGEX",
    "PROTOCOL",
    "SUBNET",
    "NETWORK",
    "CELLULAR-RADIO",
    "FINAL",
    "MATCH",
    "AND",
    "OR",
    "NOT",
    "DEVICE-NAME",
];
/// Words that name another set of rules.
const INCLUDES: [&str; 4] = ["RULE-SET", "DOMAIN-SET", "GEOSITE", "SUB-RULE"];
/// Words behind a rule that are no policy.
const SWITCHES: [&str; 3] = ["no-resolve", "extended-matching", "pre-matching"];

/// Reads such a line; none if it is of another syntax.
pub(crate) fn read(line: &str) -> Option<DetectedLine<'_>> {
    if let Some(item) = line.strip_prefix("- ") {
        let item = item.split(" #").next().unwrap_or_default().trim();
        let bare = item.trim_matches(['\'', '"']);
        return rule(bare).or_else(|| self::item(bare));
    }
    if line == "payload:" {
        return Some(DetectedLine::Blank);
    }
    if let Some(name) = line.strip_prefix("+.") {
        return Some(entry(NameForm::GeositeDomain, name.split(" #").next().unwrap_or_default()));
    }
    rule(line)
}

fn entry(form: NameForm, name: &str) -> DetectedLine<'_> {
    let name = name.trim();
    let name = name.strip_prefix('.').unwrap_or(name);
    DetectedLine::Entry { syntax: ListSyntax::Surge, form, name, effect: EntryEffect::Blocks }
}

/// An item of a set of names.
fn item(item: &str) -> Option<DetectedLine<'_>> {
    if let Some(name) = item.strip_prefix("+.") {
        return Some(entry(NameForm::GeositeDomain, name));
    }
    let address = item.split('/').next().unwrap_or_default();
    if address.parse::<IpAddr>().is_ok() {
        return Some(DetectedLine::Skip(SkipReason::UnseenProperty));
    }
    let name = item.strip_prefix("*.").or_else(|| item.strip_prefix('.'));
    let form = if name.is_some() { NameForm::GeositeDomain } else { NameForm::GeositeFull };
    let name = name.unwrap_or(item);
    let is_name = !name.is_empty() && name.bytes().all(is_name_byte);
    is_name.then(|| entry(form, name))
}

/// `WORD,VALUE` with perhaps a policy and switches behind.
fn rule(line: &str) -> Option<DetectedLine<'_>> {
    let (word, rest) = line.split_once(',')?;
    let is = |known: &&str| known.eq_ignore_ascii_case(word.trim());
    if is(&"DOMAIN-REGEX") {
        return Some(expression(line, rest));
    }
    let (value, behind) = rest.split_once(',').unwrap_or((rest, ""));
    let value = value.split(" #").next().unwrap_or_default();
    let value = value.split(" //").next().unwrap_or_default().trim();
    let read = if ["DOMAIN-SUFFIX", "HOST-SUFFIX"].iter().any(is) {
        entry(NameForm::GeositeDomain, value)
    } else if ["DOMAIN", "HOST"].iter().any(is) {
        entry(NameForm::GeositeFull, value)
    } else if ["DOMAIN-KEYWORD", "HOST-KEYWORD"].iter().any(is) {
        keyword(line, value)
    } else if ["DOMAIN-WILDCARD", "HOST-WILDCARD"].iter().any(is) {
        wildcard(line, value)
    } else if INCLUDES.iter().any(is) {
        DetectedLine::Skip(SkipReason::Include)
    } else if OTHERS.iter().any(is) {
        DetectedLine::Skip(SkipReason::UnseenProperty)
    } else {
        return None;
    };
    Some(if rejects(behind) { read } else { DetectedLine::Skip(SkipReason::NotABlock) })
}

/// True if the text behind a rule says to reject, or names no policy.
fn rejects(behind: &str) -> bool {
    let words = behind.split(',').map(|word| word.split(['#', '/']).next().unwrap_or_default());
    let policy = words.map(str::trim).find(|word| !word.is_empty() && !is_switch(word));
    policy.is_none_or(is_rejection)
}

fn is_switch(word: &str) -> bool {
    SWITCHES.iter().any(|switch| switch.eq_ignore_ascii_case(word))
}

fn is_rejection(word: &str) -> bool {
    word.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("reject"))
}

fn keyword<'l>(line: &'l str, word: &'l str) -> DetectedLine<'l> {
    if word.is_empty() || !word.bytes().all(is_name_byte) {
        DetectedLine::Skip(SkipReason::BadName)
    } else if word.len() < PATTERN_CHARS_MIN {
        DetectedLine::Skip(SkipReason::TooBroad)
    } else {
        of_names(line, word, RuleFlags::default())
    }
}

/// An expression, which may hold commas: what stands behind the last is cut off only if it rejects.
fn expression<'l>(line: &'l str, mut text: &'l str) -> DetectedLine<'l> {
    while let Some((before, last)) = text.rsplit_once(',')
        && (is_switch(last.trim()) || is_rejection(last.trim()))
    {
        text = before;
    }
    if text.is_empty() {
        DetectedLine::Skip(SkipReason::BadRegex)
    } else if text.len() > REGEX_TEXT_BYTES_MAX {
        DetectedLine::Skip(SkipReason::TooLong)
    } else {
        of_names(line, text, RuleFlags::REGEX)
    }
}

/// A whole name with stars; `?` for one character is not built.
fn wildcard<'l>(line: &'l str, pattern: &'l str) -> DetectedLine<'l> {
    if !pattern.bytes().all(|byte| is_name_byte(byte) || byte == b'*') {
        return DetectedLine::Skip(SkipReason::BadName);
    }
    if pattern.bytes().filter(|byte| *byte != b'*').count() < PATTERN_CHARS_MIN {
        return DetectedLine::Skip(SkipReason::TooBroad);
    }
    of_names(line, pattern, RuleFlags::AT_START.with(RuleFlags::AT_END))
}

/// A pattern that is held against names alone, never against the rest of a URL.
fn of_names<'l>(line: &'l str, pattern: &'l str, flags: RuleFlags) -> DetectedLine<'l> {
    DetectedLine::Rule(AdblockRule {
        syntax: ListSyntax::Surge,
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

    #[test]
    fn words_say_how_far_a_name_reaches() {
        let suffix = |name| Some(entry(NameForm::GeositeDomain, name));
        let exact = |name| Some(entry(NameForm::GeositeFull, name));
        assert_eq!(read("DOMAIN-SUFFIX,ads.example"), suffix("ads.example"));
        assert_eq!(read("DOMAIN-SUFFIX,.ads.example,REJECT-TINYGIF"), suffix("ads.example"));
        assert_eq!(read("DOMAIN,ads.example,REJECT,no-resolve"), exact("ads.example"));
        assert_eq!(read("host-suffix, ads.example, reject"), suffix("ads.example"));
        assert_eq!(read("  - DOMAIN-SUFFIX,ads.example".trim()), suffix("ads.example"));
        assert_eq!(read("- '+.ads.example'"), suffix("ads.example"));
        assert_eq!(read("- \"ads.example\""), exact("ads.example"));
        assert_eq!(read("+.ads.example"), suffix("ads.example"));
        assert_eq!(read("payload:"), Some(DetectedLine::Blank));
        assert_eq!(read("/ads,banner/"), None);
        assert_eq!(read("ads.example"), None);
    }

    #[test]
    fn what_blocks_nothing_has_its_reason() {
        let skip = |line| match read(line) {
            Some(DetectedLine::Skip(reason)) => reason,
            other => panic!("{line} became {other:?}"),
        };
        assert_eq!(skip("DOMAIN-SUFFIX,ads.example,DIRECT"), SkipReason::NotABlock);
        assert_eq!(skip("DOMAIN,ads.example,Proxy"), SkipReason::NotABlock);
        assert_eq!(skip("IP-CIDR,192.0.2.0/24,REJECT"), SkipReason::UnseenProperty);
        assert_eq!(skip("- 192.0.2.0/24"), SkipReason::UnseenProperty);
        assert_eq!(skip("RULE-SET,https://a.example/x.list,REJECT"), SkipReason::Include);
        assert_eq!(skip("DOMAIN-KEYWORD,ad"), SkipReason::TooBroad);
    }
}
