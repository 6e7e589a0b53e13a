//! Reasons why a text is no place to go to, or why there is none for a request.
//!
//! Told by `check` with a remedy, and to clients. Made by `location_template`.

use super::LOCATION_BYTES_MAX;
use std::fmt;

/// Why a text is no place to go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadLocation {
    /// A text that is neither a path nor a URL of http or https.
    Nowhere(String),
    /// Bytes that a field cannot hold.
    Value(String),
    /// A text over the cap.
    TooLong,
    /// A brace has no other half.
    Brace,
    /// Nothing is known by this name.
    Word(String),
    /// The path's pattern has no such group.
    PathGroup(String, usize),
    /// The host's pattern has no such group.
    HostGroup(String, usize),
    /// A host that clients would choose a part of.
    Host(String),
}

/// Why there is no place for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLocation {
    /// The request names no host, or not the part of one that the place needs.
    Host,
    /// A place over the cap.
    TooLong,
    /// Bytes that a field cannot hold.
    Bytes,
}

impl fmt::Display for BadLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere(text) => {
                write!(f, "{text:?} is neither a path nor a URL of http or https")
            }
            Self::Value(text) => write!(f, "a URL cannot hold all of {text:?}"),
            Self::TooLong => write!(f, "the place is over {LOCATION_BYTES_MAX} bytes"),
            Self::Brace => f.write_str("a brace has no other half: write {{ or }} for one"),
            Self::Word(word) => write!(
                f,
                "{{{word}}} is unknown: client, host, scheme, path, query, uri are known, and \
                 host.1 for a group of the host"
            ),
            Self::PathGroup(name, 0) => {
                write!(f, "the path's pattern has no groups, so no ${name}")
            }
            Self::PathGroup(name, last) => {
                write!(f, "the path's pattern has no group {name:?}: its last is ${last}")
            }
            Self::HostGroup(name, 0) => {
                write!(f, "the host's pattern has no groups, so no {{host.{name}}}")
            }
            Self::HostGroup(name, last) => {
                write!(f, "the host's pattern has no group {name:?}: its last is {{host.{last}}}")
            }
            Self::Host(text) => write!(
                f,
                "in {text:?} clients choose the host: whoever writes a link could send people \
                 anywhere"
            ),
        }
    }
}

impl std::error::Error for BadLocation {}

impl BadLocation {
    /// The text to write instead.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Host(_) => "put a slash behind the host: https://www.example/$1",
            Self::PathGroup(..) => {
                "write ${1} where a letter follows, $$ for a dollar, or put brackets in the pattern"
            }
            Self::HostGroup(..) => "write {host} for all of it, or brackets in the host's pattern",
            Self::Value(_) => "percent-encode spaces, and letters beyond ASCII",
            Self::Nowhere(_) | Self::TooLong | Self::Brace | Self::Word(_) => {
                "write \"https://{host}{uri}\", or a path such as \"/new/$1\""
            }
        }
    }
}

impl NoLocation {
    /// The words that clients get.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Host => "The request names no host",
            Self::TooLong => "The place that this leads to is too long",
            Self::Bytes => "The place that this leads to cannot be said",
        }
    }
}
