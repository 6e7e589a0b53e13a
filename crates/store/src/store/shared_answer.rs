//! An answer that another machine of the fleet has stored: judged by the rules of this one, stored,
//! and given to all who wait for it.
//!
//! Its head comes as it was stored there, with its own times, so that its age goes on. It asks
//! nobody. Called by a cache that has asked a second level.

use super::Store;
use super::fetch_permit::FetchPermit;
use crate::fill::FillBody;
use crate::memory::{EntryContent, EntrySeen, FiledHead, StoredEntry};
use crate::request_collapser::FetchStage;
use http::{Method, StatusCode, header};
use http_freshness::{
    CacheAudience, CachingRules, Doubt, Forward, LifetimeBasis, RequestDirective,
    RequestDirectives, RequestFacts, ResponseFacts, Reuse, StoredHead, ValidationNeed, freshness,
    reuse, storing, varies_by_codings_at_most,
};
use std::sync::Arc;

impl FetchPermit {
    /// True if what other machines have stored may answer the request: nothing fresh is here, and
    /// the client wants no question to the origin.
    pub fn may_be_shared(&self, rules: &CachingRules, asked: &RequestFacts<'_>) -> bool {
        let is_missing = match self.plan.reason {
            Forward::UriMiss | Forward::VaryMiss | Forward::Doubt(Doubt::Stale) => true,
            Forward::Bypass | Forward::Partial | Forward::Never(_) | Forward::Doubt(_) => false,
        };
        let directives = RequestDirectives::of(rules, asked.fields);
        // What was taken back here must not come back from there.
        let was_purged = |it: &Arc<StoredEntry>| it.terms().basis == LifetimeBasis::Purged;
        is_missing
            && !self.stale().is_some_and(was_purged)
            && rules.audience == CacheAudience::Shared
            && *asked.method == Method::GET
            && !asked.fields.contains_key(header::AUTHORIZATION)
            && !directives.has(RequestDirective::NoCache)
            && !directives.has(RequestDirective::NoStore)
    }

    /// Stores what another machine has stored, and tells those who wait. The permit comes back
    /// where this machine would not store it, or may not send it unasked.
    pub fn found(
        self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        head: &StoredHead,
        body: &[u8],
    ) -> Result<Arc<StoredEntry>, Self> {
        let answered = ResponseFacts {
            status: head.status,
            fields: &head.fields,
            requested_ms: head.requested_ms,
            received_ms: head.received_ms,
        };
        let is_older = self.stale().is_some_and(|it| it.head().received_ms > head.received_ms);
        if is_older || !has_length(head, body) || !is_for_all(head) {
            return Err(self);
        }
        let Ok(terms) = storing(rules, asked, &answered) else { return Err(self) };
        if !matches!(reuse(rules, asked, head, &terms), Reuse::Fresh(_)) {
            return Err(self);
        }
        let (store, key) = (Arc::clone(&self.store), self.plan.key.clone());
        let Some(filed) = FiledHead::new(&store.budget, key, head, terms) else { return Err(self) };
        let Some(copied) = FillBody::copied(&store.budget, body) else { return Err(self) };
        let entry = Arc::new(StoredEntry::new(filed, EntryContent::Memory(copied)));
        if self.purges.purged(entry.filed()).is_some() {
            return Err(self);
        }
        let kept = store.tier.insert(&entry, EntrySeen::Once).is_ok();
        if let Some(depth) = self.purges.purged(entry.filed()) {
            store.purge_entry(&entry, depth, asked.now);
            return Err(self);
        }
        let length = body.len() as u64;
        if let Some(mut copying) = store.copy(&self, entry.filed(), Some(length), rules, asked.now)
            && copying.write(body)
        {
            copying.commit();
        }
        if kept {
            store.count(|it| &it.stored);
            store.uncacheable.forget(self.plan.key.hash());
        }
        if let Some(in_flight) = self.in_flight {
            in_flight.publish(FetchStage::Found(Arc::clone(&entry)));
        }
        Ok(entry)
    }
}

impl Store {
    /// The stored response with this head, if other machines may have it: it is whole, in memory,
    /// of at most so many bytes, fresh, and sent to anybody unasked. With it, the seconds for which
    /// it stays fresh.
    pub fn shareable(
        &self,
        filed: &Arc<FiledHead>,
        bytes_max: usize,
        unix_ms: u64,
    ) -> Option<(Arc<StoredEntry>, u64)> {
        let of_key = self.tier.of_hash(filed.key().hash());
        let entry = of_key.into_iter().find(|it| Arc::ptr_eq(it.filed(), filed))?;
        let EntryContent::Memory(body) = entry.content() else { return None };
        let (head, terms) = (entry.head(), entry.terms());
        let ttl_secs = u64::try_from(freshness(head, terms, unix_ms).ttl_secs).ok()?;
        let may_be = body.len() <= bytes_max as u64
            && ttl_secs > 0
            && terms.validation == ValidationNeed::WhenStale
            && is_for_all(head);
        may_be.then_some((entry, ttl_secs))
    }
}

/// True if nothing in a head is for one person: no cookie, and nothing that it varies by but
/// codings.
fn is_for_all(head: &StoredHead) -> bool {
    head.status != StatusCode::PARTIAL_CONTENT
        && !head.fields.contains_key(header::SET_COOKIE)
        && varies_by_codings_at_most(&head.fields)
}

/// True if a body is as long as its head says.
fn has_length(head: &StoredHead, body: &[u8]) -> bool {
    let said = head.fields.get(header::CONTENT_LENGTH);
    said.is_none_or(|it| it.as_bytes() == body.len().to_string().as_bytes())
}
