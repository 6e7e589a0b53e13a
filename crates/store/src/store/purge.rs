//! Taking back what is stored: by URL, prefix, host or tag, softly or for good.
//!
//! What is being fetched while a purge comes is concerned too: it may have been asked for before. Called
//! by the admin API, and by doors after requests that change something.

use super::Store;
use crate::freshness::{
    Answered, Asked, HeadEffect, Rules, choose, freshened, head_effect, invalidation,
};
use crate::key::Key;
use crate::memory::{Entry, Filed};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use vocab::Now;

/// How much a purge does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// It is stale from now on: asked about before it is used, and still there when the origin fails.
    Soft,
    /// It is gone.
    Hard,
}

/// Purges that are remembered for the sake of fetches that began before them. Of a fetch that saw more
/// come, nothing is stored.
const PURGES_MAX: usize = 64;

/// What a purge concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerns<'a> {
    /// All variants of a URL, in the form in which it is filed.
    Url(&'a str),
    /// All URLs that begin so.
    Prefix(&'a str),
    /// All URLs of a host, in lower case, whatever scheme and port.
    Host(&'a str),
    /// All that carries a tag (`Surrogate-Key`, `Cache-Tag`).
    Tag(&'a str),
    /// Everything.
    All,
}

/// What a purge concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Stored responses.
    pub entries: u64,
    /// Fetches under way. Where it is not known yet what they bring, they are taken to be concerned.
    pub fetches: u64,
}

impl Concerns<'_> {
    fn holds(&self, url: &str, tags: &[Box<str>]) -> bool {
        match self {
            Self::Url(it) => url == *it,
            Self::Prefix(it) => url.starts_with(it),
            Self::Host(it) => host_of(url).is_some_and(|host| host == *it),
            Self::Tag(it) => tags.iter().any(|tag| **tag == **it),
            Self::All => true,
        }
    }

    fn holds_filed(&self, filed: &Filed) -> bool {
        self.holds(filed.key().url(), &filed.terms().tags)
    }

    /// Whether it may concern what is asked for under a key, and is not known yet.
    fn may_hold(&self, key: &Key) -> bool {
        matches!(self, Self::Tag(_)) || self.holds(key.url(), &[])
    }
}

/// The host of a canonical URL, without user and port.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) => host.get(..=end),
        None => host.split(':').next(),
    }
}

/// The purges that came lately.
#[derive(Default)]
pub(super) struct Purges(Mutex<Lately>);

#[derive(Default)]
struct Lately {
    /// All that ever came.
    count: u64,
    last: VecDeque<(What, Depth)>,
}

/// [`Concerns`] with a text of its own.
enum What {
    Url(Box<str>),
    Prefix(Box<str>),
    Host(Box<str>),
    Tag(Box<str>),
    All,
}

impl What {
    fn concerns(&self) -> Concerns<'_> {
        match self {
            Self::Url(it) => Concerns::Url(it),
            Self::Prefix(it) => Concerns::Prefix(it),
            Self::Host(it) => Concerns::Host(it),
            Self::Tag(it) => Concerns::Tag(it),
            Self::All => Concerns::All,
        }
    }
}

impl From<Concerns<'_>> for What {
    fn from(what: Concerns<'_>) -> Self {
        match what {
            Concerns::Url(it) => Self::Url(it.into()),
            Concerns::Prefix(it) => Self::Prefix(it.into()),
            Concerns::Host(it) => Self::Host(it.into()),
            Concerns::Tag(it) => Self::Tag(it.into()),
            Concerns::All => Self::All,
        }
    }
}

impl Purges {
    /// The moment now, counted in purges.
    pub(super) fn moment(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    fn note(&self, what: Concerns<'_>, depth: Depth) {
        let mut lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lately.count += 1;
        lately.last.push_back((what.into(), depth));
        if lately.last.len() > PURGES_MAX {
            lately.last.pop_front();
        }
    }

    /// The deepest purge since a moment that concerns a head.
    pub(super) fn since(&self, moment: u64, filed: &Filed) -> Option<Depth> {
        let lately = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let came = (lately.count - moment) as usize;
        if came > lately.last.len() {
            return Some(Depth::Hard);
        }
        let purges = lately.last.iter().rev().take(came);
        purges.filter(|(what, _)| what.concerns().holds_filed(filed)).map(|(_, depth)| *depth).max()
    }
}

impl Store {
    /// Takes back what is stored. When it returns, nothing of it is sent to anybody who asks now, or, if
    /// softly, not before the origin was asked.
    pub fn purge(&self, what: Concerns<'_>, depth: Depth, now: Now) -> Purged {
        // First for what is stored from now on, then for what is.
        self.purges.note(what, depth);
        let fetches = self.herd.outdate(|key, filed| match filed {
            Some(filed) => what.holds_filed(filed),
            None => what.may_hold(key),
        });
        let mut entries = 0;
        let mut each = |entry: Arc<Entry>| entries += u64::from(self.doom(&entry, depth, now));
        match what {
            Concerns::Url(url) => {
                if let Some((first, others)) = self.tier.find(&self.key(url)) {
                    std::iter::once(first).chain(others).for_each(each);
                }
            }
            Concerns::Prefix(_) | Concerns::Host(_) | Concerns::Tag(_) | Concerns::All => {
                self.tier.sweep(|entry| what.holds_filed(entry), &mut each);
            }
        }
        self.count_many(entries, |it| &it.purged);
        Purged { entries, fetches }
    }

    /// Takes back what a request that may have changed something makes wrong (RFC 9111 §4.4).
    pub fn invalidate(&self, asked: &Asked<'_>, answered: &Answered<'_>) -> Purged {
        let mut sum = Purged::default();
        for url in invalidation(asked, answered) {
            let purged = self.purge(Concerns::Url(&url), Depth::Hard, asked.now);
            sum.entries += purged.entries;
            sum.fetches += purged.fetches;
        }
        sum
    }

    /// Takes note of the answer to a `HEAD` that went past the store (RFC 9111 §4.3.5).
    pub fn head_answered(
        &self,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        answered: &Answered<'_>,
    ) {
        let Some((first, others)) = self.tier.find(key) else { return };
        let mut variants: Vec<_> = std::iter::once(first).chain(others).collect();
        let chosen = choose(variants.iter().map(|entry| entry.head()), asked.fields);
        let Some(old) = chosen.map(|place| variants.swap_remove(place)) else { return };
        let new = match head_effect(old.head(), answered) {
            HeadEffect::Nothing => return,
            HeadEffect::Outdates => self.ended(&old, asked.now),
            HeadEffect::Updates => match freshened(rules, asked, old.head(), answered) {
                Ok((head, terms)) => self.refile(&old, &head, terms),
                Err(_) => None,
            },
        };
        match new {
            Some(new) => drop(self.tier.freshen(&old, &new)),
            None => drop(self.tier.remove(&old)),
        }
    }

    /// Says whether it was still there.
    pub(super) fn doom(&self, entry: &Arc<Entry>, depth: Depth, now: Now) -> bool {
        match depth {
            Depth::Hard => self.tier.remove(entry),
            Depth::Soft => match self.ended(entry, now) {
                Some(ended) => self.tier.freshen(entry, &ended),
                // Without room for another head it goes: it must not be taken for fresh.
                None => self.tier.remove(entry),
            },
        }
    }

    /// The same with its freshness ended.
    fn ended(&self, entry: &Entry, now: Now) -> Option<Arc<Entry>> {
        let mut terms = entry.terms().clone();
        terms.end_freshness(terms.age_secs(entry.head(), now.unix_ms));
        self.refile(entry, entry.head(), terms)
    }
}
