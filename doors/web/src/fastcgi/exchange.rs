//! One request and its answer over one connection.
//!
//! Both directions run at once, each no faster than its reader: a script may answer while its body
//! is still coming. The client's going ends it, and the connection with it. Whatever the server
//! says wrong ends the answer as broken, never as whole. Called by `fastcgi`.

use super::answer::{BadHead, HEAD_BYTES_MAX, ScriptHead, end_of_head, parse};
use super::pool::{FastcgiSocket, SocketLease};
use super::records::{self, BadRecord, CONTENT_BYTES_MAX, FastcgiRecord, KeepConnection};
use super::stderr::ScriptStderr;
use bytes::{Buf, Bytes, BytesMut};
use http::StatusCode;
use http_body::Body as HttpBody;
use http_engine::{Body, BodyFeed};
use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// Read from the server in one go, in bytes.
const READ_BYTES: usize = 32 << 10;
/// Pieces of an answer that wait for the client; each is at most a record, 64 KiB.
const PIECES_MAX: usize = 4;

/// Why there is no answer, or none to its end.
#[derive(Debug)]
pub(crate) enum ScriptBroken {
    /// The connection failed.
    Io(io::Error),
    /// The server closed it before the request was done.
    Closed,
    Record(BadRecord),
    Head(BadHead),
    /// Nothing moved for too long.
    TimedOut,
    /// The client's body broke off.
    ClientBody,
    /// The client has gone.
    ClientGone,
}

/// Holds what an answer begins with; its body follows.
pub(crate) struct ScriptAnswer {
    pub(crate) head: ScriptHead,
    pub(crate) body: Body,
}

/// Tells whether the client takes a body at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyWanted {
    HeadAndBody,
    /// To `HEAD`.
    HeadOnly,
}

/// One request as it goes to the server.
pub(crate) struct ScriptRequest {
    pub(crate) parameters: BytesMut,
    pub(crate) body: Body,
    /// Exact length.
    pub(crate) body_len: u64,
    pub(crate) wanted: BodyWanted,
    pub(crate) timeout: Duration,
    pub(crate) keep: KeepConnection,
}

/// Holds what both directions know of each other.
struct ExchangePace {
    /// When something last moved.
    moved: Cell<Instant>,
    /// State of waiting for the client: then the server's patience is not at stake.
    waits: Cell<WaitsFor>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitsFor {
    Server,
    Client,
}

/// Carries a request to its end. The head of the answer goes to `answer`, or why there is none; a
/// body that cannot be ended in order is aborted.
pub(crate) async fn drive(
    mut lease: SocketLease,
    request: ScriptRequest,
    stderr: ScriptStderr,
    answer: oneshot::Sender<Result<ScriptAnswer, ScriptBroken>>,
) {
    let pace =
        ExchangePace { moved: Cell::new(Instant::now()), waits: Cell::new(WaitsFor::Server) };
    let ScriptRequest { parameters, body, body_len, wanted, timeout, keep } = request;
    let mut reader = RecordReader {
        pace: &pace,
        timeout,
        wanted,
        buffer: BytesMut::with_capacity(READ_BYTES),
        stage: AnswerStage::Head { seen: BytesMut::new(), answer: Some(answer) },
        stderr,
        heard: Cell::new(0),
    };
    let (outcome, written) = {
        let mut writing = pin!(write(&lease.socket, &parameters, body, body_len, keep, &pace));
        let mut reading = pin!(reader.read(&lease.socket));
        let mut written = None;
        loop {
            tokio::select! {
                biased;
                outcome = &mut reading => break (outcome, written),
                result = &mut writing, if written.is_none() => match result {
                    Err(ScriptBroken::ClientBody) => break (Err(ScriptBroken::ClientBody), written),
                    // A server that no longer reads may have answered all the same.
                    result => written = Some(result),
                },
            }
        }
    };
    if reader.heard.get() > 0 {
        lease.confirm();
    }
    let all_sent = matches!(written, Some(Ok(())));
    let clean = reader.buffer.is_empty() && all_sent && keep == KeepConnection::Open;
    match outcome {
        Ok(()) => {
            if clean {
                lease.release();
            }
            reader.stage.end();
        }
        Err(why) => {
            if all_sent {
                let mut notice = BytesMut::new();
                records::abort(&mut notice);
                // Closing says the same to a server that does not read.
                let _ = lease.socket.write_now(&notice);
            }
            reader.stage.fail(why);
        }
    }
}

async fn write(
    socket: &FastcgiSocket,
    parameters: &[u8],
    mut body: Body,
    body_len: u64,
    keep: KeepConnection,
    pace: &ExchangePace,
) -> Result<(), ScriptBroken> {
    let mut out = BytesMut::with_capacity(parameters.len() + 64);
    records::begin(&mut out, keep);
    records::parameters(&mut out, parameters);
    let mut left = body_len;
    while left > 0 {
        send(socket, &mut out, pace).await?;
        pace.waits.set(WaitsFor::Client);
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        pace.waits.set(WaitsFor::Server);
        pace.moved.set(Instant::now());
        let Some(Ok(frame)) = frame else { return Err(ScriptBroken::ClientBody) };
        let Ok(data) = frame.into_data() else { continue };
        left = left.checked_sub(data.len() as u64).ok_or(ScriptBroken::ClientBody)?;
        for piece in data.chunks(CONTENT_BYTES_MAX) {
            records::stdin_head(&mut out, piece.len());
            out.extend_from_slice(piece);
        }
    }
    records::stdin_head(&mut out, 0);
    send(socket, &mut out, pace).await
}

async fn send(
    socket: &FastcgiSocket,
    out: &mut BytesMut,
    pace: &ExchangePace,
) -> Result<(), ScriptBroken> {
    while !out.is_empty() {
        let count = socket.write(out).await.map_err(ScriptBroken::Io)?;
        pace.moved.set(Instant::now());
        out.advance(count);
    }
    Ok(())
}

/// Tells how far an answer has come.
enum AnswerStage {
    Head {
        seen: BytesMut,
        answer: Option<oneshot::Sender<Result<ScriptAnswer, ScriptBroken>>>,
    },
    Body {
        feed: BodyFeed,
        left: Option<u64>,
    },
    /// The client wants no more of it.
    Over,
}

impl AnswerStage {
    fn end(self) {
        match self {
            Self::Head { answer, .. } => {
                if let Some(answer) = answer {
                    let _ = answer.send(Err(ScriptBroken::Head(BadHead::Unfinished)));
                }
            }
            // Less than was promised is not the whole.
            Self::Body { feed, left } => {
                if left.is_none_or(|left| left == 0) {
                    feed.finish();
                }
            }
            Self::Over => {}
        }
    }

    fn fail(self, why: ScriptBroken) {
        if let Self::Head { answer: Some(answer), .. } = self {
            let _ = answer.send(Err(why));
        }
    }
}

struct RecordReader<'p> {
    pace: &'p ExchangePace,
    timeout: Duration,
    wanted: BodyWanted,
    buffer: BytesMut,
    stage: AnswerStage,
    stderr: ScriptStderr,
    /// Bytes that came.
    heard: Cell<u64>,
}

impl RecordReader<'_> {
    /// Reads to the end of the request.
    async fn read(&mut self, socket: &FastcgiSocket) -> Result<(), ScriptBroken> {
        loop {
            while let Some(record) =
                records::take(&mut self.buffer).map_err(ScriptBroken::Record)?
            {
                match record {
                    FastcgiRecord::Stdout(content) => self.stdout(content).await?,
                    FastcgiRecord::Stderr(content) => self.stderr.add(&content),
                    FastcgiRecord::End { .. } => return Ok(()),
                }
            }
            self.buffer.reserve(READ_BYTES);
            let count = self.more(socket).await?;
            if count == 0 {
                return Err(ScriptBroken::Closed);
            }
            self.heard.set(self.heard.get() + count as u64);
        }
    }

    async fn more(&mut self, socket: &FastcgiSocket) -> Result<usize, ScriptBroken> {
        let gone = async {
            match &mut self.stage {
                AnswerStage::Head { answer: Some(answer), .. } => answer.closed().await,
                AnswerStage::Body { feed, .. } => feed.until_reader_gone().await,
                AnswerStage::Head { answer: None, .. } | AnswerStage::Over => {
                    std::future::pending::<()>().await;
                }
            }
        };
        let (pace, patience) = (self.pace, self.timeout);
        let late = async {
            loop {
                sleep_until(pace.moved.get() + patience).await;
                if pace.waits.get() == WaitsFor::Client {
                    pace.moved.set(Instant::now());
                } else if pace.moved.get().elapsed() >= patience {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            result = socket.read(&mut self.buffer) => {
                pace.moved.set(Instant::now());
                result.map_err(ScriptBroken::Io)
            }
            () = gone => Err(ScriptBroken::ClientGone),
            () = late => Err(ScriptBroken::TimedOut),
        }
    }

    async fn stdout(&mut self, content: Bytes) -> Result<(), ScriptBroken> {
        let rest = match &mut self.stage {
            AnswerStage::Head { seen, .. } => {
                let from = seen.len();
                seen.extend_from_slice(&content);
                match end_of_head(seen, from) {
                    Some(end) if end <= HEAD_BYTES_MAX => {
                        let head = seen.split_to(end);
                        let rest = seen.split().freeze();
                        self.begin(&head)?;
                        rest
                    }
                    None if seen.len() <= HEAD_BYTES_MAX => return Ok(()),
                    Some(_) | None => return Err(ScriptBroken::Head(BadHead::TooLarge)),
                }
            }
            AnswerStage::Body { .. } | AnswerStage::Over => content,
        };
        let AnswerStage::Body { feed, left } = &mut self.stage else { return Ok(()) };
        let mut piece = rest;
        if let Some(left) = left {
            // More than was promised would be the next answer to whoever reads the connection.
            piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len() as u64;
        }
        if feed.send(piece).await.is_err() {
            return Err(ScriptBroken::ClientGone);
        }
        self.pace.moved.set(Instant::now());
        Ok(())
    }

    fn begin(&mut self, head: &[u8]) -> Result<(), ScriptBroken> {
        let head = parse(head).map_err(ScriptBroken::Head)?;
        let AnswerStage::Head { answer, .. } = &mut self.stage else { return Ok(()) };
        let Some(answer) = answer.take() else { return Ok(()) };
        let bodiless = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let (stage, body) = if self.wanted == BodyWanted::HeadOnly || bodiless {
            (AnswerStage::Over, Body::empty())
        } else {
            let (feed, body) = Body::channel(PIECES_MAX);
            (AnswerStage::Body { feed, left: head.length }, body)
        };
        self.stage = stage;
        answer.send(Ok(ScriptAnswer { head, body })).map_err(|_| ScriptBroken::ClientGone)
    }
}

impl fmt::Display for ScriptBroken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(why) => write!(f, "the connection to the FastCGI server failed: {why}"),
            Self::Closed => f.write_str("the FastCGI server closed the connection too early"),
            Self::Record(why) => write!(f, "the FastCGI server sent {why}"),
            Self::Head(why) => why.fmt(f),
            Self::TimedOut => f.write_str("the FastCGI server did not answer in time"),
            Self::ClientBody => f.write_str("the client's body broke off"),
            Self::ClientGone => f.write_str("the client has gone"),
        }
    }
}

impl std::error::Error for ScriptBroken {}
