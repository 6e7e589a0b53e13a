//! One HTTP/2 stream seen from outside: whether the client keeps it waiting, and its end if so.
//!
//! A client may stall one stream while the socket flows, pings are answered and other streams live,
//! so the connection's own figures say nothing of it. [`StreamPace`] is what a stream's bodies note
//! of themselves; [`StreamExec`] runs each stream as a task that holds the notes against
//! [`crate::timeouts`], and drops the stream, which resets it, when that is at its end. It never
//! touches the connection. Called by [`crate::serve`] for HTTP/2 only.

use crate::limits::Limits;
use crate::timeouts::{AwaitedEvent, ConnectionPatience, ConnectionStanding, TickAction};
use crate::watch::{ConnectionWatch, InFlight};
use hyper::rt::Executor;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use tokio::time::{Instant, Sleep, sleep};

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

thread_local! {
    /// The stream whose task is running: its request says so at its first step.
    static RUNNING: RefCell<Option<Arc<StreamPace>>> = const { RefCell::new(None) };
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
    pub(crate) fn watch(&self) -> &ConnectionWatch {
        &self.watch
    }

    /// Makes the running task the one that watches over this stream.
    pub(crate) fn bind_to_current_task(self: &Arc<Self>) {
        RUNNING.set(Some(Arc::clone(self)));
    }

    /// One more answer, or piece of it, waits for the client to make room.
    pub(crate) fn send_queued(&self) {
        let mut notes = self.notes();
        notes.sends_pending += 1;
        notes.update_wait();
    }

    /// It has been sent, or given up.
    pub(crate) fn send_done(&self) {
        let mut notes = self.notes();
        notes.sends_pending -= 1;
        notes.update_wait();
        if notes.sends_pending > 0 {
            return;
        }
        if notes.busy.is_none() {
            self.watch.stream_unstuck();
        }
        if let Some(watcher) = notes.sent_waker.take() {
            drop(notes);
            watcher.wake();
        }
    }

    /// The client made room for `bytes` of an answer.
    pub(crate) fn took(&self, bytes: usize) {
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

    fn status(&self) -> ConnectionStanding {
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

    /// The stream was dropped; whoever still reads its body is told. Pieces that h2 has queued and
    /// the client takes no byte of stay there, and the reset behind them: the connection counts
    /// those.
    fn cut(&self) {
        let mut notes = self.notes();
        let upload = std::mem::replace(&mut notes.upload, UploadProgress::Cut);
        notes.busy = None;
        if notes.sends_pending > 0 {
            self.watch.stream_stuck();
        }
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

/// Runs hyper's tasks on the current thread, and cuts the streams among them that keep us waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamExec(pub(crate) Limits);

impl<F: Future + 'static> Executor<F> for StreamExec {
    fn execute(&self, task: F) {
        tokio::task::spawn_local(enforce_min_rate(task, self.0));
    }
}

/// Runs `stream` until all of it is sent, or drops it.
async fn enforce_min_rate(stream: impl Future, limits: Limits) {
    if let Some(pace) = run(stream, limits).await {
        pace.cut();
    }
}

/// Runs `stream`; gives its pace if it did not come to its end, and is no more. hyper is done with
/// a stream when h2 has the last piece of its answer: that piece is waited for too.
async fn run(stream: impl Future, limits: Limits) -> Option<Arc<StreamPace>> {
    let mut stream = Some(Box::pin(stream));
    let mut watched: Option<Arc<StreamPace>> = None;
    let mut patience = ConnectionPatience::new(&limits, Instant::now());
    let mut tick: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|cx| {
        if let Some(running) = &mut stream {
            RUNNING.set(watched.take());
            let done = running.as_mut().poll(cx).is_ready();
            watched = RUNNING.take();
            if done {
                stream = None;
            }
        }
        let Some(pace) = &watched else {
            return if stream.is_none() { Poll::Ready(None) } else { Poll::Pending };
        };
        if stream.is_none() && pace.is_sent(cx.waker()) {
            return Poll::Ready(None);
        }
        let tick = tick.get_or_insert_with(|| Box::pin(sleep(limits.header_timeout)));
        while tick.as_mut().poll(cx).is_ready() {
            match patience.check(pace.status(), &limits, Instant::now()) {
                TickAction::Wait(until) => tick.as_mut().reset(until),
                TickAction::Close
                | TickAction::HeadTooSlow
                | TickAction::Stalled
                | TickAction::TooSlow => {
                    return Poll::Ready(watched.take());
                }
            }
        }
        Poll::Pending
    })
    .await
}
