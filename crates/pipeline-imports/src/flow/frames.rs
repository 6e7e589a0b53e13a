//! Sequences that are under way in a walk, and whether an answer may be there.

use super::{RunEnd, SequenceEnd};
use mosdns_compat::language::Dialect;
use pipeline::program::TestSense;

/// Why a sequence is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Questions begin there.
    Main,
    /// Another one runs it.
    Called,
    /// Another one jumped to it.
    Jumped,
}

/// Chance that an answer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerChance {
    /// There is none.
    Absent,
    /// There may be one.
    Possible,
}

/// A sequence under way.
#[derive(Clone, Copy, Debug)]
struct WalkFrame {
    kind: FrameKind,
    /// True if it may end with an answer before its last rule.
    is_answered: bool,
    /// True if no rule of it is reached any more.
    is_done: bool,
}

/// Sequences under way, the innermost last.
#[derive(Debug)]
pub(super) struct WalkFrames {
    dialect: Dialect,
    frames: Vec<WalkFrame>,
    answer: AnswerChance,
    is_ended: bool,
}

impl WalkFrames {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, frames: Vec::new(), answer: AnswerChance::Absent, is_ended: false }
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn enter(&mut self, kind: FrameKind) {
        self.frames.push(WalkFrame { kind, is_answered: false, is_done: false });
    }

    pub(super) fn leave(&mut self) {
        if self.frames.pop().is_some_and(|frame| frame.is_answered) {
            self.note_answer();
        }
    }

    /// True if the rules that follow are not reached.
    pub(super) fn is_done(&self) -> bool {
        self.is_ended || self.frames.last().is_some_and(|it| it.is_done)
    }

    /// True if an answer may be there at the rule that is next.
    pub(super) fn may_be_answered(&self) -> bool {
        self.answer == AnswerChance::Possible
    }

    /// The same, to be restored.
    pub(super) fn answer(&self) -> AnswerChance {
        self.answer
    }

    /// Notes that an answer may be there from now on.
    pub(super) fn note_answer(&mut self) {
        self.answer = AnswerChance::Possible;
    }

    /// Goes back to what was known before a rule that ends the run.
    pub(super) fn restore(&mut self, before: AnswerChance) {
        self.answer = before;
    }

    /// For rules that run only where there is no answer: forgets it for as long.
    pub(super) fn set_aside(&mut self, tested: Option<TestSense>) -> AnswerChance {
        if tested == Some(TestSense::IsNot) { self.forget() } else { AnswerChance::Absent }
    }

    /// Takes back what was set aside.
    pub(super) fn take_back(&mut self, before: AnswerChance) {
        if before == AnswerChance::Possible {
            self.note_answer();
        }
    }

    fn forget(&mut self) -> AnswerChance {
        std::mem::replace(&mut self.answer, AnswerChance::Absent)
    }

    /// The sequence that an end ends; none if it ends all.
    fn target(&self, end: SequenceEnd) -> Option<usize> {
        let is_target = |frame: &WalkFrame| match (end, self.dialect) {
            (SequenceEnd::Accept, Dialect::Mosdns) => frame.kind == FrameKind::Called,
            (SequenceEnd::Accept, Dialect::Oxidns) => false,
            (SequenceEnd::Return, Dialect::Mosdns) => frame.kind != FrameKind::Main,
            (SequenceEnd::Return, Dialect::Oxidns) => frame.kind == FrameKind::Jumped,
        };
        self.frames.iter().rposition(is_target)
    }

    /// An end where there is an answer: behind it there is none.
    pub(super) fn answer_ends(&mut self, end: SequenceEnd) {
        self.answered_end(end);
        self.forget();
    }

    /// A rule that answers and ends, under a condition.
    pub(super) fn answered_end(&mut self, end: SequenceEnd) {
        if let Some(target) = self.target(end) {
            self.frames[target].is_answered = true;
        }
    }

    /// An end without a condition.
    pub(super) fn end(&mut self, end: SequenceEnd) -> RunEnd {
        let Some(target) = self.target(end) else {
            self.is_ended = true;
            return RunEnd::Whole;
        };
        for frame in &mut self.frames[target..] {
            frame.is_done = true;
        }
        self.frames[target].is_answered |= self.forget() == AnswerChance::Possible;
        RunEnd::Part
    }
}
