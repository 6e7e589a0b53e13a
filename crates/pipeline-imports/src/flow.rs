//! The walk through the rules of a pipeline: which steps it takes, and whether it ends at the first
//! answer as our settings do.
//!
//! Sequences that are run, jumped to or gone to are walked in their place. Called by
//! [`crate::simple`].

mod branch;
mod executors;
mod frames;

use crate::book::PluginBook;
use crate::condition::RuleCondition;
use crate::kept_reason::{KeptReason, PlacedReason, REASONS_MAX};
use crate::steps::{FixedAnswer, FlowStep, PlacedStep};
use frames::{FrameKind, WalkFrames};
use mosdns_compat::language::{Executor, PlacedWord, RuleAction, SequenceRule, SourcePosition};
use pipeline::program::TestSense;

/// Sequences that lead on from one another, at most.
const DEPTH_MAX: usize = 16;
/// Rules that are walked, at most.
const RULES_MAX: usize = 16_384;
/// The code of a question that failed.
const SERVFAIL: u16 = 2;

/// Rules that need no setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainRule {
    /// Settings do this by themselves: they end at the first answer.
    Understood,
    /// Writes a line or counts; the request log has every question.
    Logged,
    /// Never reached, or its matches never hold.
    Dead,
}

/// A pipeline, walked.
#[derive(Debug, Default)]
pub(crate) struct WalkedFlow<'f> {
    pub(crate) steps: Vec<PlacedStep<'f>>,
    pub(crate) plain: Vec<(SourcePosition, PlainRule)>,
    pub(crate) reasons: Vec<PlacedReason>,
}

/// The way from one sequence to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SequenceUse {
    /// Run, and comes back.
    Called,
    /// Jumped to, and comes back.
    Jumped,
    /// Gone to for good.
    Gone,
}

/// A walk under way.
struct FlowWalk<'b, 'f> {
    book: &'b PluginBook<'f>,
    flow: WalkedFlow<'f>,
    frames: WalkFrames,
    rules: usize,
    has_final: bool,
}

/// Walks through the pipeline that begins at the executor `entry`, which stands at `position`.
pub(crate) fn walk<'f>(
    book: &PluginBook<'f>,
    entry: &str,
    position: &SourcePosition,
) -> WalkedFlow<'f> {
    let frames = WalkFrames::new(book.foreign.dialect);
    let flow = WalkedFlow::default();
    let mut walk = FlowWalk { book, flow, frames, rules: 0, has_final: false };
    match book.executor(entry) {
        Some(Executor::Sequence(rules)) => walk.sequence(rules, FrameKind::Main),
        Some(executor) => {
            walk.frames.enter(FrameKind::Main);
            walk.executor(position, &RuleCondition::default(), executor, &[]);
            walk.frames.leave();
        }
        None => walk.keep(position, KeptReason::Tag(entry.to_owned())),
    }
    if !walk.has_final && walk.flow.reasons.is_empty() {
        walk.keep(position, KeptReason::NoEnd);
    }
    walk.flow
}

impl<'f> FlowWalk<'_, 'f> {
    fn keep(&mut self, position: &SourcePosition, reason: KeptReason) {
        if self.flow.reasons.len() < REASONS_MAX {
            self.flow.reasons.push(PlacedReason { position: position.clone(), reason });
        }
    }

    fn step(&mut self, position: &SourcePosition, step: FlowStep<'f>) {
        self.flow.steps.push(PlacedStep { position: position.clone(), step });
    }

    fn plain(&mut self, position: &SourcePosition, rule: PlainRule) {
        self.flow.plain.push((position.clone(), rule));
    }

    fn sequence(&mut self, rules: &'f [SequenceRule], kind: FrameKind) {
        if self.frames.depth() >= DEPTH_MAX || self.rules + rules.len() > RULES_MAX {
            if let Some(first) = rules.first() {
                self.keep(&first.position, KeptReason::TooLong);
            }
            return;
        }
        self.rules += rules.len();
        self.frames.enter(kind);
        for rule in rules {
            if self.frames.is_done() {
                self.plain(&rule.position, PlainRule::Dead);
            } else {
                self.rule(rule);
            }
        }
        self.frames.leave();
    }

    fn rule(&mut self, rule: &'f SequenceRule) {
        let condition = RuleCondition::of(&rule.tests, self.book);
        let place = &rule.position;
        let is_answered = condition.answer == Some(TestSense::Is);
        if condition.is_never || is_answered && !self.frames.may_be_answered() {
            return self.plain(place, PlainRule::Dead);
        }
        match &rule.exec {
            RuleAction::Accept => self.end(place, &condition, SequenceEnd::Accept),
            RuleAction::Return => self.end(place, &condition, SequenceEnd::Return),
            RuleAction::Reject(code) => self.reject(place, &condition, *code),
            RuleAction::Mark(_) => self.keep(place, KeptReason::Executor("mark")),
            RuleAction::Jump(item) => {
                self.sequence_of(place, &condition, item, SequenceUse::Jumped);
            }
            RuleAction::Goto(item) => self.sequence_of(place, &condition, item, SequenceUse::Gone),
            RuleAction::Tag(item, words) => match self.book.executor(&item.text) {
                Some(Executor::Sequence(_)) => {
                    self.sequence_of(place, &condition, item, SequenceUse::Called);
                }
                Some(executor) => self.executor(place, &condition, executor, words),
                None => self.keep(place, KeptReason::Tag(item.text.clone())),
            },
            RuleAction::Quick(executor) => self.executor(place, &condition, executor, &[]),
        }
    }

    /// `accept` and `return`.
    fn end(&mut self, place: &SourcePosition, condition: &RuleCondition<'f>, end: SequenceEnd) {
        if let Some(reason) = condition.unsaid.clone() {
            return self.keep(place, reason);
        }
        match (condition.is_plain(), condition.answer) {
            (true, Some(TestSense::Is)) => {
                self.frames.answer_ends(end);
                self.plain(place, PlainRule::Understood);
            }
            (true, None) => {
                if self.frames.end(end) == RunEnd::Whole && !self.has_final {
                    self.keep(place, KeptReason::NoEnd);
                }
                self.plain(place, PlainRule::Understood);
            }
            (true, Some(TestSense::IsNot)) => self.keep(place, KeptReason::NoEnd),
            (false, Some(TestSense::Is)) => self.keep(place, KeptReason::AnswerTest),
            (false, _) => self.keep(place, KeptReason::Conditional("an end")),
        }
    }

    /// `reject`, which ends as `accept` does.
    fn reject(&mut self, place: &SourcePosition, condition: &RuleCondition<'f>, code: u16) {
        if let Some(reason) = condition.unsaid.clone() {
            return self.keep(place, reason);
        }
        if condition.answer == Some(TestSense::Is) {
            return self.keep(place, KeptReason::AnswerTest);
        }
        let is_without = condition.answer == Some(TestSense::IsNot);
        if condition.is_plain() {
            // What upstreams did not answer fails in any case.
            let is_said = self.has_final && code == SERVFAIL;
            if is_said && (is_without || !self.frames.may_be_answered()) {
                self.frames.end(SequenceEnd::Accept);
                return self.plain(place, PlainRule::Understood);
            }
            return self.keep(place, KeptReason::NoEnd);
        }
        if self.frames.may_be_answered() && !is_without {
            return self.keep(place, KeptReason::Replaced);
        }
        self.fixed(place, condition, FixedAnswer::Code(code));
        self.frames.answered_end(SequenceEnd::Accept);
    }

    /// A fixed answer under a condition.
    fn fixed(
        &mut self,
        place: &SourcePosition,
        condition: &RuleCondition<'f>,
        answer: FixedAnswer,
    ) {
        let RuleCondition { names, clients, types, limit, .. } = condition;
        match (names, clients, types, limit) {
            (Some(names), None, None, None) => self.step(place, FlowStep::Block(*names, answer)),
            (None, None, Some(types), None) => {
                self.step(place, FlowStep::RefuseTypes(types, answer));
            }
            (None, Some((sense, words)), None, None) => match answer {
                FixedAnswer::Code(5) => self.step(place, FlowStep::Refuse(*sense, words)),
                FixedAnswer::Code(code) => self.keep(place, KeptReason::Code(code)),
                FixedAnswer::Hole(_) => self.keep(place, KeptReason::Conditional("black_hole")),
            },
            (None, None, None, Some(limit)) => self.step(place, FlowStep::Limit(limit)),
            _ => self.keep(place, KeptReason::Combined),
        }
    }

    /// A sequence in the place of a rule.
    fn sequence_of(
        &mut self,
        place: &SourcePosition,
        condition: &RuleCondition<'f>,
        item: &'f PlacedWord,
        how: SequenceUse,
    ) {
        let Some(rules) = self.book.sequence(&item.text) else {
            return self.keep(place, KeptReason::Tag(item.text.clone()));
        };
        if let Some(reason) = condition.unsaid.clone() {
            return self.keep(place, reason);
        }
        match (condition.is_plain(), condition.answer) {
            (true, Some(TestSense::Is)) => {
                if branch::only_ends(rules, how) {
                    self.frames.answer_ends(SequenceEnd::Accept);
                    self.plain(place, PlainRule::Understood);
                } else {
                    self.keep(place, KeptReason::AnswerTest);
                }
            }
            (true, answer) => {
                self.plain(place, PlainRule::Understood);
                let before = self.frames.set_aside(answer);
                let kind = match how {
                    SequenceUse::Called => FrameKind::Called,
                    SequenceUse::Jumped | SequenceUse::Gone => FrameKind::Jumped,
                };
                self.sequence(rules, kind);
                self.frames.take_back(before);
                if how == SequenceUse::Gone {
                    let _ = self.frames.end(SequenceEnd::Accept);
                }
            }
            (false, Some(TestSense::Is)) => self.keep(place, KeptReason::AnswerTest),
            (false, answer) => {
                if self.frames.may_be_answered() && answer != Some(TestSense::IsNot) {
                    return self.keep(place, KeptReason::Replaced);
                }
                match branch::branch(rules, self.book, 0) {
                    Ok(found) => self.take_branch(place, condition, found, how),
                    Err(PlacedReason { position, reason }) => self.keep(&position, reason),
                }
            }
        }
    }
}

/// A word that ends a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceEnd {
    /// `accept`.
    Accept,
    /// `return`.
    Return,
}

/// Extent of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// A sequence that something else follows.
    Part,
    /// All.
    Whole,
}
