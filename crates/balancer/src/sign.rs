//! Signs of a request by which it waits in a higher or a lower class: a cookie or a field.
//!
//! It reads fields; it never asks whether they are true. Called by `pool`, and by the settings'
//! check.

use crate::key::{cookie, is_token};

/// Something that a request may carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestSign {
    /// A cookie, and what it must be.
    Cookie(String, Option<String>),
    /// A field, and what it must be.
    Header(http::HeaderName, Option<String>),
}

impl RequestSign {
    /// True if a request carries it.
    pub(crate) fn is_on(&self, headers: &http::HeaderMap) -> bool {
        let fits = |found: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| found == wanted)
        };
        match self {
            Self::Cookie(name, wanted) => {
                cookie(headers, name).is_some_and(|found| fits(found, wanted))
            }
            Self::Header(name, wanted) => {
                let mut found = headers.get_all(name).into_iter();
                found.any(|found| found.to_str().is_ok_and(|found| fits(found.trim(), wanted)))
            }
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (rest, None),
        };
        match kind {
            "cookie" if is_token(name) => Some(Self::Cookie(name.into(), value)),
            "header" => Some(Self::Header(name.parse().ok()?, value)),
            _ => None,
        }
    }
}
