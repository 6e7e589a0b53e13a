//! Complaints of scripts, on their way to the ledger's notes.
//!
//! A request may say so much and no more. It cleans nothing and keeps nothing: the ledger does
//! both. Filled by `exchange` and `program`.

use ledger::Ledger;
use vocab::{Door, Now};

/// Bytes that one request may say; the rest is counted.
const REQUEST_BYTES_MAX: usize = 8 << 10;

/// The complaints of one request; they are handed over when it is dropped.
pub(crate) struct ScriptStderr {
    ledger: Ledger,
    script: String,
    now: Now,
    text: Vec<u8>,
    cut: usize,
}

impl ScriptStderr {
    /// For one request to `script`, which is named with its host.
    pub(crate) fn new(ledger: Ledger, script: &str, now: Now) -> Self {
        Self { ledger, script: script.into(), now, text: Vec::new(), cut: 0 }
    }

    /// Adds what came.
    pub(crate) fn add(&mut self, content: &[u8]) {
        let room = REQUEST_BYTES_MAX - self.text.len();
        let taken = content.len().min(room);
        self.text.extend_from_slice(&content[..taken]);
        self.cut += content.len() - taken;
    }
}

impl Drop for ScriptStderr {
    fn drop(&mut self) {
        let now = self.now;
        for line in self.text.split(|it| *it == b'\n').filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            self.ledger.note(now, Door::Web, &self.script, line.trim_end());
        }
        if self.cut > 0 {
            let rest = format!("and {} bytes more", self.cut);
            self.ledger.note(now, Door::Web, &self.script, &rest);
        }
    }
}
