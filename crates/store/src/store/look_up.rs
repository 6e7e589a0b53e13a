//! Look-up of what is at hand for a request.
//!
//! It waits for nothing: a hit is one lock and some arithmetic. Called by a door once a request,
//! and again where [`JoinOutcome::LookUp`](super::JoinOutcome::LookUp) says so.

use super::disk_tier::{DiskRead, DiskReadResult};
use super::fetch_permit::{FetchPermit, FetchPlan, JoinedFetch};
use super::{Store, stored_prefix};
use crate::fill::{Fill, FillPurpose};
use crate::memory::{EntryContent, FiledHead, StoredEntry};
use crate::request_collapser::{CollapseMode, CollapseRole};
use disk_store::CacheKey;
use http::Method;
use http::header;
use http_freshness::{
    CachingRules, Doubt, Forward, Freshness, NotFetched, NotReused, RefreshMode, RequestDirective,
    RequestDirectives, RequestFacts, Reuse, StaleAllowed, ValidationConditions, choose, freshness,
    miss, rest, reuse, strong_validator,
};
use std::sync::Arc;

/// Result of a look-up: what is at hand, and what to do.
pub enum CacheLookup {
    /// Send it.
    Hit(Arc<StoredEntry>, Freshness),
    /// The beginning of it is there, and fresh, for a request that may want no more (`HEAD`,
    /// `Range`): if so send of it and say so to [`Store::count_partial_hit`], else go on with
    /// [`Store::look_up_rest`].
    Partial(Arc<StoredEntry>, Freshness),
    /// Send it, though it is stale. Whoever gets the permit fetches a new one in the background.
    Stale {
        /// Entry to send.
        entry: Arc<StoredEntry>,
        /// Age of it.
        freshness: Freshness,
        /// Permission to send it stale.
        allowed_by: StaleAllowed,
        /// For one client at a time, where a new one is due.
        refresh: Option<FetchPermit>,
    },
    /// May be on disk: read that on a thread that may wait, and look up with it.
    OnDisk(DiskRead),
    /// Another client's fetch is under way, and its head is there: attach to the body. Where that
    /// is refused, fetch without the store.
    Read(Arc<FiledHead>, Arc<Fill>),
    /// Another client's fetch is under way: wait for its head.
    Join(JoinedFetch),
    /// Fetch it.
    Fetch(FetchPermit),
    /// Do not fetch it: 504.
    NotFetched(UnfetchedReason),
    /// The cache has no part in it: send the request to the origin as it is.
    Bypass(NotReused),
}

/// Reason for a 504.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfetchedReason {
    /// Nothing is stored.
    Missing(NotFetched),
    /// The stored response may not be sent as it is.
    Stored(NotReused),
}

impl Store {
    /// Returns what is at hand for a request.
    pub fn look_up(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
    ) -> CacheLookup {
        if *asked.method != Method::GET && *asked.method != Method::HEAD {
            self.count(|it| &it.passed);
            return CacheLookup::Bypass(NotReused::Method);
        }
        match self.tier.find(key) {
            // Most keys have one variant, and a hit should not allocate.
            Some((only, others)) if others.is_empty() => {
                match choose([only.head()], asked.fields) {
                    Some(_) => self.reuse_stored(key, rules, asked, only),
                    None => self.look_on_disk(key, rules, asked, vec![only]),
                }
            }
            found => {
                let mut variants: Vec<_> = found
                    .into_iter()
                    .flat_map(|(first, others)| [vec![first], others].concat())
                    .collect();
                match choose(variants.iter().map(|entry| entry.head()), asked.fields) {
                    Some(place) => {
                        self.reuse_stored(key, rules, asked, variants.swap_remove(place))
                    }
                    None => self.look_on_disk(key, rules, asked, variants),
                }
            }
        }
    }

    /// Returns what is at hand for a request, with what was on disk.
    pub fn look_up_with_disk(
        self: &Arc<Self>,
        disk_result: DiskReadResult,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
    ) -> CacheLookup {
        // What came into memory meanwhile is newer: it stands first, and wins a tie.
        let in_memory = self.tier.find(key);
        let mut variants: Vec<_> = in_memory
            .into_iter()
            .flat_map(|(first, others)| [vec![first], others].concat())
            .collect();
        let is_new = |old: &Arc<StoredEntry>| {
            variants.iter().all(|entry| entry.head().selecting != old.head().selecting)
        };
        let old: Vec<_> = disk_result.entries.into_iter().filter(is_new).collect();
        variants.extend(old);
        match choose(variants.iter().map(|entry| entry.head()), asked.fields) {
            Some(place) => self.reuse_stored(key, rules, asked, variants.swap_remove(place)),
            None => self.other_variants(key, rules, asked, variants),
        }
    }

    /// Nothing in memory suits: perhaps on disk.
    fn look_on_disk(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        variants: Vec<Arc<StoredEntry>>,
    ) -> CacheLookup {
        match self.find_on_disk(key, rules, asked.now) {
            Some(find_on_disk) => CacheLookup::OnDisk(find_on_disk),
            None => self.other_variants(key, rules, asked, variants),
        }
    }

    fn count_use(&self, entry: &StoredEntry) {
        entry.hit();
        if let (Some(disk_tier), EntryContent::Disk(stored)) = (&self.disk_tier, entry.content()) {
            disk_tier.disk.hit(stored);
        }
    }

    /// The variant that the request selects is stored.
    fn reuse_stored(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        entry: Arc<StoredEntry>,
    ) -> CacheLookup {
        if entry.is_partial() {
            return match usable_prefix(rules, asked, &entry) {
                Some(freshness) => CacheLookup::Partial(entry, freshness),
                None => self.look_up_rest(key, rules, asked, entry),
            };
        }
        match reuse(rules, asked, entry.head(), entry.terms()) {
            Reuse::Fresh(freshness) => {
                self.count_use(&entry);
                self.count(|it| &it.hits);
                CacheLookup::Hit(entry, freshness)
            }
            Reuse::Stale { freshness, allowed_by: why, refresh } => {
                self.count_use(&entry);
                self.count(|it| &it.stale);
                let refresh = match refresh {
                    RefreshMode::None => None,
                    RefreshMode::Background => self.begin_refresh(key, &entry),
                };
                CacheLookup::Stale { entry, freshness, allowed_by: why, refresh }
            }
            Reuse::Validate { reason: why, conditions } => {
                let mode = match why {
                    Doubt::Stale => collapse_mode(rules, asked),
                    // Each of these must ask for itself (RFC 9111 §5.2.1.4, §5.2.2.4).
                    Doubt::NoCache
                    | Doubt::ClientNoCache
                    | Doubt::ClientMaxAge
                    | Doubt::ClientMinFresh => collapse_mode(rules, asked).without_joining(),
                };
                let about = vec![entry];
                self.begin_fetch(
                    key,
                    rules,
                    asked,
                    mode,
                    FetchPlan::new(key, Forward::Doubt(why), conditions, about),
                )
            }
            Reuse::Never(why @ (NotReused::OnlyIfCached | NotReused::Offline)) => {
                self.count(|it| &it.refused);
                CacheLookup::NotFetched(UnfetchedReason::Stored(why))
            }
            Reuse::Never(why @ (NotReused::Method | NotReused::ForOrigin | NotReused::Vary)) => {
                self.count(|it| &it.passed);
                CacheLookup::Bypass(why)
            }
        }
    }

    /// Counts a request that goes past the store, whatever is in it; or says why 504 is due.
    pub fn bypass(
        &self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
    ) -> Result<(), UnfetchedReason> {
        if let Err(why) = miss(rules, asked) {
            self.count(|it| &it.refused);
            return Err(UnfetchedReason::Missing(why));
        }
        self.count(|it| &it.passed);
        Ok(())
    }

    /// Counts an answer from a partial entry.
    pub fn count_partial_hit(&self, partial: &StoredEntry) {
        self.count_use(partial);
        self.count(|it| &it.hits);
    }

    /// Returns what is at hand for a request that selects this partial entry and wants more than
    /// there is: the rest is asked for.
    pub fn look_up_rest(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        entry: Arc<StoredEntry>,
    ) -> CacheLookup {
        let rest = rest(entry.head(), stored_prefix(&entry).len(), None);
        let is_fresh = freshness(entry.head(), entry.terms(), asked.now.unix_ms).is_fresh();
        match rest.filter(|_| is_fresh) {
            None => self.fetch_missing(
                key,
                rules,
                asked,
                Forward::UriMiss,
                ValidationConditions::default(),
                vec![],
            ),
            Some(rest) => {
                if let Err(why) = miss(rules, asked) {
                    self.count(|it| &it.refused);
                    return CacheLookup::NotFetched(UnfetchedReason::Missing(why));
                }
                let plan = FetchPlan {
                    partial: Some((entry, rest)),
                    ..FetchPlan::new(key, Forward::Partial, ValidationConditions::default(), vec![])
                };
                self.begin_fetch(key, rules, asked, collapse_mode(rules, asked), plan)
            }
        }
    }

    /// Other variants are stored: the origin may say that one of them is right for this request
    /// too.
    fn other_variants(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        others: Vec<Arc<StoredEntry>>,
    ) -> CacheLookup {
        let whole: Vec<_> = others.into_iter().filter(|entry| !entry.is_partial()).collect();
        let conditions = ValidationConditions::of_variants(whole.iter().map(|entry| entry.head()));
        let why = if whole.is_empty() { Forward::UriMiss } else { Forward::VaryMiss };
        self.fetch_missing(key, rules, asked, why, conditions, whole)
    }

    /// Nothing is stored that could be sent.
    fn fetch_missing(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        why: Forward,
        conditions: ValidationConditions,
        about: Vec<Arc<StoredEntry>>,
    ) -> CacheLookup {
        if let Err(why) = miss(rules, asked) {
            self.count(|it| &it.refused);
            return CacheLookup::NotFetched(UnfetchedReason::Missing(why));
        }
        let for_origin = [header::IF_MATCH, header::IF_UNMODIFIED_SINCE];
        if *asked.method == Method::HEAD
            || for_origin.iter().any(|it| asked.fields.contains_key(it))
        {
            // Its answer has no body that could be stored, or is for the origin to judge.
            self.count(|it| &it.passed);
            let is_head = *asked.method == Method::HEAD;
            return CacheLookup::Bypass(if is_head {
                NotReused::Method
            } else {
                NotReused::ForOrigin
            });
        }
        let mode = collapse_mode(rules, asked);
        self.begin_fetch(key, rules, asked, mode, FetchPlan::new(key, why, conditions, about))
    }

    fn begin_fetch(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
        mode: CollapseMode,
        plan: FetchPlan,
    ) -> CacheLookup {
        let plan = Box::new(plan);
        let suits = |filed: &FiledHead| {
            matches!(reuse(rules, asked, filed.head(), filed.terms()), Reuse::Fresh(_))
        };
        // A HEAD that asks about what is stored brings no body for those who would wait.
        let mode = if *asked.method == Method::HEAD { CollapseMode::Never } else { mode };
        match self.collapser.join_or_lead(key, mode, asked.now, suits) {
            CollapseRole::Lead(in_flight) => {
                self.count(|it| &it.leads);
                CacheLookup::Fetch(FetchPermit::new(self, plan, Some(in_flight)))
            }
            CollapseRole::Unshared => {
                self.count(|it| &it.alone);
                CacheLookup::Fetch(FetchPermit::new(self, plan, None))
            }
            CollapseRole::Read(filed, fill) => {
                self.count(|it| &it.collapsed);
                CacheLookup::Read(filed, fill)
            }
            CollapseRole::Wait(waiting) => CacheLookup::Join(JoinedFetch::new(self, plan, waiting)),
        }
    }

    fn begin_refresh(
        self: &Arc<Self>,
        key: &CacheKey,
        entry: &Arc<StoredEntry>,
    ) -> Option<FetchPermit> {
        let in_flight = self.collapser.begin_background_refresh(key)?;
        let conditions = ValidationConditions::of(entry.head());
        let plan = FetchPlan {
            purpose: FillPurpose::Store,
            ..FetchPlan::new(key, Forward::Doubt(Doubt::Stale), conditions, vec![Arc::clone(entry)])
        };
        self.count(|it| &it.leads);
        Some(FetchPermit::new(self, Box::new(plan), Some(in_flight)))
    }
}

/// Age of a partial entry that may do for a request: it is sent unasked, and its validator is
/// strong, so that a client may put the part to others (RFC 9111 §3.3, §3.4).
fn usable_prefix(
    rules: &CachingRules,
    asked: &RequestFacts<'_>,
    partial: &StoredEntry,
) -> Option<Freshness> {
    let may_do = *asked.method == Method::HEAD || asked.fields.contains_key(header::RANGE);
    if !may_do || strong_validator(&partial.head().fields).is_none() {
        return None;
    }
    match reuse(rules, asked, partial.head(), partial.terms()) {
        Reuse::Fresh(freshness) => Some(freshness),
        Reuse::Stale { .. } | Reuse::Validate { .. } | Reuse::Never(_) => None,
    }
}

/// Returns whether a request may share another's answer.
fn collapse_mode(rules: &CachingRules, asked: &RequestFacts<'_>) -> CollapseMode {
    let directives = RequestDirectives::of(rules, asked.fields);
    if directives.has(RequestDirective::NoStore) || asked.fields.contains_key(header::AUTHORIZATION)
    {
        CollapseMode::Never
    } else if directives.has(RequestDirective::NoCache) {
        CollapseMode::LeadOnly
    } else {
        CollapseMode::JoinOrLead
    }
}
