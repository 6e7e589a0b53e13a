//! A fetch that is to be made, and one that is waited for.
//!
//! A lead is a promise: it ends with an answer, with a failure, or, when it is dropped, with another
//! client's turn. Held by doors.

use super::since::Since;
use super::{Store, front_of};
use crate::disk::Moment;
use crate::fill::{Body, Fill, Purpose};
use crate::freshness::{
    Asked, Conditions, Forward, Freshness, Rest, Reuse, Rules, freshness, matches, reuse,
};
use crate::herd::{Flying, Stage, Waiting};
use crate::key::Key;
use crate::memory::{Entry, Filed};
use std::sync::Arc;

/// What is to be fetched, and why.
pub(super) struct Errand {
    pub(super) key: Key,
    pub(super) why: Forward,
    pub(super) conditions: Conditions,
    /// What the conditions are about.
    pub(super) about: Vec<Arc<Entry>>,
    /// What is there from a fetch that broke off, and how to ask for the rest.
    pub(super) front: Option<(Arc<Entry>, Rest)>,
    pub(super) purpose: Purpose,
}

impl Errand {
    pub(super) fn new(
        key: &Key,
        why: Forward,
        conditions: Conditions,
        about: Vec<Arc<Entry>>,
    ) -> Self {
        let key = key.clone();
        Self { key, why, conditions, about, front: None, purpose: Purpose::Clients }
    }

    pub(super) fn prefix(&self) -> Body {
        self.front.as_ref().map_or_else(Body::default, |(entry, _)| front_of(entry))
    }
}

/// The right and the duty to fetch.
pub struct Lead {
    pub(super) store: Arc<Store>,
    pub(super) errand: Box<Errand>,
    /// `None` where nobody waits for it.
    pub(super) flying: Option<Flying>,
    /// The purges since it was given: they concern its answer.
    pub(super) since: Since,
    /// When it was given, for the disk.
    pub(super) disk_moment: Option<Moment>,
}

impl Lead {
    pub(super) fn new(store: &Arc<Store>, errand: Box<Errand>, flying: Option<Flying>) -> Self {
        let disk_moment = store.depot.as_ref().map(|depot| depot.disk.moment());
        let since = store.purges.watch(&errand.key);
        Self { store: Arc::clone(store), errand, flying, since, disk_moment }
    }

    /// Why the origin is asked.
    pub const fn why(&self) -> Forward {
        self.errand.why
    }

    /// The conditions to ask with; none where the whole is wanted.
    pub const fn conditions(&self) -> &Conditions {
        &self.errand.conditions
    }

    /// How to ask for what is missing, where the front of the body is stored.
    pub fn rest(&self) -> Option<&Rest> {
        self.errand.front.as_ref().map(|(_, rest)| rest)
    }

    /// The stored response that the request selects, which may stand in for an error
    /// ([`rescue`](crate::freshness::rescue)).
    pub fn stale(&self) -> Option<&Arc<Entry>> {
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
            flying.settle(Stage::Failed);
        }
    }
}

/// A wait for another client's head.
pub struct Join {
    store: Arc<Store>,
    errand: Box<Errand>,
    waiting: Waiting,
}

/// What became of a wait.
pub enum Joined {
    /// Read what the other fetches: attach before this is dropped.
    Read(Reading),
    /// What was stored was right: send it.
    Hit(Arc<Entry>, Freshness),
    /// It is not for sharing: fetch, as all others do now.
    Lead(Lead),
    /// The other has left or was refused before there was a head, or it was another variant: look up anew.
    LookUp,
    /// The origin could not be asked. This may stand in for the answer.
    Failed(Option<Arc<Entry>>),
}

/// A body that another client fetches. It is held from its first byte on until this is dropped.
pub struct Reading {
    /// Its head.
    pub filed: Arc<Filed>,
    /// Its body.
    pub fill: Arc<Fill>,
    _waiting: Waiting,
}

impl Join {
    pub(super) fn new(store: &Arc<Store>, errand: Box<Errand>, waiting: Waiting) -> Self {
        Self { store: Arc::clone(store), errand, waiting }
    }

    /// Waits until the head is there, or will not come. Whoever leads has a time limit; a door may
    /// drop this whenever its client leaves.
    pub async fn settled(mut self, rules: &Rules, asked: &Asked<'_>) -> Joined {
        match self.waiting.settled().await {
            Stage::Answered(filed, fill) => {
                match reuse(rules, asked, filed.head(), filed.terms()) {
                    Reuse::Fresh(_) => {
                        self.store.count(|it| &it.collapsed);
                        Joined::Read(Reading { filed, fill, _waiting: self.waiting })
                    }
                    _ if !matches(filed.head(), asked.fields) => Joined::LookUp,
                    _ => self.alone(),
                }
            }
            Stage::Freshened(entry) => match reuse(rules, asked, entry.head(), entry.terms()) {
                Reuse::Fresh(_) => {
                    self.store.count(|it| &it.collapsed);
                    entry.hit();
                    let freshness = freshness(entry.head(), entry.terms(), asked.now.unix_ms);
                    Joined::Hit(entry, freshness)
                }
                _ if !matches(entry.head(), asked.fields) => Joined::LookUp,
                _ => self.alone(),
            },
            Stage::Unshared => self.alone(),
            Stage::Vanished | Stage::Pending => Joined::LookUp,
            Stage::Failed => Joined::Failed(self.errand.about.into_iter().next()),
        }
    }

    fn alone(self) -> Joined {
        self.store.count(|it| &it.alone);
        Joined::Lead(Lead::new(&self.store, self.errand, None))
    }
}
