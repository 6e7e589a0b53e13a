//! The store as doors see it: what is at hand for a request, who fetches, and what becomes of answers.
//!
//! It brings rules, fetches and the memory tier together, and decides nothing that they could. It sends
//! nothing. A door calls [`Store::look_up`] once a request; what it gets says what to do next, and every
//! way ends in a [`Filed`](crate::Filed) head with a body, or in a reason.

mod answer;
mod at_hand;
mod depot;
mod figures;
mod lead;
mod look_up;
mod purge;
mod since;
mod storing;

use crate::budget::{Budget, Charge, Class};
use crate::disk::{self, Disk, OpenError, Recovered};
use crate::fill::Body;
use crate::freshness::{Rules, Terms, explain, not_as_it_is};
use crate::head::Head;
use crate::herd::Herd;
use crate::in_words::{Secs, Size};
use crate::key::{Key, Seed};
use crate::memory::{Content, Entry, Filed, Tier};
use crate::settings::Settings;
use crate::unkept::Unkept;
pub use answer::{Answer, Unstored};
pub use at_hand::AtHand;
use depot::Depot;
pub use depot::{Recall, Recalled};
use figures::Counts;
pub use figures::{Counters, Figures};
pub use lead::{Join, Joined, Lead, Reading};
pub use look_up::{Found, Unfetched};
pub use purge::Purged;
use since::Purges;
use std::sync::Arc;
pub use storing::{Kept, Storing};
use vocab::Now;

/// The store. One for all doors that fetch; shared by all cores.
pub struct Store {
    settings: Settings,
    seed: Seed,
    budget: Arc<Budget>,
    tier: Arc<Tier>,
    herd: Arc<Herd>,
    depot: Option<Depot>,
    purges: Arc<Purges>,
    unkept: Unkept,
    counts: Counts,
}

impl Store {
    /// Opens the store: empty, or with what is on disk. `seed` is secret and random, and stays with a
    /// new folder; `cores`: how many threads will ask it. Waits for the disk.
    pub fn open(
        settings: Settings,
        seed: Seed,
        cores: u64,
        now: Now,
    ) -> Result<(Arc<Self>, Option<Recovered>), OpenError> {
        let (mut seed, mut depot, mut recovered) = (seed, None, None);
        if let Some(on_disk) = &settings.disk {
            let usual = disk::Settings::new(on_disk.path.clone(), on_disk.size.bytes(), seed);
            let queue_bytes = settings.disk_queue_bytes();
            let place = disk::Settings { queue_bytes, ..usual };
            let (disk, found) = Disk::open(&place, now)?;
            seed = found.seed;
            recovered = Some(found);
            depot = Some(Depot::new(disk));
        }
        let budget = Budget::new(settings.memory.bytes());
        let tier = Tier::new(&budget, cores);
        let herd = Herd::new(&budget);
        let (purges, counts) = (Arc::new(Purges::default()), Counts::default());
        let unkept = Unkept::new(&budget);
        let store = Self { settings, seed, budget, tier, herd, depot, purges, unkept, counts };
        Ok((Arc::new(store), recovered))
    }

    /// The key of a canonical absolute URL.
    pub fn key(&self, url: &str) -> Key {
        Key::new(&self.seed, url)
    }

    /// The account of its memory.
    pub const fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Counts bytes that are read from disk for a client as on their way, until the charge is dropped.
    /// `None` where memory has no room for them: read less at once.
    pub fn charge_reading(&self, bytes: u64) -> Option<Charge> {
        self.budget.try_charge(Class::Windows, bytes)
    }

    /// Waits until all that was handed to the disk so far is written, or given up: before the program
    /// ends.
    pub fn settle(&self) {
        if let Some(depot) = &self.depot {
            depot.disk.settle();
        }
    }

    /// What is known of a URL, a sentence for each variant, the newest first; whether it is being fetched;
    /// and why its last answer was not stored, if that is remembered.
    pub fn explain(&self, key: &Key, rules: &Rules, now: Now) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some((first, others)) = self.tier.find(key) {
            lines.extend(std::iter::once(first).chain(others).map(|entry| {
                let what = match entry.content() {
                    Content::Memory(_) => "in memory",
                    Content::Front(_) => "of its front in memory",
                    Content::Disk(_) => "on disk",
                };
                let text = explain(rules, entry.head(), entry.terms(), now);
                let size = Size(entry.content().len());
                let mut line = format!("{}, {size} {what}: {text}", entry.head().status);
                // Of a front the rest is asked for, whatever its age.
                if !entry.is_front()
                    && let Some(why) =
                        not_as_it_is(rules, key.url(), entry.head(), entry.terms(), now)
                {
                    line.push_str("; ");
                    line.push_str(&why);
                }
                line
            }));
        }
        if let Some(depot) = &self.depot {
            match depot.disk.find(key.hash()).len() {
                0 => {}
                count => lines.push(format!("on disk, not read for this: {count}")),
            }
        }
        match self.herd.flights(key) {
            0 => {}
            count => lines.push(format!("being fetched for all who ask: {count}")),
        }
        if self.herd.is_alone(key, now) {
            lines.push("its last answer could not be shared, so nobody waits for another's".into());
        }
        if let Some((why, secs)) = self.unkept.find(key.hash(), now) {
            let ago = Secs(secs);
            lines.push(format!("its last answer, asked for {ago} ago, was not stored: {why}"));
        }
        lines
    }

    /// Files a head anew over the same body: freshened, or with its freshness ended. `None` where the
    /// account has no room for it.
    fn refile(&self, entry: &Entry, head: &Head, terms: Terms) -> Option<Arc<Entry>> {
        let filed = Filed::new(&self.budget, entry.key().clone(), head, terms)?;
        Some(Arc::new(Entry::new(filed, entry.content().clone())))
    }

    /// The longest body that a fetch keeps while it comes, in bytes.
    fn keep_bytes_max(&self) -> u64 {
        self.settings.memory_object.bytes().min(self.tier.body_bytes_max())
    }
}

/// What is there of a body whose fetch broke off.
fn front_of(entry: &Entry) -> Body {
    match entry.content() {
        Content::Front(body) => body.clone(),
        Content::Memory(_) | Content::Disk(_) => Body::default(),
    }
}
