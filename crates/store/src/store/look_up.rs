//! What is at hand for a request.
//!
//! It waits for nothing: a hit is one lock and some arithmetic. Called by a door once a request, and
//! again where [`Joined::LookUp`](super::Joined::LookUp) says so.

use super::depot::{Recall, Recalled};
use super::lead::{Errand, Join, Lead};
use super::{Store, front_of};
use crate::fill::{Fill, Purpose};
use crate::freshness::{
    Asked, Conditions, Doubt, Forward, Freshness, NotFetched, NotReused, Refresh, Reuse, Rules,
    StaleAllowed, Wish, Wishes, choose, freshness, miss, rest, reuse, strong_validator,
};
use crate::herd::{Company, Role};
use crate::key::Key;
use crate::memory::{Content, Entry, Filed};
use http::Method;
use http::header;
use std::sync::Arc;

/// What is at hand, and what to do.
pub enum Found {
    /// Send it.
    Hit(Arc<Entry>, Freshness),
    /// The front of it is there, and fresh, for a request that may want no more (`HEAD`, `Range`): if so
    /// send of it and say so to [`Store::front_sent`], else go on with [`Store::rest_of`].
    Front(Arc<Entry>, Freshness),
    /// Send it, though it is stale. Whoever gets the lead fetches a new one in the background.
    Stale {
        /// What to send.
        entry: Arc<Entry>,
        /// How old it is.
        freshness: Freshness,
        /// Who allows it.
        why: StaleAllowed,
        /// For one client at a time, where a new one is due.
        refresh: Option<Lead>,
    },
    /// It may be on disk: read that on a thread that may wait, and look up with it.
    OnDisk(Recall),
    /// Another client's fetch is under way, and its head is there: attach to the body. Where that is
    /// refused, fetch without the store.
    Read(Arc<Filed>, Arc<Fill>),
    /// Another client's fetch is under way: wait for its head.
    Join(Join),
    /// Fetch it.
    Lead(Lead),
    /// Do not fetch it: 504.
    Unfetched(Unfetched),
    /// It is none of a cache's business: send it to the origin as it is.
    Pass(NotReused),
}

/// Why 504 is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfetched {
    /// Nothing is stored.
    Missing(NotFetched),
    /// What is stored may not be sent as it is.
    Stored(NotReused),
}

impl Store {
    /// What is at hand for a request.
    pub fn look_up(self: &Arc<Self>, key: &Key, rules: &Rules, asked: &Asked<'_>) -> Found {
        if *asked.method != Method::GET && *asked.method != Method::HEAD {
            self.count(|it| &it.passed);
            return Found::Pass(NotReused::Method);
        }
        match self.tier.find(key) {
            // Most keys have one variant, and a hit should not allocate.
            Some((only, others)) if others.is_empty() => {
                match choose([only.head()], asked.fields) {
                    Some(_) => self.stored(key, rules, asked, only),
                    None => self.beside(key, rules, asked, vec![only]),
                }
            }
            found => {
                let mut variants: Vec<_> = found
                    .into_iter()
                    .flat_map(|(first, others)| [vec![first], others].concat())
                    .collect();
                match choose(variants.iter().map(|entry| entry.head()), asked.fields) {
                    Some(place) => self.stored(key, rules, asked, variants.swap_remove(place)),
                    None => self.beside(key, rules, asked, variants),
                }
            }
        }
    }

    /// What is at hand for a request, with what was on disk.
    pub fn look_up_with(
        self: &Arc<Self>,
        recalled: Recalled,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
    ) -> Found {
        // What came into memory meanwhile is newer: it stands first, and wins a tie.
        let in_memory = self.tier.find(key);
        let mut variants: Vec<_> = in_memory
            .into_iter()
            .flat_map(|(first, others)| [vec![first], others].concat())
            .collect();
        let is_new = |old: &Arc<Entry>| {
            variants.iter().all(|entry| entry.head().selecting != old.head().selecting)
        };
        let old: Vec<_> = recalled.entries.into_iter().filter(is_new).collect();
        variants.extend(old);
        match choose(variants.iter().map(|entry| entry.head()), asked.fields) {
            Some(place) => self.stored(key, rules, asked, variants.swap_remove(place)),
            None => self.other_variants(key, rules, asked, variants),
        }
    }

    /// Nothing in memory suits: perhaps on disk.
    fn beside(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        variants: Vec<Arc<Entry>>,
    ) -> Found {
        match self.recall(key, rules, asked.now) {
            Some(recall) => Found::OnDisk(recall),
            None => self.other_variants(key, rules, asked, variants),
        }
    }

    fn used(&self, entry: &Entry) {
        entry.hit();
        if let (Some(depot), Content::Disk(stored)) = (&self.depot, entry.content()) {
            depot.disk.hit(stored);
        }
    }

    /// The variant that the request selects is stored.
    fn stored(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        entry: Arc<Entry>,
    ) -> Found {
        if entry.is_front() {
            return match front_at_hand(rules, asked, &entry) {
                Some(freshness) => Found::Front(entry, freshness),
                None => self.rest_of(key, rules, asked, entry),
            };
        }
        match reuse(rules, asked, entry.head(), entry.terms()) {
            Reuse::Fresh(freshness) => {
                self.used(&entry);
                self.count(|it| &it.hits);
                Found::Hit(entry, freshness)
            }
            Reuse::Stale { freshness, why, refresh } => {
                self.used(&entry);
                self.count(|it| &it.stale);
                let refresh = match refresh {
                    Refresh::None => None,
                    Refresh::Background => self.refresh(key, &entry),
                };
                Found::Stale { entry, freshness, why, refresh }
            }
            Reuse::Validate { why, conditions } => {
                let company = match why {
                    Doubt::Stale => company(rules, asked),
                    // Each of these must ask for itself (RFC 9111 §5.2.1.4, §5.2.2.4).
                    Doubt::NoCache
                    | Doubt::ClientNoCache
                    | Doubt::ClientMaxAge
                    | Doubt::ClientMinFresh => company(rules, asked).asking_itself(),
                };
                let about = vec![entry];
                self.fetch(
                    key,
                    rules,
                    asked,
                    company,
                    Errand::new(key, Forward::Doubt(why), conditions, about),
                )
            }
            Reuse::Never(why @ (NotReused::OnlyIfCached | NotReused::Offline)) => {
                self.count(|it| &it.refused);
                Found::Unfetched(Unfetched::Stored(why))
            }
            Reuse::Never(why @ (NotReused::Method | NotReused::ForOrigin | NotReused::Vary)) => {
                self.count(|it| &it.passed);
                Found::Pass(why)
            }
        }
    }

    /// Counts a request that goes past the store, whatever is in it; or says why 504 is due.
    pub fn bypass(&self, rules: &Rules, asked: &Asked<'_>) -> Result<(), Unfetched> {
        if let Err(why) = miss(rules, asked) {
            self.count(|it| &it.refused);
            return Err(Unfetched::Missing(why));
        }
        self.count(|it| &it.passed);
        Ok(())
    }

    /// Counts an answer from a front.
    pub fn front_sent(&self, front: &Entry) {
        self.used(front);
        self.count(|it| &it.hits);
    }

    /// What is at hand for a request that selects this front and wants more than there is: the rest is
    /// asked for.
    pub fn rest_of(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        entry: Arc<Entry>,
    ) -> Found {
        let rest = rest(entry.head(), front_of(&entry).len(), None);
        let is_fresh = freshness(entry.head(), entry.terms(), asked.now.unix_ms).is_fresh();
        match rest.filter(|_| is_fresh) {
            None => {
                self.missing(key, rules, asked, Forward::UriMiss, Conditions::default(), vec![])
            }
            Some(rest) => {
                if let Err(why) = miss(rules, asked) {
                    self.count(|it| &it.refused);
                    return Found::Unfetched(Unfetched::Missing(why));
                }
                let errand = Errand {
                    front: Some((entry, rest)),
                    ..Errand::new(key, Forward::Partial, Conditions::default(), vec![])
                };
                self.fetch(key, rules, asked, company(rules, asked), errand)
            }
        }
    }

    /// Other variants are stored: the origin may say that one of them is right for this request too.
    fn other_variants(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        others: Vec<Arc<Entry>>,
    ) -> Found {
        let whole: Vec<_> = others.into_iter().filter(|entry| !entry.is_front()).collect();
        let conditions = Conditions::of_variants(whole.iter().map(|entry| entry.head()));
        let why = if whole.is_empty() { Forward::UriMiss } else { Forward::VaryMiss };
        self.missing(key, rules, asked, why, conditions, whole)
    }

    /// Nothing is stored that could be sent.
    fn missing(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        why: Forward,
        conditions: Conditions,
        about: Vec<Arc<Entry>>,
    ) -> Found {
        if let Err(why) = miss(rules, asked) {
            self.count(|it| &it.refused);
            return Found::Unfetched(Unfetched::Missing(why));
        }
        let for_origin = [header::IF_MATCH, header::IF_UNMODIFIED_SINCE];
        if *asked.method == Method::HEAD
            || for_origin.iter().any(|it| asked.fields.contains_key(it))
        {
            // Its answer has no body that could be stored, or is for the origin to judge.
            self.count(|it| &it.passed);
            let is_head = *asked.method == Method::HEAD;
            return Found::Pass(if is_head { NotReused::Method } else { NotReused::ForOrigin });
        }
        let company = company(rules, asked);
        self.fetch(key, rules, asked, company, Errand::new(key, why, conditions, about))
    }

    fn fetch(
        self: &Arc<Self>,
        key: &Key,
        rules: &Rules,
        asked: &Asked<'_>,
        company: Company,
        errand: Errand,
    ) -> Found {
        let errand = Box::new(errand);
        let suits = |filed: &Filed| {
            matches!(reuse(rules, asked, filed.head(), filed.terms()), Reuse::Fresh(_))
        };
        // A HEAD that asks about what is stored brings no body for those who would wait.
        let company = if *asked.method == Method::HEAD { Company::Refused } else { company };
        match self.herd.role(key, company, asked.now, suits) {
            Role::Lead(flying) => {
                self.count(|it| &it.leads);
                Found::Lead(Lead::new(self, errand, Some(flying)))
            }
            Role::Alone => {
                self.count(|it| &it.alone);
                Found::Lead(Lead::new(self, errand, None))
            }
            Role::Read(filed, fill) => {
                self.count(|it| &it.collapsed);
                Found::Read(filed, fill)
            }
            Role::Wait(waiting) => Found::Join(Join::new(self, errand, waiting)),
        }
    }

    fn refresh(self: &Arc<Self>, key: &Key, entry: &Arc<Entry>) -> Option<Lead> {
        let flying = self.herd.lead_quietly(key)?;
        let conditions = Conditions::of(entry.head());
        let errand = Errand {
            purpose: Purpose::Store,
            ..Errand::new(key, Forward::Doubt(Doubt::Stale), conditions, vec![Arc::clone(entry)])
        };
        self.count(|it| &it.leads);
        Some(Lead::new(self, Box::new(errand), Some(flying)))
    }
}

/// How old a front is that may do for a request: it is sent unasked, and its validator is strong, so that
/// a client may put the part to others (RFC 9111 §3.3, §3.4).
fn front_at_hand(rules: &Rules, asked: &Asked<'_>, front: &Entry) -> Option<Freshness> {
    let may_do = *asked.method == Method::HEAD || asked.fields.contains_key(header::RANGE);
    if !may_do || strong_validator(&front.head().fields).is_none() {
        return None;
    }
    match reuse(rules, asked, front.head(), front.terms()) {
        Reuse::Fresh(freshness) => Some(freshness),
        Reuse::Stale { .. } | Reuse::Validate { .. } | Reuse::Never(_) => None,
    }
}

/// Whether a request may share another's answer.
fn company(rules: &Rules, asked: &Asked<'_>) -> Company {
    let wishes = Wishes::of(rules, asked.fields);
    if wishes.says(Wish::NoStore) || asked.fields.contains_key(header::AUTHORIZATION) {
        Company::Refused
    } else if wishes.says(Wish::NoCache) {
        Company::Followed
    } else {
        Company::Welcome
    }
}
