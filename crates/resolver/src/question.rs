//! What is asked of the resolver, and what comes back.

use crate::upstream::query::UpstreamQuestion;
use dns_wire::{DnsQuery, KeyBuffer, WireAnswer, key_of};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use vocab::{Name, Source};

/// Which group of upstreams, by its place in the settings; 0 is everybody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub u16);

/// Which cache, by its place in the settings; 0 is everybody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheId(pub u16);

/// A question of one's own: lower-case name, type, class, DO and CD; whom it goes to, with which
/// EDNS options, and where its answer is kept. Questions that are equal in all share one exchange.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResolverQuestion {
    key: Box<[u8]>,
    options: Box<[u8]>,
    group: GroupId,
    cache: Option<CacheId>,
}

/// Holds how a question ended.
#[derive(Clone, Debug)]
pub struct Resolution {
    /// The answer and how many seconds ago it was stored, or why there is none.
    pub result: Result<(Arc<WireAnswer>, u32), ResolveError>,
    /// `ReadyUpstream`, `Cache`, `Stale` (write it with [`WireAnswer::write_stale`]) or `Failed`;
    /// `Local` where a name that is dialled has its answer from the configuration.
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
    /// More questions are waiting than [`crate::QUESTIONS_MAX`], and it had to give way.
    Overloaded,
    /// An upstream has asked us the very question: it leads back here.
    Loop,
    /// The engine is gone; the process is ending.
    Stopped,
}

/// Too many questions are waiting: answer SERVFAIL or from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolverOverloaded;

/// Holds what a look into a cache brings.
#[derive(Clone, Debug)]
pub struct CacheLook {
    /// What it holds.
    pub cached: CachedState,
    /// Whether whoever looked is to renew it.
    pub renew: RenewAdvice,
}

/// Tells whether an answer is to be renewed: ask the question again with
/// [`crate::Resolver::submit`] or [`crate::Resolver::renew`]. One of those who look is told so, and
/// nobody else for some seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewAdvice {
    /// Is, by whoever is told this.
    Now,
    /// Is not, or somebody does.
    No,
}

/// Tells what a cache holds for a key.
#[derive(Clone, Debug)]
pub enum CachedState {
    /// An answer in its time.
    Fresh {
        /// It.
        answer: Arc<WireAnswer>,
        /// Seconds since it was stored.
        age_s: u32,
    },
    /// An answer past its time, to be given now: the upstreams have just failed to renew it, or the
    /// cache gives such answers at once. Write it with [`WireAnswer::write_stale`].
    Stale {
        /// It.
        answer: Arc<WireAnswer>,
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

impl ResolverQuestion {
    /// The question of `query`, whose key is `key`.
    pub fn new(query: &DnsQuery<'_>, key: &KeyBuffer) -> Self {
        debug_assert!(key.as_bytes().len() == query.question.len() + 1);
        Self::from_key(key.as_bytes().into())
    }

    /// A question of our own for `name`; none if the name is no valid one.
    pub fn internal(name: Name<'_>, qtype: u16) -> Option<Self> {
        key_of(name, qtype).map(Self::from_key)
    }

    /// The question with this key (see [`dns_wire::KeyBuffer`]): to the first group, without
    /// options, kept in the first cache.
    pub fn from_key(key: Box<[u8]>) -> Self {
        Self { key, options: Box::default(), group: GroupId(0), cache: Some(CacheId(0)) }
    }

    /// To this group of upstreams.
    #[must_use]
    pub fn to(self, group: GroupId) -> Self {
        Self { group, ..self }
    }

    /// Returns its answer is kept in this cache, or in none.
    #[must_use]
    pub fn with_cache(self, cache: Option<CacheId>) -> Self {
        Self { cache, ..self }
    }

    /// With these raw EDNS options, at most 65,535 bytes, which upstreams get too. They must fill
    /// each the length that it claims.
    #[must_use]
    pub fn with_options(self, options: Box<[u8]>) -> Self {
        Self { options, ..self }
    }

    /// Name, type, class, DO and CD.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Name, type and class in wire form, lower-case.
    pub fn wire(&self) -> &[u8] {
        KeyBuffer::question(&self.key)
    }

    /// Returns what its answer is kept under: the key, and the options after it.
    pub fn cache_key(&self) -> Cow<'_, [u8]> {
        if self.options.is_empty() {
            Cow::Borrowed(&self.key)
        } else {
            Cow::Owned([&*self.key, &*self.options].concat())
        }
    }

    pub(crate) fn upstream_question(&self) -> UpstreamQuestion<'_> {
        UpstreamQuestion { key: &self.key, options: &self.options }
    }

    pub(crate) fn qtype(&self) -> u16 {
        let question = self.wire();
        let at = question.len().saturating_sub(4);
        question[at..].first_chunk().map_or(0, |it| u16::from_be_bytes(*it))
    }

    pub(crate) fn group(&self) -> GroupId {
        self.group
    }

    pub(crate) fn cache(&self) -> Option<CacheId> {
        self.cache
    }
}

impl Resolution {
    pub(crate) fn failed(why: ResolveError) -> Self {
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
            Self::Loop => "an upstream leads back to this server",
            Self::Stopped => "the resolver has stopped",
        })
    }
}

impl std::error::Error for ResolveError {}

impl fmt::Display for ResolverOverloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many questions are waiting")
    }
}

impl std::error::Error for ResolverOverloaded {}

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
