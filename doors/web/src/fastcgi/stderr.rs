//! What scripts complain about: the last lines, and how many there were.
//!
//! A request may say so much and no more; lines are cleaned of control characters, for they may hold
//! what a stranger sent. It writes no file. Filled by `exchange`, read by the door.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// What one request may say, in bytes; the rest is counted.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Lines remembered.
const LINES_MAX: usize = 64;
/// A longer line is cut, in bytes.
const LINE_BYTES_MAX: usize = 1024;

/// The complaints of all scripts of a site.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    lines: VecDeque<String>,
    seen: u64,
    cut_bytes: u64,
}

/// The complaints of one request; they are handed over when it is dropped.
pub(crate) struct Stderr {
    complaints: Arc<Complaints>,
    script: String,
    text: Vec<u8>,
    cut: usize,
}

impl Complaints {
    /// Lines so far, and bytes beyond what a request may say.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (u64, u64) {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (remembered.seen, remembered.cut_bytes)
    }

    /// The last lines, oldest first, each with its script.
    pub(crate) fn recent(&self) -> Vec<String> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.lines.iter().cloned().collect()
    }
}

impl Stderr {
    /// For one request to `script`.
    pub(crate) fn new(complaints: Arc<Complaints>, script: &str) -> Self {
        Self { complaints, script: script.into(), text: Vec::new(), cut: 0 }
    }

    /// Adds what came.
    pub(crate) fn add(&mut self, content: &[u8]) {
        let room = REQUEST_BYTES_MAX - self.text.len();
        let taken = content.len().min(room);
        self.text.extend_from_slice(&content[..taken]);
        self.cut += content.len() - taken;
    }
}

impl Drop for Stderr {
    fn drop(&mut self) {
        if self.text.is_empty() && self.cut == 0 {
            return;
        }
        let mut remembered = self.complaints.0.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.cut_bytes += self.cut as u64;
        for line in self.text.split(|it| *it == b'\n').filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]);
            let clean: String = line.chars().filter(|it| !it.is_control()).collect();
            if remembered.lines.len() == LINES_MAX {
                remembered.lines.pop_front();
            }
            remembered.lines.push_back(format!("{}: {clean}", self.script));
            remembered.seen += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_cleaned_cut_and_counted() {
        let complaints = Arc::new(Complaints::default());
        let mut stderr = Stderr::new(Arc::clone(&complaints), "/a.php");
        stderr.add(b"PHP Fatal \x1b[31merror\r\nsecond\n");
        stderr.add(&[b'x'; 10_000]);
        drop(stderr);
        let lines = complaints.recent();
        assert_eq!(lines[0], "/a.php: PHP Fatal [31merror");
        assert_eq!(lines[2].len(), "/a.php: ".len() + LINE_BYTES_MAX);
        assert_eq!(complaints.counts(), (3, 10_029 - REQUEST_BYTES_MAX as u64));
        for _ in 0..200 {
            Stderr::new(Arc::clone(&complaints), "/b").add(b"again");
        }
        assert_eq!(complaints.recent().len(), LINES_MAX);
    }
}
