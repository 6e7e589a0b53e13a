//! The way back: what operations that wrap the rest of a run do at its end, last first.

use super::{ChangedQuestion, OpFlow, RunContext};
use crate::env::{PipelineEnv, PipelineEvent, PipelineQuestion};
use crate::state::{ReturnWrapper, RunFailure, RunResponse, SequenceEnd};
use dns_wire::reply;

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
}

impl<W: PipelineEnv> RunContext<'_, W> {
    /// Has `wrapper` act on the way back.
    pub(super) fn wrap(&mut self, wrapper: ReturnWrapper) -> OpFlow {
        match self.state.wrappers.push(Some(wrapper)) {
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
            let Some(Some(wrapper)) = self.state.wrappers.pop() else { continue };
            if let ReturnWrapper::Rename { before } = wrapper {
                self.restore_name(asked, before);
                return UnwindState::Changed;
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
                | ReturnWrapper::Rename { .. },
                _,
            ) => {}
        }
    }

    /// Makes the answer one to the question before.
    fn restore_name(
        &mut self,
        asked: PipelineQuestion<'_>,
        before: Option<std::sync::Arc<crate::redirect_target::RedirectTarget>>,
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
