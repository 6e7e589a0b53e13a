//! Who waits for a server, and who is next: by class, oldest first, the lower ones now and then.
//!
//! Pure: it wakes nobody and knows no clock. Called by `queue`. After Perlbal's queue relief.

use crate::settings::Priority;
use std::collections::BTreeMap;

/// Those who wait.
#[derive(Debug)]
pub(super) struct Line<W> {
    /// By class, each by number: the oldest is the first.
    classes: [BTreeMap<u64, W>; 3],
    next: u64,
    relief: Relief,
    /// What the lower classes have gained, in percent of a turn.
    credit: u32,
}

/// How lower classes are kept from starving.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relief {
    /// From so many waiting on.
    pub(super) waiting: usize,
    /// The share of turns that the oldest of the lower classes gets, in percent.
    pub(super) percent: u32,
}

/// Somebody's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    class: Priority,
    number: u64,
}

/// What came of entering.
pub(super) enum Entered<W> {
    /// A place; somebody of a lower class may have had to go for it.
    At(Place, Option<W>),
    /// The line is full, and nobody in it stands lower.
    Full,
}

const CLASSES: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

impl<W> Line<W> {
    pub(super) fn new(relief: Relief) -> Self {
        Self { classes: Default::default(), next: 0, relief, credit: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.classes.iter().map(BTreeMap::len).sum()
    }

    /// How many of each class wait: high, normal, low.
    pub(super) fn waiting(&self) -> [usize; 3] {
        self.classes.each_ref().map(BTreeMap::len)
    }

    /// Enters at the end of its class. In a line of `most`, the youngest of the lowest class gives
    /// way to a higher one.
    pub(super) fn enter(&mut self, class: Priority, waiter: W, most: usize) -> Entered<W> {
        let mut displaced = None;
        if self.len() >= most {
            let lower = self.classes[class as usize + 1..].iter_mut().rev();
            let Some((_, last)) = lower.into_iter().find_map(BTreeMap::pop_last) else {
                return Entered::Full;
            };
            displaced = Some(last);
        }
        let number = self.next;
        self.next += 1;
        self.classes[class as usize].insert(number, waiter);
        Entered::At(Place { class, number }, displaced)
    }

    /// Leaves, if not gone already.
    pub(super) fn leave(&mut self, place: Place) -> Option<W> {
        self.classes[place.class as usize].remove(&place.number)
    }

    /// Who is next, and may be looked at.
    pub(super) fn next(&self) -> Option<(Place, &W)> {
        let (highest, lower) = self.heads();
        let relieved = self.gained() >= 100;
        let place = if relieved { lower.or(highest)? } else { highest? };
        self.classes[place.class as usize].get(&place.number).map(|waiter| (place, waiter))
    }

    /// Takes out who was next.
    pub(super) fn serve(&mut self, place: Place) -> Option<W> {
        let gained = self.gained();
        self.credit = if gained >= 100 { gained - 100 } else { gained };
        self.leave(place)
    }

    /// All of them, out of the line.
    pub(super) fn drain(&mut self) -> Vec<W> {
        let classes = std::mem::take(&mut self.classes);
        classes.into_iter().flat_map(BTreeMap::into_values).collect()
    }

    /// The oldest of the highest class, and the oldest of those below it.
    fn heads(&self) -> (Option<Place>, Option<Place>) {
        let mut heads = CLASSES.into_iter().filter_map(|class| {
            let (&number, _) = self.classes[class as usize].first_key_value()?;
            Some(Place { class, number })
        });
        let highest = heads.next();
        (highest, heads.min_by_key(|place| place.number))
    }

    /// The lower classes' credit if one more turn is given away now.
    fn gained(&self) -> u32 {
        let wanted = self.len() >= self.relief.waiting.max(1) && self.heads().1.is_some();
        if wanted { self.credit + self.relief.percent } else { 0 }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn line(percent: u32) -> Line<u32> {
        Line::new(Relief { waiting: 4, percent })
    }

    fn enter(line: &mut Line<u32>, class: Priority, waiter: u32) -> Option<u32> {
        match line.enter(class, waiter, 100) {
            Entered::At(_, displaced) => displaced,
            Entered::Full => panic!("full"),
        }
    }

    fn served(line: &mut Line<u32>) -> Vec<u32> {
        let one = || {
            let place = line.next()?.0;
            line.serve(place)
        };
        std::iter::from_fn(one).collect()
    }

    #[test]
    fn the_highest_class_is_served_first_and_the_oldest_in_it() {
        let mut line = line(0);
        for (class, waiter) in
            [(Priority::Low, 5), (Priority::Normal, 3), (Priority::High, 1), (Priority::High, 2)]
        {
            enter(&mut line, class, waiter);
        }
        assert_eq!(served(&mut line), [1, 2, 3, 5]);
    }

    #[test]
    fn lower_classes_get_their_share_of_turns_in_a_long_line() {
        let mut line = line(25);
        for waiter in 0..12 {
            enter(&mut line, Priority::High, waiter);
        }
        for waiter in 100..103 {
            enter(&mut line, Priority::Low, waiter);
        }
        let order = served(&mut line);
        assert_eq!(order[..12], [0, 1, 2, 100, 3, 4, 5, 101, 6, 7, 8, 102]);
    }

    #[test]
    fn a_full_line_lets_only_higher_classes_in() {
        let mut line = line(0);
        let mut fill = |class, waiter| line.enter(class, waiter, 2);
        fill(Priority::Low, 1);
        fill(Priority::Normal, 2);
        assert!(matches!(fill(Priority::Low, 3), Entered::Full));
        assert!(matches!(fill(Priority::Normal, 4), Entered::At(_, Some(1))));
        assert!(matches!(fill(Priority::Normal, 5), Entered::Full));
        let Entered::At(place, Some(4)) = fill(Priority::High, 6) else { panic!() };
        assert_eq!(line.leave(place), Some(6));
        assert_eq!(line.leave(place), None);
        assert_eq!((line.waiting(), line.drain()), ([0, 1, 0], vec![2]));
    }
}
