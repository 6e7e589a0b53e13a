//! One HTTP/2 stream seen from outside: whether the client keeps it waiting.
//!
//! A client may stall one stream while the socket flows, pings are answered and other streams live,
//! so the connection's own figures say nothing of it. [`StreamPace`] is what a stream's bodies note
//! of themselves; its task ([`crate::http2::stream`]) holds the notes against [`crate::timeouts`],
//! and cuts the stream. A stream whose answer went at once has none. It never touches the
//! connection.

use crate::timeouts::{AwaitedEvent, ConnectionStanding};
use crate::watch::{ConnectionWatch, InFlight};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use tokio::time::Instant;

/// One stream. Touched by one thread only; a lock because bodies of requests may be sent.
pub(crate) struct StreamPace {
    watch: Arc<ConnectionWatch>,
    notes: Mutex<PaceNotes>,
}

/// Holds what is noted of a stream.
struct PaceNotes {
    /// The request counts as in flight until both bodies are done with, or the stream is cut.
    busy: Option<InFlight>,
    progress: u32,
    bytes: u32,
    waited_ms: u32,
    /// Answers, and pieces of them, for which the client is to make room.
    sends_pending: u32,
    upload: UploadProgress,
    /// Since when the client is waited for.
    waiting_since: Option<Instant>,
    /// Told when the last room is made: all that is left of a stream whose answer is handed on.
    sent_waker: Option<Waker>,
}

/// Tells how far the request's body is.
enum UploadProgress {
    /// Nobody has asked for it, or it is over.
    Idle,
    /// What came was taken, and the client owes more.
    Within,
    /// The client owes what this one waits for.
    WaitingForClient(Waker),
    /// The stream was cut: no more of it is given.
    Cut,
}

/// Tells whether a body may be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyCourse {
    Open,
    Cut,
}

impl StreamPace {
    pub(crate) fn new(busy: InFlight) -> Arc<Self> {
        let watch = Arc::clone(busy.watch());
        let notes = PaceNotes {
            busy: Some(busy),
            progress: 0,
            bytes: 0,
            waited_ms: 0,
            sends_pending: 0,
            upload: UploadProgress::Idle,
            waiting_since: None,
            sent_waker: None,
        };
        Arc::new(Self { watch, notes: Mutex::new(notes) })
    }

    /// The connection that it is on.
    pub(crate) fn watch(&self) -> &Arc<ConnectionWatch> {
        &self.watch
    }

    /// One more answer, or piece of it, waits for the client to make room.
    fn send_queued(&self) {
        let mut notes = self.notes();
        notes.sends_pending += 1;
        notes.update_wait();
    }

    /// It has been sent, or given up.
    fn send_done(&self) {
        let mut notes = self.notes();
        notes.sends_pending -= 1;
        notes.update_wait();
        if notes.sends_pending > 0 {
            return;
        }
        if let Some(watcher) = notes.sent_waker.take() {
            drop(notes);
            watcher.wake();
        }
    }

    /// The client made room for `bytes` of an answer.
    fn took(&self, bytes: usize) {
        self.notes().moved(bytes);
        self.watch.stream_took(bytes);
    }

    /// The request's body has nothing at hand; `reader` waits for more.
    pub(crate) fn upload_waits(&self, reader: &Waker) {
        let mut notes = self.notes();
        if !matches!(notes.upload, UploadProgress::Cut) {
            notes.upload = UploadProgress::WaitingForClient(reader.clone());
        }
        notes.update_wait();
    }

    /// `bytes` of the request's body came.
    pub(crate) fn upload_received(&self, bytes: usize) {
        let mut notes = self.notes();
        notes.moved(bytes);
        notes.upload_is(UploadProgress::Within);
        self.watch.stream_received(bytes);
    }

    /// The request's body is over, or nobody reads it any more.
    pub(crate) fn upload_over(&self) {
        self.notes().upload_is(UploadProgress::Idle);
    }

    /// True if all of the answer has left; if not, `watcher` is woken when it has.
    pub(crate) fn is_sent(&self, watcher: &Waker) -> bool {
        let mut notes = self.notes();
        if notes.sends_pending > 0 {
            notes.sent_waker = Some(watcher.clone());
        }
        notes.sends_pending == 0
    }

    /// Returns whether the request's body may be read on.
    pub(crate) fn body_course(&self) -> BodyCourse {
        if matches!(self.notes().upload, UploadProgress::Cut) {
            BodyCourse::Cut
        } else {
            BodyCourse::Open
        }
    }

    /// Returns how the stream stands.
    pub(crate) fn status(&self) -> ConnectionStanding {
        let notes = self.notes();
        let awaits = match notes.upload {
            _ if notes.sends_pending > 0 => AwaitedEvent::Client,
            UploadProgress::WaitingForClient(_) => AwaitedEvent::Client,
            UploadProgress::Within => AwaitedEvent::ServerMidBody,
            UploadProgress::Idle | UploadProgress::Cut => AwaitedEvent::Response,
        };
        ConnectionStanding {
            progress: notes.progress,
            waiting_for: awaits,
            messages: 0,
            bytes: notes.bytes,
            waited_ms: notes.waited_ms.wrapping_add(notes.waiting_ms()),
        }
    }

    /// The stream is cut: it counts no more, and whoever still reads its body is told.
    pub(crate) fn cut(&self) {
        let mut notes = self.notes();
        let upload = std::mem::replace(&mut notes.upload, UploadProgress::Cut);
        notes.busy = None;
        drop(notes);
        if let UploadProgress::WaitingForClient(reader) = upload {
            reader.wake();
        }
    }

    fn notes(&self) -> MutexGuard<'_, PaceNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PaceNotes {
    fn moved(&mut self, bytes: usize) {
        self.progress = self.progress.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes as u32);
    }

    fn upload_is(&mut self, upload: UploadProgress) {
        if !matches!(self.upload, UploadProgress::Cut) {
            self.upload = upload;
        }
        self.update_wait();
    }

    /// Begins or ends the time for which the client is waited for.
    fn update_wait(&mut self) {
        if self.sends_pending > 0 || matches!(self.upload, UploadProgress::WaitingForClient(_)) {
            self.waiting_since.get_or_insert_with(Instant::now);
        } else {
            self.waited_ms = self.waited_ms.wrapping_add(self.waiting_ms());
            self.waiting_since = None;
        }
    }

    fn waiting_ms(&self) -> u32 {
        self.waiting_since.map_or(0, |since| since.elapsed().as_millis() as u32)
    }
}

/// The next move is the client's while this lives.
pub(crate) struct ClientDue(Arc<StreamPace>);

impl ClientDue {
    pub(crate) fn new(stream: &Arc<StreamPace>) -> Self {
        stream.send_queued();
        Self(Arc::clone(stream))
    }

    /// The client made room for `bytes`.
    pub(crate) fn took(&self, bytes: usize) {
        self.0.took(bytes);
    }
}

impl Drop for ClientDue {
    fn drop(&mut self) {
        self.0.send_done();
    }
}
