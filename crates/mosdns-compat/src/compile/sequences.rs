//! Sequences as one flat list of operations.
//!
//! What a sequence jumps to or runs comes before it in the list, so every place is known when it is
//! needed; no sequence leads back to itself. The two dialects differ in what ends with an end, and
//! this is the file where they do. Called by [`super`].

use super::executors::{ExecutorNeeds, ExecutorRunner};
use super::matchers::{CompiledTests, MatcherCompiler};
use super::plugins::PluginBook;
use crate::language::{
    Executor, FallbackPlugin as Written, LearnDomainPlugin, OutwardEffect, PlacedWord, RuleAction,
    SequenceRule,
};
use pipeline::program::{
    CacheKeeper, DEPTH_MAX, EffectTiming, EndScope, FallbackOp, FamilyPreference, GuardTest,
    OPS_MAX, Op, Place, TtlRule, WRAPPERS_MAX, WithSoa,
};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Time for which the answer waits for a preferred family, as in both peers.
const PREFER_PATIENCE: Duration = Duration::from_millis(500);

/// Time that a question may take in mosdns, whatever it waits for.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Holds how much room the operations of a sequence take in a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunRoom {
    /// Jumps and calls that are open at once, at most.
    frames: usize,
    /// Wrapping operations that are there at once, at most.
    wrappers: usize,
    /// Wrapping operations that are still there at its end.
    left: usize,
}

/// A program in the making.
pub(super) struct FlatProgram<'f> {
    book: &'f PluginBook<'f>,
    matchers: &'f MatcherCompiler<'f>,
    pub(super) needs: ExecutorNeeds<'f>,
    pub(super) ops: Vec<Op>,
    starts: HashMap<usize, (Place, RunRoom)>,
    /// Where a jump of OxiDNS lands: the sequence is run on its own, and then it goes back.
    landings: HashMap<usize, Place>,
    /// Sequences that are jumped to.
    jumped: HashSet<usize>,
    returns: ReturnMode,
}

/// Tells how `return` goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReturnMode {
    /// To whoever jumped or called here.
    Here,
    /// To whoever jumped, out of all that was run in between: OxiDNS, where a sequence that another
    /// one runs holds a `return`.
    Far,
}

/// The operations of one sequence, with places of their own.
#[derive(Default)]
struct SequencePart {
    ops: Vec<Op>,
    room: RunRoom,
}

impl<'f> FlatProgram<'f> {
    pub(super) fn new(
        book: &'f PluginBook<'f>,
        matchers: &'f MatcherCompiler<'f>,
        needs: ExecutorNeeds<'f>,
    ) -> Self {
        let mut flat = Self {
            book,
            matchers,
            needs,
            ops: Vec::new(),
            starts: HashMap::new(),
            landings: HashMap::new(),
            jumped: HashSet::new(),
            returns: ReturnMode::Here,
        };
        flat.find_jumps();
        flat
    }

    fn is_mosdns(&self) -> bool {
        self.book.notes.is_mosdns()
    }

    /// Finds who is jumped to, and how far a `return` must go.
    fn find_jumps(&mut self) {
        let quiet = crate::language::ReadNotes::new(self.book.notes.dialect);
        let book = self.book.with_notes(&quiet);
        for rule in book.plugins.iter().filter_map(|it| it.kind.rules()).flatten() {
            match &rule.exec {
                RuleAction::Jump(item) => self.jumped.extend(book.sequence(item).map(|(at, _)| at)),
                RuleAction::Tag(item, _) if !self.is_mosdns() => {
                    if let Some((_, rules)) = book.sequence(item)
                        && rules.iter().any(|it| it.exec == RuleAction::Return)
                    {
                        self.returns = ReturnMode::Far;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns what ends with an end: in mosdns the sequence that was run on its own, in OxiDNS
    /// everything.
    fn scope(&self) -> EndScope {
        if self.is_mosdns() { EndScope::Called } else { EndScope::Everything }
    }

    /// Where the executor with the tag `item` begins.
    pub(super) fn start(&mut self, item: &PlacedWord) -> Option<Place> {
        let (at, executor) = self.book.executor(item)?;
        Some(self.start_of(at, executor).0)
    }

    /// Where the plugin `at` begins, as a sequence of its own.
    pub(super) fn start_of(&mut self, at: usize, executor: &'f Executor) -> (Place, RunRoom) {
        if let Some(start) = self.starts.get(&at) {
            return *start;
        }
        let mut part = SequencePart::default();
        if let Executor::Sequence(rules) = executor {
            self.sequence(at, rules, &mut part);
        } else {
            let plugin = &self.book.plugins[at];
            let runner =
                ExecutorRunner { plugin: Some(at), name: &plugin.tag, position: &plugin.position };
            self.run(executor, &[], runner, &mut part);
        }
        let start = self.append(part, &self.book.plugins[at].position);
        self.starts.insert(at, start);
        start
    }

    /// Adds a part to the list, behind what it leads to.
    fn append(
        &mut self,
        mut part: SequencePart,
        place: &crate::language::SourcePosition,
    ) -> (Place, RunRoom) {
        part.ops.push(Op::End);
        let start = self.ops.len() as Place;
        for op in &mut part.ops {
            if let Op::When { otherwise, .. } = op {
                *otherwise += start;
            }
        }
        let notes = self.book.notes;
        if self.ops.len() + part.ops.len() > OPS_MAX {
            notes.complain(place.complaint(format!("the file makes more than {OPS_MAX} steps")));
        } else {
            self.ops.extend(part.ops);
        }
        if part.room.frames > DEPTH_MAX {
            let message = format!("sequences lead on from one another more than {DEPTH_MAX} deep");
            notes.complain(place.complaint(message));
        }
        if part.room.wrappers > WRAPPERS_MAX {
            let message = format!(
                "a question passes {} caches, collectors and the like on one way here",
                part.room.wrappers
            );
            let remedy = format!(
                "{WRAPPERS_MAX} are the most: leave some out, or run parts of it by $tag, where they end"
            );
            notes.complain(place.complaint(message).remedy(remedy));
        }
        (start, part.room)
    }

    fn sequence(&mut self, at: usize, rules: &'f [SequenceRule], part: &mut SequencePart) {
        for rule in rules {
            let tests = self.matchers.all(&rule.tests);
            let guard = part.ops.len();
            match tests {
                CompiledTests::All(tests) if tests.is_empty() => self.exec(at, rule, part),
                CompiledTests::All(tests) => {
                    part.ops.push(when(tests));
                    self.exec(at, rule, part);
                    let behind = part.ops.len() as Place;
                    if let Op::When { otherwise, .. } = &mut part.ops[guard] {
                        *otherwise = behind;
                    }
                }
                // It is looked at all the same: what is wrong with it is wrong.
                CompiledTests::Never => self.exec(at, rule, &mut SequencePart::default()),
            }
        }
    }

    fn exec(&mut self, at: usize, rule: &'f SequenceRule, part: &mut SequencePart) {
        let scope = self.scope();
        match &rule.exec {
            RuleAction::Accept => part.ops.push(Op::Accept(scope)),
            RuleAction::Return => part.ops.push(match self.returns {
                ReturnMode::Here => Op::Return,
                ReturnMode::Far => Op::Leave,
            }),
            RuleAction::Reject(rcode) => {
                part.ops.push(Op::Reject { rcode: *rcode, soa: WithSoa::No, scope });
            }
            RuleAction::Mark(marks) => part.ops.push(Op::Mark(marks.as_slice().into())),
            RuleAction::Jump(item) => self.jump(item, part),
            RuleAction::Goto(item) => self.goto(at, item, part),
            RuleAction::Tag(item, words) => self.tag(item, words, part),
            RuleAction::Quick(executor) => {
                let name = rule.position.to_string();
                let runner = ExecutorRunner { plugin: None, name: &name, position: &rule.position };
                self.run(executor, &[], runner, part);
            }
        }
    }

    fn target(&mut self, item: &PlacedWord) -> Option<(usize, Place, RunRoom)> {
        let (at, _) = self.book.sequence(item)?;
        let (_, executor) = self.book.executor(item)?;
        let (place, room) = self.start_of(at, executor);
        Some((at, place, room))
    }

    /// In mosdns what wraps the rest of the other sequence wraps the rest of this one too; in
    /// OxiDNS it ends there.
    fn jump(&mut self, item: &PlacedWord, part: &mut SequencePart) {
        let Some((at, place, room)) = self.target(item) else { return };
        if self.is_mosdns() {
            part.ops.push(Op::Jump(place));
            part.room.nested(room, 1);
            part.room.left += room.left;
            return;
        }
        match self.returns {
            ReturnMode::Here => {
                part.ops.push(Op::Call(place));
                part.room.nested(room, 1);
            }
            ReturnMode::Far => {
                let known = self.landings.get(&at).copied();
                let landing = known.unwrap_or_else(|| {
                    let landing = self.ops.len() as Place;
                    self.ops.extend([Op::Call(place), Op::End]);
                    self.landings.insert(at, landing);
                    landing
                });
                part.ops.push(Op::Jump(landing));
                part.room.nested(room, 2);
            }
        }
    }

    /// In mosdns nobody is gone back to, not even who jumped to this sequence: there a jump that is
    /// followed by an end does the same.
    fn goto(&mut self, at: usize, item: &PlacedWord, part: &mut SequencePart) {
        let Some((_, place, room)) = self.target(item) else { return };
        if self.is_mosdns() && self.jumped.contains(&at) {
            part.ops.extend([Op::Jump(place), Op::Accept(EndScope::Called)]);
            part.room.nested(room, 1);
        } else {
            part.ops.push(Op::Goto(place));
            part.room.nested(room, 0);
        }
    }

    fn tag(&mut self, item: &PlacedWord, words: &[String], part: &mut SequencePart) {
        let Some((at, executor)) = self.book.executor(item) else { return };
        if let Executor::Sequence(_) = executor {
            let (place, room) = self.start_of(at, executor);
            part.ops.push(Op::Call(place));
            part.room.nested(room, 1);
        } else {
            let runner =
                ExecutorRunner { plugin: Some(at), name: &item.text, position: &item.position };
            self.run(executor, words, runner, part);
        }
        if !words.is_empty() && !matches!(executor, Executor::Forward(_)) {
            let message = format!("the words behind ${} have no effect", item.text);
            self.book.notes.warn(item.position.complaint(message));
        }
    }

    /// Adds the operations of an executor.
    fn run(
        &mut self,
        executor: &'f Executor,
        words: &[String],
        runner: ExecutorRunner<'_>,
        part: &mut SequencePart,
    ) {
        let op = match executor {
            // Only plugins are sequences, and those are called; the others have nothing to do.
            Executor::Sequence(_)
            | Executor::QueryRecorder
            | Executor::Cron(_)
            | Executor::Ttl(TtlRule::Within(0, 0)) => return,
            Executor::Forward(it) => self.needs.forward(it, words, runner),
            Executor::Cache(it) => {
                let cache = self.needs.cache(it, runner);
                part.room.wrap();
                Op::Cache { cache, keeper: CacheKeeper::Run, then: it.then }
            }
            Executor::Fallback(it) => match self.fallback(it) {
                Some(fallback) => Op::Fallback(fallback),
                None => return,
            },
            Executor::Hosts(it) => self.needs.hosts(it, runner),
            Executor::Arbitrary(it) => self.needs.arbitrary(it, runner),
            Executor::Redirect(it) => {
                part.room.wrap();
                self.needs.redirect(it, runner)
            }
            Executor::EcsHandler(rule) => Op::Subnet(rule.clone()),
            Executor::ForwardOptions(codes) => Op::PassOptions(codes.as_slice().into()),
            Executor::Ttl(rule) => Op::Ttl(*rule),
            Executor::Prefer(wanted) => {
                part.room.wrap();
                Op::Prefer(FamilyPreference { wanted: *wanted, patience: PREFER_PATIENCE })
            }
            Executor::BlackHole(it) => match &it.answer {
                Some(answer) => Op::BlackHole { answer: answer.clone(), then: it.then },
                None => return,
            },
            Executor::DropResponse => Op::DropResponse,
            Executor::Sleep(long) if long.is_zero() => return,
            Executor::Sleep(long) => Op::Sleep(*long),
            Executor::DebugPrint(line) => Op::Print(line.as_str().into()),
            Executor::QuerySummary(title) => {
                part.room.wrap();
                Op::Summary(title.as_str().into())
            }
            Executor::MetricsCollector(name) => {
                part.room.wrap();
                Op::Collect(self.needs.collector(name, runner.position))
            }
            Executor::ReverseLookup(it) => {
                part.room.wrap();
                self.needs.reverse_lookup(it, runner)
            }
            Executor::LearnDomain(it) => match self.learn(it, part) {
                Some(op) => op,
                None => return,
            },
            Executor::IpSelector(it) => {
                part.room.wrap();
                Op::OrderAddresses(self.needs.selector(it, runner))
            }
            Executor::Outward(it) => self.outward(it, runner, part),
        };
        part.ops.push(op);
    }

    /// What is set off at the end of the run wraps the rest.
    fn outward(
        &mut self,
        outward: &OutwardEffect,
        runner: ExecutorRunner<'_>,
        part: &mut SequencePart,
    ) -> Op {
        let op = self.needs.outward(outward, runner);
        if let Op::Effect { phase: EffectTiming::End, .. } = op {
            part.room.wrap();
        }
        op
    }

    fn learn(&mut self, plugin: &LearnDomainPlugin, part: &mut SequencePart) -> Option<Op> {
        let rule = self.needs.learn(plugin)?;
        if rule.timing == EffectTiming::End {
            part.room.wrap();
        }
        Some(Op::LearnName(rule))
    }

    /// Each of the two ways is a run of its own.
    fn fallback(&mut self, it: &Written) -> Option<FallbackOp> {
        let (primary, secondary) = (self.start(&it.primary), self.start(&it.secondary));
        Some(FallbackOp {
            primary: primary?,
            secondary: secondary?,
            threshold: it.threshold,
            standby: it.standby,
            // A question of mosdns has so long in all; in OxiDNS each upstream has its own time.
            patience: self.is_mosdns().then_some(QUESTION_TIMEOUT),
            then: it.then,
        })
    }
}

fn when(tests: Vec<GuardTest>) -> Op {
    Op::When { tests: tests.into(), otherwise: 0 }
}

impl RunRoom {
    /// One more wrapping operation.
    fn wrap(&mut self) {
        self.left += 1;
        self.wrappers = self.wrappers.max(self.left);
    }

    /// Room for another sequence, `frames` further in.
    fn nested(&mut self, other: Self, frames: usize) {
        self.frames = self.frames.max(other.frames + frames);
        self.wrappers = self.wrappers.max(self.left + other.wrappers);
    }
}
