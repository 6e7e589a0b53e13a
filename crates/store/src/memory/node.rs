//! A node of a shard: an entry, and its neighbours in its queue and among its variants.
//!
//! Plain values; the shard owns the nodes, and the queue links them.

use super::entry::StoredEntry;
use std::sync::Arc;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// A node's neighbours in its queue.
#[derive(Clone, Copy)]
pub(super) struct QueueLinks {
    pub(super) newer: u32,
    pub(super) older: u32,
}

impl QueueLinks {
    pub(super) const ALONE: Self = Self { newer: NONE, older: NONE };
}

/// An entry in its queue.
pub(super) struct EntryNode {
    pub(super) entry: Arc<StoredEntry>,
    pub(super) cost: u64,
    pub(super) links: QueueLinks,
    /// The next variant under the same key, an older one.
    pub(super) sibling: u32,
    pub(super) queue: NodeHome,
}

/// Queue that a node is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeHome {
    Small,
    Main,
}
