//! Taking back what is stored: by URL, prefix, host or tag, softly or for good.
//!
//! What is being fetched while a purge comes is concerned too: it may have been asked for before.
//! Called by the admin API, and by doors after requests that change something.

use super::Store;
use super::purge_watch::{holds_filed, may_hold};
use crate::memory::StoredEntry;
use disk_store::{CacheKey, KeyHash, Purge, PurgeError, PurgeStrength};
use http_freshness::{
    CachingRules, HeadEffect, RequestFacts, ResponseFacts, choose, freshened, head_effect,
    invalidation,
};
use std::io;
use std::sync::Arc;
use vocab::Now;

/// Holds what a purge concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Stored responses.
    pub entries: u64,
    /// Fetches under way. Where it is not known yet what they bring, they are taken to be
    /// concerned.
    pub fetches: u64,
}

impl Store {
    /// Takes back what is stored. When it returns, nothing of it is sent to anybody who asks then,
    /// or, if softly, not before the origin was asked. An error says that it may not outlive a
    /// restart; in memory it is done all the same, save for a pattern that is too long. Waits for
    /// the disk.
    pub fn purge(
        &self,
        what: &Purge,
        strength: PurgeStrength,
        now: Now,
    ) -> Result<PurgeReport, PurgeError> {
        // The disk first: what is recalled in between is swept up with the rest.
        let on_disk = match &self.disk_tier {
            Some(disk_tier) => disk_tier.disk.purge(std::slice::from_ref(what), strength),
            None => Ok(()),
        };
        if let Err(why @ PurgeError::PatternTooLong) = on_disk {
            return Err(why);
        }
        let purged = self.purge_memory(what, strength, now);
        on_disk.map(|()| purged)
    }

    async fn purge_disk(
        self: &Arc<Self>,
        what: Purge,
        strength: PurgeStrength,
    ) -> Result<(), PurgeError> {
        if self.disk_tier.is_none() {
            return Ok(());
        }
        let store = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || match &store.disk_tier {
            Some(disk_tier) => disk_tier.disk.purge(&[what], strength),
            None => Ok(()),
        });
        // It is not awaited only while the runtime ends.
        done.await.unwrap_or_else(|why| Err(PurgeError::NotKept(io::Error::other(why))))
    }

    fn purge_memory(&self, what: &Purge, strength: PurgeStrength, now: Now) -> PurgeReport {
        // First for what is stored from now on, then for what is.
        self.purges.note(what, strength);
        let fetches = self.collapser.mark_outdated(|key, filed| match filed {
            Some(filed) => holds_filed(what, filed),
            None => may_hold(what, key),
        });
        let mut entries = 0;
        let mut each =
            |entry: Arc<StoredEntry>| entries += u64::from(self.purge_entry(&entry, strength, now));
        match what {
            Purge::Key(hash) => self.tier.of_hash(*hash).into_iter().for_each(each),
            Purge::Prefix(_) | Purge::Host(_) | Purge::Tag(_) | Purge::Everything => {
                self.tier.sweep(|entry| holds_filed(what, entry), &mut each);
            }
        }
        self.count_many(entries, |it| &it.purged);
        PurgeReport { entries, fetches }
    }

    /// Takes back what a request that may have changed something makes wrong (RFC 9111 §4.4). What
    /// the disk cannot note for good is right until the next start at least.
    pub async fn invalidate(
        self: &Arc<Self>,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) -> PurgeReport {
        let mut sum = PurgeReport::default();
        for url in invalidation(asked, answered) {
            let hash = self.key(&url).hash();
            if self.may_be_on_disk(hash) {
                let _ = self.purge_disk(Purge::Key(hash), PurgeStrength::Hard).await;
            }
            let purged = self.purge_memory(&Purge::Key(hash), PurgeStrength::Hard, asked.now);
            sum.entries += purged.entries;
            sum.fetches += purged.fetches;
        }
        sum
    }

    /// True if the disk has to hear of it: a purge is a write that is waited for, and most requests
    /// that change something name what was never stored.
    fn may_be_on_disk(&self, hash: KeyHash) -> bool {
        self.disk_tier.as_ref().is_some_and(|disk_tier| {
            self.purges.is_watched(hash)
                || !disk_tier.disk.find(hash).is_empty()
                // What was handed in is not found before it is written.
                || disk_tier.disk.stats().waiting_bytes > 0
        })
    }

    /// Takes note of the answer to a `HEAD` that went past the store (RFC 9111 §4.3.5).
    pub async fn head_answered(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        answered: &ResponseFacts<'_>,
    ) {
        let mut variants = self.tier.of_hash(key.hash());
        let chosen = choose(variants.iter().map(|entry| entry.head()), asked.fields);
        let Some(old) = chosen.map(|place| variants.swap_remove(place)) else { return };
        let updated = match head_effect(old.head(), answered) {
            HeadEffect::Nothing => return,
            HeadEffect::Invalidates => None,
            HeadEffect::Updates => freshened(rules, asked, old.head(), answered).ok(),
        };
        let new = updated.and_then(|(head, terms)| self.replace_head(&old, &head, terms));
        if let Some(new) = new {
            self.tier.freshen(&old, &new);
            self.renew(&old, &new, rules, asked.now);
        } else {
            let _ = self.purge_disk(Purge::Key(key.hash()), PurgeStrength::Soft).await;
            self.purge_entry(&old, PurgeStrength::Soft, asked.now);
        }
    }

    /// Says whether it was still there.
    pub(super) fn purge_entry(
        &self,
        entry: &Arc<StoredEntry>,
        strength: PurgeStrength,
        now: Now,
    ) -> bool {
        match strength {
            PurgeStrength::Hard => self.tier.remove(entry),
            PurgeStrength::Soft => match self.ended(entry, now) {
                Some(ended) => self.tier.freshen(entry, &ended),
                // Without room for another head it goes: it must not be taken for fresh.
                None => self.tier.remove(entry),
            },
        }
    }

    /// The same with its freshness ended.
    fn ended(&self, entry: &StoredEntry, now: Now) -> Option<Arc<StoredEntry>> {
        let mut terms = entry.terms().clone();
        terms.end_freshness(terms.age_secs(entry.head(), now.unix_ms));
        self.replace_head(entry, entry.head(), terms)
    }
}
