//! The servers that one request has tried.
//!
//! By tag, not by place: a pool may change while a request is under way. Called by `pools` and
//! `sending`.

/// Servers that one request may try, whatever the reason: a client should not wait for more.
pub(crate) const TRIES_MAX: usize = 8;

/// Tags of servers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TriedServers {
    tags: [u64; TRIES_MAX],
    count: usize,
}

impl TriedServers {
    pub(super) fn has(&self, tag: u64) -> bool {
        self.tags[..self.count].contains(&tag)
    }

    pub(super) fn add(&mut self, tag: u64) {
        if let Some(place) = self.tags.get_mut(self.count) {
            *place = tag;
            self.count += 1;
        }
    }

    /// Returns how many there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }
}
