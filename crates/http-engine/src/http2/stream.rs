//! A stream whose handler, or whose body, waits: it goes on in a task of its own.
//!
//! Each such stream has a task, so that it has its own turns and its own wake-ups, and a panic of
//! its handler ends it alone. The task drops the handler and the body when the client resets the
//! stream, and cuts the stream when the client keeps it waiting for longer than
//! [`crate::timeouts`] allow, which resets it. A stream whose answer is handed on is watched until
//! the last piece has left. It never touches the connection. Spawned by [`super::connection`].

use super::exchange::StreamExchange;
use super::handler_slot::HandlerSlot;
use super::pace::StreamPace;
use super::sending::{BodySender, SendOutcome};
use crate::body::Body;
use crate::limits::Limits;
use crate::timeouts::{ConnectionPatience, TickAction};
use h2::Reason;
use http::Response;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep, sleep};

/// A stream that waits for something: see the module.
pub(super) struct StreamTask<F> {
    stage: StreamStage<F>,
    pace: Arc<StreamPace>,
    limits: Rc<Limits>,
    patience: ConnectionPatience,
    /// Begins when the stream waits for the first time.
    tick: Option<Pin<Box<Sleep>>>,
}

/// Tells how far a stream is.
enum StreamStage<F> {
    Handler(HandlerSlot<F>, StreamExchange),
    Sending(BodySender),
    /// All is handed on; what is queued is dropped with the stream if the client takes none of it.
    HandedOn(BodySender),
    Over,
}

impl<F: Future<Output = Response<Body>>> StreamTask<F> {
    /// A stream whose handler waits.
    pub(super) fn of_handler(
        handler: HandlerSlot<F>,
        exchange: StreamExchange,
        limits: &Rc<Limits>,
    ) -> Self {
        let (exchange, pace) = exchange.with_pace();
        Self::new(StreamStage::Handler(handler, exchange), pace, limits)
    }

    /// A stream whose answer waits.
    pub(super) fn of_body(sender: BodySender, limits: &Rc<Limits>) -> Self {
        let pace = Arc::clone(sender.pace());
        Self::new(StreamStage::Sending(sender), pace, limits)
    }

    fn new(stage: StreamStage<F>, pace: Arc<StreamPace>, limits: &Rc<Limits>) -> Self {
        let patience = ConnectionPatience::new(limits, Instant::now());
        Self { stage, pace, limits: Rc::clone(limits), patience, tick: None }
    }

    /// Goes on as far as it can.
    fn poll_stage(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                StreamStage::Handler(handler, exchange) => {
                    let (polled, told) = handler.poll(cx);
                    exchange.send_interim(told);
                    let Poll::Ready(answer) = polled else {
                        return exchange.poll_reset(cx);
                    };
                    self.answer(answer);
                }
                StreamStage::Sending(sender) => match sender.poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(SendOutcome::Over) => self.stage = StreamStage::Over,
                    Poll::Ready(SendOutcome::HandedOn) => self.handed_on(),
                },
                StreamStage::HandedOn(_) => {
                    return if self.pace.is_sent(cx.waker()) {
                        Poll::Ready(())
                    } else {
                        Poll::Pending
                    };
                }
                StreamStage::Over => return Poll::Ready(()),
            }
        }
    }

    fn answer(&mut self, answer: Response<Body>) {
        let before = std::mem::replace(&mut self.stage, StreamStage::Over);
        if let StreamStage::Handler(_, exchange) = before
            && let Some(sender) = exchange.answer(answer)
        {
            self.stage = StreamStage::Sending(sender);
        }
    }

    fn handed_on(&mut self) {
        if let StreamStage::Sending(sender) = std::mem::replace(&mut self.stage, StreamStage::Over)
        {
            self.stage = StreamStage::HandedOn(sender);
        }
    }

    /// The client is waited for no longer.
    fn cut(&mut self) {
        match std::mem::replace(&mut self.stage, StreamStage::Over) {
            StreamStage::Handler(_, mut exchange) => exchange.reset(Reason::CANCEL),
            StreamStage::Sending(mut sender) | StreamStage::HandedOn(mut sender) => sender.cut(),
            StreamStage::Over => {}
        }
        self.pace.cut();
    }

    /// Holds the stream against the limits at each tick.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let limits = &*self.limits;
        let tick = self.tick.get_or_insert_with(|| Box::pin(sleep(limits.header_timeout)));
        while tick.as_mut().poll(cx).is_ready() {
            match self.patience.check(self.pace.status(), limits, Instant::now()) {
                TickAction::Wait(until) => tick.as_mut().reset(until),
                TickAction::Close
                | TickAction::HeadTooSlow
                | TickAction::Stalled
                | TickAction::TooSlow => return Poll::Ready(()),
            }
        }
        Poll::Pending
    }
}

impl<F> Unpin for StreamTask<F> {}

impl<F: Future<Output = Response<Body>>> Future for StreamTask<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.poll_stage(cx).is_ready() {
            return Poll::Ready(());
        }
        if this.poll_patience(cx).is_ready() {
            this.cut();
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
