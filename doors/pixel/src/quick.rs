//! The quick lane: null answers out of prepared bytes, without building a request for hyper.
//!
//! It asks the policy and records as `request` does, with the same words; what it cannot answer at
//! once (a page for people, a range, a name that is not blocked) it leaves to `request`, untouched and
//! unrecorded. Nothing is allocated but the row that the ledger keeps. Called by the engine for every
//! simple request of a connection.

use crate::counters::Count;
use crate::decision::{Asked, Decision, decide};
use crate::door::{Connection, Door};
use crate::wish::page_text;
use http::Method;
use http_engine::quick::{Quick, Quickly, Simple};
use http_engine::{authority, kind};
use ledger::{Event, Subject};
use null_answers::{Due, Hints, Null, Written, due, seat, write};
use policy::Verdict;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use transport::clock;
use vocab::{Caching, Kind, Name, Now, Source};

/// The door, as one connection sees it.
pub(crate) struct Lane {
    pub(crate) door: Arc<Door>,
    pub(crate) connection: Rc<Connection>,
}

thread_local! {
    /// The URL of the request at hand: its memory is used again and again.
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What is to be told of an answer.
struct Told {
    now: Now,
    started: Instant,
    kind: Kind,
    verdict: Verdict,
    written: Written,
}

impl Quick for Lane {
    fn answer(&self, request: &Simple<'_>, out: &mut Vec<u8>) -> Quickly {
        let authority = request.host().unwrap_or("");
        // Browsers send names in lower case; any other way is `request`'s to read.
        let Ok(host) = Name::from_lowercase(authority::host(authority)) else {
            return Quickly::NotMine;
        };
        // No name ends in a digit: it is an address, under which `request` has pages of our own.
        if host.as_str().ends_with(|last: char| last.is_ascii_digit()) {
            return Quickly::NotMine;
        }
        URL.with_borrow_mut(|url| {
            url.clear();
            let scheme = self.connection.transport.scheme();
            url.extend([scheme, "://", authority, request.target()]);
            self.answer_url(request, host, url, out).map_or(Quickly::NotMine, |()| Quickly::Written)
        })
    }
}

impl Lane {
    fn answer_url(
        &self,
        request: &Simple<'_>,
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
        let asked = Asked { host, url, kind, page };
        let policy = self.door.parts.policy.load();
        let decision = decide(&policy, connection, &asked, now);
        let Decision::Block(verdict) = decision else { return None };
        // act
        let destination = field("sec-fetch-dest");
        let hints = Hints {
            method: &method,
            kind,
            seat: seat(destination, page, host),
            host,
            path: request.path(),
            query: request.query().unwrap_or(""),
            accept: field("accept"),
            destination,
            service_worker: field("service-worker"),
            named: decision.named(&policy),
        };
        let Due::Null(null) = due(&hints) else { return None };
        // shape
        let written = write(&null, connection.transport.carrier(), request, out)?;
        // record
        connection.note_request(&self.door, &method);
        self.record(&null, url, &Told { now, started, kind, verdict, written });
        Some(())
    }

    fn record(&self, null: &Null<'_>, url: &str, told: &Told) {
        self.door.counters.one(Count::Quick);
        self.door.counters.answered(null);
        let Told { now, started, kind, verdict, written } = *told;
        let took_us = u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX);
        let (ledger, door, source) = (&self.door.parts.ledger, vocab::Door::Pixel, Source::Policy);
        if !ledger.wants_row(verdict.action) {
            return ledger.count(door, verdict.action, source, took_us);
        }
        ledger.record(Event {
            at: now,
            took_us,
            door,
            client: self.connection.client,
            kind,
            subject: Subject::url(url),
            action: verdict.action,
            cause: verdict.cause,
            source,
            caching: Caching::NONE,
            status: written.status,
            bytes: written.bytes,
        });
    }
}
