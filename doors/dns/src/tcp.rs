//! The TCP side: one connection, many questions, answers as they come (RFC 7766 §6.2).
//!
//! A connection may have [`WAITING_MAX`] questions out; it is not read further until one returns.
//! It ends when it is idle, dribbles, does not read its answers, or sends what is no question.
//! Called by `door`, once per accepted connection, on the connection's core.

use crate::door::Shared;
use crate::request::{self, Back, Caller, Handled, View, Way};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use transport::Stream;
use transport::udp::DATAGRAM_BYTES_MAX;

/// Questions of one connection that may wait for upstreams at once.
const WAITING_MAX: usize = 64;

/// How long a connection may go without a whole question (RFC 7766 §6.2.3 leaves it to us; the
/// peers take 10 s), and how long it may take to read an answer.
const IDLE: Duration = Duration::from_secs(10);

/// How long an answer is waited for before the connection is given up. Upstreams time out before
/// that (at most 30 s, see `Settings::timeout`).
const ANSWER_WAIT: Duration = Duration::from_secs(40);

/// Answers are written when so many bytes have gathered, so that they never grow without bound.
const OUTPUT_BYTES: usize = 16 * 1024;

/// Longest question taken, as for UDP.
const QUERY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX;

struct Connection {
    shared: Arc<Shared>,
    stream: Stream,
    /// What was read, from `taken` on not yet looked at.
    input: Vec<u8>,
    taken: usize,
    output: Vec<u8>,
    reply: Vec<u8>,
    waiting: usize,
    answers: mpsc::Sender<Vec<u8>>,
}

/// What stands at the front of the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Front {
    /// A whole message was there and is dealt with.
    Message,
    /// Less than a whole message, or no room for another question.
    Nothing,
    /// Something after which the connection ends.
    End,
}

/// Serves one connection to its end.
pub(crate) async fn serve(shared: Arc<Shared>, stream: Stream) {
    let (answers, mut arriving) = mpsc::channel(WAITING_MAX);
    let drain = shared.drain.clone();
    let begun = drain.begun();
    tokio::pin!(begun);
    let mut connection = Connection {
        shared,
        stream,
        input: Vec::with_capacity(1024),
        taken: 0,
        output: Vec::new(),
        reply: Vec::new(),
        waiting: 0,
        answers,
    };
    let (mut reading, mut progress) = (true, Instant::now());
    loop {
        let front = connection.take_message();
        match front {
            Front::Message => progress = Instant::now(),
            Front::Nothing => {}
            Front::End => {
                connection.input.clear();
                connection.taken = 0;
                reading = false;
            }
        }
        let full = connection.output.len() >= OUTPUT_BYTES;
        if (full || front != Front::Message) && connection.flush().await.is_err() {
            return;
        }
        if front == Front::Message {
            continue;
        }
        if !reading && connection.waiting == 0 {
            return;
        }
        let may_read = reading && connection.waiting < WAITING_MAX;
        let patience = if connection.waiting > 0 { ANSWER_WAIT } else { IDLE };
        tokio::select! {
            biased;
            () = &mut begun, if reading => reading = false,
            Some(answer) = arriving.recv(), if connection.waiting > 0 => {
                connection.waiting -= 1;
                connection.frame(&answer);
                progress = Instant::now();
            }
            read = connection.stream.read_buf(&mut connection.input), if may_read => match read {
                Ok(1..) => {}
                // The client has said all it will; what it asked is still answered.
                Ok(0) => reading = false,
                Err(_) => return,
            },
            () = sleep_until(progress + patience) => return,
        }
    }
}

impl Connection {
    fn take_message(&mut self) -> Front {
        let unread = &self.input[self.taken..];
        let Some((head, rest)) = unread.split_first_chunk::<2>() else { return self.compact() };
        let length = usize::from(u16::from_be_bytes(*head));
        if self.waiting >= WAITING_MAX {
            return Front::Nothing;
        }
        let policy = self.shared.policy.load();
        let plan = self.shared.plan.load();
        let view = View { shared: &self.shared, policy: &policy, plan: &plan };
        let caller = Caller {
            client: self.stream.peer().ip().to_canonical(),
            way: Way::Tcp,
            now: transport::clock::now(),
            begun: std::time::Instant::now(),
        };
        if length > QUERY_BYTES_MAX {
            request::refuse_oversized(&view, caller);
            return Front::End;
        }
        let Some(message) = rest.get(..length) else { return self.compact() };
        self.reply.clear();
        let back = || Back::Tcp { answers: self.answers.clone() };
        let handled = request::handle(&view, message, caller, &mut self.reply, back);
        self.taken += 2 + length;
        match handled {
            Handled::Later => self.waiting += 1,
            Handled::Now if self.reply.is_empty() => return Front::End,
            Handled::Now => {
                let reply = std::mem::take(&mut self.reply);
                self.frame(&reply);
                self.reply = reply;
            }
        }
        Front::Message
    }

    /// Moves the unfinished message to the front, so that the buffer stays about one long.
    fn compact(&mut self) -> Front {
        self.input.drain(..self.taken);
        self.taken = 0;
        Front::Nothing
    }

    fn frame(&mut self, answer: &[u8]) {
        // Answers are cut to 65,535 bytes where they are written; a longer one is none of ours.
        let Ok(length) = u16::try_from(answer.len()) else { return };
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(answer);
    }

    async fn flush(&mut self) -> std::io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        timeout(IDLE, self.stream.write_all(&self.output)).await??;
        self.output.clear();
        self.output.shrink_to(OUTPUT_BYTES);
        Ok(())
    }
}
