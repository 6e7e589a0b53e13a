//! The quick lane of one connection: read, parse, ask the door, write; hand over what is not simple.
//!
//! A state machine without a task or timer of its own. It reads into a buffer of its thread, which
//! it gives back before it waits: an idle connection holds no buffer, and what it keeps otherwise
//! are the bytes of a head that has not ended, or of answers that the client has not taken. It
//! refuses nothing. Called by [`crate::serve_quickly`].

use super::head::{self, Keep, Reading};
use super::{Persistence, Quick, Quickly};
use crate::patience::{Awaits, Standing};
use crate::serve::PREFACE;
use bytes::{Buf, Bytes};
use std::cell::Cell;
use std::io::{self, IoSlice};
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Bytes read at once, and of the largest head that stays in the lane; browsers send 1 KiB, with
/// cookies up to 4. A longer head goes to hyper, which has limits of its own.
const INPUT_BYTES: usize = 8 << 10;
/// Answers to pipelined requests are written when they come to so many bytes.
const OUTPUT_BYTES: usize = 64 << 10;
/// Rounds of reading and writing before other connections of the thread get their turn.
const TURNS_MAX: usize = 16;

/// How a connection's time in the lane ended.
#[derive(Debug)]
pub(crate) enum End {
    /// In order: closed by either side between requests, or after an answer that said so.
    Closed,
    /// The byte stream failed, or ended within a head.
    Failed(io::Error),
    /// hyper goes on, with what was read and not answered.
    Over(Begun),
}

/// What hyper takes over.
#[derive(Debug)]
pub(crate) struct Begun {
    /// Read, and not answered.
    pub(crate) early: Bytes,
    pub(crate) spoken: Spoken,
    /// Since when the head that comes next is due.
    pub(crate) since: Instant,
}

/// What is spoken after the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    Http1,
    Http2,
}

/// Whether a connection may turn out to speak HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preface {
    Expected,
    No,
}

/// What comes next, once all answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Read,
    /// Whole requests may lie in `kept`.
    Answer,
    Close,
    HandOver(Spoken),
}

/// One connection in the lane.
#[derive(Debug)]
pub(crate) struct Lane<I> {
    pub(crate) io: I,
    /// Read, and not answered yet. Empty, and without an allocation, while nothing is under way.
    kept: Vec<u8>,
    unsent: Option<Box<Unsent>>,
    after: After,
    preface: Preface,
    keep: Keep,
    /// Since when a head is due that has not ended.
    head_since: Option<Instant>,
    progress: u32,
    /// Bytes of answers taken, and how long the client was waited for to take them; both wrap.
    bytes: u32,
    waited_ms: u32,
    /// Batches of answers so far; wraps.
    writes: u32,
}

/// Answers that the client has not taken yet.
#[derive(Debug)]
struct Unsent {
    answers: Vec<u8>,
    sent: usize,
    body: Bytes,
    /// Since when the client is waited for.
    since: Option<Instant>,
}

/// What a thread lends to the connection that it serves at the moment.
#[derive(Default)]
struct Scratch {
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = const {
        Cell::new(Scratch { input: Vec::new(), output: Vec::new() })
    };
}

/// Of the bytes at hand: how many are answered, what body follows the answers, what is next.
struct Batch {
    answered: usize,
    body: Bytes,
    after: After,
}

impl<I: AsyncRead + AsyncWrite + Unpin> Lane<I> {
    pub(crate) fn new(io: I, preface: Preface, now: Instant) -> Self {
        Self {
            io,
            kept: Vec::new(),
            unsent: None,
            after: After::Read,
            preface,
            keep: Keep::Yes,
            // The first head is due from the start, though not a byte of it has come.
            head_since: Some(now),
            progress: 0,
            bytes: 0,
            waited_ms: 0,
            writes: 0,
        }
    }

    /// The server is stopping: what is under way is finished, nothing more is waited for.
    pub(crate) fn stop(&mut self) -> ControlFlow<()> {
        self.keep = Keep::No;
        if self.unsent.is_none() && self.kept.is_empty() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// How the connection stands.
    pub(crate) fn standing(&self) -> Standing {
        let awaits = match (&self.unsent, self.head_since) {
            (Some(_), _) => Awaits::Client,
            (None, Some(since)) => Awaits::Head { since },
            (None, None) => Awaits::Request,
        };
        let waiting = self.unsent.as_ref().map_or(0, |unsent| unsent.waited_ms());
        Standing {
            progress: self.progress,
            awaits,
            messages: self.writes,
            bytes: self.bytes,
            waited_ms: self.waited_ms.wrapping_add(waiting),
        }
    }

    /// Goes on until the connection must wait or leaves the lane.
    pub(crate) fn poll<Q: Quick>(&mut self, cx: &mut Context<'_>, quick: &Q) -> Poll<End> {
        for _ in 0..TURNS_MAX {
            if let ControlFlow::Break(end) = ready!(self.turn(cx, quick)) {
                return Poll::Ready(end);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn turn<Q: Quick>(&mut self, cx: &mut Context<'_>, quick: &Q) -> Poll<ControlFlow<End>> {
        if let Some(unsent) = self.unsent.take() {
            match self.write(cx, unsent) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(why)) => {
                    return Poll::Ready(ControlFlow::Break(End::Failed(why)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
        let end = match self.after {
            After::Read | After::Answer => {
                let mut scratch = SCRATCH.take();
                let done = self.exchange(cx, quick, &mut scratch);
                scratch.output.clear();
                SCRATCH.set(scratch);
                return done;
            }
            After::Close => End::Closed,
            After::HandOver(spoken) => End::Over(Begun {
                early: std::mem::take(&mut self.kept).into(),
                spoken,
                since: self.head_since.unwrap_or_else(Instant::now),
            }),
        };
        Poll::Ready(ControlFlow::Break(end))
    }

    /// Reads if need be, answers what is at hand, and begins to write.
    fn exchange<Q: Quick>(
        &mut self,
        cx: &mut Context<'_>,
        quick: &Q,
        scratch: &mut Scratch,
    ) -> Poll<ControlFlow<End>> {
        let Scratch { input, output } = scratch;
        if input.is_empty() {
            input.resize(INPUT_BYTES, 0);
        }
        let before = self.kept.len();
        input[..before].copy_from_slice(&self.kept);
        let mut filled = before;
        if self.after == After::Read {
            let mut room = ReadBuf::new(&mut input[before..]);
            let read = ready!(Pin::new(&mut self.io).poll_read(cx, &mut room));
            filled += room.filled().len();
            if let Err(why) = read {
                return Poll::Ready(ControlFlow::Break(End::Failed(why)));
            }
            if filled == before {
                let whole = before == 0;
                let end = if whole { End::Closed } else { End::Failed(cut_off()) };
                return Poll::Ready(ControlFlow::Break(end));
            }
            self.progress = self.progress.wrapping_add(1);
        }
        let batch = self.answer_all(&input[..filled], quick, output);
        self.keep_rest(&input[batch.answered..filled], batch.answered);
        self.after = batch.after;
        if output.is_empty() && batch.body.is_empty() {
            return Poll::Ready(ControlFlow::Continue(()));
        }
        self.begin_write(cx, output, batch.body)
    }

    /// Answers every simple request in `input`, in order.
    fn answer_all<Q: Quick>(&mut self, input: &[u8], quick: &Q, out: &mut Vec<u8>) -> Batch {
        let mut batch = Batch { answered: 0, body: Bytes::new(), after: After::Read };
        if self.preface == Preface::Expected {
            match preface(input) {
                Some(ControlFlow::Break(())) => {
                    batch.after = After::HandOver(Spoken::Http2);
                    return batch;
                }
                Some(ControlFlow::Continue(())) => return batch,
                None => self.preface = Preface::No,
            }
        }
        while batch.answered < input.len() {
            let here = &input[batch.answered..];
            let mut room = head::room();
            let (request, length) = match head::read(here, &mut room, Q::FORM, self.keep) {
                Reading::Simple(request, length) => (request, length),
                Reading::Partial if here.len() < INPUT_BYTES => break,
                Reading::Partial | Reading::NotSimple => {
                    batch.after = After::HandOver(Spoken::Http1);
                    break;
                }
            };
            let before = out.len();
            match quick.answer(&request, out) {
                Quickly::Written => {}
                Quickly::Large(body) => batch.body = body,
                Quickly::NotMine => {
                    out.truncate(before);
                    batch.after = After::HandOver(Spoken::Http1);
                    break;
                }
            }
            debug_assert!(
                memchr::memmem::find(&out[before..], b"\r\n\r\n").is_some(),
                "a quick answer has a whole head: Simple::end_head"
            );
            batch.answered += length;
            if request.persistence == Persistence::Close {
                batch.after = After::Close;
                break;
            }
            if !batch.body.is_empty() || out.len() >= OUTPUT_BYTES {
                batch.after = After::Answer;
                break;
            }
        }
        batch
    }

    /// Keeps what is not answered, and notes since when the rest of a head is due.
    fn keep_rest(&mut self, rest: &[u8], answered: usize) {
        if rest.is_empty() {
            self.kept = Vec::new();
            self.head_since = None;
            return;
        }
        if answered > 0 || self.head_since.is_none() {
            self.head_since = Some(Instant::now());
        }
        self.kept.clear();
        self.kept.extend_from_slice(rest);
    }

    /// Writes what can be written at once; the rest becomes the connection's own.
    fn begin_write(
        &mut self,
        cx: &mut Context<'_>,
        output: &mut Vec<u8>,
        body: Bytes,
    ) -> Poll<ControlFlow<End>> {
        self.writes = self.writes.wrapping_add(1);
        if body.is_empty() {
            // The usual case, without a detour: all goes in one write.
            let written = Pin::new(&mut self.io).poll_write(cx, output);
            if let Poll::Ready(Ok(count)) = written {
                self.moved(count);
                let whole = count == output.len();
                // What a stream with TLS could not hand on at once waits in it for this.
                if whole && matches!(Pin::new(&mut self.io).poll_flush(cx), Poll::Ready(Ok(()))) {
                    return Poll::Ready(ControlFlow::Continue(()));
                }
                output.drain(..count);
            }
        }
        let answers = std::mem::take(output);
        let unsent = Box::new(Unsent { answers, sent: 0, body, since: None });
        match ready!(self.write(cx, unsent)) {
            Ok(answers) if answers.capacity() <= OUTPUT_BYTES * 2 => {
                // The buffer goes back to the thread.
                *output = answers;
                Poll::Ready(ControlFlow::Continue(()))
            }
            Ok(_) => Poll::Ready(ControlFlow::Continue(())),
            Err(why) => Poll::Ready(ControlFlow::Break(End::Failed(why))),
        }
    }

    /// Writes on, to the last byte that the stream holds back; what the client does not take is kept. The emptied buffer comes back.
    fn write(
        &mut self,
        cx: &mut Context<'_>,
        mut unsent: Box<Unsent>,
    ) -> Poll<io::Result<Vec<u8>>> {
        while !unsent.is_sent() {
            match unsent.poll_write(Pin::new(&mut self.io), cx) {
                Poll::Ready(Ok(count)) => {
                    self.waited_ms = self.waited_ms.wrapping_add(unsent.waited_ms());
                    unsent.since = None;
                    self.moved(count);
                }
                Poll::Ready(Err(why)) => return Poll::Ready(Err(why)),
                Poll::Pending => {
                    unsent.since.get_or_insert_with(Instant::now);
                    self.unsent = Some(unsent);
                    return Poll::Pending;
                }
            }
        }
        match Pin::new(&mut self.io).poll_flush(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Ok(unsent.answers)),
            Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
            Poll::Pending => {
                unsent.since.get_or_insert_with(Instant::now);
                self.unsent = Some(unsent);
                Poll::Pending
            }
        }
    }

    fn moved(&mut self, bytes: usize) {
        self.progress = self.progress.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u32);
    }
}

impl Unsent {
    fn is_sent(&self) -> bool {
        self.sent == self.answers.len() && self.body.is_empty()
    }

    fn waited_ms(&self) -> u32 {
        self.since.map_or(0, |since| since.elapsed().as_millis() as u32)
    }

    /// Writes once; how many bytes.
    fn poll_write<I: AsyncWrite>(
        &mut self,
        io: Pin<&mut I>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let heads = &self.answers[self.sent..];
        let count = if self.body.is_empty() {
            ready!(io.poll_write(cx, heads))?
        } else if heads.is_empty() {
            ready!(io.poll_write(cx, &self.body))?
        } else {
            let pieces = [IoSlice::new(heads), IoSlice::new(&self.body)];
            ready!(io.poll_write_vectored(cx, &pieces))?
        };
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        let of_heads = count.min(heads.len());
        self.sent += of_heads;
        self.body.advance(count - of_heads);
        Poll::Ready(Ok(count))
    }
}

/// Whether `input` begins with HTTP/2's preface (`Break`), with a part of it, or otherwise.
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
