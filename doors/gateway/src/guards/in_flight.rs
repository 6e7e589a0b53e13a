//! A limit on requests under way for each key: refused at the cap without waiting.
//!
//! Who is let in holds a permit until the last byte of the answer; a key is kept only while one of
//! its permits is out. Called by `guards`.

use super::guard_answer::GuardAnswer;
use crate::limit_key::{BadLimitKey, LimitKey};
use crate::settings::RequestsSettings;
use http::header::HeaderMap;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Keys with requests under way; a newcomer beyond is refused.
const KEYS_MAX: usize = 65_536;

/// A limit on requests under way.
pub(crate) struct InFlight {
    max: u32,
    key: LimitKey,
    table: Arc<InFlightTable>,
    refused: AtomicU64,
}

#[derive(Default)]
struct InFlightTable {
    hashes: RandomState,
    counts: Mutex<HashMap<u64, u32>>,
}

/// A place of a request under way, given back when dropped.
pub(crate) struct InFlightPermit {
    table: Arc<InFlightTable>,
    key: u64,
}

impl InFlight {
    /// A limit that nobody touches yet, or that those who came in `before` still do.
    pub(super) fn new(
        settings: &RequestsSettings,
        before: Option<&Self>,
    ) -> Result<Self, BadLimitKey> {
        let key = LimitKey::parse(&settings.key)?;
        let before = before.filter(|before| before.key == key);
        let table = before.map_or_else(Arc::default, |before| Arc::clone(&before.table));
        Ok(Self { max: settings.max, key, table, refused: AtomicU64::new(0) })
    }

    /// Lets a request in, or refuses.
    pub(super) fn acquire(
        &self,
        client: IpAddr,
        headers: &HeaderMap,
    ) -> Result<InFlightPermit, Box<GuardAnswer>> {
        let mut hasher = self.table.hashes.build_hasher();
        self.key.feed(client, headers, &mut hasher);
        let key = hasher.finish();
        let mut counts = self.table.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.get(&key).copied().unwrap_or(0);
        if count >= self.max || count == 0 && counts.len() >= KEYS_MAX {
            self.refused.fetch_add(1, Relaxed);
            return Err(Box::new(GuardAnswer::busy("Too many requests at once.\n")));
        }
        counts.insert(key, count + 1);
        Ok(InFlightPermit { table: Arc::clone(&self.table), key })
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let mut counts = self.table.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_request_is_over() {
        let settings = RequestsSettings { max: 2, key: "client".into() };
        let limit = InFlight::new(&settings, None).unwrap();
        let enter =
            |limit: &InFlight, last| limit.acquire([10, 0, 0, last].into(), &HeaderMap::new());
        let held = (enter(&limit, 1).ok().unwrap(), enter(&limit, 1).ok().unwrap());
        let refused = enter(&limit, 1).err().unwrap().response;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"] == "1"),
            (503, true)
        );
        assert!(enter(&limit, 2).is_ok());
        // Who came in before a reload still counts after it.
        let fresh = InFlight::new(&settings, Some(&limit)).unwrap();
        assert!(enter(&fresh, 1).is_err());
        drop(held.0);
        assert!(enter(&fresh, 1).is_ok());
        drop(held.1);
        assert!(limit.table.counts.lock().unwrap().is_empty());
    }
}
