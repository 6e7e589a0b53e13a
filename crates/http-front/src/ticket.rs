//! One event per request, whatever becomes of it.
//!
//! A ticket is opened when a request is read and recorded when it is dropped: after the last byte
//! of the answer, or when the client goes away. Its time is the time until the answer begins; a
//! request that is never answered has 499, and the time until its client left. Where there is an
//! access log its line is written then, too. Held by the door's `request`, and by the answer's
//! body.

use access_log::{LineEnd, PendingLine};
use ledger::{EventSubject, Ledger, RequestEvent};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use telemetry::{ServerSpan, is_observed, record_request};
use vocab::{Action, Caching, Cause, Door, Now, RequestKind, Source};

/// The status that the ledger shows for a client that left before its answer, as nginx does.
const CLIENT_GONE: u16 = 499;

/// The event of a request under way, recorded when the ticket is dropped.
pub struct RequestTicket {
    ledger: Ledger,
    started: Instant,
    event: RequestEvent,
    answer: AnswerProgress,
    on_close: Option<CloseHook>,
    line: Option<Box<PendingLine>>,
    span: Option<Box<ServerSpan>>,
    bytes: u64,
}

/// Called with the event of a request, when that is recorded.
pub type CloseHook = Box<dyn FnOnce(&RequestEvent)>;

/// Progress of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerProgress {
    Awaited,
    Begun,
}

impl RequestTicket {
    /// Opens the event of a request that came to `door` at this time.
    pub fn open(ledger: &Ledger, door: Door, at: Now, client: IpAddr) -> Self {
        let event = RequestEvent {
            at,
            duration_us: 0,
            door,
            client,
            kind: RequestKind::Other,
            subject: EventSubject::url(""),
            action: Action::Pass,
            cause: Cause::NotAsked,
            source: Source::Failed,
            caching: Caching::NONE,
            status: CLIENT_GONE,
            bytes: 0,
        };
        let answer = AnswerProgress::Awaited;
        let (ledger, started) = (ledger.clone(), Instant::now());
        Self { ledger, started, event, answer, on_close: None, line: None, span: None, bytes: 0 }
    }

    /// Has somebody else hear of the request, too, when it is over.
    pub fn on_close(&mut self, hook: Option<CloseHook>) {
        self.on_close = hook;
    }

    /// Has a line written to an access log when the request is over.
    pub fn log(&mut self, line: Option<Box<PendingLine>>) {
        self.line = line;
    }

    /// Has the span of the request end when the request is over.
    pub fn trace(&mut self, span: Option<Box<ServerSpan>>) {
        self.span = span;
    }

    /// Notes the name that the client has proven.
    pub fn user(&mut self, user: Option<&Arc<str>>) {
        if let Some(line) = &mut self.line {
            line.user(user.cloned());
        }
    }

    /// Names the client of whom a trusted proxy in front tells.
    pub fn came_from(&mut self, client: IpAddr) {
        self.event.client = client;
    }

    /// Notes what is asked for.
    pub fn asked(&mut self, kind: RequestKind, subject: EventSubject) {
        (self.event.kind, self.event.subject) = (kind, subject);
    }

    /// Notes the policy's decision.
    pub fn decided(&mut self, action: Action, cause: Cause) {
        (self.event.action, self.event.cause) = (action, cause);
    }

    /// Notes what the cache did.
    pub fn cached(&mut self, caching: Caching) {
        self.event.caching = caching;
    }

    /// Notes that the answer begins to go out, or that a tunnel is open: the time is taken here.
    pub fn answered(&mut self, source: Source, status: u16) {
        (self.event.source, self.event.status) = (source, status);
        self.event.duration_us = elapsed_us(self.started);
        self.answer = AnswerProgress::Begun;
    }

    /// Notes that the answer broke off, so that its source failed in the end.
    pub fn broke_off(&mut self) {
        self.event.source = Source::Failed;
    }

    /// True while no answer has begun.
    pub fn is_unanswered(&self) -> bool {
        self.answer == AnswerProgress::Awaited
    }

    /// The time until the answer began, in microseconds; 0 before.
    pub fn took_us(&self) -> u32 {
        self.event.duration_us
    }

    /// Notes the bytes of body that went to the client.
    pub fn sent(&mut self, bytes: u64) {
        self.event.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.bytes = bytes;
    }

    /// Records the event: `bytes` of body went to the client.
    pub fn close(mut self, bytes: u64) {
        self.sent(bytes);
    }
}

impl RequestTicket {
    /// Ends the span, and exports a row where the settings want one.
    #[cold]
    fn observe(&mut self) {
        let span = self.span.take();
        let context = span.as_ref().map(|span| span.context());
        if let Some(span) = span {
            span.end(&self.event, self.bytes);
        }
        record_request(&self.event, self.bytes, context);
    }
}

impl Drop for RequestTicket {
    fn drop(&mut self) {
        if self.is_unanswered() {
            self.event.duration_us = elapsed_us(self.started);
        }
        if let Some(line) = self.line.take() {
            let RequestEvent { door, client, status, action, source, caching, .. } = self.event;
            let duration_us = u64::from(elapsed_us(self.started));
            let bytes = self.bytes;
            line.done(&LineEnd {
                door,
                client,
                status,
                bytes,
                duration_us,
                action,
                source,
                caching,
            });
        }
        if let Some(hook) = self.on_close.take() {
            hook(&self.event);
        }
        if is_observed() {
            self.observe();
        }
        let unused = EventSubject::url("");
        let subject = std::mem::replace(&mut self.event.subject, unused);
        self.ledger.record(RequestEvent { subject, ..self.event });
    }
}

/// Microseconds since `started`.
fn elapsed_us(started: Instant) -> u32 {
    u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX)
}
