//! State behind a fill's lock: parts, offsets of readers, and how it goes on.
//!
//! Short steps without waiting; wakers are handed out and woken when the lock is free again. Called
//! by the fill's reader and writer.

use super::body::{FillBody, SlabPart};
use super::{FINISH_BYTES_MAX, FillBroken, FillMode, FillPlan, FillPurpose, OtherCopy};
use bytes::Bytes;
use std::collections::VecDeque;
use std::task::Waker;

/// Tells how a fill stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillOutcome {
    Running,
    /// All came: so many bytes.
    Finished(u64),
    Broken(FillBroken),
}

/// Where one reader is.
pub(super) struct ReaderOffset {
    pub(super) at: u64,
    pub(super) waker: Option<Waker>,
    /// True once it was sent off; its bytes are no longer kept for it.
    pub(super) is_detached: bool,
}

impl ReaderOffset {
    pub(super) const fn at(at: u64) -> Self {
        Self { at, waker: None, is_detached: false }
    }
}

pub(super) struct FillState {
    /// In order, without gaps; the last one may still be filled.
    pub(super) parts: VecDeque<SlabPart>,
    /// Bytes that came.
    pub(super) end: u64,
    pub(super) mode: FillMode,
    pub(super) outcome: FillOutcome,
    pub(super) readers: ::slab::Slab<ReaderOffset>,
    /// Readers that ever were.
    pub(super) attached: u32,
    /// No attached reader is behind this offset; it lags behind the truth until `release`.
    pub(super) slowest: u64,
    /// The writer, while it waits for room.
    pub(super) writer: Option<Waker>,
}

impl FillState {
    pub(super) fn new(mode: FillMode, prefix: &FillBody) -> Self {
        Self {
            parts: prefix.parts().iter().cloned().collect(),
            end: prefix.len(),
            mode,
            outcome: FillOutcome::Running,
            readers: ::slab::Slab::new(),
            attached: 0,
            slowest: u64::MAX,
            writer: None,
        }
    }

    /// The first byte that is still here.
    pub(super) fn base(&self) -> u64 {
        self.parts.front().map_or(self.end, |part| part.start)
    }

    /// A piece from `at` on, up to `until`; empty if nothing is there yet.
    pub(super) fn chunk(&self, at: u64, until: u64) -> Bytes {
        let until = until.min(self.end);
        if at >= until {
            return Bytes::new();
        }
        let index = self.parts.partition_point(|part| part.start <= at).saturating_sub(1);
        self.parts.get(index).map_or_else(Bytes::new, |part| part.slice(&(at..until)))
    }

    /// Returns how far the writer is ahead of its slowest reader, in bytes. With no reader it waits
    /// for none.
    pub(super) const fn lag(&self) -> u64 {
        self.end.saturating_sub(self.slowest)
    }

    /// Moves a reader on. Returns the writer if it may go on now.
    pub(super) fn advance(&mut self, id: usize, to: u64) -> Option<Waker> {
        let from = std::mem::replace(&mut self.readers[id].at, to);
        self.free_behind(from)
    }

    /// Takes a reader out. Returns the writer if it must hear of it.
    pub(super) fn remove_reader(&mut self, id: usize, plan: &FillPlan) -> Option<Waker> {
        let place = self.readers.remove(id);
        if self.abandon(plan) {
            return self.writer.take();
        }
        self.free_behind(place.at)
    }

    /// Somebody is no longer at `from`: if that was the slowest, what nobody needs is freed.
    fn free_behind(&mut self, from: u64) -> Option<Waker> {
        // Most readers are not the slowest, or not alone there: they look at a few others at most.
        let is_still_slowest = from > self.slowest
            || self.readers.iter().any(|(_, it)| !it.is_detached && it.at <= self.slowest);
        if is_still_slowest {
            return None;
        }
        self.release();
        self.writer.take()
    }

    /// Finds the slowest reader and, while passing, frees what is behind it.
    pub(super) fn release(&mut self) {
        let places = self.readers.iter().filter(|(_, place)| !place.is_detached);
        self.slowest = places.map(|(_, place)| place.at).min().unwrap_or(u64::MAX);
        if self.mode == FillMode::Retained {
            return;
        }
        let needed = self.slowest.min(self.end);
        while let Some(part) = self.parts.front() {
            // The last one is still written into while anything comes.
            let is_open = part.sealed.is_none() && self.outcome == FillOutcome::Running;
            if is_open || part.end() > needed {
                return;
            }
            self.parts.pop_front();
        }
    }

    /// Ends the fill if its last reader has left and it is not worth finishing. Says whether it
    /// did.
    pub(super) fn abandon(&mut self, plan: &FillPlan) -> bool {
        let is_left = self.readers.is_empty() && self.attached > 0;
        let ends = is_left
            && self.outcome == FillOutcome::Running
            && plan.purpose == FillPurpose::Clients
            && !self.is_worth_finishing(plan);
        if ends {
            self.outcome = FillOutcome::Broken(FillBroken::Abandoned);
        }
        ends
    }

    fn is_worth_finishing(&self, plan: &FillPlan) -> bool {
        let expected = plan.length.unwrap_or(self.end);
        let share = u128::from(self.end) * 100;
        let has_enough = plan.length.is_some()
            && share >= u128::from(expected) * u128::from(plan.finish_percent);
        let stays = self.mode == FillMode::Retained || plan.other_copy == OtherCopy::Disk;
        stays && (expected <= FINISH_BYTES_MAX || has_enough)
    }

    /// True if a reader has all there is and waits, while another holds the writer back.
    pub(super) fn is_starving(&self) -> bool {
        self.readers.iter().any(|(_, place)| place.at == self.end && place.waker.is_some())
    }

    /// Sends off every reader that lags by at least `lag` bytes, and wakes them to hear of it.
    pub(super) fn detach(&mut self, lag: u64, wakers: &mut Vec<Waker>) {
        for (_, place) in &mut self.readers {
            if self.end.saturating_sub(place.at) >= lag {
                place.is_detached = true;
                wakers.extend(place.waker.take());
            }
        }
        self.release();
    }

    /// Everybody who waits for bytes.
    pub(super) fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.readers.iter_mut().filter_map(|(_, place)| place.waker.take()));
    }

    /// All of it, if every byte is still here.
    pub(super) fn body(&self) -> Option<FillBody> {
        (self.mode == FillMode::Retained && self.base() == 0 || self.end == 0)
            .then(|| FillBody::of(self.parts.iter().cloned()))
    }
}
