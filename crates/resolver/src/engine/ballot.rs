//! Response selection: which answer counts where upstreams that are asked at once disagree.
//!
//! An answer with records ends a question at once; what is held back here are empty ones ("no such
//! name", nothing of the type), which a filtering or badly connected upstream gives sooner than
//! another finds the records. It asks nobody and waits for nothing. Called by [`super::race`].

use super::upstream_answer::UpstreamAnswer;
use crate::settings::ResponseSelection;
use dns_wire::WireAnswer;
use std::time::{Duration, Instant};

/// So long an empty answer is held back for one with records (`balanced`), as OxiDNS does.
const EMPTY_PATIENCE: Duration = Duration::from_millis(100);

/// Upstreams that must agree on an empty answer (`consensus`).
const AGREEING: u8 = 2;

/// The empty answers to one question so far.
#[derive(Default)]
pub(crate) struct AnswerBallot {
    last: Option<UpstreamAnswer>,
    no_such_name: u8,
    nothing_of_type: u8,
    /// When the wait is over, whoever else may answer.
    until: Option<Instant>,
}

impl ResponseSelection {
    /// True if `answer` ends a question whoever else was asked.
    pub(crate) fn takes_at_once(self, answer: &WireAnswer) -> bool {
        match self {
            Self::First => answer.is_definite(),
            Self::Fastest => true,
            Self::Balanced | Self::PreferPositive | Self::Consensus => {
                answer.rcode() == 0 && answer.has_answers()
            }
        }
    }
}

impl AnswerBallot {
    /// Takes an empty answer in. Of several the last counts.
    pub(crate) fn add(&mut self, found: UpstreamAnswer, rule: ResponseSelection, now: Instant) {
        let votes = match found.answer.rcode() {
            0 => &mut self.nothing_of_type,
            _ => &mut self.no_such_name,
        };
        *votes = votes.saturating_add(1);
        self.last = Some(found);
        if rule == ResponseSelection::Balanced {
            self.until.get_or_insert(now + EMPTY_PATIENCE);
        }
    }

    /// True if upstreams agree as far as they must.
    pub(crate) fn is_decided(&self, rule: ResponseSelection) -> bool {
        rule == ResponseSelection::Consensus
            && self.no_such_name.max(self.nothing_of_type) >= AGREEING
    }

    /// True if the wait for others is over.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until <= now)
    }

    /// The answer that counts where no other came.
    pub(crate) fn take(&mut self) -> Option<UpstreamAnswer> {
        self.last.take()
    }
}
