//! Sets that sequences feed (`dynamic_domain_set`), and the files that they are kept in.
//!
//! A name counts at once; a thread for each file appends it within the set's time, and whoever
//! waits for that is told once it is on the disk. A queue that is full, or a file that cannot be
//! written, loses no answer: the name is forgotten, told of, and learnt again when it is asked for
//! next.
//! Opened by `resources`, fed by `request_env` and `branches`.

use dns_effects::Tell;
use durable_file::{FileAccess, FileReplacement};
use mosdns_compat::compile::LearnedSpec;
use pipeline::program::LearnRule;
use pipeline::sets::{LEARNED_MAX, LearnOutcome, LearnedKind, LearnedNames};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use vocab::{Complaint, Name, Now};

/// Largest file: more than so many names of usual length.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Time that a reload waits for what is yet to be written.
const FLUSH_WAIT: Duration = Duration::from_secs(2);
/// Milliseconds between two lines about what went wrong with one set.
const QUIET_MS: u64 = 60_000;

/// Settings of one set, and the set as the program asks it.
#[derive(Clone, Debug)]
pub(crate) struct LearnedConfig {
    file: LearnedFile,
    names: Arc<LearnedNames>,
    place: Complaint,
}

/// A file of names, and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LearnedFile {
    path: PathBuf,
    bootstrap: Vec<String>,
    queue: usize,
    batch: usize,
    flush: Duration,
}

/// A set that is fed.
pub(crate) struct LearnedSet {
    names: Arc<LearnedNames>,
    writer: Arc<NameWriter>,
}

/// The way to the thread that writes one file; it ends with the last of these.
struct NameWriter {
    file: LearnedFile,
    orders: SyncSender<NameOrder>,
    told: Arc<QuietTeller>,
}

/// A name to be written, or nothing but a wait for those before it.
struct NameOrder {
    learned: Option<(LearnedKind, Box<str>)>,
    names: Arc<LearnedNames>,
    /// Called once the name is on the disk; dropped where it could not be written.
    done: Option<Box<dyn FnOnce() + Send>>,
}

/// Speaks of what goes wrong with one set, once a minute.
struct QuietTeller {
    path: PathBuf,
    log: Tell,
    last_ms: Mutex<Option<u64>>,
}

/// A name was not kept in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotKept;

impl LearnedFile {
    /// Content of a file that is new.
    fn beginning(&self) -> Vec<u8> {
        self.bootstrap.iter().flat_map(|rule| [rule.as_bytes(), b"\n"].concat()).collect()
    }
}

impl LearnedConfig {
    pub(crate) fn of(spec: &LearnedSpec) -> Self {
        let plugin = &spec.plugin;
        Self {
            file: LearnedFile {
                path: plugin.path.text.trim().into(),
                bootstrap: plugin.bootstrap.iter().map(|it| it.text.trim().to_owned()).collect(),
                queue: plugin.queue,
                batch: plugin.batch,
                flush: plugin.flush,
            },
            names: Arc::clone(&spec.names),
            place: plugin.path.position.complaint(""),
        }
    }

    /// Where it is kept.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }
}

impl LearnedSet {
    /// Opens `wanted`: reads its file, which is made where it is not there. A writer of `before`
    /// writes what it has first. May wait for the disk.
    pub(crate) fn open(
        wanted: &LearnedConfig,
        before: &[Self],
        log: &Tell,
    ) -> Result<Self, Complaint> {
        let here = before.iter().find(|it| it.writer.file.path == wanted.file.path);
        let same = here.filter(|it| it.writer.file == wanted.file);
        let refused = |why: io::Error| {
            let message = format!("{}: {why}", wanted.file.path.display());
            Complaint { message, ..wanted.place.clone() }
                .remedy("name a file that Tidegate may read and write")
        };
        // What is yet to be written is among what is read.
        if let Some(here) = here {
            here.writer.flush();
        }
        let told = QuietTeller {
            path: wanted.file.path.clone(),
            log: log.clone(),
            last_ms: Mutex::default(),
        };
        read(&wanted.file, &wanted.names, &told).map_err(refused)?;
        let writer = match same {
            Some(same) => Arc::clone(&same.writer),
            None => Arc::new(NameWriter::start(&wanted.file, told).map_err(refused)?),
        };
        Ok(Self { names: Arc::clone(&wanted.names), writer })
    }

    /// Learns `name`; nobody waits for it.
    pub(crate) fn learn(&self, rule: &LearnRule, name: Name<'_>, now: Now) {
        match self.names.learn(rule.kind, name) {
            LearnOutcome::Known => {}
            LearnOutcome::Full => {
                self.writer
                    .told
                    .say(now, &format!("{LEARNED_MAX} names are the most: no more are learnt"));
            }
            LearnOutcome::New => {
                let _ = self.order(Some((rule.kind, name.as_str().into())), None, now);
            }
        }
    }

    /// Learns `name`, and completes when it is on the disk.
    pub(crate) async fn learn_and_wait(
        &self,
        rule: &LearnRule,
        name: Name<'_>,
        limit: Duration,
    ) -> Result<(), NotKept> {
        let now = transport::clock::now();
        let learned = match self.names.learn(rule.kind, name) {
            LearnOutcome::Full => return Err(NotKept),
            // It may be on its way still.
            LearnOutcome::Known => None,
            LearnOutcome::New => Some((rule.kind, name.as_str().into())),
        };
        let (done, told) = oneshot::channel();
        let kept = Box::new(move || {
            // Who waited may have gone.
            let _ = done.send(());
        });
        self.order(learned, Some(kept), now)?;
        match tokio::time::timeout(limit, told).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(NotKept),
        }
    }

    fn order(
        &self,
        learned: Option<(LearnedKind, Box<str>)>,
        done: Option<Box<dyn FnOnce() + Send>>,
        now: Now,
    ) -> Result<(), NotKept> {
        let order = NameOrder { learned, names: Arc::clone(&self.names), done };
        self.writer.orders.try_send(order).map_err(|refused| {
            let (std::sync::mpsc::TrySendError::Full(order)
            | std::sync::mpsc::TrySendError::Disconnected(order)) = refused;
            order.forget();
            self.writer.told.say(now, "too many names wait to be written: some are not learnt yet");
            NotKept
        })
    }
}

impl NameOrder {
    /// Forgets a name that could not be kept.
    fn forget(self) {
        if let Some((kind, name)) = self.learned {
            self.names.forget(kind, &name);
        }
    }
}

impl NameWriter {
    fn start(file: &LearnedFile, told: QuietTeller) -> io::Result<Self> {
        let (orders, waiting) = sync_channel(file.queue.max(1));
        let (to, told) = (file.clone(), Arc::new(told));
        let teller = Arc::clone(&told);
        std::thread::Builder::new()
            .name("learned-names".into())
            .spawn(move || write_all(&to, &waiting, &teller))?;
        Ok(Self { file: file.clone(), orders, told })
    }

    /// Waits until what was ordered so far is written, or for [`FLUSH_WAIT`].
    fn flush(&self) {
        let (over, wait) = sync_channel(1);
        let done = Box::new(move || {
            // Nobody may wait any more.
            let _ = over.send(());
        });
        let names = Arc::new(LearnedNames::new(0, pipeline::sets::RegexpCase::Same));
        if self.orders.try_send(NameOrder { learned: None, names, done: Some(done) }).is_ok() {
            let _ = wait.recv_timeout(FLUSH_WAIT);
        }
    }
}

impl QuietTeller {
    fn say(&self, now: Now, what: &str) {
        let mut last = self.last_ms.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| now.mono_ms.saturating_sub(last) < QUIET_MS) {
            return;
        }
        *last = Some(now.mono_ms);
        (self.log)(&format!("dynamic_domain_set {}: {what}", self.path.display()));
    }
}

/// Writes what is ordered, in batches, until nobody orders any more.
fn write_all(file: &LearnedFile, orders: &Receiver<NameOrder>, told: &QuietTeller) {
    while let Ok(first) = orders.recv() {
        let due = Instant::now() + file.flush;
        let mut batch = vec![first];
        while batch.len() < file.batch {
            let left = due.saturating_duration_since(Instant::now());
            match orders.recv_timeout(left) {
                // Whoever waits is not kept waiting for company.
                Ok(order) if order.done.is_some() => {
                    batch.push(order);
                    break;
                }
                Ok(order) => batch.push(order),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut text = String::new();
        for (kind, name) in batch.iter().filter_map(|it| it.learned.as_ref()) {
            text.push_str(kind.as_str());
            text.push(':');
            text.push_str(name);
            text.push('\n');
        }
        match append(&file.path, text.as_bytes()) {
            Ok(()) => {
                batch.into_iter().filter_map(|order| order.done).for_each(|done| done());
            }
            Err(why) => {
                told.say(transport::clock::now(), &format!("names could not be written: {why}"));
                batch.into_iter().for_each(NameOrder::forget);
            }
        }
    }
}

/// Appends whole lines, and has them on the disk.
fn append(path: &Path, text: &[u8]) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let before = file.metadata()?.len();
    if before + text.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "it would be over 64 MiB"));
    }
    let written = file.write_all(text).and_then(|()| file.sync_data());
    if written.is_err() {
        // Half a name would be another one.
        let _ = file.set_len(before);
    }
    written
}

/// Reads `file` into `names`; one that is not there, or is empty, gets what it is to begin with.
fn read(file: &LearnedFile, names: &LearnedNames, told: &QuietTeller) -> io::Result<()> {
    let mut bytes = Vec::new();
    match File::open(&file.path) {
        Ok(opened) => {
            opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > FILE_BYTES_MAX {
                return Err(io::Error::new(ErrorKind::FileTooLarge, "it is over 64 MiB"));
            }
            // Root may have made it, for an account that cannot write to its folder.
            if bytes.is_empty() {
                bytes = file.beginning();
                append(&file.path, &bytes)?;
            }
        }
        Err(why) if why.kind() == ErrorKind::NotFound => {
            bytes = create(file)?;
        }
        Err(why) => return Err(why),
    }
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut left_out = 0_usize;
    if whole < bytes.len() {
        // A write that a power cut broke off: half a name would be another one.
        OpenOptions::new().write(true).open(&file.path)?.set_len(whole as u64)?;
        left_out += 1;
    }
    left_out += names.replace(bytes[..whole].split(|byte| *byte == b'\n'));
    if left_out > 0 {
        let lines = if left_out == 1 { "line is" } else { "lines are" };
        told.say(transport::clock::now(), &format!("{left_out} {lines} no rule, and left out"));
    }
    Ok(())
}

/// Makes the file, whole or not at all.
fn create(file: &LearnedFile) -> io::Result<Vec<u8>> {
    let text = file.beginning();
    let access = FileAccess::Umask;
    FileReplacement { access, ..FileReplacement::private(&file.path) }.write(&text)?;
    Ok(text)
}
