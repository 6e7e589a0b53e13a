//! One fetch for all who wait: it asks the origin, hands the answer to the store, and sees the body to
//! its end, though the client that caused it has left.
//!
//! It runs as a task of its own. What breaks off is resumed where the store can continue it.

use crate::asked::{Question, answered};
use crate::exchange::{Served, Source, asked_for, forwarded};
use crate::fetch::Fetch;
use crate::on_disk::OnDisk;
use crate::opening::Cache;
use crate::reading::{Again, Content};
use crate::shape;
use http::header::{HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{Response, StatusCode, response};
use http_body_util::BodyExt;
use http_engine::{Body, interim};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use store::freshness::{
    Collapse, Forward, Handled, Kept, Rest, Trouble, freshness, next_part, rescue, rest,
};
use store::{Answer, Entry, Filed, Head, Lead, Reader, Storing, Unstored};
use tokio::sync::oneshot;
use vocab::Now;

/// How often a body that broke off is asked for anew. An origin that breaks off thrice is broken.
const RESUMES_MAX: usize = 2;

/// What is fetched, and how.
pub(crate) struct Errand<F> {
    pub(crate) cache: Arc<Cache>,
    pub(crate) question: Rc<Question>,
    pub(crate) fetch: F,
}

/// What the client hears that leads.
pub(crate) enum Heard<E> {
    /// An interim answer; what comes next is heard there.
    Ahead(Box<Response<()>>, oneshot::Receiver<Self>),
    Served(Box<Served>),
    Failed(E),
}

/// Where the client hears it; none for a fetch behind the clients' backs.
type Told<E> = Option<oneshot::Sender<Heard<E>>>;

/// An answer's head with its body and its times.
pub(crate) struct Came {
    pub(crate) head: response::Parts,
    pub(crate) body: Body,
    pub(crate) requested: Now,
    pub(crate) received: Now,
}

/// Why a fetch was made, and what its answer is to what is stored.
#[derive(Clone, Copy)]
struct Manner {
    why: Forward,
    extent: Extent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// It stands for itself.
    Alone,
    /// It goes on where what is stored ends.
    Continues,
}

/// How a body ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    /// The origin broke off.
    Broken,
    /// Nobody wants more of it.
    Unwanted,
}

impl Manner {
    fn of(lead: &Lead, status: StatusCode) -> Self {
        let is_rest = lead.rest().is_some() && status == StatusCode::PARTIAL_CONTENT;
        Self { why: lead.why(), extent: if is_rest { Extent::Continues } else { Extent::Alone } }
    }
}

impl<F: Fetch> Clone for Errand<F> {
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
pub(crate) async fn run<F: Fetch>(errand: Errand<F>, lead: Lead, told: Told<F::Failure>) {
    let (mut lead, mut told) = (lead, told);
    loop {
        let sending = pin!(errand.send(errand.fields_for(&lead)));
        let came = match interim::hearing(sending, |early| tell_ahead(&mut told, early)).await {
            Ok(came) => came,
            Err(why) => return errand.unreachable(lead, why, told),
        };
        if let Some(served) = errand.rescued(&lead, Trouble::Status(came.head.status)) {
            lead.failed();
            return tell(told, served);
        }
        let manner = Manner::of(&lead, came.head.status);
        let asked = errand.question.asked();
        let answered = answered(&came.head, came.requested, came.received);
        match lead.answered(&errand.cache.rules, &asked, &answered) {
            Answer::Storing(storing) => {
                return errand.storing(*storing, came, manner, told).await;
            }
            Answer::Confirmed(entry) => {
                return tell(told, errand.confirmed(&entry, manner.why, came.received));
            }
            Answer::Unconfirmed(again) => lead = again,
            Answer::Not(reason) => {
                return tell(told, errand.passed_on(came, manner.why, reason).await);
            }
        }
    }
}

/// Stores an answer that is there already, and sends it to its client.
pub(crate) async fn keep<F: Fetch>(
    errand: Errand<F>,
    storing: Storing,
    came: Came,
    why: Forward,
    told: oneshot::Sender<Heard<F::Failure>>,
) {
    errand.storing(storing, came, Manner { why, extent: Extent::Alone }, Some(told)).await;
}

/// Hands on an interim answer, which is for the client that leads alone.
fn tell_ahead<E>(told: &mut Told<E>, interim: Response<()>) {
    if let Some(now) = told.take() {
        let (next, heard) = oneshot::channel();
        if now.send(Heard::Ahead(Box::new(interim), heard)).is_ok() {
            *told = Some(next);
        }
    }
}

fn tell<E>(told: Told<E>, served: Served) {
    if let Some(told) = told {
        // A client that has left hears nothing.
        let _ = told.send(Heard::Served(Box::new(served)));
    }
}

impl<F: Fetch> Errand<F> {
    async fn send(&self, fields: HeaderMap) -> Result<Came, F::Failure> {
        let requested = (self.cache.clock)();
        let (head, body) = self.fetch.fetch(&self.question.method, fields).await?.into_parts();
        Ok(Came { head, body, requested, received: (self.cache.clock)() })
    }

    /// The client's fields, with what the store asks by in place of the client's own conditions.
    fn fields_for(&self, lead: &Lead) -> HeaderMap {
        let mut fields = self.question.fields.clone();
        if let Some(rest) = lead.rest() {
            ask_for(&mut fields, rest);
        } else if !lead.conditions().is_empty() {
            strip_conditions(&mut fields);
            lead.conditions().apply(&mut fields);
        }
        fields
    }

    fn unreachable(&self, lead: Lead, why: F::Failure, told: Told<F::Failure>) {
        let served = if F::is_refusal(&why) {
            // Dropped, not failed: those who wait look up anew.
            drop(lead);
            None
        } else {
            let served = self.rescued(&lead, Trouble::Unreachable);
            lead.failed();
            served
        };
        match served {
            Some(served) => tell(told, served),
            None => drop(told.map(|told| told.send(Heard::Failed(why)))),
        }
    }

    /// What is stored, in place of an error.
    fn rescued(&self, lead: &Lead, trouble: Trouble) -> Option<Served> {
        self.rescued_by(lead.stale()?, trouble)
    }

    /// A stored response, in place of an error.
    pub(crate) fn rescued_by(&self, entry: &Entry, trouble: Trouble) -> Option<Served> {
        let (head, terms) = (entry.head(), entry.terms());
        let asked = self.question.asked();
        let (freshness, why) = rescue(&self.cache.rules, &asked, head, terms, trouble).ok()?;
        let status = match trouble {
            Trouble::Unreachable => None,
            Trouble::Status(status) => Some(status),
        };
        let handled = Handled::Rescued { freshness, why, status };
        let content = self.content_of(entry);
        Some(Cache::stored(&self.question, entry, content, freshness, &handled))
    }

    fn confirmed(&self, entry: &Entry, why: Forward, received: Now) -> Served {
        let freshness = freshness(entry.head(), entry.terms(), received.unix_ms);
        let stored = Kept::Stored { ttl_secs: freshness.ttl_secs };
        let status = Some(StatusCode::NOT_MODIFIED);
        let handled = forwarded(why, status, Collapse::None, Some(stored));
        let content = self.content_of(entry);
        Cache::stored(&self.question, entry, content, freshness, &handled)
    }

    /// What can be sent of a stored response.
    pub(crate) fn content_of(&self, entry: &Entry) -> Content {
        match entry.content() {
            store::Content::Memory(body) => Content::Memory(body.clone()),
            // It is never sent for the whole: the store has the rest asked for.
            store::Content::Front(body) => {
                Content::Front(body.clone(), shape::whole_length(entry.head()))
            }
            store::Content::Disk(stored) => {
                Content::Disk(Box::new(self.on_disk(entry, stored.body.clone())))
            }
        }
    }

    /// The body of a stored response that is on disk.
    pub(crate) fn on_disk(&self, entry: &Entry, body: store::disk::Body) -> OnDisk {
        OnDisk::new(&self.cache, body, self.again(entry.filed()))
    }

    async fn passed_on(&self, came: Came, why: Forward, reason: Unstored) -> Served {
        let Came { mut head, body, requested, received } = came;
        let answered = answered(&head, requested, received);
        self.cache.note_head(&self.question, &answered).await;
        let kept = Some(Kept::Not(reason.reason()));
        let handled = forwarded(why, None, Collapse::None, kept);
        Cache::sign(&mut head.headers, &handled);
        let (response, caching) = (Response::from_parts(head, body), handled.caching());
        Served { response, source: Source::Origin, caching }
    }

    /// Sends the client what comes while the store keeps it.
    async fn storing(
        &self,
        mut storing: Storing,
        came: Came,
        manner: Manner,
        told: Told<F::Failure>,
    ) {
        let Came { head, body, received, .. } = came;
        if let (Some(told), Some(reader)) = (told, storing.take_reader()) {
            let served = self.leading(&storing, head, received, manner, reader);
            // A client that has left drops its reader; the store decides whether to go on.
            let _ = told.send(Heard::Served(Box::new(served)));
        }
        if self.fill(&mut storing, body).await == Ended::Whole {
            // How it ended stands in the store's figures; its readers have heard of it.
            let _ = storing.finish((self.cache.clock)());
        } else {
            storing.failed((self.cache.clock)());
        }
    }

    /// The answer for the client that leads.
    fn leading(
        &self,
        storing: &Storing,
        head: response::Parts,
        received: Now,
        manner: Manner,
        reader: Reader,
    ) -> Served {
        let filed = storing.filed();
        let freshness = freshness(filed.head(), filed.terms(), received.unix_ms);
        let content = content(self, filed, reader);
        // Age says that an answer was stored; one that comes as new has none.
        let age_secs = Some(freshness.age_secs).filter(|age| *age > 0);
        let asked = asked_for(&self.question);
        let mut response = if manner.extent == Extent::Continues {
            shape::shape(&asked, filed.head(), age_secs, content)
        } else if head.status == StatusCode::PARTIAL_CONTENT {
            Response::from_parts(head, content.all())
        } else {
            // With all that came: some fields are for the client that caused the fetch alone.
            let own = Head {
                status: head.status,
                fields: head.headers,
                selecting: HeaderMap::new(),
                requested_ms: filed.head().requested_ms,
                received_ms: filed.head().received_ms,
            };
            shape::shape(&asked, &own, age_secs, content)
        };
        let stored = Kept::Stored { ttl_secs: freshness.ttl_secs };
        let handled = forwarded(manner.why, None, Collapse::None, Some(stored));
        Cache::sign(response.headers_mut(), &handled);
        Served { response, source: Source::Origin, caching: handled.caching() }
    }

    /// How one client gets the rest of a body by itself.
    fn again(&self, filed: &Arc<Filed>) -> Again {
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
    async fn fill(&self, storing: &mut Storing, mut body: Body) -> Ended {
        for _ in 0..RESUMES_MAX {
            match pump(storing, body).await {
                Ended::Broken => {}
                ended @ (Ended::Whole | Ended::Unwanted) => return ended,
            }
            let Some(rest) = storing.resume() else { return Ended::Broken };
            let mut fields = self.question.fields.clone();
            ask_for(&mut fields, &rest);
            let Ok(came) = self.send(fields).await else { return Ended::Broken };
            if !storing.resumes(&answered(&came.head, came.requested, came.received)) {
                return Ended::Broken;
            }
            body = came.body;
        }
        pump(storing, body).await
    }
}

/// Writes what comes of a body.
async fn pump(storing: &mut Storing, mut body: Body) -> Ended {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Ended::Broken };
        // Trailers are not stored (RFC 9111 §3.1).
        if let Some(data) = frame.data_ref()
            && storing.write(data).await.is_err()
        {
            return Ended::Unwanted;
        }
    }
    Ended::Whole
}

fn ask_for(fields: &mut HeaderMap, rest: &Rest) {
    strip_conditions(fields);
    fields.insert(RANGE, rest.range.clone());
    fields.insert(IF_RANGE, rest.if_range.clone());
}

/// The body of a fetch for one client, and how it gets the rest by itself if it is too slow for the
/// others.
pub(crate) fn content<F: Fetch>(errand: &Errand<F>, filed: &Arc<Filed>, reader: Reader) -> Content {
    Content::Coming { fill: Arc::clone(reader.fill()), reader, again: errand.again(filed) }
}
