//! Where every object of the disk tier is: sixteen bytes a record, less than 24 with the gaps.
//!
//! An object is a record with a body and, once a 304 renewed it, a second one with its newer head.
//! The index reads no file and compares no key beyond 46 bits: whoever follows a slot does.
//! Sixty-four shards, each behind a lock that is held for a look-up or for one change. Called by
//! doors that look something up and by the disk's thread.

use crate::format::RecordKind;
use crate::key::KeyHash;
use crate::segment_scan::FooterEntry;
use crate::slot::{IndexSlot, RecordLocation, TAG_BITS};
use crate::table::SlotTable;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Variants of one key. One more takes the place of one that was not asked for lately.
pub const VARIANTS_MAX: usize = 64;

const SHARD_BITS: u32 = 6;

/// The index.
pub(crate) struct DiskIndex {
    shards: Box<[Mutex<SlotTable>]>,
    objects: AtomicU64,
    heads: AtomicU64,
}

/// An object as a look-up finds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskObject {
    pub(crate) full: IndexSlot,
    pub(crate) head: Option<IndexSlot>,
}

/// Tells what reading found out about a record.
#[derive(Clone, Copy)]
pub(crate) enum RecordMark {
    /// Was of use.
    Hot,
    /// Body is as it was written.
    Checked,
}

fn tag(key: KeyHash) -> u64 {
    (key.0 >> SHARD_BITS) as u64 & ((1 << TAG_BITS) - 1)
}

/// A slot for a record in the segment that has the place `segment` in the table.
pub(crate) fn slot(entry: &FooterEntry, segment: u32) -> IndexSlot {
    let place = RecordLocation { segment, at: entry.at };
    let mut slot = IndexSlot::new(tag(entry.key), entry.variant, entry.kind, place, entry.len);
    slot.set_until(entry.useful_until_s);
    slot
}

/// The body that a newer head is for is not what counts any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoBody;

impl DiskIndex {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..1 << SHARD_BITS).map(|_| Mutex::new(SlotTable::new())).collect(),
            objects: AtomicU64::new(0),
            heads: AtomicU64::new(0),
        }
    }

    /// Makes room for `records`, and for some more in shards that get more than their part.
    pub(crate) fn reserve(&self, records: u64) {
        let each = records as usize >> SHARD_BITS;
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).reserve(each + each / 64);
        }
    }

    fn shard(&self, key: KeyHash) -> MutexGuard<'_, SlotTable> {
        let shard = &self.shards[key.0 as usize & ((1 << SHARD_BITS) - 1)];
        // A table is never left half changed: nothing in it panics once it began to move slots.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Objects in it.
    pub(crate) fn objects(&self) -> u64 {
        self.objects.load(Relaxed)
    }

    /// Renewed heads in it.
    pub(crate) fn heads(&self) -> u64 {
        self.heads.load(Relaxed)
    }

    const fn count(&self, kind: RecordKind) -> &AtomicU64 {
        match kind {
            RecordKind::Full => &self.objects,
            RecordKind::Head => &self.heads,
        }
    }

    fn remove_at(&self, table: &mut SlotTable, position: usize) -> IndexSlot {
        let taken = table.remove(position);
        self.count(taken.kind()).fetch_sub(1, Relaxed);
        taken
    }

    fn put(&self, table: &mut SlotTable, slot: IndexSlot) {
        self.count(slot.kind()).fetch_add(1, Relaxed);
        table.insert(slot);
    }

    /// The objects under `key`, in no order.
    pub(crate) fn find(&self, key: KeyHash) -> Vec<DiskObject> {
        let table = self.shard(key);
        let slots: Vec<IndexSlot> = table.positions(tag(key)).map(|it| table.slot(it)).collect();
        drop(table);
        let head_of = |full: &IndexSlot| {
            slots.iter().find(|it| it.kind() == RecordKind::Head && it.variant() == full.variant())
        };
        let fulls = slots.iter().filter(|slot| slot.kind() == RecordKind::Full);
        fulls.map(|full| DiskObject { full: *full, head: head_of(full).copied() }).collect()
    }

    /// The slot of `variant` with a body.
    pub(crate) fn full(&self, key: KeyHash, variant: u64) -> Option<IndexSlot> {
        self.of_variant(key, variant, RecordKind::Full)
    }

    /// The slot of `variant` with a renewed head.
    pub(crate) fn head(&self, key: KeyHash, variant: u64) -> Option<IndexSlot> {
        self.of_variant(key, variant, RecordKind::Head)
    }

    fn of_variant(&self, key: KeyHash, variant: u64, kind: RecordKind) -> Option<IndexSlot> {
        let table = self.shard(key);
        let mut slots = table.positions(tag(key)).map(|it| table.slot(it));
        slots.find(|it| it.kind() == kind && it.variant() == variant as u16)
    }

    /// The slot of the record at `place`.
    pub(crate) fn at(&self, key: KeyHash, place: RecordLocation) -> Option<IndexSlot> {
        let table = self.shard(key);
        table.positions(tag(key)).map(|it| table.slot(it)).find(|it| it.location() == place)
    }

    /// Puts in an object in place of the one of the same variant; gives back what it took out.
    pub(crate) fn commit(&self, key: KeyHash, slot: IndexSlot) -> Vec<IndexSlot> {
        let mut table = self.shard(key);
        if table.positions(slot.tag()).is_empty() {
            self.put(&mut table, slot);
            return Vec::new();
        }
        let mut gone = self.remove_variant(&mut table, slot.tag(), slot.variant());
        let fulls =
            table.positions(slot.tag()).filter(|it| table.slot(*it).kind() == RecordKind::Full);
        let fulls: Vec<IndexSlot> = fulls.map(|it| table.slot(it)).collect();
        if fulls.len() >= VARIANTS_MAX {
            let least = fulls.iter().find(|it| !it.is_hot()).unwrap_or(&fulls[0]);
            gone.extend(self.remove_variant(&mut table, slot.tag(), least.variant()));
        }
        self.put(&mut table, slot);
        gone
    }

    /// Puts in a renewed head beside the body at `body`; gives back the head whose place it takes.
    pub(crate) fn renew(
        &self,
        key: KeyHash,
        slot: IndexSlot,
        body: RecordLocation,
        until_s: u32,
    ) -> Result<Option<IndexSlot>, NoBody> {
        let mut table = self.shard(key);
        let of_variant = |table: &SlotTable, kind| {
            let mut positions = table.positions(slot.tag());
            positions.find(|it| {
                let there = table.slot(*it);
                there.kind() == kind && there.variant() == slot.variant()
            })
        };
        let full =
            of_variant(&table, RecordKind::Full).filter(|it| table.slot(*it).location() == body);
        table.slot_mut(full.ok_or(NoBody)?).set_until(until_s);
        let gone = of_variant(&table, RecordKind::Head).map(|it| self.remove_at(&mut table, it));
        self.put(&mut table, slot);
        Ok(gone)
    }

    /// Takes out the record at `place`, and with it the whole object.
    pub(crate) fn remove(&self, key: KeyHash, place: RecordLocation) -> Vec<IndexSlot> {
        let mut table = self.shard(key);
        let there =
            table.positions(tag(key)).map(|it| table.slot(it)).find(|it| it.location() == place);
        there.map_or_else(Vec::new, |it| self.remove_variant(&mut table, it.tag(), it.variant()))
    }

    /// Takes out everything under `key`.
    pub(crate) fn remove_key(&self, key: KeyHash) {
        let mut table = self.shard(key);
        while let Some(position) = table.positions(tag(key)).next() {
            self.remove_at(&mut table, position);
        }
    }

    fn remove_variant(&self, table: &mut SlotTable, tag: u64, variant: u16) -> Vec<IndexSlot> {
        let mut gone = Vec::new();
        while let Some(position) =
            table.positions(tag).find(|it| table.slot(*it).variant() == variant)
        {
            gone.push(self.remove_at(table, position));
        }
        gone
    }

    /// The record at `from` is now at `to`; false where it is no longer there.
    pub(crate) fn relocate(&self, key: KeyHash, from: RecordLocation, to: RecordLocation) -> bool {
        self.change(key, from, |slot| *slot = slot.moved(to))
    }

    /// Notes something about the record at `place`, if it is still there.
    pub(crate) fn mark(&self, key: KeyHash, place: RecordLocation, mark: RecordMark) {
        self.change(key, place, |slot| match mark {
            RecordMark::Hot => slot.mark_used(),
            RecordMark::Checked => slot.set_checked(),
        });
    }

    fn change(
        &self,
        key: KeyHash,
        place: RecordLocation,
        change: impl FnOnce(&mut IndexSlot),
    ) -> bool {
        let mut table = self.shard(key);
        let position = table.positions(tag(key)).find(|it| table.slot(*it).location() == place);
        position.map(|it| change(table.slot_mut(it))).is_some()
    }

    /// Takes out everything.
    pub(crate) fn clear(&self) {
        self.forget(|_| true);
    }

    /// Takes out every record of the segment with this place in the table.
    pub(crate) fn forget_segment(&self, segment: u32) {
        self.forget(|slot| slot.location().segment == segment);
    }

    fn forget(&self, is_forgotten: impl Fn(IndexSlot) -> bool) {
        for shard in &self.shards {
            let mut table = shard.lock().unwrap_or_else(PoisonError::into_inner);
            // From behind: what moves up into a gap was looked at before.
            for position in (0..table.len()).rev() {
                let slot = table.slot(position);
                if slot.is_used() && is_forgotten(slot) {
                    self.remove_at(&mut table, position);
                }
            }
        }
    }

    /// Shows every slot to `visit`, a shard at a time: some milliseconds for a million.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&mut IndexSlot)) {
        for shard in &self.shards {
            let mut table = shard.lock().unwrap_or_else(PoisonError::into_inner);
            table.iter_used().for_each(&mut visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyHash = KeyHash(0x1234_5678_9abc_def0_1234_5678);

    fn at(number: u64) -> RecordLocation {
        RecordLocation { segment: 1, at: number * 64 }
    }

    fn record(kind: RecordKind, variant: u64, number: u64) -> IndexSlot {
        IndexSlot::new(tag(KEY), variant, kind, at(number), 64)
    }

    fn full(variant: u64, number: u64) -> IndexSlot {
        record(RecordKind::Full, variant, number)
    }

    #[test]
    fn a_newer_answer_takes_the_place_of_the_old_one_and_its_head() {
        let index = DiskIndex::new();
        assert!(index.commit(KEY, full(1, 1)).is_empty());
        let head = record(RecordKind::Head, 1, 2);
        assert_eq!(index.renew(KEY, head, at(1), 9), Ok(None));
        assert_eq!(index.renew(KEY, head, at(7), 9), Err(NoBody), "the head of another body");
        assert!(index.find(KEY)[0].head.is_some());
        assert_eq!(index.commit(KEY, full(1, 3)).len(), 2);
        let found = index.find(KEY);
        assert_eq!((found.len(), found[0].full.location(), found[0].head), (1, at(3), None));
        assert_eq!((index.objects(), index.heads()), (1, 0));
    }

    #[test]
    fn at_the_cap_a_variant_that_was_not_hit_makes_room() {
        let index = DiskIndex::new();
        for variant in 0..VARIANTS_MAX as u64 {
            index.commit(KEY, full(variant, variant));
            if variant != 5 {
                index.mark(KEY, at(variant), RecordMark::Hot);
            }
        }
        let gone = index.commit(KEY, full(1000, 1000));
        assert_eq!(gone.iter().map(|it| it.location()).collect::<Vec<_>>(), [at(5)]);
        assert_eq!(index.find(KEY).len(), VARIANTS_MAX);
        index.remove(KEY, at(7));
        index.forget_segment(1);
        assert_eq!((index.find(KEY).len(), index.objects()), (0, 0));
    }
}
