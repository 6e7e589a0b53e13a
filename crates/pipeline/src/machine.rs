//! Runs a program: one operation after the other, until it ends or must wait.
//!
//! A run allocates nothing where the answer is at hand. It holds no lock and knows no time but what
//! is handed in; a wait is given to the caller, who comes back with what arrived. Called by the DNS
//! door for every question.

mod answers;
mod matching;
mod returning;
mod wrapping;

pub use matching::pointer_address;
pub use returning::{Returned, returned};

use crate::env::{
    CacheResult, DoorAnswer, HeldAnswer, PipelineEnv, PipelineEvent, PipelineQuestion, RenewalState,
};
use crate::program::{
    AfterAnswer, CacheKeeper, EndScope, Op, OwnAnswer, Place, Program, SilentAnswer,
};
use crate::redirect_target::RedirectTarget;
use crate::state::{
    CallFrame, EmptyAnswer, FrameKind, ReturnWrapper, RunFailure, RunResponse, RunState, RunStep,
    RunWait, STEPS_MAX, SequenceEnd, UpstreamExtra, WaitOutcome,
};
use dns_wire::{DnsQuery, KeyBuffer, synthesize};
use std::sync::Arc;
use vocab::{Name, Source};

/// A question in wire form: a name of 255 bytes, its type and class.
const QUESTION_BYTES_MAX: usize = 259;

/// Tells what an operation leads to.
enum OpFlow {
    Next,
    To(Place),
    /// The question is another now.
    Changed,
    End(EndScope),
    Fail(RunFailure),
    Wait(RunWait),
}

/// Holds what a run works with, the question apart.
struct RunContext<'r, W> {
    program: &'r Program,
    state: &'r mut RunState,
    /// The client's question.
    original: &'r DnsQuery<'r>,
    env: &'r mut W,
    out: &'r mut Vec<u8>,
}

/// A question other than the client's.
struct ChangedQuestion {
    question: [u8; QUESTION_BYTES_MAX],
    len: usize,
    target: Option<Arc<RedirectTarget>>,
    qtype: u16,
}

/// Runs `state` until it ends or waits. `query` and `name` are the client's, the same each time;
/// `out` holds what the run has written so far and nothing else, and is empty at first: after each
/// step the response that was made, or nothing.
pub fn run<W: PipelineEnv>(
    program: &Program,
    state: &mut RunState,
    query: &DnsQuery<'_>,
    name: Name<'_>,
    world: &mut W,
    out: &mut Vec<u8>,
) -> RunStep {
    let mut run = RunContext { program, state, original: query, env: world, out };
    loop {
        let changed = ChangedQuestion::of(run.state, query);
        let step = match &changed {
            None => run.segment(PipelineQuestion { query, name }),
            Some(changed) => {
                let query = changed.query(query);
                run.segment(PipelineQuestion { query: &query, name: changed.name(name) })
            }
        };
        if let Some(step) = step {
            run.drop_replaced();
            return step;
        }
    }
}

/// Gives a waiting `state` what it waited for; [`run`] then goes on. A response that was made
/// elsewhere must stand in `out` already.
pub fn arrive(program: &Program, state: &mut RunState, arrived: WaitOutcome) {
    if state.ending.is_some() {
        return arrive_on_the_way_back(state, arrived);
    }
    let waiting = program.ops.get(state.at as usize);
    let then = match waiting {
        Some(Op::Forward { then, .. }) => *then,
        Some(Op::Fallback(fallback)) => fallback.then,
        // Its rest was run already.
        Some(Op::Prefer(_)) => AfterAnswer::Stop,
        _ => AfterAnswer::Next,
    };
    let is_prefer = matches!(waiting, Some(Op::Prefer(_)));
    match arrived {
        WaitOutcome::Answer(answer, age_s, source) => {
            state.response = RunResponse::Kept(answer, age_s);
            state.source = source;
        }
        WaitOutcome::Response(response, source) => {
            state.upstream_answer = None;
            state.response = response;
            state.source = source;
        }
        WaitOutcome::Blank => {
            state.blank = EmptyAnswer::Due;
            return;
        }
        WaitOutcome::Nothing => {}
        WaitOutcome::Stop => return state.end(EndScope::Everything),
        WaitOutcome::Failed(why) => return state.fail(why),
    }
    match then {
        AfterAnswer::Next => state.at += 1,
        AfterAnswer::Stop if is_prefer => state.end(EndScope::Called),
        AfterAnswer::Stop => state.end(EndScope::Everything),
    }
}

/// The same for a wait on the way back, which then goes on.
fn arrive_on_the_way_back(state: &mut RunState, arrived: WaitOutcome) {
    match arrived {
        // An answer that is there is not lost because too many wait.
        WaitOutcome::Failed(RunFailure::Overloaded)
        | WaitOutcome::Nothing
        | WaitOutcome::Blank
        | WaitOutcome::Answer(..) => {}
        WaitOutcome::Response(response, source) => {
            state.response = response;
            state.source = source;
        }
        WaitOutcome::Stop => state.end(EndScope::Everything),
        WaitOutcome::Failed(why) => state.fail(why),
    }
}

/// Writes what is answered where a program gave no answer.
pub fn write_default_answer(program: &Program, query: &DnsQuery<'_>, out: &mut Vec<u8>) {
    const REFUSED: u16 = 5;
    let rcode = match program.default_answer {
        SilentAnswer::Refused => REFUSED,
        SilentAnswer::Empty => 0,
    };
    synthesize::code(&bare(query), rcode, None, out);
}

/// The query as one without EDNS: what is written for it has no OPT.
fn bare<'q>(query: &DnsQuery<'q>) -> DnsQuery<'q> {
    DnsQuery { edns: None, ..*query }
}

impl RunState {
    fn fail(&mut self, why: RunFailure) {
        self.failed = Some(why);
        self.response = RunResponse::Nothing;
        self.source = Source::Failed;
        self.end(EndScope::Everything);
    }

    /// Begins to end what `scope` names.
    fn end(&mut self, scope: EndScope) {
        while let Some(frame) = self.frames.pop() {
            if scope == EndScope::Called && frame.kind == FrameKind::Call {
                self.ending = Some(SequenceEnd {
                    wrappers: frame.wrappers,
                    return_to: Some(frame.return_to),
                });
                return;
            }
        }
        self.ending = Some(SequenceEnd { wrappers: 0, return_to: None });
    }

    /// The end of a sequence.
    fn return_from_call(&mut self) {
        match self.frames.pop() {
            None => self.ending = Some(SequenceEnd { wrappers: 0, return_to: None }),
            Some(CallFrame { return_to: back, kind: FrameKind::Jump, .. }) => self.at = back,
            Some(CallFrame { return_to: back, kind: FrameKind::Call, wrappers }) => {
                self.ending = Some(SequenceEnd { wrappers, return_to: Some(back) });
            }
        }
    }

    /// The end of all that was called since the last jump.
    fn return_from_jump(&mut self) {
        let mut wrappers = self.wrappers.len() as u8;
        let mut back = None;
        while let Some(frame) = self.frames.pop() {
            if frame.kind == FrameKind::Jump {
                back = Some(frame.return_to);
                break;
            }
            wrappers = frame.wrappers;
        }
        let wrappers = if back.is_some() { wrappers } else { 0 };
        self.ending = Some(SequenceEnd { wrappers, return_to: back });
    }

    fn call(&mut self, to: Place, kind: FrameKind) -> OpFlow {
        let wrappers = self.wrappers.len() as u8;
        match self.frames.push(CallFrame { return_to: self.at + 1, kind, wrappers }) {
            Ok(()) => OpFlow::To(to),
            Err(_) => OpFlow::Fail(RunFailure::Program),
        }
    }
}

impl ChangedQuestion {
    /// The question of `state`, if it is not the client's.
    fn of(state: &RunState, query: &DnsQuery<'_>) -> Option<Self> {
        if !state.is_changed() {
            return None;
        }
        let mut changed = Self {
            question: [0; QUESTION_BYTES_MAX],
            len: 0,
            target: state.target.clone(),
            qtype: state.qtype.unwrap_or(query.qtype),
        };
        let asked = &query.question[..query.question.len() - 4];
        let name = state.target.as_ref().map_or(asked, |target| &target.wire[..]);
        // A target is a name, and no name is longer than this has room for.
        let name = &name[..name.len().min(QUESTION_BYTES_MAX - 4)];
        changed.question[..name.len()].copy_from_slice(name);
        let tail = &mut changed.question[name.len()..name.len() + 4];
        tail[..2].copy_from_slice(&changed.qtype.to_be_bytes());
        tail[2..].copy_from_slice(&query.qclass.to_be_bytes());
        changed.len = name.len() + 4;
        Some(changed)
    }

    fn question(&self) -> &[u8] {
        &self.question[..self.len]
    }

    fn query<'q>(&'q self, query: &DnsQuery<'q>) -> DnsQuery<'q> {
        DnsQuery { question: self.question(), qtype: self.qtype, ..*query }
    }

    fn name<'n>(&'n self, asked: Name<'n>) -> Name<'n> {
        self.target.as_ref().map_or(asked, |target| target.name.as_name())
    }
}

impl<W: PipelineEnv> RunContext<'_, W> {
    /// Runs until the question changes (nothing), or the run ends or waits.
    fn segment(&mut self, asked: PipelineQuestion<'_>) -> Option<RunStep> {
        loop {
            if let Some(ending) = self.state.ending {
                match self.unwind(asked, ending) {
                    wrapping::UnwindState::Changed => return None,
                    wrapping::UnwindState::Back => continue,
                    wrapping::UnwindState::Done => return Some(RunStep::Done),
                    wrapping::UnwindState::Wait(wait) => return Some(RunStep::Wait(wait)),
                }
            }
            if self.state.blank == EmptyAnswer::Due {
                self.state.blank = EmptyAnswer::No;
                self.answer_blank(asked);
                self.state.end(EndScope::Called);
                continue;
            }
            self.state.steps += 1;
            if self.state.steps > STEPS_MAX {
                self.state.fail(RunFailure::Program);
                continue;
            }
            let program = self.program;
            let Some(op) = program.ops.get(self.state.at as usize) else {
                self.state.return_from_call();
                continue;
            };
            match self.step(op, asked) {
                OpFlow::Next => self.state.at += 1,
                OpFlow::To(place) => self.state.at = place,
                OpFlow::Changed => {
                    self.state.at += 1;
                    return None;
                }
                OpFlow::End(scope) => self.state.end(scope),
                OpFlow::Fail(why) => self.state.fail(why),
                OpFlow::Wait(wait) => return Some(RunStep::Wait(wait)),
            }
        }
    }

    /// Takes what was written out of the buffer, where another answer has taken its place or it is
    /// gone: whoever writes the answer would write behind it.
    fn drop_replaced(&mut self) {
        if !matches!(self.state.response, RunResponse::Made) {
            self.out.clear();
        }
    }

    fn step(&mut self, op: &Op, asked: PipelineQuestion<'_>) -> OpFlow {
        match op {
            Op::When { tests, otherwise } => {
                if self.all_match(tests, asked) {
                    OpFlow::Next
                } else {
                    OpFlow::To(*otherwise)
                }
            }
            Op::Accept(scope) => OpFlow::End(*scope),
            Op::Return | Op::End => {
                self.state.return_from_call();
                // Where it goes on is known already.
                OpFlow::To(self.state.at)
            }
            Op::Leave => {
                self.state.return_from_jump();
                OpFlow::To(self.state.at)
            }
            Op::Reject { rcode, soa, scope } => self.reject(*rcode, *soa, *scope, asked),
            Op::Jump(to) => self.state.call(*to, FrameKind::Jump),
            Op::Goto(to) => OpFlow::To(*to),
            Op::Call(to) => self.state.call(*to, FrameKind::Call),
            Op::Mark(marks) => self.mark(marks),
            Op::DoorAnswer(own) => self.ask_door(*own, asked),
            Op::Hosts { hosts, then } => self.hosts(hosts, *then, asked),
            Op::Records { zone, then } => self.records(zone, *then, asked),
            Op::BlackHole { answer, then } => self.black_hole(answer, *then, asked),
            Op::DropResponse => self.drop_response(),
            Op::Ttl(rule) => self.set_ttls(*rule, asked),
            Op::Redirect(rules) => self.redirect(rules, asked),
            Op::Subnet(rule) => self.subnet(rule, asked),
            Op::PassOptions(_) => {
                self.state.extra.passed = Some(self.state.at);
                OpFlow::Next
            }
            Op::Cache { cache, keeper, then } => self.cache(*cache, *keeper, *then, asked),
            Op::Forward { group, cache, .. } => {
                let options = self.upstream_options(asked);
                let mut key = KeyBuffer::new();
                asked.query.key(&mut key);
                let key = key.as_bytes().into();
                OpFlow::Wait(RunWait::Forward { group: *group, cache: *cache, key, options })
            }
            Op::Fallback(fallback) => OpFlow::Wait(RunWait::Fallback(fallback.clone())),
            Op::Prefer(prefer) => self.prefer(prefer, asked),
            Op::Sleep(long) => OpFlow::Wait(RunWait::Sleep(*long)),
            Op::ReverseLookup { memory, pointers } => {
                self.reverse_lookup(*memory, *pointers, asked)
            }
            Op::LearnName(rule) => self.learn_name(rule, asked),
            Op::OrderAddresses(selector) => self.wrap(ReturnWrapper::Order(*selector)),
            Op::Collect(collector) => self.wrap(ReturnWrapper::Collect(*collector)),
            Op::Summary(title) => self.wrap(ReturnWrapper::Summary(Arc::clone(title))),
            Op::Print(line) => {
                self.env.emit(asked, PipelineEvent::Line(line));
                OpFlow::Next
            }
            Op::Effect { effect, phase } => self.effect(*effect, *phase, asked),
            Op::Await { effect, on_error } => {
                OpFlow::Wait(RunWait::Effect { effect: *effect, on_error: *on_error })
            }
        }
    }

    fn ask_door(&mut self, own: OwnAnswer, asked: PipelineQuestion<'_>) -> OpFlow {
        if own == OwnAnswer::Subnet {
            self.state.extra.subnet = self.env.subnet(asked);
            return OpFlow::Next;
        }
        let query = bare(asked.query);
        let asked = PipelineQuestion { query: &query, ..asked };
        let before = self.out.len();
        match self.env.door_answer(own, asked, self.out) {
            DoorAnswer::Absent => OpFlow::Next,
            DoorAnswer::Rewrite(target) => self.rewrite_to(target),
            DoorAnswer::Answered(source) => {
                self.out.drain(..before);
                self.state.response = RunResponse::Made;
                self.state.source = source;
                OpFlow::End(EndScope::Everything)
            }
        }
    }

    fn mark(&mut self, marks: &[u32]) -> OpFlow {
        for mark in marks {
            if !self.state.marks.as_slice().contains(mark) && self.state.marks.push(*mark).is_err()
            {
                break;
            }
        }
        OpFlow::Next
    }

    fn cache(
        &mut self,
        cache: u16,
        keeper: CacheKeeper,
        then: AfterAnswer,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        let mut key = KeyBuffer::new();
        asked.query.key(&mut key);
        let extended = self.extended_key(&key, asked);
        let key = extended.as_deref().unwrap_or(key.as_bytes());
        let CacheResult { held, renew } = self.env.cached(cache, key);
        let (answer, age_s, source) = match held {
            HeldAnswer::Fresh(answer, age_s) => (answer, age_s, Source::Cache),
            HeldAnswer::Stale(answer, age_s) => (answer, age_s, Source::Stale),
            HeldAnswer::Miss => {
                return match keeper {
                    CacheKeeper::Exchange => OpFlow::Next,
                    CacheKeeper::Run => self.wrap(ReturnWrapper::Keep { cache, key: key.into() }),
                };
            }
        };
        if renew == RenewalState::Due {
            self.renew(cache, keeper, key);
        }
        self.state.response = RunResponse::Kept(answer, age_s);
        self.state.source = source;
        after(then)
    }

    /// Lets the rest of this run be run again in the background, from after the cache.
    fn renew(&mut self, cache: u16, keeper: CacheKeeper, key: &[u8]) {
        let mut state = self.state.branch_for_rest();
        if keeper == CacheKeeper::Run {
            let wrapper = ReturnWrapper::Keep { cache, key: key.into() };
            // It is the first one there.
            let _ = state.wrappers.push(wrapper);
        }
        self.env.renew(state);
    }

    /// The key of the cache where something besides the question tells answers apart.
    fn extended_key(&self, key: &KeyBuffer, asked: PipelineQuestion<'_>) -> Option<Box<[u8]>> {
        if self.state.extra == UpstreamExtra::default() {
            return None;
        }
        let options = self.upstream_options(asked);
        (!options.is_empty()).then(|| [key.as_bytes(), &options].concat().into())
    }
}

/// Returns what follows an answer.
fn after(then: AfterAnswer) -> OpFlow {
    match then {
        AfterAnswer::Next => OpFlow::Next,
        AfterAnswer::Stop => OpFlow::End(EndScope::Everything),
    }
}
