//! The signer's process from the outside: it is started, asked, and started again when it dies.
//!
//! Orders are kept until they are answered, so that whoever waits does not see a restart. It holds no key
//! and decides nothing. Used by the signer; one thread a keeper listens to the answers.

use super::frame::{Ask, FRAME_BYTES_MAX, Say};
use super::issuer::{KeyKind, Order, Refusal};
use super::launcher::{self, Launcher};
use crate::authority::CaCertificate;
use arc_swap::ArcSwapOption;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Orders that wait for an answer at once; one over it is refused. As many handshakes as one core has
/// under way at most.
pub const ORDERS_MAX: usize = 1024;
/// How long an order may wait. Under the deadline of the handshake that it is for.
pub const ANSWER_MAX: Duration = Duration::from_secs(3);
/// How long the process may take until it takes orders: long enough to compile millions of rules.
const START_MAX: Duration = Duration::from_mins(1);
/// The pause before the second start in a row that failed or ended soon; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// One that lived so long had not failed.
const LIVED: Duration = Duration::from_secs(10);

/// How to start the process.
#[derive(Clone, Debug)]
pub struct Program {
    /// The binary.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Ways to start the process.
#[derive(Debug)]
pub(crate) enum SignerStart {
    /// As a child of this one, with the same rights.
    Program(Program),
    /// By the launcher, which is root where this process is not.
    Launcher(Launcher),
}

/// The process as it was started.
enum SignerProcess<'k> {
    Child(Child),
    Launched(&'k Launcher, u32),
}

/// Why an order has no answer of the signer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// It was answered, with a refusal.
    Refused(Refusal),
    /// Too many wait already.
    Busy,
    /// It did not come in time; why, if that is known.
    Late(Option<String>),
}

/// The process, as long as this lives.
pub(crate) struct Keeper(Arc<Shared>);

struct Shared {
    start: SignerStart,
    line: Mutex<Line>,
    /// Told when the line changes its state.
    changed: Condvar,
    certificate: ArcSwapOption<CaCertificate>,
    audit_lost: AtomicU64,
}

/// The line to the process.
#[derive(Default)]
struct Line {
    socket: Option<Arc<OwnedFd>>,
    is_ready: bool,
    /// Whether the thread runs.
    is_kept: bool,
    is_ending: bool,
    keys: HashMap<u8, Vec<u8>>,
    waiting: HashMap<u64, Waiting>,
    /// Those of the waiting that the process has not been sent yet.
    unsent: BTreeSet<u64>,
    numbers: u64,
    /// Processes that opened the authority, that became ready, and starts that failed, so far.
    opened: u64,
    readied: u64,
    failed: u64,
    process: Option<u32>,
    /// Why it does not run, or what it runs without.
    trouble: Option<String>,
}

struct Waiting {
    packet: Vec<u8>,
    answer: Answer,
}

type Outcome = Result<Vec<u8>, Refusal>;

enum Answer {
    Task(oneshot::Sender<Outcome>),
    Thread(mpsc::SyncSender<Outcome>),
}

/// Takes an order back when nobody waits for it any more.
struct Waits<'k>(&'k Shared, u64);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.waiting.remove(&self.1);
        line.unsent.remove(&self.1);
    }
}

impl Keeper {
    /// Starts nothing yet.
    pub(crate) fn new(start: SignerStart, certificate: Option<CaCertificate>) -> Self {
        Self(Arc::new(Shared {
            start,
            line: Mutex::default(),
            changed: Condvar::new(),
            certificate: ArcSwapOption::from_pointee(certificate),
            audit_lost: AtomicU64::new(0),
        }))
    }

    /// Starts it if it was not, and waits until the authority is open.
    pub(crate) fn start(&self) -> Result<(), String> {
        let mut line = self.0.line();
        self.keep(&mut line)?;
        self.0.wait(line, |line| line.opened > 0 || line.failed > 0)?;
        let line = self.0.line();
        if line.opened == 0 {
            return Err(line.trouble.clone().unwrap_or_default());
        }
        Ok(())
    }

    /// Has another process take the place of the one that runs, which reads everything anew; waits for
    /// it. Where none was started yet there is nothing to do.
    pub(crate) fn restart(&self) -> Result<(), String> {
        let line = self.0.line();
        if !line.is_kept {
            return Ok(());
        }
        let (readied, failed) = (line.readied, line.failed);
        hang_up(&line);
        self.0.changed.notify_all();
        self.0.wait(line, |line| line.readied > readied || line.failed > failed)?;
        let line = self.0.line();
        if line.readied > readied { Ok(()) } else { Err(line.trouble.clone().unwrap_or_default()) }
    }

    /// The public key of leaves of a kind, for this process and all that follow it.
    pub(crate) fn take_key(&self, kind: KeyKind, spki: Vec<u8>) {
        let mut line = self.0.line();
        if let (Some(socket), true) = (&line.socket, line.is_ready) {
            // Before any order for it; were it not to pass, these would be refused and it comes again
            // with the next process.
            let _ = send(socket, &Ask::Key(kind, spki.clone()).write(), SendFlags::NOSIGNAL);
        }
        line.keys.insert(kind as u8, spki);
    }

    /// Asks, without holding up the thread.
    pub(crate) async fn ask(&self, order: Order) -> Result<Vec<u8>, NoAnswer> {
        let (tell, answer) = oneshot::channel();
        let _waits = self.put(order, Answer::Task(tell))?;
        match tokio::time::timeout(ANSWER_MAX, answer).await {
            Ok(Ok(outcome)) => outcome.map_err(NoAnswer::Refused),
            Ok(Err(_)) | Err(_) => Err(NoAnswer::Late(self.trouble())),
        }
    }

    /// Asks, and holds up the thread.
    pub(crate) fn ask_now(&self, order: Order, patience: Duration) -> Result<Vec<u8>, NoAnswer> {
        let (tell, answer) = mpsc::sync_channel(1);
        let _waits = self.put(order, Answer::Thread(tell))?;
        match answer.recv_timeout(patience) {
            Ok(outcome) => outcome.map_err(NoAnswer::Refused),
            Err(_) => Err(NoAnswer::Late(self.trouble())),
        }
    }

    /// The authority's certificate, once it was opened.
    pub(crate) fn certificate(&self) -> Option<Arc<CaCertificate>> {
        self.0.certificate.load_full()
    }

    /// Why it does not run, or what it runs without.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.line().trouble.clone()
    }

    /// `true` while a process takes orders.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.line().is_ready
    }

    /// The number of the process that takes orders, and how many have come so far.
    pub(crate) fn process(&self) -> (Option<u32>, u64) {
        let line = self.0.line();
        (line.process, line.readied)
    }

    /// Leaves that were not written down.
    pub(crate) fn audit_lost(&self) -> u64 {
        self.0.audit_lost.load(Relaxed)
    }

    fn put(&self, order: Order, answer: Answer) -> Result<Waits<'_>, NoAnswer> {
        let mut line = self.0.line();
        self.keep(&mut line).map_err(|why| NoAnswer::Late(Some(why)))?;
        if line.waiting.len() >= ORDERS_MAX {
            return Err(NoAnswer::Busy);
        }
        line.numbers += 1;
        let number = line.numbers;
        let packet = Ask::Order(number, order).write();
        line.waiting.insert(number, Waiting { packet, answer });
        line.unsent.insert(number);
        line.flush();
        Ok(Waits(&self.0, number))
    }

    /// Sees that the thread runs.
    fn keep(&self, line: &mut Line) -> Result<(), String> {
        if line.is_kept {
            return Ok(());
        }
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("signer".into());
        thread
            .spawn(move || shared.keep())
            .map_err(|why| format!("no thread for the signer: {why}"))?;
        line.is_kept = true;
        Ok(())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut line = self.0.line();
        line.is_ending = true;
        hang_up(&line);
        self.0.changed.notify_all();
    }
}

impl SignerProcess<'_> {
    fn number(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            Self::Launched(_, number) => *number,
        }
    }

    fn end(self) {
        match self {
            Self::Child(mut child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Launched(launcher, number) => launcher.kill(number),
        }
    }
}

/// The process reads this as the end; so does the thread that listens to it.
fn hang_up(line: &Line) {
    if let Some(socket) = &line.socket {
        let _ = shutdown(socket, Shutdown::Both);
    }
}

impl Line {
    /// Sends what was not sent, as far as there is room.
    fn flush(&mut self) {
        let (Some(socket), true) = (&self.socket, self.is_ready) else { return };
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while let Some(number) = self.unsent.first().copied() {
            let Some(waiting) = self.waiting.get(&number) else {
                self.unsent.pop_first();
                continue;
            };
            match send(socket, &waiting.packet, flags) {
                Ok(_) => drop(self.unsent.pop_first()),
                Err(Errno::INTR) => {}
                // Full: after the next answer there is room. Broken: after the next start.
                Err(_) => return,
            }
        }
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the line.
    fn wait(
        &self,
        line: MutexGuard<'_, Line>,
        until: impl Fn(&Line) -> bool,
    ) -> Result<(), String> {
        let (_line, timeout) = self
            .changed
            .wait_timeout_while(line, START_MAX, |line| !until(line))
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() { Err("the signer does not start".into()) } else { Ok(()) }
    }

    /// The thread: starts processes and listens to them, until the keeper is dropped.
    fn keep(&self) {
        let mut pause = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let outcome = self.start().map(|(process, socket)| self.listen(process, &socket));
            let is_ready = {
                let mut line = self.line();
                if let Err(why) = outcome {
                    line.trouble = Some(format!("the signer cannot be started: {why}"));
                }
                let was_ready = std::mem::take(&mut line.is_ready);
                (line.socket, line.process) = (None, None);
                // Whoever still waits is answered by the next one.
                line.unsent = line.waiting.keys().copied().collect();
                if !was_ready {
                    line.failed += 1;
                }
                was_ready
            };
            self.changed.notify_all();
            pause = match (is_ready, begun.elapsed() >= LIVED) {
                (true, true) => Duration::ZERO,
                // At once after the first death, however young.
                (true, false) if pause.is_zero() => PAUSE_MIN / 100,
                _ => (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX),
            };
            let line = self.line();
            let (line, _) = self
                .changed
                .wait_timeout_while(line, pause, |line| !line.is_ending)
                .unwrap_or_else(PoisonError::into_inner);
            if line.is_ending {
                return;
            }
        }
    }

    /// Starts a process and takes its line for ours.
    fn start(&self) -> std::io::Result<(SignerProcess<'_>, Arc<OwnedFd>)> {
        let (ours, theirs) = launcher::pair()?;
        let process = match &self.start {
            SignerStart::Launcher(launcher) => {
                SignerProcess::Launched(launcher, launcher.launch(&theirs)?)
            }
            SignerStart::Program(program) => {
                let mut command = launcher::command(program);
                command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
                SignerProcess::Child(command.spawn()?)
            }
        };
        let ours = Arc::new(ours);
        let mut line = self.line();
        line.socket = Some(Arc::clone(&ours));
        line.process = Some(process.number());
        if line.is_ending {
            hang_up(&line);
        }
        Ok((process, ours))
    }

    /// Hands answers to those who wait, until the process is gone.
    fn listen(&self, process: SignerProcess<'_>, socket: &OwnedFd) {
        let mut packet = vec![0; FRAME_BYTES_MAX + 1];
        loop {
            match recv(socket, packet.as_mut_slice(), RecvFlags::empty()) {
                Ok((_, 0)) => break,
                Ok((_, length)) => match Say::read(&packet[..length]) {
                    Some(said) => self.hear(said),
                    None => break,
                },
                Err(Errno::INTR) => {}
                Err(_) => break,
            }
        }
        // One that does not answer any more is of no use.
        process.end();
    }

    fn hear(&self, said: Say) {
        let (number, outcome) = match said {
            Say::Opened(pem) => {
                if let Ok(certificate) = CaCertificate::from_pem(&pem) {
                    self.certificate.store(Some(Arc::new(certificate)));
                }
                self.line().opened += 1;
                self.changed.notify_all();
                return;
            }
            Say::Ready(trouble) => {
                let mut line = self.line();
                (line.trouble, line.is_ready) = (trouble, true);
                line.readied += 1;
                if let Some(socket) = &line.socket {
                    for (kind, spki) in &line.keys {
                        let kind =
                            if *kind == KeyKind::Rsa as u8 { KeyKind::Rsa } else { KeyKind::P256 };
                        let _ = send(
                            socket,
                            &Ask::Key(kind, spki.clone()).write(),
                            SendFlags::NOSIGNAL,
                        );
                    }
                }
                line.flush();
                drop(line);
                self.changed.notify_all();
                return;
            }
            Say::Failed(why) => {
                self.line().trouble = Some(why);
                return;
            }
            Say::Leaf(number, lost, leaf) => {
                self.audit_lost.store(lost, Relaxed);
                (number, Ok(leaf))
            }
            Say::Refused(number, why) => (number, Err(why)),
        };
        let mut line = self.line();
        let waiting = line.waiting.remove(&number);
        line.flush();
        drop(line);
        // Whoever asked may have lost patience.
        match waiting.map(|it| it.answer) {
            Some(Answer::Task(tell)) => drop(tell.send(outcome)),
            Some(Answer::Thread(tell)) => drop(tell.try_send(outcome)),
            None => {}
        }
    }
}
