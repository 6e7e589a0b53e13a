//! The other end of the signer's process: it is started, kept and asked from here.
//!
//! What was ordered while it was away is sent when it is back, and again where one died with an
//! order in hand: an order waits for a leaf, no matter who signs it. A reload starts the next
//! process beside the one that serves, which goes on until the next one is ready; only an end that
//! nobody asked for is followed by a pause. It holds no key and decides nothing. Used by the
//! signer; one thread a process listens to the answers.

mod channel;

use crate::authority::CaCertificate;
use crate::frame::{FRAME_BYTES_MAX, SignerReply, SignerRequest};
use crate::issuer::{KeyKind, SigningOrder, SigningRefusal};
use crate::launcher::SignerLauncher;
use crate::program::{SignerProgram, socket_pair};
use crate::sealed_memory::SealedMemory;
use crate::tables_handover::send_tables;
use arc_swap::ArcSwapOption;
use channel::{OrderAnswer, SignerChannel, SignerLink, WaitingOrder};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use std::fmt;
use std::io;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Orders that wait for an answer at once; one over it is refused. As many handshakes as one core
/// has under way at most.
pub const ORDERS_MAX: usize = 1024;
/// Time for which an order may wait. Under the deadline of the handshake that it is for.
pub const ANSWER_MAX: Duration = Duration::from_secs(3);
/// Time that the process may take until it takes orders: long enough to compile millions of rules.
const START_MAX: Duration = Duration::from_mins(1);

/// Ways to start the process.
#[derive(Debug)]
pub(crate) enum SignerStart {
    /// As a child of this one, with the same rights.
    Program(SignerProgram),
    /// By the launcher, which is root where this process is not.
    Launcher(SignerLauncher),
}

/// The process as it was started.
enum SignerProcess<'k> {
    Child(Child),
    Launched(&'k SignerLauncher, u32),
}

/// Why an order has no answer of the signer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    /// Was answered, with a refusal.
    Refused(SigningRefusal),
    /// Too many wait already.
    Busy,
    /// Did not come in time; why, if that is known.
    TimedOut(Option<String>),
}

/// Why no process of the signer's takes orders.
#[derive(Debug)]
pub enum SignerStartError {
    /// There is no thread to look after it.
    NoThread(io::Error),
    /// Was not ready in time.
    TimedOut,
    /// Ended before it was ready; why, as far as it or the system said.
    Failed(String),
}

/// The process, as long as this lives.
pub(crate) struct SignerSupervisor(Arc<SupervisorShared>);

struct SupervisorShared {
    start: SignerStart,
    channel: Mutex<SignerChannel>,
    /// Told when the line changes its state.
    changed: Condvar,
    certificate: ArcSwapOption<CaCertificate>,
    audit_lost: AtomicU64,
}

/// Takes an order back when nobody waits for it any more.
struct WaitGuard<'k>(&'k SupervisorShared, u64);

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut channel = self.0.channel();
        channel.waiting.remove(&self.1);
        channel.unsent.remove(&self.1);
    }
}

impl SignerSupervisor {
    /// Starts nothing yet.
    pub(crate) fn new(start: SignerStart, certificate: Option<CaCertificate>) -> Self {
        Self(Arc::new(SupervisorShared {
            start,
            channel: Mutex::default(),
            changed: Condvar::new(),
            certificate: ArcSwapOption::from_pointee(certificate),
            audit_lost: AtomicU64::new(0),
        }))
    }

    /// Tables of the policy for the processes to come.
    pub(crate) fn share_tables(&self, tables: Option<SealedMemory>) {
        self.0.channel().tables = tables;
    }

    /// Starts it if it was not, and waits until the authority is open.
    pub(crate) fn start(&self) -> Result<(), SignerStartError> {
        let mut channel = self.0.channel();
        self.ensure_started(&mut channel)?;
        self.0.wait(channel, |channel| channel.opened > 0 || channel.failed > 0)?;
        let channel = self.0.channel();
        if channel.opened == 0 {
            return Err(SignerStartError::Failed(channel.trouble.clone().unwrap_or_default()));
        }
        Ok(())
    }

    /// Starts another process, which reads everything anew, beside the one that serves, and waits
    /// until it has taken the other's place. Where none was started yet there is nothing to do.
    /// The tables are those of the new policy; unless it is kept, those of before are shared again.
    pub(crate) fn restart(
        &self,
        tables: Option<SealedMemory>,
    ) -> Result<SignerSuccession, SignerStartError> {
        let mut channel = self.0.channel();
        let before = std::mem::replace(&mut channel.tables, tables);
        let is_kept = channel.is_kept;
        drop(channel);
        // Dropped on the way, it puts everything back.
        let succession = SignerSuccession(Some((Arc::clone(&self.0), before)));
        if is_kept {
            self.replace()?;
        }
        Ok(succession)
    }

    /// Starts a process in place of the one that serves, and waits until it does.
    fn replace(&self) -> Result<(), SignerStartError> {
        let number = self.0.channel().begin_start();
        if let Err(why) = self.supervise(number) {
            self.0.channel().cancel_start(number);
            return Err(why);
        }
        let is_settled =
            |channel: &SignerChannel| channel.is_serving(number) || !channel.is_starting(number);
        let outcome = self.0.wait(self.0.channel(), is_settled);
        let mut channel = self.0.channel();
        if channel.is_serving(number) {
            return Ok(());
        }
        channel.cancel_start(number);
        outcome.and(Err(SignerStartError::Failed(channel.failure.clone().unwrap_or_default())))
    }

    /// The public key of leaves of a kind, for this process and all that follow it.
    pub(crate) fn take_key(&self, kind: KeyKind, spki: Vec<u8>) {
        let mut channel = self.0.channel();
        // Before any order for it; were it not to pass, these would be refused and it comes again
        // with the next process.
        if let Some(serving) = &channel.serving {
            serving.send_key(kind, spki.clone());
        }
        channel.keys.insert(kind as u8, spki);
    }

    /// Asks, without holding up the thread.
    pub(crate) async fn order(&self, order: SigningOrder) -> Result<Vec<u8>, NoAnswer> {
        let (tell, answer) = oneshot::channel();
        let _waits = self.submit(order, OrderAnswer::Task(tell))?;
        match tokio::time::timeout(ANSWER_MAX, answer).await {
            Ok(Ok(outcome)) => outcome.map_err(NoAnswer::Refused),
            Ok(Err(_)) | Err(_) => Err(NoAnswer::TimedOut(self.trouble())),
        }
    }

    /// Asks, and holds up the thread.
    pub(crate) fn order_blocking(
        &self,
        order: SigningOrder,
        patience: Duration,
    ) -> Result<Vec<u8>, NoAnswer> {
        let (tell, answer) = mpsc::sync_channel(1);
        let _waits = self.submit(order, OrderAnswer::Thread(tell))?;
        match answer.recv_timeout(patience) {
            Ok(outcome) => outcome.map_err(NoAnswer::Refused),
            Err(_) => Err(NoAnswer::TimedOut(self.trouble())),
        }
    }

    /// The authority's certificate, once it was opened.
    pub(crate) fn certificate(&self) -> Option<Arc<CaCertificate>> {
        self.0.certificate.load_full()
    }

    /// Why it does not run, or what it runs without.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.channel().trouble.clone()
    }

    /// `true` while a process takes orders.
    pub(crate) fn is_ready(&self) -> bool {
        self.0.channel().serving.is_some()
    }

    /// The number of the process that takes orders, and how many have come so far.
    pub(crate) fn process(&self) -> (Option<u32>, u64) {
        let channel = self.0.channel();
        (channel.process(), channel.readied)
    }

    /// Leaves that were not written down.
    pub(crate) fn audit_lost(&self) -> u64 {
        self.0.audit_lost.load(Relaxed)
    }

    fn submit(&self, order: SigningOrder, answer: OrderAnswer) -> Result<WaitGuard<'_>, NoAnswer> {
        let mut channel = self.0.channel();
        let started = self.ensure_started(&mut channel);
        started.map_err(|why| NoAnswer::TimedOut(Some(why.to_string())))?;
        if channel.waiting.len() >= ORDERS_MAX {
            return Err(NoAnswer::Busy);
        }
        channel.numbers += 1;
        let number = channel.numbers;
        let packet = SignerRequest::Order(number, order).write();
        channel.waiting.insert(number, WaitingOrder { packet, answer, sent_to: None });
        channel.unsent.insert(number);
        channel.flush();
        Ok(WaitGuard(&self.0, number))
    }

    /// Sees that a process is there or on its way.
    fn ensure_started(&self, channel: &mut SignerChannel) -> Result<(), SignerStartError> {
        if !channel.is_kept {
            let number = channel.begin_start();
            self.supervise(number)?;
            channel.is_kept = true;
        }
        Ok(())
    }

    /// Starts the process of this number in a thread of its own, which looks after it.
    fn supervise(&self, number: u64) -> Result<(), SignerStartError> {
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("signer".into());
        let spawned = thread.spawn(move || shared.supervise(number)).map(drop);
        spawned.map_err(SignerStartError::NoThread)
    }
}

/// A process that has taken the place of another. Unless it is kept, the other takes its place
/// back.
#[must_use = "dropped, it is undone"]
pub struct SignerSuccession(Option<(Arc<SupervisorShared>, Option<SealedMemory>)>);

impl SignerSuccession {
    /// One without another process.
    pub const NONE: Self = Self(None);

    /// Ends the process of before.
    pub fn keep(mut self) {
        if let Some((shared, _)) = self.0.take() {
            shared.channel().end_replaced();
        }
    }
}

impl Drop for SignerSuccession {
    fn drop(&mut self) {
        if let Some((shared, tables)) = self.0.take() {
            let mut channel = shared.channel();
            channel.tables = tables;
            channel.roll_back();
        }
    }
}

impl fmt::Display for SignerStartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThread(why) => write!(f, "no thread for the signer: {why}"),
            Self::TimedOut => f.write_str("the signer does not start"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SignerStartError {}

impl Drop for SignerSupervisor {
    fn drop(&mut self) {
        self.0.channel().end();
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

impl SupervisorShared {
    fn channel(&self) -> MutexGuard<'_, SignerChannel> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the line.
    fn wait(
        &self,
        channel: MutexGuard<'_, SignerChannel>,
        until: impl Fn(&SignerChannel) -> bool,
    ) -> Result<(), SignerStartError> {
        let (_line, timeout) = self
            .changed
            .wait_timeout_while(channel, START_MAX, |channel| !until(channel))
            .unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() { Err(SignerStartError::TimedOut) } else { Ok(()) }
    }

    /// A thread: starts a process and listens to it; where it was the one to count on, the next.
    fn supervise(&self, mut number: u64) {
        loop {
            let begun = Instant::now();
            match self.start(number) {
                Ok((process, link)) => self.read_replies(process, &link),
                Err(why) => {
                    self.channel().failure = Some(format!("the signer cannot be started: {why}"));
                }
            }
            let pause = self.channel().note_end(number, begun.elapsed());
            self.changed.notify_all();
            let Some(pause) = pause else { return };
            let (mut channel, _) = self
                .changed
                .wait_timeout_while(self.channel(), pause, |channel| channel.needs_process())
                .unwrap_or_else(PoisonError::into_inner);
            // A reload may have started one meanwhile.
            if !channel.needs_process() {
                return;
            }
            number = channel.begin_start();
        }
    }

    /// Starts the process of this number, which is expected.
    fn start(&self, number: u64) -> io::Result<(SignerProcess<'_>, Arc<SignerLink>)> {
        let (ours, theirs) = socket_pair()?;
        let tables = self.channel().tables.clone();
        if let Some(tables) = tables {
            // Without them it holds its own.
            let _ = send_tables(&ours, &tables);
        }
        let process = match &self.start {
            SignerStart::Launcher(launcher) => {
                SignerProcess::Launched(launcher, launcher.launch(&theirs)?)
            }
            SignerStart::Program(program) => {
                let mut command = program.command();
                command.stdin(Stdio::from(theirs)).stdout(Stdio::null());
                SignerProcess::Child(command.spawn()?)
            }
        };
        let link = Arc::new(SignerLink { number, socket: ours, process: process.number() });
        self.channel().attach(&link);
        Ok((process, link))
    }

    /// Hands answers to those who wait, until the process is gone.
    fn read_replies(&self, process: SignerProcess<'_>, link: &Arc<SignerLink>) {
        let mut packet = vec![0; FRAME_BYTES_MAX + 1];
        while let Some(said) = next_reply(&link.socket, &mut packet) {
            self.handle_reply(said, link);
        }
        // One that does not answer any more is of no use.
        process.end();
    }

    fn handle_reply(&self, said: SignerReply, link: &Arc<SignerLink>) {
        let (number, outcome) = match said {
            SignerReply::Opened(pem) => {
                if let Ok(certificate) = CaCertificate::from_pem(&pem) {
                    self.certificate.store(Some(Arc::new(certificate)));
                }
                self.channel().opened += 1;
                self.changed.notify_all();
                return;
            }
            SignerReply::Ready(trouble) => {
                self.channel().promote(link, trouble);
                self.changed.notify_all();
                return;
            }
            SignerReply::Failed(why) => {
                self.channel().failure = Some(why);
                return;
            }
            SignerReply::Leaf(number, lost, leaf) => {
                self.audit_lost.store(lost, Relaxed);
                (number, Ok(leaf))
            }
            SignerReply::Refused(number, why) => (number, Err(why)),
        };
        let mut asked = self.channel();
        let waiting = asked.waiting.remove(&number);
        asked.flush();
        drop(asked);
        // Whoever asked may have lost patience.
        match waiting.map(|it| it.answer) {
            Some(OrderAnswer::Task(tell)) => drop(tell.send(outcome)),
            Some(OrderAnswer::Thread(tell)) => drop(tell.try_send(outcome)),
            None => {}
        }
    }
}

/// What a process says next; none once it has ended or says what nobody understands.
fn next_reply(socket: &OwnedFd, packet: &mut [u8]) -> Option<SignerReply> {
    loop {
        match recv(socket, &mut *packet, RecvFlags::empty()) {
            Ok((_, 0)) => return None,
            Ok((_, length)) => return SignerReply::read(&packet[..length]),
            // One that ended with packets unread is told of once, ahead of its last words.
            Err(Errno::INTR | Errno::CONNRESET) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use rustix::net::{SendFlags, send};

    #[test]
    fn the_last_words_of_a_process_that_left_packets_unread_are_heard() {
        let (ours, theirs) = socket_pair().unwrap();
        send(&ours, b"tables that it never reads", SendFlags::NOSIGNAL).unwrap();
        let why = || SignerReply::Failed("the key is missing".into());
        send(&theirs, &why().write(), SendFlags::NOSIGNAL).unwrap();
        drop(theirs);
        let mut packet = vec![0; FRAME_BYTES_MAX + 1];
        let said = next_reply(&ours, &mut packet);
        assert!(matches!(said, Some(SignerReply::Failed(why)) if why == "the key is missing"));
        assert!(next_reply(&ours, &mut packet).is_none());
    }
}
