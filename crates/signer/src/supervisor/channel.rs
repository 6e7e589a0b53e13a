//! The state of the line to the signer's processes: which of them serves, and who waits for an
//! answer.
//!
//! It starts nothing and waits for nothing; whoever changes it holds its lock. Used by the
//! supervisor's threads and by those who order.

use crate::frame::SignerRequest;
use crate::issuer::{KeyKind, SigningRefusal};
use crate::sealed_memory::SealedMemory;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::oneshot;

/// The pause before the second start in a row that failed or ended soon; it doubles each time.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// One that lived so long had not failed.
const LIVED: Duration = Duration::from_secs(10);

/// What is told of one that ended before it was ready, and did not say why.
const ENDED_EARLY: &str = "the signer ended before it was ready, and did not say why; look for its \
                           end in the system's log";

pub(crate) type Outcome = Result<Vec<u8>, SigningRefusal>;

/// The line to the processes.
#[derive(Default)]
pub(crate) struct SignerChannel {
    /// The process that takes orders.
    pub(crate) serving: Option<Arc<SignerLink>>,
    /// The one before it, until the reload that replaced it is through.
    replaced: Option<Arc<SignerLink>>,
    /// The one that does not take orders yet.
    starting: Option<StartingSigner>,
    /// True if processes are to run from now on.
    pub(crate) is_kept: bool,
    is_ending: bool,
    pub(crate) keys: HashMap<u8, Vec<u8>>,
    pub(crate) waiting: HashMap<u64, WaitingOrder>,
    /// Waiting orders that no living process was sent yet.
    pub(crate) unsent: BTreeSet<u64>,
    pub(crate) numbers: u64,
    /// Processes that opened the authority, that became ready, and starts that failed, so far.
    pub(crate) opened: u64,
    pub(crate) readied: u64,
    pub(crate) failed: u64,
    /// Number of processes that were expected so far.
    begun: u64,
    /// Time for which the next start waits.
    pause: Duration,
    /// Protection that the serving process runs without, or why none serves.
    pub(crate) trouble: Option<String>,
    /// Why the last start failed.
    pub(crate) failure: Option<String>,
    /// Tables of the policy, for every process that is started from now on.
    pub(crate) tables: Option<SealedMemory>,
}

/// The socket to one process.
pub(crate) struct SignerLink {
    pub(crate) number: u64,
    pub(crate) socket: OwnedFd,
    pub(crate) process: u32,
}

/// A process that is to be, by its number, and its link once it was started.
pub(crate) struct StartingSigner {
    number: u64,
    link: Option<Arc<SignerLink>>,
}

/// An order that waits for its answer.
pub(crate) struct WaitingOrder {
    pub(crate) packet: Vec<u8>,
    pub(crate) answer: OrderAnswer,
    /// The process that has it.
    pub(crate) sent_to: Option<u64>,
}

/// Tells who is told.
pub(crate) enum OrderAnswer {
    Task(oneshot::Sender<Outcome>),
    Thread(mpsc::SyncSender<Outcome>),
}

/// Tells what a process that ended had been.
enum EndedRole {
    Serving,
    Starting,
    /// Replaced, or given up.
    Replaced,
}

impl SignerLink {
    /// The process reads this as the end; so does the thread that listens to it.
    fn close(&self) {
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    pub(crate) fn send_key(&self, kind: KeyKind, spki: Vec<u8>) {
        let _ = send(&self.socket, &SignerRequest::Key(kind, spki).write(), SendFlags::NOSIGNAL);
    }
}

fn close(link: Option<Arc<SignerLink>>) {
    if let Some(link) = link {
        link.close();
    }
}

impl SignerChannel {
    /// The number of a process that is to be started now, in place of any that is on its way.
    pub(crate) fn begin_start(&mut self) -> u64 {
        self.begun += 1;
        // An end without a word is not told with the words of another.
        self.failure = None;
        let starting = StartingSigner { number: self.begun, link: None };
        let given_up = self.starting.replace(starting);
        close(given_up.and_then(|it| it.link));
        self.begun
    }

    /// True if the process of this number is on its way.
    pub(crate) fn is_starting(&self, number: u64) -> bool {
        self.starting.as_ref().is_some_and(|it| it.number == number)
    }

    /// True if the process of this number takes orders.
    pub(crate) fn is_serving(&self, number: u64) -> bool {
        self.serving.as_ref().is_some_and(|it| it.number == number)
    }

    /// True if there is no process and none on its way, though there should be.
    pub(crate) fn needs_process(&self) -> bool {
        !self.is_ending && self.serving.is_none() && self.starting.is_none()
    }

    /// The system's number of the process that serves, or is to.
    pub(crate) fn process(&self) -> Option<u32> {
        let starting = self.starting.as_ref().and_then(|it| it.link.as_ref());
        self.serving.as_ref().or(starting).map(|link| link.process)
    }

    /// Notes that an expected process was started; ends one that is not expected any more.
    pub(crate) fn attach(&mut self, link: &Arc<SignerLink>) {
        match &mut self.starting {
            Some(starting) if starting.number == link.number => {
                starting.link = Some(Arc::clone(link));
            }
            Some(_) | None => link.close(),
        }
    }

    /// Does without the process of this number, if it is on its way.
    pub(crate) fn cancel_start(&mut self, number: u64) {
        let given_up = self.starting.take_if(|it| it.number == number);
        close(given_up.and_then(|it| it.link));
    }

    /// Has an expected process take orders from now on. The one before goes on with what it has.
    pub(crate) fn promote(&mut self, link: &Arc<SignerLink>, trouble: Option<String>) {
        if self.starting.take_if(|it| it.number == link.number).is_none() {
            return;
        }
        self.end_replaced();
        self.replaced = self.serving.replace(Arc::clone(link));
        self.trouble = trouble;
        self.readied += 1;
        for (kind, spki) in &self.keys {
            let kind = if *kind == KeyKind::Rsa as u8 { KeyKind::Rsa } else { KeyKind::P256 };
            link.send_key(kind, spki.clone());
        }
        self.flush();
    }

    /// Ends the process that was replaced; what it has in hand the next one is sent.
    pub(crate) fn end_replaced(&mut self) {
        close(self.replaced.take());
    }

    /// Gives a process that was replaced its place back.
    pub(crate) fn roll_back(&mut self) {
        if let Some(replaced) = self.replaced.take() {
            close(self.serving.replace(replaced));
            self.flush();
        }
    }

    /// Ends all processes for good.
    pub(crate) fn end(&mut self) {
        self.is_ending = true;
        self.end_replaced();
        close(self.starting.take().and_then(|it| it.link));
        close(self.serving.take());
    }

    /// Takes note that the process of this number has ended, `lived` after it was begun; how long
    /// to wait before the next is started, if it was the one to count on.
    pub(crate) fn note_end(&mut self, number: u64, lived: Duration) -> Option<Duration> {
        for (order, waiting) in &mut self.waiting {
            // What it had in hand is answered by another.
            if waiting.sent_to.take_if(|sent_to| *sent_to == number).is_some() {
                self.unsent.insert(*order);
            }
        }
        let part = self.take_out(number);
        match part {
            EndedRole::Replaced => {
                self.flush();
                return None;
            }
            EndedRole::Starting => {
                self.failed += 1;
                let why = self.failure.get_or_insert_with(|| ENDED_EARLY.to_owned()).clone();
                if self.serving.is_some() {
                    return None;
                }
                self.trouble = Some(why);
                self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
            }
            EndedRole::Serving if lived >= LIVED => self.pause = Duration::ZERO,
            // At once after the first death, however young.
            EndedRole::Serving if self.pause.is_zero() => self.pause = PAUSE_MIN / 100,
            EndedRole::Serving => self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX),
        }
        (!self.is_ending).then_some(self.pause)
    }

    /// Takes an ended process out of the line.
    fn take_out(&mut self, number: u64) -> EndedRole {
        let is_it = |link: &mut Arc<SignerLink>| link.number == number;
        if self.serving.take_if(is_it).is_some() {
            return EndedRole::Serving;
        }
        if self.starting.take_if(|it| it.number == number).is_some() {
            return EndedRole::Starting;
        }
        self.replaced.take_if(is_it);
        EndedRole::Replaced
    }

    /// Sends what was not sent, as far as there is room.
    pub(crate) fn flush(&mut self) {
        let Some(serving) = &self.serving else { return };
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while let Some(number) = self.unsent.first().copied() {
            let Some(waiting) = self.waiting.get_mut(&number) else {
                self.unsent.pop_first();
                continue;
            };
            match send(&serving.socket, &waiting.packet, flags) {
                Ok(_) => {
                    waiting.sent_to = Some(serving.number);
                    self.unsent.pop_first();
                }
                Err(Errno::INTR) => {}
                // Full: after the next answer there is room. Broken: after the next start.
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    const SOON: Duration = Duration::from_millis(50);

    /// A process that is ready; its end of the socket.
    fn ready(channel: &mut SignerChannel) -> (u64, OwnedFd) {
        let number = channel.begin_start();
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let held = Arc::new(SignerLink { number, socket: ours, process: number as u32 });
        channel.attach(&held);
        channel.promote(&held, None);
        assert!(channel.is_serving(number) && !channel.is_starting(number));
        (number, theirs)
    }

    #[test]
    fn a_process_that_was_replaced_is_followed_by_no_pause() {
        let mut channel = SignerChannel::default();
        let (mut before, _first) = ready(&mut channel);
        for _ in 0..100 {
            let (after, _socket) = ready(&mut channel);
            channel.end_replaced();
            assert_eq!(channel.note_end(before, SOON), None);
            before = after;
        }
        assert_eq!(channel.note_end(before, SOON), Some(PAUSE_MIN / 100), "its first death");
    }

    #[test]
    fn ends_that_nobody_asked_for_are_followed_by_longer_and_longer_pauses() {
        let mut channel = SignerChannel::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let (number, _socket) = ready(&mut channel);
            pauses.push(channel.note_end(number, SOON).unwrap());
        }
        assert!(pauses.is_sorted() && pauses[1] == PAUSE_MIN && pauses[9] == PAUSE_MAX);
        let (number, _socket) = ready(&mut channel);
        assert_eq!(channel.note_end(number, LIVED), Some(Duration::ZERO));
    }

    #[test]
    fn a_reload_that_fails_or_is_undone_leaves_the_process_that_serves() {
        let mut channel = SignerChannel::default();
        let (first, _first) = ready(&mut channel);
        let number = channel.begin_start();
        assert_eq!(channel.note_end(number, SOON), None);
        assert!(channel.is_serving(first) && channel.failed == 1);
        assert_eq!(channel.failure.as_deref(), Some(ENDED_EARLY));
        let (second, _second) = ready(&mut channel);
        channel.roll_back();
        assert!(channel.is_serving(first));
        assert_eq!(channel.note_end(second, SOON), None);
        assert!(channel.is_serving(first));
    }

    #[test]
    fn an_order_in_the_hand_of_a_process_that_ends_is_sent_to_the_next() {
        let mut channel = SignerChannel::default();
        let (first, _first) = ready(&mut channel);
        let (tell, _answer) = oneshot::channel();
        let waiting =
            WaitingOrder { packet: vec![7], answer: OrderAnswer::Task(tell), sent_to: None };
        channel.waiting.insert(1, waiting);
        channel.unsent.insert(1);
        channel.flush();
        assert_eq!(channel.waiting[&1].sent_to, Some(first));
        let (second, socket) = ready(&mut channel);
        assert_eq!(channel.waiting[&1].sent_to, Some(first), "it may answer still");
        channel.end_replaced();
        channel.note_end(first, SOON);
        assert_eq!(channel.waiting[&1].sent_to, Some(second));
        let mut packet = [0; 8];
        let (_, length) =
            rustix::net::recv(&socket, &mut packet[..], rustix::net::RecvFlags::empty()).unwrap();
        assert_eq!((length, packet[0]), (1, 7));
    }
}
