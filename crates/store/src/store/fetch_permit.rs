//! Permission to fetch, and the wait for another client's fetch.
//!
//! A permit ends with an answer, with a failure, or, when it is dropped, with another client's
//! turn. Held by doors.

use super::purge_watch::PurgeWatch;
use super::{Store, stored_prefix};
use crate::fill::{Fill, FillBody, FillPurpose};
use crate::memory::{FiledHead, StoredEntry};
use crate::request_collapser::{FetchStage, HeadWaiter, InFlightGuard};
use disk_store::{CacheKey, LearnedAt};
use http_freshness::{
    CachingRules, Forward, Freshness, MissingRange, RequestFacts, Reuse, ValidationConditions,
    freshness, matches, reuse,
};
use std::sync::Arc;

/// Plan of one fetch, and the reason for it.
pub(super) struct FetchPlan {
    pub(super) key: CacheKey,
    pub(super) reason: Forward,
    pub(super) conditions: ValidationConditions,
    /// Stored responses that the conditions ask about.
    pub(super) validated: Vec<Arc<StoredEntry>>,
    /// Beginning that a fetch left which broke off, and how to ask for the rest.
    pub(super) partial: Option<(Arc<StoredEntry>, MissingRange)>,
    pub(super) purpose: FillPurpose,
}

impl FetchPlan {
    pub(super) fn new(
        key: &CacheKey,
        reason: Forward,
        conditions: ValidationConditions,
        validated: Vec<Arc<StoredEntry>>,
    ) -> Self {
        let key = key.clone();
        Self { key, reason, conditions, validated, partial: None, purpose: FillPurpose::Clients }
    }

    pub(super) fn prefix(&self) -> FillBody {
        self.partial.as_ref().map_or_else(FillBody::default, |(entry, _)| stored_prefix(entry))
    }
}

/// Exclusive permission to fetch this key; dropping it lets another client fetch.
pub struct FetchPermit {
    pub(super) store: Arc<Store>,
    pub(super) plan: Box<FetchPlan>,
    /// `None` where nobody waits for it.
    pub(super) in_flight: Option<InFlightGuard>,
    /// The purges since it was given: they concern its answer.
    pub(super) purges: PurgeWatch,
    /// When it was given, for the disk.
    pub(super) disk_moment: Option<LearnedAt>,
}

impl FetchPermit {
    pub(super) fn new(
        store: &Arc<Store>,
        plan: Box<FetchPlan>,
        in_flight: Option<InFlightGuard>,
    ) -> Self {
        let disk_moment = store.disk_tier.as_ref().map(|disk_tier| disk_tier.disk.moment());
        let purges = store.purges.watch(&plan.key);
        Self { store: Arc::clone(store), plan, in_flight, purges, disk_moment }
    }

    /// Why the origin is asked.
    pub const fn reason(&self) -> Forward {
        self.plan.reason
    }

    /// The conditions to ask with; none where the whole is wanted.
    pub const fn conditions(&self) -> &ValidationConditions {
        &self.plan.conditions
    }

    /// Returns how to ask for what is missing, where the beginning of the body is stored.
    pub fn missing_range(&self) -> Option<&MissingRange> {
        self.plan.partial.as_ref().map(|(_, rest)| rest)
    }

    /// The stored response that the request selects, which may stand in for an error
    /// ([`stale_on_error`](http_freshness::rescue)).
    pub fn stale(&self) -> Option<&Arc<StoredEntry>> {
        match self.plan.reason {
            Forward::Doubt(_) => self.plan.validated.first(),
            Forward::Bypass
            | Forward::UriMiss
            | Forward::VaryMiss
            | Forward::Partial
            | Forward::Never(_) => None,
        }
    }

    /// The origin could not be asked: those who wait hear of it at once, and do not try one by one.
    pub fn failed(self) {
        self.store.count(|it| &it.broken);
        if let Some(in_flight) = self.in_flight {
            in_flight.publish(FetchStage::Failed);
        }
    }
}

/// A wait for another client's head.
pub struct JoinedFetch {
    store: Arc<Store>,
    plan: Box<FetchPlan>,
    waiting: HeadWaiter,
}

/// Outcome of a wait.
pub enum JoinOutcome {
    /// Read what the other fetches: attach before this is dropped.
    Read(SharedReading),
    /// The stored response was right: send it.
    Hit(Arc<StoredEntry>, Freshness),
    /// Another machine of the fleet had stored it: send it.
    Found(Arc<StoredEntry>, Freshness),
    /// Is not for sharing: fetch, as all others do now.
    Fetch(FetchPermit),
    /// The other has left or was refused before there was a head, or it was another variant: look
    /// up anew.
    LookUp,
    /// The origin could not be asked. This may stand in for the answer.
    Failed(Option<Arc<StoredEntry>>),
}

/// A body that another client fetches. It is held from its first byte on until this is dropped.
pub struct SharedReading {
    /// Head.
    pub filed: Arc<FiledHead>,
    /// Body.
    pub fill: Arc<Fill>,
    _waiting: HeadWaiter,
}

impl JoinedFetch {
    pub(super) fn new(store: &Arc<Store>, plan: Box<FetchPlan>, waiting: HeadWaiter) -> Self {
        Self { store: Arc::clone(store), plan, waiting }
    }

    /// Waits until the head is there, or will not come. The client that fetches has a time limit; a
    /// door may drop this whenever its client leaves.
    pub async fn wait_for_head(
        mut self,
        rules: &CachingRules,
        asked: &RequestFacts<'_>,
    ) -> JoinOutcome {
        match self.waiting.head_settled().await {
            FetchStage::Answered(filed, fill) => {
                match reuse(rules, asked, filed.head(), filed.terms()) {
                    Reuse::Fresh(_) => {
                        self.store.count(|it| &it.collapsed);
                        JoinOutcome::Read(SharedReading { filed, fill, _waiting: self.waiting })
                    }
                    _ if !matches(filed.head(), asked.fields) => JoinOutcome::LookUp,
                    _ => self.unshared(),
                }
            }
            FetchStage::Freshened(entry) => {
                match reuse(rules, asked, entry.head(), entry.terms()) {
                    Reuse::Fresh(_) => {
                        self.store.count(|it| &it.collapsed);
                        entry.hit();
                        let freshness = freshness(entry.head(), entry.terms(), asked.now.unix_ms);
                        JoinOutcome::Hit(entry, freshness)
                    }
                    _ if !matches(entry.head(), asked.fields) => JoinOutcome::LookUp,
                    _ => self.unshared(),
                }
            }
            FetchStage::Found(entry) => match reuse(rules, asked, entry.head(), entry.terms()) {
                Reuse::Fresh(freshness) => {
                    self.store.count(|it| &it.collapsed);
                    entry.hit();
                    JoinOutcome::Found(entry, freshness)
                }
                _ if !matches(entry.head(), asked.fields) => JoinOutcome::LookUp,
                _ => self.unshared(),
            },
            FetchStage::Unshared => self.unshared(),
            FetchStage::Abandoned | FetchStage::Pending => JoinOutcome::LookUp,
            FetchStage::Failed => JoinOutcome::Failed(self.plan.validated.into_iter().next()),
        }
    }

    fn unshared(self) -> JoinOutcome {
        self.store.count(|it| &it.alone);
        JoinOutcome::Fetch(FetchPermit::new(&self.store, self.plan, None))
    }
}
