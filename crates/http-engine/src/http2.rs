//! The server side of HTTP/2 (RFC 9113): streams, answers, pings and goodbyes over the `h2` crate.
//!
//! `h2` frames, compresses, keeps the windows and refuses what breaks the protocol. Here stand the
//! bounds of [`crate::Limits`], patience, and the way of each request: its handler is polled within
//! the connection's own turn, and an answer that is there goes at once; whatever waits goes on in a
//! task of its stream, so that none holds up another. Called by [`crate::serve`].

mod answer_head;
mod connection;
mod exchange;
mod handler_slot;
mod keep_alive;
pub(crate) mod pace;
mod piece;
pub(crate) mod request_body;
mod sending;
mod stream;
pub(crate) mod tunnel;
mod turn_waker;

use crate::EngineError;
use crate::body::Body;
use crate::fast_path::connection::HandedOver;
use crate::incoming::Incoming;
use crate::last_answers;
use crate::limits::{
    ExtendedConnect, HTTP2_CONNECTION_WINDOW_BYTES, HTTP2_FRAME_BYTES, HTTP2_RESETS_OURS_MAX,
    HTTP2_RESETS_PENDING_MAX, HTTP2_SEND_BUFFER_BYTES, HTTP2_STREAM_WINDOW_BYTES, Limits,
};
use crate::serve_error::ServeError;
use crate::timeouts::{ConnectionPatience, TickAction};
use crate::watch::{ConnectionWatch, WatchedStream};
use connection::Http2Connection;
use h2::server::Builder;
use http::{Request, Response};
use keep_alive::{KeepAlive, PeerLife};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

/// Serves a connection that speaks HTTP/2, to its end.
pub(crate) async fn serve<I, S, H, F>(
    io: I,
    HandedOver { early, since, protocol: _ }: HandedOver,
    limits: Limits,
    mut stop: Pin<&mut S>,
    handler: H,
) -> Result<(), ServeError>
where
    I: AsyncRead + AsyncWrite + Unpin,
    S: Future<Output = ()>,
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Response<Body>> + 'static,
{
    let watch = Arc::new(ConnectionWatch::new(since));
    let io = WatchedStream::http2(io, early, Arc::clone(&watch));
    let handshake = builder(&limits).handshake(io);
    let mut connection = Http2Connection::new(handshake, handler, &watch, limits);
    let mut patience = ConnectionPatience::new(&limits, Instant::now());
    let mut keep_alive = KeepAlive::new(Instant::now());
    // One timer, which costs nothing where everything is ready at once.
    let mut tick = pin!(sleep_until(since + limits.header_timeout));
    let mut open = true;
    poll_fn(|cx| {
        loop {
            if let Poll::Ready(ended) = connection.poll(cx) {
                return Poll::Ready(ended.map_err(|why| ServeError::Http(EngineError::Http2(why))));
            }
            if open && (stop.as_mut().poll(cx).is_ready() || last_answers::are_due()) {
                open = false;
                connection.graceful_shutdown();
                continue;
            }
            if tick.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let now = Instant::now();
            let next_ping = match keep_alive.check(watch.reads(), now, || connection.pings()) {
                PeerLife::Alive { look_again } => look_again,
                PeerLife::Gone => {
                    connection.abandon(cx);
                    return Poll::Ready(Err(ServeError::Stalled));
                }
            };
            match patience.check(watch.status(), &limits, now) {
                TickAction::Wait(until) => tick.as_mut().reset(until.min(next_ping)),
                TickAction::Close if open => {
                    tick.as_mut().reset(now + limits.idle_timeout);
                    open = false;
                    connection.graceful_shutdown();
                }
                // It was asked to close, nothing is in flight, and still it is there.
                TickAction::HeadTooSlow => return Poll::Ready(Err(ServeError::HeadTooSlow)),
                TickAction::Close | TickAction::Stalled => {
                    return Poll::Ready(Err(ServeError::Stalled));
                }
                TickAction::TooSlow => return Poll::Ready(Err(ServeError::TooSlow)),
            }
        }
    })
    .await
}

fn builder(limits: &Limits) -> Builder {
    let mut builder = Builder::new();
    builder
        .max_concurrent_streams(limits.http2_streams_max)
        .max_header_list_size(limits.http2_header_list_bytes_max)
        .max_frame_size(HTTP2_FRAME_BYTES as u32)
        .max_pending_accept_reset_streams(HTTP2_RESETS_PENDING_MAX)
        .max_local_error_reset_streams(Some(HTTP2_RESETS_OURS_MAX))
        .max_send_buffer_size(HTTP2_SEND_BUFFER_BYTES)
        .initial_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES);
    match limits.http2_extended_connect {
        ExtendedConnect::Refused => {}
        ExtendedConnect::Accepted => {
            builder.enable_connect_protocol();
        }
    }
    builder
}
