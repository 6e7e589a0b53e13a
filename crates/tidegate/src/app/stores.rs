//! What the doors have stored of what they fetched: figures, and taking it back.
//!
//! It stores nothing: each door has a cache of its own. Called by the admin's control.

use super::RunningApp;
use admin::{DnsCachePurge, WhyQuestion};
use admin_api::{StoreDisk, StoreInfo, TakeBackRequest, TakenBack};
use door_gateway::GatewayDoor;
use door_proxy::{HttpCache, ProxyDoor, PurgeStrength, PurgeTarget};
use resolver::{FlushIn, FlushScope};
use std::fmt;
use std::sync::{Arc, PoisonError};
use vocab::Door;

/// The caches of the doors that run.
pub(super) fn caches(app: &RunningApp) -> Vec<(&'static str, Arc<HttpCache>)> {
    let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
    let proxy = running.doors.get::<ProxyDoor>().and_then(|door| door.cache());
    let gateway = running.doors.get::<GatewayDoor>().and_then(|door| door.cache());
    let named = [("proxy", proxy), ("gateway", gateway)];
    named.into_iter().filter_map(|(door, cache)| Some((door, cache?))).collect()
}

/// Returns how each store stands.
pub(super) fn stores(app: &RunningApp) -> Vec<StoreInfo> {
    caches(app).into_iter().map(|(door, cache)| store_info(door, &cache)).collect()
}

fn store_info(door: &str, cache: &HttpCache) -> StoreInfo {
    let figures = cache.stats();
    let counters = figures.counters;
    StoreInfo {
        door: door.to_owned(),
        entries: figures.memory.entries,
        bytes: figures.cache_bytes,
        bytes_max: figures.limit_bytes,
        bytes_peak: figures.peak_bytes,
        hits: counters.hits,
        stale: counters.stale,
        collapsed: counters.collapsed,
        fetched: counters.leads + counters.alone,
        passed: counters.passed,
        confirmed: counters.confirmed,
        stored: counters.stored,
        not_stored: counters.not_stored,
        broken: counters.broken,
        purged: counters.purged,
        disk: figures.disk.map(|disk| StoreDisk {
            entries: disk.objects,
            bytes: disk.bytes,
            damaged: disk.corrupted,
            trouble: disk.failure.map(|why| why.to_string()),
        }),
    }
}

/// Returns what the door of a question has stored of its URL.
pub(super) fn explain(app: &RunningApp, question: &WhyQuestion) -> Vec<String> {
    let Some(url) = &question.url else { return Vec::new() };
    let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = match question.door {
        Door::Proxy => running.doors.get::<ProxyDoor>().and_then(|door| door.cache_for(url)),
        Door::Gateway => running.doors.get::<GatewayDoor>().and_then(|door| door.cache()),
        Door::Dns | Door::Pixel | Door::Web => None,
    };
    drop(running);
    cache.map(|cache| cache.explain(url)).unwrap_or_default()
}

/// A purge that does not hold.
#[derive(Debug)]
pub(super) enum PurgeRefusal {
    /// No door that is meant has a store.
    NoStore,
    /// These stores have it no more, and their disks could not note that.
    NotNoted(Vec<String>),
}

impl fmt::Display for PurgeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore => f.write_str("no door has such a store"),
            Self::NotNoted(stores) => f.write_str(&stores.join("; ")),
        }
    }
}

impl std::error::Error for PurgeRefusal {}

impl RunningApp {
    /// Forgets answers to DNS questions, in every cache; says how many.
    pub(super) fn forget_answers(&self, what: &DnsCachePurge) -> u64 {
        let what = match what {
            DnsCachePurge::All => FlushScope::All,
            DnsCachePurge::Name(name) => FlushScope::Name(name.clone()),
            DnsCachePurge::Suffix(name) => FlushScope::Subtree(name.clone()),
        };
        self.resolver.flush(FlushIn::Every, &what) as u64
    }
}

/// Takes back what is stored, in every store that is meant.
pub(super) fn purge(app: &RunningApp, what: &TakeBackRequest) -> Result<TakenBack, PurgeRefusal> {
    let value = || what.value.clone().unwrap_or_default();
    let which = match what.what.as_str() {
        "url" => PurgeTarget::Url(value()),
        "prefix" => PurgeTarget::Prefix(value()),
        "host" => PurgeTarget::Host(value()),
        "tag" => PurgeTarget::Tag(value()),
        _ => PurgeTarget::Everything,
    };
    let strength = if what.soft { PurgeStrength::Soft } else { PurgeStrength::Hard };
    let meant = |door: &str| what.door.as_deref().is_none_or(|only| only == door);
    let caches: Vec<_> = caches(app).into_iter().filter(|(door, _)| meant(door)).collect();
    if caches.is_empty() {
        return Err(PurgeRefusal::NoStore);
    }
    let mut sum = TakenBack::default();
    let mut complaints = Vec::new();
    for (door, cache) in caches {
        match cache.purge(&which, strength) {
            Ok(purged) => {
                sum.entries += purged.entries;
                sum.fetches += purged.fetches;
            }
            Err(why) => complaints.push(format!("{door}: {why}")),
        }
    }
    if complaints.is_empty() { Ok(sum) } else { Err(PurgeRefusal::NotNoted(complaints)) }
}
