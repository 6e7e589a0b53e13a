//! One fetch for all who wait: it asks the origin, hands the answer to the store, and sees the body
//! to its end, though the client that caused it has left.
//!
//! It runs as a task of its own. What breaks off is resumed where the store can continue it.

use crate::cache_request::{CacheRequest, answered};
use crate::fetch::OriginFetcher;
use crate::http_cache::HttpCache;
use crate::on_disk::OnDisk;
use crate::reading::StoredContent;
use crate::runs::RefetchRest;
use crate::served::{AnswerSource, ServedAnswer, forwarded, shape_request};
use crate::shape;
use crate::sharing::{FetchSharing, SetsCookie};
use http::header::{HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{Response, StatusCode, response};
use http_body_util::BodyExt;
use http_engine::{Body, interim};
use http_freshness::{
    CollapseStatus, Forward, HandledRequest, MissingRange, OriginTrouble, StoredHead, StoredStatus,
    freshness, next_part, rest, stale_on_error,
};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use store::{
    AnswerPlan, FetchPermit, FiledHead, FillReader, StoredEntry, StoringAnswer, UnstoredReason,
};
use tokio::sync::oneshot;
use vocab::Now;

/// How often a body that broke off is asked for anew. An origin that breaks off thrice is broken.
const RESUMES_MAX: usize = 2;

/// Holds what is fetched, and how.
pub(crate) struct OriginFetch<F> {
    pub(crate) cache: Arc<HttpCache>,
    pub(crate) question: Rc<CacheRequest>,
    pub(crate) fetch: F,
}

/// Tells what the client hears that leads.
pub(crate) enum FetchEvent<E> {
    /// An interim answer; what comes next is heard there.
    Interim(Box<Response<()>>, oneshot::Receiver<Self>),
    Served(Box<ServedAnswer>),
    Failed(E),
}

/// Where the client hears it; none for a fetch behind the clients' backs.
type Told<E> = Option<oneshot::Sender<FetchEvent<E>>>;

/// Listeners to an answer that is stored.
struct AnswerListeners<E> {
    told: Told<E>,
    /// Part of the fetch in the second level, if it has one.
    sharing: Option<FetchSharing>,
}

/// An answer's head with its body and its times.
pub(crate) struct FetchedAnswer {
    pub(crate) head: response::Parts,
    pub(crate) body: Body,
    pub(crate) requested: Now,
    pub(crate) received: Now,
}

/// Why a fetch was made, and what its answer is to what is stored.
#[derive(Clone, Copy)]
struct FetchManner {
    reason: Forward,
    extent: FillExtent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FillExtent {
    /// Stands for itself.
    Complete,
    /// Goes on where what is stored ends.
    Continues,
}

/// Tells how a body ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Complete,
    /// The origin broke off.
    Broken,
    /// Nobody wants more of it.
    Abandoned,
}

impl FetchManner {
    fn of(lead: &FetchPermit, status: StatusCode) -> Self {
        let is_rest = lead.missing_range().is_some() && status == StatusCode::PARTIAL_CONTENT;
        Self {
            reason: lead.reason(),
            extent: if is_rest { FillExtent::Continues } else { FillExtent::Complete },
        }
    }
}

impl<F: OriginFetcher> Clone for OriginFetch<F> {
    fn clone(&self) -> Self {
        Self {
            cache: Arc::clone(&self.cache),
            question: Rc::clone(&self.question),
            fetch: self.fetch.clone(),
        }
    }
}

/// Takes out what asks for less than the whole.
pub(crate) fn strip_conditions(fields: &mut HeaderMap) {
    for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE, RANGE, IF_RANGE] {
        fields.remove(name);
    }
}

/// Fetches what `lead` is for.
pub(crate) async fn run<F: OriginFetcher>(
    errand: OriginFetch<F>,
    lead: FetchPermit,
    told: Told<F::Failure>,
) {
    let (mut lead, mut told) = (lead, told);
    let sharing = FetchSharing::of(&errand.cache, &errand.question, &lead);
    if let Some(sharing) = &sharing {
        match sharing.look(&errand.cache, &errand.question, lead).await {
            Ok(entry) => return send_answer(told, errand.found(&entry)),
            Err(permit) => lead = permit,
        }
    }
    loop {
        let sending = pin!(errand.send(errand.fields_for(&lead)));
        let came =
            match interim::with_handler(sending, |early| send_interim(&mut told, early)).await {
                Ok(came) => came,
                Err(why) => return errand.unreachable(lead, why, told),
            };
        if let Some(served) = errand.stale_on_error(&lead, OriginTrouble::Status(came.head.status))
        {
            lead.failed();
            return send_answer(told, served);
        }
        let manner = FetchManner::of(&lead, came.head.status);
        let asked = errand.question.facts();
        let answered = answered(&came.head, came.requested, came.received);
        match lead.answered(&errand.cache.rules, &asked, &answered) {
            AnswerPlan::Storing(storing) => {
                return errand
                    .storing(*storing, came, manner, AnswerListeners { told, sharing })
                    .await;
            }
            AnswerPlan::Confirmed(entry) => {
                let cookie = SetsCookie::of(&came.head.headers);
                if let Some(sharing) = sharing {
                    sharing.tell_confirmed(&errand.cache, entry.filed(), cookie);
                }
                return send_answer(told, errand.confirmed(&entry, manner.reason, came.received));
            }
            AnswerPlan::Unconfirmed(again) => lead = again,
            AnswerPlan::Not(reason) => {
                return send_answer(
                    told,
                    errand.forward_unstored(came, manner.reason, reason).await,
                );
            }
        }
    }
}

/// Stores an answer that is there already, and sends it to its client.
pub(crate) async fn keep<F: OriginFetcher>(
    errand: OriginFetch<F>,
    storing: StoringAnswer,
    came: FetchedAnswer,
    why: Forward,
    told: oneshot::Sender<FetchEvent<F::Failure>>,
) {
    errand
        .storing(
            storing,
            came,
            FetchManner { reason: why, extent: FillExtent::Complete },
            AnswerListeners { told: Some(told), sharing: None },
        )
        .await;
}

/// Hands on an interim answer, which is for the client that leads alone.
fn send_interim<E>(told: &mut Told<E>, interim: Response<()>) {
    if let Some(now) = told.take() {
        let (next, heard) = oneshot::channel();
        if now.send(FetchEvent::Interim(Box::new(interim), heard)).is_ok() {
            *told = Some(next);
        }
    }
}

fn send_answer<E>(told: Told<E>, served: ServedAnswer) {
    if let Some(told) = told {
        // A client that has left hears nothing.
        let _ = told.send(FetchEvent::Served(Box::new(served)));
    }
}

impl<F: OriginFetcher> OriginFetch<F> {
    async fn send(&self, fields: HeaderMap) -> Result<FetchedAnswer, F::Failure> {
        let requested = (self.cache.clock)();
        let (head, body) = self.fetch.fetch(&self.question.method, fields).await?.into_parts();
        Ok(FetchedAnswer { head, body, requested, received: (self.cache.clock)() })
    }

    /// The client's fields, with what the store asks by in place of the client's own conditions.
    fn fields_for(&self, lead: &FetchPermit) -> HeaderMap {
        let mut fields = self.question.fields.clone();
        if let Some(rest) = lead.missing_range() {
            ask_for(&mut fields, rest);
        } else if !lead.conditions().is_empty() {
            strip_conditions(&mut fields);
            lead.conditions().apply(&mut fields);
        }
        fields
    }

    fn unreachable(&self, lead: FetchPermit, why: F::Failure, told: Told<F::Failure>) {
        let served = if F::is_refusal(&why) {
            // Dropped, not failed: those who wait look up anew.
            drop(lead);
            None
        } else {
            let served = self.stale_on_error(&lead, OriginTrouble::Unreachable);
            lead.failed();
            served
        };
        match served {
            Some(served) => send_answer(told, served),
            None => drop(told.map(|told| told.send(FetchEvent::Failed(why)))),
        }
    }

    /// Returns what is stored, in place of an error.
    fn stale_on_error(&self, lead: &FetchPermit, trouble: OriginTrouble) -> Option<ServedAnswer> {
        self.stale_entry_on_error(lead.stale()?, trouble)
    }

    /// A stored response, in place of an error.
    pub(crate) fn stale_entry_on_error(
        &self,
        entry: &StoredEntry,
        trouble: OriginTrouble,
    ) -> Option<ServedAnswer> {
        let (head, terms) = (entry.head(), entry.terms());
        let asked = self.question.facts();
        let (freshness, why) =
            stale_on_error(&self.cache.rules, &asked, head, terms, trouble).ok()?;
        let status = match trouble {
            OriginTrouble::Unreachable => None,
            OriginTrouble::Status(status) => Some(status),
        };
        let handled = HandledRequest::StaleOnError { freshness, allowed_by: why, status };
        let content = self.content_of(entry);
        Some(HttpCache::stored(&self.question, entry, content, freshness, &handled))
    }

    /// A response that another machine had stored, and this one has now.
    fn found(&self, entry: &StoredEntry) -> ServedAnswer {
        let now = (self.cache.clock)();
        let freshness = freshness(entry.head(), entry.terms(), now.unix_ms);
        let content = self.content_of(entry);
        let handled = HandledRequest::FleetHit { freshness };
        HttpCache::stored(&self.question, entry, content, freshness, &handled)
    }

    fn confirmed(&self, entry: &StoredEntry, why: Forward, received: Now) -> ServedAnswer {
        let freshness = freshness(entry.head(), entry.terms(), received.unix_ms);
        let stored = StoredStatus::Stored { ttl_secs: freshness.ttl_secs };
        let status = Some(StatusCode::NOT_MODIFIED);
        let handled = forwarded(why, status, CollapseStatus::None, Some(stored));
        let content = self.content_of(entry);
        HttpCache::stored(&self.question, entry, content, freshness, &handled)
    }

    /// Returns what can be sent of a stored response.
    pub(crate) fn content_of(&self, entry: &StoredEntry) -> StoredContent {
        match entry.content() {
            store::EntryContent::Memory(body) => StoredContent::Memory(body.clone()),
            // It is never sent for the whole: the store has the rest asked for.
            store::EntryContent::Partial(body) => {
                StoredContent::Prefix(body.clone(), shape::complete_length(entry.head()))
            }
            store::EntryContent::Disk(stored) => {
                StoredContent::Disk(Box::new(self.on_disk(entry, stored.body.clone())))
            }
        }
    }

    /// The body of a stored response that is on disk.
    pub(crate) fn on_disk(&self, entry: &StoredEntry, body: disk_store::DiskBody) -> OnDisk {
        OnDisk::new(&self.cache, body, self.refetch_rest(entry.filed()))
    }

    async fn forward_unstored(
        &self,
        came: FetchedAnswer,
        why: Forward,
        reason: UnstoredReason,
    ) -> ServedAnswer {
        let FetchedAnswer { mut head, body, requested, received } = came;
        let answered = answered(&head, requested, received);
        self.cache.note_head(&self.question, &answered).await;
        let kept = Some(StoredStatus::Not(reason.reason()));
        let handled = forwarded(why, None, CollapseStatus::None, kept);
        HttpCache::sign(&mut head.headers, &handled);
        let (response, caching) = (Response::from_parts(head, body), handled.caching());
        ServedAnswer { response, source: AnswerSource::Origin, caching }
    }

    /// Sends the client what comes while the store keeps it.
    async fn storing(
        &self,
        mut storing: StoringAnswer,
        came: FetchedAnswer,
        manner: FetchManner,
        listeners: AnswerListeners<F::Failure>,
    ) {
        let AnswerListeners { told, sharing } = listeners;
        let FetchedAnswer { head, body, received, .. } = came;
        let cookie = SetsCookie::of(&head.headers);
        let filed = Arc::clone(storing.filed());
        if let (Some(told), Some(reader)) = (told, storing.take_reader()) {
            let served = self.leader_answer(&storing, head, received, manner, reader);
            // A client that has left drops its reader; the store decides whether to go on.
            let _ = told.send(FetchEvent::Served(Box::new(served)));
        }
        if self.fill(&mut storing, body).await == BodyEnd::Complete {
            // How it ended stands in the store's figures; its readers have heard of it.
            let _ = storing.finish((self.cache.clock)());
            if let Some(sharing) = sharing {
                sharing.tell(&self.cache, &filed, cookie);
            }
        } else {
            storing.failed((self.cache.clock)());
        }
    }

    /// The answer for the client that leads.
    fn leader_answer(
        &self,
        storing: &StoringAnswer,
        head: response::Parts,
        received: Now,
        manner: FetchManner,
        reader: FillReader,
    ) -> ServedAnswer {
        let filed = storing.filed();
        let freshness = freshness(filed.head(), filed.terms(), received.unix_ms);
        let content = content(self, filed, reader);
        // Age says that an answer was stored; one that comes as new has none.
        let age_secs = Some(freshness.age_secs).filter(|age| *age > 0);
        let asked = shape_request(&self.question);
        let mut response = if manner.extent == FillExtent::Continues {
            shape::shape(&asked, filed.head(), age_secs, content)
        } else if head.status == StatusCode::PARTIAL_CONTENT {
            Response::from_parts(head, content.all())
        } else {
            // With all that came: some fields are for the client that caused the fetch alone.
            let own = StoredHead {
                status: head.status,
                fields: head.headers,
                selecting: HeaderMap::new(),
                requested_ms: filed.head().requested_ms,
                received_ms: filed.head().received_ms,
            };
            shape::shape(&asked, &own, age_secs, content)
        };
        let stored = StoredStatus::Stored { ttl_secs: freshness.ttl_secs };
        let handled = forwarded(manner.reason, None, CollapseStatus::None, Some(stored));
        HttpCache::sign(response.headers_mut(), &handled);
        ServedAnswer { response, source: AnswerSource::Origin, caching: handled.caching() }
    }

    /// Returns how one client gets the rest of a body by itself.
    fn refetch_rest(&self, filed: &Arc<FiledHead>) -> RefetchRest {
        let (filed, errand) = (Arc::clone(filed), self.clone());
        Rc::new(move |from, last| {
            let (filed, errand) = (Arc::clone(&filed), errand.clone());
            Box::pin(async move {
                let mut fields = errand.question.fields.clone();
                ask_for(&mut fields, &rest(filed.head(), from, last)?);
                let came = errand.send(fields).await.ok()?;
                let answered = answered(&came.head, came.requested, came.received);
                let part = next_part(filed.head(), &answered).ok()?;
                (part.first == from).then_some(came.body)
            })
        })
    }

    /// Writes a body into the store, and asks for the rest of one that breaks off.
    async fn fill(&self, storing: &mut StoringAnswer, mut body: Body) -> BodyEnd {
        for _ in 0..RESUMES_MAX {
            match pump(storing, body).await {
                BodyEnd::Broken => {}
                ended @ (BodyEnd::Complete | BodyEnd::Abandoned) => return ended,
            }
            let Some(rest) = storing.resume() else { return BodyEnd::Broken };
            let mut fields = self.question.fields.clone();
            ask_for(&mut fields, &rest);
            let Ok(came) = self.send(fields).await else { return BodyEnd::Broken };
            if !storing.resumes(&answered(&came.head, came.requested, came.received)) {
                return BodyEnd::Broken;
            }
            body = came.body;
        }
        pump(storing, body).await
    }
}

/// Writes what comes of a body.
async fn pump(storing: &mut StoringAnswer, mut body: Body) -> BodyEnd {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return BodyEnd::Broken };
        // Trailers are not stored (RFC 9111 §3.1).
        if let Some(data) = frame.data_ref()
            && storing.write(data).await.is_err()
        {
            return BodyEnd::Abandoned;
        }
    }
    BodyEnd::Complete
}

fn ask_for(fields: &mut HeaderMap, rest: &MissingRange) {
    strip_conditions(fields);
    fields.insert(RANGE, rest.range.clone());
    fields.insert(IF_RANGE, rest.if_range.clone());
}

/// The body of a fetch for one client, and how it gets the rest by itself if it is too slow for the
/// others.
pub(crate) fn content<F: OriginFetcher>(
    errand: &OriginFetch<F>,
    filed: &Arc<FiledHead>,
    reader: FillReader,
) -> StoredContent {
    StoredContent::InFlight {
        fill: Arc::clone(reader.fill()),
        reader,
        again: errand.refetch_rest(filed),
    }
}
