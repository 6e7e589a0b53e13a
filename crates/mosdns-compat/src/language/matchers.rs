//! Matchers: what a rule can ask, as a plugin of its own or in its quick form.
//!
//! Nothing is looked up: tags and files stay words until [`crate::compile`]. Called by
//! [`super::plugins`] and [`super::rules`].

use super::Dialect;
use super::position::{PlacedWord, ReadNotes, SourcePosition};
use super::record_types::rtype;
use super::rules::{self, RuleTest};
use super::strings::{StringTest, string_test};
use super::tree::{ConfigSection, UnknownKeys, texts_of};
use super::words::{SetWords, no_words, numbers, split};
use domain::base::iana::{Class, OptRcode};
use serde_json::Value;

/// A matcher and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum MatcherSpec {
    /// It holds.
    Always,
    /// Does not.
    Never,
    /// The name asked for.
    Name(SetWords),
    /// The whole question, asked of providers.
    Question(Vec<PlacedWord>),
    /// Aliases in the answer.
    Alias(SetWords),
    /// The client's address.
    Client(SetWords),
    /// Addresses in the answer.
    ResponseAddress(SetWords),
    /// The address that a PTR question is about.
    PointerAddress(SetWords),
    /// The type.
    Type(Vec<u16>),
    /// The class.
    Class(Vec<u16>),
    /// The response code of the answer.
    Rcode(Vec<u16>),
    /// There is an answer.
    HasResponse,
    /// There is one with a record of the type asked for.
    HasWantedAnswer,
    /// One of these marks is set.
    Mark(Vec<u32>),
    /// A variable of the environment is set, and to this if something is given.
    Env(String, Option<String>),
    /// So many of all times, from 0 to 1.
    Random(f64),
    /// The client still has a token.
    RateLimiter(RateLimit),
    /// A text of the request fits.
    Text(StringTest),
    /// One of these holds.
    Any(Vec<RuleTest>),
}

/// Number of questions a client has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// Tokens a second. Default 20.
    pub qps: f64,
    /// Tokens at most. Default 40.
    pub burst: u32,
    /// Bits of an IPv4 address that make a client. Default 32.
    pub mask4: u8,
    /// Bits of an IPv6 address. Default 48.
    pub mask6: u8,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { qps: 20.0, burst: 40, mask4: 32, mask6: 48 }
    }
}

/// All types of matchers.
pub(super) const TYPES: &[&str] = &[
    "_true",
    "_false",
    "any_match",
    "qname",
    "question",
    "qtype",
    "qclass",
    "client_ip",
    "resp_ip",
    "ptr_ip",
    "cname",
    "rcode",
    "has_resp",
    "has_wanted_ans",
    "mark",
    "env",
    "random",
    "rate_limiter",
    "string_exp",
];

/// Those that have no quick form.
pub(super) const NOT_QUICK: &[&str] = &["any_match"];

/// Those with a quick form in OxiDNS only.
pub(super) const OXIDNS_QUICK: &[&str] = &["question", "rate_limiter"];

/// The matcher of type `name` with the arguments of its own plugin: a list, or one text.
pub(super) fn read(
    name: &str,
    args: &Value,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<MatcherSpec> {
    match name {
        "rate_limiter" => {
            let mut section = ConfigSection::new(args, place, notes);
            let limit = rate_limit(&mut section);
            section.finish(UnknownKeys::AsUsual);
            limit.map(MatcherSpec::RateLimiter)
        }
        "any_match" => {
            let items = texts_of(args, place, notes);
            let lines = items.iter().flat_map(|it| {
                it.text.lines().map(|line| (line.trim(), &it.position)).collect::<Vec<_>>()
            });
            let tests: Vec<RuleTest> = lines
                .filter(|(line, _)| !line.is_empty())
                .filter_map(|(line, place)| rules::test(line, place, notes))
                .collect();
            if items.is_empty() {
                notes.complain(place.complaint("no matcher is given"));
            }
            Some(MatcherSpec::Any(tests))
        }
        _ => {
            let texts = if args.is_null() { Vec::new() } else { texts_of(args, place, notes) };
            made(name, &texts, place, notes)
        }
    }
}

/// The matcher of type `name` with the words of its quick form; none if there is no such form, or
/// it was refused with a complaint.
pub(super) fn quick(
    name: &str,
    words: &str,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<MatcherSpec> {
    if name == "rate_limiter" {
        return quick_rate_limit(words, place, notes).map(MatcherSpec::RateLimiter);
    }
    made(name, &[PlacedWord::new(words, place)], place, notes)
}

fn made(
    name: &str,
    texts: &[PlacedWord],
    place: &SourcePosition,
    notes: &ReadNotes,
) -> Option<MatcherSpec> {
    let all = || texts.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ");
    let set = || words(name, texts, place, notes);
    Some(match name {
        "_true" => plain(name, &all(), MatcherSpec::Always, place, notes),
        "_false" => plain(name, &all(), MatcherSpec::Never, place, notes),
        "has_resp" => plain(name, &all(), MatcherSpec::HasResponse, place, notes),
        "has_wanted_ans" => plain(name, &all(), MatcherSpec::HasWantedAnswer, place, notes),
        "qname" => MatcherSpec::Name(set()),
        "cname" => MatcherSpec::Alias(set()),
        "client_ip" => MatcherSpec::Client(set()),
        "resp_ip" => MatcherSpec::ResponseAddress(set()),
        "ptr_ip" => MatcherSpec::PointerAddress(set()),
        "question" => {
            let words = set();
            if !words.rules.is_empty() || !words.files.is_empty() {
                let complaint = place.complaint("only providers can be asked about a question");
                notes.complain(complaint.remedy("write question $TAG"));
            }
            MatcherSpec::Question(words.sets)
        }
        "qtype" => MatcherSpec::Type(codes(name, texts, notes, rtype)),
        "qclass" => MatcherSpec::Class(codes(name, texts, notes, class)),
        "rcode" => MatcherSpec::Rcode(codes(name, texts, notes, rcode)),
        "mark" => MatcherSpec::Mark(marks(&all(), place, notes)),
        "env" => env(&all(), place, notes)?,
        "random" => MatcherSpec::Random(probability(&all(), place, notes)?),
        "string_exp" => MatcherSpec::Text(string_test(&all(), place, notes)?),
        _ => return None,
    })
}

fn plain(
    name: &str,
    words: &str,
    matcher: MatcherSpec,
    place: &SourcePosition,
    notes: &ReadNotes,
) -> MatcherSpec {
    no_words(name, words.trim(), place, notes);
    matcher
}

fn words(name: &str, texts: &[PlacedWord], place: &SourcePosition, notes: &ReadNotes) -> SetWords {
    let mut words = SetWords::default();
    for item in texts {
        words.add(&item.text, &item.position, notes.dialect);
    }
    if words.is_empty() {
        let complaint = place.complaint(format!("{name} names nothing, so it never holds"));
        if notes.is_mosdns() {
            notes.warn(complaint);
        } else {
            notes.complain(complaint);
        }
    }
    words
}

/// Marks: whole numbers, as in `mark 1 2`.
pub(super) fn marks(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Vec<u32> {
    let marks = numbers(&split(text, notes.dialect), u32::MAX, place, notes);
    if marks.is_empty() && text.trim().is_empty() {
        notes.complain(place.complaint("no mark is given").remedy("write mark NUMBER"));
    }
    marks
}

/// Numbers, or in OxiDNS names of them.
fn codes(
    name: &str,
    texts: &[PlacedWord],
    notes: &ReadNotes,
    named: fn(&str) -> Option<u16>,
) -> Vec<u16> {
    let mut codes = Vec::new();
    for item in texts {
        for word in split(&item.text, notes.dialect) {
            let number = word.parse().ok();
            let named = || named(&word.to_ascii_uppercase()).filter(|_| !notes.is_mosdns());
            codes.extend(number.or_else(named).or_else(|| {
                let complaint = item.position.complaint(format!("{word:?} is no {name}"));
                notes.refuse(complaint.remedy("a whole number from 0 to 65535"))
            }));
        }
    }
    codes
}

/// The number of a class's name.
pub(super) fn class(name: &str) -> Option<u16> {
    match name {
        "CS" => Some(2),
        "ANY" | "*" => Some(255),
        other => other.parse::<Class>().ok().map(Class::to_int),
    }
}

/// The number of a response code's name.
pub(super) fn rcode(name: &str) -> Option<u16> {
    match name {
        "BADSIG" => Some(16),
        other => other.parse::<OptRcode>().ok().map(OptRcode::to_int),
    }
}

/// `env KEY` or `env KEY VALUE`. That the peer looks for a variable called VALUE is its fault.
fn env(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<MatcherSpec> {
    match split(text, notes.dialect).as_slice() {
        [key] => Some(MatcherSpec::Env((*key).into(), None)),
        [key, value] => Some(MatcherSpec::Env((*key).into(), Some((*value).into()))),
        _ => {
            let complaint = place.complaint("one or two words are expected");
            notes.refuse(complaint.remedy("write env KEY or env KEY VALUE"))
        }
    }
}

fn probability(text: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<f64> {
    let number: Option<f64> = text.trim().parse().ok();
    number.filter(|it| (0.0..=1.0).contains(it)).or_else(|| {
        let complaint = place.complaint(format!("{:?} is no probability", text.trim()));
        notes.refuse(complaint.remedy("a number from 0 to 1"))
    })
}

/// Tokens at most; far over what one address can ask.
const TOKENS_MAX: u32 = 1_000_000_000;

fn rate(qps: f64, place: &SourcePosition, notes: &ReadNotes) -> Option<f64> {
    let is_within = qps > 0.0 && qps <= f64::from(TOKENS_MAX);
    if !is_within {
        let complaint = place.complaint(format!("{qps} is no rate"));
        notes.complain(complaint.remedy("more than 0 questions a second"));
    }
    is_within.then_some(qps)
}

fn rate_limit(section: &mut ConfigSection<'_>) -> Option<RateLimit> {
    let usual = RateLimit::default();
    let qps = match section.decimal("qps") {
        // In mosdns, what is not more than nothing is the default.
        Some((qps, _)) if qps <= 0.0 && section.notes.is_mosdns() => Some(usual.qps),
        Some((qps, place)) => rate(qps, &place, section.notes),
        None => Some(usual.qps),
    };
    let burst = section.count("burst", TOKENS_MAX.into()).map_or(usual.burst, |it| it as u32);
    let mask4 = section.mask("mask4", 32).unwrap_or(usual.mask4);
    let mask6 = section.mask("mask6", 128).unwrap_or(usual.mask6);
    Some(RateLimit { qps: qps?, burst, mask4, mask6 })
}

/// `rate_limiter [qps [burst [mask4 [mask6]]]]` of OxiDNS.
fn quick_rate_limit(words: &str, place: &SourcePosition, notes: &ReadNotes) -> Option<RateLimit> {
    let words = split(words, Dialect::Mosdns);
    let mut limit = RateLimit::default();
    let read = |index: usize| words.get(index).copied();
    let mut is_right = words.len() <= 4;
    if let Some(word) = read(0) {
        limit.qps = rate(word.parse().unwrap_or(0.0), place, notes)?;
    }
    if let Some(word) = read(1) {
        limit.burst = word.parse().unwrap_or(0);
        is_right &= (1..=TOKENS_MAX).contains(&limit.burst);
    }
    if let Some(word) = read(2) {
        limit.mask4 = word.parse().unwrap_or(u8::MAX);
        is_right &= limit.mask4 <= 32;
    }
    if let Some(word) = read(3) {
        limit.mask6 = word.parse().unwrap_or(u8::MAX);
        is_right &= limit.mask6 <= 128;
    }
    if !is_right {
        let complaint = place.complaint(format!("{:?} is no limit", words.join(" ")));
        notes.complain(complaint.remedy("write rate_limiter QPS BURST MASK4 MASK6"));
        return None;
    }
    Some(limit)
}
