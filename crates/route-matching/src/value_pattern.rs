//! Values that a route asks of header fields and of the query: this one, any, or what an expression
//! finds something in.
//!
//! A name may stand several times in a request: one that fits is enough. Called by
//! `route_match`.

use crate::expression::{BadExpression, MatchExpression, REGEX_SIGN};
use http::header::{HeaderMap, HeaderName};
use percent_encoding::percent_decode;
use std::borrow::Cow;

/// Tells what a value must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValuePattern {
    /// Any value.
    Any,
    /// This one.
    Exact(Box<str>),
    /// One that the expression finds something in.
    Matching(MatchExpression),
}

impl ValuePattern {
    /// Reads a value, `*` for any, or `~expression`.
    pub fn parse(text: &str) -> Result<Self, BadExpression> {
        match text.strip_prefix(REGEX_SIGN) {
            Some(expression) => MatchExpression::new(expression).map(Self::Matching),
            None if text == "*" => Ok(Self::Any),
            None => Ok(Self::Exact(text.into())),
        }
    }

    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(exact) => **exact == *value,
            Self::Matching(expression) => expression.is_match(value),
        }
    }

    /// True if a line of the field `name` fits.
    pub(crate) fn matches_field(&self, name: &HeaderName, headers: &HeaderMap) -> bool {
        headers.get_all(name).iter().any(|line| {
            *self == Self::Any
                || std::str::from_utf8(line.as_bytes()).is_ok_and(|it| self.matches(it.trim()))
        })
    }

    /// True if `query` has `name` with a value that fits. Both are read as forms write them
    /// (WHATWG URL §5.1).
    pub(crate) fn matches_query(&self, name: &str, query: &str) -> bool {
        let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.any(|(it, value)| form_decoded(it) == name && self.matches(&form_decoded(value)))
    }
}

fn form_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['+', '%']) {
        return Cow::Borrowed(text);
    }
    let spaced = text.replace('+', " ");
    Cow::Owned(percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_field_fits_with_one_of_its_lines() {
        let name = HeaderName::from_static("x-version");
        let mut headers = HeaderMap::new();
        headers.append(&name, HeaderValue::from_static("1"));
        headers.append(&name, HeaderValue::from_static(" 2 "));
        let fits = |text: &str| ValuePattern::parse(text).unwrap().matches_field(&name, &headers);
        assert!(fits("2") && fits("*") && fits("~^[0-9]$"));
        assert!(!fits("3") && !fits("12") && !fits("~^$"));
        let absent = HeaderName::from_static("x-absent");
        assert!(!ValuePattern::Any.matches_field(&absent, &headers));
        assert!(ValuePattern::parse("~(").is_err());
    }

    #[test]
    fn a_query_is_read_as_forms_write_it() {
        let fits = |name: &str, text: &str, query: &str| {
            ValuePattern::parse(text).unwrap().matches_query(name, query)
        };
        assert!(fits("a", "1", "x=y&a=1") && fits("a", "*", "a") && fits("a", "", "a="));
        assert!(fits("a b", "c d", "a+b=c%20d") && fits("a", "~^1", "a=0&a=12"));
        assert!(!fits("a", "1", "b=1&aa=1&a=11") && !fits("a", "*", ""));
    }
}
