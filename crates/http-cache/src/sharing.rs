//! One fetch and the second level: asked before the origin is, told when an answer is stored.
//!
//! It judges nothing: the store says what may be used, and what others may have. Called by the
//! fetch that leads.

use crate::fetch::OriginFetcher;
use crate::filling::OriginFetch;
use crate::http_cache::HttpCache;
use crate::second_level::{
    FetchPlace, SHARED_BODY_MAX, SecondLevelStore, SharedResponse, SharedResponseKey,
};
use crate::served::ServedAnswer;
use http::header::{HeaderMap, SET_COOKIE};
use http_freshness::{HandledRequest, SetCookie, accepted_codings, freshness};
use std::sync::Arc;
use store::{EntryContent, FetchPermit, FiledHead};

/// Share of one fetch in the second level.
pub(crate) struct FetchSharing {
    second: Arc<dyn SecondLevelStore>,
    key: SharedResponseKey,
    /// None where nothing is told.
    begun: Option<FetchPlace>,
}

impl<F: OriginFetcher> OriginFetch<F> {
    /// The part of a fetch in the second level; none where there is none, or nothing of it may be
    /// shared.
    pub(crate) fn sharing(&self, lead: &FetchPermit) -> Option<FetchSharing> {
        let scope = self.cache.sharing?;
        let second = self.cache.second_level.get()?;
        let asked = self.question.facts();
        lead.may_be_shared(&self.cache.rules, &asked).then(|| FetchSharing {
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
    pub(crate) async fn look_further(
        &self,
        sharing: &FetchSharing,
        lead: FetchPermit,
    ) -> Result<ServedAnswer, FetchPermit> {
        let Some(look) = sharing.second.look(sharing.key.clone()) else { return Err(lead) };
        let Some(SharedResponse { head, body }) = look.await else { return Err(lead) };
        let entry = lead.found(&self.cache.rules, &self.question.facts(), &head, &body)?;
        let now = (self.cache.clock)();
        let freshness = freshness(entry.head(), entry.terms(), now.unix_ms);
        let content = self.content_of(&entry);
        let handled = HandledRequest::FleetHit { freshness };
        Ok(HttpCache::stored(&self.question, &entry, content, freshness, &handled))
    }

    /// Tells the other machines of what was stored. `came`: fields of the answer as it came.
    pub(crate) fn share(
        &self,
        sharing: Option<FetchSharing>,
        filed: &Arc<FiledHead>,
        came: SetsCookie,
    ) {
        let Some(FetchSharing { second, key, begun: Some(begun) }) = sharing else { return };
        if came == SetsCookie::Yes {
            return;
        }
        let now = (self.cache.clock)();
        let found = self.cache.store().shareable(filed, SHARED_BODY_MAX, now.unix_ms);
        let Some((entry, ttl_s)) = found else { return };
        let EntryContent::Memory(content) = entry.content() else { return };
        let body = content.chunks(0..u64::MAX).collect::<Vec<_>>().concat();
        let response = SharedResponse { head: entry.head().clone(), body };
        second.keep(key, &begun, response, ttl_s, now);
    }

    /// The same of a stored response that the origin has confirmed. Whether the answer that it was
    /// stored from had a cookie is not known where cookies are dropped.
    pub(crate) fn share_confirmed(
        &self,
        sharing: Option<FetchSharing>,
        filed: &Arc<FiledHead>,
        came: SetsCookie,
    ) {
        if self.cache.rules.cookies != SetCookie::Dropped {
            self.share(sharing, filed, came);
        }
    }
}

/// Cookie of an answer as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetsCookie {
    /// It sets one.
    Yes,
    /// It sets none.
    No,
}

impl SetsCookie {
    pub(crate) fn of(fields: &HeaderMap) -> Self {
        if fields.contains_key(SET_COOKIE) { Self::Yes } else { Self::No }
    }
}
