//! The waker of a connection's task, silent while the task answers requests itself.
//!
//! Whatever is queued for sending wakes the connection. While the connection queues it itself that
//! would be one more turn of its task for nothing: it looks at everything again before its turn
//! ends. It keeps no time and polls nothing. Used by [`super::connection`].

use std::sync::atomic::{AtomicBool, Ordering::AcqRel};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

/// The waker that the parts of a connection are polled with.
pub(super) struct TurnWaker {
    task: Mutex<Option<Waker>>,
    /// The task is at work, and polls all parts of the connection again when it is through.
    is_silent: AtomicBool,
}

impl TurnWaker {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { task: Mutex::new(None), is_silent: AtomicBool::new(false) })
    }

    /// Has the task that runs now woken from now on.
    pub(super) fn set_task(&self, cx: &Context<'_>) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if !task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
            *task = Some(cx.waker().clone());
        }
    }

    /// Runs `work` while nothing wakes the task. All parts of the connection must be polled
    /// afterwards.
    pub(super) fn silently(&self, work: impl FnOnce()) {
        // A wake-up that comes in between is either before the second change, and what it tells is
        // seen by whoever polls after it, or behind it, and wakes: all of them change the flag.
        self.is_silent.swap(true, AcqRel);
        work();
        self.is_silent.swap(false, AcqRel);
    }
}

impl Wake for TurnWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_silent.fetch_or(false, AcqRel) {
            return;
        }
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[derive(Default)]
    struct Counted(AtomicU32);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_task_is_not_woken_by_its_own_work() {
        let counted = Arc::new(Counted::default());
        let task = Waker::from(Arc::clone(&counted));
        let turn = TurnWaker::new();
        turn.set_task(&Context::from_waker(&task));
        let waker = Waker::from(Arc::clone(&turn));
        turn.silently(|| waker.wake_by_ref());
        assert_eq!(counted.0.load(Relaxed), 0);
        waker.wake();
        assert_eq!(counted.0.load(Relaxed), 1);
    }
}
