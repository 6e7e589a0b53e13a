//! A cache with its store: opened once, kept through reloads, run without its disk where that
//! fails.
//!
//! It decides nothing about requests. Made by a door from its settings, for a look whether they
//! would do too: only what is opened or used takes its folder.

use crate::disk_reads::DiskReadQueue;
use crate::freshness::FreshnessRule;
use crate::second_level::{SecondLevelSlot, SharingScope, scope_of};
use crate::settings::Settings;
use disk_store::PurgeHistory;
use http_freshness::{CachingRules, SetCookie};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use store::{KeySeed, Store};
use vocab::Now;

/// Holds what a cache finds around it.
#[derive(Clone)]
pub struct CacheEnvironment {
    /// The time.
    pub clock: fn() -> Now,
    /// The state folder: relative paths of a disk tier begin here.
    pub folder: PathBuf,
    /// Takes a line for the administrator: why there is no disk tier.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
    /// Responses that other machines have stored.
    pub second_level: SecondLevelSlot,
}

/// A store with the rules of one door, and the clock.
#[derive(Clone)]
pub struct HttpCache {
    settings: store::Settings,
    /// Shared with the caches of reloads that leave it as it is.
    store: Arc<OnceLock<Arc<Store>>>,
    pub(crate) rules: CachingRules,
    pub(crate) clock: fn() -> Now,
    pub(crate) reads: DiskReadQueue,
    log: Arc<dyn Fn(&str) + Send + Sync>,
    pub(crate) second_level: SecondLevelSlot,
    /// Scope in which responses are shared with other machines; none where they are not.
    pub(crate) sharing: Option<SharingScope>,
}

impl HttpCache {
    /// A cache as `settings` have it, by the rules of a kind of door. What `before` has stored
    /// stays, unless the store itself is to be another, or is to serve another audience.
    pub fn new(
        settings: &Settings,
        of_door: &CachingRules,
        before: Option<&Self>,
        around: &CacheEnvironment,
    ) -> Arc<Self> {
        let mut wanted = settings.store(&around.folder);
        let kept = before
            .filter(|it| it.rules.audience == settings.audience() && it.can_continue_with(&wanted));
        if let Some(kept) = kept
            && kept.settings != wanted
        {
            (around.log)(
                "cache: its folder is in use, so its new sizes take effect at the next start",
            );
            wanted = kept.settings.clone();
        }
        let store = kept.map(|it| Arc::clone(&it.store)).unwrap_or_default();
        let reads = kept.map(|it| it.reads.clone()).unwrap_or_default();
        let (clock, tell) = (around.clock, Arc::clone(&around.log));
        Arc::new(Self {
            settings: wanted,
            store,
            rules: settings.rules(of_door),
            clock,
            reads,
            log: tell,
            second_level: around.second_level.clone(),
            sharing: None,
        })
    }

    /// The same store under rules that differ in what becomes of `Set-Cookie`.
    pub fn with_cookies(&self, cookies: SetCookie) -> Arc<Self> {
        self.with_rules(CachingRules { cookies, ..self.rules })
    }

    /// The same store under rules that differ in how long responses are fresh.
    pub fn with_freshness(&self, rule: &FreshnessRule) -> Arc<Self> {
        self.with_rules(rule.rules(&self.rules))
    }

    /// The same store, whose responses are shared with machines that have the same settings: its
    /// own rules, and these.
    pub fn shared_by(&self, settings: &dyn Debug) -> Arc<Self> {
        let rules = self.rules.clone();
        let sharing = Some(scope_of(&(&rules, settings)));
        Arc::new(Self { sharing, ..Arc::unwrap_or_clone(self.with_rules(rules)) })
    }

    /// The rules by which it stores and reuses.
    pub const fn rules(&self) -> &CachingRules {
        &self.rules
    }

    fn with_rules(&self, rules: CachingRules) -> Arc<Self> {
        Arc::new(Self {
            settings: self.settings.clone(),
            store: Arc::clone(&self.store),
            rules,
            clock: self.clock,
            reads: self.reads.clone(),
            log: Arc::clone(&self.log),
            second_level: self.second_level.clone(),
            sharing: self.sharing,
        })
    }

    /// Opens its store, so that no client waits for that. Waits for the disk.
    pub fn open(&self) {
        self.store();
    }

    /// Waits until all that was handed to the disk is written, or given up: before the program
    /// ends.
    pub fn flush(&self) {
        if let Some(store) = self.store.get() {
            store.flush();
        }
    }

    /// Leaves what is on disk to another process; the next reload opens it again. Waits for the
    /// disk.
    pub fn close_disk(&self) {
        if let Some(store) = self.store.get() {
            store.close_disk();
        }
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.store.get_or_init(|| self.opened())
    }

    /// True if its store goes on with these settings: it has them, or it holds the folder that they
    /// name.
    fn can_continue_with(&self, wanted: &store::Settings) -> bool {
        let folder = |of: &store::Settings| of.disk.as_ref().map(|disk| disk.path.clone());
        let holds = || self.store.get().is_some_and(|store| store.stats().disk.is_some());
        if self.store.get().is_some_and(|store| store.has_closed_disk()) {
            return false;
        }
        self.settings == *wanted
            || (folder(wanted).is_some() && folder(wanted) == folder(&self.settings) && holds())
    }

    fn opened(&self) -> Arc<Store> {
        let now = (self.clock)();
        let cores = std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
        let why = match Store::open(self.settings.clone(), KeySeed::random(), cores, now) {
            Ok((store, recovered)) => {
                if recovered.is_some_and(|it| it.purges == PurgeHistory::Lost) {
                    (self.log)(
                        "cache: the log of its purges is damaged, so all that was on disk is purged",
                    );
                }
                return store;
            }
            Err(why) => why,
        };
        (self.log)(&format!("cache: {why}; it runs in memory alone until the next start"));
        let in_memory = store::Settings { disk: None, ..self.settings.clone() };
        let (store, _) = Store::open(in_memory, KeySeed::random(), cores, now)
            .expect("only a disk tier can fail to open");
        store
    }
}
