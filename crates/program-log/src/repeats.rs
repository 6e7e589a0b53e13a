//! Messages that come again and again: counted within a window, and told once at its end.
//!
//! Pure: time is handed in. Of more different messages than it has room for it counts none: they
//! are all written.

use std::time::{Duration, Instant};

/// Different messages that are watched at once.
const WATCHED_MAX: usize = 128;

/// A message, as it was logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedMessage {
    pub(crate) level: log::Level,
    pub(crate) target: &'static str,
    pub(crate) text: String,
    /// File and line of the source, where they are known.
    pub(crate) place: Option<(&'static str, u32)>,
}

/// The fate of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatVerdict {
    Written,
    Counted,
}

/// Messages of the last moments.
#[derive(Debug, Default)]
pub(crate) struct RecentMessages {
    watched: Vec<WatchedMessage>,
}

#[derive(Debug)]
struct WatchedMessage {
    message: LoggedMessage,
    until: Instant,
    repeats: u64,
}

impl RecentMessages {
    /// Notes a message, and says whether it is written. What is due by now must have been taken.
    pub(crate) fn note(
        &mut self,
        message: &LoggedMessage,
        window: Duration,
        now: Instant,
    ) -> RepeatVerdict {
        if window.is_zero() {
            return RepeatVerdict::Written;
        }
        if let Some(known) = self.watched.iter_mut().find(|it| it.message == *message) {
            known.repeats += 1;
            return RepeatVerdict::Counted;
        }
        if self.watched.len() < WATCHED_MAX {
            let message = message.clone();
            self.watched.push(WatchedMessage { message, until: now + window, repeats: 0 });
        }
        RepeatVerdict::Written
    }

    /// Messages whose window is over and that were repeated, each with its count.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<(LoggedMessage, u64)> {
        let over: Vec<_> = self.watched.extract_if(.., |it| it.until <= now).collect();
        let told = over.into_iter().filter(|it| it.repeats > 0);
        told.map(|it| (it.message, it.repeats)).collect()
    }

    /// All of them that were repeated, whatever the time.
    pub(crate) fn take_all(&mut self) -> Vec<(LoggedMessage, u64)> {
        let told = std::mem::take(&mut self.watched).into_iter().filter(|it| it.repeats > 0);
        told.map(|it| (it.message, it.repeats)).collect()
    }

    /// When the first that was repeated is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.watched.iter().filter(|it| it.repeats > 0).map(|it| it.until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> LoggedMessage {
        LoggedMessage { level: log::Level::Warn, target: "dns", text: text.into(), place: None }
    }

    const WINDOW: Duration = Duration::from_secs(30);

    #[test]
    fn a_message_that_comes_again_is_told_once_with_its_count() {
        let (mut recent, begun) = (RecentMessages::default(), Instant::now());
        assert_eq!(recent.note(&message("a"), WINDOW, begun), RepeatVerdict::Written);
        assert_eq!(recent.next_due(), None);
        for _ in 0..3 {
            assert_eq!(recent.note(&message("a"), WINDOW, begun), RepeatVerdict::Counted);
        }
        assert_eq!(recent.note(&message("b"), WINDOW, begun), RepeatVerdict::Written);
        assert_eq!(recent.next_due(), Some(begun + WINDOW));
        assert_eq!(recent.take_due(begun + WINDOW / 2), []);
        assert_eq!(recent.take_due(begun + WINDOW), [(message("a"), 3)]);
        let later = begun + WINDOW;
        assert_eq!(recent.note(&message("a"), WINDOW, later), RepeatVerdict::Written);
    }

    #[test]
    fn more_messages_than_there_is_room_for_are_all_written() {
        let (mut recent, now) = (RecentMessages::default(), Instant::now());
        for number in 0..1_000 {
            let message = message(&number.to_string());
            assert_eq!(recent.note(&message, WINDOW, now), RepeatVerdict::Written);
        }
        assert_eq!(recent.watched.len(), WATCHED_MAX);
        assert_eq!(recent.note(&message("999"), WINDOW, now), RepeatVerdict::Written);
        let none = Duration::ZERO;
        assert_eq!(recent.note(&message("1"), none, now), RepeatVerdict::Written);
    }
}
