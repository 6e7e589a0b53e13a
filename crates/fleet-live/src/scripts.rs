//! Scripts that the server runs, each in one step for all edges.
//!
//! They use no library but `string` and `math` and take the time from the server, so that they run
//! alike on Redis 7, Valkey and Dragonfly and no edge's clock counts. Called by the session.

use redis::Script;

/// Most entries (pauses, allows, blocks) that the server holds, ended ones included.
pub(crate) const ENTRIES_MAX: usize = 4096;
/// Purges that the server keeps for edges that were away; it keeps some more.
pub(crate) const PURGES_KEPT: usize = 10_000;
/// Time after its last word for which an edge counts as seen, in milliseconds.
pub(crate) const SEEN_MS: u64 = 10_000;

/// All of them.
pub(crate) struct ServerScripts {
    pub(crate) page_entries: Script,
    pub(crate) put_entry: Script,
    pub(crate) drop_entry: Script,
    pub(crate) add_purge: Script,
    pub(crate) beat: Script,
    pub(crate) lease: Script,
    pub(crate) turn_tickets: Script,
    pub(crate) put_reply: Script,
    pub(crate) take_replies: Script,
}

impl ServerScripts {
    pub(crate) fn new() -> Self {
        Self {
            page_entries: Script::new(include_str!("../scripts/page_entries.lua")),
            put_entry: Script::new(include_str!("../scripts/put_entry.lua")),
            drop_entry: Script::new(include_str!("../scripts/drop_entry.lua")),
            add_purge: Script::new(include_str!("../scripts/add_purge.lua")),
            beat: Script::new(include_str!("../scripts/beat.lua")),
            lease: Script::new(include_str!("../scripts/lease.lua")),
            turn_tickets: Script::new(include_str!("../scripts/turn_tickets.lua")),
            put_reply: Script::new(include_str!("../scripts/put_reply.lua")),
            take_replies: Script::new(include_str!("../scripts/take_replies.lua")),
        }
    }
}
