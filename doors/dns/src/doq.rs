//! DNS over QUIC (RFC 9250): every stream is one question and its answer.
//!
//! What the RFC calls a protocol error ends the connection with `DOQ_PROTOCOL_ERROR`: a number
//! other than 0, a message that is not as long as it says, the option for TCP's idle time. A
//! question that merely gets no answer ends its stream. Called by `listeners`, once per connection,
//! on the connection's core.

use crate::caller::{DnsCaller, QueryTransport};
use crate::listener_context::ListenerContext;
use crate::reply_sink::ReplySink;
use crate::request::{self, HandleOutcome};
use crate::stream_limits::QUERY_BYTES_MAX;
use crate::view::RequestView;
use dns_wire::{DnsQuery, ask_options};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use transport::neighbours::ArrivedAt;
use transport::quic_server::{ExchangeError, QuicExchange, QuicPeer, QuicService};
use vocab::NameBuffer;

/// Time for which a connection may stay open without a question (RFC 9250 §5.5.1 leaves it to us;
/// the peers take 30 s).
const IDLE: Duration = Duration::from_secs(30);
/// Time that a question may take to come, and an answer to be taken.
const EXCHANGE_WAIT: Duration = Duration::from_secs(10);
/// Time for which an answer is waited for, as over TCP.
const ANSWER_WAIT: Duration = Duration::from_secs(40);
/// Questions of one connection at once, at most; the client may open no more streams.
const EXCHANGES_MAX: u32 = 128;
/// A question with the two bytes of its length.
const FRAMED_BYTES_MAX: usize = 2 + QUERY_BYTES_MAX;

/// RFC 9250 §4.3.
mod code {
    pub(super) const NO_ERROR: u32 = 0;
    pub(super) const INTERNAL_ERROR: u32 = 1;
    pub(super) const PROTOCOL_ERROR: u32 = 2;
    pub(super) const EXCESSIVE_LOAD: u32 = 4;
    pub(super) const UNSPECIFIED_ERROR: u32 = 5;
}

/// What QUIC allows our clients.
pub(crate) const SERVICE: QuicService = QuicService {
    alpn: b"doq",
    idle: IDLE,
    exchanges_max: EXCHANGES_MAX,
    exchange_bytes_max: (FRAMED_BYTES_MAX as u32).next_multiple_of(1024),
    overloaded: code::EXCESSIVE_LOAD,
    broken_off: code::INTERNAL_ERROR,
};

struct DoqConnection {
    line: ListenerContext,
    peer: QuicPeer,
    server_name: String,
}

/// Holds what the client did wrong, in words for its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProtocolError(&'static str);

/// Serves one connection to its end.
pub(crate) async fn serve(line: ListenerContext, peer: QuicPeer) {
    let (drain, closing) = (line.shared.drain.clone(), line.closing.clone());
    let stop = async move {
        tokio::select! {
            () = drain.started() => {}
            () = closing.started() => {}
        }
    };
    tokio::pin!(stop);
    let server_name = peer.sni().unwrap_or_default();
    let connection = Rc::new(DoqConnection { line, peer, server_name });
    let mut running = JoinSet::new();
    let mut progress = Instant::now();
    loop {
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some(_done) = running.join_next(), if !running.is_empty() => {
                progress = Instant::now();
            }
            // The runtime's own measure keeps streams that never end from starving the core.
            next = connection.peer.next() => match next {
                Ok(stream) => {
                    let connection = Rc::clone(&connection);
                    running.spawn_local(async move { exchange(&connection, stream).await });
                }
                Err(_over) => return,
            },
            () = sleep_until(progress + IDLE), if running.is_empty() => break,
        }
    }
    // Each has its deadlines, so this ends.
    while running.join_next().await.is_some() {}
    connection.peer.close(code::NO_ERROR, "");
}

async fn exchange(connection: &DoqConnection, mut stream: QuicExchange) {
    let framed = match timeout(EXCHANGE_WAIT, stream.read(FRAMED_BYTES_MAX)).await {
        Ok(Ok(framed)) => framed,
        Ok(Err(ExchangeError::TooLong)) => {
            connection.refuse_oversized();
            return stream.refuse(code::UNSPECIFIED_ERROR);
        }
        Ok(Err(ExchangeError::Gone)) => return,
        Err(_too_slow) => return stream.refuse(code::EXCESSIVE_LOAD),
    };
    let message = match message_of(&framed) {
        Ok(message) => message,
        // While the stream is open: its end would look like an answer.
        Err(ProtocolError(why)) => return connection.peer.close(code::PROTOCOL_ERROR, why),
    };
    let mut reply = Vec::new();
    let (send, waiting) = oneshot::channel();
    if connection.handle(message, &mut reply, send) == HandleOutcome::Later {
        let answered = tokio::select! {
            answered = timeout(ANSWER_WAIT, waiting) => answered,
            () = stream.cancelled() => return,
        };
        // Late or lost on the way: no fault of the question.
        let Ok(Ok(answer)) = answered else {
            return stream.refuse(code::INTERNAL_ERROR);
        };
        reply = answer;
    }
    let Ok(length @ 1..) = u16::try_from(reply.len()) else {
        return stream.refuse(code::UNSPECIFIED_ERROR);
    };
    let framed = [&length.to_be_bytes()[..], &reply].concat();
    // A client that takes no answer loses this one; the stream is given up with it.
    let _ = timeout(EXCHANGE_WAIT, stream.answer(&framed)).await;
}

/// The DNS message that a stream of DNS over QUIC asks; none where the connection is closed for it.
pub fn doq_question(framed: &[u8]) -> Option<&[u8]> {
    message_of(framed).ok()
}

/// The one message of a stream, if RFC 9250 §4.2 and §5.5.2 allow it.
fn message_of(framed: &[u8]) -> Result<&[u8], ProtocolError> {
    let (length, message) =
        framed.split_first_chunk::<2>().ok_or(ProtocolError("the stream has no message"))?;
    if usize::from(u16::from_be_bytes(*length)) != message.len() {
        return Err(ProtocolError("the stream is not one message of the length it says"));
    }
    if message.first_chunk::<2>() != Some(&[0, 0]) {
        return Err(ProtocolError("the number of a message must be 0"));
    }
    // Read twice, here and by `handle`: it takes some hundred nanoseconds beside QUIC's many.
    if let Ok(query) = DnsQuery::parse(message, &mut NameBuffer::new())
        && has_option(query.options, ask_options::OPTION_KEEPALIVE)
    {
        return Err(ProtocolError("edns-tcp-keepalive is for TCP"));
    }
    Ok(message)
}

/// True if raw EDNS options hold one with this code.
fn has_option(mut options: &[u8], code: u16) -> bool {
    while let Some(([code_high, code_low, length_high, length_low], rest)) =
        options.split_first_chunk::<4>()
    {
        if u16::from_be_bytes([*code_high, *code_low]) == code {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([*length_high, *length_low]));
        options = rest.get(length..).unwrap_or(&[]);
    }
    false
}

impl DoqConnection {
    fn handle(
        &self,
        message: &[u8],
        reply: &mut Vec<u8>,
        send: oneshot::Sender<Vec<u8>>,
    ) -> HandleOutcome {
        self.with(|view, caller| {
            request::handle(view, message, caller, reply, || ReplySink::Once(send))
        })
    }

    fn refuse_oversized(&self) {
        self.with(request::refuse_oversized);
    }

    fn with<T>(&self, act: impl FnOnce(&RequestView<'_>, DnsCaller<'_>) -> T) -> T {
        let shared = &self.line.shared;
        let (policy, plan) = (shared.policy.load(), shared.plan.load());
        let view = RequestView { shared, policy: &policy, plan: &plan };
        let caller = DnsCaller {
            entry: self.line.routes.load().entry(),
            client_port: self.peer.peer().port(),
            server_name: &self.server_name,
            ..DnsCaller::now(self.peer.peer().ip().to_canonical(), QueryTransport::Quic)
                .with_link_info(&policy, || {
                    self.peer.local().map(|ip| ArrivedAt::Address(SocketAddr::new(ip, 0)))
                })
        };
        act(&view, caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A framed query for the root with these options in its OPT record.
    fn framed(id: u16, options: &[u8]) -> Vec<u8> {
        let mut message = id.to_be_bytes().to_vec();
        message.extend_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 1]);
        message.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, options.len() as u8]);
        message.extend_from_slice(options);
        [&(message.len() as u16).to_be_bytes()[..], &message].concat()
    }

    #[test]
    fn a_stream_is_one_message_with_number_0() {
        let whole = framed(0, &[]);
        assert_eq!(message_of(&whole), Ok(&whole[2..]));
        for wrong in
            [&[][..], &[0], &[0, 0], &[0, 1, 0], &whole[..20], &[&whole[..], &[0]].concat()]
        {
            assert!(message_of(wrong).is_err(), "{wrong:?}");
        }
        assert!(message_of(&framed(1, &[])).is_err());
    }

    #[test]
    fn the_option_for_tcp_is_no_option_here() {
        let padding = [0, 12, 0, 2, 0, 0];
        assert!(message_of(&framed(0, &padding)).is_ok());
        let both = [&padding[..], &[0, 11, 0, 0]].concat();
        assert!(message_of(&framed(0, &both)).is_err());
    }
}
