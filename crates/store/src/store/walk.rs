//! A walk through all that is stored, in memory and then on disk, for whoever lists it.
//!
//! It holds a thousand entries at a time and no lock while it shows them. What is in both tiers
//! comes twice, and tells by its variant that it is the same. One walk at a time: it reads the
//! whole disk tier, and waits for it. Called by the cache for the administrator.

use super::Store;
use crate::memory::{EntryContent, StoredEntry};
use disk_store::{PurgeEffect, WalkedAnswer};
use http::StatusCode;
use http_freshness::{CachingRules, Freshness, ReuseTerms, StoredHead, freshness};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{PoisonError, TryLockError};
use vocab::Now;

/// A stored response, as a walk comes by it.
pub struct WalkedResponse<'w> {
    /// The URL that it answers.
    pub url: &'w str,
    /// Which of the answers to it: a hash of the selecting fields, 0 where nothing varies.
    pub variant: u64,
    /// Bytes of its body, or of what is there of it.
    pub bytes: u64,
    record: WalkedRecord<'w>,
}

enum WalkedRecord<'w> {
    Memory(&'w StoredEntry),
    Disk(&'w WalkedAnswer<'w>),
}

/// Where a response is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredPlace {
    /// In memory.
    Memory,
    /// In memory, its front alone.
    Front,
    /// On disk.
    Disk,
}

/// Standing of a stored response at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseStanding {
    /// Status of it.
    pub status: StatusCode,
    /// Age of it, and for how long it is fresh.
    pub freshness: Freshness,
}

/// A walk is under way already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkUnderWay;

impl fmt::Display for WalkUnderWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what is stored is being listed for somebody else")
    }
}

impl std::error::Error for WalkUnderWay {}

impl WalkedResponse<'_> {
    /// Where this one is.
    pub const fn place(&self) -> StoredPlace {
        match &self.record {
            WalkedRecord::Memory(entry) => match entry.content() {
                EntryContent::Memory(_) => StoredPlace::Memory,
                EntryContent::Partial(_) => StoredPlace::Front,
                EntryContent::Disk(_) => StoredPlace::Disk,
            },
            WalkedRecord::Disk(_) => StoredPlace::Disk,
        }
    }

    /// Returns how it stands by `rules`; `None` where its head cannot be read.
    pub fn standing(&self, rules: &CachingRules, now: Now) -> Option<ResponseStanding> {
        match &self.record {
            WalkedRecord::Memory(entry) => Some(ResponseStanding {
                status: entry.head().status,
                freshness: freshness(entry.head(), entry.terms(), now.unix_ms),
            }),
            WalkedRecord::Disk(answer) => {
                let head = StoredHead::decode(answer.head).ok()?;
                let mut terms = ReuseTerms::of(rules, &head);
                if answer.purged != PurgeEffect::No {
                    terms.end_freshness(terms.age_secs(&head, now.unix_ms));
                }
                let freshness = freshness(&head, &terms, now.unix_ms);
                Some(ResponseStanding { status: head.status, freshness })
            }
        }
    }
}

impl Store {
    /// Shows each stored response until `each` ends it. Waits for the disk.
    pub fn walk(
        &self,
        mut each: impl FnMut(&WalkedResponse<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, WalkUnderWay> {
        let _turn = match self.walk_turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => PoisonError::into_inner(turn),
            Err(TryLockError::WouldBlock) => return Err(WalkUnderWay),
        };
        let mut flow = ControlFlow::Continue(());
        let wanted = |_: &StoredEntry| true;
        self.tier.sweep(wanted, |entry| {
            if flow.is_continue() {
                flow = each(&WalkedResponse {
                    url: entry.key().url(),
                    variant: self.variant(entry.head()),
                    bytes: entry.content().len(),
                    record: WalkedRecord::Memory(&entry),
                });
            }
        });
        let Some(disk_tier) = self.disk_tier.as_ref().filter(|_| flow.is_continue()) else {
            return Ok(flow);
        };
        Ok(disk_tier.disk.walk(|answer| {
            each(&WalkedResponse {
                url: answer.url,
                variant: answer.variant,
                bytes: answer.body_len,
                record: WalkedRecord::Disk(answer),
            })
        }))
    }
}
