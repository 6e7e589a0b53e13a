//! Listing of what the doors have stored of what they fetched, a page at a time.
//!
//! It stores nothing: each door has a cache of its own. Called by the admin's control.

use super::RunningApp;
use super::stores::caches;
use admin::{CacheIndexQuery, CacheIndexScope};
use admin_api::{CachePage, CachedResponse, CachedSite, CachedUrl};
use door_proxy::{
    HttpCache, IndexExtent, IndexPage, IndexQuery, IndexRows, IndexScope, ProxyDoor, SiteStock,
    StoredVariant,
};
use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

/// Longest walk through one store. Some hundred thousand responses that nobody has read lately are
/// read from a disk in it.
const WALK_SPAN_MAX: Duration = Duration::from_secs(15);

/// Reason why nothing is listed.
#[derive(Debug)]
pub(super) enum IndexRefusal {
    /// No door that is meant has a store.
    NoStore,
    /// The store of this door is being listed for somebody else.
    UnderWay(&'static str),
}

impl fmt::Display for IndexRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStore => f.write_str("no door has such a store"),
            Self::UnderWay(door) => {
                write!(f, "{door}: what is stored is being listed for somebody else")
            }
        }
    }
}

impl std::error::Error for IndexRefusal {}

/// Returns a page for every store that is meant.
pub(super) fn pages(
    app: &RunningApp,
    wanted: &CacheIndexQuery,
) -> Result<Vec<CachePage>, IndexRefusal> {
    let query = IndexQuery {
        scope: match &wanted.scope {
            CacheIndexScope::Sites => IndexScope::Sites,
            CacheIndexScope::Site(host) => IndexScope::Site(host.clone()),
            CacheIndexScope::Prefix(prefix) => IndexScope::Prefix(prefix.clone()),
        },
        after: wanted.after.clone(),
        limit: wanted.limit,
        span_max: WALK_SPAN_MAX,
    };
    let meant = |door: &str| wanted.door.as_deref().is_none_or(|only| only == door);
    let caches: Vec<_> = caches(app).into_iter().filter(|(door, _)| meant(door)).collect();
    if caches.is_empty() {
        return Err(IndexRefusal::NoStore);
    }
    caches.iter().map(|(door, cache)| page_of(app, door, cache, &query)).collect()
}

fn page_of(
    app: &RunningApp,
    door: &'static str,
    cache: &HttpCache,
    query: &IndexQuery,
) -> Result<CachePage, IndexRefusal> {
    let proxy = (door == "proxy").then(|| {
        let running = app.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.doors.get::<ProxyDoor>()
    });
    let proxy = proxy.flatten();
    // The proxy has other lifetimes for some URLs.
    let rules_of = |url: &str| {
        let special = proxy.as_ref().and_then(|door| door.cache_for(url));
        special.map_or_else(|| cache.rules().clone(), |cache| cache.rules().clone())
    };
    let IndexPage { rows, next, extent } =
        cache.stored_index(query, &rules_of).map_err(|_| IndexRefusal::UnderWay(door))?;
    let page = CachePage {
        door: door.into(),
        next_after: next.map(Into::into),
        complete: extent == IndexExtent::Whole,
        ..CachePage::default()
    };
    Ok(match rows {
        IndexRows::Sites(sites) => {
            let site = |(site, stock): (Box<str>, SiteStock)| CachedSite {
                site: site.into(),
                memory_objects: stock.memory_objects,
                memory_bytes: stock.memory_bytes,
                disk_objects: stock.disk_objects,
                disk_bytes: stock.disk_bytes,
            };
            CachePage { sites: sites.into_iter().map(site).collect(), ..page }
        }
        IndexRows::Urls(urls) => {
            let url = |(url, variants): (Box<str>, Vec<StoredVariant>)| CachedUrl {
                url: url.into(),
                responses: variants.iter().map(response).collect(),
            };
            CachePage { urls: urls.into_iter().map(url).collect(), ..page }
        }
    })
}

fn response(variant: &StoredVariant) -> CachedResponse {
    let freshness = variant.standing.freshness;
    CachedResponse {
        status: variant.standing.status.as_u16(),
        memory_bytes: variant.memory_bytes,
        front_bytes: variant.front_bytes,
        disk_bytes: variant.disk_bytes,
        age_s: freshness.age_secs.into(),
        fresh_s: freshness.ttl_secs,
    }
}
