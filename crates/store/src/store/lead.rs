//! A fetch that is to be made, and one that is waited for.
//!
//! A lead is a promise: it ends with an answer, with a failure, or, when it is dropped, with
//! another client's turn. Held by doors.

use super::since::PurgeWatch;
use super::{Store, front_of};
use crate::fill::{Fill, FillBody, FillPurpose};
use crate::herd::{FetchStage, HeadWaiter, InFlightGuard};
use crate::memory::{FiledHead, StoredEntry};
use disk_store::{CacheKey, LearnedAt};
use http_freshness::{
    CachingRules, Forward, Freshness, MissingRange, RequestFacts, Reuse, ValidationConditions,
    freshness, matches, reuse,
};
use std::sync::Arc;

/// Holds what is to be fetched, and why.
pub(super) struct FetchPlan {
    pub(super) key: CacheKey,
    pub(super) why: Forward,
    pub(super) conditions: ValidationConditions,
    /// What the conditions are about.
    pub(super) about: Vec<Arc<StoredEntry>>,
    /// What is there from a fetch that broke off, and how to ask for the rest.
    pub(super) front: Option<(Arc<StoredEntry>, MissingRange)>,
    pub(super) purpose: FillPurpose,
}

impl FetchPlan {
    pub(super) fn new(
        key: &CacheKey,
        why: Forward,
        conditions: ValidationConditions,
        about: Vec<Arc<StoredEntry>>,
    ) -> Self {
        let key = key.clone();
        Self { key, why, conditions, about, front: None, purpose: FillPurpose::Clients }
    }

    pub(super) fn prefix(&self) -> FillBody {
        self.front.as_ref().map_or_else(FillBody::default, |(entry, _)| front_of(entry))
    }
}

/// The right and the duty to fetch.
pub struct FetchPermit {
    pub(super) store: Arc<Store>,
    pub(super) errand: Box<FetchPlan>,
    /// `None` where nobody waits for it.
    pub(super) flying: Option<InFlightGuard>,
    /// The purges since it was given: they concern its answer.
    pub(super) since: PurgeWatch,
    /// When it was given, for the disk.
    pub(super) disk_moment: Option<LearnedAt>,
}

impl FetchPermit {
    pub(super) fn new(
        store: &Arc<Store>,
        errand: Box<FetchPlan>,
        flying: Option<InFlightGuard>,
    ) -> Self {
        let disk_moment = store.depot.as_ref().map(|depot| depot.disk.moment());
        let since = store.purges.watch(&errand.key);
        Self { store: Arc::clone(store), errand, flying, since, disk_moment }
    }

    /// Why the origin is asked.
    pub const fn why(&self) -> Forward {
        self.errand.why
    }

    /// The conditions to ask with; none where the whole is wanted.
    pub const fn conditions(&self) -> &ValidationConditions {
        &self.errand.conditions
    }

    /// Returns how to ask for what is missing, where the front of the body is stored.
    pub fn rest(&self) -> Option<&MissingRange> {
        self.errand.front.as_ref().map(|(_, rest)| rest)
    }

    /// The stored response that the request selects, which may stand in for an error
    /// ([`rescue`](http_freshness::rescue)).
    pub fn stale(&self) -> Option<&Arc<StoredEntry>> {
        match self.errand.why {
            Forward::Doubt(_) => self.errand.about.first(),
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
        if let Some(flying) = self.flying {
            flying.settle(FetchStage::Failed);
        }
    }
}

/// A wait for another client's head.
pub struct JoinedFetch {
    store: Arc<Store>,
    errand: Box<FetchPlan>,
    waiting: HeadWaiter,
}

/// Outcome of a wait.
pub enum JoinOutcome {
    /// Read what the other fetches: attach before this is dropped.
    Read(SharedReading),
    /// What was stored was right: send it.
    Hit(Arc<StoredEntry>, Freshness),
    /// Is not for sharing: fetch, as all others do now.
    Lead(FetchPermit),
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
    pub(super) fn new(store: &Arc<Store>, errand: Box<FetchPlan>, waiting: HeadWaiter) -> Self {
        Self { store: Arc::clone(store), errand, waiting }
    }

    /// Waits until the head is there, or will not come. Whoever leads has a time limit; a door may
    /// drop this whenever its client leaves.
    pub async fn settled(mut self, rules: &CachingRules, asked: &RequestFacts<'_>) -> JoinOutcome {
        match self.waiting.settled().await {
            FetchStage::Answered(filed, fill) => {
                match reuse(rules, asked, filed.head(), filed.terms()) {
                    Reuse::Fresh(_) => {
                        self.store.count(|it| &it.collapsed);
                        JoinOutcome::Read(SharedReading { filed, fill, _waiting: self.waiting })
                    }
                    _ if !matches(filed.head(), asked.fields) => JoinOutcome::LookUp,
                    _ => self.alone(),
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
                    _ => self.alone(),
                }
            }
            FetchStage::Unshared => self.alone(),
            FetchStage::Vanished | FetchStage::Pending => JoinOutcome::LookUp,
            FetchStage::Failed => JoinOutcome::Failed(self.errand.about.into_iter().next()),
        }
    }

    fn alone(self) -> JoinOutcome {
        self.store.count(|it| &it.alone);
        JoinOutcome::Lead(FetchPermit::new(&self.store, self.errand, None))
    }
}
