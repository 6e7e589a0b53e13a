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

use crate::program::{Keeper, Op, Own, Place, Program, Scope, Silence, Then};
use crate::state::{
    Arrived, Blank, Ending, Extra, Failure, Frame, FrameKind, Response, STEPS_MAX, State, Step,
    Target, Wait, Wrapper,
};
use crate::world::{Asked, Held, Looked, Renewal, Said, Tidings, World};
use dns_wire::{KeyBuffer, Query, forge};
use std::sync::Arc;
use vocab::{Name, Source};

/// A question in wire form: a name of 255 bytes, its type and class.
const QUESTION_BYTES_MAX: usize = 259;

/// What an operation leads to.
enum Flow {
    Next,
    To(Place),
    /// The question is another now.
    Changed,
    End(Scope),
    Fail(Failure),
    Wait(Wait),
}

/// What a run works with, the question apart.
struct Run<'r, W> {
    program: &'r Program,
    state: &'r mut State,
    /// The client's question.
    original: &'r Query<'r>,
    world: &'r mut W,
    out: &'r mut Vec<u8>,
}

/// A question other than the client's.
struct Changed {
    question: [u8; QUESTION_BYTES_MAX],
    len: usize,
    target: Option<Arc<Target>>,
    qtype: u16,
}

/// Runs `state` until it ends or waits. `query` and `name` are the client's, the same each time;
/// `out` holds what the run has written so far and nothing else, and is empty at first.
pub fn run<W: World>(
    program: &Program,
    state: &mut State,
    query: &Query<'_>,
    name: Name<'_>,
    world: &mut W,
    out: &mut Vec<u8>,
) -> Step {
    let mut run = Run { program, state, original: query, world, out };
    loop {
        let changed = Changed::of(run.state, query);
        let step = match &changed {
            None => run.segment(Asked { query, name }),
            Some(changed) => {
                let query = changed.query(query);
                run.segment(Asked { query: &query, name: changed.name(name) })
            }
        };
        if let Some(step) = step {
            return step;
        }
    }
}

/// Gives a waiting `state` what it waited for; [`run`] then goes on. A response that was made
/// elsewhere must stand in `out` already.
pub fn arrive(program: &Program, state: &mut State, arrived: Arrived) {
    let waiting = program.ops.get(state.at as usize);
    let then = match waiting {
        Some(Op::Forward { then, .. }) => *then,
        Some(Op::Fallback(fallback)) => fallback.then,
        // Its rest was run already.
        Some(Op::Prefer(_)) => Then::Stop,
        _ => Then::Next,
    };
    let is_prefer = matches!(waiting, Some(Op::Prefer(_)));
    match arrived {
        Arrived::Answer(answer, age_s, source) => {
            state.response = Response::Kept(answer, age_s);
            state.source = source;
        }
        Arrived::Response(response, source) => {
            state.heard = None;
            state.response = response;
            state.source = source;
        }
        Arrived::Blank => {
            state.blank = Blank::Due;
            return;
        }
        Arrived::Nothing => {}
        Arrived::Stop => return state.end(Scope::Everything),
        Arrived::Failed(why) => return state.fail(why),
    }
    match then {
        Then::Next => state.at += 1,
        Then::Stop if is_prefer => state.end(Scope::Called),
        Then::Stop => state.end(Scope::Everything),
    }
}

/// Writes what is answered where a program gave no answer.
pub fn silence(program: &Program, query: &Query<'_>, out: &mut Vec<u8>) {
    const REFUSED: u16 = 5;
    let rcode = match program.silence {
        Silence::Refused => REFUSED,
        Silence::Empty => 0,
    };
    forge::code(&bare(query), rcode, None, out);
}

/// The query as one without EDNS: what is written for it has no OPT.
fn bare<'q>(query: &Query<'q>) -> Query<'q> {
    Query { edns: None, ..*query }
}

impl State {
    fn fail(&mut self, why: Failure) {
        self.failed = Some(why);
        self.response = Response::Nothing;
        self.source = Source::Failed;
        self.end(Scope::Everything);
    }

    /// Begins to end what `scope` names.
    fn end(&mut self, scope: Scope) {
        while let Some(frame) = self.frames.pop() {
            if scope == Scope::Called && frame.kind == FrameKind::Call {
                self.ending = Some(Ending { wrappers: frame.wrappers, back: Some(frame.back) });
                return;
            }
        }
        self.ending = Some(Ending { wrappers: 0, back: None });
    }

    /// The end of a sequence.
    fn go_back(&mut self) {
        match self.frames.pop() {
            None => self.ending = Some(Ending { wrappers: 0, back: None }),
            Some(Frame { back, kind: FrameKind::Jump, .. }) => self.at = back,
            Some(Frame { back, kind: FrameKind::Call, wrappers }) => {
                self.ending = Some(Ending { wrappers, back: Some(back) });
            }
        }
    }

    /// The end of all that was called since the last jump.
    fn leave(&mut self) {
        let mut wrappers = self.wrappers.len() as u8;
        let mut back = None;
        while let Some(frame) = self.frames.pop() {
            if frame.kind == FrameKind::Jump {
                back = Some(frame.back);
                break;
            }
            wrappers = frame.wrappers;
        }
        let wrappers = if back.is_some() { wrappers } else { 0 };
        self.ending = Some(Ending { wrappers, back });
    }

    fn enter(&mut self, to: Place, kind: FrameKind) -> Flow {
        let wrappers = self.wrappers.len() as u8;
        match self.frames.push(Frame { back: self.at + 1, kind, wrappers }) {
            Ok(()) => Flow::To(to),
            Err(_) => Flow::Fail(Failure::Program),
        }
    }
}

impl Changed {
    /// The question of `state`, if it is not the client's.
    fn of(state: &State, query: &Query<'_>) -> Option<Self> {
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

    fn query<'q>(&'q self, query: &Query<'q>) -> Query<'q> {
        Query { question: self.question(), qtype: self.qtype, ..*query }
    }

    fn name<'n>(&'n self, asked: Name<'n>) -> Name<'n> {
        self.target.as_ref().map_or(asked, |target| target.name.as_name())
    }
}

impl<W: World> Run<'_, W> {
    /// Runs until the question changes (nothing), or the run ends or waits.
    fn segment(&mut self, asked: Asked<'_>) -> Option<Step> {
        loop {
            if let Some(ending) = self.state.ending {
                match self.unwind(asked, ending) {
                    wrapping::Unwound::Changed => return None,
                    wrapping::Unwound::Back => continue,
                    wrapping::Unwound::Done => return Some(Step::Done),
                }
            }
            if self.state.blank == Blank::Due {
                self.state.blank = Blank::No;
                self.answer_blank(asked);
                self.state.end(Scope::Called);
                continue;
            }
            self.state.steps += 1;
            if self.state.steps > STEPS_MAX {
                self.state.fail(Failure::Program);
                continue;
            }
            let program = self.program;
            let Some(op) = program.ops.get(self.state.at as usize) else {
                self.state.go_back();
                continue;
            };
            match self.step(op, asked) {
                Flow::Next => self.state.at += 1,
                Flow::To(place) => self.state.at = place,
                Flow::Changed => {
                    self.state.at += 1;
                    return None;
                }
                Flow::End(scope) => self.state.end(scope),
                Flow::Fail(why) => self.state.fail(why),
                Flow::Wait(wait) => return Some(Step::Wait(wait)),
            }
        }
    }

    fn step(&mut self, op: &Op, asked: Asked<'_>) -> Flow {
        match op {
            Op::When { tests, otherwise } => {
                if self.all_hold(tests, asked) {
                    Flow::Next
                } else {
                    Flow::To(*otherwise)
                }
            }
            Op::Accept(scope) => Flow::End(*scope),
            Op::Return | Op::End => {
                self.state.go_back();
                // Where it goes on is known already.
                Flow::To(self.state.at)
            }
            Op::Leave => {
                self.state.leave();
                Flow::To(self.state.at)
            }
            Op::Reject { rcode, soa, scope } => self.reject(*rcode, *soa, *scope, asked),
            Op::Jump(to) => self.state.enter(*to, FrameKind::Jump),
            Op::Goto(to) => Flow::To(*to),
            Op::Call(to) => self.state.enter(*to, FrameKind::Call),
            Op::Mark(marks) => self.mark(marks),
            Op::Own(own) => self.own(*own, asked),
            Op::Hosts { hosts, then } => self.hosts(hosts, *then, asked),
            Op::Records { zone, then } => self.records(zone, *then, asked),
            Op::BlackHole { answer, then } => self.black_hole(answer, *then, asked),
            Op::DropResponse => self.drop_response(),
            Op::Ttl(rule) => self.set_ttls(*rule, asked),
            Op::Redirect(rules) => self.redirect(rules, asked),
            Op::Subnet(rule) => self.subnet(rule, asked),
            Op::PassOptions(_) => {
                self.state.extra.passed = Some(self.state.at);
                Flow::Next
            }
            Op::Cache { cache, keeper, then } => self.cache(*cache, *keeper, *then, asked),
            Op::Forward { group, cache, .. } => {
                let options = self.upstream_options(asked);
                let mut key = KeyBuffer::new();
                asked.query.key(&mut key);
                let key = key.as_bytes().into();
                Flow::Wait(Wait::Forward { group: *group, cache: *cache, key, options })
            }
            Op::Fallback(fallback) => Flow::Wait(Wait::Fallback(fallback.clone())),
            Op::Prefer(prefer) => self.prefer(prefer, asked),
            Op::Sleep(long) => Flow::Wait(Wait::Sleep(*long)),
            Op::ReverseLookup { memory, pointers } => {
                self.reverse_lookup(*memory, *pointers, asked)
            }
            Op::Collect(collector) => self.wrap(Wrapper::Collect(*collector)),
            Op::Summary(title) => self.wrap(Wrapper::Summary(Arc::clone(title))),
            Op::Print(line) => {
                self.world.tell(asked, Tidings::Line(line));
                Flow::Next
            }
            Op::Effect { effect, phase } => self.effect(*effect, *phase, asked),
            Op::Await { effect, on_error } => {
                Flow::Wait(Wait::Effect { effect: *effect, on_error: *on_error })
            }
        }
    }

    fn own(&mut self, own: Own, asked: Asked<'_>) -> Flow {
        if own == Own::Subnet {
            self.state.extra.subnet = self.world.subnet(asked);
            return Flow::Next;
        }
        let query = bare(asked.query);
        let asked = Asked { query: &query, ..asked };
        match self.world.own(own, asked, self.out) {
            Said::Nothing => Flow::Next,
            Said::Instead(target) => self.ask_instead(target),
            Said::Answered(source) => {
                self.state.response = Response::Made;
                self.state.source = source;
                Flow::End(Scope::Everything)
            }
        }
    }

    fn mark(&mut self, marks: &[u32]) -> Flow {
        for mark in marks {
            if !self.state.marks.as_slice().contains(mark) && self.state.marks.push(*mark).is_err()
            {
                break;
            }
        }
        Flow::Next
    }

    fn cache(&mut self, cache: u16, keeper: Keeper, then: Then, asked: Asked<'_>) -> Flow {
        let mut key = KeyBuffer::new();
        asked.query.key(&mut key);
        let extended = self.extended_key(&key, asked);
        let key = extended.as_deref().unwrap_or(key.as_bytes());
        let Looked { held, renew } = self.world.cached(cache, key);
        let (answer, age_s, source) = match held {
            Held::Fresh(answer, age_s) => (answer, age_s, Source::Cache),
            Held::Stale(answer, age_s) => (answer, age_s, Source::Stale),
            Held::Nothing => {
                return match keeper {
                    Keeper::Exchange => Flow::Next,
                    Keeper::Run => self.wrap(Wrapper::Keep { cache, key: key.into() }),
                };
            }
        };
        if renew == Renewal::Due {
            self.renew(cache, keeper, key);
        }
        self.state.response = Response::Kept(answer, age_s);
        self.state.source = source;
        after(then)
    }

    /// Lets the rest of this run be run again in the background, from after the cache.
    fn renew(&mut self, cache: u16, keeper: Keeper, key: &[u8]) {
        let mut state = self.state.branch_for_rest();
        if keeper == Keeper::Run {
            let wrapper = Wrapper::Keep { cache, key: key.into() };
            // It is the first one there.
            let _ = state.wrappers.push(Some(wrapper));
        }
        self.world.renew(state);
    }

    /// The key of the cache where something besides the question tells answers apart.
    fn extended_key(&self, key: &KeyBuffer, asked: Asked<'_>) -> Option<Box<[u8]>> {
        if self.state.extra == Extra::default() {
            return None;
        }
        let options = self.upstream_options(asked);
        (!options.is_empty()).then(|| [key.as_bytes(), &options].concat().into())
    }
}

/// What follows an answer.
fn after(then: Then) -> Flow {
    match then {
        Then::Next => Flow::Next,
        Then::Stop => Flow::End(Scope::Everything),
    }
}
