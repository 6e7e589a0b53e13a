//! First in, first out, with places that can be left from the middle: lists through a shard's
//! nodes.
//!
//! It owns no node. Called by the shard.

use super::node::{EntryNode, NONE, QueueLinks};
use ::slab::Slab;

/// A queue of nodes.
pub(super) struct NodeQueue {
    newest: u32,
    oldest: u32,
    /// Bytes of its nodes.
    pub(super) bytes: u64,
    pub(super) len: usize,
}

impl NodeQueue {
    pub(super) const fn new() -> Self {
        Self { newest: NONE, oldest: NONE, bytes: 0, len: 0 }
    }

    /// The node that came first.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Puts a node at the end where the newest are.
    pub(super) fn push(&mut self, nodes: &mut Slab<EntryNode>, id: u32) {
        nodes[id as usize].links = QueueLinks { newer: NONE, older: self.newest };
        match self.newest {
            NONE => self.oldest = id,
            newest => nodes[newest as usize].links.newer = id,
        }
        self.newest = id;
        self.bytes += nodes[id as usize].cost;
        self.len += 1;
    }

    /// Takes a node out, wherever it stands.
    pub(super) fn take(&mut self, nodes: &mut Slab<EntryNode>, id: u32) {
        let QueueLinks { newer, older } =
            std::mem::replace(&mut nodes[id as usize].links, QueueLinks::ALONE);
        match newer {
            NONE => self.newest = older,
            newer => nodes[newer as usize].links.older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => nodes[older as usize].links.newer = newer,
        }
        self.bytes -= nodes[id as usize].cost;
        self.len -= 1;
    }
}
