//! Work for pools beside requests: health checks of servers, look-ups of their names, and looks at
//! the files that name them.
//!
//! One thread for all pools of a door. It walks those that are in force, so that servers that come
//! and go need no notice, and ends with its door. Started by `door`.

use super::{ServerPool, health, names};
use crate::open::Pools;
use arc_swap::ArcSwap;
use origins::{Dialer, OriginLimits, Origins};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use transport::clock;

/// Servers and names that are asked at once; further ones are asked later.
const ASKED_MAX: usize = 256;
/// Time for which servers that are found, and the end of the door, may go unnoticed.
const LOOK: Duration = Duration::from_millis(500);
/// Asking is under way: it says itself when it is due next.
pub(super) const UNDER_WAY: u64 = u64::MAX;

/// Holds what the thread asks with, and whom it tells what an administrator should know.
#[derive(Clone)]
pub struct WatchMeans {
    /// Opens connections, and looks names up.
    pub dialer: Dialer,
    /// Takes a line for the administrator.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The pools that are seen to.
#[derive(Debug, Default)]
pub struct PoolWatch {
    pools: Arc<ArcSwap<Pools>>,
    /// Told when there are others.
    changed: Arc<Notify>,
    thread: Mutex<WatchThread>,
}

/// The thread that does it. Held by whoever changes what is seen to.
#[derive(Debug, Default, PartialEq, Eq)]
enum WatchThread {
    #[default]
    NotNeeded,
    Runs,
}

impl PoolWatch {
    /// Has a thread ready if one of `pools` wants to be seen to.
    pub fn prepare(&self, pools: &Pools, means: &WatchMeans) -> io::Result<()> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if *thread == WatchThread::NotNeeded && pools.values().any(|pool| pool.is_watched()) {
            let (pools, changed) = (Arc::downgrade(&self.pools), Arc::clone(&self.changed));
            let means = means.clone();
            let runtime = move || {
                // A local runtime cannot leave its thread, so it is built here.
                let built =
                    Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
                if let Ok(runtime) = built {
                    runtime.block_on(run(pools, &changed, means));
                }
            };
            std::thread::Builder::new().name("gateway-pools".into()).spawn(runtime)?;
            *thread = WatchThread::Runs;
        }
        Ok(())
    }

    /// Sees to those of the pools that want it, from now on. What is in force is asked for here, so
    /// that nobody puts older ones in place of newer ones.
    pub fn watch(&self, in_force: impl FnOnce() -> Pools) {
        let _turn = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pools = in_force();
        pools.retain(|_, pool| pool.is_watched());
        self.pools.store(Arc::new(pools));
        self.changed.notify_one();
    }
}

impl ServerPool {
    /// True if its servers are asked how they are, or found by name.
    fn is_watched(&self) -> bool {
        self.settings.health.is_some()
            || self.file.is_some()
            || !self.members.load().entries.is_empty()
    }

    /// Takes the servers of its file, if that has changed; one that is wrong changes nothing.
    fn look_at_file(self: &Arc<Self>, name: &str, now_ms: u64, means: &WatchMeans) -> Duration {
        let Some(file) = &self.file else { return LOOK };
        if file.due_ms() > now_ms {
            return Duration::from_millis(file.due_ms() - now_ms);
        }
        // The file is small, and this thread serves no request.
        let Some(taken) = file.look(now_ms).map(|found| self.take_file(found)) else { return LOOK };
        let (path, count) = (file.path().display(), self.server_count());
        (means.log)(&match taken {
            Ok(()) => format!("gateway: pool {name} has {count} servers, as {path} says"),
            Err(why) => format!("gateway: pool {name} keeps its servers: {path}: {why}"),
        });
        LOOK
    }
}

async fn run(pools: Weak<ArcSwap<Pools>>, changed: &Notify, means: WatchMeans) {
    let limits = OriginLimits { idle_per_origin_max: 0, idle_max: 0, ..OriginLimits::default() };
    let origins = Arc::new(Origins::new(means.dialer.clone(), limits));
    let mut asked = JoinSet::new();
    loop {
        let Some(watched) = pools.upgrade().map(|pools| pools.load_full()) else { return };
        let mut wait = LOOK;
        for (name, pool) in watched.iter() {
            wait = wait.min(pool.look_at_file(name, clock::now().mono_ms, &means));
            wait = wait.min(start_checks(name, pool, &origins, &means, &mut asked));
        }
        drop(watched);
        tokio::select! {
            _ = asked.join_next(), if !asked.is_empty() => {}
            () = changed.notified() => {}
            () = sleep(wait) => {}
        }
    }
}

/// Begins what is due for a pool; says when something more will be, if that is soon.
fn start_checks(
    name: &str,
    pool: &Arc<ServerPool>,
    origins: &Arc<Origins>,
    means: &WatchMeans,
    asked: &mut JoinSet<()>,
) -> Duration {
    let now_ms = clock::now().mono_ms;
    let members = pool.members.load();
    let mut wait = LOOK;
    let mut is_due = |due_ms: u64, asked: &JoinSet<()>| {
        let is_due = due_ms <= now_ms && asked.len() < ASKED_MAX;
        if !is_due {
            wait = wait.min(Duration::from_millis(due_ms.saturating_sub(now_ms).max(1)));
        }
        is_due
    };
    for entry in &members.entries {
        if is_due(entry.due_ms(), asked) {
            entry.look_up_at(UNDER_WAY);
            let (pool, entry) = (Arc::clone(pool), Arc::clone(entry));
            asked.spawn_local(names::look_up(name.to_owned(), pool, entry, means.clone()));
        }
    }
    if pool.settings.health.is_some() {
        for server in &members.servers {
            if is_due(server.check_due_ms(), asked) {
                server.check_at(UNDER_WAY);
                let server = Arc::clone(server);
                asked.spawn_local(health::check(Arc::clone(pool), server, Arc::clone(origins)));
            }
        }
    }
    wait
}

impl fmt::Debug for WatchMeans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").finish_non_exhaustive()
    }
}
