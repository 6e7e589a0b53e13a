//! Writing a body: takes slabs by the account, waits for slow readers where it must.
//!
//! It copies what it gets: a network buffer of 400 KiB that is kept for 100 bytes of it would make
//! the account a lie. Held by the door that fetches; dropping it breaks the body for its readers.

use super::body::{FillBody, SLAB_BYTES, SlabPart};
use super::slab::{SLAB_OVERHEAD_BYTES, SlabTail};
use super::state::{FillOutcome, FillState};
use super::{Fill, FillBroken, FillMode, PATIENCE, ResumeSupport};
use crate::budget::{ByteCharge, ByteClass, PIECE_BYTES_MIN};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// The first slab of a body of unknown length, in bytes; each further one is twice as large.
const FIRST_SLAB_BYTES: usize = (4 << 10) - SLAB_OVERHEAD_BYTES;

/// The one that writes a body.
pub struct FillWriter {
    fill: Arc<Fill>,
    tail: Option<SlabTail>,
    /// Kept between writes, so that waking allocates nothing.
    wakers: Vec<Waker>,
    /// Time for which readers that wait were held up by slower ones.
    stalled: Duration,
}

/// Holds what a fill leaves when it ends.
pub(crate) struct WholeBody {
    /// All of it, or `None` where it was too large to stay.
    pub(crate) body: Option<FillBody>,
    /// Readers that ever were.
    pub(crate) attached: u32,
}

impl FillWriter {
    pub(super) const fn new(fill: Arc<Fill>) -> Self {
        Self { fill, tail: None, wakers: Vec::new(), stalled: Duration::ZERO }
    }

    /// The body that is written.
    pub const fn fill(&self) -> &Arc<Fill> {
        &self.fill
    }

    /// Appends bytes. Waits while its slowest reader is a window behind and the body is not kept,
    /// or while the account has no room. An error ends the body: stop fetching.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), FillBroken> {
        let written = self.fill.written();
        if self.fill.plan.length.is_some_and(|length| written + bytes.len() as u64 > length) {
            self.end(FillOutcome::Broken(FillBroken::Overlong));
            return Err(FillBroken::Overlong);
        }
        while !bytes.is_empty() {
            let mut tail = self.writable().await?;
            let taken = tail.push(bytes);
            bytes = &bytes[taken..];
            self.published(tail, taken as u64);
        }
        Ok(())
    }

    /// From which byte the rest may be asked for by `Range` and `If-Range` when the origin has
    /// broken off. `None`: it may not, or nobody wants it. On success go on writing; else
    /// [`Self::fail`].
    pub fn resume_from(&self) -> Option<u64> {
        let state = self.fill.lock();
        let is_wanted = state.outcome == FillOutcome::Running
            && (!state.readers.is_empty() || state.mode == FillMode::Retained);
        (is_wanted && self.fill.plan.resume == ResumeSupport::Possible && state.end > 0)
            .then_some(state.end)
    }

    /// Ends the body: all came.
    pub(crate) fn finish(mut self) -> Result<WholeBody, FillBroken> {
        self.tail = None;
        let mut state = self.fill.lock();
        if let FillOutcome::Broken(why) = state.outcome {
            return Err(why);
        }
        let end = state.end;
        if self.fill.plan.length.is_some_and(|length| end < length) {
            drop(state);
            self.end(FillOutcome::Broken(FillBroken::Short));
            return Err(FillBroken::Short);
        }
        if state.mode == FillMode::Retained {
            self.compact(&mut state);
        }
        let whole = WholeBody { body: state.body(), attached: state.attached };
        drop(state);
        self.end(FillOutcome::Finished(end));
        Ok(whole)
    }

    /// Ends the body: no more will come. Returns what is there from its front on, where it was kept
    /// and the rest may be asked for later.
    pub(crate) fn fail(mut self, why: FillBroken) -> Option<FillBody> {
        self.tail = None;
        self.end(FillOutcome::Broken(why));
        let state = self.fill.lock();
        let is_useful = self.fill.plan.resume == ResumeSupport::Possible && state.end > 0;
        is_useful.then(|| state.body()).flatten()
    }

    /// A slab with room, once there is one.
    async fn writable(&mut self) -> Result<SlabTail, FillBroken> {
        loop {
            let Some(patience) = self.reader_patience() else {
                return poll_fn(|context| self.poll_writable(Some(context))).await;
            };
            if let Poll::Ready(found) = self.poll_writable(None) {
                return found;
            }
            let begun = Instant::now();
            let waiting = poll_fn(|context| self.poll_writable(Some(context)));
            let found = tokio::time::timeout(patience, waiting).await;
            if self.fill.lock().is_starving() {
                self.stalled += begun.elapsed();
            }
            match found {
                Ok(found) => return found,
                Err(_) => self.detach(),
            }
        }
    }

    /// Returns how much longer a slow reader may hold up others; `None` where nobody is sent off.
    fn reader_patience(&self) -> Option<Duration> {
        let state = self.fill.lock();
        let may_end = state.mode == FillMode::Streaming
            && self.fill.plan.resume == ResumeSupport::Possible
            && state.readers.len() > 1;
        may_end.then(|| PATIENCE.saturating_sub(self.stalled))
    }

    /// Sends off those at the back, unless nobody waits for them any more.
    fn detach(&mut self) {
        let mut state = self.fill.lock();
        if state.is_starving() {
            let lag = (state.lag() / 2).max(1);
            state.detach(lag, &mut self.wakers);
        }
        drop(state);
        self.stalled = Duration::ZERO;
        self.wakers.drain(..).for_each(Waker::wake);
    }

    fn poll_writable(
        &mut self,
        context: Option<&mut Context<'_>>,
    ) -> Poll<Result<SlabTail, FillBroken>> {
        let mut state = self.fill.lock();
        if let FillOutcome::Broken(why) = state.outcome {
            return Poll::Ready(Err(why));
        }
        if state.mode == FillMode::Retained && state.end >= self.fill.plan.keep_bytes_max {
            state.mode = FillMode::Streaming;
            state.release();
        }
        let window = self.fill.budget.window();
        if state.mode == FillMode::Retained || state.lag() < window {
            if let Some(tail) = self.tail.take_if(|tail| tail.free() > 0) {
                return Poll::Ready(Ok(tail));
            }
            if let Some((bytes, charge)) = self.slab(&mut state, window) {
                if let Some(full) = state.parts.back_mut() {
                    full.seal();
                }
                // What everybody has got of the one that is full now can go.
                state.release();
                let tail = SlabTail::new(bytes, charge);
                let start = state.end;
                state.parts.push_back(SlabPart::open(start, Arc::clone(tail.slab())));
                return Poll::Ready(Ok(tail));
            }
        }
        if let Some(context) = context {
            state.writer = Some(context.waker().clone());
        }
        Poll::Pending
    }

    /// Bytes and charge of the next slab; `None` while it must wait for a reader.
    fn slab(&self, state: &mut FillState, window: u64) -> Option<(usize, ByteCharge)> {
        let charged = |capacity: usize| {
            let cost = (capacity + SLAB_OVERHEAD_BYTES) as u64;
            let charge = self.fill.budget.try_charge(ByteClass::Windows, cost)?;
            Some((capacity, charge))
        };
        let rest =
            self.fill.plan.length.map(|length| length.saturating_sub(state.end).max(1) as usize);
        if state.mode == FillMode::Retained {
            let grown = (state.end as usize).clamp(FIRST_SLAB_BYTES, SLAB_BYTES);
            if let Some(found) = charged(rest.unwrap_or(grown).min(SLAB_BYTES)) {
                return Some(found);
            }
            // The limit holds: from here on it passes, and is not stored.
            state.mode = FillMode::Streaming;
            state.release();
        }
        let rest = rest.unwrap_or(SLAB_BYTES);
        let mut capacity = ((window / 4) as usize - SLAB_OVERHEAD_BYTES).min(rest);
        let least = (PIECE_BYTES_MIN - SLAB_OVERHEAD_BYTES).min(rest);
        loop {
            if let Some(found) = charged(capacity) {
                return Some(found);
            }
            if capacity <= least {
                break;
            }
            capacity = (capacity / 2).max(least);
        }
        // Everything is with its readers: two pieces are set aside so that this one goes on.
        (state.lag() == 0).then(|| {
            let cost = (least + SLAB_OVERHEAD_BYTES) as u64;
            (least, self.fill.budget.charge(ByteClass::Windows, cost))
        })
    }

    fn published(&mut self, tail: SlabTail, taken: u64) {
        self.tail = Some(tail);
        let mut state = self.fill.lock();
        state.end += taken;
        state.take_wakers(&mut self.wakers);
        state.abandon(&self.fill.plan);
        drop(state);
        self.wakers.drain(..).for_each(Waker::wake);
    }

    /// Gives back what a slab has too much, and makes a small body one piece.
    fn compact(&self, state: &mut FillState) {
        let Some(last) = state.parts.back() else { return };
        let (start, filled) = (last.start, last.slab.filled());
        let is_wasteful = last.slab.capacity() - filled > last.slab.capacity() / 4;
        let total = state.end as usize;
        let (from, bytes) = match state.parts.len() {
            1 if !is_wasteful => return,
            _ if total <= SLAB_BYTES => (0, total),
            _ if is_wasteful => (start, filled),
            _ => return,
        };
        let cost = (bytes + SLAB_OVERHEAD_BYTES) as u64;
        let Some(charge) = self.fill.budget.try_charge(ByteClass::Windows, cost) else { return };
        let mut tail = SlabTail::new(bytes, charge);
        for part in state.parts.iter().filter(|part| part.start >= from) {
            tail.push(&part.slice(&(part.start..part.end())));
        }
        state.parts.retain(|part| part.start < from);
        state.parts.push_back(SlabPart::open(from, Arc::clone(tail.slab())));
    }

    fn end(&mut self, outcome: FillOutcome) {
        let mut state = self.fill.lock();
        if state.outcome == FillOutcome::Running {
            state.outcome = outcome;
        }
        for part in &mut state.parts {
            part.seal();
        }
        state.release();
        state.take_wakers(&mut self.wakers);
        drop(state);
        self.wakers.drain(..).for_each(Waker::wake);
    }
}

impl Drop for FillWriter {
    fn drop(&mut self) {
        self.end(FillOutcome::Broken(FillBroken::Origin));
    }
}
