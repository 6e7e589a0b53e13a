//! A log as its users have it: lines are put into a buffer of the thread, or queued at once.
//!
//! A thread's buffer goes to the writer when it is full or a second old; the writer fetches it, so
//! that a thread with nothing to do need not wake. Nobody waits for a disk or a server.

use crate::destination::LogDestination;
use crate::writer::LogWriter;
use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A thread's buffer is handed over when it holds so many bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// Severity of a line, as syslog and the journal count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineSeverity {
    /// 3.
    Error,
    /// 4.
    Warning,
    /// 6.
    Info,
    /// 7.
    Debug,
}

impl LineSeverity {
    /// The number (RFC 5424 §6.2.1).
    pub const fn code(self) -> u8 {
        match self {
            Self::Error => 3,
            Self::Warning => 4,
            Self::Info => 6,
            Self::Debug => 7,
        }
    }
}

/// A log. Logs of one destination share its writer, which ends with the last of them.
#[derive(Debug)]
pub struct LogSink {
    writer: Arc<LogWriter>,
}

/// Lines of one log on one thread, shared with the writer.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    lines: Mutex<BufferedLines>,
}

/// Whole lines.
#[derive(Debug, Default)]
pub(crate) struct BufferedLines {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u64,
}

thread_local! {
    /// Buffers of this thread, by the number of their writer.
    static BUFFERS: RefCell<Vec<(u64, Arc<LineBuffer>)>> = const { RefCell::new(Vec::new()) };
}

impl LogSink {
    /// Opens the destination and starts its writer, unless it has one already.
    pub fn open(destination: &LogDestination) -> io::Result<Self> {
        LogWriter::of(destination).map(|writer| Self { writer })
    }

    /// Has `write` append one line, with its line feed, to this thread's buffer.
    pub fn write(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let number = self.writer.number;
        BUFFERS.with_borrow_mut(|all| {
            let place = all.iter().position(|(of, _)| *of == number).unwrap_or_else(|| {
                // Those of writers that have ended, which nobody else has any more.
                all.retain(|(_, buffer)| Arc::strong_count(buffer) > 1);
                all.push((number, self.writer.new_buffer()));
                all.len() - 1
            });
            let mut lines = all[place].1.lock();
            write(&mut lines.bytes);
            lines.count += 1;
            if lines.bytes.len() >= BUFFER_BYTES {
                let full = std::mem::take(&mut *lines);
                // The next fills as fast.
                lines.bytes.reserve_exact(BUFFER_BYTES + (BUFFER_BYTES >> 3));
                drop(lines);
                self.writer.take(full, LineSeverity::Info);
            } else {
                let is_first = lines.count == 1;
                drop(lines);
                if is_first {
                    self.writer.fetch_later();
                }
            }
        });
    }

    /// Queues one line, with its line feed, at once.
    pub fn write_now(&self, line: Vec<u8>, severity: LineSeverity) {
        self.writer.take(BufferedLines { bytes: line, count: 1 }, severity);
    }

    /// Opens the file anew: the old one was moved away.
    pub fn reopen(&self) {
        self.writer.reopen();
    }

    /// Fetches what threads have gathered and waits until it is written, `patience` at most.
    pub fn finish(&self, patience: Duration) {
        self.writer.finish(patience);
    }

    /// Lines that were dropped because the disk or the server was too slow, full or not there.
    pub fn dropped(&self) -> u64 {
        self.writer.dropped()
    }
}

impl Drop for LogSink {
    fn drop(&mut self) {
        self.writer.leave();
    }
}

impl LineBuffer {
    fn lock(&self) -> MutexGuard<'_, BufferedLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything in it.
    pub(crate) fn fetch(&self) -> BufferedLines {
        std::mem::take(&mut *self.lock())
    }
}

#[cfg(test)]
mod tests;
