//! One request and the head of its answer, driven by whoever waits for it.
//!
//! The request is written from a buffer of the thread while the answer is listened for: a server
//! may answer, or close, before it has read all of it. Nothing is kept but what is unsent or has
//! come of a head. Made by [`super::direct`].

use super::answer_head::{
    self, AnswerHead, AnswerLimits, AnswerPersistence, BadHead, HeadReading, HttpExit, RequestShape,
};
use super::io::ClientIo;
use super::request_head::{self, RequestNeeds};
use super::scratch::{give_back, take_scratch};
use super::upload::{self, RequestUpload, UploadError};
use super::{ClientError, read_buffer};
use crate::body::Body;
use crate::hop_by_hop;
use crate::interim::{self, INTERIM_MAX};
use bytes::{Buf, Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes read at once while a head is due: most answers are shorter.
const READ_BYTES: usize = 16 << 10;
/// Tells how far a request and its answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExchangeCourse {
    /// Not a byte was sent.
    Unsent,
    /// Some was sent, and nothing came.
    Unanswered,
    /// Something came.
    Answered,
}

/// An answer's head, and what was read beyond it.
pub(super) enum AnswerStart {
    Final {
        head: AnswerHead,
        buffered: Bytes,
        /// The request's body, if its server has answered first.
        upload_rest: Option<Box<RequestUpload>>,
    },
    /// The connection has left HTTP.
    Upgraded(Response<()>, Bytes),
}

/// One exchange.
pub(super) struct ClientExchange<'r> {
    pub(super) io: Box<dyn ClientIo>,
    request: &'r Request<Body>,
    upgrade_exit: HttpExit,
    limits: AnswerLimits,
    outgoing: OutgoingRequest,
    pub(super) progress: ExchangeCourse,
    /// The beginning of a head.
    received: BytesMut,
    interim: usize,
}

/// The request on its way out.
enum OutgoingRequest {
    /// Bytes, and how many have left.
    Head(Vec<u8>, usize),
    /// Has a body.
    Body(Box<RequestUpload>),
    /// All have left us, but the stream may hold some.
    Flush,
    Done,
    /// The server takes no more of its body: an answer, or the end, is on its way.
    Stopped,
    /// Cannot be sent; an answer may lie there all the same.
    Broken,
}

impl<'r> ClientExchange<'r> {
    /// Of `request`, whose body is handed in beside it.
    pub(super) fn new(
        io: Box<dyn ClientIo>,
        request: &'r Request<Body>,
        body: Body,
        limits: AnswerLimits,
    ) -> Self {
        let mut head = take_scratch();
        let wishes = RequestNeeds::of(request);
        let framing = upload::framing(request.headers(), &body);
        request_head::encode(request, wishes, framing.as_ref(), &mut head);
        let outgoing = match framing {
            None => OutgoingRequest::Head(head, 0),
            Some(framing) => OutgoingRequest::Body(Box::new(RequestUpload::new(
                head,
                body,
                framing,
                wishes.expect_continue,
            ))),
        };
        Self {
            io,
            request,
            upgrade_exit: wishes.upgrade_exit,
            limits,
            outgoing,
            progress: ExchangeCourse::Unsent,
            received: BytesMut::new(),
            interim: 0,
        }
    }

    /// Goes on until the answer's head is there. After an error the connection is of no use.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<AnswerStart, ClientError>> {
        loop {
            self.poll_write(cx)?;
            match read_buffer::poll_read(&mut *self.io, cx, READ_BYTES) {
                Poll::Ready(Ok(piece)) if !piece.is_empty() => match self.push(piece) {
                    Ok(Some(answer)) => return Poll::Ready(Ok(answer)),
                    Ok(None) => {}
                    Err(why) => return Poll::Ready(Err(ClientError::BadHead(why))),
                },
                Poll::Ready(Ok(_) | Err(_)) => return Poll::Ready(Err(ClientError::Closed)),
                Poll::Pending if matches!(self.outgoing, OutgoingRequest::Broken) => {
                    return Poll::Ready(Err(ClientError::Closed));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Sends what can be sent. An error: the body has failed.
    fn poll_write(&mut self, cx: &mut Context<'_>) -> Result<(), ClientError> {
        if let OutgoingRequest::Body(body) = &mut self.outgoing {
            match body.poll(&mut self.io, cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.outgoing = OutgoingRequest::Done,
                Poll::Ready(Err(UploadError::Io)) => self.outgoing = OutgoingRequest::Stopped,
                Poll::Ready(Err(UploadError::Body(why))) => return Err(ClientError::Body(why)),
            }
            return Ok(());
        }
        while let OutgoingRequest::Head(head, sent) = &mut self.outgoing {
            match Pin::new(&mut *self.io).poll_write(cx, &head[*sent..]) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.progress = self.progress.sent();
                    *sent += count;
                    if *sent == head.len() {
                        give_back(mem::take(head));
                        self.outgoing = OutgoingRequest::Flush;
                    }
                }
                Poll::Ready(Ok(_) | Err(_)) => self.outgoing = OutgoingRequest::Broken,
            }
        }
        if matches!(self.outgoing, OutgoingRequest::Flush) {
            match Pin::new(&mut *self.io).poll_flush(cx) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.outgoing = OutgoingRequest::Done,
                Poll::Ready(Err(_)) => self.outgoing = OutgoingRequest::Broken,
            }
        }
        Ok(())
    }

    /// Adds a piece; the answer's head, if it is whole now.
    fn push(&mut self, piece: Bytes) -> Result<Option<AnswerStart>, BadHead> {
        self.progress = ExchangeCourse::Answered;
        let mut bytes = if self.received.is_empty() {
            piece
        } else {
            // Each byte is looked at once or twice, however small the pieces are.
            let seen = self.received.len().saturating_sub(2);
            self.received.extend_from_slice(&piece);
            if self.received.len() < self.limits.head_bytes_max
                && !has_empty_line(&self.received[seen..])
            {
                return Ok(None);
            }
            mem::take(&mut self.received).freeze()
        };
        let asked = RequestShape { method: self.request.method(), upgrade_exit: self.upgrade_exit };
        while !bytes.is_empty() {
            match answer_head::read(&bytes, asked, self.limits)? {
                HeadReading::Partial => {
                    self.received = BytesMut::from(bytes);
                    return Ok(None);
                }
                HeadReading::Interim(head, length) => {
                    self.handle_interim(head)?;
                    bytes.advance(length);
                }
                HeadReading::Upgraded(response, length) => {
                    bytes.advance(length);
                    return match self.outgoing {
                        OutgoingRequest::Done | OutgoingRequest::Flush => {
                            Ok(Some(AnswerStart::Upgraded(response, bytes)))
                        }
                        // It would speak its own way in the middle of our request.
                        OutgoingRequest::Head(..)
                        | OutgoingRequest::Body(_)
                        | OutgoingRequest::Stopped
                        | OutgoingRequest::Broken => Err(BadHead::Switched),
                    };
                }
                HeadReading::Final(head, length) => {
                    bytes.advance(length);
                    return Ok(Some(self.conclude(head, bytes)));
                }
            }
        }
        Ok(None)
    }

    fn handle_interim(&mut self, head: Response<()>) -> Result<(), BadHead> {
        self.interim += 1;
        if self.interim > INTERIM_MAX {
            return Err(BadHead::TooManyInterim);
        }
        if head.status() == StatusCode::CONTINUE
            && let OutgoingRequest::Body(body) = &mut self.outgoing
        {
            body.open();
        }
        interim::received(head);
        Ok(())
    }

    fn conclude(&mut self, mut head: AnswerHead, ahead: Bytes) -> AnswerStart {
        let outgoing = mem::replace(&mut self.outgoing, OutgoingRequest::Done);
        if !matches!(outgoing, OutgoingRequest::Done)
            || hop_by_hop::wants_close(self.request.headers())
        {
            head.persistence = AnswerPersistence::Close;
        }
        let rest = match outgoing {
            // A server that was asked, and answers, does not want it.
            OutgoingRequest::Body(body) if !body.waits_for_continue() => Some(body),
            OutgoingRequest::Body(_)
            | OutgoingRequest::Head(..)
            | OutgoingRequest::Flush
            | OutgoingRequest::Done
            | OutgoingRequest::Stopped
            | OutgoingRequest::Broken => None,
        };
        AnswerStart::Final { head, buffered: ahead, upload_rest: rest }
    }
}

impl ExchangeCourse {
    fn sent(self) -> Self {
        match self {
            Self::Unsent | Self::Unanswered => Self::Unanswered,
            Self::Answered => Self::Answered,
        }
    }
}

/// True if `bytes` hold the end of a line and an empty line behind it.
fn has_empty_line(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| {
        let behind = &bytes[at + 1..];
        behind.starts_with(b"\n") || behind.starts_with(b"\r\n")
    })
}
