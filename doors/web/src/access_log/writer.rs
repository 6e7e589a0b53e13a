//! The thread that writes a log, and its queue.
//!
//! Bounded in bytes; at the cap what comes is dropped and counted by lines. It formats nothing.
//! What is queued when the log is closed is written first. Called by `access_log`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Bytes that may wait for the disk: some seconds of a busy server.
const QUEUE_BYTES_MAX: usize = 8 << 20;
/// The file that stands for the standard output.
const STANDARD_OUTPUT: &str = "stdout";

/// A log's queue and its thread.
pub(crate) struct LogWriter {
    shared: Arc<LogShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct LogShared {
    queue: Mutex<LogQueue>,
    arrived: Condvar,
    /// Told when everything queued is written.
    written: Condvar,
    dropped: AtomicU64,
    retired: AtomicBool,
    target: LogTarget,
}

#[derive(Default)]
struct LogQueue {
    batches: Vec<(Vec<u8>, u64)>,
    bytes: usize,
    /// Bytes that are being written.
    writing: usize,
    reopen: WriterCommand,
    end: WriterCommand,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriterCommand {
    #[default]
    No,
    Yes,
}

enum LogTarget {
    File(PathBuf),
    Output,
}

impl LogWriter {
    /// Opens the file and starts the thread.
    pub(crate) fn start(file: &str, base: &Path) -> io::Result<Arc<Self>> {
        let target = if file == STANDARD_OUTPUT {
            LogTarget::Output
        } else {
            LogTarget::File(base.join(file))
        };
        let first = target.open()?;
        let shared = Arc::new(LogShared {
            queue: Mutex::default(),
            arrived: Condvar::new(),
            written: Condvar::new(),
            dropped: AtomicU64::new(0),
            retired: AtomicBool::new(false),
            target,
        });
        let theirs = Arc::clone(&shared);
        let thread =
            Builder::new().name("access-log".into()).spawn(move || theirs.write_all(first))?;
        Ok(Arc::new(Self { shared, thread: Mutex::new(Some(thread)) }))
    }

    /// Queues `count` whole lines.
    pub(crate) fn take(&self, lines: Vec<u8>, count: u64) {
        let mut queue = self.shared.lock();
        if queue.bytes + lines.len() > QUEUE_BYTES_MAX {
            self.shared.dropped.fetch_add(count, Relaxed);
            return;
        }
        queue.bytes += lines.len();
        queue.batches.push((lines, count));
        self.shared.arrived.notify_one();
    }

    /// Has the file opened anew before the next line.
    pub(crate) fn reopen(&self) {
        self.shared.lock().reopen = WriterCommand::Yes;
        self.shared.arrived.notify_one();
    }

    /// Waits until what is queued is written, `patience` at most.
    pub(crate) fn wait_until_written(&self, patience: Duration) {
        let busy = |queue: &mut LogQueue| queue.bytes > 0 || queue.writing > 0;
        // Whether it was in time or not, there is nothing more to be done.
        drop(self.shared.written.wait_timeout_while(self.shared.lock(), patience, busy));
    }

    /// No site writes to it any more: the cores hand over what they have and forget it.
    pub(crate) fn retire(&self) {
        self.shared.retired.store(true, Relaxed);
    }

    /// True if a site still writes to it.
    pub(crate) fn is_used(&self) -> bool {
        !self.shared.retired.load(Relaxed)
    }

    /// Lines lost.
    pub(crate) fn dropped(&self) -> u64 {
        self.shared.dropped.load(Relaxed)
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.shared.lock().end = WriterCommand::Yes;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // What the thread could not write is counted; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

impl LogShared {
    fn lock(&self) -> MutexGuard<'_, LogQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, mut open: LogOutput) {
        loop {
            let (batches, reopen, end) = {
                let idle = |queue: &mut LogQueue| {
                    queue.batches.is_empty()
                        && queue.reopen == WriterCommand::No
                        && queue.end == WriterCommand::No
                };
                let queue = self.lock();
                let mut queue =
                    self.arrived.wait_while(queue, idle).unwrap_or_else(PoisonError::into_inner);
                queue.writing = std::mem::take(&mut queue.bytes);
                let reopen = std::mem::take(&mut queue.reopen);
                (std::mem::take(&mut queue.batches), reopen, queue.end)
            };
            // Lines from before the wish belong to the old file.
            for (lines, count) in batches {
                if open.write_all(&lines).is_err() {
                    self.dropped.fetch_add(count, Relaxed);
                }
            }
            if reopen == WriterCommand::Yes
                && let Ok(fresh) = self.target.open()
            {
                open = fresh;
            }
            if end == WriterCommand::Yes && self.lock().batches.is_empty() {
                return;
            }
        }
    }
}

enum LogOutput {
    File(File),
    Standard(io::Stdout),
}

impl LogOutput {
    fn write_all(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(lines),
            Self::Standard(output) => {
                output.write_all(lines)?;
                output.flush()
            }
        }
    }
}

impl LogTarget {
    fn open(&self) -> io::Result<LogOutput> {
        match self {
            Self::File(path) => {
                OpenOptions::new().create(true).append(true).open(path).map(LogOutput::File)
            }
            Self::Output => Ok(LogOutput::Standard(io::stdout())),
        }
    }
}
