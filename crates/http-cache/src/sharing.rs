//! One fetch and the second level: asked before the origin is, told when an answer is stored.
//!
//! It judges nothing: the store says what may be used, and what others may have. Called by the
//! fetch that leads.

use crate::cache_request::CacheRequest;
use crate::http_cache::HttpCache;
use crate::second_level::{
    FetchPlace, SHARED_BODY_MAX, SecondLevelStore, SharedResponse, SharedResponseKey,
};
use http::header::{HeaderMap, SET_COOKIE};
use http_freshness::{SetCookie, accepted_codings};
use std::sync::Arc;
use store::{EntryContent, FetchPermit, FiledHead, StoredEntry};

/// Share of one fetch in the second level.
pub(crate) struct FetchSharing {
    second: Arc<dyn SecondLevelStore>,
    key: SharedResponseKey,
    /// None where nothing is told.
    begun: Option<FetchPlace>,
}

impl FetchSharing {
    /// The part of a fetch in the second level; none where there is none, or nothing of it may be
    /// shared.
    pub(crate) fn of(
        cache: &HttpCache,
        question: &CacheRequest,
        lead: &FetchPermit,
    ) -> Option<Self> {
        let scope = cache.sharing?;
        let second = cache.second_level.get()?;
        let asked = question.facts();
        lead.may_be_shared(&cache.rules, &asked).then(|| Self {
            key: SharedResponseKey {
                scope,
                url: asked.url.into(),
                codings: accepted_codings(asked.fields).map(Into::into),
            },
            begun: second.place(),
            second,
        })
    }

    /// Stores what another machine has stored; the permit comes back where that is nothing.
    pub(crate) async fn look(
        &self,
        cache: &HttpCache,
        question: &CacheRequest,
        lead: FetchPermit,
    ) -> Result<Arc<StoredEntry>, FetchPermit> {
        let Some(look) = self.second.look(self.key.clone()) else { return Err(lead) };
        let Some(SharedResponse { head, body }) = look.await else { return Err(lead) };
        lead.found(&cache.rules, &question.facts(), &head, &body)
    }

    /// Tells the other machines of what was stored. `came`: cookie of the answer as it came.
    pub(crate) fn tell(self, cache: &HttpCache, filed: &Arc<FiledHead>, came: SetsCookie) {
        let Self { second, key, begun: Some(begun) } = self else { return };
        if came == SetsCookie::Yes {
            return;
        }
        let now = (cache.clock)();
        let found = cache.store().shareable(filed, SHARED_BODY_MAX, now.unix_ms);
        let Some((entry, ttl_s)) = found else { return };
        let EntryContent::Memory(content) = entry.content() else { return };
        let body = content.chunks(0..u64::MAX).collect::<Vec<_>>().concat();
        let response = SharedResponse { head: entry.head().clone(), body };
        second.keep(key, &begun, response, ttl_s, now);
    }

    /// Tells them of a stored response that the origin has confirmed. Where cookies are dropped,
    /// nobody knows any more if the answer that it was stored from had one.
    pub(crate) fn tell_confirmed(
        self,
        cache: &HttpCache,
        filed: &Arc<FiledHead>,
        came: SetsCookie,
    ) {
        if cache.rules.cookies != SetCookie::Dropped {
            self.tell(cache, filed, came);
        }
    }
}

/// Cookie of an answer as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetsCookie {
    /// One is set.
    Yes,
    /// None is set.
    No,
}

impl SetsCookie {
    pub(crate) fn of(fields: &HeaderMap) -> Self {
        if fields.contains_key(SET_COOKIE) { Self::Yes } else { Self::No }
    }
}
