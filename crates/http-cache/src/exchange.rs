//! One request through the cache: what is at hand is sent, what is not is fetched, once for all who
//! ask for it.
//!
//! All branching of the cache stands here; whether something may be stored or sent is the store's to
//! say. Called by a door for each `GET` and `HEAD`, and told of every other request.

use crate::asked::{Question, answered};
use crate::fetch::Fetch;
use crate::filling::{self, Errand, Heard};
use crate::opening::Cache;
use crate::reading::Content;
use crate::shape::{self, For};
use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, RANGE};
use http::{Method, Response, StatusCode};
use http_engine::{Body, interim, reply};
use std::rc::Rc;
use std::sync::Arc;
use store::freshness::{
    Answered, Asked, Collapse, Doubt, Forward, Freshness, Handled, Kept, NotFetched, NotReused,
    NotStored, Trouble, cache_status, freshness,
};
use store::{Entry, Filed, Found, Join, Joined, Key, Lead, Reader, Unfetched};
use tokio::sync::oneshot;
use vocab::Caching;

static CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");
static PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
/// How often a request is looked up anew because the fetch that it waited for came to nothing, or what
/// was on disk is damaged. Then it goes to the origin by itself.
const LOOK_UPS_MAX: usize = 3;

/// As whom we sign in `Cache-Status`.
pub(crate) const NAME: &str = "tidegate";

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The store, or another client's fetch.
    Fresh,
    /// The store, past its time, as somebody allows.
    Stale,
    /// The origin.
    Origin,
    /// Nowhere: 504, by the client's wish or ours.
    Nowhere,
}

/// An answer for the client.
pub struct Served {
    /// It, with `Age` where it was stored and with `Cache-Status` always.
    pub response: Response<Body>,
    /// Where it comes from.
    pub source: Source,
    /// What the cache did, for the ledger: the same as `Cache-Status` says.
    pub caching: Caching,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub enum Missed<E> {
    /// The fetch failed so.
    Failed(E),
    /// Another client's fetch failed, for which this one waited.
    Elsewhere,
}

impl Cache {
    /// Answers a `GET` or `HEAD` without a body. Within a `LocalSet` or local runtime only: fetches
    /// become tasks of it.
    pub async fn answer<F: Fetch>(
        self: &Arc<Self>,
        question: Question,
        fetch: F,
    ) -> Result<Served, Missed<F::Failure>> {
        let key = self.store().key(&question.url);
        let question = Rc::new(question);
        for _ in 0..LOOK_UPS_MAX {
            match self.look_up(&key, &question.asked()).await {
                Found::Hit(entry, freshness) | Found::Front(entry, freshness) => {
                    let Some(content) = self.at_hand(&question, &fetch, &entry).await else {
                        continue;
                    };
                    let handled = Handled::Hit { freshness, stale: None };
                    return Ok(Self::stored(&question, &entry, content, freshness, &handled));
                }
                Found::Stale { entry, freshness, why, refresh } => {
                    if let Some(lead) = refresh {
                        self.refresh(&question, fetch.clone(), lead);
                    }
                    let Some(content) = self.at_hand(&question, &fetch, &entry).await else {
                        continue;
                    };
                    let handled = Handled::Hit { freshness, stale: Some(why) };
                    return Ok(Self::stored(&question, &entry, content, freshness, &handled));
                }
                // What was on disk was looked at already.
                Found::OnDisk(_) => break,
                Found::Read(filed, fill) => match fill.attach(0..u64::MAX) {
                    Ok(reader) => return Ok(self.shared(&question, &fetch, &filed, reader)),
                    Err(_) => break,
                },
                // Boxed, as is what goes past the cache: a hit, the usual case, would carry their room.
                Found::Join(join) => match Box::pin(self.joined(&question, &fetch, join)).await {
                    Next::Done(done) => return done,
                    Next::Again => {}
                },
                Found::Lead(lead) => return self.lead(question, fetch, lead).await,
                Found::Unfetched(why) => return Ok(Self::unfetched(why)),
                Found::Pass(why) => {
                    let passed = self.pass(&question, &fetch, Forward::Never(why), None);
                    return Box::pin(passed).await;
                }
            }
        }
        Box::pin(self.pass(&question, &fetch, Forward::Bypass, None)).await
    }

    /// Answers a `GET` or `HEAD` without a body from the origin alone: nothing of it is stored, and
    /// nothing that is stored is sent. Where nothing may be fetched: 504.
    pub async fn bypass<F: Fetch>(
        &self,
        question: &Question,
        fetch: &F,
    ) -> Result<Served, Missed<F::Failure>> {
        if let Err(why) = self.store().bypass(&self.rules, &question.asked()) {
            return Ok(Self::unfetched(why));
        }
        let kept = Some(Kept::Not(NotStored::Never));
        self.pass(question, fetch, Forward::Bypass, kept).await
    }

    /// What is at hand in memory, or else on disk.
    pub(crate) async fn look_up(&self, key: &Key, asked: &Asked<'_>) -> Found {
        let store = self.store();
        let found = match store.look_up(key, &self.rules, asked) {
            Found::OnDisk(recall) => match self.reads.read(move || recall.read()).await {
                Some(recalled) => store.look_up_with(recalled, key, &self.rules, asked),
                // Only while the program ends.
                None => Found::Pass(NotReused::ForOrigin),
            },
            found => found,
        };
        match found {
            Found::Front(entry, freshness) if shape::is_within(asked, &entry) => {
                store.front_sent(&entry);
                Found::Front(entry, freshness)
            }
            Found::Front(entry, _) => store.rest_of(key, &self.rules, asked, entry),
            found => found,
        }
    }

    /// What is to be sent of a stored response. `None` where its first bytes turn out to be damaged: look
    /// up anew.
    async fn at_hand<F: Fetch>(
        self: &Arc<Self>,
        question: &Rc<Question>,
        fetch: &F,
        entry: &Entry,
    ) -> Option<Content> {
        let body = match entry.content() {
            store::Content::Memory(body) => return Some(Content::Memory(body.clone())),
            store::Content::Front(_) => {
                return Some(self.errand(question, fetch).content_of(entry));
            }
            store::Content::Disk(stored) => stored.body.clone(),
        };
        let on_disk = self.errand(question, fetch).on_disk(entry, body);
        if question.method == Method::HEAD || question.fields.contains_key(RANGE) {
            return Some(Content::Disk(Box::new(on_disk)));
        }
        on_disk.begun().await.map(|it| Content::Disk(Box::new(it)))
    }

    fn errand<F: Fetch>(self: &Arc<Self>, question: &Rc<Question>, fetch: &F) -> Errand<F> {
        let (question, fetch) = (Rc::clone(question), fetch.clone());
        Errand { cache: Arc::clone(self), question, fetch }
    }

    /// Waits for another client's head.
    async fn joined<F: Fetch>(
        self: &Arc<Self>,
        question: &Rc<Question>,
        fetch: &F,
        join: Join,
    ) -> Next<F::Failure> {
        let asked = question.asked();
        let done = match join.settled(&self.rules, &asked).await {
            Joined::Read(reading) => match reading.fill.attach(0..u64::MAX) {
                Ok(reader) => Ok(self.shared(question, fetch, &reading.filed, reader)),
                Err(_) => self.pass(question, fetch, Forward::Bypass, None).await,
            },
            Joined::Hit(entry, freshness) => {
                let handled =
                    forwarded(Forward::Doubt(Doubt::Stale), None, Collapse::Collapsed, None);
                let content = self.errand(question, fetch).content_of(&entry);
                Ok(Self::stored(question, &entry, content, freshness, &handled))
            }
            Joined::Lead(lead) => self.lead(Rc::clone(question), fetch.clone(), lead).await,
            Joined::LookUp => return Next::Again,
            Joined::Failed(stale) => {
                let errand = self.errand(question, fetch);
                let served = stale.and_then(|it| errand.rescued_by(&it, Trouble::Unreachable));
                served.ok_or(Missed::Elsewhere)
            }
        };
        Next::Done(done)
    }

    /// Fetches, in a task that the client's leaving does not end.
    async fn lead<F: Fetch>(
        self: &Arc<Self>,
        question: Rc<Question>,
        fetch: F,
        lead: Lead,
    ) -> Result<Served, Missed<F::Failure>> {
        let (told, mut heard) = oneshot::channel();
        let errand = Errand { cache: Arc::clone(self), question, fetch };
        // Boxed: a task is moved to where it lives more than once, and this one has 11 KB.
        tokio::task::spawn_local(Box::pin(filling::run(errand, lead, Some(told))));
        loop {
            match heard.await {
                Ok(Heard::Ahead(interim, next)) => {
                    interim::tell(*interim);
                    heard = next;
                }
                Ok(Heard::Served(served)) => return Ok(*served),
                Ok(Heard::Failed(why)) => return Err(Missed::Failed(why)),
                // The task ended without a word: only a panic in it does that.
                Err(_) => return Err(Missed::Elsewhere),
            }
        }
    }

    fn refresh<F: Fetch>(self: &Arc<Self>, question: &Rc<Question>, fetch: F, lead: Lead) {
        let mut question = Question::clone(question);
        // What is wanted is the whole, whatever this client asked for.
        question.method = Method::GET;
        filling::strip_conditions(&mut question.fields);
        let errand = Errand { cache: Arc::clone(self), question: Rc::new(question), fetch };
        tokio::task::spawn_local(Box::pin(filling::run(errand, lead, None)));
    }

    /// Sends the request to the origin as it is, past the store.
    async fn pass<F: Fetch>(
        &self,
        question: &Question,
        fetch: &F,
        why: Forward,
        kept: Option<Kept>,
    ) -> Result<Served, Missed<F::Failure>> {
        let fetched = fetch.fetch(&question.method, question.fields.clone()).await;
        let (mut head, body) = fetched.map_err(Missed::Failed)?.into_parts();
        self.note_head(question, &answered(&head, question.now, (self.clock)())).await;
        let handled = forwarded(why, None, Collapse::None, kept);
        Self::sign(&mut head.headers, &handled);
        let (response, caching) = (Response::from_parts(head, body), handled.caching());
        Ok(Served { response, source: Source::Origin, caching })
    }

    /// Takes note of what the answer to a `HEAD` says of what is stored (RFC 9111 §4.3.5).
    pub(crate) async fn note_head(&self, question: &Question, answered: &Answered<'_>) {
        if question.method == Method::HEAD {
            let key = self.store().key(&question.url);
            self.store().head_answered(&key, &self.rules, &question.asked(), answered).await;
        }
    }

    /// What is stored, shaped for this client.
    pub(crate) fn stored(
        question: &Question,
        entry: &Entry,
        content: Content,
        freshness: Freshness,
        handled: &Handled,
    ) -> Served {
        let mut response =
            shape::shape(&asked_for(question), entry.head(), Some(freshness.age_secs), content);
        Self::sign(response.headers_mut(), handled);
        let source = match handled {
            Handled::Hit { stale: Some(_), .. } | Handled::Rescued { .. } => Source::Stale,
            Handled::Hit { .. } | Handled::Refused(_) | Handled::Forwarded { .. } => Source::Fresh,
        };
        Served { response, source, caching: handled.caching() }
    }

    /// What another client's fetch brings.
    fn shared<F: Fetch>(
        self: &Arc<Self>,
        question: &Rc<Question>,
        fetch: &F,
        filed: &Arc<Filed>,
        reader: Reader,
    ) -> Served {
        let (head, terms) = (filed.head(), filed.terms());
        let freshness = freshness(head, terms, question.now.unix_ms.max(head.received_ms));
        let errand = self.errand(question, fetch);
        let content = filling::content(&errand, filed, reader);
        let asked = asked_for(&errand.question);
        let mut response = shape::shape(&asked, head, Some(freshness.age_secs), content);
        let stored = Kept::Stored { ttl_secs: freshness.ttl_secs };
        let handled = forwarded(Forward::UriMiss, None, Collapse::Collapsed, Some(stored));
        Self::sign(response.headers_mut(), &handled);
        Served { response, source: Source::Fresh, caching: handled.caching() }
    }

    /// In words, for who reads them.
    fn unfetched(why: Unfetched) -> Served {
        let why = match why {
            Unfetched::Missing(why) => why,
            Unfetched::Stored(NotReused::Offline) => NotFetched::Offline,
            Unfetched::Stored(_) => NotFetched::OnlyIfCached,
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
        let handled = Handled::Refused(why);
        Self::sign(fields, &handled);
        Served { response, source: Source::Nowhere, caching: handled.caching() }
    }

    /// Says in `Cache-Status` what was done (RFC 9211), behind what caches nearer to the origin said.
    pub(crate) fn sign(fields: &mut HeaderMap, handled: &Handled) {
        // At its limit a map takes no more; the line is for people.
        let _ = fields.try_append(&CACHE_STATUS, cache_status(NAME, handled));
    }
}

/// What follows a wait.
enum Next<E> {
    Done(Result<Served, Missed<E>>),
    Again,
}

pub(crate) const fn forwarded(
    why: Forward,
    status: Option<StatusCode>,
    collapse: Collapse,
    kept: Option<Kept>,
) -> Handled {
    Handled::Forwarded { why, status, collapse, kept }
}

pub(crate) fn asked_for(question: &Question) -> For<'_> {
    For { method: &question.method, fields: &question.fields, unix_secs: question.now.unix_secs() }
}
