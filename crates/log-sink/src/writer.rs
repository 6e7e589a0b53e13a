//! The thread that writes to a destination, and its queue.
//!
//! The queue is bounded in bytes; at the cap what comes is dropped and counted by lines. It formats
//! nothing. What is queued when the last log of a destination is closed is written first. All
//! writers of the program are known here, so that one signal reopens all of them.

use crate::destination::{DestinationKind, LogDestination};
use crate::output::LogOutput;
use crate::sink::{BufferedLines, LineBuffer, LineSeverity};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Bytes that may wait for the disk: some seconds of a busy server.
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// Age at which lines in the buffers of threads are fetched.
const FETCH_AFTER: Duration = Duration::from_secs(1);

/// Time between two complaints about lines that are lost.
const TELL_AGAIN: Duration = Duration::from_secs(10);

/// Writers that run, or still write what was left.
static WRITERS: Mutex<Vec<Arc<LogWriter>>> = Mutex::new(Vec::new());
/// Writers started so far: their numbers.
static STARTED: AtomicU64 = AtomicU64::new(0);
/// Lines that writers have dropped that are no more, by the kind of their destination.
static DROPPED_BEFORE: [AtomicU64; DestinationKind::ALL.len()] =
    [const { AtomicU64::new(0) }; DestinationKind::ALL.len()];

/// A destination's queue; its thread holds it too.
#[derive(Debug)]
pub(crate) struct LogWriter {
    pub(crate) number: u64,
    destination: LogDestination,
    queue: Mutex<WriterQueue>,
    arrived: Condvar,
    /// Told when everything queued is written.
    written: Condvar,
    /// True while lines wait in buffers of threads.
    gathering: AtomicBool,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct WriterQueue {
    /// Logs that write here.
    users: u32,
    buffers: Vec<Arc<LineBuffer>>,
    batches: Vec<(BufferedLines, LineSeverity)>,
    bytes: usize,
    wish: WriterWish,
    /// Rounds of the thread that were asked for, and that are done.
    rounds: (u64, u64),
}

/// A wish to the thread beside writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriterWish {
    #[default]
    None,
    Reopen,
}

impl LogWriter {
    /// The writer of a destination: the one that runs, or a new one.
    pub(crate) fn of(destination: &LogDestination) -> io::Result<Arc<Self>> {
        let mut all = writers();
        let known = all.iter().find(|writer| writer.destination == *destination && writer.join());
        if let Some(known) = known {
            return Ok(Arc::clone(known));
        }
        let output = destination.open()?;
        let writer = Arc::new(Self {
            number: STARTED.fetch_add(1, Ordering::Relaxed),
            destination: destination.clone(),
            queue: Mutex::new(WriterQueue { users: 1, ..WriterQueue::default() }),
            arrived: Condvar::new(),
            written: Condvar::new(),
            gathering: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&writer);
        Builder::new().name("log-writer".into()).spawn(move || theirs.write_all(output))?;
        all.push(Arc::clone(&writer));
        Ok(writer)
    }

    /// One more log writes here; false if the last one has left.
    fn join(&self) -> bool {
        let mut queue = self.lock();
        if queue.users > 0 {
            queue.users += 1;
        }
        queue.users > 0
    }

    /// A log writes here no more; the thread ends with the last.
    pub(crate) fn leave(&self) {
        self.lock().users -= 1;
        self.arrived.notify_one();
    }

    /// A buffer for the lines of one thread.
    pub(crate) fn new_buffer(&self) -> Arc<LineBuffer> {
        let buffer = Arc::new(LineBuffer::default());
        self.lock().buffers.push(Arc::clone(&buffer));
        buffer
    }

    /// Queues whole lines.
    pub(crate) fn take(&self, lines: BufferedLines, severity: LineSeverity) {
        let mut queue = self.lock();
        if queue.bytes + lines.bytes.len() > QUEUE_BYTES_MAX {
            self.dropped.fetch_add(lines.count, Ordering::Relaxed);
            return;
        }
        queue.bytes += lines.bytes.len();
        queue.batches.push((lines, severity));
        self.arrived.notify_one();
    }

    /// Has the thread fetch what is in the buffers, a second from now.
    pub(crate) fn fetch_later(&self) {
        if !self.gathering.swap(true, Ordering::AcqRel) {
            // Once a second at most. With the lock, so that a thread about to wait hears it.
            let _queue = self.lock();
            self.arrived.notify_one();
        }
    }

    /// Has the destination opened anew before the next line.
    pub(crate) fn reopen(&self) {
        let mut queue = self.lock();
        queue.wish = WriterWish::Reopen;
        self.ask_for_round(&mut queue);
    }

    /// Fetches what is in the buffers and waits until it is written, `patience` at most.
    pub(crate) fn finish(&self, patience: Duration) {
        let mut queue = self.lock();
        let round = self.ask_for_round(&mut queue);
        let is_awaited = |queue: &mut WriterQueue| queue.rounds.1 < round;
        // Whether it was in time or not, there is nothing more to be done.
        drop(self.written.wait_timeout_while(queue, patience, is_awaited));
    }

    /// Lines lost.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn ask_for_round(&self, queue: &mut WriterQueue) -> u64 {
        queue.rounds.0 += 1;
        self.arrived.notify_one();
        queue.rounds.0
    }

    fn lock(&self) -> MutexGuard<'_, WriterQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut output: LogOutput) {
        let mut fetched_at = Instant::now();
        let mut losses = ToldLosses::default();
        loop {
            let mut queue = self.wait_for_work(fetched_at);
            let batches = std::mem::take(&mut queue.batches);
            queue.bytes = 0;
            let wish = std::mem::take(&mut queue.wish);
            let (round, is_end) = (queue.rounds.0, queue.users == 0);
            let is_due = queue.rounds.1 < round || is_end;
            let mut gathered = Vec::new();
            if is_due || fetched_at.elapsed() >= FETCH_AFTER {
                self.gathering.store(false, Ordering::Release);
                gathered.extend(queue.buffers.iter().map(|buffer| buffer.fetch()));
                // A thread that has ended holds its buffer no more.
                queue.buffers.retain(|buffer| Arc::strong_count(buffer) > 1 && !is_end);
                fetched_at = Instant::now();
            }
            drop(queue);
            // Lines from before the wish belong to the old file.
            let gathered = gathered.into_iter().map(|lines| (lines, LineSeverity::Info));
            for (lines, severity) in batches.into_iter().chain(gathered) {
                if lines.count > 0 {
                    let lost = output.write(&lines.bytes, lines.count, severity);
                    self.dropped.fetch_add(lost, Ordering::Relaxed);
                }
            }
            if wish == WriterWish::Reopen {
                output.reopen(&self.destination);
            }
            losses.tell(self);
            self.lock().rounds.1 = round;
            self.written.notify_all();
            if is_end {
                return self.remove();
            }
        }
    }

    /// Waits until there is something to write, or to fetch from buffers.
    fn wait_for_work(&self, fetched_at: Instant) -> MutexGuard<'_, WriterQueue> {
        let mut queue = self.lock();
        loop {
            let is_asked = queue.rounds.1 < queue.rounds.0 || queue.users == 0;
            if !queue.batches.is_empty() || is_asked {
                return queue;
            }
            if !self.gathering.load(Ordering::Acquire) {
                queue = self.arrived.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let left = FETCH_AFTER.saturating_sub(fetched_at.elapsed());
            if left.is_zero() {
                return queue;
            }
            let waited = self.arrived.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn remove(&self) {
        // Under the lock, so that nobody counts its lines twice, or not at all.
        let mut writers = writers();
        writers.retain(|writer| writer.number != self.number);
        let before = &DROPPED_BEFORE[self.destination.kind() as usize];
        before.fetch_add(self.dropped(), Ordering::Relaxed);
    }
}

/// Losses that the program's log was told of.
#[derive(Debug, Default)]
struct ToldLosses {
    lines: u64,
    at: Option<Instant>,
}

impl ToldLosses {
    /// Tells how many lines were lost since the last time, now and then.
    fn tell(&mut self, writer: &LogWriter) {
        let (lines, is_recent) =
            (writer.dropped(), self.at.is_some_and(|at| at.elapsed() < TELL_AGAIN));
        if lines > self.lines && !is_recent {
            let (lost, place) = (lines - self.lines, &writer.destination);
            log::warn!(target: "logs", "{lost} lines for {place} were lost: it is slow, full or away");
            *self = Self { lines, at: Some(Instant::now()) };
        }
    }
}

fn writers() -> MutexGuard<'static, Vec<Arc<LogWriter>>> {
    WRITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has every log of the program opened anew: the files were moved away.
pub fn reopen_all() {
    writers().iter().for_each(|writer| writer.reopen());
}

/// Waits until everything that was logged is written, `patience` at most for all: for the end of
/// the program. Blocks its thread.
pub fn finish_all(patience: Duration) {
    let (all, until) = (writers().clone(), Instant::now() + patience);
    for writer in all {
        writer.finish(until.saturating_duration_since(Instant::now()));
    }
}

/// Lines that all logs of the program have lost since its start, by the kind of destination that
/// was slow, full or away.
pub fn lost_lines() -> [(DestinationKind, u64); DestinationKind::ALL.len()] {
    let writers = writers();
    DestinationKind::ALL.map(|kind| {
        let of_kind = writers.iter().filter(|writer| writer.destination.kind() == kind);
        let now: u64 = of_kind.map(|writer| writer.dropped()).sum();
        (kind, now + DROPPED_BEFORE[kind as usize].load(Ordering::Relaxed))
    })
}
