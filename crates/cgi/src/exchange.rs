//! One request and its answer over one connection.
//!
//! Both directions run at once, each no faster than its reader: a script may answer while its body
//! is still coming. The client's going ends it, and the connection with it. Whatever the server
//! says wrong ends the answer as broken, never as whole. Called by `server`.

use crate::failure::ScriptBroken;
use crate::pace::{ExchangePace, WaitsFor};
use crate::pool::{FastcgiSocket, SocketLease};
use crate::records::{self, CONTENT_BYTES_MAX, FastcgiRecord, KeepConnection};
use crate::stage::{AnswerSender, BodyWanted, ScriptOutput};
use crate::stderr::ScriptStderr;
use bytes::{Buf, BytesMut};
use http_body::Body as HttpBody;
use http_engine::Body;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::Duration;

/// Read from the server in one go, in bytes.
const READ_BYTES: usize = 32 << 10;

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

/// Carries a request to its end. The head of the answer goes to `answer`, or why there is none; a
/// body that cannot be ended in order is aborted.
pub(crate) async fn drive(
    mut lease: SocketLease,
    request: ScriptRequest,
    stderr: ScriptStderr,
    answer: AnswerSender,
) {
    let pace = ExchangePace::begin();
    let ScriptRequest { parameters, body, body_len, wanted, timeout, keep } = request;
    let mut reader = RecordReader {
        pace: &pace,
        timeout,
        buffer: BytesMut::with_capacity(READ_BYTES),
        output: ScriptOutput::new(wanted, answer),
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
            reader.output.end();
        }
        Err(why) => {
            if all_sent {
                let mut notice = BytesMut::new();
                records::abort(&mut notice);
                // Closing says the same to a server that does not read.
                let _ = lease.socket.write_now(&notice);
            }
            reader.output.fail(why);
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
        pace.wait_for(WaitsFor::Client);
        let frame = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        pace.wait_for(WaitsFor::Script);
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
        pace.has_moved();
        out.advance(count);
    }
    Ok(())
}

struct RecordReader<'p> {
    pace: &'p ExchangePace,
    timeout: Duration,
    buffer: BytesMut,
    output: ScriptOutput,
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
                    FastcgiRecord::Stdout(content) => {
                        // A short answer came whole: its length need not be asked of the script.
                        let after = || records::output_to_end(&self.buffer);
                        self.output.take_of(content, after, self.pace).await?;
                    }
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
        let (pace, output) = (self.pace, &mut self.output);
        tokio::select! {
            biased;
            result = socket.read(&mut self.buffer) => {
                pace.has_moved();
                result.map_err(ScriptBroken::Io)
            }
            () = output.until_unwanted() => Err(ScriptBroken::ClientGone),
            () = pace.until_late(self.timeout) => Err(ScriptBroken::TimedOut),
        }
    }
}
