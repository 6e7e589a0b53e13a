//! Hits that are whole, fresh and in memory, for a `GET` or `HEAD` that asks for nothing special.
//!
//! The short way beside [`look_up`](super::look_up): it fetches nothing, refreshes nothing and
//! counts nothing but hits. Called by doors that answer without a request of their own.

use super::Store;
use crate::memory::{EntryContent, StoredEntry};
use bytes::Bytes;
use http::Method;
use http::header::{HeaderMap, VARY};
use http_freshness::{CachingRules, Freshness, RequestFacts, Reuse, choose, reuse};
use std::sync::Arc;
use vocab::Now;

/// A stored response that can be sent as it is.
pub struct AtHand {
    /// Head, and what goes with it.
    pub entry: Arc<StoredEntry>,
    /// All of its body.
    pub body: Bytes,
    /// Age of it.
    pub freshness: Freshness,
}

impl Store {
    /// Returns what can be sent at once for `url`. `fields` are the request's, made only where the
    /// response varies; the request has no conditions, ranges or directives. A body of more than
    /// one slab (64 KiB) is not at hand in one piece, and not found here.
    pub fn memory_hit(
        &self,
        url: &str,
        rules: &CachingRules,
        fields: impl FnOnce() -> HeaderMap,
        now: Now,
    ) -> Option<AtHand> {
        let (first, others) = self.tier.find(&self.key(url))?;
        let varies = !others.is_empty() || first.head().fields.contains_key(VARY);
        let fields = if varies { fields() } else { HeaderMap::new() };
        let entry = if others.is_empty() {
            first
        } else {
            let mut variants = [vec![first], others].concat();
            let place = choose(variants.iter().map(|entry| entry.head()), &fields)?;
            variants.swap_remove(place)
        };
        let EntryContent::Memory(body) = entry.content() else { return None };
        let body = body.as_single()?;
        let asked = RequestFacts { method: &Method::GET, url, fields: &fields, now };
        let Reuse::Fresh(freshness) = reuse(rules, &asked, entry.head(), entry.terms()) else {
            return None;
        };
        entry.hit();
        self.count(|it| &it.hits);
        Some(AtHand { entry, body, freshness })
    }
}
