//! Where a run stands: what must survive a wait, and nothing else.
//!
//! It lives on the stack of whoever runs it, in fixed room; a run that waits is moved to the heap
//! by the door.

use crate::program::{
    DEPTH_MAX, FallbackOp, FamilyPreference, LearnRule, OnError, Place, WRAPPERS_MAX,
};
use crate::redirect_target::RedirectTarget;
use dns_wire::WireAnswer;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use vocab::Source;

/// Marks that one request can carry, at most; more are dropped.
pub const MARKS_MAX: usize = 16;

/// Operations that one run may take: jumps cannot loop, so this is never reached by a program that
/// was checked.
pub const STEPS_MAX: u32 = 1 << 20;

/// A run.
#[derive(Clone)]
pub struct RunState {
    pub(crate) at: Place,
    pub(crate) frames: FixedStack<CallFrame, DEPTH_MAX>,
    pub(crate) wrappers: WrapperStack,
    pub(crate) marks: FixedStack<u32, MARKS_MAX>,
    pub(crate) steps: u32,
    pub(crate) response: RunResponse,
    pub(crate) failed: Option<RunFailure>,
    pub(crate) target: Option<Arc<RedirectTarget>>,
    pub(crate) qtype: Option<u16>,
    pub(crate) extra: UpstreamExtra,
    pub(crate) source: Source,
    pub(crate) refusal: Option<u16>,
    /// The upstreams' answer that a response was made of, where options went to them.
    pub(crate) upstream_answer: Option<Arc<WireAnswer>>,
    pub(crate) ending: Option<SequenceEnd>,
    pub(crate) blank: EmptyAnswer,
}

/// Holds what goes to upstreams besides the question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UpstreamExtra {
    /// A network that the client is said to be in.
    pub(crate) subnet: Option<(IpAddr, u8)>,
    /// The operation that names the client's options to be passed on.
    pub(crate) passed: Option<Place>,
}

/// A sequence that was called is ending, or all of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceEnd {
    /// So many wrappers stay.
    pub(crate) wrappers: u8,
    /// Where it goes on; nowhere at the end of all.
    pub(crate) return_to: Option<Place>,
}

/// Holds whom a sequence goes back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallFrame {
    pub(crate) return_to: Place,
    pub(crate) kind: FrameKind,
    /// Number of wrappers there were.
    pub(crate) wrappers: u8,
}

/// Tells how a sequence was entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FrameKind {
    #[default]
    Jump,
    Call,
}

/// Something to be done on the way back.
#[derive(Clone, Debug)]
pub(crate) enum ReturnWrapper {
    Keep { cache: u16, key: Box<[u8]> },
    Rename { before: Option<Arc<RedirectTarget>> },
    Learn(u16),
    Collect(u16),
    Summary(Arc<str>),
    Effect(u16),
    Preferred(u16),
    Order(u16),
    LearnName(Arc<LearnRule>),
}

/// The answer so far.
#[derive(Clone, Debug, Default)]
pub enum RunResponse {
    /// None.
    #[default]
    Nothing,
    /// A whole message without OPT, in the buffer that the run writes to.
    Made,
    /// A kept answer and the seconds since it was stored, not yet written.
    Kept(Arc<WireAnswer>, u32),
}

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunFailure {
    /// No upstream answered.
    Upstream,
    /// No upstream could be reached.
    Network,
    /// An upstream leads back to this server.
    Loop,
    /// Too many questions are waiting.
    Overloaded,
    /// A cap of the program was reached, or an answer could not be changed as asked.
    Program,
    /// Something outside that the answer waits for failed.
    Effect,
}

/// Tells what a run needs before it can go on.
#[derive(Debug)]
pub enum RunWait {
    /// An answer of upstreams, through [`WaitOutcome::Answer`] or [`WaitOutcome::Failed`].
    Forward {
        /// Which group.
        group: u16,
        /// Which cache the exchange keeps it in.
        cache: Option<u16>,
        /// The question as it stands (see [`dns_wire::KeyBuffer`]).
        key: Box<[u8]>,
        /// Raw EDNS options to send.
        options: Box<[u8]>,
    },
    /// That so long has passed, through [`WaitOutcome::Nothing`].
    Sleep(Duration),
    /// One of two runs ([`RunState::branch`]), through [`WaitOutcome::Response`] or
    /// [`WaitOutcome::Failed`].
    Fallback(FallbackOp),
    /// The rest of this run at `rest`, and besides the same for the other type; through
    /// [`WaitOutcome::Response`].
    Prefer {
        /// How.
        prefer: FamilyPreference,
        /// Where the rest begins.
        rest: Place,
    },
    /// The addresses of the response, which is written, in another order; on the way back, through
    /// [`WaitOutcome::Nothing`].
    Order {
        /// By which selector.
        selector: u16,
        /// These are to be measured first.
        unknown: Box<[IpAddr]>,
    },
    /// The keeping of a name, as its rule has it.
    LearnName {
        /// The rule.
        rule: Arc<LearnRule>,
        /// The name, lower-case.
        name: Box<str>,
    },
    /// An effect, through [`WaitOutcome::Nothing`] or [`WaitOutcome::Failed`].
    Effect {
        /// Which.
        effect: u16,
        /// What its failure means.
        on_error: OnError,
    },
}

/// Outcome of a wait.
#[derive(Debug)]
pub enum WaitOutcome {
    /// An answer of upstreams, the seconds since it was stored, and whence it came.
    Answer(Arc<WireAnswer>, u32, Source),
    /// A response of another run: what is in the buffer, a kept answer, or nothing.
    Response(RunResponse, Source),
    /// The name has the preferred family: the other is answered as empty.
    Blank,
    /// Is over.
    Nothing,
    /// Is over, and so is the run.
    Stop,
    /// It failed.
    Failed(RunFailure),
}

/// Tells whether an empty answer is to be written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmptyAnswer {
    Due,
    No,
}

/// Tells how a run stands after it ran.
#[derive(Debug)]
pub enum RunStep {
    /// Has ended.
    Done,
    /// It waits.
    Wait(RunWait),
}

impl RunState {
    /// A run that begins at `entry`.
    pub fn new(entry: Place) -> Self {
        Self {
            at: entry,
            frames: FixedStack::new(),
            wrappers: WrapperStack::new(),
            marks: FixedStack::new(),
            steps: 0,
            response: RunResponse::Nothing,
            failed: None,
            target: None,
            qtype: None,
            extra: UpstreamExtra::default(),
            source: Source::Local,
            refusal: None,
            upstream_answer: None,
            ending: None,
            blank: EmptyAnswer::No,
        }
    }

    /// A run of its own that begins at `place` with what this one knows: its question, marks and
    /// options.
    #[must_use]
    pub fn branch(&self, place: Place) -> Self {
        Self {
            marks: self.marks.clone(),
            target: self.target.clone(),
            qtype: self.qtype,
            extra: self.extra,
            ..Self::new(place)
        }
    }

    /// The rest of this run, after where it stands.
    pub(crate) fn branch_for_rest(&self) -> Self {
        self.branch_for_rest_at(self.at + 1)
    }

    /// The rest of this run at `rest`.
    #[must_use]
    pub fn branch_for_rest_at(&self, rest: Place) -> Self {
        Self { qtype: self.qtype, ..self.branch_for_type(rest, 0) }
    }

    /// The rest of this run at `rest`, asking for `qtype`.
    #[must_use]
    pub fn branch_for_type(&self, rest: Place, qtype: u16) -> Self {
        let mut frames = FixedStack::new();
        let jumps = self.frames.as_slice();
        let called = jumps.iter().rposition(|it| it.kind == FrameKind::Call).map_or(0, |it| it + 1);
        for frame in &jumps[called..] {
            // It fits: it is a part of a stack of the same room.
            let _ = frames.push(CallFrame { wrappers: 0, ..*frame });
        }
        Self { frames, qtype: Some(qtype), ..self.branch(rest) }
    }

    /// The marks that are set, in the order in which they were.
    pub fn marks(&self) -> &[u32] {
        self.marks.as_slice()
    }

    /// The answer.
    pub fn response(&self) -> &RunResponse {
        &self.response
    }

    /// Another answer was written to the buffer in the place of this one.
    pub fn mark_rewritten(&mut self) {
        self.response = RunResponse::Made;
        self.refusal = None;
        self.upstream_answer = None;
    }

    /// Takes the answer away.
    pub fn take_response(&mut self) -> RunResponse {
        std::mem::take(&mut self.response)
    }

    /// Whence the answer came.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Why there is none, if the run failed.
    pub fn failure(&self) -> Option<RunFailure> {
        self.failed
    }

    /// The response code of a refusal that needs EDNS (over 15), if that is the answer.
    pub fn extended_rcode(&self) -> Option<u16> {
        self.refusal
    }

    /// The name that is asked for instead of the client's, where there is one.
    pub fn target(&self) -> Option<&RedirectTarget> {
        self.target.as_deref()
    }

    /// True if another question than the client's is being asked now.
    pub fn is_changed(&self) -> bool {
        self.target.is_some() || self.qtype.is_some()
    }
}

impl fmt::Debug for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "State(at {}, {:?})", self.at, self.response)
    }
}

/// A few things in fixed room.
#[derive(Clone, Debug)]
pub(crate) struct FixedStack<T, const MAX: usize> {
    items: [T; MAX],
    len: u8,
}

/// Wrappers that are kept without an allocation: more than nearly every question has.
const WRAPPERS_INLINE: usize = 16;

/// Operations for the way back, last first.
#[derive(Clone, Debug)]
pub(crate) struct WrapperStack {
    few: FixedStack<Option<ReturnWrapper>, WRAPPERS_INLINE>,
    more: Vec<ReturnWrapper>,
}

impl WrapperStack {
    pub(crate) fn new() -> Self {
        Self { few: FixedStack::new(), more: Vec::new() }
    }

    pub(crate) fn push(&mut self, wrapper: ReturnWrapper) -> Result<(), StackFull> {
        if self.len() >= WRAPPERS_MAX {
            return Err(StackFull);
        }
        if self.few.len() < WRAPPERS_INLINE {
            return self.few.push(Some(wrapper));
        }
        self.more.push(wrapper);
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<ReturnWrapper> {
        self.more.pop().or_else(|| self.few.pop().flatten())
    }

    pub(crate) fn len(&self) -> usize {
        self.few.len() + self.more.len()
    }
}

/// There is no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackFull;

impl<T: Default, const MAX: usize> FixedStack<T, MAX> {
    pub(crate) fn new() -> Self {
        Self { items: std::array::from_fn(|_| T::default()), len: 0 }
    }

    pub(crate) fn push(&mut self, item: T) -> Result<(), StackFull> {
        let slot = self.items.get_mut(usize::from(self.len)).ok_or(StackFull)?;
        *slot = item;
        self.len += 1;
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.len = self.len.checked_sub(1)?;
        Some(std::mem::take(&mut self.items[usize::from(self.len)]))
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}
