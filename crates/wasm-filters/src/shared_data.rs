//! Shared data of a filter: values under keys that its instances on all cores see.
//!
//! It has a fixed capacity; what was not used for long makes room. It outlives a reload that keeps
//! the filter's file, and no restart.

use quick_cache::Weighter;
use quick_cache::unsync::Cache;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of one filter's data.
const BYTES_MAX: usize = 8 * 1024 * 1024;
pub(crate) const KEY_BYTES_MAX: u32 = 256;
pub(crate) const VALUE_BYTES_MAX: u32 = 64 * 1024;
/// Bytes of an entry beside its key and value.
const ENTRY_BYTES: usize = 96;

/// The data of one filter.
pub(crate) struct SharedData(Mutex<SharedEntries>);

struct SharedEntries {
    cache: Cache<Box<[u8]>, SharedValue, EntryWeight>,
    /// The number of the next change; never zero, which stands for any.
    next: u32,
}

/// A value, and the number of the change that set it.
#[derive(Clone)]
pub(crate) struct SharedValue {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) number: u32,
}

#[derive(Clone)]
struct EntryWeight;

impl Weighter<Box<[u8]>, SharedValue> for EntryWeight {
    fn weight(&self, key: &Box<[u8]>, value: &SharedValue) -> u64 {
        (key.len() + value.bytes.len() + ENTRY_BYTES) as u64
    }
}

impl Default for SharedData {
    fn default() -> Self {
        let cache = Cache::with_weighter(BYTES_MAX / 1024, BYTES_MAX as u64, EntryWeight);
        Self(Mutex::new(SharedEntries { cache, next: 1 }))
    }
}

impl SharedData {
    fn entries(&self) -> MutexGuard<'_, SharedEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<SharedValue> {
        self.entries().cache.get(key).cloned()
    }

    /// Sets a value, if the one that is there was set by the change `number`, or that is zero; true
    /// if it did.
    pub(crate) fn set(&self, key: &[u8], bytes: &[u8], number: u32) -> bool {
        let mut entries = self.entries();
        let found = entries.cache.get(key).map(|value| value.number);
        if number != 0 && found != Some(number) {
            return false;
        }
        let value = SharedValue { bytes: bytes.into(), number: entries.next };
        entries.next = entries.next.checked_add(1).unwrap_or(1);
        entries.cache.insert(key.into(), value);
        true
    }
}
