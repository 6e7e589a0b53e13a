//! Names that servers of a pool are found by: each address, or each SRV record, is one of its own.
//!
//! What is found comes in, what is found no more goes, and what stays keeps all that is known of
//! it. A look-up that fails changes nothing. Called by `watch`; it asks through `Dialer::discover`.

use super::watch::{UNDER_WAY, WatchMeans};
use super::{PoolMembers, ServerPool};
use crate::random;
use crate::server::{OrderChange, PooledServer, ServerRank};
use crate::settings::{ResolveChoice, SERVERS_MAX, ServerDetails, WEIGHT_MAX};
use origins::{FoundServer, OriginServer as Address, SeekResult};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use transport::clock;
use vocab::Now;

/// Shortest time until a name is looked up again, whatever the time of its answer.
const TTL_MIN: Duration = Duration::from_secs(1);
/// And at the latest: a server that is new should not wait for a day.
const TTL_MAX: Duration = Duration::from_mins(5);
/// After a failure it is looked up again soon, then later and later, up to this.
const RETRY_MS_MAX: u64 = 30_000;
/// A look-up comes up to a tenth later than it might, so that they do not all come at once.
const JITTER_PART: u64 = 10;

/// An entry of the pool whose servers DNS names.
#[derive(Debug)]
pub(super) struct ResolvedEntry {
    pub(super) details: ServerDetails,
    address: Address,
    pub(super) choice: ResolveChoice,
    /// When it is looked up next, on the clock that never goes back.
    due_ms: AtomicU64,
    history: Mutex<LookupHistory>,
}

/// Holds what look-ups have brought so far.
#[derive(Debug, Default)]
struct LookupHistory {
    /// They failed so often, one after another.
    failures: u32,
    outcome: LookupOutcome,
    /// When the last one ended, on the clock that never goes back.
    ended_ms: Option<u64>,
    /// Servers that were found and have no room in the pool.
    untaken: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum LookupOutcome {
    /// None has ended.
    #[default]
    Open,
    /// The last one was answered.
    Answered,
    /// The last one failed.
    Failed(String),
}

impl ResolvedEntry {
    /// An entry whose servers are to be found; none if it is a server itself.
    pub(super) fn new(details: &ServerDetails) -> Option<Self> {
        Some(Self {
            choice: details.resolve?,
            address: details.url.parse().ok()?,
            details: details.clone(),
            due_ms: AtomicU64::new(0),
            history: Mutex::default(),
        })
    }

    fn history(&self) -> MutexGuard<'_, LookupHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn due_ms(&self) -> u64 {
        self.due_ms.load(Relaxed)
    }

    /// When it is looked up next, on the clock that never goes back; none while it is being looked
    /// up.
    pub(super) fn next_ms(&self) -> Option<u64> {
        Some(self.due_ms()).filter(|due_ms| *due_ms != UNDER_WAY)
    }

    /// When the last look-up ended, on the same clock; none before the first.
    pub(super) fn looked_up_ms(&self) -> Option<u64> {
        self.history().ended_ms
    }

    pub(super) fn look_up_at(&self, due_ms: u64) {
        self.due_ms.store(due_ms, Relaxed);
    }

    /// True if nobody knows yet who its servers are.
    pub(super) fn is_open(&self) -> bool {
        self.history().outcome == LookupOutcome::Open
    }

    /// Why the last look-up failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        match &self.history().outcome {
            LookupOutcome::Failed(why) => Some(why.clone()),
            LookupOutcome::Open | LookupOutcome::Answered => None,
        }
    }

    /// True if `server` was found by it.
    pub(super) fn has_found(&self, server: &PooledServer) -> bool {
        let found = server.found.as_ref();
        found.is_some_and(|by| *by.entry == *self.details.url && by.choice == self.choice)
    }

    /// A server that was found by an entry like this one, as this one has it.
    pub(super) fn keep(&self, before: &PooledServer) -> Option<PooledServer> {
        let found = before.found.as_ref().filter(|_| self.has_found(before))?;
        let rank = match self.choice {
            ResolveChoice::Addresses => self.configured_rank(),
            ResolveChoice::Srv => before.rank(),
        };
        let (address, name) = (before.address.clone(), found.name.clone());
        let kept = PooledServer::found(&self.details, self.choice, address, name, rank);
        kept.inherit_stats(before);
        Some(kept)
    }

    fn configured_rank(&self) -> ServerRank {
        ServerRank { weight: self.details.weight, backup: self.details.backup }
    }

    /// Returns what `found` get and when. SRV records of the lowest priority serve, the others are
    /// backups; their weights are made to fit ours, in proportion.
    fn ranks(&self, found: &[FoundServer]) -> Vec<ServerRank> {
        if self.choice == ResolveChoice::Addresses {
            return vec![self.configured_rank(); found.len()];
        }
        let first = found.iter().map(|it| it.priority).min();
        let is_backup = |it: &FoundServer| Some(it.priority) != first;
        let heaviest = |backup: bool| {
            let ranked = found.iter().filter(|it| is_backup(it) == backup);
            ranked.map(|it| u32::from(it.weight)).max().unwrap_or(0).max(WEIGHT_MAX)
        };
        let most = [heaviest(false), heaviest(true)];
        let rank = |it: &FoundServer| {
            let backup = is_backup(it);
            let most = most[usize::from(backup)];
            let weight = (u32::from(it.weight) * WEIGHT_MAX + most / 2) / most;
            ServerRank { weight: weight.max(1), backup }
        };
        found.iter().map(rank).collect()
    }

    /// Notes how a look-up has ended; says what of it is news. What was answered holds for `ttl`;
    /// what failed is asked again soon, then later and later.
    fn ended(
        &self,
        ttl: Duration,
        failure: Option<String>,
        untaken: usize,
        now: Now,
    ) -> Vec<LookupNews> {
        let mut said = self.history();
        let mut wait_ms = u64::try_from(ttl.clamp(TTL_MIN, TTL_MAX).as_millis()).unwrap_or(0);
        let mut news = Vec::new();
        if untaken > 0 && said.untaken == 0 {
            news.push(LookupNews::NoRoom(untaken));
        }
        said.untaken = untaken;
        said.ended_ms = Some(now.mono_ms);
        said.outcome = if let Some(why) = failure {
            if said.failures == 0 {
                news.push(LookupNews::Failed(why.clone()));
            }
            wait_ms = wait_ms.min((1_000 << said.failures.min(16)).min(RETRY_MS_MAX));
            said.failures = said.failures.saturating_add(1);
            LookupOutcome::Failed(why)
        } else {
            said.failures = 0;
            LookupOutcome::Answered
        };
        drop(said);
        let jitter = (random::bits() >> 32) % (wait_ms / JITTER_PART + 1);
        self.look_up_at(now.mono_ms + wait_ms + jitter);
        news
    }
}

/// Looks `entry` of the pool called `name` up, and puts what comes of it into the pool.
pub(super) async fn look_up(
    name: String,
    pool: Arc<ServerPool>,
    entry: Arc<ResolvedEntry>,
    means: WatchMeans,
) {
    let sought = means.dialer.discover(&entry.address, entry.choice.into()).await;
    let (now, url) = (clock::now(), &entry.details.url);
    let news = match sought {
        Ok(sought) => {
            let untaken = pool.apply_lookup(&entry, &sought, now) + sought.left_out;
            entry.ended(sought.ttl, sought.failure.map(|why| why.to_string()), untaken, now)
        }
        Err(why) => entry.ended(TTL_MAX, Some(why.to_string()), 0, now),
    };
    for news in news {
        (means.log)(&format!("gateway: pool {name}: {url} {news}"));
    }
    // Those who wait for the first answer go on, or hear that nobody is there.
    pool.serve_line();
}

/// Tells what an administrator should know of a look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LookupNews {
    /// Failed, and the one before did not.
    Failed(String),
    /// So many servers have no room, and there was room before.
    NoRoom(usize),
}

impl fmt::Display for LookupNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => {
                write!(f, "could not be looked up: {why}; it keeps the servers that it had")
            }
            Self::NoRoom(untaken) => write!(
                f,
                "leads to {untaken} servers more than there is room for: a pool has \
                 {SERVERS_MAX} at most"
            ),
        }
    }
}

impl ServerPool {
    /// Takes the servers that `entry` stands for now; says how many have no room.
    pub(super) fn apply_lookup(
        &self,
        entry: &Arc<ResolvedEntry>,
        sought: &SeekResult,
        now: Now,
    ) -> usize {
        let _turn = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let members = self.members.load_full();
        // It may have been removed meanwhile.
        if !members.entries.iter().any(|it| Arc::ptr_eq(it, entry)) {
            return 0;
        }
        let mut servers = members.servers.clone();
        servers.retain(|server| !entry.has_found(server) || still_found(server, sought));
        let mut change = if servers.len() == members.servers.len() {
            OrderChange::Same
        } else {
            OrderChange::Rebuild
        };
        let mut untaken = 0;
        for (found, rank) in sought.found.iter().zip(entry.ranks(&sought.found)) {
            let url = found.server.to_string();
            match servers.iter().find(|it| *it.url == url) {
                // What is written, or was found by another name before, stands for itself.
                Some(same) if entry.has_found(same) => {
                    if same.update_rank(rank) == OrderChange::Rebuild {
                        change = OrderChange::Rebuild;
                    }
                }
                Some(_) => {}
                None if servers.len() >= SERVERS_MAX => untaken += 1,
                None => {
                    let (address, name) = (found.server.clone(), found.name.clone());
                    let server =
                        PooledServer::found(&entry.details, entry.choice, address, name, rank);
                    server.start_slow_start(now);
                    servers.push(Arc::new(server));
                    change = OrderChange::Rebuild;
                }
            }
        }
        if change == OrderChange::Rebuild {
            self.members.store(Arc::new(PoolMembers::new(servers, members.entries.clone())));
        }
        untaken
    }
}

/// True if a server that was found is found again, or nobody said that it is not.
fn still_found(server: &PooledServer, sought: &SeekResult) -> bool {
    let Some(by) = &server.found else { return true };
    sought.found.iter().any(|it| it.server == server.address)
        || server.address.address().is_some_and(|at| sought.is_unanswered(&by.name, at.ip()))
}

#[cfg(test)]
mod tests;
