//! Pace of one exchange with a script: when something last moved, and who is waited for.

use std::cell::Cell;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Holds what both directions know of each other.
pub(crate) struct ExchangePace {
    /// When something last moved.
    moved: Cell<Instant>,
    waits: Cell<WaitsFor>,
}

/// Side that is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    Script,
    /// The client: the script's patience is not at stake then.
    Client,
}

impl ExchangePace {
    /// One that begins now.
    pub(crate) fn begin() -> Self {
        Self { moved: Cell::new(Instant::now()), waits: Cell::new(WaitsFor::Script) }
    }

    /// Notes that something has moved.
    pub(crate) fn has_moved(&self) {
        self.moved.set(Instant::now());
    }

    /// Notes who is waited for from now on.
    pub(crate) fn wait_for(&self, side: WaitsFor) {
        self.waits.set(side);
        self.has_moved();
    }

    /// Waits until the script has let so much time go by.
    pub(crate) async fn until_late(&self, patience: Duration) {
        loop {
            sleep_until(self.moved.get() + patience).await;
            if self.waits.get() == WaitsFor::Client {
                self.has_moved();
            } else if self.moved.get().elapsed() >= patience {
                return;
            }
        }
    }
}
