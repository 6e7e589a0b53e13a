//! Lines for the operator, of pipelines that ask for them: written to standard error by a thread of
//! their own, which no question waits for.
//!
//! At the cap lines are dropped and counted, and the next line that gets through says how many.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Lines that wait to be written, at most.
const WAITING_MAX: usize = 1024;

/// The queue of lines for the operator.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Made with the first line: most pipelines write none.
    queue: OnceLock<Option<SyncSender<String>>>,
    dropped: AtomicU64,
}

impl Lines {
    /// Writes what `line` makes, if there is room.
    pub(crate) fn write(&self, line: impl FnOnce() -> String) {
        let Some(queue) = self.queue.get_or_init(start) else { return };
        let mut text = line();
        match self.dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            dropped => {
                // Writing to a String cannot fail.
                let _ = write!(text, " ({dropped} lines before it were dropped)");
            }
        }
        if queue.try_send(text).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The queue of the thread; none if the system has no thread left.
fn start() -> Option<SyncSender<String>> {
    let (queue, waiting) = sync_channel(WAITING_MAX);
    std::thread::Builder::new().name("dns-lines".into()).spawn(move || print(&waiting)).ok()?;
    Some(queue)
}

fn print(waiting: &Receiver<String>) {
    while let Ok(line) = waiting.recv() {
        // Nobody may be there to read it.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }
}
