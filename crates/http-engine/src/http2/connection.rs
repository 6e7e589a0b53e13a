//! One connection: requests are taken up as they come, and answered in the connection's own turn
//! where that is possible.
//!
//! A turn takes all requests that have come, asks their handlers once, and queues what they answer
//! at once; then everything leaves together. That costs neither a task nor a wake-up. What waits
//! goes on in a task of its stream ([`super::stream`]). A turn ends after
//! [`HTTP2_TURN_REQUESTS_MAX`] requests, so that other connections have theirs. It keeps no time.
//! Polled by [`crate::http2`].

use super::exchange::{BegunRequest, StreamExchange};
use super::handler_slot::HandlerSlot;
use super::piece::StreamPiece;
use super::sending::BodySender;
use super::stream::StreamTask;
use super::turn_waker::TurnWaker;
use crate::body::Body;
use crate::incoming::Incoming;
use crate::limits::{HTTP2_TURN_REQUESTS_MAX, Limits};
use crate::watch::{ConnectionWatch, WatchedStream};
use h2::server::{Connection, Handshake, SendResponse};
use h2::{PingPong, Reason, RecvStream};
use http::{Request, Response};
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_local;

/// A connection that speaks HTTP/2.
pub(super) struct Http2Connection<I, H> {
    stage: ConnectionStage<I>,
    desk: RequestDesk<H>,
    /// Requests that have come and are not looked at.
    accepted: Vec<AcceptedRequest>,
    waker: Arc<TurnWaker>,
}

/// Tells how far a connection is.
enum ConnectionStage<I> {
    Beginning(Handshake<WatchedStream<I>, StreamPiece>),
    /// Told to go away before it had begun.
    Closing(Handshake<WatchedStream<I>, StreamPiece>),
    Serving(Connection<WatchedStream<I>, StreamPiece>),
    Over,
}

/// A request, and the way back.
type AcceptedRequest = (Request<RecvStream>, SendResponse<StreamPiece>);

/// The part that takes up requests.
struct RequestDesk<H> {
    handler: H,
    watch: Arc<ConnectionWatch>,
    limits: Rc<Limits>,
}

impl<I, H, F> Http2Connection<I, H>
where
    I: AsyncRead + AsyncWrite + Unpin,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Body>> + 'static,
{
    pub(super) fn new(
        handshake: Handshake<WatchedStream<I>, StreamPiece>,
        handler: H,
        watch: &Arc<ConnectionWatch>,
        limits: Limits,
    ) -> Self {
        let desk = RequestDesk { handler, watch: Arc::clone(watch), limits: Rc::new(limits) };
        let stage = ConnectionStage::Beginning(handshake);
        Self { stage, desk, accepted: Vec::new(), waker: TurnWaker::new() }
    }

    /// Goes on as far as it can; ready when the connection is at its end.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        self.waker.set_task(cx);
        let waker = Waker::from(Arc::clone(&self.waker));
        let parts = &mut Context::from_waker(&waker);
        let mut looked_at = 0;
        loop {
            if let Some(end) = self.accept(parts) {
                // Whoever has left has asked all the same.
                self.desk.take_up(mem::take(&mut self.accepted));
                return Poll::Ready(end);
            }
            if self.accepted.is_empty() {
                return Poll::Pending;
            }
            if looked_at >= HTTP2_TURN_REQUESTS_MAX {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            // An idle connection holds no room for requests.
            let requests = mem::take(&mut self.accepted);
            looked_at += requests.len();
            let desk = &self.desk;
            self.waker.silently(|| desk.take_up(requests));
        }
    }

    /// Asks the client to send no more; what runs is finished (RFC 9113 §6.8).
    pub(super) fn graceful_shutdown(&mut self) {
        self.stage = match mem::replace(&mut self.stage, ConnectionStage::Over) {
            ConnectionStage::Beginning(handshake) => ConnectionStage::Closing(handshake),
            ConnectionStage::Serving(mut connection) => {
                connection.graceful_shutdown();
                ConnectionStage::Serving(connection)
            }
            other @ (ConnectionStage::Closing(_) | ConnectionStage::Over) => other,
        };
    }

    /// Says goodbye to somebody who is gone, as far as that can be sent at once.
    pub(super) fn abandon(&mut self, cx: &mut Context<'_>) {
        if let ConnectionStage::Serving(connection) = &mut self.stage {
            connection.abrupt_shutdown(Reason::NO_ERROR);
            let _ = connection.poll_closed(cx);
        }
    }

    /// The way to ask whether the client is there, once.
    pub(super) fn pings(&mut self) -> Option<PingPong> {
        match &mut self.stage {
            ConnectionStage::Serving(connection) => connection.ping_pong(),
            ConnectionStage::Beginning(_) | ConnectionStage::Closing(_) | ConnectionStage::Over => {
                None
            }
        }
    }

    /// Reads, sends, and collects requests that have come, as far as that goes; the end of the
    /// connection, if that is reached.
    fn accept(&mut self, cx: &mut Context<'_>) -> Option<Result<(), h2::Error>> {
        loop {
            let mut begun = match &mut self.stage {
                ConnectionStage::Beginning(handshake) | ConnectionStage::Closing(handshake) => {
                    match Pin::new(handshake).poll(cx) {
                        Poll::Pending => return None,
                        Poll::Ready(Ok(begun)) => begun,
                        Poll::Ready(Err(why)) => return Some(Err(why)),
                    }
                }
                ConnectionStage::Serving(connection) => match connection.poll_accept(cx) {
                    Poll::Pending => return None,
                    Poll::Ready(Some(Ok(accepted))) => {
                        self.accepted.push(accepted);
                        continue;
                    }
                    Poll::Ready(Some(Err(why))) => return Some(Err(why)),
                    Poll::Ready(None) => return Some(Ok(())),
                },
                ConnectionStage::Over => return Some(Ok(())),
            };
            if matches!(self.stage, ConnectionStage::Closing(_)) {
                begun.graceful_shutdown();
            }
            self.stage = ConnectionStage::Serving(begun);
        }
    }
}

/// Rest of a request after its first step.
enum FirstStep {
    Answered,
    HandlerWaits(StreamExchange),
    BodyWaits(BodySender),
}

impl<H, F> RequestDesk<H>
where
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Body>> + 'static,
{
    /// Answers what can be answered at once; the rest goes on in tasks.
    fn take_up(&self, requests: Vec<AcceptedRequest>) {
        let mut spare = None;
        for (request, respond) in requests {
            let mut slot = spare.take().unwrap_or_else(HandlerSlot::empty);
            // A handler that panics fails its own request, as it would in a task: the panic is
            // reported, and the stream is reset when all that is left of the request is dropped.
            let step = AssertUnwindSafe(|| self.first_step(request, respond, &mut slot));
            match catch_unwind(step) {
                Ok(FirstStep::Answered) => spare = Some(slot),
                Ok(FirstStep::HandlerWaits(exchange)) => {
                    spawn_local(StreamTask::of_handler(slot, exchange, &self.limits));
                }
                Ok(FirstStep::BodyWaits(sender)) => {
                    spawn_local(StreamTask::<F>::of_body(sender, &self.limits));
                    spare = Some(slot);
                }
                Err(_) => {}
            }
        }
    }

    fn first_step(
        &self,
        request: Request<RecvStream>,
        respond: SendResponse<StreamPiece>,
        slot: &mut HandlerSlot<F>,
    ) -> FirstStep {
        let waiting = match StreamExchange::begin(request, respond, &self.watch, &self.handler) {
            BegunRequest::Reset => None,
            BegunRequest::Refused(exchange, why) => exchange.refuse(why),
            BegunRequest::Handled(mut exchange, handler) => {
                slot.set(Some(handler));
                // Whatever wakes a handler that waits wakes its task, which asks it again.
                let (polled, told) = slot.poll(&mut Context::from_waker(Waker::noop()));
                exchange.send_interim(told);
                match polled {
                    Poll::Ready(answer) => exchange.answer(answer),
                    Poll::Pending => return FirstStep::HandlerWaits(exchange),
                }
            }
        };
        waiting.map_or(FirstStep::Answered, FirstStep::BodyWaits)
    }
}
