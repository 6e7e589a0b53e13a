//! Ending in order: no new connections, then wait for the open ones.
//!
//! One [`Drain`] is shared by everything that holds connections. It closes nothing itself: whoever
//! holds a connection watches [`Drain::started`] and finishes up. The binary begins it on stop.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;

/// A shared wish to stop, and a count of what is still open.
#[derive(Clone, Debug)]
pub struct Drain(Arc<DrainInner>);

#[derive(Debug)]
struct DrainInner {
    started: AtomicBool,
    begins: Notify,
    open: AtomicUsize,
    closed_one: Notify,
}

/// Counts one thing as open while it lives.
#[derive(Debug)]
pub struct DrainGuard(Drain);

/// Completes when the drain has begun, and as often as it is asked from then on.
///
/// Small, and free of cost until it has to wait: most connections are closed before they ever do.
pub struct DrainBegun {
    drain: Drain,
    waiting: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// Holds what was still open when the time for draining ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillOpen(pub usize);

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}

impl Drain {
    /// Nothing open, not begun.
    pub fn new() -> Self {
        Self(Arc::new(DrainInner {
            started: AtomicBool::new(false),
            begins: Notify::new(),
            open: AtomicUsize::new(0),
            closed_one: Notify::new(),
        }))
    }

    /// Asks everything to finish up. Once begun it stays so.
    pub fn start(&self) {
        self.0.started.store(true, Ordering::Release);
        self.0.begins.notify_waiters();
    }

    /// True if it has begun.
    pub fn is_started(&self) -> bool {
        self.0.started.load(Ordering::Acquire)
    }

    /// Completes when it has begun.
    pub fn started(&self) -> DrainBegun {
        DrainBegun { drain: self.clone(), waiting: None }
    }

    async fn wait(self) {
        let begins = self.0.begins.notified();
        // Looked at after the waiting has begun: whoever begins the drain in between is not missed.
        if !self.is_started() {
            begins.await;
        }
    }

    /// Counts something as open until the returned value is dropped.
    #[must_use]
    pub fn hold(&self) -> DrainGuard {
        self.0.open.fetch_add(1, Ordering::Relaxed);
        DrainGuard(self.clone())
    }

    /// Returns how many things are open.
    pub fn open(&self) -> usize {
        self.0.open.load(Ordering::Acquire)
    }

    /// Waits until nothing is open, for at most `deadline`.
    pub async fn finished(&self, deadline: Duration) -> Result<(), StillOpen> {
        let all_closed = async {
            loop {
                let closed_one = self.0.closed_one.notified();
                if self.open() == 0 {
                    return;
                }
                closed_one.await;
            }
        };
        tokio::time::timeout(deadline, all_closed).await.map_err(|_| StillOpen(self.open()))
    }
}

impl Future for DrainBegun {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.drain.is_started() {
            return Poll::Ready(());
        }
        let Self { drain, waiting } = &mut *self;
        waiting.get_or_insert_with(|| Box::pin(drain.clone().wait())).as_mut().poll(cx)
    }
}

impl fmt::Debug for DrainBegun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun").field("drain", &self.drain).finish_non_exhaustive()
    }
}

impl Drop for DrainGuard {
    fn drop(&mut self) {
        if self.0.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.0.closed_one.notify_waiters();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn draining_ends_when_the_last_connection_closes() {
        let drain = Drain::new();
        let (first, second) = (drain.hold(), drain.hold());
        let holder = tokio::spawn({
            let drain = drain.clone();
            async move {
                drain.started().await;
                drop(first);
                drop(second);
            }
        });
        drain.start();
        assert_eq!(drain.finished(Duration::from_secs(5)).await, Ok(()));
        holder.await.unwrap();
    }

    #[tokio::test]
    async fn what_does_not_close_is_counted() {
        let drain = Drain::new();
        let _held = drain.hold();
        drain.start();
        assert_eq!(drain.finished(Duration::from_millis(5)).await, Err(StillOpen(1)));
    }
}
