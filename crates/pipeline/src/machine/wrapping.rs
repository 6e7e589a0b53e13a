//! The way back: what operations that wrap the rest of a run do at its end, last first.

use super::{ChangedQuestion, OpFlow, RunContext};
use crate::env::{AddressOrder, PipelineEnv, PipelineEvent, PipelineQuestion};
use crate::program::{EffectTiming, LearnRule};
use crate::state::{ReturnWrapper, RunFailure, RunResponse, RunWait, SequenceEnd};
use dns_wire::{record_type, reply};
use std::sync::Arc;

/// The TTL of an alias that a redirect makes up, in seconds: it is gone as soon as the rule is.
const ALIAS_TTL_S: u32 = 1;

/// Tells how far the way back has come.
pub(super) enum UnwindState {
    /// The question is another now.
    Changed,
    /// A sequence that was called is over, and the run goes on behind the call.
    Back,
    /// The run is over.
    Done,
    /// The answer waits, and then the way back goes on.
    Wait(RunWait),
}

impl<W: PipelineEnv> RunContext<'_, W> {
    /// Has `wrapper` act on the way back.
    pub(super) fn wrap(&mut self, wrapper: ReturnWrapper) -> OpFlow {
        match self.state.wrappers.push(wrapper) {
            Ok(()) => OpFlow::Next,
            Err(_) => OpFlow::Fail(RunFailure::Program),
        }
    }

    /// Takes the way back until a rename has made the question another.
    pub(super) fn unwind(
        &mut self,
        asked: PipelineQuestion<'_>,
        ending: SequenceEnd,
    ) -> UnwindState {
        while self.state.wrappers.len() > usize::from(ending.wrappers) {
            let Some(wrapper) = self.state.wrappers.pop() else { break };
            if let ReturnWrapper::Rename { before } = wrapper {
                self.restore_name(asked, before);
                return UnwindState::Changed;
            }
            if let ReturnWrapper::Order(selector) = wrapper {
                match self.order(selector, asked) {
                    AddressOrder::Settled => continue,
                    AddressOrder::Unknown(unknown) => {
                        return UnwindState::Wait(RunWait::Order { selector, unknown });
                    }
                }
            }
            if let ReturnWrapper::LearnName(rule) = &wrapper {
                match self.learn_from_answer(rule, asked) {
                    Some(wait) => return UnwindState::Wait(wait),
                    None => continue,
                }
            }
            self.unwrap(&wrapper, asked);
        }
        self.state.ending = None;
        match ending.return_to {
            Some(back) => {
                self.state.at = back;
                UnwindState::Back
            }
            None => UnwindState::Done,
        }
    }

    /// Has the name asked for kept, now or at the end.
    pub(super) fn learn_name(
        &mut self,
        rule: &Arc<LearnRule>,
        asked: PipelineQuestion<'_>,
    ) -> OpFlow {
        if !rule.types.contains(&asked.query.qtype) {
            return OpFlow::Next;
        }
        match rule.timing {
            EffectTiming::End => self.wrap(ReturnWrapper::LearnName(Arc::clone(rule))),
            EffectTiming::Now => self.learn(rule, asked).map_or(OpFlow::Next, OpFlow::Wait),
        }
    }

    /// The same at the end, if the answer is one for it; gives what is to be waited for.
    fn learn_from_answer(
        &mut self,
        rule: &Arc<LearnRule>,
        asked: PipelineQuestion<'_>,
    ) -> Option<RunWait> {
        let message = self.message()?;
        let first = reply::records(message).next();
        let has_records = first.is_some_and(|it| it.section == reply::MessageSection::Answer);
        let fits = (!rule.success || reply::rcode(message) == 0) && (!rule.records || has_records);
        if fits { self.learn(rule, asked) } else { None }
    }

    fn learn(&mut self, rule: &Arc<LearnRule>, asked: PipelineQuestion<'_>) -> Option<RunWait> {
        if rule.wait.is_some() {
            let name = asked.name.as_str().into();
            return Some(RunWait::LearnName { rule: Arc::clone(rule), name });
        }
        self.env.emit(asked, PipelineEvent::LearnName(rule));
        None
    }

    /// Has the addresses of the answer put in order, if there are several.
    fn order(&mut self, selector: u16, asked: PipelineQuestion<'_>) -> AddressOrder {
        let is_choice = |message: &[u8]| reply::addresses(message).nth(1).is_some();
        let wanted = matches!(asked.query.qtype, record_type::A | record_type::AAAA);
        if !wanted || !self.message().is_some_and(is_choice) {
            return AddressOrder::Settled;
        }
        self.make(asked);
        self.env.order_addresses(selector, asked, self.out)
    }

    fn unwrap(&mut self, wrapper: &ReturnWrapper, asked: PipelineQuestion<'_>) {
        // What is kept in a cache or counted is the message as it stands now.
        if matches!(wrapper, ReturnWrapper::Keep { .. }) {
            self.make(asked);
        }
        let message = match &self.state.response {
            RunResponse::Nothing => None,
            RunResponse::Made => Some(&self.out[..]),
            RunResponse::Kept(answer, _) => Some(answer.message()),
        };
        match (wrapper, message) {
            (ReturnWrapper::Keep { cache, key }, Some(message)) => {
                self.env.keep(*cache, key, message);
            }
            (ReturnWrapper::Learn(memory), Some(message)) => {
                self.env.emit(asked, PipelineEvent::Learn { memory: *memory, message });
            }
            (ReturnWrapper::Preferred(family), Some(message))
                if reply::has_type(message, *family) =>
            {
                self.env.emit(asked, PipelineEvent::Preferred(*family));
            }
            (ReturnWrapper::Collect(collector), message) => {
                self.env.emit(asked, PipelineEvent::Collected { collector: *collector, message });
            }
            (ReturnWrapper::Summary(title), message) => {
                self.env.emit(asked, PipelineEvent::Summary { title, message });
            }
            (ReturnWrapper::Effect(effect), message) => {
                let marks = self.state.marks();
                self.env.emit(asked, PipelineEvent::Effect { effect: *effect, marks, message });
            }
            (
                ReturnWrapper::Keep { .. }
                | ReturnWrapper::Learn(_)
                | ReturnWrapper::Preferred(_)
                | ReturnWrapper::Order(_)
                | ReturnWrapper::LearnName(_)
                | ReturnWrapper::Rename { .. },
                _,
            ) => {}
        }
    }

    /// Makes the answer one to the question before.
    fn restore_name(
        &mut self,
        asked: PipelineQuestion<'_>,
        before: Option<Arc<crate::redirect_target::RedirectTarget>>,
    ) {
        self.make(asked);
        self.state.target = before;
        if !matches!(self.state.response, RunResponse::Made) {
            return;
        }
        let original = self.original;
        let changed = ChangedQuestion::of(self.state, original);
        let question = changed.as_ref().map_or(original.question, ChangedQuestion::question);
        if reply::rename(self.out, 0, question, ALIAS_TTL_S).is_err() {
            self.out.clear();
            self.state.failed = Some(RunFailure::Program);
            self.state.response = RunResponse::Nothing;
        }
    }
}
