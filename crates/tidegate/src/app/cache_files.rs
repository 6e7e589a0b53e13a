//! Where the DNS caches are kept while the program does not run, and when they are written.
//!
//! Each has a file in the state folder, or the one that a foreign file names for it. A file that is
//! not ours is never written over, and one in a folder that is closed to us cannot be replaced: its
//! cache is kept in the state folder then. What cannot be read
//! or written is told and does no other harm. Called at the start, by the clock, and at the end.

use super::{RunningApp, RunningDoors};
use config::Plan;
use resolver::{CacheId, CacheStats, DumpFile};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest sleep between two looks at what is due: a reload may have named another file.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// Shortest.
const LOOK_MIN: Duration = Duration::from_secs(1);

/// Writes of caches, one at a time.
#[derive(Debug, Default)]
pub(super) struct CacheFiles(Mutex<HashMap<CacheId, LastWrite>>);

/// When a cache was written last, and its numbers then.
#[derive(Debug)]
struct LastWrite {
    at: Instant,
    stats: CacheStats,
}

/// A cache and its file.
struct CacheFile {
    cache: CacheId,
    file: PathBuf,
    /// How often it is written, besides at the end.
    interval: Option<Duration>,
}

impl RunningApp {
    /// The files of all caches of `plan`; none if they are not kept.
    fn cache_files(&self, plan: &Plan) -> Vec<CacheFile> {
        let Some(dns) = plan.file.dns.as_ref().filter(|dns| dns.keep_cache) else {
            return Vec::new();
        };
        let folder = self.state.path().join("dns-cache");
        let count = plan.resolver_settings().caches.len() as u16;
        let dumps = dns.foreign.as_ref().map_or(&[][..], door_dns::ForeignConfig::dumps);
        let one = |cache: CacheId| {
            let named = dumps.iter().find(|it| it.cache == cache);
            let named = named.filter(|it| it.warning().is_none() && may_replace(&it.file));
            CacheFile {
                cache,
                file: named.map_or_else(
                    || folder.join(format!("answers-{}", cache.0)),
                    |it| it.file.clone(),
                ),
                interval: named.map(|it| it.interval),
            }
        };
        (0..count).map(CacheId).map(one).collect()
    }

    /// Takes back what the caches held when the program ended last.
    pub(super) fn restore_caches(&self, plan: &Plan) {
        for CacheFile { cache, file, .. } in self.cache_files(plan) {
            for (file, why) in self.resolver.restore_from(cache, &file).refused {
                log::warn!(target: "cache", "{}: {why}; the cache begins empty", file.display());
            }
        }
    }

    /// Keeps what the caches hold.
    pub(super) fn keep_caches(&self) {
        let kept = self.cache_files(&self.running().plan);
        let mut written = self.caches.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &kept {
            self.keep(one, &mut written);
        }
    }

    /// Writes caches to the files that a foreign file names, as often as it says; never ends.
    pub(super) async fn keep_caches_by_the_clock(self: &Arc<Self>) {
        loop {
            let app = Arc::clone(self);
            let due = tokio::task::spawn_blocking(move || app.keep_due_caches());
            // It has no reason to panic; were it to, it is tried again.
            let next = due.await.unwrap_or(LOOK_AGAIN);
            tokio::time::sleep(next.clamp(LOOK_MIN, LOOK_AGAIN)).await;
        }
    }

    /// Writes those that are due and were used since; says when to look again.
    fn keep_due_caches(&self) -> Duration {
        let mut kept = self.cache_files(&self.running().plan);
        kept.retain(|it| it.interval.is_some());
        let stats = self.resolver.stats().caches;
        let mut written = self.caches.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let mut next = LOOK_AGAIN;
        for one in &kept {
            let stats = stats.get(usize::from(one.cache.0)).copied().unwrap_or_default();
            let interval = one.interval.unwrap_or(LOOK_AGAIN);
            let last = written.entry(one.cache).or_insert(LastWrite { at: now, stats });
            let age = now.saturating_duration_since(last.at);
            if age < interval {
                next = next.min(interval.saturating_sub(age));
            } else if last.stats == stats {
                last.at = now;
            } else {
                self.keep(one, &mut written);
            }
        }
        next
    }

    fn keep(&self, one: &CacheFile, written: &mut HashMap<CacheId, LastWrite>) {
        // Numbers first: what comes meanwhile makes it due again.
        let stats = self.resolver.stats().caches.get(usize::from(one.cache.0)).copied();
        written
            .insert(one.cache, LastWrite { at: Instant::now(), stats: stats.unwrap_or_default() });
        // A named file may have become somebody else's since it was looked at; the state folder is
        // ours.
        if one.interval.is_some() && matches!(DumpFile::at(&one.file), Ok(DumpFile::Foreign)) {
            return;
        }
        let folder = match (one.interval, one.file.parent()) {
            (None, Some(folder)) => std::fs::create_dir_all(folder),
            // The folder of a named file is its owner's to make.
            (Some(_), _) | (None, None) => Ok(()),
        };
        if let Err(why) = folder.and_then(|()| self.resolver.dump_to(one.cache, &one.file)) {
            let file = one.file.display();
            log::warn!(target: "cache", "{file}: the cache could not be kept: {why}");
        }
    }

    pub(super) fn running(&self) -> std::sync::MutexGuard<'_, RunningDoors> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a file can be made in the folder of this one, which need not be there.
fn may_replace(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, folder, wanted, AtFlags::EACCESS) != Err(Errno::ACCESS)
}
