//! The fast path: null answers out of prepared bytes, without building a request for hyper.
//!
//! It asks the policy and records as `request` does, with the same words; what it cannot answer at
//! once (a page for people, a range, a name that is not blocked) it leaves to `request`, untouched
//! and unrecorded. Nothing is allocated but the row that the ledger keeps. Called by the engine for
//! every simple request of a connection.

use crate::connection::PixelConnection;
use crate::counters::Count;
use crate::decision::{PixelDecision, PixelQuery, decide};
use crate::door::PixelDoor;
use http::Method;
use http_engine::fast_path::{FastPath, FastReply, SimpleRequest};
use http_engine::{authority, kind};
use http_front::{FastPathEvent, is_in_trace, page_text, with_url};
use null_answers::{
    AnswerAudience, NullAnswer, RequestHints, WrittenNull, frame_context, select_answer, write,
};
use policy::Verdict;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use transport::clock;
use vocab::{Caching, Name, Now, RequestKind, Source};

/// The door, as one connection sees it.
pub(crate) struct PixelFastPath {
    pub(crate) door: Arc<PixelDoor>,
    pub(crate) connection: Rc<PixelConnection>,
}

/// Holds what is to be told of an answer.
struct AnswerNotes {
    now: Now,
    started: Instant,
    kind: RequestKind,
    verdict: Verdict,
    written: WrittenNull,
}

impl FastPath for PixelFastPath {
    fn answer(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
        if is_in_trace(request) {
            return FastReply::Decline;
        }
        let authority = request.host().unwrap_or("");
        // Browsers send names in lower case; any other way is `request`'s to read.
        let Ok(host) = Name::from_lowercase(authority::host(authority)) else {
            return FastReply::Decline;
        };
        // No name ends in a digit: it is an address, under which `request` has pages of our own.
        if host.as_str().ends_with(|last: char| last.is_ascii_digit()) {
            return FastReply::Decline;
        }
        let scheme = self.connection.context.scheme();
        with_url([scheme, "://", authority, request.target()], |url| {
            self.answer_url(request, host, url, out)
                .map_or(FastReply::Decline, |()| FastReply::Done)
        })
    }
}

impl PixelFastPath {
    fn answer_url(
        &self,
        request: &SimpleRequest<'_>,
        host: Name<'_>,
        url: &str,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let (started, now) = (Instant::now(), clock::now());
        let connection = &*self.connection;
        // read
        let field = |name: &str| request.text(name).unwrap_or("");
        let method: Method = request.method().into();
        let kind = kind::of_fields(&method, request.path(), field);
        let page = match page_text(field) {
            None => None,
            Some(page) => Some(Name::from_lowercase(page).ok()?),
        };
        // decide
        let asked = PixelQuery { host, url, kind, page };
        let policy = self.door.parts.policy.load();
        let decision = decide(&policy, connection, &asked, self.door.answered_names(), now);
        let PixelDecision::Block(verdict) = decision else { return None };
        // act
        let destination = field("sec-fetch-dest");
        let hints = RequestHints {
            method: &method,
            kind,
            frame: frame_context(destination, page, host),
            host,
            path: request.path(),
            query: request.query().unwrap_or(""),
            accept: field("accept"),
            destination,
            service_worker: field("service-worker"),
            named: decision.named(&policy),
        };
        let AnswerAudience::Null(null) = select_answer(&hints) else { return None };
        // shape
        let written = write(&null, connection.carrier(), request, out)?;
        // record
        connection.note_request(&self.door, &method);
        let notes = AnswerNotes { now, started, kind, verdict, written };
        self.record(&null, request, url, &notes);
        Some(())
    }

    fn record(
        &self,
        null: &NullAnswer<'_>,
        request: &SimpleRequest<'_>,
        url: &str,
        told: &AnswerNotes,
    ) {
        self.door.counters.one(Count::Quick);
        self.door.counters.answered(null);
        let AnswerNotes { now, started, kind, verdict, written } = *told;
        let took_us = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        self.door.counters.took(u64::from(took_us));
        let event = FastPathEvent {
            at: now,
            took_us,
            door: vocab::Door::Pixel,
            client: self.connection.client(),
            kind,
            url,
            action: verdict.action,
            cause: verdict.cause,
            source: Source::Policy,
            caching: Caching::NONE,
            status: written.status,
            bytes: written.bytes,
        };
        event.record(&self.door.parts.ledger);
        if telemetry::is_observed() {
            event.observe(request, self.connection.context.scheme(), request.host().unwrap_or(""));
        }
    }
}
