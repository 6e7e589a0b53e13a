//! Requests that went past the cache: what their answers change of what is stored, and the answer
//! to a `POST` that is worth keeping.
//!
//! It sends nothing of its own accord. Called by a door for each request that is no plain `GET` or
//! `HEAD`.

use crate::cache_request::{CacheRequest, answered};
use crate::fetch::OriginFetcher;
use crate::filling::{self, FetchEvent, FetchedAnswer, OriginFetch};
use crate::http_cache::HttpCache;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_TYPE};
use http::{Method, Response, StatusCode};
use http_engine::Body;
use std::rc::Rc;
use std::sync::Arc;
use store::{AnswerPlan, CacheLookup};
use tokio::sync::oneshot;

impl HttpCache {
    /// Takes note of a request that went past the cache and of its answer's head: what it may have
    /// changed is not used any longer (RFC 9111 §4.4).
    pub async fn changed(&self, question: &CacheRequest, response: &http::response::Parts) {
        let answered = answered(response, question.now, (self.clock)());
        if let Some(second) = self.second_level.get() {
            for url in http_freshness::invalidation(&question.facts(), &answered) {
                second.forget(&url, (self.clock)());
            }
        }
        self.store().invalidate(&question.facts(), &answered).await;
    }

    /// The same, and the answer to a `POST` that says it is what a `GET` of the same URL gives, and
    /// for how long, is stored on its way (RFC 9110 §9.3.3). `fetch` makes the way to that URL, for
    /// readers that fall behind; it is asked for only then. Within a `LocalSet` or local runtime
    /// only.
    pub async fn invalidate_after<F: OriginFetcher>(
        self: &Arc<Self>,
        question: CacheRequest,
        response: Response<Body>,
        fetch: impl FnOnce() -> F,
    ) -> Response<Body> {
        let (head, body) = response.into_parts();
        let received = (self.clock)();
        self.changed(&question, &head).await;
        let answered = answered(&head, question.now, received);
        let may_be_kept = question.method == Method::POST
            && head.headers.contains_key(CONTENT_LOCATION)
            && http_freshness::storing(&self.rules, &question.facts(), &answered).is_ok();
        if !may_be_kept {
            return Response::from_parts(head, body);
        }
        let requested = question.now;
        let as_get = as_get(&question);
        let key = self.store().key(&question.url);
        // Where somebody else fetches it by now, theirs is the newer one.
        let CacheLookup::Fetch(lead) = self.look_up(&key, &as_get.facts()).await else {
            return Response::from_parts(head, body);
        };
        let why = lead.reason();
        let AnswerPlan::Storing(storing) = lead.answered(&self.rules, &question.facts(), &answered)
        else {
            return Response::from_parts(head, body);
        };
        let (cache, question) = (Arc::clone(self), Rc::new(as_get));
        let errand = OriginFetch { cache, question, fetch: fetch() };
        let came = FetchedAnswer { head, body, requested, received };
        let (told, served) = oneshot::channel();
        tokio::task::spawn_local(filling::keep(errand, *storing, came, why, told));
        match served.await {
            Ok(FetchEvent::Served(served)) => served.response,
            // The task ended without a word: only a panic in it does that. It sends nothing to hear
            // of.
            Ok(FetchEvent::Interim(..) | FetchEvent::Failed(_)) | Err(_) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::BAD_GATEWAY;
                response
            }
        }
    }
}

/// Returns what a `GET` of the same URL would ask, for the whole.
fn as_get(question: &CacheRequest) -> CacheRequest {
    let mut as_get = CacheRequest { method: Method::GET, ..question.clone() };
    filling::strip_conditions(&mut as_get.fields);
    // They speak of what was sent.
    for name in [CONTENT_LENGTH, CONTENT_TYPE, CONTENT_ENCODING] {
        as_get.fields.remove(name);
    }
    as_get
}
