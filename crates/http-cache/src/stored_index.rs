//! Index of what is stored: sites with counts and bytes, or the URLs of one, a page at a time.
//!
//! A page is made by one walk through the store that keeps the first so many names behind the one
//! where the page begins, so a store of any size costs the memory of a page. A walk that takes too
//! long is ended, and its page says so. Called through the doors by the admin API, on a thread that
//! may wait.

use crate::http_cache::HttpCache;
use crate::purge::canonical;
use http_freshness::CachingRules;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;
use store::{ResponseStanding, StoredPlace, WalkUnderWay, WalkedResponse, host_of};
use vocab::Now;

/// Bytes of names on a page: where they are long, it has fewer.
const NAME_BYTES_MAX: usize = 1 << 20;
/// Variants of a URL that are told: as many as both tiers have.
const VARIANTS_TOLD_MAX: usize = 80;
/// Responses between two looks at the clock.
const CLOCK_EVERY: u64 = 64;

/// Extent of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexScope {
    /// Every site, with what is stored of it.
    Sites,
    /// URLs of this host, whatever their port.
    Site(String),
    /// URLs that begin so.
    Prefix(String),
}

/// A page that is asked for.
#[derive(Clone, Debug)]
pub struct IndexQuery {
    /// Extent of the index.
    pub scope: IndexScope,
    /// The name behind which the page begins, a site or a URL; the first page if none.
    pub after: Option<String>,
    /// Names that it has at most.
    pub limit: usize,
    /// Longest time that is taken for it.
    pub span_max: Duration,
}

/// Responses, and the bytes of their bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteStock {
    /// Number in memory.
    pub memory_objects: u64,
    /// Bytes of those.
    pub memory_bytes: u64,
    /// Number on disk; what is in memory is mostly there too.
    pub disk_objects: u64,
    /// Bytes of those.
    pub disk_bytes: u64,
}

/// A stored response to a URL, in memory, on disk or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVariant {
    variant: u64,
    /// Bytes of its body in memory.
    pub memory_bytes: Option<u64>,
    /// Bytes of the front of its body in memory, where the rest is missing.
    pub front_bytes: Option<u64>,
    /// Bytes of its body on disk.
    pub disk_bytes: Option<u64>,
    /// Standing of it; that of the copy in memory where there are two.
    pub standing: ResponseStanding,
}

/// Names in their order, each with what there is to say of it.
pub type NamedRows<V> = Vec<(Box<str>, V)>;

/// Names of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexRows {
    /// Sites, for [`IndexScope::Sites`].
    Sites(NamedRows<SiteStock>),
    /// URLs, with what is stored of each.
    Urls(NamedRows<Vec<StoredVariant>>),
}

/// Tells whether all that is stored was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexExtent {
    /// All of it.
    Whole,
    /// As much as there was time for: names and counts are of what was reached.
    OutOfTime,
}

/// A page of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPage {
    /// Names of it.
    pub rows: IndexRows,
    /// The name to go on behind, where there is more.
    pub next: Option<Box<str>>,
    /// Completeness of the page.
    pub extent: IndexExtent,
}

/// The lowest names of many, with what is gathered under each.
struct LowestNames<V> {
    rows: BTreeMap<Box<str>, V>,
    bytes: usize,
    limit: usize,
    /// The lowest that had no room: it and all above it are left to another page. It only falls, so
    /// what is gathered under the others is complete.
    bound: Option<Box<str>>,
}

impl<V: Default> LowestNames<V> {
    const fn new(limit: usize) -> Self {
        Self { rows: BTreeMap::new(), bytes: 0, limit, bound: None }
    }

    fn row(&mut self, name: &str) -> Option<&mut V> {
        if self.bound.as_deref().is_some_and(|bound| name >= bound) {
            return None;
        }
        if !self.rows.contains_key(name) {
            self.bytes += name.len();
            self.rows.insert(name.into(), V::default());
            while self.rows.len() > self.limit || self.bytes > NAME_BYTES_MAX && self.rows.len() > 1
            {
                let Some((last, _)) = self.rows.pop_last() else { break };
                self.bytes -= last.len();
                self.bound = Some(last);
            }
        }
        self.rows.get_mut(name)
    }

    fn finish(self) -> (NamedRows<V>, Option<Box<str>>) {
        let rows: Vec<_> = self.rows.into_iter().collect();
        let next = rows.last().filter(|_| self.bound.is_some()).map(|(name, _)| name.clone());
        (rows, next)
    }
}

impl HttpCache {
    /// Returns a page of the index. `rules_of`: the rules for a URL. Waits for the disk.
    pub fn stored_index(
        &self,
        query: &IndexQuery,
        rules_of: &dyn Fn(&str) -> CachingRules,
    ) -> Result<IndexPage, WalkUnderWay> {
        let after = query.after.as_deref().unwrap_or_default();
        let prefix = match &query.scope {
            IndexScope::Sites => None,
            IndexScope::Site(host) => Some((host.to_ascii_lowercase(), true)),
            IndexScope::Prefix(prefix) => Some((canonical(prefix), false)),
        };
        let Some((wanted, is_site)) = prefix else {
            let mut sites = LowestNames::<SiteStock>::new(query.limit);
            let extent = self.walk(query, |it, _| {
                let site = host_of(it.url).unwrap_or_default();
                if site > after
                    && let Some(stock) = sites.row(site)
                {
                    stock.add(it);
                }
            })?;
            let (rows, next) = sites.finish();
            return Ok(IndexPage { rows: IndexRows::Sites(rows), next, extent });
        };
        let mut urls = LowestNames::<Vec<StoredVariant>>::new(query.limit);
        let extent = self.walk(query, |it, now| {
            let is_wanted = if is_site {
                host_of(it.url) == Some(wanted.as_str())
            } else {
                it.url.starts_with(&wanted)
            };
            if is_wanted
                && it.url > after
                && let Some(variants) = urls.row(it.url)
            {
                note_variant(variants, it, rules_of, now);
            }
        })?;
        let (mut rows, next) = urls.finish();
        // Of a head that could not be read there is nothing to say.
        rows.retain(|(_, variants)| !variants.is_empty());
        Ok(IndexPage { rows: IndexRows::Urls(rows), next, extent })
    }

    fn walk(
        &self,
        query: &IndexQuery,
        mut each: impl FnMut(&WalkedResponse<'_>, Now),
    ) -> Result<IndexExtent, WalkUnderWay> {
        let begun = (self.clock)();
        let end_ms = begun.mono_ms + query.span_max.as_millis() as u64;
        let mut count = 0_u64;
        let flow = self.store().walk(|response| {
            count += 1;
            if count.is_multiple_of(CLOCK_EVERY) && (self.clock)().mono_ms > end_ms {
                return ControlFlow::Break(());
            }
            each(response, begun);
            ControlFlow::Continue(())
        })?;
        Ok(if flow.is_break() { IndexExtent::OutOfTime } else { IndexExtent::Whole })
    }
}

impl SiteStock {
    const fn add(&mut self, response: &WalkedResponse<'_>) {
        match response.place() {
            StoredPlace::Memory | StoredPlace::Front => {
                self.memory_objects += 1;
                self.memory_bytes += response.bytes;
            }
            StoredPlace::Disk => {
                self.disk_objects += 1;
                self.disk_bytes += response.bytes;
            }
        }
    }
}

/// Notes a response among the others of its URL; one that is in both tiers is noted once.
fn note_variant(
    variants: &mut Vec<StoredVariant>,
    response: &WalkedResponse<'_>,
    rules_of: &dyn Fn(&str) -> CachingRules,
    now: Now,
) {
    let place = match variants.iter().position(|it| it.variant == response.variant) {
        Some(place) => place,
        None if variants.len() >= VARIANTS_TOLD_MAX => return,
        None => {
            let Some(standing) = response.standing(&rules_of(response.url), now) else { return };
            let variant = response.variant;
            let (memory_bytes, front_bytes, disk_bytes) = (None, None, None);
            variants.push(StoredVariant {
                variant,
                memory_bytes,
                front_bytes,
                disk_bytes,
                standing,
            });
            variants.len() - 1
        }
    };
    let bytes = match response.place() {
        StoredPlace::Memory => &mut variants[place].memory_bytes,
        StoredPlace::Front => &mut variants[place].front_bytes,
        StoredPlace::Disk => &mut variants[place].disk_bytes,
    };
    *bytes = Some(response.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_lowest_names_whatever_order_they_come_in() {
        let mut names = LowestNames::<u32>::new(3);
        for name in ["m", "c", "z", "a", "m", "b", "c", "a", "a", "z"] {
            if let Some(count) = names.row(name) {
                *count += 1;
            }
        }
        let (rows, next) = names.finish();
        let rows: Vec<(&str, u32)> = rows.iter().map(|(name, count)| (&**name, *count)).collect();
        assert_eq!(rows, [("a", 3), ("b", 1), ("c", 2)]);
        assert_eq!(next.as_deref(), Some("c"));
    }

    #[test]
    fn long_names_make_a_page_short_but_never_empty() {
        let mut names = LowestNames::<u32>::new(1000);
        for letter in ["d", "b", "a", "c"] {
            names.row(&letter.repeat(NAME_BYTES_MAX / 2));
        }
        let (rows, next) = names.finish();
        assert_eq!((rows.len(), next.map(|it| it.starts_with('b'))), (2, Some(true)));
        let mut names = LowestNames::<u32>::new(1000);
        assert!(names.row(&"x".repeat(NAME_BYTES_MAX * 2)).is_some());
        assert_eq!(names.finish().1, None);
    }
}
