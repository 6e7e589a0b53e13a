//! One request and its answer over one connection.
//!
//! Both directions run at once, each no faster than its reader: a script may answer while its body
//! is still coming. The client's going (a drop) ends it, and the connection with it. Whatever the
//! server says wrong ends the answer as broken, never as whole. Called by `server`.

use crate::failure::ScriptBroken;
use crate::pace::{ExchangePace, WaitsFor};
use crate::pool::SocketLease;
use crate::records::{self, CONTENT_BYTES_MAX, FastcgiRecord, KeepConnection};
use crate::socket::FastcgiSocket;
use crate::stage::{AnswerSender, BodyWanted, ScriptOutput};
use crate::stderr::ScriptStderr;
use bytes::{Bytes, BytesMut};
use http_body::Body as HttpBody;
use http_engine::Body;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::time::Duration;

/// Read from the server in one go, in bytes: at first, which is enough for what most scripts say,
/// and from then on.
const READ_BYTES: [usize; 2] = [8 << 10, 32 << 10];

/// One request as it goes to the server.
pub(crate) struct ScriptRequest {
    /// All records before the body; without one, its end too.
    pub(crate) opening: Bytes,
    pub(crate) body: Body,
    /// Exact length.
    pub(crate) body_len: u64,
    pub(crate) wanted: BodyWanted,
    pub(crate) timeout: Duration,
    pub(crate) keep: KeepConnection,
}

impl ScriptRequest {
    /// All records before the body, from encoded parameters; without a body, its end too.
    pub(crate) fn opening(parameters: &[u8], body_len: u64, keep: KeepConnection) -> Bytes {
        let mut out = BytesMut::with_capacity(parameters.len() + 64);
        records::begin(&mut out, keep);
        records::parameters(&mut out, parameters);
        if body_len == 0 {
            records::stdin_head(&mut out, 0);
        }
        out.freeze()
    }

    /// The same without a body, to be sent again.
    pub(crate) fn retry_copy(&self) -> Self {
        Self {
            opening: self.opening.clone(),
            body: Body::empty(),
            body_len: 0,
            wanted: self.wanted,
            timeout: self.timeout,
            keep: self.keep,
        }
    }
}

/// Carries a request to its end. The head of the answer goes to `answer`, or why there is none; a
/// body that cannot be ended in order is aborted.
pub(crate) async fn drive(
    lease: SocketLease,
    request: ScriptRequest,
    stderr: ScriptStderr,
    answer: AnswerSender,
) {
    let pace = ExchangePace::begin();
    let ScriptRequest { opening, body, body_len, wanted, timeout, keep } = request;
    let mut open = OpenExchange { lease: Some(lease), all_sent: Cell::new(false) };
    let Some(lease) = &open.lease else { return };
    let mut reader = RecordReader {
        pace: &pace,
        timeout,
        buffer: BytesMut::new(),
        output: ScriptOutput::new(wanted, answer),
        stderr,
        heard: 0,
    };
    let outcome = {
        let mut writing = pin!(write(&lease.socket, &opening, body, body_len, &pace));
        let mut reading = pin!(reader.read(lease));
        let mut is_writing = true;
        loop {
            tokio::select! {
                biased;
                // First, since it seldom waits, and before it there is nothing to read.
                result = &mut writing, if is_writing => {
                    is_writing = false;
                    match result {
                        Err(ScriptBroken::ClientBody) => break Err(ScriptBroken::ClientBody),
                        // A server that no longer reads may have answered all the same.
                        result => open.all_sent.set(result.is_ok()),
                    }
                }
                outcome = &mut reading => break outcome,
            }
        }
    };
    let is_clean = reader.buffer.is_empty() && open.all_sent.get() && keep == KeepConnection::Open;
    match outcome {
        Ok(()) => {
            if let Some(lease) = open.lease.take()
                && is_clean
            {
                lease.release();
            }
            reader.output.end();
        }
        Err(why) => reader.output.fail(why),
    }
}

/// A connection whose request goes on. Dropped before its end, it tells the server to stop.
struct OpenExchange {
    lease: Option<SocketLease>,
    all_sent: Cell<bool>,
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        if let Some(lease) = &self.lease
            && self.all_sent.get()
        {
            let mut notice = BytesMut::new();
            records::abort(&mut notice);
            // Closing says the same to a server that does not read.
            let _ = lease.socket.write_now(&notice);
        }
    }
}

async fn write(
    socket: &FastcgiSocket,
    opening: &[u8],
    mut body: Body,
    body_len: u64,
    pace: &ExchangePace,
) -> Result<(), ScriptBroken> {
    send(socket, opening, pace).await?;
    let mut left = body_len;
    if left == 0 {
        return Ok(());
    }
    let mut out = BytesMut::new();
    while left > 0 {
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
        if left == 0 {
            records::stdin_head(&mut out, 0);
        }
        send(socket, &out, pace).await?;
        out.clear();
    }
    Ok(())
}

async fn send(
    socket: &FastcgiSocket,
    mut bytes: &[u8],
    pace: &ExchangePace,
) -> Result<(), ScriptBroken> {
    while !bytes.is_empty() {
        let count = socket.write(bytes).await.map_err(ScriptBroken::Io)?;
        pace.has_moved();
        bytes = &bytes[count.min(bytes.len())..];
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
    heard: u64,
}

impl RecordReader<'_> {
    /// Reads to the end of the request.
    async fn read(&mut self, lease: &SocketLease) -> Result<(), ScriptBroken> {
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
            let count = self.more(lease).await?;
            if count == 0 {
                return Err(ScriptBroken::Closed);
            }
            lease.confirm();
            self.heard += count as u64;
        }
    }

    async fn more(&mut self, lease: &SocketLease) -> Result<usize, ScriptBroken> {
        let (pace, output) = (self.pace, &mut self.output);
        let most = READ_BYTES[usize::from(self.heard > 0)];
        tokio::select! {
            biased;
            result = lease.socket.read(&mut self.buffer, most) => {
                pace.has_moved();
                result.map_err(ScriptBroken::Io)
            }
            () = output.until_unwanted() => Err(ScriptBroken::ClientGone),
            () = pace.until_late(self.timeout) => Err(ScriptBroken::TimedOut),
            never = lease.make_room() => match never {},
        }
    }
}
