//! The disk tier behind the memory tier: what is fetched is copied there, what is not in memory is
//! sought there.
//!
//! Heads and small bodies come back into memory; a large body stays on disk, and a door sends it
//! from the file. Nothing here waits for the disk but [`DiskRead::read`], which belongs on a thread
//! that may. Called by the store.

use super::Store;
use super::fetch_permit::FetchPermit;
use super::purge_watch::PurgeWatch;
use crate::budget::{ByteCharge, ByteClass};
use crate::fill::FillBody;
use crate::memory::{EntryContent, EntrySeen, FiledHead, NotKept, StoredEntry};
use disk_store::{
    CacheKey, DiskCandidate, DiskStore, GATHERED_BYTES_MAX, PurgeEffect, RecordDraft, RecordWriter,
    StoredAnswer,
};
use http_freshness::{CachingRules, ReuseTerms, StoredHead};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vocab::Now;

/// Heads that are being renewed on disk at once. At the cap the disk keeps the older head, and the
/// origin is asked about it once more when it is needed.
const RENEWALS_MAX: usize = 64;

/// The disk tier, and what is done behind the clients' backs.
pub(super) struct DiskTier {
    pub(super) disk: DiskStore,
    renewals: AtomicUsize,
}

/// An answer that is being copied to disk.
pub(super) struct DiskCopy {
    record: RecordWriter,
    /// Bytes that the record gathers in memory before it is written.
    _gathered: ByteCharge,
}

impl DiskCopy {
    /// Takes more of the body. Says whether it goes on.
    pub(super) fn write(&mut self, bytes: &[u8]) -> bool {
        self.record.write(bytes).is_ok()
    }

    /// The body is whole. Says whether it is, or will be, on disk.
    pub(super) fn commit(self) -> bool {
        self.record.commit().is_ok()
    }
}

/// Holds what may be on disk for a request: read it on a thread that may wait.
pub struct DiskRead {
    store: Arc<Store>,
    key: CacheKey,
    rules: CachingRules,
    candidates: Vec<DiskCandidate>,
    /// Purges that come meanwhile, which concern what is read.
    since: PurgeWatch,
    now: Now,
}

/// Holds what was on disk: look up again with it.
pub struct DiskReadResult {
    pub(super) entries: Vec<Arc<StoredEntry>>,
}

impl DiskRead {
    /// Reads heads and small bodies. What is damaged, purged or another URL's is left out.
    pub fn read(self) -> DiskReadResult {
        let Some(disk_tier) = &self.store.disk_tier else {
            return DiskReadResult { entries: Vec::new() };
        };
        let stored = self.candidates.iter().filter_map(|candidate| disk_tier.disk.read(candidate));
        DiskReadResult {
            entries: stored.filter_map(|stored| self.entry(disk_tier, stored)).collect(),
        }
    }

    fn entry(&self, disk_tier: &DiskTier, stored: StoredAnswer) -> Option<Arc<StoredEntry>> {
        if stored.url() != self.key.url() {
            return None;
        }
        let head = StoredHead::decode(&stored.head()).ok()?;
        let mut terms = ReuseTerms::of(&self.rules, &head);
        if stored.purged != PurgeEffect::No {
            terms.end_freshness(terms.age_secs(&head, self.now.unix_ms));
        }
        let budget = &self.store.budget;
        let filed = FiledHead::new(budget, self.key.clone(), &head, terms)?;
        let small = stored.body.inline().and_then(|bytes| FillBody::copied(budget, &bytes));
        let Some(body) = small else {
            return Some(Arc::new(StoredEntry::new(filed, EntryContent::Disk(Arc::new(stored)))));
        };
        disk_tier.disk.hit(&stored);
        let entry = Arc::new(StoredEntry::new(filed, EntryContent::Memory(body)));
        let kept = self.store.tier.insert(&entry, EntrySeen::Before);
        let purged = self.since.purged(&entry);
        if purged.is_some() {
            self.store.tier.remove(&entry);
        }
        // What came meanwhile is found in memory by the second look.
        (purged.is_none() && kept != Err(NotKept::Newer)).then_some(entry)
    }
}

impl Store {
    /// Returns what may be on disk under a key.
    pub(super) fn find_on_disk(
        self: &Arc<Self>,
        key: &CacheKey,
        rules: &CachingRules,
        now: Now,
    ) -> Option<DiskRead> {
        let disk_tier = self.disk_tier.as_ref()?;
        let since = self.purges.watch(key);
        let candidates = disk_tier.disk.find(key.hash());
        (!candidates.is_empty()).then(|| DiskRead {
            store: Arc::clone(self),
            key: key.clone(),
            rules: rules.clone(),
            candidates,
            since,
            now,
        })
    }

    /// Begins to copy an answer to disk, where there is one and memory to gather it in.
    pub(super) fn copy(
        &self,
        permit: &FetchPermit,
        filed: &FiledHead,
        length: Option<u64>,
        rules: &CachingRules,
        now: Now,
    ) -> Option<DiskCopy> {
        let disk_tier = self.disk_tier.as_ref()?;
        let most = GATHERED_BYTES_MAX as u64;
        let gathered =
            self.budget.try_charge(ByteClass::Windows, length.map_or(most, |it| it.min(most)))?;
        let moment = permit.disk_moment?;
        let mut record =
            self.draft(filed, rules, moment, |draft| disk_tier.disk.writer(draft, now))?.ok()?;
        record.expect(length.unwrap_or(0));
        Some(DiskCopy { record, _gathered: gathered })
    }

    /// Writes the newer head of a body to disk, where that is. `old` is what it had before.
    pub(super) fn renew(
        self: &Arc<Self>,
        old: &Arc<StoredEntry>,
        new: &Arc<StoredEntry>,
        rules: &CachingRules,
        now: Now,
    ) {
        let Some(disk_tier) = &self.disk_tier else { return };
        if let EntryContent::Disk(stored) = old.content() {
            self.renew_stored(disk_tier, stored, new, rules, now);
            return;
        }
        // Its place has to be read first: behind the client's back.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if disk_tier.renewals.fetch_add(1, Ordering::Relaxed) >= RENEWALS_MAX {
            disk_tier.renewals.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let (store, old, new) = (Arc::clone(self), Arc::clone(old), Arc::clone(new));
        let rules = rules.clone();
        runtime.spawn_blocking(move || {
            let Some(disk_tier) = &store.disk_tier else { return };
            for candidate in disk_tier.disk.find(new.key().hash()) {
                let Some(stored) = disk_tier.disk.read(&candidate) else { continue };
                // The very answer that was freshened, and no later one.
                let is_it = stored.url() == new.key().url()
                    && StoredHead::decode(&stored.head()).is_ok_and(|head| head == *old.head());
                if is_it {
                    store.renew_stored(disk_tier, &stored, &new, &rules, now);
                    break;
                }
            }
            disk_tier.renewals.fetch_sub(1, Ordering::Relaxed);
        });
    }

    fn renew_stored(
        &self,
        disk_tier: &DiskTier,
        stored: &StoredAnswer,
        new: &FiledHead,
        rules: &CachingRules,
        now: Now,
    ) {
        let moment = disk_tier.disk.moment();
        // An older head that stays on disk is asked about once more, and nothing is wrong.
        let _ = self.draft(new, rules, moment, |draft| disk_tier.disk.renew(stored, draft, now));
    }

    fn draft<T>(
        &self,
        filed: &FiledHead,
        rules: &CachingRules,
        moment: disk_store::LearnedAt,
        give: impl FnOnce(&RecordDraft<'_>) -> T,
    ) -> Option<T> {
        let head = filed.head().encode().ok()?;
        let tags: Vec<&str> = filed.terms().tags.iter().map(|tag| &**tag).collect();
        Some(give(&RecordDraft {
            key: filed.key().hash(),
            variant: self.variant(filed.head()),
            moment,
            url: filed.key().url(),
            tags: &tags,
            head: &head,
            useful_until_ms: useful_until_ms(filed.head(), filed.terms(), rules),
        }))
    }

    /// A hash of the selecting fields, 0 where nothing varies.
    pub(super) fn variant(&self, head: &StoredHead) -> u64 {
        if head.selecting.is_empty() {
            return 0;
        }
        let mut hasher = SipHasher13::new_with_key(&self.seed.0);
        for (name, value) in &head.selecting {
            hasher.write(name.as_str().as_bytes());
            hasher.write(b":");
            hasher.write(value.as_bytes());
            hasher.write(b"\n");
        }
        hasher.finish().max(1)
    }
}

impl DiskTier {
    pub(super) const fn new(disk: DiskStore) -> Self {
        Self { disk, renewals: AtomicUsize::new(0) }
    }
}

/// After when a response is of no use: not fresh, not allowed stale, and nothing to ask about it
/// by.
fn useful_until_ms(head: &StoredHead, terms: &ReuseTerms, rules: &CachingRules) -> u64 {
    if head.etag().is_some() || head.fields.contains_key(http::header::LAST_MODIFIED) {
        return u64::MAX;
    }
    let stale = terms.stale_while_revalidate_secs.max(terms.stale_if_error_secs);
    let secs = u64::from(terms.lifetime_secs) + u64::from(stale.max(rules.stale_max_secs));
    head.received_ms.saturating_add(secs * 1000)
}
