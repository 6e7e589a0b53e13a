//! Questions of one machine to all of them, and their replies: carried through bounded queues by
//! whoever must not wait.
//!
//! It neither seals nor believes anything: what is asked and said is the caller's. Questions are
//! heard at a pace; beyond it the machine says that it is busy, and beyond that nothing. Made by
//! the binary; emptied by the session.

use crate::question_frame::{QuestionId, ReplyFrame, ReplyKind, WireFrame};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver as HeardReceiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Receiver, Sender, channel as queue};

/// Largest question, sealed, in bytes.
pub const QUESTION_BYTES_MAX: usize = 12 << 10;
/// Largest reply with everything around it, in bytes.
pub const REPLY_BYTES_MAX: usize = 256 << 10;
/// Time for which replies are waited for.
pub const REPLIES_MAX: Duration = Duration::from_secs(3);
/// Machines that are listed at most.
pub const MACHINES_MAX: usize = 1024;
/// Questions of this machine that may be under way at once.
const ASKED_MAX: usize = 4;
/// Questions of others that may wait here.
const HEARD_MAX: usize = 4;
/// Replies that may wait to be told.
const TOLD_MAX: usize = 32;
/// Replies that may wait for the asker.
const EVENTS_MAX: usize = 16;
/// Questions of a second that are answered, and those that are replied to with a word.
const ANSWERED_PER_SECOND: u32 = 4;
const REPLIED_PER_SECOND: u32 = 16;
/// Time behind the last moment of a question after which its asker goes on.
const LATE_MAX: Duration = Duration::from_secs(1);

/// Questions that machines ask each other.
pub struct LiveQuestions {
    asked: Sender<AskedQuestion>,
    pub(crate) asks: tokio::sync::Mutex<Receiver<AskedQuestion>>,
    told: Sender<ToldReply>,
    pub(crate) tells: tokio::sync::Mutex<Receiver<ToldReply>>,
    /// Way to whoever answers; none where this machine declines.
    heard: Option<SyncSender<HeardQuestion>>,
    pace: Mutex<QuestionPace>,
    /// True while there is a session.
    is_open: AtomicBool,
    /// Lead of this machine's clock over the server's, in milliseconds.
    ahead_ms: AtomicI64,
}

/// Question of this machine.
pub(crate) struct AskedQuestion {
    pub(crate) id: QuestionId,
    pub(crate) sealed: Vec<u8>,
    pub(crate) ends: Instant,
    pub(crate) events: SyncSender<ReplyEvent>,
}

/// Reply of this machine.
pub(crate) struct ToldReply {
    pub(crate) id: QuestionId,
    pub(crate) kind: ReplyKind,
}

/// Question of a machine, perhaps of this one.
pub struct HeardQuestion {
    /// Number.
    pub id: QuestionId,
    /// The question as it was sealed.
    pub sealed: Vec<u8>,
    /// Moment at which it was heard.
    pub at: Instant,
}

/// Machine that the server saw lately.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMachine {
    /// Name.
    pub edge: String,
    /// Time since its last word, in milliseconds.
    pub silent_ms: u64,
}

/// News of a question under way.
#[derive(Debug)]
pub(crate) enum ReplyEvent {
    /// A machine replied.
    Reply(ReplyFrame),
    /// No more replies come; machines that were seen.
    Ended(Vec<SeenMachine>),
    /// The server does not do its part.
    Failed(String),
}

/// Reason why a question is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// The server is away, or was lost meanwhile.
    Away,
    /// Others of this machine are under way.
    Many,
    /// The question is over [`QUESTION_BYTES_MAX`].
    Long,
    /// The server did not do its part, with the reason.
    Failed(String),
}

/// Inlet for whoever answers: questions come in, replies go out.
pub struct HeardQuestions {
    heard: HeardReceiver<HeardQuestion>,
    told: Sender<ToldReply>,
}

/// Questions of the second that runs.
#[derive(Debug, Default)]
struct QuestionPace {
    second: u64,
    heard: u32,
}

/// Handling of a question that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PaceStep {
    Answer,
    SayBusy,
    Nothing,
}

impl QuestionPace {
    fn step(&mut self, second: u64) -> PaceStep {
        if self.second != second {
            *self = Self { second, heard: 0 };
        }
        self.heard = self.heard.saturating_add(1);
        if self.heard <= ANSWERED_PER_SECOND {
            PaceStep::Answer
        } else if self.heard <= REPLIED_PER_SECOND {
            PaceStep::SayBusy
        } else {
            PaceStep::Nothing
        }
    }
}

impl LiveQuestions {
    /// A machine that asks nothing, and says of each question that it does not answer.
    pub fn declining() -> Self {
        Self::with(None)
    }

    /// A machine that asks and answers.
    pub fn answering() -> (Self, HeardQuestions) {
        let (sender, heard) = sync_channel(HEARD_MAX);
        let own = Self::with(Some(sender));
        let told = own.told.clone();
        (own, HeardQuestions { heard, told })
    }

    fn with(heard: Option<SyncSender<HeardQuestion>>) -> Self {
        let (asked, asks) = queue(ASKED_MAX);
        let (told, tells) = queue(TOLD_MAX);
        Self {
            asked,
            asks: tokio::sync::Mutex::new(asks),
            told,
            tells: tokio::sync::Mutex::new(tells),
            heard,
            pace: Mutex::default(),
            is_open: AtomicBool::new(false),
            ahead_ms: AtomicI64::new(0),
        }
    }

    /// The server's clock where this machine's says this, in milliseconds since 1970.
    pub fn server_ms(&self, unix_ms: u64) -> u64 {
        unix_ms.saturating_add_signed(self.ahead_ms.load(Relaxed).saturating_neg())
    }

    /// Asks all machines, and hands each reply over as it comes: one of each machine, sealed or in
    /// a word. Returns the machines that were seen, [`MACHINES_MAX`] at most. Blocks its thread for
    /// [`REPLIES_MAX`], and rarely for a second more.
    pub fn ask(
        &self,
        id: QuestionId,
        sealed: Vec<u8>,
        mut take: impl FnMut(ReplyFrame),
    ) -> Result<Vec<SeenMachine>, NotAsked> {
        if sealed.len() > QUESTION_BYTES_MAX {
            return Err(NotAsked::Long);
        }
        if !self.is_open.load(Relaxed) {
            return Err(NotAsked::Away);
        }
        let ends = Instant::now() + REPLIES_MAX;
        let (events, replies) = sync_channel(EVENTS_MAX);
        let asked = AskedQuestion { id, sealed, ends, events };
        self.asked.try_send(asked).map_err(|_| NotAsked::Many)?;
        loop {
            let left = (ends + LATE_MAX).saturating_duration_since(Instant::now());
            match replies.recv_timeout(left) {
                Ok(ReplyEvent::Reply(frame)) => take(frame),
                Ok(ReplyEvent::Ended(seen)) => return Ok(seen),
                Ok(ReplyEvent::Failed(why)) => return Err(NotAsked::Failed(why)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(NotAsked::Away);
                }
            }
        }
    }

    /// Takes a question that came in the stream. Never waits.
    pub(crate) fn hear(&self, frame: WireFrame, second: u64) {
        let WireFrame { id, sealed } = frame;
        let pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner).step(second);
        let kind = match (pace, &self.heard) {
            (PaceStep::Nothing, _) => return,
            (PaceStep::Answer | PaceStep::SayBusy, None) => ReplyKind::Declined,
            (PaceStep::SayBusy, Some(_)) => ReplyKind::Busy,
            (PaceStep::Answer, Some(heard)) => {
                match heard.try_send(HeardQuestion { id, sealed, at: Instant::now() }) {
                    Ok(()) => return,
                    Err(_) => ReplyKind::Busy,
                }
            }
        };
        // Beyond the cap nothing is said; the asker names this machine as one that is silent.
        let _ = self.told.try_send(ToldReply { id, kind });
    }

    pub(crate) fn open(&self, ahead_ms: i64) {
        self.ahead_ms.store(ahead_ms, Relaxed);
        self.is_open.store(true, Relaxed);
    }

    pub(crate) fn close(&self) {
        self.is_open.store(false, Relaxed);
    }
}

impl HeardQuestions {
    /// The next question; none when the state is shared no more. Blocks its thread until then.
    pub fn next(&self) -> Option<HeardQuestion> {
        self.heard.recv().ok()
    }

    /// Replies to a question; a reply over [`REPLY_BYTES_MAX`], or one of too many, is dropped.
    pub fn reply(&self, id: QuestionId, kind: ReplyKind) {
        let _ = self.told.try_send(ToldReply { id, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: u128) -> WireFrame {
        WireFrame { id: QuestionId(id), sealed: vec![1] }
    }

    fn told(questions: &LiveQuestions) -> Vec<ReplyKind> {
        let mut tells = questions.tells.try_lock().unwrap();
        std::iter::from_fn(|| tells.try_recv().ok().map(|it| it.kind)).collect()
    }

    #[test]
    fn some_a_second_are_answered_more_are_told_off_and_a_flood_is_passed_over() {
        let (questions, heard) = LiveQuestions::answering();
        for id in 0..100 {
            questions.hear(frame(id), 7);
        }
        assert_eq!(told(&questions).len(), (REPLIED_PER_SECOND - ANSWERED_PER_SECOND) as usize);
        for id in 0..u128::from(ANSWERED_PER_SECOND) {
            assert_eq!(heard.next().unwrap().id, QuestionId(id));
        }
        questions.hear(frame(200), 8);
        assert_eq!(heard.next().unwrap().id, QuestionId(200), "the next second is another");
    }

    #[test]
    fn whoever_is_slow_to_answer_is_busy() {
        let (questions, _heard) = LiveQuestions::answering();
        for second in 0..=HEARD_MAX as u64 {
            questions.hear(frame(1), second);
        }
        assert_eq!(told(&questions), [ReplyKind::Busy]);
    }

    #[test]
    fn whoever_does_not_answer_says_so() {
        let questions = LiveQuestions::declining();
        questions.hear(frame(1), 7);
        assert_eq!(told(&questions), [ReplyKind::Declined]);
    }

    #[test]
    fn nothing_is_asked_while_the_server_is_away_or_of_more_than_a_question_has() {
        let (questions, _heard) = LiveQuestions::answering();
        let ask = |length| questions.ask(QuestionId(1), vec![0; length], |_| {}).unwrap_err();
        assert_eq!(ask(1), NotAsked::Away);
        assert_eq!(ask(QUESTION_BYTES_MAX + 1), NotAsked::Long);
    }
}
