//! Interim answers (1xx, RFC 9110 §15.2) on their way from a server to the client that waits.
//!
//! No handle goes with a request, so that those whose servers send none, nearly all, carry nothing
//! for it: what comes while a future is polled is heard by whoever polls that future. The client
//! side notes what comes, a door that is [`with_handler`] changes it and [`send`]s it on, and the
//! server side writes it ahead of the answer. What no door hears goes no further; nor does `100
//! (Continue)`, which is between neighbours (RFC 9110 §10.1.1), nor anything to clients of
//! HTTP/1.0, which must not get it. What servers send ahead over HTTP/2 is not heard: hyper's
//! client hands none of it out.

use crate::field_line::push_field;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Response, StatusCode};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;

/// Interim answers to one request, at most. A server that sends more is at fault.
pub const INTERIM_MAX: usize = 16;

/// Tells who hears what is told at the moment.
#[derive(Default)]
enum InterimListener {
    #[default]
    Absent,
    /// A door: what servers say, and what it tells itself behind another [`with_handler`].
    Door(Vec<Response<()>>),
    /// The server side: what doors tell.
    Client(Vec<Response<()>>),
}

thread_local! {
    static LISTENER: Cell<InterimListener> = const { Cell::new(InterimListener::Absent) };
}

/// Who heard before, and hears again: also where a poll panics.
struct PreviousListener(InterimListener);

impl Drop for PreviousListener {
    fn drop(&mut self) {
        LISTENER.set(mem::take(&mut self.0));
    }
}

/// Runs `poll` while `ear` hears; what it heard.
fn listen<T>(ear: InterimListener, poll: impl FnOnce() -> T) -> (T, Vec<Response<()>>) {
    let _before = PreviousListener(LISTENER.replace(ear));
    let done = poll();
    match LISTENER.take() {
        InterimListener::Door(heard) | InterimListener::Client(heard) => (done, heard),
        InterimListener::Absent => (done, Vec::new()),
    }
}

/// A server said so: for the door that hears it.
pub(crate) fn received(interim: Response<()>) {
    let mut ear = LISTENER.take();
    if let InterimListener::Door(heard) = &mut ear {
        heard.push(interim);
    }
    LISTENER.set(ear);
}

/// Tells it to whoever polls: in the end to the client, ahead of its answer, if that may get it.
///
/// Only statuses from 102 to 199 are told. What `Connection`, `Content-Length` and
/// `Transfer-Encoding` say is left out: such an answer has neither a body nor a say about the
/// connection.
pub fn send(interim: Response<()>) {
    let status = interim.status();
    let is_ours = status == StatusCode::CONTINUE || status == StatusCode::SWITCHING_PROTOCOLS;
    if is_ours || !status.is_informational() {
        return;
    }
    let mut ear = LISTENER.take();
    if let InterimListener::Door(heard) | InterimListener::Client(heard) = &mut ear {
        heard.push(interim);
    }
    LISTENER.set(ear);
}

/// Runs `work` to its end, and hands every interim answer that comes meanwhile to `hear` at once.
/// `hear` may [`send`] it on; what it drops goes no further.
pub fn with_handler<F: Future + ?Sized>(
    mut work: Pin<&mut F>,
    mut hear: impl FnMut(Response<()>),
) -> impl Future<Output = F::Output> {
    poll_fn(move |cx| {
        let (polled, heard) = listen(InterimListener::Door(Vec::new()), || work.as_mut().poll(cx));
        heard.into_iter().for_each(&mut hear);
        polled
    })
}

/// Runs one poll of a handler; what its client is to be told.
pub(crate) fn for_client<T>(poll: impl FnOnce() -> T) -> (T, Vec<Response<()>>) {
    listen(InterimListener::Client(Vec::new()), poll)
}

/// Appends an interim answer, as HTTP/1.1 has it.
pub(crate) fn write(interim: &Response<()>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(interim.status().as_str().as_bytes());
    out.push(b' ');
    let reason = interim.status().canonical_reason().unwrap_or_default();
    out.extend_from_slice(reason.as_bytes());
    out.extend_from_slice(b"\r\n");
    for (name, value) in interim.headers() {
        if name != CONNECTION && name != CONTENT_LENGTH && name != TRANSFER_ENCODING {
            push_field(out, name, value);
        }
    }
    out.extend_from_slice(b"\r\n");
}
