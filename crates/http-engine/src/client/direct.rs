//! A connection of HTTP/1.1 that has no task: it is here, or with the body of an answer, or gone.
//!
//! It keeps nothing but the byte stream, so an idle connection costs its socket. Dropping whatever
//! has the stream closes it. Called by [`super::RequestSender`].

use super::answer_body::{AnswerBody, AnswerConnection, RequestRest};
use super::answer_head::{AnswerFraming, AnswerHead, AnswerPersistence, BadHead};
use super::exchange::{AnswerStart, ClientExchange, ExchangeCourse};
use super::upload::RequestUpload;
use super::{AnswerLimits, ClientError, ClientIo, SendError};
use crate::body::Body;
use crate::incoming::Incoming;
use crate::upgrade;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as _;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use tokio::io::ReadBuf;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::task::coop::unconstrained;

/// A connection without a task: see the module.
pub(super) enum DirectConnection {
    /// Idle.
    Idle(Box<dyn ClientIo>),
    /// With the body of an answer, which sends it back.
    Lent(oneshot::Receiver<Box<dyn ClientIo>>),
    Closed,
}

impl DirectConnection {
    pub(super) const fn new(io: Box<dyn ClientIo>) -> Self {
        Self::Idle(io)
    }

    /// Waits until the body that has it was read.
    pub(super) async fn ready(&mut self) -> Result<(), ClientError> {
        if let Self::Lent(back) = self {
            *self = back.await.map_or(Self::Closed, Self::Idle);
        }
        if self.is_closed() { Err(ClientError::Closed) } else { Ok(()) }
    }

    /// True if it is idle.
    pub(super) fn is_idle(&mut self) -> bool {
        self.reclaim();
        matches!(self, Self::Idle(_))
    }

    /// True if it is of no use any more. An idle one is not, once its server closed it or said
    /// something unasked, which would be taken for the next answer.
    pub(super) fn is_closed(&mut self) -> bool {
        self.reclaim();
        if let Self::Idle(io) = self
            && has_event(&mut **io)
        {
            *self = Self::Closed;
        }
        matches!(self, Self::Closed)
    }

    /// The idle stream, if it is undisturbed; it is gone from here then.
    pub(super) fn take_idle(&mut self) -> Option<Box<dyn ClientIo>> {
        if self.is_closed() {
            return None;
        }
        match mem::replace(self, Self::Closed) {
            Self::Idle(io) => Some(io),
            busy => {
                *self = busy;
                None
            }
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Body>,
        limits: AnswerLimits,
    ) -> Result<Response<Incoming>, SendError> {
        let Some(io) = self.take_idle() else { return Err(SendError::closed(request)) };
        let body = mem::take(request.body_mut());
        let had_none = body.is_end_stream();
        let mut exchange = ClientExchange::new(io, &request, body, limits);
        let answered = poll_fn(|cx| exchange.poll(cx)).await;
        let ClientExchange { io, progress: course, .. } = exchange;
        let why = match answered {
            Ok(answer) => match self.answer(io, answer) {
                Ok(response) => return Ok(response),
                Err(why) => ClientError::BadHead(why),
            },
            Err(why) => why,
        };
        let (mut unsent, mut unanswered) = (None, None);
        match course {
            // What was read of a body cannot be put back.
            _ if !had_none => {}
            ExchangeCourse::Unsent => unsent = Some(Box::new(request)),
            ExchangeCourse::Unanswered => unanswered = Some(Box::new(request)),
            ExchangeCourse::Answered => {}
        }
        Err(SendError { error: why, unsent_request: unsent, unanswered })
    }

    /// The answer; the connection stays here if its body is whole, and goes with it if not.
    fn answer(
        &mut self,
        io: Box<dyn ClientIo>,
        answer: AnswerStart,
    ) -> Result<Response<Incoming>, BadHead> {
        let (head, mut ahead, rest) = match answer {
            AnswerStart::Upgraded(mut response, ahead) => {
                upgrade::mark_upgraded(response.extensions_mut(), ahead, io);
                return Ok(response.map(|()| Incoming::none()));
            }
            AnswerStart::Final { head, buffered: ahead, upload_rest: rest } => (head, ahead, rest),
        };
        let AnswerHead { response, framing, persistence } = head;
        let whole = match framing {
            AnswerFraming::None => Some(Bytes::new()),
            AnswerFraming::Length(length) => usize::try_from(length)
                .ok()
                .filter(|length| *length <= ahead.len())
                .map(|length| ahead.split_to(length)),
            AnswerFraming::Chunked | AnswerFraming::UntilClose => None,
        };
        if let Some(body) = whole {
            match rest {
                Some(rest) => drop(rest.spawn_rest(io)),
                // What came beyond it, nobody asked for.
                None if persistence == AnswerPersistence::Keep && ahead.is_empty() => {
                    *self = Self::Idle(io);
                }
                None => {}
            }
            return Ok(response.map(|()| Incoming::from_bytes(body)));
        }
        let source = self.lend(io, rest, persistence);
        let body = AnswerBody::new(source, ahead, framing)?;
        Ok(response.map(|()| Incoming::from(body)))
    }

    /// The connection as the body of an answer has it, while `rest` of the request is sent.
    fn lend(
        &mut self,
        io: Box<dyn ClientIo>,
        rest: Option<Box<RequestUpload>>,
        persistence: AnswerPersistence,
    ) -> AnswerConnection {
        if let Some(rest) = rest {
            let (read, write) = tokio::io::split(io);
            return AnswerConnection::Half(read, RequestRest(Some(rest.spawn_rest(write))));
        }
        let back = match persistence {
            AnswerPersistence::Keep => {
                let (sender, receiver) = oneshot::channel();
                *self = Self::Lent(receiver);
                Some(sender)
            }
            AnswerPersistence::Close => None,
        };
        AnswerConnection::Full(io, back)
    }

    /// Takes the connection back from a body that was read to its end.
    fn reclaim(&mut self) {
        if let Self::Lent(back) = self {
            match back.try_recv() {
                Ok(io) => *self = Self::Idle(io),
                Err(TryRecvError::Closed) => *self = Self::Closed,
                Err(TryRecvError::Empty) => {}
            }
        }
    }
}

/// True if an idle stream has ended, failed, or brought a byte. The reactor knows: no system call,
/// unless something came. Asked without a budget, because "not now" would pass for "nothing".
fn has_event(io: &mut dyn ClientIo) -> bool {
    let mut byte = [0];
    let mut room = ReadBuf::new(&mut byte);
    let look = unconstrained(poll_fn(|cx| Pin::new(&mut *io).poll_read(cx, &mut room)));
    pin!(look).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

impl fmt::Debug for DirectConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle(_) => "Direct(idle)",
            Self::Lent(_) => "Direct(busy)",
            Self::Closed => "Direct(gone)",
        })
    }
}
