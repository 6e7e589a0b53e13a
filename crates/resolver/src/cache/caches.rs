//! The caches of answers, by their places in the settings: looked into by everyone, flushed by
//! those who may.
//!
//! A place once taken stays: what a reload leaves out is emptied and holds nothing from then on.
//! Looking into one takes no lock beside the cache's own. Called through [`crate::Resolver`].

use super::answer_cache::{AnswerCache, CacheStats};
use super::key::{is_at_or_below, name_in, wire_of};
use crate::question::CacheId;
use crate::settings::CACHES_MAX;
use crate::settings::cache::CacheSettings;
use std::sync::{Mutex, OnceLock, PoisonError};
use vocab::{ByteSize, DomainName};

/// All caches of answers, by their numbers.
pub(crate) struct AnswerCaches {
    slots: Box<[OnceLock<AnswerCache>]>,
    /// What they are called, for people; locked once a reload and once a look at the numbers.
    names: Mutex<Vec<String>>,
}

/// Tells what is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlushScope {
    /// Everything.
    All,
    /// What is known of this name, of every type.
    Name(DomainName),
    /// What is known of this name and of all below it.
    Subtree(DomainName),
}

/// Tells whose answers are to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushIn {
    /// Those of every cache.
    Every,
    /// Those of this one.
    One(CacheId),
}

impl AnswerCaches {
    pub(crate) fn new(settings: &[CacheSettings]) -> Self {
        let caches = Self {
            slots: (0..CACHES_MAX).map(|_| OnceLock::new()).collect(),
            names: Mutex::default(),
        };
        caches.configure(settings);
        caches
    }

    /// Takes other settings; each cache keeps what it holds, as far as that still fits.
    pub(crate) fn configure(&self, settings: &[CacheSettings]) {
        let names = settings.iter().map(|it| it.name.clone()).collect();
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = names;
        let mut settings = settings.iter();
        for place in &self.slots {
            match (settings.next(), place.get()) {
                (Some(settings), Some(cache)) => cache.configure(settings),
                (Some(settings), None) => {
                    place.get_or_init(|| AnswerCache::new(settings));
                }
                (None, Some(cache)) => {
                    let mut nothing = CacheSettings::default();
                    nothing.size.0 = ByteSize(0);
                    cache.configure(&nothing);
                }
                (None, None) => return,
            }
        }
    }

    pub(crate) fn get(&self, id: CacheId) -> Option<&AnswerCache> {
        self.slots.get(usize::from(id.0))?.get()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (CacheId, &AnswerCache)> {
        let ids = (0..).map(CacheId);
        ids.zip(self.slots.iter().map_while(OnceLock::get))
    }

    pub(crate) fn flush(&self, which: FlushIn, what: &FlushScope) -> usize {
        let flushed = self.all().filter(|(id, _)| match which {
            FlushIn::Every => true,
            FlushIn::One(one) => *id == one,
        });
        flushed.map(|(_, cache)| flush_one(cache, what)).sum()
    }

    /// Returns what each is called: its name, or its number where it has none or shares it.
    pub(crate) fn names(&self) -> Vec<String> {
        let named = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<String> = Vec::new();
        for (CacheId(number), _) in self.all() {
            let name = named.get(usize::from(number)).map_or("", String::as_str);
            all.push(match name {
                "" => number.to_string(),
                name if all.iter().any(|it| it == name) => format!("{name} ({number})"),
                name => name.to_owned(),
            });
        }
        all
    }

    pub(crate) fn stats(&self) -> Vec<CacheStats> {
        self.all().map(|(_, cache)| cache.stats()).collect()
    }
}

fn flush_one(cache: &AnswerCache, what: &FlushScope) -> usize {
    match what {
        FlushScope::All => cache.forget(|_| true),
        FlushScope::Name(name) => match wire_of(name) {
            Some(wanted) => cache.forget(|key| name_in(key) == Some(&*wanted)),
            None => 0,
        },
        FlushScope::Subtree(name) => match wire_of(name) {
            Some(wanted) => cache.forget(|key| is_at_or_below(key, &wanted)),
            None => 0,
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn no_two_are_called_alike() {
        let named = |name: &str| CacheSettings { name: name.into(), ..CacheSettings::default() };
        let caches = AnswerCaches::new(&[named("a"), named(""), named("a")]);
        assert_eq!(caches.names(), ["a", "1", "a (2)"]);
        caches.configure(&[named("b")]);
        assert_eq!(caches.names(), ["b", "1", "2"]);
    }

    #[test]
    fn a_place_that_is_left_out_holds_nothing() {
        let two = [CacheSettings::default(), CacheSettings::default()];
        let caches = AnswerCaches::new(&two);
        assert_eq!(caches.stats().len(), 2);
        caches.configure(&two[..1]);
        assert_eq!(caches.get(CacheId(1)).unwrap().stats().bytes_max, 0);
        assert!(caches.get(CacheId(2)).is_none());
        caches.configure(&two);
        assert_eq!(caches.stats()[0], caches.stats()[1]);
    }
}
