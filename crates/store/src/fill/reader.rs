//! Reading a body on its way: waits for bytes of its range and for no others.
//!
//! It copies nothing. Held by a door while it sends; dropping it says that its client has left.

use super::state::FillOutcome;
use super::{Fill, FillBroken};
use bytes::Bytes;
use std::future::poll_fn;
use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// One reader of a fill. It is done with a piece when it asks for the next.
pub struct FillReader {
    fill: Arc<Fill>,
    id: usize,
    at: u64,
    until: u64,
}

impl FillReader {
    pub(super) const fn new(fill: Arc<Fill>, id: usize, range: Range<u64>) -> Self {
        Self { fill, id, at: range.start, until: range.end }
    }

    /// The next piece of the range: at most one slab. `None` at its end.
    pub async fn next(&mut self) -> Option<Result<Bytes, FillBroken>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same, to be polled. After an error or the end it says the same again.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, FillBroken>>> {
        if self.at >= self.until {
            return Poll::Ready(None);
        }
        let mut state = self.fill.lock();
        if state.readers[self.id].is_detached {
            return Poll::Ready(Some(Err(FillBroken::Detached(self.at))));
        }
        let piece = state.chunk(self.at, self.until);
        if !piece.is_empty() {
            self.at += piece.len() as u64;
            let writer = state.advance(self.id, self.at);
            drop(state);
            writer.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(Ok(piece)));
        }
        match state.outcome {
            FillOutcome::Finished(_) => Poll::Ready(None),
            FillOutcome::Broken(why) => Poll::Ready(Some(Err(why))),
            FillOutcome::Running => {
                let waker = &mut state.readers[self.id].waker;
                if !waker.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
                    *waker = Some(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Returns what it reads.
    pub const fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// The offset of the next byte in the body.
    pub const fn position(&self) -> u64 {
        self.at
    }

    /// Returns how many bytes are still to come, where that is known.
    pub fn remaining(&self) -> Option<u64> {
        let end = self.fill.length().map_or(self.until, |length| length.min(self.until));
        (end != u64::MAX).then(|| end.saturating_sub(self.at))
    }

    /// The body's length in bytes, where it is known.
    pub fn length(&self) -> Option<u64> {
        self.fill.length()
    }
}

impl Drop for FillReader {
    fn drop(&mut self) {
        let writer = {
            let mut state = self.fill.lock();
            state.remove_reader(self.id, &self.fill.plan)
        };
        writer.into_iter().for_each(Waker::wake);
    }
}
