//! Figures of the store, for the dashboard and for metrics.
//!
//! Counters only ever grow; the rest is how things stand. Read by the admin API.

use super::Store;
use crate::budget::ByteClass;
use crate::memory::MemoryStock;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// Counters since the start.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])+ pub $name: u64,)+
        }

        /// The same, being counted.
        #[derive(Default)]
        pub(super) struct Counts {
            $(pub(super) $name: AtomicU64,)+
        }

        impl Counts {
            fn read(&self) -> Counters {
                Counters { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }
    };
}

counters! {
    /// Requests answered from what was fresh.
    hits,
    /// Requests answered from what was stale, as somebody allowed.
    stale,
    /// Requests that got what another client's fetch brought.
    collapsed,
    /// Fetches that others could join.
    leads,
    /// Fetches for one client: nobody could join, or the key's answers cannot be shared.
    alone,
    /// Requests that are none of a cache's business, or for URLs that are never kept.
    passed,
    /// Requests refused because the origin was not to be asked (504).
    refused,
    /// Answers of which the origin said that what is stored is right.
    confirmed,
    /// Bodies that came whole and are stored.
    stored,
    /// Answers that were not stored.
    not_stored,
    /// Fetches that broke off.
    broken,
    /// Stored responses that a purge or an unsafe request concerned.
    purged,
}

/// Holds how the store stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// Counters since the start.
    pub counters: Counters,
    /// Stock in memory.
    pub memory: MemoryStock,
    /// Bodies on their way.
    pub fills: u64,
    /// The limit of its memory, in bytes.
    pub limit_bytes: u64,
    /// Bytes on their way to readers.
    pub window_bytes: u64,
    /// Bytes of heads under way and of tables.
    pub head_bytes: u64,
    /// Bytes of what is kept.
    pub cache_bytes: u64,
    /// The most that was held at once, in bytes.
    pub peak_bytes: u64,
    /// Figures of the disk tier, where there is one.
    pub disk: Option<disk_store::DiskFigures>,
}

impl Store {
    /// Returns how it stands.
    pub fn stats(&self) -> StoreFigures {
        StoreFigures {
            counters: self.counts.read(),
            memory: self.tier.usage(),
            fills: self.budget.fills(),
            limit_bytes: self.budget.limit(),
            window_bytes: self.budget.held(ByteClass::Windows),
            head_bytes: self.budget.held(ByteClass::Heads),
            cache_bytes: self.budget.held(ByteClass::Cache),
            peak_bytes: self.budget.peak(),
            disk: self.disk_tier.as_ref().map(|disk_tier| disk_tier.disk.stats()),
        }
    }

    pub(super) fn count(&self, counter: impl Fn(&Counts) -> &AtomicU64) {
        self.count_many(1, counter);
    }

    pub(super) fn count_many(&self, many: u64, counter: impl Fn(&Counts) -> &AtomicU64) {
        counter(&self.counts).fetch_add(many, Ordering::Relaxed);
    }
}
