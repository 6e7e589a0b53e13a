//! A connection of HTTP/1.1 that has no task: it is here, or with the body of an answer, or gone.
//!
//! It keeps nothing but the byte stream, so an idle connection costs its socket. Dropping whatever
//! has the stream closes it. Called by [`super::Sender`].

use super::answer_body::{AnswerBody, Rest, Source};
use super::answer_head::{BadHead, Framing, Head, Persistence};
use super::exchange::{Answer, Course, Exchange};
use super::upload::Upload;
use super::{AnswerLimits, Error, Io, SendError};
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
pub(super) enum Direct {
    /// Idle.
    Here(Box<dyn Io>),
    /// With the body of an answer, which sends it back.
    Lent(oneshot::Receiver<Box<dyn Io>>),
    Gone,
}

impl Direct {
    pub(super) const fn new(io: Box<dyn Io>) -> Self {
        Self::Here(io)
    }

    /// Waits until the body that has it was read.
    pub(super) async fn ready(&mut self) -> Result<(), Error> {
        if let Self::Lent(back) = self {
            *self = back.await.map_or(Self::Gone, Self::Here);
        }
        if self.is_closed() { Err(Error::Closed) } else { Ok(()) }
    }

    /// Whether it is idle.
    pub(super) fn is_here(&mut self) -> bool {
        self.settle();
        matches!(self, Self::Here(_))
    }

    /// Whether it is of no use any more. An idle one is not, once its server closed it or said
    /// something unasked, which would be taken for the next answer.
    pub(super) fn is_closed(&mut self) -> bool {
        self.settle();
        if let Self::Here(io) = self
            && is_disturbed(&mut **io)
        {
            *self = Self::Gone;
        }
        matches!(self, Self::Gone)
    }

    /// The idle stream, if it is undisturbed; it is gone from here then.
    pub(super) fn take(&mut self) -> Option<Box<dyn Io>> {
        if self.is_closed() {
            return None;
        }
        match mem::replace(self, Self::Gone) {
            Self::Here(io) => Some(io),
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
        let Some(io) = self.take() else { return Err(SendError::closed(request)) };
        let body = mem::take(request.body_mut());
        let had_none = body.is_end_stream();
        let mut exchange = Exchange::new(io, &request, body, limits);
        let answered = poll_fn(|cx| exchange.poll(cx)).await;
        let Exchange { io, course, .. } = exchange;
        let why = match answered {
            Ok(answer) => match self.answer(io, answer) {
                Ok(response) => return Ok(response),
                Err(why) => Error::BadHead(why),
            },
            Err(why) => why,
        };
        let (mut unsent, mut unanswered) = (None, None);
        match course {
            // What was read of a body cannot be put back.
            _ if !had_none => {}
            Course::Unsent => unsent = Some(Box::new(request)),
            Course::Unanswered => unanswered = Some(Box::new(request)),
            Course::Answered => {}
        }
        Err(SendError { why, unsent, unanswered })
    }

    /// The answer; the connection stays here if its body is whole, and goes with it if not.
    fn answer(&mut self, io: Box<dyn Io>, answer: Answer) -> Result<Response<Incoming>, BadHead> {
        let (head, mut ahead, rest) = match answer {
            Answer::Left(mut response, ahead) => {
                upgrade::leave(response.extensions_mut(), ahead, io);
                return Ok(response.map(|()| Incoming::none()));
            }
            Answer::Final { head, ahead, rest } => (head, ahead, rest),
        };
        let Head { response, framing, persistence } = head;
        let whole = match framing {
            Framing::None => Some(Bytes::new()),
            Framing::Length(length) => usize::try_from(length)
                .ok()
                .filter(|length| *length <= ahead.len())
                .map(|length| ahead.split_to(length)),
            Framing::Chunked | Framing::UntilClose => None,
        };
        if let Some(body) = whole {
            match rest {
                Some(rest) => drop(rest.go_on(io)),
                // What came beyond it, nobody asked for.
                None if persistence == Persistence::Keep && ahead.is_empty() => {
                    *self = Self::Here(io);
                }
                None => {}
            }
            return Ok(response.map(|()| Incoming::whole(body)));
        }
        let source = self.lend(io, rest, persistence);
        let body = AnswerBody::new(source, ahead, framing)?;
        Ok(response.map(|()| Incoming::from(body)))
    }

    /// The connection as the body of an answer has it, while `rest` of the request is sent.
    fn lend(
        &mut self,
        io: Box<dyn Io>,
        rest: Option<Box<Upload>>,
        persistence: Persistence,
    ) -> Source {
        if let Some(rest) = rest {
            let (read, write) = tokio::io::split(io);
            return Source::Half(read, Rest(Some(rest.go_on(write))));
        }
        let back = match persistence {
            Persistence::Keep => {
                let (sender, receiver) = oneshot::channel();
                *self = Self::Lent(receiver);
                Some(sender)
            }
            Persistence::Close => None,
        };
        Source::Whole(io, back)
    }

    /// Takes the connection back from a body that was read to its end.
    fn settle(&mut self) {
        if let Self::Lent(back) = self {
            match back.try_recv() {
                Ok(io) => *self = Self::Here(io),
                Err(TryRecvError::Closed) => *self = Self::Gone,
                Err(TryRecvError::Empty) => {}
            }
        }
    }
}

/// Whether an idle stream has ended, failed, or brought a byte. The reactor knows: no system call,
/// unless something came. Asked without a budget, because "not now" would pass for "nothing".
fn is_disturbed(io: &mut dyn Io) -> bool {
    let mut byte = [0];
    let mut room = ReadBuf::new(&mut byte);
    let look = unconstrained(poll_fn(|cx| Pin::new(&mut *io).poll_read(cx, &mut room)));
    pin!(look).poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here(_) => "Direct(idle)",
            Self::Lent(_) => "Direct(busy)",
            Self::Gone => "Direct(gone)",
        })
    }
}
