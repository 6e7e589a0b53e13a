//! DNS over a stream, TCP or TLS: one connection, many questions, answers as they come (RFC 7766
//! §6.2).
//!
//! A connection may have [`WAITING_MAX`] questions out; it is not read further until one returns.
//! It ends when it is idle, dribbles, does not read its answers, sends what is no question, or asks
//! what gets no answer; what it is owed besides still comes.
//! Called by `listeners` and `tls`, once per accepted connection, on the connection's core.

use crate::caller::{DnsCaller, QueryTransport};
use crate::listener_context::ListenerContext;
use crate::reply_sink::{OwedReply, ReplySink};
use crate::request::{self, HandleOutcome};
use crate::stream_limits::{IDLE, QUERY_BYTES_MAX};
use crate::view::RequestView;
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use transport::Stream;
use transport::neighbours::ArrivedAt;

/// Questions of one connection that may wait for upstreams at once.
const WAITING_MAX: usize = 64;

/// The same where three quarters of all connections are taken: whoever only holds one then makes
/// room for who asks (RFC 7766 §6.2.3 allows it at any time).
const IDLE_CROWDED: Duration = Duration::from_secs(2);

/// Time for which an answer is waited for before the connection is given up. Upstreams time out
/// before that (at most 30 s, see `Settings::timeout`).
const ANSWER_WAIT: Duration = Duration::from_secs(40);

/// Answers are written when so many bytes have gathered, so that they never grow without bound.
const OUTPUT_BYTES: usize = 16 * 1024;

/// Who is at the other end of a connection, and how.
pub(crate) struct TcpPeer {
    pub(crate) client: IpAddr,
    pub(crate) port: u16,
    /// The address of ours that it connected to, if the policy wants to know the interface.
    pub(crate) local: Option<ArrivedAt>,
    pub(crate) transport: QueryTransport,
    /// The server name of TLS; empty without.
    pub(crate) server_name: String,
}

struct TcpConnection<S> {
    line: ListenerContext,
    peer: TcpPeer,
    stream: S,
    /// What was read, from `taken` on not yet looked at.
    input: Vec<u8>,
    consumed: usize,
    output: Vec<u8>,
    reply: Vec<u8>,
    waiting: usize,
    answers: mpsc::Sender<Vec<u8>>,
}

/// Tells what stands at the front of the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InputFront {
    /// A whole message was there and is dealt with.
    Message,
    /// Less than a whole message, or no room for another question.
    Incomplete,
    /// Something after which the connection ends.
    End,
}

/// Serves one connection without TLS to its end.
pub(crate) async fn serve_plain(line: ListenerContext, stream: Stream) {
    let (client, port) = (stream.peer().ip().to_canonical(), stream.peer().port());
    let local = line.local(&stream);
    let peer =
        TcpPeer { client, port, local, transport: QueryTransport::Tcp, server_name: String::new() };
    serve(line, peer, stream).await;
}

/// Serves one connection to its end.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    line: ListenerContext,
    peer: TcpPeer,
    stream: S,
) {
    let (answers, mut arriving) = mpsc::channel(WAITING_MAX);
    let drain = line.shared.drain.clone();
    let begun = drain.started();
    tokio::pin!(begun);
    let mut connection = TcpConnection {
        line,
        peer,
        stream,
        input: Vec::with_capacity(1024),
        consumed: 0,
        output: Vec::new(),
        reply: Vec::new(),
        waiting: 0,
        answers,
    };
    let (mut reading, mut progress) = (true, Instant::now());
    loop {
        let front = connection.take_message();
        match front {
            InputFront::Message => progress = Instant::now(),
            InputFront::Incomplete => {}
            InputFront::End => {
                connection.input.clear();
                connection.consumed = 0;
                reading = false;
            }
        }
        let full = connection.output.len() >= OUTPUT_BYTES;
        if (full || front != InputFront::Message) && connection.flush().await.is_err() {
            return;
        }
        if front == InputFront::Message {
            continue;
        }
        if !reading && connection.waiting == 0 {
            return connection.close().await;
        }
        let may_read = reading && connection.waiting < WAITING_MAX;
        let patience = connection.idle_timeout();
        tokio::select! {
            biased;
            () = &mut begun, if reading => reading = false,
            Some(answer) = arriving.recv(), if connection.waiting > 0 => {
                connection.waiting -= 1;
                // An empty one is none: the connection ends after what it is owed besides, so that
                // its client does not wait for what will not come.
                reading &= !answer.is_empty();
                connection.frame(&answer);
                progress = Instant::now();
            }
            read = connection.stream.read_buf(&mut connection.input), if may_read => match read {
                Ok(1..) => {}
                // The client has said all it will; what it asked is still answered.
                Ok(0) => reading = false,
                // The same over TLS without a goodbye. Messages have their length in front, so one
                // that is cut short is never taken for a whole one.
                Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => reading = false,
                Err(_) => return,
            },
            () = sleep_until(progress + patience) => return connection.close().await,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TcpConnection<S> {
    /// Returns how long nothing may happen from now on.
    fn idle_timeout(&self) -> Duration {
        if self.waiting > 0 {
            ANSWER_WAIT
        } else if self.line.limits.is_crowded() {
            IDLE_CROWDED
        } else {
            IDLE
        }
    }

    /// Says goodbye, where TLS has a word for it.
    async fn close(mut self) {
        // Whether the client still hears it is its own affair.
        let _ = timeout(IDLE_CROWDED, self.stream.shutdown()).await;
    }

    fn take_message(&mut self) -> InputFront {
        let unread = &self.input[self.consumed..];
        let Some((head, rest)) = unread.split_first_chunk::<2>() else { return self.compact() };
        let length = usize::from(u16::from_be_bytes(*head));
        if self.waiting >= WAITING_MAX {
            return InputFront::Incomplete;
        }
        let shared = &self.line.shared;
        let (policy, plan) = (shared.policy.load(), shared.plan.load());
        let view = RequestView { shared, policy: &policy, plan: &plan };
        let caller = DnsCaller {
            entry: self.line.routes.load().entry(),
            client_port: self.peer.port,
            server_name: &self.peer.server_name,
            ..DnsCaller::now(self.peer.client, self.peer.transport)
                .with_link_info(&policy, || self.peer.local)
        };
        if length > QUERY_BYTES_MAX {
            request::refuse_oversized(&view, caller);
            return InputFront::End;
        }
        let Some(message) = rest.get(..length) else { return self.compact() };
        self.reply.clear();
        let back = || ReplySink::Tcp(OwedReply::to(&self.answers));
        let handled = request::handle(&view, message, caller, &mut self.reply, back);
        self.consumed += 2 + length;
        match handled {
            HandleOutcome::Later => self.waiting += 1,
            HandleOutcome::Now if self.reply.is_empty() => return InputFront::End,
            HandleOutcome::Now => {
                let reply = std::mem::take(&mut self.reply);
                self.frame(&reply);
                self.reply = reply;
            }
        }
        InputFront::Message
    }

    /// Moves the unfinished message to the front, so that the buffer stays about one long.
    fn compact(&mut self) -> InputFront {
        self.input.drain(..self.consumed);
        self.consumed = 0;
        InputFront::Incomplete
    }

    fn frame(&mut self, answer: &[u8]) {
        // Answers are cut to 65,535 bytes where they are written; a longer one is none of ours.
        let Ok(length) = u16::try_from(answer.len()) else { return };
        if length == 0 {
            return;
        }
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(answer);
    }

    async fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let write = async {
            self.stream.write_all(&self.output).await?;
            // TLS may hold back the end of it.
            self.stream.flush().await
        };
        timeout(IDLE, write).await??;
        self.output.clear();
        self.output.shrink_to(OUTPUT_BYTES);
        Ok(())
    }
}
