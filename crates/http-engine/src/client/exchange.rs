//! One request without a body and the head of its answer, driven by whoever waits for it.
//!
//! The head is written from a buffer of the thread while the answer is listened for: a server may
//! answer, or close, before it has read all of it. Nothing is kept but what is unsent or has come of
//! a head. Made by [`super::direct`].

use super::answer_head::{self, BadHead, Head, Persistence, Reading};
use super::{Error, Io, RESPONSE_HEAD_BYTES_MAX, request_head, room};
use crate::body::Body;
use crate::hop_by_hop;
use crate::interim::{self, INTERIM_MAX};
use bytes::{Buf, Bytes, BytesMut};
use http::Request;
use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes read at once while a head is due: most answers are shorter.
const READ_BYTES: usize = 16 << 10;
/// A thread's buffer for heads that has grown beyond this is given up.
const SCRATCH_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// How far a request and its answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Not a byte was sent.
    Unsent,
    /// Some was sent, and nothing came.
    Unanswered,
    /// Something came.
    Answered,
}

/// An answer's head, and what was read beyond it.
pub(super) type Answer = (Head, Bytes);

/// One exchange.
pub(super) struct Exchange<'r> {
    pub(super) io: Box<dyn Io>,
    request: &'r Request<Body>,
    outgoing: Outgoing,
    pub(super) course: Course,
    /// The beginning of a head.
    came: BytesMut,
    interim: usize,
}

/// The request on its way out.
enum Outgoing {
    /// Its bytes, and how many have left.
    Head(Vec<u8>, usize),
    /// All have left us, but the stream may hold some.
    Flush,
    Done,
    /// It cannot be sent; an answer may lie there all the same.
    Broken,
}

impl<'r> Exchange<'r> {
    pub(super) fn new(io: Box<dyn Io>, request: &'r Request<Body>) -> Self {
        let mut head = SCRATCH.take();
        request_head::encode(request, &mut head);
        Self {
            io,
            request,
            outgoing: Outgoing::Head(head, 0),
            course: Course::Unsent,
            came: BytesMut::new(),
            interim: 0,
        }
    }

    /// Goes on until the answer's head is there. After an error the connection is of no use.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, Error>> {
        self.poll_write(cx);
        loop {
            match room::poll_read(&mut *self.io, cx, READ_BYTES) {
                Poll::Ready(Ok(piece)) if !piece.is_empty() => match self.take_in(piece) {
                    Ok(Some(answer)) => return Poll::Ready(Ok(answer)),
                    Ok(None) => {}
                    Err(why) => return Poll::Ready(Err(Error::BadHead(why))),
                },
                Poll::Ready(Ok(_) | Err(_)) => return Poll::Ready(Err(Error::Closed)),
                Poll::Pending if matches!(self.outgoing, Outgoing::Broken) => {
                    return Poll::Ready(Err(Error::Closed));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) {
        while let Outgoing::Head(head, sent) = &mut self.outgoing {
            match Pin::new(&mut *self.io).poll_write(cx, &head[*sent..]) {
                Poll::Pending => return,
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.course = self.course.sent();
                    *sent += count;
                    if *sent == head.len() {
                        give_back(std::mem::take(head));
                        self.outgoing = Outgoing::Flush;
                    }
                }
                Poll::Ready(Ok(_) | Err(_)) => self.outgoing = Outgoing::Broken,
            }
        }
        if matches!(self.outgoing, Outgoing::Flush) {
            match Pin::new(&mut *self.io).poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.outgoing = Outgoing::Done,
                Poll::Ready(Err(_)) => self.outgoing = Outgoing::Broken,
            }
        }
    }

    /// Adds a piece; the answer's head, if it is whole now.
    fn take_in(&mut self, piece: Bytes) -> Result<Option<Answer>, BadHead> {
        self.course = Course::Answered;
        let mut bytes = if self.came.is_empty() {
            piece
        } else {
            // Each byte is looked at once or twice, however small the pieces are.
            let seen = self.came.len().saturating_sub(2);
            self.came.extend_from_slice(&piece);
            if self.came.len() < RESPONSE_HEAD_BYTES_MAX && !has_empty_line(&self.came[seen..]) {
                return Ok(None);
            }
            std::mem::take(&mut self.came).freeze()
        };
        while !bytes.is_empty() {
            match answer_head::read(&bytes, self.request.method())? {
                Reading::Partial => {
                    self.came = BytesMut::from(bytes);
                    return Ok(None);
                }
                Reading::Interim(head, length) => {
                    self.interim += 1;
                    if self.interim > INTERIM_MAX {
                        return Err(BadHead::TooManyInterim);
                    }
                    interim::came(head);
                    bytes.advance(length);
                }
                Reading::Final(mut head, length) => {
                    bytes.advance(length);
                    if !matches!(self.outgoing, Outgoing::Done)
                        || hop_by_hop::wants_close(self.request.headers())
                    {
                        head.persistence = Persistence::Close;
                    }
                    return Ok(Some((head, bytes)));
                }
            }
        }
        Ok(None)
    }
}

impl Course {
    fn sent(self) -> Self {
        match self {
            Self::Unsent | Self::Unanswered => Self::Unanswered,
            Self::Answered => Self::Answered,
        }
    }
}

/// Leaves an emptied buffer to the next head of this thread.
fn give_back(mut scratch: Vec<u8>) {
    if scratch.capacity() <= SCRATCH_BYTES_MAX {
        scratch.clear();
        SCRATCH.set(scratch);
    }
}

/// Whether `bytes` hold the end of a line and an empty line behind it.
fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| {
        let behind = &bytes[at + 1..];
        behind.starts_with(b"\n") || behind.starts_with(b"\r\n")
    })
}
