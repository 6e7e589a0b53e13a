//! One request through the cache: what is at hand is sent, what is not is fetched, once for all who
//! ask for it.
//!
//! All branching of the cache stands here; whether something may be stored or sent is the store's
//! to say. Called by a door for each `GET` and `HEAD`, and told of every other request.

use crate::cache_request::{CacheRequest, answered};
use crate::fetch::OriginFetcher;
use crate::filling::{self, FetchEvent, OriginFetch};
use crate::http_cache::HttpCache;
use crate::reading::StoredContent;
use crate::served::{AnswerSource, NAME, ServedAnswer, forwarded, shape_request};
use crate::shape;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, RANGE};
use http::{Method, Response, StatusCode};
use http_engine::{interim, reply};
use http_freshness::{
    CollapseStatus, Doubt, Forward, Freshness, HandledRequest, NotFetched, NotReused, NotStored,
    OriginTrouble, RequestFacts, ResponseFacts, StoredStatus, cache_status, freshness,
};
use std::rc::Rc;
use std::sync::Arc;
use store::{
    CacheKey, CacheLookup, FetchPermit, FiledHead, FillReader, JoinOutcome, JoinedFetch,
    StoredEntry, UnfetchedReason,
};
use tokio::sync::oneshot;

static CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
static PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
/// How often a request is looked up anew because the fetch that it waited for came to nothing, or
/// what was on disk is damaged. Then it goes to the origin by itself.
const LOOK_UPS_MAX: usize = 3;

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum NoCachedAnswer<E> {
    /// The fetch failed so.
    Failed(E),
    /// Another client's fetch failed, for which this one waited.
    SharedFetchFailed,
}

impl HttpCache {
    /// Answers a `GET` or `HEAD` without a body. Within a `LocalSet` or local runtime only: fetches
    /// become tasks of it.
    pub async fn answer<F: OriginFetcher>(
        self: &Arc<Self>,
        question: CacheRequest,
        fetch: F,
    ) -> Result<ServedAnswer, NoCachedAnswer<F::Failure>> {
        let key = self.store().key(&question.url);
        let question = Rc::new(question);
        for _ in 0..LOOK_UPS_MAX {
            match self.look_up(&key, &question.facts()).await {
                CacheLookup::Hit(entry, freshness) | CacheLookup::Partial(entry, freshness) => {
                    let Some(content) = self.serve_stored(&question, &fetch, &entry).await else {
                        continue;
                    };
                    let handled = HandledRequest::Hit { freshness, stale: None };
                    return Ok(Self::stored(&question, &entry, content, freshness, &handled));
                }
                CacheLookup::Stale { entry, freshness, allowed_by: why, refresh } => {
                    if let Some(lead) = refresh {
                        self.refresh(&question, fetch.clone(), lead);
                    }
                    let Some(content) = self.serve_stored(&question, &fetch, &entry).await else {
                        continue;
                    };
                    let handled = HandledRequest::Hit { freshness, stale: Some(why) };
                    return Ok(Self::stored(&question, &entry, content, freshness, &handled));
                }
                // What was on disk was looked at already.
                CacheLookup::OnDisk(_) => break,
                CacheLookup::Read(filed, fill) => match fill.attach(0..u64::MAX) {
                    Ok(reader) => return Ok(self.shared(&question, &fetch, &filed, reader)),
                    Err(_) => break,
                },
                // Boxed, as is what goes past the cache: a hit, the usual case, would carry their
                // room.
                CacheLookup::Join(join) => {
                    match Box::pin(self.joined(&question, &fetch, join)).await {
                        NextStep::Done(done) => return done,
                        NextStep::Retry => {}
                    }
                }
                CacheLookup::Fetch(lead) => {
                    return self.fetch_and_store(question, fetch, lead).await;
                }
                CacheLookup::NotFetched(why) => return Ok(Self::not_fetched_answer(why)),
                CacheLookup::Bypass(why) => {
                    let passed = self.forward(&question, &fetch, Forward::Never(why), None);
                    return Box::pin(passed).await;
                }
            }
        }
        Box::pin(self.forward(&question, &fetch, Forward::Bypass, None)).await
    }

    /// Answers a `GET` or `HEAD` without a body from the origin alone: nothing of it is stored, and
    /// nothing that is stored is sent, for this reason. Where nothing may be fetched: 504.
    pub async fn bypass<F: OriginFetcher>(
        &self,
        question: &CacheRequest,
        fetch: &F,
        never: NotStored,
    ) -> Result<ServedAnswer, NoCachedAnswer<F::Failure>> {
        if let Err(why) = self.store().bypass(&self.rules, &question.facts()) {
            return Ok(Self::not_fetched_answer(why));
        }
        let kept = Some(StoredStatus::Not(never));
        self.forward(question, fetch, Forward::Bypass, kept).await
    }

    /// Returns what is at hand in memory, or else on disk.
    pub(crate) async fn look_up(&self, key: &CacheKey, asked: &RequestFacts<'_>) -> CacheLookup {
        let store = self.store();
        let found = match store.look_up(key, &self.rules, asked) {
            CacheLookup::OnDisk(recall) => match self.reads.read(move || recall.read()).await {
                Some(recalled) => store.look_up_with_disk(recalled, key, &self.rules, asked),
                // Only while the program ends.
                None => CacheLookup::Bypass(NotReused::ForOrigin),
            },
            found => found,
        };
        match found {
            CacheLookup::Partial(entry, freshness) if shape::prefix_covers(asked, &entry) => {
                store.count_partial_hit(&entry);
                CacheLookup::Partial(entry, freshness)
            }
            CacheLookup::Partial(entry, _) => store.look_up_rest(key, &self.rules, asked, entry),
            found => found,
        }
    }

    /// Returns what is to be sent of a stored response. `None` where its first bytes turn out to be
    /// damaged: look up anew.
    async fn serve_stored<F: OriginFetcher>(
        self: &Arc<Self>,
        question: &Rc<CacheRequest>,
        fetch: &F,
        entry: &StoredEntry,
    ) -> Option<StoredContent> {
        let body = match entry.content() {
            store::EntryContent::Memory(body) => return Some(StoredContent::Memory(body.clone())),
            store::EntryContent::Partial(_) => {
                return Some(self.origin_fetch(question, fetch).content_of(entry));
            }
            store::EntryContent::Disk(stored) => stored.body.clone(),
        };
        let on_disk = self.origin_fetch(question, fetch).on_disk(entry, body);
        if question.method == Method::HEAD || question.fields.contains_key(RANGE) {
            return Some(StoredContent::Disk(Box::new(on_disk)));
        }
        on_disk.with_first_bytes().await.map(|it| StoredContent::Disk(Box::new(it)))
    }

    fn origin_fetch<F: OriginFetcher>(
        self: &Arc<Self>,
        question: &Rc<CacheRequest>,
        fetch: &F,
    ) -> OriginFetch<F> {
        let (question, fetch) = (Rc::clone(question), fetch.clone());
        OriginFetch { cache: Arc::clone(self), question, fetch }
    }

    /// Waits for another client's head.
    async fn joined<F: OriginFetcher>(
        self: &Arc<Self>,
        question: &Rc<CacheRequest>,
        fetch: &F,
        join: JoinedFetch,
    ) -> NextStep<F::Failure> {
        let asked = question.facts();
        let done = match join.wait_for_head(&self.rules, &asked).await {
            JoinOutcome::Read(reading) => match reading.fill.attach(0..u64::MAX) {
                Ok(reader) => Ok(self.shared(question, fetch, &reading.filed, reader)),
                Err(_) => self.forward(question, fetch, Forward::Bypass, None).await,
            },
            JoinOutcome::Hit(entry, freshness) => {
                let handled =
                    forwarded(Forward::Doubt(Doubt::Stale), None, CollapseStatus::Collapsed, None);
                let content = self.origin_fetch(question, fetch).content_of(&entry);
                Ok(Self::stored(question, &entry, content, freshness, &handled))
            }
            JoinOutcome::Found(entry, freshness) => {
                let content = self.origin_fetch(question, fetch).content_of(&entry);
                let handled = HandledRequest::FleetHit { freshness };
                Ok(Self::stored(question, &entry, content, freshness, &handled))
            }
            JoinOutcome::Fetch(lead) => {
                self.fetch_and_store(Rc::clone(question), fetch.clone(), lead).await
            }
            JoinOutcome::LookUp => return NextStep::Retry,
            JoinOutcome::Failed(stale) => {
                let errand = self.origin_fetch(question, fetch);
                let served = stale
                    .and_then(|it| errand.stale_entry_on_error(&it, OriginTrouble::Unreachable));
                served.ok_or(NoCachedAnswer::SharedFetchFailed)
            }
        };
        NextStep::Done(done)
    }

    /// Fetches, in a task that the client's leaving does not end.
    async fn fetch_and_store<F: OriginFetcher>(
        self: &Arc<Self>,
        question: Rc<CacheRequest>,
        fetch: F,
        lead: FetchPermit,
    ) -> Result<ServedAnswer, NoCachedAnswer<F::Failure>> {
        let (told, mut heard) = oneshot::channel();
        let errand = OriginFetch { cache: Arc::clone(self), question, fetch };
        // Boxed: a task is moved to where it lives more than once, and this one has 11 KB.
        tokio::task::spawn_local(Box::pin(filling::run(errand, lead, Some(told))));
        loop {
            match heard.await {
                Ok(FetchEvent::Interim(interim, next)) => {
                    interim::send(*interim);
                    heard = next;
                }
                Ok(FetchEvent::Served(served)) => return Ok(*served),
                Ok(FetchEvent::Failed(why)) => return Err(NoCachedAnswer::Failed(why)),
                // The task ended without a word: only a panic in it does that.
                Err(_) => return Err(NoCachedAnswer::SharedFetchFailed),
            }
        }
    }

    fn refresh<F: OriginFetcher>(
        self: &Arc<Self>,
        question: &Rc<CacheRequest>,
        fetch: F,
        lead: FetchPermit,
    ) {
        let mut question = CacheRequest::clone(question);
        // What is wanted is the whole, whatever this client asked for.
        question.method = Method::GET;
        filling::strip_conditions(&mut question.fields);
        let errand = OriginFetch { cache: Arc::clone(self), question: Rc::new(question), fetch };
        tokio::task::spawn_local(Box::pin(filling::run(errand, lead, None)));
    }

    /// Sends the request to the origin as it is, past the store.
    async fn forward<F: OriginFetcher>(
        &self,
        question: &CacheRequest,
        fetch: &F,
        why: Forward,
        kept: Option<StoredStatus>,
    ) -> Result<ServedAnswer, NoCachedAnswer<F::Failure>> {
        let fetched = fetch.fetch(&question.method, question.fields.clone()).await;
        let (mut head, body) = fetched.map_err(NoCachedAnswer::Failed)?.into_parts();
        self.note_head(question, &answered(&head, question.now, (self.clock)())).await;
        let handled = forwarded(why, None, CollapseStatus::None, kept);
        Self::sign(&mut head.headers, &handled);
        let (response, caching) = (Response::from_parts(head, body), handled.caching());
        Ok(ServedAnswer { response, source: AnswerSource::Origin, caching })
    }

    /// Takes note of what the answer to a `HEAD` says of what is stored (RFC 9111 §4.3.5).
    pub(crate) async fn note_head(&self, question: &CacheRequest, answered: &ResponseFacts<'_>) {
        if question.method == Method::HEAD {
            let key = self.store().key(&question.url);
            self.store().head_answered(&key, &self.rules, &question.facts(), answered).await;
        }
    }

    /// Returns what is stored, shaped for this client.
    pub(crate) fn stored(
        question: &CacheRequest,
        entry: &StoredEntry,
        content: StoredContent,
        freshness: Freshness,
        handled: &HandledRequest,
    ) -> ServedAnswer {
        let mut response =
            shape::shape(&shape_request(question), entry.head(), Some(freshness.age_secs), content);
        Self::sign(response.headers_mut(), handled);
        let source = match handled {
            HandledRequest::Hit { stale: Some(_), .. } | HandledRequest::StaleOnError { .. } => {
                AnswerSource::Stale
            }
            HandledRequest::Hit { .. }
            | HandledRequest::FleetHit { .. }
            | HandledRequest::Refused(_)
            | HandledRequest::Forwarded { .. } => AnswerSource::Fresh,
        };
        ServedAnswer { response, source, caching: handled.caching() }
    }

    /// Returns what another client's fetch brings.
    fn shared<F: OriginFetcher>(
        self: &Arc<Self>,
        question: &Rc<CacheRequest>,
        fetch: &F,
        filed: &Arc<FiledHead>,
        reader: FillReader,
    ) -> ServedAnswer {
        let (head, terms) = (filed.head(), filed.terms());
        let freshness = freshness(head, terms, question.now.unix_ms.max(head.received_ms));
        let errand = self.origin_fetch(question, fetch);
        let content = filling::content(&errand, filed, reader);
        let asked = shape_request(&errand.question);
        let mut response = shape::shape(&asked, head, Some(freshness.age_secs), content);
        let stored = StoredStatus::Stored { ttl_secs: freshness.ttl_secs };
        let handled = forwarded(Forward::UriMiss, None, CollapseStatus::Collapsed, Some(stored));
        Self::sign(response.headers_mut(), &handled);
        ServedAnswer { response, source: AnswerSource::Fresh, caching: handled.caching() }
    }

    /// In words, for who reads them.
    fn not_fetched_answer(why: UnfetchedReason) -> ServedAnswer {
        let why = match why {
            UnfetchedReason::Missing(why) => why,
            UnfetchedReason::Stored(NotReused::Offline) => NotFetched::Offline,
            UnfetchedReason::Stored(_) => NotFetched::OnlyIfCached,
        };
        let nothing = "Nothing is stored that could be sent";
        let text = match why {
            NotFetched::Offline => format!("{nothing}, and nothing is fetched (cache.stale).\n"),
            NotFetched::OnlyIfCached => format!("{nothing}, and nothing else is wanted.\n"),
        };
        let mut response = reply::text(StatusCode::GATEWAY_TIMEOUT, text);
        let fields = response.headers_mut();
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // RFC 9209 has no word for it: nobody was asked.
        let status = HeaderValue::from_static("tidegate; error=proxy_internal_response");
        fields.insert(&PROXY_STATUS, status);
        let handled = HandledRequest::Refused(why);
        Self::sign(fields, &handled);
        ServedAnswer { response, source: AnswerSource::NotFetched, caching: handled.caching() }
    }

    /// Says in `Cache-Status` what was done (RFC 9211), behind what caches nearer to the origin
    /// said.
    pub(crate) fn sign(fields: &mut HeaderMap, handled: &HandledRequest) {
        // At its limit a map takes no more; the line is for people.
        let _ = fields.try_append(&CACHE_STATUS, cache_status(NAME, handled));
    }
}

/// Tells what follows a wait.
enum NextStep<E> {
    Done(Result<ServedAnswer, NoCachedAnswer<E>>),
    Retry,
}
