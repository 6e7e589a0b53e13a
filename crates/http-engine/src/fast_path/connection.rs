//! The fast path of one connection: read, parse, ask the door, write; hand over what is not
//! simple.
//!
//! A state machine without a task or timer of its own. It reads into a buffer of its thread, which
//! it gives back before it waits: an idle connection holds no buffer, and what it keeps otherwise
//! are the bytes of requests that are not answered yet, one read at most, or of answers that the
//! client has not taken. While the handler works, or its answer has nothing to send, it watches for
//! the client's end, and drops both with the connection. It refuses nothing. Called by
//! [`crate::serve_with_fast_path`].

use super::answer::{self, AnsweredRequest};
use super::framing::{AnswerProgress, BodyContinuation, FilledBytes};
use super::head::{self, KeepAlive, RequestReading};
use super::scratch::{INPUT_BYTES, ThreadScratch, with_scratch};
use super::sending::{OUTPUT_BYTES, SendBeside, SendState};
use super::{ConnectionPersistence, FastPath, FastReply, FieldRepetition, SimpleRequest, request};
use crate::body::{Body, BodyError};
use crate::incoming::Incoming;
use crate::interim;
use crate::last_answers;
use crate::preface::{PREFACE, PrefaceExpectation, SpokenProtocol};
use crate::reply;
use crate::timeouts::{AwaitedEvent, ConnectionStanding};
use bytes::Bytes;
use http::{Request, Response};
use std::future::Future;
use std::io;
use std::mem;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Rounds of reading and writing before other connections of the thread get their turn.
const TURNS_MAX: usize = 16;

/// Tells how a connection's time in the fast path ended.
#[derive(Debug)]
pub(crate) enum FastPathEnd {
    /// In order: closed by either side between requests, or after an answer that said so.
    Closed,
    /// The byte stream failed, or ended within a head or before an answer.
    Failed(io::Error),
    /// The body of an answer failed, or was shorter than it was said to be.
    Broken(BodyError),
    /// hyper goes on, with what was read and not answered.
    Over(HandedOver),
}

/// Holds what hyper takes over.
#[derive(Debug)]
pub(crate) struct HandedOver {
    /// Read, and not answered.
    pub(crate) early: Bytes,
    pub(crate) protocol: SpokenProtocol,
    /// Since when the head that comes next is due.
    pub(crate) since: Instant,
}

/// Tells what comes next, once all answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterAnswers {
    Read,
    /// Whole requests may lie in `kept`.
    Answer,
    Close,
    HandOver(SpokenProtocol),
}

/// Tells what the handler has to do with the connection at the moment.
enum UnderWay<F> {
    Idle,
    /// Works on the answer to this.
    Handling(Pin<Box<F>>, AnsweredRequest),
    /// The body of its answer is sent.
    Answering(Box<AnswerProgress>),
    /// The body has failed; what came before goes to the client first.
    Broken(BodyError),
}

/// One connection in the fast path, whose handler gives futures `F`.
pub(crate) struct FastPathConnection<I, F> {
    pub(crate) io: I,
    /// Read, and not answered yet. Empty, and without an allocation, while nothing is under way.
    unread: Vec<u8>,
    sending: SendState,
    in_progress: UnderWay<F>,
    after: AfterAnswers,
    preface: PrefaceExpectation,
    keep: KeepAlive,
    /// Since when a head is due that has not ended.
    head_since: Option<Instant>,
    /// Batches of answers so far; wraps.
    batches: u32,
}

/// Of the bytes at hand: how many are taken care of, what body follows the answers, what the
/// handler is asked then, what is next.
struct RequestBatch {
    taken: usize,
    body: Bytes,
    request: Option<(Request<Incoming>, AnsweredRequest)>,
    after: AfterAnswers,
}

type Turn = Poll<ControlFlow<FastPathEnd>>;

const CONTINUE: Turn = Poll::Ready(ControlFlow::Continue(()));

fn end(end: FastPathEnd) -> Turn {
    Poll::Ready(ControlFlow::Break(end))
}

impl<I, F> FastPathConnection<I, F>
where
    I: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = Response<Body>>,
{
    pub(crate) fn new(io: I, preface: PrefaceExpectation, now: Instant) -> Self {
        Self {
            io,
            unread: Vec::new(),
            sending: SendState::default(),
            in_progress: UnderWay::Idle,
            after: AfterAnswers::Read,
            preface,
            keep: KeepAlive::Yes,
            // The first head is due from the start, though not a byte of it has come.
            head_since: Some(now),
            batches: 0,
        }
    }

    /// The server is stopping: what is under way is finished, nothing more is waited for.
    pub(crate) fn stop(&mut self) -> ControlFlow<()> {
        self.keep = KeepAlive::No;
        let is_idle = matches!(self.in_progress, UnderWay::Idle);
        if is_idle && self.sending.is_done() && self.unread.is_empty() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns how the connection stands.
    pub(crate) fn status(&self) -> ConnectionStanding {
        let awaits = match (&self.in_progress, self.head_since) {
            _ if !self.sending.is_done() => AwaitedEvent::Client,
            (UnderWay::Handling(..) | UnderWay::Answering(_) | UnderWay::Broken(_), _) => {
                AwaitedEvent::Response
            }
            (UnderWay::Idle, Some(since)) => AwaitedEvent::Head { since },
            (UnderWay::Idle, None) => AwaitedEvent::Request,
        };
        ConnectionStanding {
            progress: self.sending.progress,
            waiting_for: awaits,
            messages: self.batches,
            bytes: self.sending.bytes,
            waited_ms: self.sending.waited_ms(),
        }
    }

    /// Goes on until the connection must wait or leaves the fast path.
    pub(crate) fn poll<Q, H>(
        &mut self,
        cx: &mut Context<'_>,
        quick: &Q,
        handler: &H,
    ) -> Poll<FastPathEnd>
    where
        Q: FastPath,
        H: Fn(Request<Incoming>) -> F,
    {
        for _ in 0..TURNS_MAX {
            if let ControlFlow::Break(end) = ready!(self.poll_turn(cx, quick, handler)) {
                return Poll::Ready(end);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_turn<Q, H>(&mut self, cx: &mut Context<'_>, quick: &Q, handler: &H) -> Turn
    where
        Q: FastPath,
        H: Fn(Request<Incoming>) -> F,
    {
        if !self.sending.is_done()
            && let Err(why) = ready!(self.sending.poll(&mut self.io, cx))
        {
            return end(FastPathEnd::Failed(why));
        }
        match &mut self.in_progress {
            UnderWay::Handling(answer, asked) => {
                let (polled, told) = interim::for_client(|| answer.as_mut().poll(cx));
                let asked = *asked;
                with_scratch(|scratch| {
                    answer::push_interim(&mut scratch.output, &told, asked);
                    match polled {
                        Poll::Ready(response) => self.start_answer(cx, response, asked, scratch),
                        Poll::Pending => {
                            self.send(cx, scratch, BodyContinuation::Wait.without_large())
                        }
                    }
                })
            }
            UnderWay::Answering(_) => with_scratch(|scratch| self.answer_on(cx, scratch)),
            UnderWay::Broken(why) => {
                end(FastPathEnd::Broken(mem::replace(why, BodyError::Aborted)))
            }
            UnderWay::Idle => self.next(cx, quick, handler),
        }
    }

    /// Returns what is next, once all answers are written.
    fn next<Q, H>(&mut self, cx: &mut Context<'_>, quick: &Q, handler: &H) -> Turn
    where
        Q: FastPath,
        H: Fn(Request<Incoming>) -> F,
    {
        match self.after {
            // Its last answer had begun when the server was stopped.
            AfterAnswers::Read if self.keep == KeepAlive::No && self.unread.is_empty() => {
                end(FastPathEnd::Closed)
            }
            AfterAnswers::Read | AfterAnswers::Answer => {
                with_scratch(|scratch| self.exchange(cx, quick, handler, scratch))
            }
            AfterAnswers::Close => end(FastPathEnd::Closed),
            AfterAnswers::HandOver(spoken) => end(FastPathEnd::Over(HandedOver {
                early: mem::take(&mut self.unread).into(),
                protocol: spoken,
                since: self.head_since.unwrap_or_else(Instant::now),
            })),
        }
    }

    /// Reads if need be, answers what is at hand, and begins to write.
    fn exchange<Q, H>(
        &mut self,
        cx: &mut Context<'_>,
        quick: &Q,
        handler: &H,
        scratch: &mut ThreadScratch,
    ) -> Turn
    where
        Q: FastPath,
        H: Fn(Request<Incoming>) -> F,
    {
        let ThreadScratch { input, output } = scratch;
        let before = self.unread.len();
        input[..before].copy_from_slice(&self.unread);
        let mut filled = before;
        if self.after == AfterAnswers::Read {
            let mut room = ReadBuf::new(&mut input[before..]);
            let read = ready!(Pin::new(&mut self.io).poll_read(cx, &mut room));
            filled += room.filled().len();
            if let Err(why) = read {
                return end(FastPathEnd::Failed(why));
            }
            if filled == before {
                let whole = before == 0;
                return end(if whole {
                    FastPathEnd::Closed
                } else {
                    FastPathEnd::Failed(cut_off())
                });
            }
            self.sending.progress = self.sending.progress.wrapping_add(1);
        }
        let batch = self.answer_all(&input[..filled], quick, output);
        self.keep_unread(&input[batch.taken..filled], batch.taken);
        self.after = batch.after;
        if let Some((request, asked)) = batch.request {
            self.in_progress = UnderWay::Handling(Box::pin(handler(request)), asked);
        }
        if output.is_empty() && batch.body.is_empty() {
            return CONTINUE;
        }
        self.batches = self.batches.wrapping_add(1);
        self.write(cx, output, batch.body.into())
    }

    /// Answers every simple request in `input`, in order, up to the first that is the handler's.
    fn answer_all<Q: FastPath>(
        &mut self,
        input: &[u8],
        quick: &Q,
        out: &mut Vec<u8>,
    ) -> RequestBatch {
        let after = AfterAnswers::Read;
        let mut batch = RequestBatch { taken: 0, body: Bytes::new(), request: None, after };
        if self.preface == PrefaceExpectation::Expected {
            match preface(input) {
                Some(ControlFlow::Break(())) => {
                    batch.after = AfterAnswers::HandOver(SpokenProtocol::Http2);
                    return batch;
                }
                Some(ControlFlow::Continue(())) => return batch,
                None => self.preface = PrefaceExpectation::No,
            }
        }
        while batch.taken < input.len() {
            let here = &input[batch.taken..];
            let mut room = head::header_array();
            let (mut simple, length) = match head::read(here, &mut room, self.keep) {
                RequestReading::Simple(simple, length) => (simple, length),
                RequestReading::Partial if here.len() < INPUT_BYTES => break,
                RequestReading::Partial | RequestReading::NotSimple => {
                    batch.after = AfterAnswers::HandOver(SpokenProtocol::Http1);
                    break;
                }
            };
            // Not before the last of those that came together: the others would get no answer.
            if last_answers::are_due() && here.len() == length {
                simple.persistence = ConnectionPersistence::Close;
            }
            match ask(quick, &simple, out) {
                FastReply::Done => {}
                FastReply::DoneWithBody(body) => batch.body = body,
                FastReply::Decline => {
                    let request = request::of(&simple, &here[..length]);
                    batch.request = request.map(|request| (request, AnsweredRequest::of(&simple)));
                    if batch.request.is_some() {
                        batch.taken += length;
                        batch.after = AfterAnswers::Answer;
                    } else {
                        batch.after = AfterAnswers::HandOver(SpokenProtocol::Http1);
                    }
                    break;
                }
            }
            batch.taken += length;
            if simple.persistence == ConnectionPersistence::Close {
                batch.after = AfterAnswers::Close;
                break;
            }
            if !batch.body.is_empty() || out.len() >= OUTPUT_BYTES {
                batch.after = AfterAnswers::Answer;
                break;
            }
        }
        batch
    }

    /// Keeps what is not taken care of, and notes since when the rest of a head is due.
    fn keep_unread(&mut self, rest: &[u8], taken: usize) {
        if rest.is_empty() {
            self.unread = Vec::new();
            self.head_since = None;
            return;
        }
        if taken > 0 || self.head_since.is_none() {
            self.head_since = Some(Instant::now());
        }
        self.unread.clear();
        self.unread.extend_from_slice(rest);
    }

    /// Sends the handler's answer, as far as it is at hand.
    fn start_answer(
        &mut self,
        cx: &mut Context<'_>,
        response: Response<Body>,
        asked: AnsweredRequest,
        scratch: &mut ThreadScratch,
    ) -> Turn {
        self.in_progress = UnderWay::Idle;
        if reply::is_no_answer(&response) {
            return end(FastPathEnd::Closed);
        }
        self.batches = self.batches.wrapping_add(1);
        let begun = answer::write_head(&mut scratch.output, response, asked, self.keep);
        self.after = match begun.persistence {
            ConnectionPersistence::Close => AfterAnswers::Close,
            // What came meanwhile has not been looked at.
            ConnectionPersistence::Keep | ConnectionPersistence::KeepAndAnnounce => {
                AfterAnswers::Answer
            }
        };
        let Some(mut answering) = begun.answering else {
            return self.send(cx, scratch, BodyContinuation::End.without_large());
        };
        let filled = answering.fill(cx, &mut scratch.output);
        if matches!(filled.continuation, BodyContinuation::More | BodyContinuation::Wait) {
            self.in_progress = UnderWay::Answering(Box::new(answering));
        }
        self.send(cx, scratch, filled)
    }

    /// Sends on, as far as there is something at hand.
    fn answer_on(&mut self, cx: &mut Context<'_>, scratch: &mut ThreadScratch) -> Turn {
        let UnderWay::Answering(answering) = &mut self.in_progress else { return CONTINUE };
        let filled = answering.fill(cx, &mut scratch.output);
        if matches!(filled.continuation, BodyContinuation::End) {
            self.in_progress = UnderWay::Idle;
        }
        self.send(cx, scratch, filled)
    }

    /// Sends what was at hand of a handler's answer, or ahead of it, and watches for the client's
    /// end if no more is.
    fn send(
        &mut self,
        cx: &mut Context<'_>,
        scratch: &mut ThreadScratch,
        filled: FilledBytes,
    ) -> Turn {
        let waits = match filled.continuation {
            // The client gets what there is of it (half a page is worth more than none), and sees
            // by the end of the connection that it is not all.
            BodyContinuation::Broken(why) => {
                self.in_progress = UnderWay::Broken(why);
                false
            }
            BodyContinuation::Wait => true,
            BodyContinuation::More => false,
            BodyContinuation::End => {
                if !self.unread.is_empty() {
                    self.head_since = Some(Instant::now());
                }
                false
            }
        };
        if !scratch.output.is_empty() || !filled.large.is_empty() {
            let written = ready!(self.write(cx, &mut scratch.output, filled.large));
            if written.is_break() {
                return Poll::Ready(written);
            }
        }
        if waits { self.poll_other_events(cx, scratch) } else { CONTINUE }
    }

    fn write(&mut self, cx: &mut Context<'_>, output: &mut Vec<u8>, beside: SendBeside) -> Turn {
        match ready!(self.sending.start(&mut self.io, cx, output, beside)) {
            Ok(()) => CONTINUE,
            Err(why) => end(FastPathEnd::Failed(why)),
        }
    }

    /// Waits for whatever else wakes the task, or for the client's end. What the client sends ahead
    /// is kept, one read of it; behind that its end is not seen.
    fn poll_other_events(&mut self, cx: &mut Context<'_>, scratch: &mut ThreadScratch) -> Turn {
        if !self.unread.is_empty() {
            return Poll::Pending;
        }
        let mut room = ReadBuf::new(&mut scratch.input);
        match ready!(Pin::new(&mut self.io).poll_read(cx, &mut room)) {
            Ok(()) if room.filled().is_empty() => end(FastPathEnd::Failed(closed_error())),
            Ok(()) => {
                self.unread.extend_from_slice(room.filled());
                self.sending.progress = self.sending.progress.wrapping_add(1);
                Poll::Pending
            }
            Err(why) => end(FastPathEnd::Failed(why)),
        }
    }
}

/// Asks the fast path, if this is a request for it.
fn ask<Q: FastPath>(quick: &Q, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> FastReply {
    if request.form != Q::FORM || request.names == FieldRepetition::Repeated {
        return FastReply::Decline;
    }
    let before = out.len();
    let answer = quick.answer(request, out);
    if answer == FastReply::Decline {
        out.truncate(before);
        return answer;
    }
    debug_assert!(
        memchr::memmem::find(&out[before..], b"\r\n\r\n").is_some(),
        "a quick answer has a whole head: SimpleRequest::end_head"
    );
    answer
}

/// Returns whether `input` begins with HTTP/2's preface (`Break`), with a part of it, or otherwise.
fn preface(input: &[u8]) -> Option<ControlFlow<()>> {
    let compared = input.len().min(PREFACE.len());
    if input[..compared] != PREFACE[..compared] {
        return None;
    }
    let whole = compared == PREFACE.len();
    Some(if whole { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

fn cut_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended within a request's head")
}

fn closed_error() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the client went away before its answer")
}
