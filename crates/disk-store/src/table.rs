//! A hash table of slots that is never less than two thirds full: what keeps the index small.
//!
//! Open addressing, linear, with all slots in the order of their tags, which is that of their homes
//! too: slots with the same tag stand together, and a look-up ends at the first greater tag, so a
//! full table is still quick to say no. It grows by a quarter where common tables double. It knows
//! nothing of keys and records; the index does.

use crate::slot::{IndexSlot, TAG_BITS};
use std::ops::Range;

/// Homes of a table at first.
const HOMES_MIN: usize = 16;

/// Slots in the order of their tags. Behind the last home there is room for those pushed past it.
pub(crate) struct SlotTable {
    slots: Vec<IndexSlot>,
    homes: usize,
    used: usize,
}

impl SlotTable {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), homes: 0, used: 0 }
    }

    /// Where the slots of `tag` would be at best: 32 bits of the tag, as a share of all homes.
    const fn home(&self, tag: u64) -> usize {
        (((tag >> (TAG_BITS - 32)) * self.homes as u64) >> 32) as usize
    }

    /// Positions of the slots with `tag`; where there are none, the place where one would stand.
    pub(crate) fn positions(&self, tag: u64) -> Range<usize> {
        let mut first = self.home(tag);
        while self.slots.get(first).is_some_and(|slot| slot.is_used() && slot.tag() < tag) {
            first += 1;
        }
        let mut end = first;
        while self.slots.get(end).is_some_and(|slot| slot.is_used() && slot.tag() == tag) {
            end += 1;
        }
        first..end
    }

    /// Positions that there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, position: usize) -> IndexSlot {
        self.slots[position]
    }

    pub(crate) fn slot_mut(&mut self, position: usize) -> &mut IndexSlot {
        &mut self.slots[position]
    }

    /// Every slot in use.
    pub(crate) fn iter_used(&mut self) -> impl Iterator<Item = &mut IndexSlot> {
        self.slots.iter_mut().filter(|slot| slot.is_used())
    }

    pub(crate) fn insert(&mut self, slot: IndexSlot) {
        // At 22 of 25 full a failed look-up walks some dozens of slots, a few cache lines.
        if (self.used + 1) * 25 > self.homes * 22 {
            self.grow();
        }
        while !self.insert_after(slot) {
            self.grow();
        }
        self.used += 1;
    }

    /// Puts `slot` behind all that have its tag or a lesser one; false where the table ends first.
    fn insert_after(&mut self, slot: IndexSlot) -> bool {
        let position = self.positions(slot.tag()).end;
        let mut gap = position;
        while self.slots.get(gap).is_some_and(|it| it.is_used()) {
            gap += 1;
        }
        if gap >= self.slots.len() {
            return false;
        }
        self.slots.copy_within(position..gap, position + 1);
        self.slots[position] = slot;
        true
    }

    /// Makes room for `slots` at once.
    pub(crate) fn reserve(&mut self, slots: usize) {
        let homes = slots * 25 / 22 + 1;
        if homes > self.homes {
            self.resize(homes);
        }
    }

    fn grow(&mut self) {
        self.resize((self.homes + self.homes / 4).max(HOMES_MIN));
    }

    fn resize(&mut self, homes: usize) {
        let old = std::mem::take(&mut self.slots);
        self.homes = homes;
        self.slots = vec![IndexSlot::EMPTY; homes + 16 + homes / 64];
        for slot in old.iter().filter(|slot| slot.is_used()) {
            if !self.insert_after(*slot) {
                // One bad run of tags: a table a quarter larger has room for it.
                self.slots = old;
                return self.grow();
            }
        }
    }

    /// Takes out the slot at `position`; those behind it that are not at home move up.
    pub(crate) fn remove(&mut self, position: usize) -> IndexSlot {
        let taken = self.slots[position];
        let mut last = position;
        while self
            .slots
            .get(last + 1)
            .is_some_and(|next| next.is_used() && self.home(next.tag()) <= last)
        {
            last += 1;
        }
        self.slots.copy_within(position + 1..=last, position);
        self.slots[last] = IndexSlot::EMPTY;
        self.used -= 1;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::RecordKind;
    use crate::slot::RecordLocation;
    use std::collections::HashMap;

    /// The same tags for ever, from a small generator.
    fn tags() -> impl Iterator<Item = u64> {
        let mut state = 1_u64;
        std::iter::from_fn(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            Some(state >> 24)
        })
    }

    fn slot(tag: u64, number: u32) -> IndexSlot {
        IndexSlot::new(tag, 0, RecordKind::Full, RecordLocation { segment: number, at: 64 }, 64)
    }

    #[test]
    fn whatever_is_put_in_and_taken_out_is_there_and_gone() {
        let mut table = SlotTable::new();
        let mut model: HashMap<u64, Vec<u32>> = HashMap::new();
        for (number, tag) in tags().take(30_000).enumerate() {
            // Few tags, so that many share one; some runs are crowded on purpose.
            let tag = if number % 5 == 0 { tag % 64 } else { (tag % 5000) << 27 };
            let numbers = model.entry(tag).or_default();
            if numbers.len() > 3 {
                let position = table.positions(tag).start;
                let taken = table.remove(position).location().segment;
                numbers.retain(|it| *it != taken);
            } else {
                table.insert(slot(tag, number as u32));
                numbers.push(number as u32);
            }
        }
        for (tag, numbers) in &mut model {
            let place = |position| table.slot(position).location().segment;
            let mut found: Vec<u32> = table.positions(*tag).map(place).collect();
            found.sort_unstable();
            numbers.sort_unstable();
            assert_eq!(found, *numbers, "tag {tag}");
        }
        assert_eq!(table.iter_used().count(), model.values().map(Vec::len).sum::<usize>());
    }

    #[test]
    fn it_is_never_less_than_two_thirds_full_once_it_grew() {
        let mut table = SlotTable::new();
        for (number, tag) in tags().take(20_000).enumerate() {
            table.insert(slot(tag, number as u32));
            let share = table.used as f64 / table.slots.len() as f64;
            assert!(number < 1000 || share > 0.667, "{share} of {number} slots");
        }
    }
}
