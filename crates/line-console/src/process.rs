//! The process as Linux tells of it: its time, its open files, its sockets.

use std::sync::Mutex;
use std::sync::PoisonError;

/// Parts of a second that Linux counts times in, for programs.
const TICKS_PER_SECOND: f64 = 100.0;

/// Times and requests when somebody last asked.
#[derive(Debug, Default)]
pub(crate) struct ProcessTimes(Mutex<ProcessSample>);

/// Times and requests at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessSample {
    /// Seconds in the program.
    pub(crate) user_s: f64,
    /// Seconds in the kernel.
    pub(crate) system_s: f64,
    /// Requests since the start.
    pub(crate) requests: u64,
}

impl ProcessTimes {
    /// As it is now, and as it was the last time.
    pub(crate) fn sample(&self, requests: u64) -> (ProcessSample, ProcessSample) {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The name of the program, which may hold anything, ends with the last bracket.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = |at: usize| {
            let found = fields.split_whitespace().nth(at).and_then(|it| it.parse::<f64>().ok());
            found.unwrap_or_default() / TICKS_PER_SECOND
        };
        let now = ProcessSample { user_s: ticks(11), system_s: ticks(12), requests };
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (now, std::mem::replace(&mut *last, now))
    }
}

/// Files that the process may have open.
pub(crate) fn files_max() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Files that it has open, and how many of them are sockets.
pub(crate) fn open_files() -> (usize, usize) {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let is_socket = |entry: std::fs::DirEntry| {
        let target = std::fs::read_link(entry.path());
        target.is_ok_and(|it| it.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    };
    entries
        .map(is_socket)
        .fold((0, 0), |(files, sockets), it| (files + 1, sockets + usize::from(it)))
}
