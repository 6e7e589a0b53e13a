//! What is asked of the resolver, and what comes back.

use dns_wire::{Answer, KeyBuffer, Query, key_of};
use std::fmt;
use std::sync::Arc;
use vocab::{Name, Source};

/// A question of one's own: lower-case name, type, class, DO and CD.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    key: Box<[u8]>,
}

/// How a question ended.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The answer and how many seconds ago it was stored, or why there is none.
    pub result: Result<(Arc<Answer>, u32), ResolveError>,
    /// `Upstream`, `Cache`, `Stale` (write it with [`Answer::write_stale`]) or `Failed`.
    pub source: Source,
    /// The upstream that answered, by name; empty if none did.
    pub upstream: Arc<str>,
}

/// Why a question has no answer. In each case SERVFAIL is what a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// No upstream answered in time.
    Timeout,
    /// Every upstream refused to be connected to, or its name could not be found.
    Unreachable,
    /// An upstream's certificate is not trusted, or TLS failed otherwise.
    Tls,
    /// What an upstream sent was no answer to the question.
    BadAnswer,
    /// More questions are waiting than [`super::QUESTIONS_MAX`].
    Overloaded,
    /// The resolver's thread is gone; the process is ending.
    Stopped,
}

/// Too many questions are waiting: answer SERVFAIL or from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded;

/// What the cache holds for a key.
#[derive(Clone, Debug)]
pub enum Cached {
    /// An answer in its time.
    Fresh {
        /// It.
        answer: Arc<Answer>,
        /// Seconds since it was stored.
        age_s: u32,
    },
    /// An answer past its time, to be given now because the upstreams have just failed to renew
    /// it. Write it with [`Answer::write_stale`].
    Stale {
        /// It.
        answer: Arc<Answer>,
        /// Seconds since it was stored.
        age_s: u32,
    },
    /// Nothing: submit the question.
    Miss,
}

/// Why a name has no addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAddresses {
    /// There is no such name.
    NoSuchName,
    /// The name has no address.
    None,
    /// An upstream says that it failed or will not.
    UpstreamFailed,
    /// No answer.
    Failed(ResolveError),
}

impl Question {
    /// The question of `query`, whose key is `key`.
    pub fn new(query: &Query<'_>, key: &KeyBuffer) -> Self {
        debug_assert!(key.as_bytes().len() == query.question.len() + 1);
        Self { key: key.as_bytes().into() }
    }

    /// A question of our own for `name`; none if the name is no valid one.
    pub fn about(name: Name<'_>, qtype: u16) -> Option<Self> {
        key_of(name, qtype).map(|key| Self { key })
    }

    pub(super) fn from_key(key: &[u8]) -> Self {
        Self { key: key.into() }
    }

    /// What its answers are kept under.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Name, type and class in wire form, lower-case.
    pub fn wire(&self) -> &[u8] {
        KeyBuffer::question(&self.key)
    }

    pub(super) fn into_key(self) -> Box<[u8]> {
        self.key
    }
}

impl Resolution {
    pub(super) fn failed(why: ResolveError) -> Self {
        Self { result: Err(why), source: Source::Failed, upstream: Arc::from("") }
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timeout => "no upstream answered in time",
            Self::Unreachable => "no upstream could be reached",
            Self::Tls => "no upstream could be spoken to over TLS",
            Self::BadAnswer => "the upstreams sent no usable answer",
            Self::Overloaded => "too many questions are waiting",
            Self::Stopped => "the resolver has stopped",
        })
    }
}

impl std::error::Error for ResolveError {}

impl fmt::Display for Overloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many questions are waiting")
    }
}

impl std::error::Error for Overloaded {}

impl fmt::Display for NoAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchName => f.write_str("there is no such name"),
            Self::None => f.write_str("the name has no address"),
            Self::UpstreamFailed => f.write_str("the upstream could not look the name up"),
            Self::Failed(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for NoAddresses {}
