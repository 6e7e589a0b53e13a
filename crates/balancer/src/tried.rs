//! The servers that one request has tried.
//!
//! By tag, not by place: a pool may change while a request is under way. Called by `pool` and by
//! the request that sends.

/// Servers that one request may try, whatever the reason: a client should not wait for more.
pub const TRIES_MAX: usize = 8;

/// Tags of servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct TriedServers {
    tags: [u64; TRIES_MAX],
    count: usize,
}

impl TriedServers {
    pub(crate) fn contains(&self, tag: u64) -> bool {
        self.tags[..self.count].contains(&tag)
    }

    pub(crate) fn add(&mut self, tag: u64) {
        if let Some(place) = self.tags.get_mut(self.count) {
            *place = tag;
            self.count += 1;
        }
    }

    /// Returns how many there are.
    pub const fn count(&self) -> usize {
        self.count
    }
}
