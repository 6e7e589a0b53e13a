//! One request on a stream and its answer, until the head of the answer is sent.
//!
//! [`StreamExchange::begin`] admits a request or refuses it, and calls the handler;
//! [`StreamExchange::answer`] sends the head and, where all of the body is at hand and the client
//! has room for it, the body with it. A body that waits is handed back, for the stream's task. It
//! polls no handler. Called by [`super::connection`] and [`super::stream`].

use super::answer_head;
use super::pace::StreamPace;
use super::piece::{RequestCourse, StreamPiece};
use super::request_body::RequestBody;
use super::sending::{BodySender, NextFrame};
use super::tunnel::TunnelOffer;
use crate::admit::admitted;
use crate::body::Body;
use crate::incoming::Incoming;
use crate::limits::HTTP2_AT_HAND_BYTES_MAX;
use crate::refuse::{HeadRefusal, refusal};
use crate::reply;
use crate::scan::HeadFaults;
use crate::upgrade::{self, BusyGuard};
use crate::watch::ConnectionWatch;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, HeaderMap};
use http::{Method, Request, Response};
use http_body::Body as HttpBody;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A request whose answer has not begun.
pub(super) struct StreamExchange {
    respond: SendResponse<StreamPiece>,
    course: RequestCourse,
    form: AnswerForm,
}

/// Parts of which an answer consists.
enum AnswerForm {
    HeadAndBody,
    /// To `HEAD`.
    HeadAlone,
    /// To `CONNECT`: a tunnel, if the answer says so.
    Tunnel(TunnelOffer),
}

/// A request that was taken up.
pub(super) enum BegunRequest<F> {
    /// The handler is called.
    Handled(StreamExchange, F),
    /// Is answered in its place.
    Refused(StreamExchange, HeadRefusal),
    /// The stream is reset.
    Reset,
}

/// A body when its head is sent.
enum BodyStart {
    Whole(Bytes),
    /// More is to come, behind what was asked for already.
    Waiting(Body, Option<NextFrame>),
}

impl StreamExchange {
    /// Takes up a request that has come.
    pub(super) fn begin<F>(
        mut request: Request<RecvStream>,
        respond: SendResponse<StreamPiece>,
        watch: &Arc<ConnectionWatch>,
        handler: &impl Fn(Request<Incoming>) -> F,
    ) -> BegunRequest<F> {
        let course = RequestCourse::Alone(watch.start_request());
        let refused_for = admitted(&mut request).err();
        let refused_for = refused_for.or_else(|| refusal(&request, HeadFaults::NONE));
        let form = match *request.method() {
            Method::HEAD => AnswerForm::HeadAlone,
            _ => AnswerForm::HeadAndBody,
        };
        let mut exchange = Self { respond, course, form };
        if let Some(why) = refused_for {
            return BegunRequest::Refused(exchange, why);
        }
        let (mut head, stream) = request.into_parts();
        let length = announced_length(&head.headers);
        let body = if head.method == Method::CONNECT {
            if length.is_some_and(|bytes| bytes > 0) {
                // A tunnel has no body (RFC 9110 §9.3.6): whoever announces one means no tunnel.
                exchange.respond.send_reset(Reason::PROTOCOL_ERROR);
                return BegunRequest::Reset;
            }
            let (offer, tunnel) = TunnelOffer::new(stream);
            exchange.form = AnswerForm::Tunnel(offer);
            upgrade::offer_tunnel(&mut head.extensions, tunnel);
            // The exchange is over when its answer is sent; the tunnel is not.
            head.extensions.insert(BusyGuard::new(watch.start_request()));
            Incoming::none()
        } else if stream.is_end_stream() {
            // Most requests have no body: the client is not waited for.
            Incoming::none()
        } else {
            let pace;
            (exchange, pace) = exchange.with_pace();
            Incoming::of_stream(RequestBody::new(stream, length), pace)
        };
        BegunRequest::Handled(exchange, handler(Request::from_parts(head, body)))
    }

    /// Sends what the client is told ahead of its answer.
    pub(super) fn send_interim(&mut self, told: Vec<Response<()>>) {
        for mut interim in told {
            // Nothing may follow on a stream that the client has reset.
            if self.poll_reset(&mut Context::from_waker(Waker::noop())).is_ready() {
                return;
            }
            answer_head::prepare_interim(interim.headers_mut());
            if self.respond.send_informational(interim).is_err() {
                return;
            }
        }
    }

    /// Says when the client has reset the stream, or the connection has ended.
    pub(super) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.respond.poll_reset(cx).map(drop)
    }

    /// Resets the stream instead of an answer.
    pub(super) fn reset(&mut self, reason: Reason) {
        self.respond.send_reset(reason);
    }

    /// The answer to a request that is refused.
    pub(super) fn refuse(self, why: HeadRefusal) -> Option<BodySender> {
        self.answer(reply::text(why.status(), format!("{why}\n")))
    }

    /// Begins to answer; the rest, if not all of it could go at once.
    pub(super) fn answer(mut self, answer: Response<Body>) -> Option<BodySender> {
        if reply::is_no_answer(&answer) {
            self.respond.send_reset(Reason::INTERNAL_ERROR);
            return None;
        }
        let (mut head, body) = answer.into_parts();
        if head.status.is_informational() {
            // That is no answer; over HTTP/2 nothing is switched either (RFC 9113 §8.6).
            self.respond.send_reset(Reason::INTERNAL_ERROR);
            return None;
        }
        answer_head::prepare(&mut head.headers);
        match self.form {
            AnswerForm::Tunnel(offer) if head.status.is_success() => {
                head.headers.remove(CONTENT_LENGTH);
                let head = Response::from_parts(head, ());
                if let Some(stream) = send_head(&mut self.respond, head, StreamEnd::No) {
                    offer.open(stream);
                }
                return None;
            }
            AnswerForm::HeadAlone => {
                // That of the answer to `GET`, with the length of its body (RFC 9110 §9.3.2).
                if let Some(length @ 1..) = body.size_hint().exact() {
                    answer_head::add_length(&mut head.headers, length);
                }
                send_head(&mut self.respond, Response::from_parts(head, ()), StreamEnd::Yes);
                return None;
            }
            AnswerForm::HeadAndBody | AnswerForm::Tunnel(_) => {}
        }
        if body.is_end_stream() {
            send_head(&mut self.respond, Response::from_parts(head, ()), StreamEnd::Yes);
            return None;
        }
        if let Some(length) = body.size_hint().exact() {
            answer_head::add_length(&mut head.headers, length);
        }
        let head = Response::from_parts(head, ());
        let stream = send_head(&mut self.respond, head, StreamEnd::No)?;
        send_body(stream, body, self.course)
    }

    /// Returns it with the pace of its stream, which begins if it has not.
    pub(super) fn with_pace(self) -> (Self, Arc<StreamPace>) {
        let pace = self.course.into_pace();
        (Self { course: RequestCourse::Paced(Arc::clone(&pace)), ..self }, pace)
    }
}

/// Says if a frame is the last of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamEnd {
    Yes,
    No,
}

/// Sends a head; none if the stream has ended meanwhile.
fn send_head(
    respond: &mut SendResponse<StreamPiece>,
    head: Response<()>,
    end: StreamEnd,
) -> Option<SendStream<StreamPiece>> {
    let sent = respond.send_response(head, end == StreamEnd::Yes);
    if sent.is_err() {
        // The client has reset it, which this does not change; or the fields are no answer's.
        respond.send_reset(Reason::INTERNAL_ERROR);
    }
    sent.ok()
}

/// Sends a body behind its head; what has to wait, if anything does.
fn send_body(
    mut stream: SendStream<StreamPiece>,
    body: Body,
    course: RequestCourse,
) -> Option<BodySender> {
    match start(body) {
        BodyStart::Whole(bytes) => {
            stream.reserve_capacity(bytes.len());
            if stream.capacity() < bytes.len() {
                return Some(BodySender::of_bytes(bytes, stream, course.into_pace()));
            }
            // It fails where the client has reset the stream, and then nobody waits for it.
            let _ = stream.send_data(StreamPiece::at_hand(bytes, course), true);
            None
        }
        BodyStart::Waiting(body, first) => {
            Some(BodySender::new(body, first, stream, course.into_pace()))
        }
    }
}

/// Asks a small body whether all of it is there.
fn start(mut body: Body) -> BodyStart {
    let is_small = |bytes| bytes <= HTTP2_AT_HAND_BYTES_MAX as u64;
    if !body.size_hint().exact().is_some_and(is_small) {
        return BodyStart::Waiting(body, None);
    }
    // Whoever has to wait is asked again by the stream's task.
    let mut cx = Context::from_waker(Waker::noop());
    match Pin::new(&mut body).poll_frame(&mut cx) {
        Poll::Pending => BodyStart::Waiting(body, None),
        Poll::Ready(Some(Ok(frame))) if body.is_end_stream() => match frame.into_data() {
            Ok(bytes) => BodyStart::Whole(bytes),
            Err(trailers) => BodyStart::Waiting(body, Some(Some(Ok(trailers)))),
        },
        Poll::Ready(first) => BodyStart::Waiting(body, Some(first)),
    }
}

/// Returns the length of a body that a request announces.
fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
