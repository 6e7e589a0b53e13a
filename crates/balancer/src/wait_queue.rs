//! The queue of requests for a server: by class, oldest first, the lower ones now and then.
//!
//! Pure: it wakes nobody and knows no clock. Called by `queue`. After Perlbal's queue relief.

use crate::settings::RequestPriority;
use std::collections::BTreeMap;

/// Requests that wait.
#[derive(Debug)]
pub(crate) struct WaitQueue<W> {
    /// By class, each by number: the oldest is the first.
    classes: [BTreeMap<u64, W>; 3],
    next: u64,
    relief: QueueRelief,
    /// Credit of the lower classes, in percent of a turn.
    credit: u32,
}

/// Holds how lower classes are kept from starving.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRelief {
    /// From so many waiting on.
    pub(crate) waiting: usize,
    /// The share of turns that the oldest of the lower classes gets, in percent.
    pub(crate) percent: u32,
}

/// Somebody's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuePlace {
    class: RequestPriority,
    number: u64,
}

/// Outcome of entering.
pub(crate) enum QueueEntry<W> {
    /// A place; somebody of a lower class may have had to go for it.
    At(QueuePlace, Option<W>),
    /// The line is full, and nobody in it stands lower.
    Full,
}

const CLASSES: [RequestPriority; 3] =
    [RequestPriority::High, RequestPriority::Normal, RequestPriority::Low];

impl<W> WaitQueue<W> {
    pub(crate) fn new(relief: QueueRelief) -> Self {
        Self { classes: Default::default(), next: 0, relief, credit: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.classes.iter().map(BTreeMap::len).sum()
    }

    /// Returns how many of each class wait: high, normal, low.
    pub(crate) fn waiting(&self) -> [usize; 3] {
        self.classes.each_ref().map(BTreeMap::len)
    }

    /// Returns who has waited longest of each class: high, normal, low.
    pub(crate) fn oldest(&self) -> [Option<&W>; 3] {
        self.classes.each_ref().map(|class| class.first_key_value().map(|(_, waiter)| waiter))
    }

    /// Enters at the end of its class. In a line of `most`, the youngest of the lowest class gives
    /// way to a higher one.
    pub(crate) fn push(&mut self, class: RequestPriority, waiter: W, most: usize) -> QueueEntry<W> {
        let mut displaced = None;
        if self.len() >= most {
            let lower = self.classes[class as usize + 1..].iter_mut().rev();
            let Some((_, last)) = lower.into_iter().find_map(BTreeMap::pop_last) else {
                return QueueEntry::Full;
            };
            displaced = Some(last);
        }
        let number = self.next;
        self.next += 1;
        self.classes[class as usize].insert(number, waiter);
        QueueEntry::At(QueuePlace { class, number }, displaced)
    }

    /// Leaves, if not gone already.
    pub(crate) fn remove(&mut self, place: QueuePlace) -> Option<W> {
        self.classes[place.class as usize].remove(&place.number)
    }

    /// Returns who is next, and may be looked at.
    pub(crate) fn next(&self) -> Option<(QueuePlace, &W)> {
        let (highest, lower) = self.heads();
        let relieved = self.credit_after_turn() >= 100;
        let place = if relieved { lower.or(highest)? } else { highest? };
        self.classes[place.class as usize].get(&place.number).map(|waiter| (place, waiter))
    }

    /// Takes out who was next.
    pub(crate) fn serve(&mut self, place: QueuePlace) -> Option<W> {
        let gained = self.credit_after_turn();
        self.credit = if gained >= 100 { gained - 100 } else { gained };
        self.remove(place)
    }

    /// All of them, out of the line.
    pub(crate) fn drain(&mut self) -> Vec<W> {
        let classes = std::mem::take(&mut self.classes);
        classes.into_iter().flat_map(BTreeMap::into_values).collect()
    }

    /// The oldest of the highest class, and the oldest of those below it.
    fn heads(&self) -> (Option<QueuePlace>, Option<QueuePlace>) {
        let mut heads = CLASSES.into_iter().filter_map(|class| {
            let (&number, _) = self.classes[class as usize].first_key_value()?;
            Some(QueuePlace { class, number })
        });
        let highest = heads.next();
        (highest, heads.min_by_key(|place| place.number))
    }

    /// The lower classes' credit if one more turn is given away now.
    fn credit_after_turn(&self) -> u32 {
        let wanted = self.len() >= self.relief.waiting.max(1) && self.heads().1.is_some();
        if wanted { self.credit + self.relief.percent } else { 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn line(percent: u32) -> WaitQueue<u32> {
        WaitQueue::new(QueueRelief { waiting: 4, percent })
    }

    fn enter(line: &mut WaitQueue<u32>, class: RequestPriority, waiter: u32) -> Option<u32> {
        match line.push(class, waiter, 100) {
            QueueEntry::At(_, displaced) => displaced,
            QueueEntry::Full => panic!("full"),
        }
    }

    fn served(line: &mut WaitQueue<u32>) -> Vec<u32> {
        let one = || {
            let place = line.next()?.0;
            line.serve(place)
        };
        std::iter::from_fn(one).collect()
    }

    #[test]
    fn the_highest_class_is_served_first_and_the_oldest_in_it() {
        let mut line = line(0);
        for (class, waiter) in [
            (RequestPriority::Low, 5),
            (RequestPriority::Normal, 3),
            (RequestPriority::High, 1),
            (RequestPriority::High, 2),
        ] {
            enter(&mut line, class, waiter);
        }
        assert_eq!(served(&mut line), [1, 2, 3, 5]);
    }

    #[test]
    fn lower_classes_get_their_share_of_turns_in_a_long_line() {
        let mut line = line(25);
        for waiter in 0..12 {
            enter(&mut line, RequestPriority::High, waiter);
        }
        for waiter in 100..103 {
            enter(&mut line, RequestPriority::Low, waiter);
        }
        let order = served(&mut line);
        assert_eq!(order[..12], [0, 1, 2, 100, 3, 4, 5, 101, 6, 7, 8, 102]);
    }

    #[test]
    fn a_full_line_lets_only_higher_classes_in() {
        let mut line = line(0);
        let mut fill = |class, waiter| line.push(class, waiter, 2);
        fill(RequestPriority::Low, 1);
        fill(RequestPriority::Normal, 2);
        assert!(matches!(fill(RequestPriority::Low, 3), QueueEntry::Full));
        assert!(matches!(fill(RequestPriority::Normal, 4), QueueEntry::At(_, Some(1))));
        assert!(matches!(fill(RequestPriority::Normal, 5), QueueEntry::Full));
        let QueueEntry::At(place, Some(4)) = fill(RequestPriority::High, 6) else { panic!() };
        assert_eq!(line.remove(place), Some(6));
        assert_eq!(line.remove(place), None);
        assert_eq!((line.waiting(), line.drain()), ([0, 1, 0], vec![2]));
    }
}
