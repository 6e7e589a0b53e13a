//! Tests of matchers against a run.

use super::RunContext;
use crate::env::{PipelineEnv, PipelineQuestion};
use crate::program::{
    AddressSets, GuardMatcher, GuardTest, NameSets, TestSense, TextComparison, TextSource, TextTest,
};
use crate::state::RunResponse;
use dns_wire::{record_type, reply};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use vocab::Name;

impl<W: PipelineEnv> RunContext<'_, W> {
    /// True if all of `tests` hold, asked in order up to the first that does not.
    pub(super) fn all_match(&mut self, tests: &[GuardTest], asked: PipelineQuestion<'_>) -> bool {
        tests.iter().all(|test| self.test_matches(test, asked))
    }

    fn test_matches(&mut self, test: &GuardTest, asked: PipelineQuestion<'_>) -> bool {
        self.matches(&test.matcher, asked) == (test.sense == TestSense::Is)
    }

    pub(super) fn message(&self) -> Option<&[u8]> {
        match &self.state.response {
            RunResponse::Nothing => None,
            RunResponse::Made => Some(self.out),
            RunResponse::Kept(answer, _) => Some(answer.message()),
        }
    }

    fn matches(&mut self, matcher: &GuardMatcher, asked: PipelineQuestion<'_>) -> bool {
        let query = asked.query;
        match matcher {
            GuardMatcher::Always => true,
            GuardMatcher::Never => false,
            GuardMatcher::Name(names) => names.contain(asked.name, query.qtype),
            GuardMatcher::Type(types) => types.contains(&query.qtype),
            GuardMatcher::Class(classes) => classes.contains(&query.qclass),
            GuardMatcher::Client(addresses) => addresses.contain(self.env.caller().client),
            GuardMatcher::ResponseAddress(addresses) => self
                .message()
                .is_some_and(|message| reply::addresses(message).any(|ip| addresses.contain(ip))),
            GuardMatcher::PointerAddress(addresses) => {
                query.qtype == record_type::PTR
                    && pointer_address(asked.name).is_some_and(|ip| addresses.contain(ip))
            }
            GuardMatcher::Alias(names) => self.message().is_some_and(|message| {
                reply::any_alias(message, |name| names.contain(name, query.qtype))
            }),
            GuardMatcher::Rcode(rcodes) => {
                self.rcode().is_some_and(|rcode| rcodes.contains(&rcode))
            }
            GuardMatcher::HasResponse => !matches!(self.state.response, RunResponse::Nothing),
            GuardMatcher::HasWantedAnswer => {
                self.message().is_some_and(|message| reply::has_type(message, query.qtype))
            }
            GuardMatcher::Mark(marks) => {
                self.state.marks.as_slice().iter().any(|mark| marks.contains(mark))
            }
            GuardMatcher::Random(bound) => u64::from(self.env.chance()) < *bound,
            GuardMatcher::RateLimit(limiter) => {
                let caller = self.env.caller();
                limiter.allows(caller.client, caller.now)
            }
            GuardMatcher::Text(test) => self.text_matches(test, asked),
            GuardMatcher::Any(tests) => tests.iter().any(|test| self.test_matches(test, asked)),
        }
    }

    fn rcode(&self) -> Option<u16> {
        self.state.refusal.or_else(|| self.message().map(reply::rcode))
    }

    fn text_matches(&self, test: &TextTest, asked: PipelineQuestion<'_>) -> bool {
        let fits = |text: &str| test.comparison.matches(text);
        let number = |number: u32| {
            let mut digits = ShortText::new();
            // Ten digits fit.
            let _ = write!(digits, "{number}");
            fits(digits.as_str())
        };
        let address = |address: IpAddr| {
            let mut written = ShortText::new();
            // No address is longer than 45 characters.
            let _ = write!(written, "{address}");
            fits(written.as_str())
        };
        let caller = self.env.caller();
        match test.source {
            TextSource::Name => fits(asked.name.as_str()),
            TextSource::Type => number(asked.query.qtype.into()),
            TextSource::Class => number(asked.query.qclass.into()),
            TextSource::Rcode => {
                self.rcode().map_or_else(|| fits(""), |rcode| number(rcode.into()))
            }
            TextSource::ResponseAddress => match self.message() {
                None => fits(""),
                Some(message) => reply::addresses(message).any(address),
            },
            TextSource::Mark => self.state.marks.as_slice().iter().any(|mark| number(*mark)),
            TextSource::Client => address(caller.client),
            TextSource::ServerName => fits(caller.server_name),
            TextSource::UrlPath => fits(caller.url_path),
        }
    }
}

impl NameSets {
    /// True if a set holds `name`, or a rule fits it and `qtype`.
    pub fn contain(&self, name: Name<'_>, qtype: u16) -> bool {
        self.sets.iter().any(|set| set.contains(name))
            || self.learned.iter().any(|set| set.contains(name))
            || self.rules.iter().any(|rules| rules.matches(name, qtype))
    }
}

impl AddressSets {
    /// True if a set holds `address`.
    pub fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|set| set.contains(address))
    }
}

impl TextComparison {
    /// True if `text` is what it must be.
    pub fn matches(&self, text: &str) -> bool {
        let any = |words: &[Box<str>], fits: fn(&str, &str) -> bool| {
            words.iter().any(|word| fits(text, word))
        };
        match self {
            Self::Empty => text.is_empty(),
            Self::Equal(words) => any(words, |text, word| text == word),
            Self::Prefix(words) => any(words, |text, word| text.starts_with(word)),
            Self::Suffix(words) => any(words, |text, word| text.ends_with(word)),
            Self::Contains(words) => any(words, |text, word| text.contains(word)),
            Self::Regexp(set) => set.is_match(text),
        }
    }
}

/// A short text in fixed room.
struct ShortText {
    bytes: [u8; 48],
    len: usize,
}

impl ShortText {
    const fn new() -> Self {
        Self { bytes: [0; 48], len: 0 }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl std::fmt::Write for ShortText {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + part.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(part.as_bytes());
        self.len += part.len();
        Ok(())
    }
}

/// The option with `code` among raw options, with its head; none where it is not there.
pub(super) fn option(mut options: &[u8], code: u16) -> Option<&[u8]> {
    while let Some((head, rest)) = options.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        if length > rest.len() {
            return None;
        }
        if u16::from_be_bytes([head[0], head[1]]) == code {
            return Some(&options[..4 + length]);
        }
        options = &rest[length..];
    }
    None
}

/// The address that a name below `in-addr.arpa` or `ip6.arpa` stands for (RFC 1035 §3.5, RFC 3596
/// §2.5); none for anything else, parts of addresses among it.
pub fn pointer_address(name: Name<'_>) -> Option<IpAddr> {
    let text = name.as_str();
    if let Some(octets) = text.strip_suffix(".in-addr.arpa") {
        let mut address = [0; 4];
        let mut parts = octets.split('.');
        for octet in address.iter_mut().rev() {
            let part = parts.next()?;
            // One way to write each: 01 is no label of this tree.
            let is_padded = part.len() > 1 && part.starts_with('0');
            if is_padded || part.len() > 3 || !part.bytes().all(|it| it.is_ascii_digit()) {
                return None;
            }
            *octet = part.parse().ok()?;
        }
        return parts.next().is_none().then(|| Ipv4Addr::from(address).into());
    }
    let digits = text.strip_suffix(".ip6.arpa")?;
    let mut address: u128 = 0;
    let mut parts = digits.split('.');
    for place in 0..32 {
        let &[digit] = parts.next()?.as_bytes() else { return None };
        address |= u128::from(char::from(digit).to_digit(16)?) << (place * 4);
    }
    parts.next().is_none().then(|| Ipv6Addr::from(address).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn reverse_names_are_read() {
        let check = |text: &str, expected: Option<&str>| {
            let expected = expected.map(|it| it.parse::<IpAddr>().unwrap());
            assert_eq!(pointer_address(Name::from_lowercase(text).unwrap()), expected, "{text}");
        };
        check("1.2.0.192.in-addr.arpa", Some("192.0.2.1"));
        check("2.0.192.in-addr.arpa", None);
        check("0.1.2.0.192.in-addr.arpa", None);
        check("01.2.0.192.in-addr.arpa", None);
        check("256.2.0.192.in-addr.arpa", None);
        check("0.0.0.0.in-addr.arpa", Some("0.0.0.0"));
        let six = format!("1.{}8.b.d.0.1.0.0.2.ip6.arpa", "0.".repeat(23));
        check(&six, Some("2001:db8::1"));
        check(&six[2..], None);
        check(&six.replace("b.d", "g.d"), None);
        check("a.example", None);
    }
}
