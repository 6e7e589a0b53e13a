//! One connection seen from outside: how far it is, and whether the client keeps it waiting.
//!
//! [`WatchedStream`] passes bytes through, notes progress, and puts interim answers over HTTP/1
//! between those of hyper, which has no way for them; [`ConnectionWatch`] is what it notes. It
//! decides nothing: [`crate::timeouts`] does. hyper's own head timer would cost an allocation and a
//! timer entry per request, and would count idle time between requests as a slow head.

use crate::interim;
use crate::limits::HTTP2_IDLE_BYTES_MAX;
use crate::scan::{HeadFaults, HeadScan};
use crate::timeouts::{AwaitedEvent, ConnectionStanding};
use bytes::{Buf, Bytes};
use http::Response;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// Holds what is known of a connection. All of it is touched by one thread only; atomics because
/// hyper wants streams that may be sent.
#[derive(Debug)]
pub(crate) struct ConnectionWatch {
    /// Since when the first head is due.
    started: Instant,
    progress: AtomicU32,
    head_since_ms: AtomicU32,
    in_head: AtomicBool,
    in_body: AtomicBool,
    read_waits: AtomicBool,
    write_waits: AtomicBool,
    in_flight: AtomicU32,
    requests_started: AtomicU32,
    faults: AtomicU8,
    /// Bytes of bodies and answers; wraps.
    bytes: AtomicU32,
    /// Time for which the client was waited for, in milliseconds; wraps.
    waited_ms: AtomicU32,
    /// Since when it is waited for, in milliseconds from the start and never 0; 0: it is not.
    waiting_since_ms: AtomicU32,
    /// HTTP/2: pieces of answers that are queued within the client's windows, and that no stream's
    /// task watches over.
    unwatched: AtomicU32,
    /// HTTP/2: reads that brought something; wraps.
    reads: AtomicU32,
    /// HTTP/2: tunnels that may carry bytes.
    tunnels: AtomicU32,
    /// HTTP/1: interim answers to the request in flight, and whether some have not left.
    interim: Mutex<Vec<u8>>,
    interim_pending: AtomicBool,
    /// Flushes that went through; wraps.
    flushes: AtomicU32,
    /// Tasks that wait for the next of them, and whether there are any.
    flush_waiters: Mutex<Vec<Waker>>,
    flush_awaited: AtomicBool,
}

/// Counts a request as in flight while it lives.
pub(crate) struct InFlight(Arc<ConnectionWatch>);

impl ConnectionWatch {
    /// A connection whose first head is due since `since`, whoever has waited for it until now.
    pub(crate) fn new(since: Instant) -> Self {
        Self {
            started: since,
            progress: AtomicU32::new(0),
            head_since_ms: AtomicU32::new(0),
            // The first head is due from the start, though not a byte of it has come.
            in_head: AtomicBool::new(true),
            in_body: AtomicBool::new(false),
            read_waits: AtomicBool::new(false),
            write_waits: AtomicBool::new(false),
            in_flight: AtomicU32::new(0),
            requests_started: AtomicU32::new(0),
            faults: AtomicU8::new(0),
            bytes: AtomicU32::new(0),
            waited_ms: AtomicU32::new(0),
            waiting_since_ms: AtomicU32::new(0),
            unwatched: AtomicU32::new(0),
            reads: AtomicU32::new(0),
            tunnels: AtomicU32::new(0),
            interim: Mutex::default(),
            interim_pending: AtomicBool::new(false),
            flushes: AtomicU32::new(0),
            flush_waiters: Mutex::default(),
            flush_awaited: AtomicBool::new(false),
        }
    }

    /// Since when the first head is due.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The faults found since last asked.
    pub(crate) fn take_faults(&self) -> HeadFaults {
        HeadFaults::from_bits(self.faults.swap(0, Relaxed))
    }

    pub(crate) fn start_request(self: &Arc<Self>) -> InFlight {
        self.moved();
        self.in_flight.fetch_add(1, Relaxed);
        self.requests_started.store(self.requests_started.load(Relaxed).wrapping_add(1), Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Returns how the connection stands.
    pub(crate) fn status(&self) -> ConnectionStanding {
        let busy = self.in_flight.load(Relaxed) > 0;
        let owes = self.in_body.load(Relaxed) && self.read_waits.load(Relaxed);
        let awaits = if !busy && self.in_head.load(Relaxed) {
            let since = Duration::from_millis(self.head_since_ms.load(Relaxed).into());
            AwaitedEvent::Head { since: self.started + since }
        } else if owes || self.write_waits.load(Relaxed) || self.unwatched.load(Relaxed) > 0 {
            AwaitedEvent::Client
        } else if busy && self.in_body.load(Relaxed) {
            AwaitedEvent::ServerMidBody
        } else if busy {
            AwaitedEvent::Response
        } else {
            AwaitedEvent::Request
        };
        let waits = self.waiting_since_ms.load(Relaxed);
        let waiting = if waits == 0 { 0 } else { self.now_ms().saturating_sub(waits) };
        ConnectionStanding {
            progress: self.progress.load(Relaxed),
            waiting_for: awaits,
            messages: self.requests_started.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            waited_ms: self.waited_ms.load(Relaxed).wrapping_add(waiting),
        }
    }

    fn now_ms(&self) -> u32 {
        self.started.elapsed().as_millis() as u32
    }

    /// The client keeps us waiting from now on, if it did not before.
    fn start_wait(&self) {
        if self.waiting_since_ms.load(Relaxed) == 0 {
            self.waiting_since_ms.store(self.now_ms().max(1), Relaxed);
        }
    }

    /// The client has moved `bytes` of a body or an answer.
    fn end_wait(&self, bytes: usize) {
        self.count(bytes);
        let since = self.waiting_since_ms.swap(0, Relaxed);
        if since != 0 {
            let waited = self.now_ms().saturating_sub(since);
            self.waited_ms.store(self.waited_ms.load(Relaxed).wrapping_add(waited), Relaxed);
        }
    }

    fn count(&self, bytes: usize) {
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes as u32), Relaxed);
    }

    /// HTTP/2: the client made room for `bytes` of an answer. Whether it keeps a stream waiting is
    /// that stream's own affair: see [`crate::http2::pace`].
    pub(crate) fn stream_took(&self, bytes: usize) {
        self.moved();
        self.count(bytes);
    }

    /// HTTP/2: `bytes` of a request's body were taken.
    pub(crate) fn stream_received(&self, bytes: usize) {
        self.count(bytes);
    }

    /// HTTP/2: one more stream is, or may become, a tunnel.
    pub(crate) fn tunnel_started(&self) {
        self.tunnels.fetch_add(1, Relaxed);
    }

    /// It has ended.
    pub(crate) fn tunnel_ended(&self) {
        self.tunnels.fetch_sub(1, Relaxed);
    }

    /// HTTP/2: one more piece of an answer is queued that nobody watches over.
    pub(crate) fn piece_queued(&self) {
        self.unwatched.fetch_add(1, Relaxed);
    }

    /// One of them has left.
    pub(crate) fn piece_left(&self) {
        self.unwatched.fetch_sub(1, Relaxed);
    }

    /// HTTP/2: reads so far that brought something; wraps.
    pub(crate) fn reads(&self) -> u32 {
        self.reads.load(Relaxed)
    }

    /// HTTP/1: has these sent ahead of the answer to the request in flight, which must wait until
    /// they
    /// [were](Self::poll_interim_sent).
    pub(crate) fn send_interim(&self, told: &[Response<()>]) {
        let mut ahead = self.interim.lock().unwrap_or_else(PoisonError::into_inner);
        for interim in told {
            interim::write(interim, &mut ahead);
        }
        drop(ahead);
        self.interim_pending.store(true, Relaxed);
    }

    /// Returns whether they have left. The connection's task is woken when they have.
    pub(crate) fn poll_interim_sent(&self) -> Poll<()> {
        if self.interim_pending.load(Relaxed) { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Flushes that went through so far; wraps.
    pub(crate) fn flushes(&self) -> u32 {
        self.flushes.load(Relaxed)
    }

    /// Has `waiter` woken by the next flush that goes through.
    pub(crate) fn wake_when_flushed(&self, waiter: &Waker) {
        let mut waiters = self.flush_waiters.lock().unwrap_or_else(PoisonError::into_inner);
        waiters.push(waiter.clone());
        self.flush_awaited.store(true, Relaxed);
    }

    fn flushed(&self) {
        self.flushes.store(self.flushes().wrapping_add(1), Relaxed);
        if self.flush_awaited.swap(false, Relaxed) {
            let mut waiters = self.flush_waiters.lock().unwrap_or_else(PoisonError::into_inner);
            let waiters = std::mem::take(&mut *waiters);
            waiters.into_iter().for_each(Waker::wake);
        }
    }

    fn take_interim(&self) -> Vec<u8> {
        std::mem::take(&mut self.interim.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn moved(&self) {
        self.progress.store(self.progress.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// After reading: where the connection stands now.
    fn update_from_scan(&self, scan: &HeadScan) {
        let in_head = scan.in_head();
        if in_head && !self.in_head.load(Relaxed) {
            self.head_since_ms.store(self.now_ms(), Relaxed);
        }
        self.in_head.store(in_head, Relaxed);
        self.in_body.store(scan.in_body(), Relaxed);
    }
}

impl InFlight {
    pub(crate) fn watch(&self) -> &Arc<ConnectionWatch> {
        &self.0
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.moved();
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

/// A byte stream whose progress is noted. `scan` is `None` where the stream carries HTTP/2.
pub(crate) struct WatchedStream<I> {
    io: I,
    early: Bytes,
    scan: Option<HeadScan>,
    watch: Arc<ConnectionWatch>,
    /// What is left of interim answers that are being sent.
    interim: Bytes,
    /// HTTP/2: bytes that came since the connection was of use, when its figures were these.
    idle_bytes: usize,
    last_use: (u32, u32),
}

impl<I> WatchedStream<I> {
    /// `early` was read already and comes first.
    pub(crate) fn http1(
        io: I,
        early: Bytes,
        watch: Arc<ConnectionWatch>,
        head_bytes_max: usize,
    ) -> Self {
        let scan = Some(HeadScan::new(head_bytes_max));
        Self { io, early, scan, watch, interim: Bytes::new(), idle_bytes: 0, last_use: (0, 0) }
    }

    /// The same for HTTP/2, which has framing that needs no second reading.
    pub(crate) fn http2(io: I, early: Bytes, watch: Arc<ConnectionWatch>) -> Self {
        watch.in_head.store(false, Relaxed);
        Self {
            io,
            early,
            scan: None,
            watch,
            interim: Bytes::new(),
            idle_bytes: 0,
            last_use: (0, 0),
        }
    }

    fn note_read(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        // Answered pings are no sign that HTTP/2 is used: there, requests are.
        let Some(scan) = &mut self.scan else { return self.note_idle(bytes.len()) };
        self.watch.moved();
        if scan.in_body() {
            self.watch.end_wait(bytes.len());
        }
        let faults = scan.feed(bytes);
        self.watch.update_from_scan(scan);
        if faults == HeadFaults::NONE {
            return Ok(());
        }
        if faults.intersects(HeadFaults::CHUNK)
            && scan.heads() == self.watch.requests_started.load(Relaxed)
        {
            // Within a body whose handler runs: the body must break off, not end well. (A tunnel's
            // bytes may look like anything, but their requests never begin.)
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a malformed chunk size"));
        }
        self.watch.faults.fetch_or(faults.bits(), Relaxed);
        Ok(())
    }

    /// HTTP/2: so many bytes came. Frames that bring nothing forward have an end.
    fn note_idle(&mut self, bytes: usize) -> io::Result<()> {
        let now = (self.watch.requests_started.load(Relaxed), self.watch.bytes.load(Relaxed));
        if now != self.last_use || self.watch.tunnels.load(Relaxed) > 0 {
            (self.last_use, self.idle_bytes) = (now, 0);
        }
        self.watch.reads.store(self.watch.reads().wrapping_add(1), Relaxed);
        self.idle_bytes = self.idle_bytes.saturating_add(bytes);
        if self.idle_bytes > HTTP2_IDLE_BYTES_MAX {
            let why = "frames without end that bring nothing forward";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }

    fn note_write(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let waited = self.watch.write_waits.swap(outcome.is_pending(), Relaxed);
        match &outcome {
            // HTTP/2's frames are not all answers: its streams count for themselves.
            Poll::Ready(Ok(count)) => {
                let is_http1 = self.scan.is_some();
                if is_http1 || waited {
                    self.watch.moved();
                }
                self.watch.end_wait(if is_http1 { *count } else { 0 });
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.watch.start_wait(),
        }
        outcome
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WatchedStream<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let outcome = if this.early.is_empty() {
            Pin::new(&mut this.io).poll_read(cx, buf)
        } else {
            let now = this.early.len().min(buf.remaining());
            buf.put_slice(&this.early[..now]);
            this.early.advance(now);
            Poll::Ready(Ok(()))
        };
        this.watch.read_waits.store(outcome.is_pending(), Relaxed);
        if outcome.is_pending() && this.scan.as_ref().is_some_and(HeadScan::in_body) {
            this.watch.start_wait();
        }
        this.note_read(&buf.filled()[before..])?;
        outcome
    }
}

impl<I: AsyncWrite + Unpin> WatchedStream<I> {
    /// Sends on what has begun to leave ahead of an answer.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.interim.is_empty() {
            let outcome = Pin::new(&mut self.io).poll_write(cx, &self.interim);
            match ready!(self.note_write(outcome))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.interim.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_flush_io(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(cx);
        // A flush that is through says nothing new; one that waits does.
        if outcome.is_pending() {
            self.watch.write_waits.store(true, Relaxed);
            self.watch.start_wait();
        }
        outcome
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WatchedStream<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_interim(cx))?;
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note_write(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_interim(cx))?;
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        self.note_write(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// hyper asks for this when it has nothing more to write: all answers before have left then,
    /// and the next waits for what is to be ahead of it. Here and nowhere else that can be put
    /// between them.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_interim(cx))?;
        ready!(self.poll_flush_io(cx))?;
        if self.watch.poll_interim_sent().is_pending() {
            self.interim = self.watch.take_interim().into();
            ready!(self.poll_interim(cx))?;
            ready!(self.poll_flush_io(cx))?;
            self.watch.interim_pending.store(false, Relaxed);
            cx.waker().wake_by_ref();
        }
        self.watch.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
