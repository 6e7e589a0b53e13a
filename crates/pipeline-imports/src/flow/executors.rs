//! Executors as steps.

use super::branch::{BranchEnd, BranchOutcome};
use super::{FlowWalk, PlainRule, SequenceEnd, SequenceUse, branch};
use crate::condition::RuleCondition;
use crate::kept_reason::{KeptReason, PlacedReason};
use crate::steps::{FinalSource, FixedAnswer, FlowStep, ForwardUse};
use mosdns_compat::language::{
    CachePlugin, Dialect, Executor, FallbackPlugin, OutwardEffect, SourcePosition,
};
use pipeline::program::{AfterAnswer, TestSense, TtlRule};

/// True for executors that change nothing of an answer.
pub(super) fn is_logging(executor: &Executor) -> bool {
    matches!(
        executor,
        Executor::DebugPrint(_)
            | Executor::QuerySummary(_)
            | Executor::MetricsCollector(_)
            | Executor::QueryRecorder
    )
}

/// True for executors that do nothing.
pub(super) fn is_idle(executor: &Executor) -> bool {
    match executor {
        Executor::Ttl(TtlRule::Within(0, 0)) => true,
        Executor::Sleep(long) => long.is_zero(),
        Executor::BlackHole(hole) => hole.answer.is_none(),
        _ => false,
    }
}

/// The word of an executor.
pub(crate) fn word(executor: &Executor) -> &'static str {
    match executor {
        Executor::Sequence(_) => "sequence",
        Executor::Forward(_) => "forward",
        Executor::Cache(_) => "cache",
        Executor::Fallback(_) => "fallback",
        Executor::Hosts(_) => "hosts",
        Executor::Arbitrary(_) => "arbitrary",
        Executor::Redirect(_) => "redirect",
        Executor::EcsHandler(_) => "ecs_handler",
        Executor::ForwardOptions(_) => "forward_edns0opt",
        Executor::Ttl(_) => "ttl",
        Executor::Prefer(_) => "prefer_ipv4 or prefer_ipv6",
        Executor::BlackHole(_) => "black_hole",
        Executor::DropResponse => "drop_resp",
        Executor::Sleep(_) => "sleep",
        Executor::DebugPrint(_) => "debug_print",
        Executor::QuerySummary(_) => "query_summary",
        Executor::MetricsCollector(_) => "metrics_collector",
        Executor::ReverseLookup(_) => "reverse_lookup",
        Executor::QueryRecorder => "query_recorder",
        Executor::LearnDomain(_) => "learn_domain",
        Executor::IpSelector(_) => "ip_selector",
        Executor::Outward(OutwardEffect::Ipset(_)) => "ipset",
        Executor::Outward(OutwardEffect::Nftset(_)) => "nftset",
        Executor::Outward(OutwardEffect::HttpRequest(_)) => "http_request",
        Executor::Outward(OutwardEffect::Script(_)) => "script",
        Executor::Outward(OutwardEffect::Download(_)) => "download",
        Executor::Outward(OutwardEffect::RosAddressList(_)) => "ros_address_list",
        Executor::Outward(OutwardEffect::RosRoute(_)) => "ros_route",
        Executor::Outward(OutwardEffect::Reload | OutwardEffect::ReloadProvider(_)) => "reload",
        Executor::Cron(_) => "cron",
    }
}

impl<'f> FlowWalk<'_, 'f> {
    pub(super) fn executor(
        &mut self,
        place: &SourcePosition,
        condition: &RuleCondition<'f>,
        executor: &'f Executor,
        words: &[String],
    ) {
        if is_logging(executor) {
            return self.plain(place, PlainRule::Logged);
        }
        if is_idle(executor) {
            return self.plain(place, PlainRule::Dead);
        }
        if let Some(reason) = condition.unsaid.clone() {
            return self.keep(place, reason);
        }
        let is_without = condition.answer == Some(TestSense::IsNot);
        if is_without && condition.is_plain() && *executor == Executor::DropResponse {
            return self.plain(place, PlainRule::Dead);
        }
        if condition.answer == Some(TestSense::Is) {
            return self.keep(place, KeptReason::AnswerTest);
        }
        let answers = matches!(
            executor,
            Executor::Forward(_)
                | Executor::Fallback(_)
                | Executor::Hosts(_)
                | Executor::Arbitrary(_)
                | Executor::BlackHole(_)
        );
        if answers && self.frames.may_be_answered() && !is_without {
            return self.keep(place, KeptReason::Replaced);
        }
        if answers && self.has_final {
            return self.keep(place, KeptReason::Several("servers for all other names"));
        }
        match executor {
            Executor::Forward(plugin) => match ForwardUse::new(plugin, words) {
                Some(forward) => self.forward(place, condition, forward),
                None => self.keep(place, KeptReason::Tag(words.join(" "))),
            },
            Executor::BlackHole(hole) if !condition.is_plain() => {
                let Some(answer) = &hole.answer else { return };
                self.fixed(place, condition, FixedAnswer::Hole(answer.clone()));
                self.after(hole.then);
            }
            other if !condition.is_plain() => {
                self.keep(place, KeptReason::Conditional(word(other)));
            }
            other => self.unconditional(place, other),
        }
    }

    /// An executor that every question comes to.
    fn unconditional(&mut self, place: &SourcePosition, executor: &'f Executor) {
        let step = match executor {
            Executor::Cache(plugin) => return self.cache(place, plugin),
            Executor::Fallback(plugin) => return self.fallback(place, plugin),
            Executor::Hosts(rules) => (FlowStep::Hosts(rules), rules.then),
            Executor::Arbitrary(rules) => (FlowStep::Records(rules), rules.then),
            Executor::Redirect(_) if self.frames.may_be_answered() => {
                return self.keep(place, KeptReason::Replaced);
            }
            // What it renames is asked of what follows; nothing is answered yet.
            Executor::Redirect(rules) => (FlowStep::Redirect(rules), AfterAnswer::Stop),
            Executor::EcsHandler(_) if self.has_final => {
                return self.plain(place, PlainRule::Dead);
            }
            Executor::EcsHandler(rule) => (FlowStep::Subnet(rule), AfterAnswer::Stop),
            Executor::Ttl(rule) if self.has_final => (FlowStep::Ttl(*rule), AfterAnswer::Next),
            Executor::Ttl(_) if !self.frames.may_be_answered() => {
                return self.plain(place, PlainRule::Dead);
            }
            Executor::Ttl(_) => {
                let why = "lives are changed of all answers, or of those of upstreams";
                return self.keep(place, KeptReason::Order(why));
            }
            Executor::BlackHole(_) => return self.keep(place, KeptReason::NoEnd),
            other => return self.keep(place, KeptReason::Executor(word(other))),
        };
        self.step(place, step.0);
        self.after(step.1);
    }

    /// Rest that follows an answer.
    fn after(&mut self, then: AfterAnswer) {
        match then {
            AfterAnswer::Next => self.frames.note_answer(),
            AfterAnswer::Stop => {}
        }
    }

    fn cache(&mut self, place: &SourcePosition, plugin: &'f CachePlugin) {
        if self.has_final {
            return self.keep(place, KeptReason::Order("a cache stands in front of upstreams"));
        }
        self.step(place, FlowStep::Cache(plugin));
        self.after(plugin.then);
    }

    fn forward(
        &mut self,
        place: &SourcePosition,
        condition: &RuleCondition<'f>,
        forward: ForwardUse<'f>,
    ) {
        let then = forward.plugin.then;
        let RuleCondition { names, clients, types, limit, .. } = condition;
        match (names, clients, types, limit) {
            (Some(names), None, None, None) => self.step(place, FlowStep::Route(*names, forward)),
            (None, Some((TestSense::Is, words)), None, None) => {
                self.step(place, FlowStep::View(words, forward));
            }
            (None, None, None, None) => {
                self.step(place, FlowStep::Final(FinalSource::Forward(forward)));
                self.has_final = true;
                return self.frames.note_answer();
            }
            _ => return self.keep(place, KeptReason::Conditional("forward")),
        }
        self.after(then);
    }

    fn fallback(&mut self, place: &SourcePosition, plugin: &'f FallbackPlugin) {
        let first = self.way(&plugin.primary.text);
        let second = self.way(&plugin.secondary.text);
        if let (Some(first), Some(second)) = (first, second) {
            let source = FinalSource::Fallback(plugin, first, second);
            self.step(place, FlowStep::Final(source));
            self.has_final = true;
            self.frames.note_answer();
        } else {
            let what = "a fallback whose ways do more than ask upstreams";
            self.keep(place, KeptReason::Executor(what));
        }
    }

    /// Upstreams of one way of a fallback; none where it does more, whose rule is told.
    fn way(&mut self, tag: &str) -> Option<ForwardUse<'f>> {
        match self.book.executor(tag) {
            Some(Executor::Forward(forward)) => ForwardUse::new(forward, &[]),
            Some(Executor::Sequence(rules)) => match branch::branch(rules, self.book, 0) {
                Ok(BranchEnd { outcome: BranchOutcome::Forward(forward), .. }) => Some(forward),
                Ok(_) => None,
                Err(PlacedReason { position, reason }) => {
                    self.keep(&position, reason);
                    None
                }
            },
            _ => None,
        }
    }

    /// A sequence that some questions come to.
    pub(super) fn take_branch(
        &mut self,
        place: &SourcePosition,
        condition: &RuleCondition<'f>,
        found: BranchEnd<'f>,
        how: SequenceUse,
    ) {
        if self.has_final {
            return self.keep(place, KeptReason::Several("servers for all other names"));
        }
        let (outcome, ends) = (found.outcome, found.ends);
        let before = self.frames.answer();
        match outcome {
            BranchOutcome::Forward(forward) => self.forward(place, condition, forward),
            BranchOutcome::Fixed(answer) => self.fixed(place, condition, answer),
        }
        // In mosdns an end within a sequence that is run ends that one alone.
        let is_whole = match (how, self.book.foreign.dialect) {
            (SequenceUse::Gone, _) => true,
            (SequenceUse::Called, Dialect::Mosdns) => false,
            (SequenceUse::Called | SequenceUse::Jumped, _) => ends,
        };
        if is_whole {
            self.frames.answered_end(SequenceEnd::Accept);
            self.frames.restore(before);
        } else {
            self.frames.note_answer();
        }
    }
}
