//! Access logs: a line a request, written by a thread of its own.
//!
//! A core formats into its own buffer and hands it over when it is full or a second old; it never
//! waits for the disk. When the writer is behind by more than it may be, lines are dropped and
//! counted. Files are opened anew when they are told to, so that they can be rotated. Called by
//! `request`, which makes an [`AccessLogEntry`] of every request that is done.

mod line;
mod settings;
mod writer;

pub(crate) use self::line::{AccessLogEntry, protocol};
pub use self::settings::{AccessLogChoice, AccessLogSettings, LogFormat};

use self::line::DateKept;
use self::writer::LogWriter;
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A core's buffer is handed over when it holds so many bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Or when its first line is so old, in milliseconds.
const FLUSH_AFTER_MS: u64 = 1000;

/// The log of a site.
pub(crate) struct AccessLog {
    number: u64,
    format: LogFormat,
    writer: Arc<LogWriter>,
}

/// The lines of one log on one core.
struct LineBuffer {
    log: u64,
    writer: Arc<LogWriter>,
    lines: Vec<u8>,
    count: u64,
    since_ms: u64,
}

/// All buffers of a core. Dropped with the core's thread, they are handed over.
#[derive(Default)]
struct CoreBuffers {
    all: Vec<LineBuffer>,
    date: DateKept,
}

thread_local! {
    static BUFFERS: RefCell<CoreBuffers> = RefCell::default();
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl AccessLog {
    /// Opens the file, relative to `base`, and starts its writer.
    pub(crate) fn open(settings: &AccessLogSettings, base: &Path) -> io::Result<Self> {
        let number = NUMBERS.fetch_add(1, Relaxed);
        Ok(Self {
            number,
            format: settings.format,
            writer: LogWriter::start(&settings.file, base)?,
        })
    }

    /// Writes one line, to the core's buffer. `mono_ms` is the door's steady clock.
    pub(crate) fn write(&self, entry: &AccessLogEntry<'_>, mono_ms: u64) {
        BUFFERS.with_borrow_mut(|CoreBuffers { all, date }| {
            let place = all.iter().position(|buffer| buffer.log == self.number);
            let place = place.unwrap_or_else(|| {
                all.push(LineBuffer::new(self.number, &self.writer, mono_ms));
                all.len() - 1
            });
            let buffer = &mut all[place];
            if buffer.lines.is_empty() {
                buffer.since_ms = mono_ms;
                flush_later();
            }
            line::write(&mut buffer.lines, self.format, entry, date);
            buffer.count += 1;
            let is_old = mono_ms >= buffer.since_ms.saturating_add(FLUSH_AFTER_MS);
            if is_old || buffer.lines.len() >= BUFFER_BYTES {
                buffer.hand_over();
            }
        });
    }

    /// Opens the file anew: the old one was moved away.
    pub(crate) fn reopen(&self) {
        self.writer.reopen();
    }

    /// Waits until what was handed over is written, `patience` at most.
    pub(crate) fn wait_until_written(&self, patience: Duration) {
        self.writer.wait_until_written(patience);
    }

    /// Lines that were dropped because the disk was too slow, or full.
    pub(crate) fn dropped(&self) -> u64 {
        self.writer.dropped()
    }
}

/// Hands over what this core has gathered for a second or longer: called about once a second, for a
/// core with nothing to do must not keep its last lines.
///
/// At the end of the program every core calls it with `u64::MAX`, which hands over everything.
pub(crate) fn flush_core(mono_ms: u64) {
    BUFFERS.with_borrow_mut(|buffers| {
        // A log that no site has any more is written to its end, and its buffers go.
        buffers.all.retain(|buffer| buffer.writer.is_used());
        for buffer in &mut buffers.all {
            if mono_ms >= buffer.since_ms.saturating_add(FLUSH_AFTER_MS) {
                buffer.hand_over();
            }
        }
    });
}

/// A core with nothing to do must not keep its last lines: the first of a buffer sets an alarm.
fn flush_later() {
    // Off a core (a test) there is nobody to wake: whoever writes there flushes.
    if tokio::runtime::Handle::try_current().is_ok() {
        tokio::task::spawn_local(async {
            tokio::time::sleep(Duration::from_millis(FLUSH_AFTER_MS)).await;
            flush_core(u64::MAX);
        });
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.writer.retire();
    }
}

impl LineBuffer {
    fn new(log: u64, writer: &Arc<LogWriter>, since_ms: u64) -> Self {
        let writer = Arc::clone(writer);
        Self { log, writer, lines: Vec::with_capacity(BUFFER_BYTES), count: 0, since_ms }
    }

    fn hand_over(&mut self) {
        if self.count > 0 {
            let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(BUFFER_BYTES));
            self.writer.take(lines, std::mem::take(&mut self.count));
        }
    }
}

impl Drop for LineBuffer {
    fn drop(&mut self) {
        self.hand_over();
    }
}

#[cfg(test)]
mod tests;
