//! The way back: what operations that wrap the rest of a run do at its end, last first.

use super::{Changed, Flow, Run};
use crate::state::{Ending, Failure, Response, Wrapper};
use crate::world::{Asked, Tidings, World};
use dns_wire::reply;

/// The TTL of an alias that a redirect makes up, in seconds: it is gone as soon as the rule is.
const ALIAS_TTL_S: u32 = 1;

/// How far the way back has come.
pub(super) enum Unwound {
    /// The question is another now.
    Changed,
    /// A sequence that was called is over, and the run goes on behind the call.
    Back,
    /// The run is over.
    Done,
}

impl<W: World> Run<'_, W> {
    /// Has `wrapper` act on the way back.
    pub(super) fn wrap(&mut self, wrapper: Wrapper) -> Flow {
        match self.state.wrappers.push(Some(wrapper)) {
            Ok(()) => Flow::Next,
            Err(_) => Flow::Fail(Failure::Program),
        }
    }

    /// Takes the way back until a rename has made the question another.
    pub(super) fn unwind(&mut self, asked: Asked<'_>, ending: Ending) -> Unwound {
        while self.state.wrappers.len() > usize::from(ending.wrappers) {
            let Some(Some(wrapper)) = self.state.wrappers.pop() else { continue };
            if let Wrapper::Rename { before } = wrapper {
                self.rename_back(asked, before);
                return Unwound::Changed;
            }
            self.unwrap(&wrapper, asked);
        }
        self.state.ending = None;
        match ending.back {
            Some(back) => {
                self.state.at = back;
                Unwound::Back
            }
            None => Unwound::Done,
        }
    }

    fn unwrap(&mut self, wrapper: &Wrapper, asked: Asked<'_>) {
        // What is kept in a cache or counted is the message as it stands now.
        if matches!(wrapper, Wrapper::Keep { .. }) {
            self.make(asked);
        }
        let message = match &self.state.response {
            Response::Nothing => None,
            Response::Made => Some(&self.out[..]),
            Response::Kept(answer, _) => Some(answer.message()),
        };
        match (wrapper, message) {
            (Wrapper::Keep { cache, key }, Some(message)) => self.world.keep(*cache, key, message),
            (Wrapper::Learn(memory), Some(message)) => {
                self.world.tell(asked, Tidings::Learn { memory: *memory, message });
            }
            (Wrapper::Preferred(family), Some(message)) if reply::has_type(message, *family) => {
                self.world.tell(asked, Tidings::Preferred(*family));
            }
            (Wrapper::Collect(collector), message) => {
                self.world.tell(asked, Tidings::Collected { collector: *collector, message });
            }
            (Wrapper::Summary(title), message) => {
                self.world.tell(asked, Tidings::Summary { title, message });
            }
            (Wrapper::Effect(effect), message) => {
                let marks = self.state.marks();
                self.world.tell(asked, Tidings::Effect { effect: *effect, marks, message });
            }
            (
                Wrapper::Keep { .. }
                | Wrapper::Learn(_)
                | Wrapper::Preferred(_)
                | Wrapper::Rename { .. },
                _,
            ) => {}
        }
    }

    /// Makes the answer one to the question before.
    fn rename_back(
        &mut self,
        asked: Asked<'_>,
        before: Option<std::sync::Arc<crate::state::Target>>,
    ) {
        self.make(asked);
        self.state.target = before;
        if !matches!(self.state.response, Response::Made) {
            return;
        }
        let original = self.original;
        let changed = Changed::of(self.state, original);
        let question = changed.as_ref().map_or(original.question, Changed::question);
        if reply::rename(self.out, 0, question, ALIAS_TTL_S).is_err() {
            self.out.clear();
            self.state.failed = Some(Failure::Program);
            self.state.response = Response::Nothing;
        }
    }
}
