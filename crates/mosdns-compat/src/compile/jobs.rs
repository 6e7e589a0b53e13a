//! Jobs of `cron`: what runs by the clock, without a question.
//!
//! Only what reaches outside has something to do then: by itself, or as rules of a sequence that
//! ask for nothing. A rule with matches is refused, since no question answers them. Called by the
//! compiler for each plugin of that type.

use super::executors::{ExecutorNeeds, ExecutorRunner};
use super::plugins::PluginBook;
use super::specs::JobSpec;
use crate::language::{
    CronPlugin, Executor, LoneReference, OutwardEffect, PlacedWord, Plugin, RuleAction,
    SequenceRule, alone,
};
use pipeline::program::DEPTH_MAX;

/// Effects of one job, at most.
const EFFECTS_MAX: usize = 256;

/// The executors of one job, on their way to effects.
struct JobDraft<'d, 'f> {
    book: &'d PluginBook<'f>,
    needs: &'d mut ExecutorNeeds<'f>,
    effects: Vec<u16>,
    /// Sequences that are being gone through.
    within: Vec<usize>,
}

/// Tells whether a sequence goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SequenceCourse {
    On,
    Ended,
}

/// The jobs of a plugin.
pub(super) fn job_specs<'f>(
    plugin: &Plugin,
    cron: &CronPlugin,
    book: &PluginBook<'f>,
    needs: &mut ExecutorNeeds<'f>,
) -> Vec<JobSpec> {
    let mut specs = Vec::new();
    for job in &cron.jobs {
        let mut draft = JobDraft { book, needs, effects: Vec::new(), within: Vec::new() };
        for item in &job.executors {
            draft.executor(item);
        }
        let effects = draft.effects;
        specs.push(JobSpec {
            schedule: plugin.tag.clone(),
            position: plugin.position.clone(),
            name: job.name.clone(),
            timezone: cron.timezone.clone(),
            when: job.when.clone(),
            effects,
        });
    }
    specs
}

impl<'f> JobDraft<'_, 'f> {
    /// An executor of the job's list: a tag, or a quick form.
    fn executor(&mut self, item: &PlacedWord) {
        match alone(item, self.book.notes) {
            LoneReference::Tag(tag) => drop(self.tag(&tag, item)),
            LoneReference::Quick(outward) => {
                let name = item.position.to_string();
                let runner = ExecutorRunner { plugin: None, name: &name, position: &item.position };
                let effect = self.needs.effect(&outward, runner);
                self.push(effect);
            }
            LoneReference::Refused => {}
        }
    }

    fn tag(&mut self, tag: &PlacedWord, item: &PlacedWord) -> SequenceCourse {
        match self.book.executor(tag) {
            Some((at, Executor::Outward(it))) if runs_alone(it) => {
                let runner = ExecutorRunner {
                    plugin: Some(at),
                    name: tag.text.as_str(),
                    position: &item.position,
                };
                let effect = self.needs.effect(it, runner);
                self.push(effect);
            }
            Some((at, Executor::Sequence(rules))) => self.sequence(at, rules),
            Some(_) => self.refuse(item, &tag.text),
            None => {}
        }
        SequenceCourse::On
    }

    fn sequence(&mut self, at: usize, rules: &'f [SequenceRule]) {
        // Circles are refused elsewhere, by name.
        if self.within.contains(&at) || self.within.len() >= DEPTH_MAX {
            return;
        }
        self.within.push(at);
        for rule in rules {
            if self.rule(rule) == SequenceCourse::Ended {
                break;
            }
        }
        self.within.pop();
    }

    fn rule(&mut self, rule: &'f SequenceRule) -> SequenceCourse {
        if !rule.tests.is_empty() {
            let message = "this rule is run by the clock, without a question that it could match";
            let remedy = "leave `matches` out, or run another sequence by the clock";
            self.book.notes.complain(rule.position.complaint(message).remedy(remedy));
            return SequenceCourse::On;
        }
        let place = |word: &PlacedWord| PlacedWord {
            text: word.text.clone(),
            position: rule.position.clone(),
        };
        match &rule.exec {
            RuleAction::Accept | RuleAction::Return | RuleAction::Reject(_) => {
                SequenceCourse::Ended
            }
            RuleAction::Jump(tag) | RuleAction::Tag(tag, _) => self.tag(tag, &place(tag)),
            RuleAction::Goto(tag) => {
                self.tag(tag, &place(tag));
                SequenceCourse::Ended
            }
            RuleAction::Quick(Executor::Outward(it)) if runs_alone(it) => {
                let name = rule.position.to_string();
                let runner = ExecutorRunner { plugin: None, name: &name, position: &rule.position };
                let effect = self.needs.effect(it, runner);
                self.push(effect);
                SequenceCourse::On
            }
            // Nothing to mark, and nobody to answer.
            RuleAction::Mark(_) | RuleAction::Quick(_) => SequenceCourse::On,
        }
    }

    fn refuse(&self, item: &PlacedWord, tag: &str) {
        let message = format!("{tag:?} has nothing to do without a question");
        let remedy =
            "download, reload, reload_provider, http_request, script, or a sequence of them";
        self.book.notes.complain(item.position.complaint(message).remedy(remedy));
    }

    fn push(&mut self, effect: u16) {
        if self.effects.len() < EFFECTS_MAX {
            self.effects.push(effect);
        }
    }
}

fn runs_alone(outward: &OutwardEffect) -> bool {
    match outward {
        OutwardEffect::Ipset(_)
        | OutwardEffect::Nftset(_)
        | OutwardEffect::RosAddressList(_)
        | OutwardEffect::RosRoute(_) => false,
        OutwardEffect::HttpRequest(_)
        | OutwardEffect::Script(_)
        | OutwardEffect::Download(_)
        | OutwardEffect::Reload
        | OutwardEffect::ReloadProvider(_) => true,
    }
}
