//! A sequence that some questions come to: whom it asks, or what it answers.

use super::executors::{is_idle, is_logging, word};
use super::{DEPTH_MAX, SERVFAIL, SequenceUse};
use crate::book::PluginBook;
use crate::condition::RuleCondition;
use crate::kept_reason::{KeptReason, PlacedReason};
use crate::steps::{FixedAnswer, ForwardUse};
use mosdns_compat::language::{Executor, RuleAction, SequenceRule, SourcePosition};
use pipeline::program::TestSense;

/// Deed of such a sequence.
#[derive(Clone, Debug)]
pub(super) enum BranchOutcome<'f> {
    /// Asks these.
    Forward(ForwardUse<'f>),
    /// Answers by itself.
    Fixed(FixedAnswer),
}

/// A sequence, walked to its end.
#[derive(Clone, Debug)]
pub(super) struct BranchEnd<'f> {
    pub(super) outcome: BranchOutcome<'f>,
    /// True if an answer ends the run.
    pub(super) ends: bool,
}

/// True if nothing is done with an answer but that it ends the run.
pub(super) fn only_ends(rules: &[SequenceRule], how: SequenceUse) -> bool {
    let mut has_end = how == SequenceUse::Gone;
    for rule in rules {
        match &rule.exec {
            RuleAction::Quick(executor) if is_logging(executor) => {}
            RuleAction::Accept if rule.tests.is_empty() => has_end = true,
            _ => return false,
        }
    }
    has_end
}

/// Deed of a sequence with each question that comes to it.
pub(super) fn branch<'f>(
    rules: &'f [SequenceRule],
    book: &PluginBook<'f>,
    depth: usize,
) -> Result<BranchEnd<'f>, PlacedReason> {
    let mut outcome: Option<BranchOutcome<'f>> = None;
    let ended = |outcome: Option<BranchOutcome<'f>>, rule: &SequenceRule, ends| {
        let missing = PlacedReason { position: rule.position.clone(), reason: KeptReason::NoEnd };
        outcome.map(|outcome| BranchEnd { outcome, ends }).ok_or(missing)
    };
    for rule in rules {
        let condition = RuleCondition::of(&rule.tests, book);
        let refuse = |reason| Err(PlacedReason { position: rule.position.clone(), reason });
        let is_said = condition.is_never || condition.is_plain();
        if let Some(executor) = executor(rule, book)
            && (is_logging(executor) || is_idle(executor))
        {
            continue;
        }
        if !is_said {
            return refuse(condition.unsaid.unwrap_or(KeptReason::Combined));
        }
        let is_answered = condition.answer == Some(TestSense::Is);
        if condition.is_never || is_answered && outcome.is_none() {
            continue;
        }
        let is_without = condition.answer == Some(TestSense::IsNot);
        match &rule.exec {
            RuleAction::Accept if !is_without => return ended(outcome, rule, true),
            RuleAction::Return if !is_without => return ended(outcome, rule, false),
            _ if is_answered => return refuse(KeptReason::AnswerTest),
            RuleAction::Reject(SERVFAIL) if is_without && outcome.is_some() => {}
            _ if outcome.is_some() => return refuse(KeptReason::Replaced),
            RuleAction::Reject(code) => {
                outcome = Some(BranchOutcome::Fixed(FixedAnswer::Code(*code)));
                return ended(outcome, rule, true);
            }
            RuleAction::Accept | RuleAction::Return => return refuse(KeptReason::NoEnd),
            RuleAction::Mark(_) => return refuse(KeptReason::Executor("mark")),
            RuleAction::Jump(item) | RuleAction::Goto(item) => {
                let found = nested(&item.text, rule, book, depth)?;
                if matches!(rule.exec, RuleAction::Goto(_)) || found.ends {
                    return Ok(found);
                }
                outcome = Some(found.outcome);
            }
            RuleAction::Tag(item, words) => match book.executor(&item.text) {
                Some(Executor::Sequence(_)) => {
                    let found = nested(&item.text, rule, book, depth)?;
                    if found.ends && !book.is_mosdns() {
                        return Ok(found);
                    }
                    outcome = Some(found.outcome);
                }
                Some(executor) => outcome = Some(single(executor, words, rule)?),
                None => return refuse(KeptReason::Tag(item.text.clone())),
            },
            RuleAction::Quick(executor) => outcome = Some(single(executor, &[], rule)?),
        }
    }
    match rules.last() {
        Some(last) => ended(outcome, last, false),
        None => {
            Err(PlacedReason { position: SourcePosition::default(), reason: KeptReason::NoEnd })
        }
    }
}

fn executor<'f>(rule: &'f SequenceRule, book: &PluginBook<'f>) -> Option<&'f Executor> {
    match &rule.exec {
        RuleAction::Quick(executor) => Some(executor),
        RuleAction::Tag(item, _) => book.executor(&item.text),
        RuleAction::Accept
        | RuleAction::Return
        | RuleAction::Reject(_)
        | RuleAction::Jump(_)
        | RuleAction::Goto(_)
        | RuleAction::Mark(_) => None,
    }
}

fn nested<'f>(
    tag: &str,
    rule: &SequenceRule,
    book: &PluginBook<'f>,
    depth: usize,
) -> Result<BranchEnd<'f>, PlacedReason> {
    let refuse = |reason| Err(PlacedReason { position: rule.position.clone(), reason });
    match book.sequence(tag) {
        Some(_) if depth >= DEPTH_MAX => refuse(KeptReason::TooLong),
        Some(rules) => branch(rules, book, depth + 1),
        None => refuse(KeptReason::Tag(tag.to_owned())),
    }
}

/// One executor that answers.
fn single<'f>(
    executor: &'f Executor,
    words: &[String],
    rule: &SequenceRule,
) -> Result<BranchOutcome<'f>, PlacedReason> {
    let refuse = |reason| Err(PlacedReason { position: rule.position.clone(), reason });
    match executor {
        Executor::Forward(plugin) => match ForwardUse::new(plugin, words) {
            Some(forward) => Ok(BranchOutcome::Forward(forward)),
            None => refuse(KeptReason::Tag(words.join(" "))),
        },
        Executor::BlackHole(hole) => match &hole.answer {
            Some(answer) => Ok(BranchOutcome::Fixed(FixedAnswer::Hole(answer.clone()))),
            None => refuse(KeptReason::NoEnd),
        },
        other => refuse(KeptReason::Conditional(word(other))),
    }
}
