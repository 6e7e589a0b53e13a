//! Who has how many of the questions in flight, so that at the cap the greediest gives way.
//!
//! Askers are spread over a fixed number of shares by a hash that nobody outside can foresee
//! (stochastic fairness queueing, `McKenney` 1990); the same client has another share for each
//! group and each zone with upstreams of its own. Every step takes the same short time however many
//! questions there are, and nothing allocates. It knows places in a table only; [`super::race`]
//! says what they stand for.

/// Different questions in flight at once, at most. Beyond it whoever has the most gives way:
/// another's question takes the place of its oldest one, its own only where that has had its
/// chance. Who gets no place, or loses it, fails at once, or gets the stale answer if there is one.
pub const QUESTIONS_MAX: usize = 4096;

/// Shares: two askers meet in one of them by chance only once in so many times.
const SHARES: usize = 2048;
/// No place.
const NONE: u16 = u16::MAX;

const _: () = assert!(QUESTIONS_MAX < NONE as usize);
const _: () = assert!(SHARES < NONE as usize);

/// The questions in flight, by the share of the client that asks.
pub(crate) struct FairShares {
    /// The questions of each share, oldest first.
    questions_of: Box<[ListEnds]>,
    /// Number of them.
    counts: Box<[u16]>,
    questions: ListLinks,
    /// The share of each question, by its place.
    share_of: Box<[u16]>,
    /// The shares that have so many questions.
    shares_with: Box<[ListEnds]>,
    shares: ListLinks,
    /// The most that any has.
    max_count: usize,
}

/// The first and the last of a list.
#[derive(Clone, Copy)]
struct ListEnds {
    first: u16,
    last: u16,
}

/// Lists of places, each in one of them at most.
struct ListLinks {
    next: Box<[u16]>,
    before: Box<[u16]>,
}

impl ListEnds {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl ListLinks {
    fn new(places: usize) -> Self {
        Self { next: vec![NONE; places].into(), before: vec![NONE; places].into() }
    }

    fn push(&mut self, list: &mut ListEnds, place: u16) {
        self.next[usize::from(place)] = NONE;
        self.before[usize::from(place)] = list.last;
        match list.last {
            NONE => list.first = place,
            end => self.next[usize::from(end)] = place,
        }
        list.last = place;
    }

    fn remove(&mut self, list: &mut ListEnds, place: u16) {
        let (next, before) = (self.next[usize::from(place)], self.before[usize::from(place)]);
        match before {
            NONE => list.first = next,
            before => self.next[usize::from(before)] = next,
        }
        match next {
            NONE => list.last = before,
            next => self.before[usize::from(next)] = before,
        }
    }
}

impl Default for FairShares {
    fn default() -> Self {
        let empty = |count| vec![ListEnds::EMPTY; count].into_boxed_slice();
        Self {
            questions_of: empty(SHARES),
            counts: vec![0; SHARES].into(),
            questions: ListLinks::new(QUESTIONS_MAX),
            share_of: vec![0; QUESTIONS_MAX].into(),
            shares_with: empty(QUESTIONS_MAX + 1),
            shares: ListLinks::new(SHARES),
            max_count: 0,
        }
    }
}

impl FairShares {
    /// The share of whoever `hash` stands for.
    pub(crate) fn of(hash: u64) -> u16 {
        // The upper bits: a product has spread them best.
        ((hash >> 32) as usize % SHARES) as u16
    }

    /// Counts the question at `place`, below [`QUESTIONS_MAX`], for `share`.
    pub(crate) fn add(&mut self, place: usize, share: u16) {
        self.share_of[place] = share;
        self.questions.push(&mut self.questions_of[usize::from(share)], place as u16);
        let count = self.count(share);
        self.move_share(share, count, count + 1);
        self.max_count = self.max_count.max(count + 1);
    }

    /// It is over.
    pub(crate) fn remove(&mut self, place: usize) {
        let share = self.share_of[place];
        self.questions.remove(&mut self.questions_of[usize::from(share)], place as u16);
        let count = self.count(share);
        self.move_share(share, count, count.saturating_sub(1));
        if self.max_count == count && self.shares_with[count].first == NONE {
            self.max_count = count.saturating_sub(1);
        }
    }

    fn move_share(&mut self, share: u16, from: usize, to: usize) {
        if from > 0 {
            self.shares.remove(&mut self.shares_with[from], share);
        }
        if to > 0 {
            self.shares.push(&mut self.shares_with[to], share);
        }
        self.counts[usize::from(share)] = to as u16;
    }

    /// Returns how many questions `share` has.
    pub(crate) fn count(&self, share: u16) -> usize {
        self.counts[usize::from(share)].into()
    }

    /// The share that has the most questions, and how many; of several the one that has had as many
    /// for longest.
    pub(crate) fn largest_share(&self) -> Option<(u16, usize)> {
        let share = self.shares_with[self.max_count].first;
        (self.max_count > 0 && share != NONE).then_some((share, self.max_count))
    }

    /// The place of its oldest question.
    pub(crate) fn oldest(&self, share: u16) -> Option<usize> {
        let place = self.questions_of[usize::from(share)].first;
        (place != NONE).then_some(place.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;
    use std::collections::{HashMap, VecDeque};

    #[test]
    fn the_greediest_share_and_its_oldest_question_are_known() {
        let mut shares = FairShares::default();
        assert_eq!(shares.largest_share(), None);
        for place in 0..5 {
            shares.add(place, 7);
        }
        shares.add(5, 9);
        assert_eq!((shares.largest_share(), shares.oldest(7)), (Some((7, 5)), Some(0)));
        shares.remove(0);
        assert_eq!((shares.largest_share(), shares.oldest(7)), (Some((7, 4)), Some(1)));
        for place in 1..5 {
            shares.remove(place);
        }
        assert_eq!((shares.largest_share(), shares.count(7)), (Some((9, 1)), 0));
        shares.remove(5);
        assert_eq!((shares.largest_share(), shares.oldest(9)), (None, None));
    }

    #[test]
    fn they_agree_with_a_table_that_counts() {
        let mut shares = FairShares::default();
        let mut model: HashMap<u16, VecDeque<usize>> = HashMap::new();
        let mut free: Vec<usize> = (0..QUESTIONS_MAX).collect();
        let mut number = 7_u64;
        let mut below = |bound: usize| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (number >> 33) as usize % bound
        };
        for _ in 0..20_000 {
            let share = below(5) as u16;
            let mine = model.entry(share).or_default();
            if below(100) < 55 && !free.is_empty() {
                let place = free.pop().unwrap();
                shares.add(place, share);
                mine.push_back(place);
            } else if !mine.is_empty() {
                let place = mine.remove(below(mine.len())).unwrap();
                shares.remove(place);
                free.push(place);
            }
            let most = model.values().map(VecDeque::len).max().unwrap();
            assert_eq!(shares.largest_share().map_or(0, |it| it.1), most);
            assert_eq!(shares.oldest(share), model[&share].front().copied());
            assert_eq!(shares.count(share), model[&share].len());
        }
    }
}
