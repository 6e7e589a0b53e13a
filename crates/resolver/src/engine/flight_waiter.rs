//! Somebody who waits for the answer to a question, and is told it once.

use crate::query_source::QuerySource;
use crate::question::{Resolution, ResolveError};

/// A callback that is run with the outcome.
pub(crate) type Tell = Box<dyn FnOnce(Resolution) + Send>;

/// Someone who waits. Dropped without an answer, it says that the resolver has stopped.
pub(crate) struct FlightWaiter {
    reply: Option<Tell>,
    pub(crate) source: QuerySource,
}

impl FlightWaiter {
    pub(crate) const fn new(reply: Option<Tell>, source: QuerySource) -> Self {
        Self { reply, source }
    }

    pub(crate) fn notify(mut self, resolution: Resolution) {
        if let Some(tell) = self.reply.take() {
            tell(resolution);
        }
    }
}

impl Drop for FlightWaiter {
    fn drop(&mut self) {
        if let Some(tell) = self.reply.take() {
            tell(Resolution::failed(ResolveError::Stopped));
        }
    }
}
