//! One shard of the memory tier: S3-FIFO by bytes, with several variants under one key.
//!
//! What comes waits in a small queue, and what is asked for again there moves to the main one; what
//! leaves the small one unasked is remembered in the ghost, so that it goes straight to the main
//! queue when it comes back. A scan passes through a tenth of the room and harms nothing else. It
//! knows no account and no rule of HTTP. Called by the tier, which holds its lock.

use super::entry::StoredEntry;
use super::node::{EntryNode, NONE, NodeHome, QueueLinks};
use super::queue::NodeQueue;
use crate::recent::RecentKeys;
use ::slab::Slab;
use disk_store::{CacheKey, KeyHash};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Variants under one key. At the cap the one that came first makes room: a client that varies a
/// field at will must not fill the tier with copies of one page.
pub const VARIANTS_MAX: usize = 16;
/// The small queue's share: one of so many parts (S3-FIFO takes a tenth).
const SMALL_PART: u64 = 10;
/// An entry larger than one of so many parts of a shard is kept only when it was asked for twice.
const LARGE_PART: u64 = 8;
/// An entry larger than one of so many parts is not kept in memory at all.
const TOO_LARGE_PART: u64 = 2;

/// Why an entry is not kept in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKept {
    /// Would take more than half of a shard.
    TooLarge,
    /// Would take more than an eighth of a shard, and was asked for once.
    LargeAndNew,
    /// Came from the disk, and a newer one is in memory.
    Newer,
}

/// Tells whether more than one client asked for what comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntrySeen {
    /// One did.
    Once,
    /// Several did.
    Often,
    /// Was stored before, and comes back from the disk: whatever is here is newer.
    Before,
}

/// See the module.
pub(super) struct MemoryShard {
    nodes: Slab<EntryNode>,
    /// The newest variant of each key. Hashes are secret and even: they are used as they are.
    keys: HashMap<u128, u32, BuildHasherDefault<IdentityHasher>>,
    small: NodeQueue,
    main: NodeQueue,
    /// Keys that left the small queue unasked, stamped by `departures`.
    ghost: RecentKeys,
    evictions: u32,
}

impl MemoryShard {
    pub(super) fn new(ghosts: usize) -> Self {
        Self {
            nodes: Slab::new(),
            keys: HashMap::default(),
            small: NodeQueue::new(),
            main: NodeQueue::new(),
            ghost: RecentKeys::new(ghosts),
            evictions: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.small.bytes + self.main.bytes
    }

    /// All under a hash, the newest first.
    pub(super) fn under(&self, hash: KeyHash) -> impl Iterator<Item = &Arc<StoredEntry>> {
        self.chain(hash.0).map(|id| &self.nodes[id as usize].entry)
    }

    /// The variants of a key, the newest first. Two URLs with one hash share a chain.
    pub(super) fn variants<'s>(
        &'s self,
        key: &'s CacheKey,
    ) -> impl Iterator<Item = &'s Arc<StoredEntry>> {
        self.under(key.hash()).filter(|entry| entry.key().url() == key.url())
    }

    /// Keeps an entry in place of the same variant. `limit`: what the shard may hold. What must go
    /// for it is put into `gone`, so that it is dropped when the lock is free.
    pub(super) fn insert(
        &mut self,
        entry: Arc<StoredEntry>,
        seen: EntrySeen,
        limit: u64,
        gone: &mut Vec<Arc<StoredEntry>>,
    ) -> Result<(), NotKept> {
        let (hash, cost) = (entry.key().hash().0, entry.cost());
        if seen == EntrySeen::Before && self.find_variant(&entry).is_some() {
            return Err(NotKept::Newer);
        }
        self.evict_variant(&entry, gone);
        if cost > limit / TOO_LARGE_PART {
            return Err(NotKept::TooLarge);
        }
        // As far back as the main queue is long (S3-FIFO).
        let span = self.main.len.max(self.small.len) as u32;
        let was_here = self.ghost.remove(hash, self.evictions, span);
        if cost > limit / LARGE_PART && seen == EntrySeen::Once && !was_here {
            self.note_evicted(hash);
            return Err(NotKept::LargeAndNew);
        }
        self.shrink(limit - cost, limit, gone);
        let home = if was_here { NodeHome::Main } else { NodeHome::Small };
        let sibling = self.keys.get(&hash).copied().unwrap_or(NONE);
        let id = self.nodes.insert(EntryNode {
            entry,
            cost,
            links: QueueLinks::ALONE,
            sibling,
            queue: home,
        }) as u32;
        self.keys.insert(hash, id);
        match home {
            NodeHome::Small => self.small.push(&mut self.nodes, id),
            NodeHome::Main => self.main.push(&mut self.nodes, id),
        }
        Ok(())
    }

    /// Puts an entry in the place of another, if that is still here. The bodies may be the same.
    pub(super) fn replace(
        &mut self,
        old: &Arc<StoredEntry>,
        new: Arc<StoredEntry>,
    ) -> Option<Arc<StoredEntry>> {
        let id = self.chain(old.key().hash().0).find(|id| self.is(*id, old))?;
        Some(self.exchange(id, new))
    }

    /// Takes an entry out, if it is still here.
    pub(super) fn remove(&mut self, old: &Arc<StoredEntry>) -> Option<Arc<StoredEntry>> {
        let id = self.chain(old.key().hash().0).find(|id| self.is(*id, old))?;
        Some(self.remove_node(id))
    }

    /// Puts the entries that `wanted` picks among so many places from `from` on into `found`.
    /// Returns where to go on.
    pub(super) fn select(
        &self,
        from: usize,
        count: usize,
        wanted: impl Fn(&StoredEntry) -> bool,
        found: &mut Vec<Arc<StoredEntry>>,
    ) -> Option<usize> {
        let end = from.saturating_add(count).min(self.nodes.capacity());
        let entries = (from..end).filter_map(|id| Some(&self.nodes.get(id)?.entry));
        found.extend(entries.filter(|entry| wanted(entry)).cloned());
        (end < self.nodes.capacity()).then_some(end)
    }

    /// Evicts until at most `target` bytes are left. `limit`: what the shard may hold.
    pub(super) fn shrink(&mut self, target: u64, limit: u64, gone: &mut Vec<Arc<StoredEntry>>) {
        while self.bytes() > target {
            let from_small = self.small.bytes > limit / SMALL_PART || self.main.len == 0;
            let evicted = if from_small { self.evict_small() } else { self.evict_main() };
            gone.extend(evicted);
        }
    }

    fn evict_small(&mut self) -> Option<Arc<StoredEntry>> {
        let id = self.small.oldest()?;
        let entry = &self.nodes[id as usize].entry;
        if entry.hits() > 0 {
            entry.set_hits(0);
            self.small.take(&mut self.nodes, id);
            self.nodes[id as usize].queue = NodeHome::Main;
            self.main.push(&mut self.nodes, id);
            return None;
        }
        let entry = self.remove_node(id);
        self.note_evicted(entry.key().hash().0);
        Some(entry)
    }

    fn note_evicted(&mut self, hash: u128) {
        self.evictions = self.evictions.wrapping_add(1);
        self.ghost.note(hash, self.evictions);
    }

    fn evict_main(&mut self) -> Option<Arc<StoredEntry>> {
        let id = self.main.oldest()?;
        let entry = &self.nodes[id as usize].entry;
        match entry.hits() {
            0 => Some(self.remove_node(id)),
            hits => {
                // It comes round at most as often as it has hits, so this ends.
                entry.set_hits(hits - 1);
                self.main.take(&mut self.nodes, id);
                self.main.push(&mut self.nodes, id);
                None
            }
        }
    }

    /// Makes room for a variant: its like goes, and the oldest one at the cap.
    fn evict_variant(&mut self, entry: &Arc<StoredEntry>, gone: &mut Vec<Arc<StoredEntry>>) {
        let oldest = || self.chain(entry.key().hash().0).nth(VARIANTS_MAX - 1);
        if let Some(id) = self.find_variant(entry).or_else(oldest) {
            gone.push(self.remove_node(id));
        }
    }

    /// The same variant, if it is here.
    fn find_variant(&self, entry: &StoredEntry) -> Option<u32> {
        self.chain(entry.key().hash().0).find(|id| {
            let old = &self.nodes[*id as usize].entry;
            old.key() == entry.key() && old.head().selecting == entry.head().selecting
        })
    }

    fn is(&self, id: u32, entry: &Arc<StoredEntry>) -> bool {
        Arc::ptr_eq(&self.nodes[id as usize].entry, entry)
    }

    fn chain(&self, hash: u128) -> impl Iterator<Item = u32> + '_ {
        let first = self.keys.get(&hash).copied();
        std::iter::successors(first, |id| {
            let sibling = self.nodes[*id as usize].sibling;
            (sibling != NONE).then_some(sibling)
        })
    }

    fn exchange(&mut self, id: u32, new: Arc<StoredEntry>) -> Arc<StoredEntry> {
        let Self { nodes, small, main, .. } = self;
        let node = &mut nodes[id as usize];
        new.set_hits(node.entry.hits());
        let queue = match node.queue {
            NodeHome::Small => small,
            NodeHome::Main => main,
        };
        queue.bytes -= node.cost;
        node.cost = new.cost();
        queue.bytes += node.cost;
        std::mem::replace(&mut node.entry, new)
    }

    fn remove_node(&mut self, id: u32) -> Arc<StoredEntry> {
        match self.nodes[id as usize].queue {
            NodeHome::Small => self.small.take(&mut self.nodes, id),
            NodeHome::Main => self.main.take(&mut self.nodes, id),
        }
        let EntryNode { entry, sibling, .. } = self.nodes.remove(id as usize);
        let hash = entry.key().hash().0;
        let before = self.chain_before(hash, id);
        match before {
            Some(before) => self.nodes[before as usize].sibling = sibling,
            None if sibling == NONE => {
                self.keys.remove(&hash);
            }
            None => {
                self.keys.insert(hash, sibling);
            }
        }
        entry
    }

    /// Returns who stands before a node in its chain. The node itself may be gone already.
    fn chain_before(&self, hash: u128, id: u32) -> Option<u32> {
        let mut before = None;
        let mut next = self.keys.get(&hash).copied()?;
        while next != id {
            before = Some(next);
            next = self.nodes.get(next as usize)?.sibling;
        }
        before
    }
}

/// Takes the low half of a hash as it is.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only for keys of another type, of which there are none.
        self.0 = bytes.iter().fold(self.0, |sum, byte| sum.rotate_left(8) ^ u64::from(*byte));
    }
}
