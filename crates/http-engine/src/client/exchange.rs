//! One request and the head of its answer, driven by whoever waits for it.
//!
//! The request is written from a buffer of the thread while the answer is listened for: a server
//! may answer, or close, before it has read all of it. Nothing is kept but what is unsent or has
//! come of a head. Made by [`super::direct`].

use super::answer_head::{self, Asked, BadHead, Head, Leaves, Persistence, Reading};
use super::request_head::{self, Wishes};
use super::upload::{self, Upload, UploadError};
use super::{AnswerLimits, Error, Io, room};
use crate::body::Body;
use crate::hop_by_hop;
use crate::interim::{self, INTERIM_MAX};
use bytes::{Buf, Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use std::cell::Cell;
use std::mem;
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
pub(super) enum Answer {
    Final {
        head: Head,
        ahead: Bytes,
        /// The request's body, if its server has answered first.
        rest: Option<Box<Upload>>,
    },
    /// The connection has left HTTP.
    Left(Response<()>, Bytes),
}

/// One exchange.
pub(super) struct Exchange<'r> {
    pub(super) io: Box<dyn Io>,
    request: &'r Request<Body>,
    leaves: Leaves,
    limits: AnswerLimits,
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
    /// It has a body.
    Body(Box<Upload>),
    /// All have left us, but the stream may hold some.
    Flush,
    Done,
    /// The server takes no more of its body: an answer, or the end, is on its way.
    Stopped,
    /// It cannot be sent; an answer may lie there all the same.
    Broken,
}

impl<'r> Exchange<'r> {
    /// Of `request`, whose body is handed in beside it.
    pub(super) fn new(
        io: Box<dyn Io>,
        request: &'r Request<Body>,
        body: Body,
        limits: AnswerLimits,
    ) -> Self {
        let mut head = take_scratch();
        let wishes = Wishes::of(request);
        let framing = upload::framing(request.headers(), &body);
        request_head::encode(request, wishes, framing.as_ref(), &mut head);
        let outgoing = match framing {
            None => Outgoing::Head(head, 0),
            Some(framing) => {
                Outgoing::Body(Box::new(Upload::new(head, body, framing, wishes.asks)))
            }
        };
        Self {
            io,
            request,
            leaves: wishes.leaves,
            limits,
            outgoing,
            course: Course::Unsent,
            came: BytesMut::new(),
            interim: 0,
        }
    }

    /// Goes on until the answer's head is there. After an error the connection is of no use.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, Error>> {
        loop {
            self.poll_write(cx)?;
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

    /// Sends what can be sent. An error: the body has failed.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if let Outgoing::Body(body) = &mut self.outgoing {
            match body.poll(&mut self.io, cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.outgoing = Outgoing::Done,
                Poll::Ready(Err(UploadError::Io)) => self.outgoing = Outgoing::Stopped,
                Poll::Ready(Err(UploadError::Body(why))) => return Err(Error::Body(why)),
            }
            return Ok(());
        }
        while let Outgoing::Head(head, sent) = &mut self.outgoing {
            match Pin::new(&mut *self.io).poll_write(cx, &head[*sent..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.course = self.course.sent();
                    *sent += count;
                    if *sent == head.len() {
                        give_back(mem::take(head));
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
        Ok(())
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
            if self.came.len() < self.limits.head_bytes_max && !has_empty_line(&self.came[seen..]) {
                return Ok(None);
            }
            mem::take(&mut self.came).freeze()
        };
        let asked = Asked { method: self.request.method(), leaves: self.leaves };
        while !bytes.is_empty() {
            match answer_head::read(&bytes, asked, self.limits)? {
                Reading::Partial => {
                    self.came = BytesMut::from(bytes);
                    return Ok(None);
                }
                Reading::Interim(head, length) => {
                    self.take_interim(head)?;
                    bytes.advance(length);
                }
                Reading::Left(response, length) => {
                    bytes.advance(length);
                    return match self.outgoing {
                        Outgoing::Done | Outgoing::Flush => Ok(Some(Answer::Left(response, bytes))),
                        // It would speak its own way in the middle of our request.
                        Outgoing::Head(..)
                        | Outgoing::Body(_)
                        | Outgoing::Stopped
                        | Outgoing::Broken => Err(BadHead::Switched),
                    };
                }
                Reading::Final(head, length) => {
                    bytes.advance(length);
                    return Ok(Some(self.conclude(head, bytes)));
                }
            }
        }
        Ok(None)
    }

    fn take_interim(&mut self, head: Response<()>) -> Result<(), BadHead> {
        self.interim += 1;
        if self.interim > INTERIM_MAX {
            return Err(BadHead::TooManyInterim);
        }
        if head.status() == StatusCode::CONTINUE
            && let Outgoing::Body(body) = &mut self.outgoing
        {
            body.open();
        }
        interim::came(head);
        Ok(())
    }

    fn conclude(&mut self, mut head: Head, ahead: Bytes) -> Answer {
        let outgoing = mem::replace(&mut self.outgoing, Outgoing::Done);
        if !matches!(outgoing, Outgoing::Done) || hop_by_hop::wants_close(self.request.headers()) {
            head.persistence = Persistence::Close;
        }
        let rest = match outgoing {
            // A server that was asked, and answers, does not want it.
            Outgoing::Body(body) if !body.waits_for_word() => Some(body),
            Outgoing::Body(_)
            | Outgoing::Head(..)
            | Outgoing::Flush
            | Outgoing::Done
            | Outgoing::Stopped
            | Outgoing::Broken => None,
        };
        Answer::Final { head, ahead, rest }
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

/// An empty buffer of this thread.
pub(super) fn take_scratch() -> Vec<u8> {
    SCRATCH.take()
}

/// Leaves an emptied buffer to the next head of this thread.
pub(super) fn give_back(mut scratch: Vec<u8>) {
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
