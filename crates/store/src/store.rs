//! The store as doors see it: what is at hand for a request, who fetches, and what becomes of
//! answers.
//!
//! It brings rules, fetches and the memory tier together, and decides nothing that they could. It
//! sends nothing. A door calls [`Store::look_up`] once a request; what it gets says what to do
//! next, and every way ends in a [`FiledHead`](crate::FiledHead) head with a body, or in a reason.

mod answer;
mod disk_tier;
mod fetch_permit;
mod look_up;
mod memory_hit;
mod purge;
mod purge_watch;
mod shared_answer;
mod stats;
mod storing;
mod walk;

use crate::budget::{Budget, ByteCharge, ByteClass};
use crate::fill::FillBody;
use crate::memory::{EntryContent, FiledHead, MemoryTier, StoredEntry};
use crate::request_collapser::RequestCollapser;
use crate::settings::Settings;
use crate::size_text::SizeText;
use crate::uncacheable::UncacheableTable;
pub use answer::{AnswerPlan, UnstoredReason};
use disk_store::{CacheKey, DiskStore, KeySeed, OpenError, RecoveredDisk};
use disk_tier::DiskTier;
pub use disk_tier::{DiskRead, DiskReadResult};
pub use fetch_permit::{FetchPermit, JoinOutcome, JoinedFetch, SharedReading};
use http_freshness::{CachingRules, ReuseTerms, SecondsText, StoredHead, explain, why_not_fresh};
pub use look_up::{CacheLookup, UnfetchedReason};
pub use memory_hit::AtHand;
pub use purge::PurgeReport;
use purge_watch::RecentPurges;
pub use purge_watch::host_of;
use stats::Counts;
pub use stats::{Counters, StoreFigures};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
pub use storing::{StoreOutcome, StoringAnswer};
use vocab::Now;
pub use walk::{ResponseStanding, StoredPlace, WalkUnderWay, WalkedResponse};

/// The store. One for all doors that fetch; shared by all cores.
pub struct Store {
    settings: Settings,
    seed: KeySeed,
    budget: Arc<Budget>,
    tier: Arc<MemoryTier>,
    collapser: Arc<RequestCollapser>,
    disk_tier: Option<DiskTier>,
    has_closed_disk: AtomicBool,
    purges: Arc<RecentPurges>,
    uncacheable: UncacheableTable,
    /// Held by whoever walks through all of it.
    walk_turn: Mutex<()>,
    counts: Counts,
}

impl Store {
    /// Opens the store: empty, or with what is on disk. `seed` is secret and random, and stays with
    /// a new folder; `cores`: how many threads will ask it. Waits for the disk.
    pub fn open(
        settings: Settings,
        seed: KeySeed,
        cores: u64,
        now: Now,
    ) -> Result<(Arc<Self>, Option<RecoveredDisk>), OpenError> {
        let (mut seed, mut disk_tier, mut recovered) = (seed, None, None);
        if let Some(on_disk) = &settings.disk {
            let usual = disk_store::Settings::new(on_disk.path.clone(), on_disk.size.bytes(), seed);
            let queue_bytes = settings.disk_queue_bytes();
            let place = disk_store::Settings { queue_bytes, ..usual };
            let (disk, found) = DiskStore::open(&place, now)?;
            seed = found.seed;
            recovered = Some(found);
            disk_tier = Some(DiskTier::new(disk));
        }
        let budget = Budget::new(settings.memory.bytes());
        let tier = MemoryTier::new(&budget, cores);
        let collapser = RequestCollapser::new(&budget);
        let (purges, counts) = (Arc::new(RecentPurges::default()), Counts::default());
        let uncacheable = UncacheableTable::new(&budget);
        let store = Self {
            settings,
            seed,
            budget,
            tier,
            collapser,
            disk_tier,
            has_closed_disk: AtomicBool::new(false),
            purges,
            uncacheable,
            walk_turn: Mutex::default(),
            counts,
        };
        Ok((Arc::new(store), recovered))
    }

    /// The key of a canonical absolute URL.
    pub fn key(&self, url: &str) -> CacheKey {
        CacheKey::new(&self.seed, url)
    }

    /// The account of its memory.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts bytes that are read from disk for a client as on their way, until the charge is
    /// dropped. `None` where memory has no room for them: read less at once.
    pub fn charge_reading(&self, bytes: u64) -> Option<ByteCharge> {
        self.budget.try_charge(ByteClass::Windows, bytes)
    }

    /// Waits until all that was handed to the disk so far is written, or given up: before the
    /// program ends.
    pub fn flush(&self) {
        if let Some(disk_tier) = &self.disk_tier {
            disk_tier.disk.flush();
        }
    }

    /// Leaves the folder on disk to another process; what is in memory stays. Waits for the disk.
    pub fn close_disk(&self) {
        if let Some(disk_tier) = &self.disk_tier {
            disk_tier.disk.close();
            self.has_closed_disk.store(true, Ordering::Relaxed);
        }
    }

    /// True once its folder was left to another process.
    pub fn has_closed_disk(&self) -> bool {
        self.has_closed_disk.load(Ordering::Relaxed)
    }

    /// Returns what is known of a URL, a sentence for each variant, the newest first; whether it is
    /// being fetched; and why its last answer was not stored, if that is remembered.
    pub fn explain(&self, key: &CacheKey, rules: &CachingRules, now: Now) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((first, others)) = self.tier.find(key) {
            lines.extend(std::iter::once(first).chain(others).map(|entry| {
                let what = match entry.content() {
                    EntryContent::Memory(_) => "in memory",
                    EntryContent::Partial(_) => "of its front in memory",
                    EntryContent::Disk(_) => "on disk",
                };
                let text = explain(rules, entry.head(), entry.terms(), now);
                let size = SizeText(entry.content().len());
                let mut line = format!("{}, {size} {what}: {text}", entry.head().status);
                // Of a front the rest is asked for, whatever its age.
                if !entry.is_partial()
                    && let Some(why) =
                        why_not_fresh(rules, key.url(), entry.head(), entry.terms(), now)
                {
                    line.push_str("; ");
                    line.push_str(&why);
                }
                line
            }));
        }
        if let Some(disk_tier) = &self.disk_tier {
            match disk_tier.disk.find(key.hash()).len() {
                0 => {}
                count => lines.push(format!("on disk, not read for this: {count}")),
            }
        }
        match self.collapser.in_flight(key) {
            0 => {}
            count => lines.push(format!("being fetched for all who ask: {count}")),
        }
        if self.collapser.is_uncollapsed(key, now) {
            lines.push(
                "its last answer could not be shared, so no client waits for another's".into(),
            );
        }
        if let Some((why, secs)) = self.uncacheable.find(key.hash(), now) {
            let ago = SecondsText(secs);
            lines.push(format!("its last answer, asked for {ago} ago, was not stored: {why}"));
        }
        lines
    }

    /// Files a head anew over the same body: freshened, or with its freshness ended. `None` where
    /// the account has no room for it.
    fn replace_head(
        &self,
        entry: &StoredEntry,
        head: &StoredHead,
        terms: ReuseTerms,
    ) -> Option<Arc<StoredEntry>> {
        let filed = FiledHead::new(&self.budget, entry.key().clone(), head, terms)?;
        Some(Arc::new(StoredEntry::new(filed, entry.content().clone())))
    }

    /// The longest body that a fetch keeps while it comes, in bytes.
    fn keep_bytes_max(&self) -> u64 {
        self.settings.memory_object.bytes().min(self.tier.body_bytes_max())
    }
}

/// Returns what is there of a body whose fetch broke off.
fn stored_prefix(entry: &StoredEntry) -> FillBody {
    match entry.content() {
        EntryContent::Partial(body) => body.clone(),
        EntryContent::Memory(_) | EntryContent::Disk(_) => FillBody::default(),
    }
}
