//! Sequences that are under way in a walk, and whether an answer may be there.

use super::{End, RunEnd};
use mosdns_compat::language::Dialect;

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
    may_be_answered: bool,
    is_ended: bool,
}

impl WalkFrames {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, frames: Vec::new(), may_be_answered: false, is_ended: false }
    }

    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn enter(&mut self, kind: FrameKind) {
        self.frames.push(WalkFrame { kind, is_answered: false, is_done: false });
    }

    pub(super) fn leave(&mut self) {
        if let Some(frame) = self.frames.pop() {
            self.may_be_answered |= frame.is_answered;
        }
    }

    /// True if the rules that follow are not reached.
    pub(super) fn is_done(&self) -> bool {
        self.is_ended || self.frames.last().is_some_and(|it| it.is_done)
    }

    /// True if an answer may be there at the rule that is next.
    pub(super) fn may_be_answered(&self) -> bool {
        self.may_be_answered
    }

    /// Notes that an answer may be there from now on.
    pub(super) fn note_answer(&mut self) {
        self.may_be_answered = true;
    }

    /// Goes back to what was known before a rule that ends the run.
    pub(super) fn restore(&mut self, before: bool) {
        self.may_be_answered = before;
    }

    /// For rules that run only where there is no answer: forgets it for as long.
    pub(super) fn set_aside(&mut self, is_without: bool) -> bool {
        is_without && std::mem::take(&mut self.may_be_answered)
    }

    /// Takes back what was set aside.
    pub(super) fn take_back(&mut self, before: bool) {
        self.may_be_answered |= before;
    }

    /// The sequence that an end ends; none if it ends all.
    fn target(&self, end: End) -> Option<usize> {
        let is_target = |frame: &WalkFrame| match (end, self.dialect) {
            (End::Accept, Dialect::Mosdns) => frame.kind == FrameKind::Called,
            (End::Accept, Dialect::Oxidns) => false,
            (End::Return, Dialect::Mosdns) => frame.kind != FrameKind::Main,
            (End::Return, Dialect::Oxidns) => frame.kind == FrameKind::Jumped,
        };
        self.frames.iter().rposition(is_target)
    }

    /// An end where there is an answer: behind it there is none.
    pub(super) fn answer_ends(&mut self, end: End) {
        self.answered_end(end);
        self.may_be_answered = false;
    }

    /// A rule that answers and ends, under a condition.
    pub(super) fn answered_end(&mut self, end: End) {
        if let Some(target) = self.target(end) {
            self.frames[target].is_answered = true;
        }
    }

    /// An end without a condition.
    pub(super) fn end(&mut self, end: End) -> RunEnd {
        let Some(target) = self.target(end) else {
            self.is_ended = true;
            return RunEnd::Whole;
        };
        for frame in &mut self.frames[target..] {
            frame.is_done = true;
        }
        self.frames[target].is_answered |= std::mem::take(&mut self.may_be_answered);
        RunEnd::Part
    }
}
