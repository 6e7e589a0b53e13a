//! Cache directives: `Cache-Control` of responses and requests (RFC 9111 §5.2, RFC 5861, RFC 8246).
//!
//! Read once into plain values. Where a directive stands twice the first counts (§4.2.1); a
//! lifetime that is no number is none at all, so the response is stale. Pure. Called by the rules.

use super::response_control::{DirectiveSource, ResponseControl, ResponseFlag, is, names};
use super::rules::{CacheSide, CachingRules, DELTA_SECS_MAX, RequestControl};
use super::targeted;
use http::header::{self, GetAll, HeaderMap, HeaderName, HeaderValue};

/// Directives of a request (RFC 9111 §5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDirectives {
    pub(crate) max_age_secs: Option<u32>,
    pub(crate) min_fresh_secs: Option<u32>,
    /// Staleness that is acceptable; without an argument, any.
    pub(crate) max_stale_secs: Option<u32>,
    pub(crate) stale_if_error_secs: Option<u32>,
    flags: u8,
}

/// A directive without an argument, in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestDirective {
    /// `no-store` (RFC 9111 §5.2.1.5).
    NoStore,
    /// `no-cache` (RFC 9111 §5.2.1.4).
    NoCache,
    /// `only-if-cached` (RFC 9111 §5.2.1.7).
    OnlyIfCached,
}

impl ResponseControl {
    /// Returns what a response's fields say to a cache of these rules.
    pub(crate) fn of(rules: &CachingRules, fields: &HeaderMap) -> Self {
        match rules.side {
            CacheSide::Reverse => {
                targeted::control(fields).unwrap_or_else(|| Self::general(fields))
            }
            CacheSide::Forward => Self::general(fields),
        }
    }

    fn general(fields: &HeaderMap) -> Self {
        let mut control = Self::new(DirectiveSource::General);
        for directive in DirectiveLines::of(fields) {
            control.apply(&directive);
        }
        control
    }

    fn apply(&mut self, directive: &Directive<'_>) {
        let argument = &directive.argument;
        // A lifetime that is no number is none: the response is stale (RFC 9111 §4.2.1).
        let lifetime = || Some(argument.number().unwrap_or(0));
        let name = directive.name;
        if is(name, "max-age") {
            self.max_age_secs = self.max_age_secs.or_else(lifetime);
        } else if is(name, "s-maxage") {
            self.s_maxage_secs = self.s_maxage_secs.or_else(lifetime);
        } else if is(name, "stale-while-revalidate") {
            self.stale_while_revalidate_secs =
                self.stale_while_revalidate_secs.or_else(|| argument.number());
        } else if is(name, "stale-if-error") {
            self.stale_if_error_secs = self.stale_if_error_secs.or_else(|| argument.number());
        } else if is(name, "no-cache") {
            match argument.names() {
                Some(names) => self.no_cache_fields.extend(names),
                None => self.set(ResponseFlag::NoCache),
            }
        } else if is(name, "private") {
            match argument.names() {
                Some(names) => self.private_fields.extend(names),
                None => self.set(ResponseFlag::Private),
            }
        } else if let Some(flag) = ResponseFlag::named(name) {
            self.set(flag);
        }
    }
}

impl RequestDirectives {
    /// Returns what a request's fields say to a cache of these rules. `Pragma: no-cache` counts
    /// where there is no `Cache-Control` (RFC 9111 §5.4).
    pub fn of(rules: &CachingRules, fields: &HeaderMap) -> Self {
        let mut directives = Self::default();
        match rules.requests {
            RequestControl::Ignored => return directives,
            RequestControl::Honoured => {}
        }
        if !fields.contains_key(header::CACHE_CONTROL) {
            if pragma_no_cache(fields) {
                directives.set(RequestDirective::NoCache);
            }
            return directives;
        }
        for Directive { name, argument } in DirectiveLines::of(fields) {
            let number = || argument.number();
            if is(name, "max-age") {
                // A number that is none asks for the freshest.
                directives.max_age_secs =
                    directives.max_age_secs.or_else(|| Some(number().unwrap_or(0)));
            } else if is(name, "min-fresh") {
                directives.min_fresh_secs = directives.min_fresh_secs.or_else(number);
            } else if is(name, "max-stale") {
                let any = matches!(argument, DirectiveArgument::None).then_some(u32::MAX);
                directives.max_stale_secs = directives.max_stale_secs.or(any).or_else(number);
            } else if is(name, "stale-if-error") {
                directives.stale_if_error_secs = directives.stale_if_error_secs.or_else(number);
            } else if is(name, "no-cache") {
                directives.set(RequestDirective::NoCache);
            } else if is(name, "no-store") {
                directives.set(RequestDirective::NoStore);
            } else if is(name, "only-if-cached") {
                directives.set(RequestDirective::OnlyIfCached);
            }
        }
        directives
    }

    const fn set(&mut self, directive: RequestDirective) {
        self.flags |= 1 << directive as u8;
    }

    /// True if the request says this.
    pub const fn has(&self, directive: RequestDirective) -> bool {
        self.flags & (1 << directive as u8) != 0
    }
}

/// True if `Pragma` says `no-cache`.
pub(crate) fn pragma_no_cache(fields: &HeaderMap) -> bool {
    let mut pragmas = fields.get_all(header::PRAGMA).iter();
    pragmas.any(|value| {
        value.as_bytes().split(|it| *it == b',').any(|it| is(it.trim_ascii(), "no-cache"))
    })
}

struct Directive<'a> {
    name: &'a [u8],
    argument: DirectiveArgument<'a>,
}

enum DirectiveArgument<'a> {
    None,
    Token(&'a [u8]),
    Quoted(Vec<u8>),
    /// Spaces around `=`, or something behind the closing quote.
    Malformed,
}

impl DirectiveArgument<'_> {
    /// A number of seconds, quoted or not (RFC 9111 §5.2), at most [`DELTA_SECS_MAX`].
    fn number(&self) -> Option<u32> {
        match self {
            Self::Token(text) => delta_secs(text),
            Self::Quoted(text) => delta_secs(text),
            Self::None | Self::Malformed => None,
        }
    }

    /// A list of names; `None` where there is no list that could be obeyed.
    fn names(&self) -> Option<Vec<HeaderName>> {
        match self {
            Self::Token(text) => names(text),
            Self::Quoted(text) => names(text),
            Self::None | Self::Malformed => None,
        }
    }
}

/// Digits as seconds (RFC 9111 §1.2.2); `None` for anything else, signs and fractions included.
pub(crate) fn delta_secs(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit).min(DELTA_SECS_MAX))
    })
}

/// The directives of all lines of `Cache-Control`.
struct DirectiveLines<'a> {
    lines: <GetAll<'a, HeaderValue> as IntoIterator>::IntoIter,
    rest: &'a [u8],
}

impl<'a> DirectiveLines<'a> {
    fn of(fields: &'a HeaderMap) -> Self {
        Self { lines: fields.get_all(header::CACHE_CONTROL).into_iter(), rest: &[] }
    }

    /// Returns what stands before the next comma or the end, trimmed behind.
    fn until_comma(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|it| *it == b',').unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken.trim_ascii_end()
    }

    /// A quoted string whose opening quote has been read.
    fn quoted(&mut self) -> DirectiveArgument<'a> {
        let mut text = Vec::new();
        let mut bytes = self.rest.iter().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = &self.rest[at + 1..];
                    let junk = self.until_comma();
                    return if junk.is_empty() {
                        DirectiveArgument::Quoted(text)
                    } else {
                        DirectiveArgument::Malformed
                    };
                }
                b'\\' => text.extend(bytes.next().map(|(_, escaped)| *escaped)),
                byte => text.push(*byte),
            }
        }
        self.rest = &[];
        DirectiveArgument::Malformed
    }
}

impl<'a> Iterator for DirectiveLines<'a> {
    type Item = Directive<'a>;

    fn next(&mut self) -> Option<Directive<'a>> {
        loop {
            let blank = |it: &u8| *it == b',' || it.is_ascii_whitespace();
            while self.rest.first().is_some_and(blank) {
                self.rest = &self.rest[1..];
            }
            if !self.rest.is_empty() {
                break;
            }
            self.rest = self.lines.next()?.as_bytes();
        }
        let end =
            self.rest.iter().position(|it| matches!(it, b',' | b'=')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        let Some((b'=', behind)) = self.rest.split_first() else {
            return Some(Directive {
                name: name.trim_ascii_end(),
                argument: DirectiveArgument::None,
            });
        };
        self.rest = behind;
        let argument = if let Some((b'"', behind)) = self.rest.split_first() {
            self.rest = behind;
            self.quoted()
        } else {
            DirectiveArgument::Token(self.until_comma())
        };
        let spaced = name.last().is_some_and(u8::is_ascii_whitespace);
        let argument = if spaced { DirectiveArgument::Malformed } else { argument };
        Some(Directive { name: name.trim_ascii_end(), argument })
    }
}
