//! The audit log: every change that was asked for through the admin API, and every sign-in, with
//! who asked.
//!
//! Each is a line of JSON that is appended before the answer goes out. Of two files of some
//! megabytes the older one goes. A line that a crash cut is passed over. Written and read by
//! `admin`, off the cores' threads.

use crate::AUDIT_FILE;
use crate::private_file::lock;
use crate::role::UserRole;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a file before another is begun.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a line; of a longer one the body is left out.
const LINE_BYTES_MAX: usize = 8 << 10;

/// The audit log.
pub struct AuditLog {
    path: PathBuf,
    tail: Mutex<LogTail>,
    /// Entries that could not be written since the start.
    lost: AtomicU64,
}

/// End of the log.
struct LogTail {
    /// Number of the next entry.
    next: u64,
    /// The file that is appended to; none while it cannot be opened.
    file: Option<File>,
    bytes: u64,
    /// True where the last line has no end: the next one begins with it.
    is_cut: bool,
}

/// Kind of who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditActor {
    /// A user, signed in.
    User,
    /// A token, whether that of the state folder or an API token.
    Token,
    /// Somebody who was not let in.
    Nobody,
}

/// A change that was asked for, or a sign-in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// The moment, in milliseconds since 1970.
    pub at_ms: u64,
    /// Name of who asked; the name that was tried, where nobody was let in.
    pub who: String,
    /// Kind of who asked.
    pub kind: AuditActor,
    /// Role; none where nobody was let in.
    pub role: Option<UserRole>,
    /// Address from which it was asked.
    pub client: String,
    /// Method and path of the request.
    pub action: String,
    /// The body, without what is secret; none if it was no JSON.
    pub body: Option<Value>,
    /// HTTP status of the answer.
    pub status: u16,
    /// Problem; none if nothing was.
    pub error: Option<String>,
}

/// A record with its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Number, counted up by one.
    pub n: u64,
    /// Deed.
    #[serde(flatten)]
    pub record: AuditRecord,
}

/// A question for entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Entries before this number; the newest if none.
    pub before: Option<u64>,
    /// Entries at most.
    pub limit: usize,
    /// Text that an entry has in its names, its action, its body or its error, in any case.
    pub filter: String,
}

/// Entries, the newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditPage {
    /// Entries.
    pub entries: Vec<AuditEntry>,
    /// Number before which older ones are asked for; none if there are none.
    pub older: Option<u64>,
    /// Entries that could not be written since the start, for want of room on the disk.
    pub lost: u64,
}

impl AuditActor {
    /// The word of the API and of the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Token => "token",
            Self::Nobody => "nobody",
        }
    }
}

impl AuditLog {
    /// The log of a state folder.
    pub fn open(state_dir: &Path) -> Self {
        let path = state_dir.join(AUDIT_FILE);
        let last = read_entries(&path).pop().or_else(|| read_entries(&older_of(&path)).pop());
        let text = read_file(&path);
        let tail = LogTail {
            next: last.map_or(1, |entry| entry.n + 1),
            file: None,
            bytes: text.len() as u64,
            is_cut: text.last().is_some_and(|it| *it != b'\n'),
        };
        Self { path, tail: Mutex::new(tail), lost: AtomicU64::new(0) }
    }

    /// Appends an entry. On a full disk it is counted as lost, and what it tells of is done all the
    /// same: nobody is kept from operating the program by its log.
    pub fn append(&self, record: AuditRecord) {
        let mut tail = lock(&self.tail);
        if self.try_append(&mut tail, record).is_err() {
            tail.file = None;
            tail.is_cut = true;
            self.lost.fetch_add(1, Relaxed);
        }
    }

    fn try_append(&self, tail: &mut LogTail, record: AuditRecord) -> io::Result<()> {
        if tail.bytes >= FILE_BYTES_MAX {
            fs::rename(&self.path, older_of(&self.path))?;
            (tail.file, tail.bytes, tail.is_cut) = (None, 0, false);
        }
        let mut entry = AuditEntry { n: tail.next, record };
        let mut line = serde_json::to_vec(&entry)?;
        if line.len() > LINE_BYTES_MAX {
            entry.record.body = None;
            line = serde_json::to_vec(&entry)?;
        }
        line.push(b'\n');
        if tail.is_cut {
            line.insert(0, b'\n');
        }
        let mut file = match tail.file.take() {
            Some(file) => file,
            None => OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path)?,
        };
        file.write_all(&line)?;
        tail.file = Some(file);
        tail.bytes += line.len() as u64;
        tail.next += 1;
        tail.is_cut = false;
        Ok(())
    }

    /// Entries that a question asks for. Reads both files.
    pub fn page(&self, query: &AuditQuery) -> AuditPage {
        let mut found = AuditPage { lost: self.lost.load(Relaxed), ..AuditPage::default() };
        let filter = query.filter.to_lowercase();
        for path in [self.path.clone(), older_of(&self.path)] {
            for entry in read_entries(&path).into_iter().rev() {
                let is_before = query.before.is_none_or(|before| entry.n < before);
                if !is_before || !entry.record.has(&filter) {
                    continue;
                }
                if found.entries.len() >= query.limit {
                    found.older = found.entries.last().map(|last| last.n);
                    return found;
                }
                found.entries.push(entry);
            }
        }
        found
    }
}

impl AuditRecord {
    fn has(&self, filter: &str) -> bool {
        let has = |text: &str| text.to_lowercase().contains(filter);
        filter.is_empty()
            || [&self.who, &self.client, &self.action].into_iter().any(|text| has(text))
            || self.error.as_deref().is_some_and(has)
            || self.body.as_ref().is_some_and(|body| has(&body.to_string()))
    }
}

fn older_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// Entries of a file; lines that are none are passed over.
fn read_entries(path: &Path) -> Vec<AuditEntry> {
    let text = read_file(path);
    text.split(|it| *it == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// A file's bytes, as many as it may have; none of one that is not there.
fn read_file(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(file) = File::open(path) {
        // What can be read counts.
        let _ = file.take(FILE_BYTES_MAX + LINE_BYTES_MAX as u64 * 2).read_to_end(&mut text);
    }
    text
}

#[cfg(test)]
mod tests;
