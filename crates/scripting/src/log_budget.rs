//! Lines that a script may write to the program's log: so many a second, the rest counted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines a second.
const LINES_MAX: u32 = 10;
const SECOND: Duration = Duration::from_secs(1);

/// Taker of lines for the program's log.
pub type ScriptLog = Arc<dyn Fn(&str) + Send + Sync>;

/// Log that nobody reads, for scripts that are opened to be checked.
pub fn unread_log() -> ScriptLog {
    Arc::new(|_: &str| {})
}

/// Characters of a line in the log.
const LINE_CHARS_MAX: usize = 1000;

/// The way of one script or filter to the program's log.
pub struct LimitedLog {
    /// Kind and name, before each line.
    title: String,
    log: ScriptLog,
    budget: LogBudget,
}

impl LimitedLog {
    /// Lines begin with the title: `script hello.luau`.
    pub fn new(title: String, log: &ScriptLog) -> Self {
        Self { title, log: log.clone(), budget: LogBudget::default() }
    }

    /// Writes a line, if not too many were written; what would begin a line of its own becomes a
    /// space.
    pub fn write(&self, words: &str) {
        let Some(left_out) = self.budget.take(Instant::now()) else { return };
        let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
        let words: String = words.chars().take(LINE_CHARS_MAX).map(printable).collect();
        let title = &self.title;
        match left_out {
            0 => (self.log)(&format!("{title}: {words}")),
            _ => (self.log)(&format!("{title}: {words} ({left_out} lines before were left out)")),
        }
    }
}

/// The budget of one script.
#[derive(Debug, Default)]
pub(crate) struct LogBudget(Mutex<LogWindow>);

#[derive(Debug, Default)]
struct LogWindow {
    begun: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl LogBudget {
    /// The number of lines left out since the last one that was written, if one may be written now.
    pub(crate) fn take(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.begun.is_none_or(|begun| now.duration_since(begun) >= SECOND) {
            window.begun = Some(now);
            window.lines = 0;
        }
        if window.lines == LINES_MAX {
            window.left_out += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_a_second_are_written_and_the_rest_is_counted() {
        let (budget, start) = (LogBudget::default(), Instant::now());
        let taken = (0..25).filter(|_| budget.take(start).is_some()).count();
        assert_eq!(taken, 10);
        assert_eq!(budget.take(start + SECOND), Some(15));
        assert_eq!(budget.take(start + SECOND), Some(0));
    }
}
