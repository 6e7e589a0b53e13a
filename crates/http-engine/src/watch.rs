//! One connection seen from outside: how far it is, and whether the client keeps it waiting.
//!
//! [`Guarded`] passes bytes through and notes progress; [`Watch`] is what it notes;
//! [`Patience`] decides, at each tick of one lazy timer per connection, whether to wait on. hyper's
//! own head timer would cost an allocation and a timer entry per request, and would count idle
//! time between requests as a slow head.

use crate::limits::Limits;
use crate::scan::{Faults, HeadScan};
use bytes::{Buf, Bytes};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// What is known of a connection. All of it is touched by one thread only; atomics because hyper
/// wants streams that may be sent.
#[derive(Debug)]
pub(crate) struct Watch {
    started: Instant,
    progress: AtomicU32,
    head_since_ms: AtomicU32,
    in_head: AtomicBool,
    in_body: AtomicBool,
    read_waits: AtomicBool,
    write_waits: AtomicBool,
    in_flight: AtomicU32,
    faults: AtomicU8,
}

/// Counts a request as in flight while it lives.
pub(crate) struct InFlight(Arc<Watch>);

impl Watch {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            progress: AtomicU32::new(0),
            head_since_ms: AtomicU32::new(0),
            // The first head is due from the start, though not a byte of it has come.
            in_head: AtomicBool::new(true),
            in_body: AtomicBool::new(false),
            read_waits: AtomicBool::new(false),
            write_waits: AtomicBool::new(false),
            in_flight: AtomicU32::new(0),
            faults: AtomicU8::new(0),
        }
    }

    /// The faults found since last asked.
    pub(crate) fn take_faults(&self) -> Faults {
        Faults::from_bits(self.faults.swap(0, Relaxed))
    }

    pub(crate) fn begin_request(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Relaxed);
        InFlight(Arc::clone(self))
    }

    /// How the connection stands.
    pub(crate) fn standing(&self) -> Standing {
        let busy = self.in_flight.load(Relaxed) > 0;
        let owes = self.in_body.load(Relaxed) && self.read_waits.load(Relaxed);
        let awaits = if !busy && self.in_head.load(Relaxed) {
            let since = Duration::from_millis(self.head_since_ms.load(Relaxed).into());
            Awaits::Head { since: self.started + since }
        } else if owes || self.write_waits.load(Relaxed) {
            Awaits::Client
        } else if busy {
            Awaits::Us
        } else {
            Awaits::Request
        };
        Standing { progress: self.progress.load(Relaxed), awaits }
    }

    fn moved(&self) {
        self.progress.store(self.progress.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// After reading: where the connection stands now.
    fn stands(&self, scan: &HeadScan) {
        let in_head = scan.in_head();
        if in_head && !self.in_head.load(Relaxed) {
            self.head_since_ms.store(self.started.elapsed().as_millis() as u32, Relaxed);
        }
        self.in_head.store(in_head, Relaxed);
        self.in_body.store(scan.in_body(), Relaxed);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}

/// A byte stream whose progress is noted. `scan` is `None` where the stream carries HTTP/2.
pub(crate) struct Guarded<I> {
    io: I,
    early: Bytes,
    scan: Option<HeadScan>,
    watch: Arc<Watch>,
}

impl<I> Guarded<I> {
    /// `early` was read already and comes first.
    pub(crate) fn http1(io: I, early: Bytes, watch: Arc<Watch>) -> Self {
        Self { io, early, scan: Some(HeadScan::new()), watch }
    }

    /// The same for HTTP/2, which has framing that needs no second reading.
    pub(crate) fn http2(io: I, early: Bytes, watch: Arc<Watch>) -> Self {
        watch.in_head.store(false, Relaxed);
        Self { io, early, scan: None, watch }
    }

    fn note_read(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.watch.moved();
        if let Some(scan) = &mut self.scan {
            let faults = scan.feed(bytes);
            if faults != Faults::NONE {
                self.watch.faults.fetch_or(faults.bits(), Relaxed);
            }
            self.watch.stands(scan);
        }
    }

    fn note_write<T>(&self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        self.watch.write_waits.store(outcome.is_pending(), Relaxed);
        if outcome.is_ready() {
            self.watch.moved();
        }
        outcome
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Guarded<I> {
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
        this.note_read(&buf.filled()[before..]);
        outcome
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Guarded<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note_write(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        self.note_write(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.io).poll_flush(cx);
        // A flush that is through says nothing new; one that waits does.
        if outcome.is_pending() {
            self.watch.write_waits.store(true, Relaxed);
        }
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// How a connection stands at a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// Changes with every sign of life.
    pub(crate) progress: u32,
    pub(crate) awaits: Awaits,
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// The end of a head, since then.
    Head { since: Instant },
    /// That the client takes what is written, or sends what it owes.
    Client,
    /// The next request.
    Request,
    /// An answer of ours.
    Us,
}

/// What to do at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Look again then.
    Wait(Instant),
    /// Nothing has happened for long: close when nothing is going on.
    Close,
    /// The head of a request does not end.
    HeadTooSlow,
    /// The client neither takes what is written nor sends what it owes.
    Stalled,
}

/// How long a connection has been quiet, judged at ticks.
#[derive(Debug)]
pub(crate) struct Patience {
    progress: u32,
    quiet_since: Instant,
}

impl Patience {
    pub(crate) fn new(now: Instant) -> Self {
        Self { progress: 0, quiet_since: now }
    }

    /// Judges the connection. Quiet time is known to within one tick, which is the head timeout.
    pub(crate) fn judge(&mut self, standing: Standing, limits: &Limits, now: Instant) -> Next {
        if standing.progress != self.progress {
            self.progress = standing.progress;
            self.quiet_since = now;
        }
        let quiet = now.duration_since(self.quiet_since);
        match standing.awaits {
            Awaits::Head { since } => {
                let due = since + limits.header_timeout;
                return if now >= due { Next::HeadTooSlow } else { Next::Wait(due) };
            }
            Awaits::Client if quiet >= limits.stall_timeout => return Next::Stalled,
            Awaits::Request if quiet >= limits.idle_timeout => return Next::Close,
            Awaits::Client | Awaits::Request | Awaits::Us => {}
        }
        Next::Wait(now + limits.header_timeout)
    }
}
