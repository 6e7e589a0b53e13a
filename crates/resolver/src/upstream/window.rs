//! How many questions may be on their way to one upstream at once, so that a burst does not overrun
//! its socket's buffer: what is beyond waits its turn, in order.
//!
//! It begins with what the smallest usual buffer holds and grows while answers come, as TCP does. A
//! question counts for [`COUNTED_FOR`] only: after that it has left the buffer, answered or not, so
//! an upstream that is slow about some names is not slow about all. It knows no time and no socket;
//! [`crate::engine::attempts`] tells it what happens.

use std::collections::VecDeque;
use std::time::Duration;

/// At first, and never less, where one engine asks: 208 KiB, the default buffer of Linux, hold 277
/// small datagrams.
pub(crate) const WINDOW_MIN: usize = 256;
/// At first, and never less, where several engines ask one upstream: four of them fill such a
/// buffer.
pub(crate) const WINDOW_MIN_SHARED: usize = WINDOW_MIN / 4;
/// Never more.
pub(crate) const WINDOW_MAX: usize = 4096;
/// Those who wait their turn, at most; beyond it a question is refused.
const QUEUE_MAX: usize = 8192;
/// A datagram that is so old is no longer in anybody's buffer.
pub(crate) const COUNTED_FOR: Duration = Duration::from_millis(50);

/// The window of one upstream, and those who wait for their turn.
pub(crate) struct UpstreamWindow<T> {
    size: usize,
    /// The size at first, and never less.
    min: usize,
    in_use: usize,
    queue: VecDeque<T>,
}

/// Tells whether a question may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowTurn {
    /// May, and is counted.
    Go,
    /// It waits.
    Wait,
    /// Too many wait already.
    Refused,
}

impl<T> UpstreamWindow<T> {
    /// A window for `min` questions at first, and never less.
    pub(crate) const fn new(min: usize) -> Self {
        Self { size: min, min, in_use: 0, queue: VecDeque::new() }
    }

    /// Asks for a turn.
    pub(crate) fn acquire(&mut self, who: T) -> WindowTurn {
        if self.in_use < self.size && self.queue.is_empty() {
            self.in_use += 1;
            WindowTurn::Go
        } else if self.queue.len() < QUEUE_MAX {
            self.queue.push_back(who);
            WindowTurn::Wait
        } else {
            WindowTurn::Refused
        }
    }

    /// One that was counted is answered.
    pub(crate) fn answered(&mut self) {
        if !self.queue.is_empty() {
            self.size = (self.size + 1).min(WINDOW_MAX);
        }
        self.forget();
    }

    /// One that was counted is no longer.
    pub(crate) fn forget(&mut self) {
        self.in_use = self.in_use.saturating_sub(1);
    }

    /// Some had to be sent again.
    pub(crate) fn on_loss(&mut self) {
        self.size = (self.size / 2).max(self.min);
    }

    /// The next whose turn it is, and who is counted from now on. Whoever has gone away meanwhile
    /// gives it back by [`Self::forget`].
    pub(crate) fn next(&mut self) -> Option<T> {
        if self.in_use >= self.size {
            return None;
        }
        let next = self.queue.pop_front()?;
        self.in_use += 1;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_beyond_the_window_waits_in_order() {
        let mut window = UpstreamWindow::new(WINDOW_MIN);
        for number in 0..WINDOW_MIN {
            assert_eq!(window.acquire(number), WindowTurn::Go);
        }
        for number in 0..3 {
            assert_eq!(window.acquire(number), WindowTurn::Wait);
        }
        assert_eq!(window.next(), None);
        window.forget();
        assert_eq!(window.next(), Some(0));
        assert_eq!(window.next(), None);
        // Whoever comes now does not pass by those who wait.
        window.forget();
        assert_eq!(window.acquire(3), WindowTurn::Wait);
        assert_eq!(window.next(), Some(1));
    }

    #[test]
    fn it_grows_with_answers_that_somebody_waits_for_and_shrinks_with_losses() {
        let mut window = UpstreamWindow::new(WINDOW_MIN);
        for number in 0..WINDOW_MIN + QUEUE_MAX {
            window.acquire(number);
        }
        assert_eq!(window.acquire(0), WindowTurn::Refused);
        let mut gone = 0;
        for _ in 0..100 {
            window.answered();
            while window.next().is_some() {
                gone += 1;
            }
        }
        assert_eq!(gone, 200, "each answer makes room for two");
        window.on_loss();
        assert_eq!(window.size, WINDOW_MIN);
        window.answered();
        assert_eq!(window.next(), None);
    }
}
