//! State that callers and engines all see: caches, failures, the count of those who wait, and what
//! is known of upstreams.

use crate::cache::caches::AnswerCaches;
use crate::engine::failure_memory::FailureMemory;
use crate::local_overrides::LocalOverrides;
use crate::query_source::FairCap;
use crate::second_level::SecondLevel;
use crate::settings::ResolverSettings;
use crate::upstream::record::UpstreamTable;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Holds what callers and engines all see.
pub(crate) struct ResolverShared {
    pub(crate) caches: AnswerCaches,
    pub(crate) failures: FailureMemory,
    pub(crate) second_level: SecondLevel,
    pub(crate) waiting: FairCap,
    /// Ports that are open for one question each, of all engines together.
    pub(crate) single_ports: Arc<AtomicUsize>,
    pub(crate) upstreams: UpstreamTable,
    /// Read once for each name that is dialled, and written on reloads.
    local_overrides: RwLock<Option<Arc<dyn LocalOverrides>>>,
    /// Digest; 0 without one.
    local_overrides_digest: AtomicU64,
}

impl ResolverShared {
    /// Empty caches, and room for `waiting_max` callers.
    pub(crate) fn new(settings: &ResolverSettings, waiting_max: usize) -> Self {
        let second_level = SecondLevel::default();
        second_level.configure(settings);
        Self {
            second_level,
            caches: AnswerCaches::new(&settings.caches),
            failures: FailureMemory::default(),
            waiting: FairCap::new(waiting_max),
            single_ports: Arc::default(),
            upstreams: UpstreamTable::default(),
            local_overrides: RwLock::default(),
            local_overrides_digest: AtomicU64::new(0),
        }
    }

    /// Has `names` asked first wherever a name is dialled.
    pub(crate) fn answer_from(&self, names: Option<Arc<dyn LocalOverrides>>) {
        let digest = names.as_ref().map_or(0, |names| names.digest());
        self.local_overrides_digest.store(digest, Ordering::Relaxed);
        *self.local_overrides.write().unwrap_or_else(PoisonError::into_inner) = names;
    }

    pub(crate) fn own_digest(&self) -> u64 {
        self.local_overrides_digest.load(Ordering::Relaxed)
    }

    pub(crate) fn own_names(&self) -> Option<Arc<dyn LocalOverrides>> {
        self.local_overrides.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
