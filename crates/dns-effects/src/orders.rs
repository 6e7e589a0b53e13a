//! Orders to carry an effect out, on their way from whoever sets it off to its queue.
//!
//! Nobody waits to give one: a full queue refuses it, and it is counted.

use super::EffectFailure;
use super::counts::EffectCounts;
use super::event::EffectOccurrence;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::{mpsc, oneshot};

/// Holds what is to be carried out, and who waits for it.
pub(super) struct EffectOrder {
    pub(super) occurrence: EffectOccurrence,
    pub(super) waiting: oneshot::Sender<Result<(), EffectFailure>>,
}

/// Sets off one effect.
#[derive(Clone)]
pub(super) struct EffectLever {
    pub(super) queue: mpsc::Sender<EffectOrder>,
    pub(super) counts: Arc<EffectCounts>,
}

/// The outcome of an effect that was set off, to wait for or to drop.
pub(super) struct EffectHandle(Result<oneshot::Receiver<Result<(), EffectFailure>>, EffectFailure>);

impl EffectLever {
    /// Has the effect carried out, unless too many wait. Never waits itself.
    pub(super) fn pull(&self, occurrence: impl FnOnce() -> EffectOccurrence) -> EffectHandle {
        let Ok(place) = self.queue.try_reserve() else {
            self.counts.dropped.fetch_add(1, Relaxed);
            return EffectHandle(Err(EffectFailure::new("too many of it wait already")));
        };
        let (waiting, outcome) = oneshot::channel();
        self.counts.triggered.fetch_add(1, Relaxed);
        place.send(EffectOrder { occurrence: occurrence(), waiting });
        EffectHandle(Ok(outcome))
    }
}

impl EffectHandle {
    /// Returns what became of it.
    pub(super) async fn outcome(self) -> Result<(), EffectFailure> {
        self.0?.await.unwrap_or_else(|_| Err(EffectFailure::new("Tidegate ends")))
    }
}
