//! Sends of a core, gathered until nothing else is ready.
//!
//! Who computes between two sends finds the other end asleep at each, and waking it costs the
//! kernel as much as the send itself. So what a connection that has waited before writes goes to
//! the outbox of its core, which sends everything when the tasks that are ready by then have had
//! their turn: a lone answer goes out at once, for then nothing else is ready. Sixteen connections,
//! 64 KiB or thirty-two reads end the gathering sooner: they take 100 µs or so, and no clock is
//! asked. The turn of one task that computes for long, coding a body for example, is the longest
//! that anything waits.
//!
//! The bytes of a connection stay in order: a write that the outbox does not take sends first what
//! it holds, and nothing is written while the rest of what the socket had no room for is sent. A
//! connection that is dropped is closed after its last byte, and keeps its place under the caps
//! until then. Used by [`crate::stream`]; [`crate::Cores`] gathers on each of its threads, and
//! other threads send at once.

use crate::connection_limits::ConnectionPermit;
use crate::sys;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::cell::RefCell;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

/// Connections whose bytes wait together.
const ENTRIES_MAX: usize = 16;
/// Bytes of one connection that wait; a longer write goes out at once.
const ENTRY_BYTES_MAX: usize = 16 << 10;
/// Bytes that wait together.
const BYTES_MAX: usize = 64 << 10;
/// Reads, of any connections, that bytes wait for.
const READS_MAX: u32 = 32;
/// Time for which the other end of a connection that was dropped may take nothing of what its
/// socket had no room for. Until it is dropped, its door decides how long to wait.
const STALLED_MAX: Duration = Duration::from_secs(5);

/// Nothing of the connection waits.
const IDLE: u8 = 0;
/// Bytes wait in the outbox of its core.
const QUEUED: u8 = 1;
/// The socket had no room for all of them, and a task sends the rest.
const DRAINING: u8 = 2;
/// The same, and then the task ends the writing.
const DRAINING_TO_END: u8 = 3;
/// A send failed.
const FAILED: u8 = 4;

thread_local! {
    static OUTBOX: RefCell<Option<CoreOutbox>> = const { RefCell::new(None) };
}

/// A socket that the reactor knows, and what became of the bytes that were taken for it.
#[derive(Debug)]
pub(crate) struct GatheredSocket {
    fd: AsyncFd<OwnedFd>,
    /// One of the states above. Only its own core changes it.
    state: AtomicU8,
    /// The system's number of the send that failed.
    errno: AtomicI32,
    held: Mutex<HeldWhileSending>,
}

/// Holds what waits for the last byte.
#[derive(Debug, Default)]
struct HeldWhileSending {
    /// Task that is to write on.
    writer: Option<Waker>,
    /// Permit of a connection that was dropped.
    permit: Option<ConnectionPermit>,
}

/// Bytes that were taken of those that are to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GatheredWrite {
    /// All of them, so many.
    Taken(usize),
    /// Nothing, and nothing before them waits: they are to be sent at once.
    SendNow,
}

/// Bytes that wait on one core.
#[derive(Debug)]
struct CoreOutbox {
    entries: Vec<QueuedBytes>,
    /// Emptied buffers of earlier entries.
    spare: Vec<Vec<u8>>,
    bytes: usize,
    /// Reads since the first of them waits.
    reads: u32,
    /// Of [`OutboxFlusher`].
    task: Waker,
}

#[derive(Debug)]
struct QueuedBytes {
    socket: Arc<GatheredSocket>,
    bytes: Vec<u8>,
}

/// Gathers what its thread sends, while it lives: a task of each core.
///
/// The first bytes that are taken wake it, so that its turn comes after the tasks that are ready by
/// then: no later than that is everything sent, whatever becomes ready meanwhile.
#[derive(Debug)]
pub(crate) struct OutboxFlusher;

impl Future for OutboxFlusher {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        OUTBOX.with_borrow_mut(|open| match open {
            Some(outbox) => outbox.flush(),
            None => *open = Some(CoreOutbox::new(cx.waker().clone())),
        });
        Poll::Pending
    }
}

impl Drop for OutboxFlusher {
    /// The core is stopping: what it has gathered is sent, as far as the sockets have room.
    fn drop(&mut self) {
        let outbox = OUTBOX.with_borrow_mut(Option::take);
        for entry in outbox.into_iter().flat_map(|outbox| outbox.entries) {
            let _ = entry.socket.send(&entry.bytes);
        }
    }
}

/// Sends what this thread has gathered; waits for nothing.
fn flush() {
    OUTBOX.with_borrow_mut(|open| {
        if let Some(outbox) = open {
            outbox.flush();
        }
    });
}

/// Counts a read, and sends what this thread has gathered if it has waited for enough of them.
pub(crate) fn count_read() {
    OUTBOX.with_borrow_mut(|open| {
        if let Some(outbox) = open
            && !outbox.entries.is_empty()
        {
            outbox.reads += 1;
            if outbox.reads >= READS_MAX {
                outbox.flush();
            }
        }
    });
}

impl GatheredSocket {
    /// Registers `socket` with the reactor; it comes back on failure.
    pub(crate) fn register(socket: OwnedFd) -> Result<Arc<Self>, (OwnedFd, io::Error)> {
        Ok(Arc::new(Self {
            fd: sys::register(socket)?,
            state: AtomicU8::new(IDLE),
            errno: AtomicI32::new(0),
            held: Mutex::default(),
        }))
    }

    /// The socket as the reactor knows it.
    pub(crate) fn fd(&self) -> &AsyncFd<OwnedFd> {
        &self.fd
    }

    /// Takes `pieces` for the outbox of this core, or says that they are to be sent at once. Waits
    /// while the rest of earlier bytes is sent, and fails if they could not be.
    pub(crate) fn poll_write(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<GatheredWrite>> {
        ready!(self.poll_sent(cx))?;
        let written = OUTBOX.with_borrow_mut(|open| {
            open.as_mut().map_or(GatheredWrite::SendNow, |outbox| outbox.write(self, pieces))
        });
        if written == GatheredWrite::SendNow {
            // What was before them may not have found room.
            return self.poll_sent(cx).map_ok(|()| written);
        }
        Poll::Ready(Ok(written))
    }

    /// Waits while the rest of what the socket had no room for is sent. What the outbox holds is on
    /// its way.
    pub(crate) fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.state.load(Relaxed) {
            FAILED => Poll::Ready(Err(io::Error::from_raw_os_error(self.errno.load(Relaxed)))),
            DRAINING | DRAINING_TO_END => {
                self.held().writer = Some(cx.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    /// Ends the writing, after what was written.
    pub(crate) fn shutdown_write(&self) -> io::Result<()> {
        if self.state.load(Relaxed) == QUEUED {
            flush();
        }
        if self.state.load(Relaxed) == DRAINING {
            self.state.store(DRAINING_TO_END, Relaxed);
            return Ok(());
        }
        shutdown(self.fd.get_ref(), Shutdown::Write).map_err(Into::into)
    }

    /// Holds the permit of a connection that is dropped, until it is closed: after its last byte.
    pub(crate) fn keep_until_sent(&self, permit: &mut Option<ConnectionPermit>) {
        if !matches!(self.state.load(Relaxed), IDLE | FAILED) {
            self.held().permit = permit.take();
        }
    }

    fn held(&self) -> MutexGuard<'_, HeldWhileSending> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, bytes: &[u8]) -> rustix::io::Result<usize> {
        send(self.fd.get_ref(), bytes, SendFlags::NOSIGNAL)
    }

    fn fail(&self, why: &io::Error) {
        self.errno.store(why.raw_os_error().unwrap_or(Errno::PIPE.raw_os_error()), Relaxed);
        self.state.store(FAILED, Relaxed);
    }
}

impl AsFd for GatheredSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.get_ref().as_fd()
    }
}

impl CoreOutbox {
    fn new(task: Waker) -> Self {
        let (entries, spare) = (Vec::with_capacity(ENTRIES_MAX), Vec::with_capacity(ENTRIES_MAX));
        Self { entries, spare, bytes: 0, reads: 0, task }
    }

    /// Takes `pieces`, or sends what waits of their socket.
    fn write(&mut self, socket: &Arc<GatheredSocket>, pieces: &[IoSlice<'_>]) -> GatheredWrite {
        let count = pieces.iter().map(|piece| piece.len()).sum();
        let waiting = match socket.state.load(Relaxed) {
            QUEUED => self.entries.iter().position(|it| Arc::ptr_eq(&it.socket, socket)),
            _ => None,
        };
        let before = waiting.map_or(0, |at| self.entries[at].bytes.len());
        if before + count > ENTRY_BYTES_MAX {
            if let Some(at) = waiting {
                self.bytes -= before;
                let entry = self.entries.swap_remove(at);
                self.send(entry);
            }
            return GatheredWrite::SendNow;
        }
        let at = waiting.unwrap_or_else(|| self.begin(socket));
        for piece in pieces {
            self.entries[at].bytes.extend_from_slice(piece);
        }
        self.bytes += count;
        if self.entries.len() == ENTRIES_MAX || self.bytes >= BYTES_MAX {
            self.flush();
        }
        GatheredWrite::Taken(count)
    }

    /// A new entry of `socket`, by its place.
    fn begin(&mut self, socket: &Arc<GatheredSocket>) -> usize {
        if self.entries.is_empty() {
            self.reads = 0;
            self.task.wake_by_ref();
        }
        socket.state.store(QUEUED, Relaxed);
        let bytes = self.spare.pop().unwrap_or_default();
        self.entries.push(QueuedBytes { socket: Arc::clone(socket), bytes });
        self.entries.len() - 1
    }

    fn flush(&mut self) {
        self.bytes = 0;
        let mut entries = std::mem::take(&mut self.entries);
        for entry in entries.drain(..) {
            self.send(entry);
        }
        self.entries = entries;
    }

    /// Sends what the socket has room for; a task sends the rest.
    fn send(&mut self, mut entry: QueuedBytes) {
        let sent = match entry.socket.send(&entry.bytes) {
            Ok(sent) => sent,
            Err(Errno::AGAIN) => 0,
            Err(why) => return entry.socket.fail(&why.into()),
        };
        if sent == entry.bytes.len() {
            entry.socket.state.store(IDLE, Relaxed);
            entry.bytes.clear();
            self.spare.push(entry.bytes);
            return;
        }
        entry.socket.state.store(DRAINING, Relaxed);
        entry.bytes.drain(..sent);
        tokio::task::spawn_local(entry.drain());
    }
}

impl QueuedBytes {
    /// Sends everything as the socket finds room, and wakes whoever waits to write on.
    async fn drain(self) {
        let socket = self.socket;
        let outcome = send_all(&socket, &self.bytes).await;
        let ends = socket.state.load(Relaxed) == DRAINING_TO_END;
        match outcome {
            Ok(()) => socket.state.store(IDLE, Relaxed),
            Err(why) => socket.fail(&why),
        }
        if ends {
            // The other end may be gone, which says the same.
            let _ = shutdown(socket.as_fd(), Shutdown::Write);
        }
        let writer = socket.held().writer.take();
        if let Some(writer) = writer {
            writer.wake();
        }
    }
}

async fn send_all(socket: &Arc<GatheredSocket>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let Ok(ready) = tokio::time::timeout(STALLED_MAX, socket.fd.writable()).await else {
            if Arc::strong_count(socket) == 1 {
                return Err(Errno::TIMEDOUT.into());
            }
            continue;
        };
        let mut room = ready?;
        match room.try_io(|_| socket.send(bytes).map_err(Into::into)) {
            Ok(sent) => bytes = &bytes[sent?..],
            Err(_would_block) => {}
        }
    }
    Ok(())
}
