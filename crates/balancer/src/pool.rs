//! Servers that serve the same: which of them gets a request, and what becomes of those that fail.
//!
//! A pool picks, counts and judges; it opens no connection itself. It outlives a reload that leaves
//! its settings as they are. A request picks, tries and
//! reports; `open` makes pools.

mod health;
mod lease;
mod live;
mod names;
mod queue;
mod watch;

pub use self::lease::{CookieScope, ServerLease};
pub use self::live::{NameState, PoolChange, PoolState, PoolUnchanged, ServerState};
pub use self::queue::{QueueReport, UnservedReason, WaitingFigures};
pub use self::watch::{PoolWatch, WatchMeans};

use self::names::ResolvedEntry;
use self::queue::PoolQueue;
use crate::balance::BalanceChoice;
use crate::budget::RetryBudget;
use crate::key::{HashKey, cookie};
use crate::order::{PoolTiers, ServerTier};
use crate::outlier_ejection::{AttemptOutcome, OutlierEjection};
use crate::server::{LeasePurpose, PooledServer, ServerStanding};
use crate::servers_file::ServersFile;
use crate::settings::{
    BalanceMethod, PoolSettings, RequestPriority, RetryCause, RetryOn, SERVERS_MAX, ServerDetails,
    ServerSettings,
};
use crate::sign::RequestSign;
use crate::tried::TriedServers;
use arc_swap::ArcSwap;
use http::{HeaderMap, Request, StatusCode};
use origins::{ConnectionPolicy, Origin, OriginServer, UrlHost};
use std::net::IpAddr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};
use transport::clock;
use vocab::{Complaint, Now};

/// The shortest time that a client is asked to wait before it comes again.
const RETRY_AFTER_MIN_MS: u64 = 1_000;
/// The longest, however long a server rests: it may be mended before.
const RETRY_AFTER_MAX_MS: u64 = 30_000;

/// The servers of one pool.
#[derive(Debug)]
pub struct ServerPool {
    settings: PoolSettings,
    policy: ConnectionPolicy,
    hash: HashKey,
    ejection: OutlierEjection,
    slow_start_ms: u64,
    members: ArcSwap<PoolMembers>,
    next: AtomicUsize,
    /// Held by whoever changes it while it runs.
    changing: Mutex<()>,
    pending: AtomicU32,
    requests: AtomicU64,
    retries: AtomicU64,
    budget: RetryBudget,
    queue: PoolQueue,
    /// Signs by which a request waits in the high class, and those for the low.
    signs: [Vec<RequestSign>; 2],
    /// The file that names more servers.
    file: Option<ServersFile>,
}

/// The servers, and the order in which they take turns; swapped as a whole.
#[derive(Debug)]
struct PoolMembers {
    servers: Vec<Arc<PooledServer>>,
    /// The names that some of them are found by.
    entries: Vec<Arc<ResolvedEntry>>,
    order: PoolTiers,
}

/// Holds what a request brings along when a server is picked for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PickRequest {
    /// Key that a hash keeps together; 0 where none chooses.
    pub key: u64,
    /// The server that its cookie leads to.
    pub sticky_to: Option<u64>,
    /// The server to which a connection is idle, where that chooses.
    pub warm: Option<u64>,
    /// 64 random bits.
    pub random: u64,
}

/// Outcome of picking.
#[derive(Debug)]
pub enum PickOutcome {
    /// This one, and a place on it.
    Server(ServerLease),
    /// Servers are up, but all are busy.
    Full,
    /// Every server that is up was tried.
    AllTried,
    /// No server is up; ask again after so many milliseconds.
    NoneUp(u64),
}

impl ServerPool {
    /// A pool of settings that were checked; what is no server is left out, as are those over the
    /// cap. What is known of servers that were in the pool of `before` stays known.
    pub fn new(settings: &PoolSettings, policy: ConnectionPolicy, before: Option<&Self>) -> Self {
        let known = before.map(|pool| pool.members.load_full());
        let written = settings.servers.iter().map(ServerSettings::details);
        let members = PoolMembers::of(written, known.as_deref());
        let passive = &settings.passive;
        Self {
            hash: if settings.balance == BalanceMethod::ClientHash {
                HashKey::Client
            } else {
                settings.hash.parse().unwrap_or(HashKey::Uri)
            },
            ejection: OutlierEjection {
                failures: passive.failures,
                percent: passive.percent,
                requests: passive.requests,
                window: passive.window.0.0,
                ejection_time: passive.ejection_time.0.0,
            },
            slow_start_ms: u64::try_from(settings.slow_start.0.0.as_millis()).unwrap_or(0),
            members: ArcSwap::from_pointee(members),
            next: AtomicUsize::new(0),
            changing: Mutex::default(),
            pending: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            budget: RetryBudget::new(settings.retry.budget, settings.retry.budget_minimum),
            queue: PoolQueue::new(&settings.queue),
            signs: [&settings.queue.high, &settings.queue.low]
                .map(|signs| signs.iter().filter_map(|sign| RequestSign::parse(sign)).collect()),
            settings: settings.clone(),
            policy,
            file: None,
        }
    }

    /// The pool with the servers of a file, which it looks at from now on. What is known of servers
    /// that were in the pool of `before` stays known.
    pub(crate) fn reading(
        mut self,
        file: Option<(ServersFile, Vec<ServerDetails>)>,
        before: Option<&Self>,
    ) -> Result<Self, Complaint> {
        let Some((file, servers)) = file else { return Ok(self) };
        let all = self.with_servers_of_file(servers);
        let written: Vec<_> = all.iter().cloned().map(ServerSettings::Detailed).collect();
        if let Some(wrong) = self.settings.check_servers(&written).into_iter().next() {
            return Err(Complaint::new("servers_file", wrong.message));
        }
        let known = before.map(|pool| pool.members.load_full());
        self.members = ArcSwap::from_pointee(PoolMembers::of(all.into_iter(), known.as_deref()));
        self.file = Some(file);
        Ok(self)
    }

    /// The servers of the settings, and those of the file that these do not have.
    fn with_servers_of_file(&self, servers: Vec<ServerDetails>) -> Vec<ServerDetails> {
        let mut all: Vec<_> = self.settings.servers.iter().map(ServerSettings::details).collect();
        let own = all.len();
        for server in servers {
            if all[..own].iter().all(|it| it.url != server.url) {
                all.push(server);
            }
        }
        all
    }

    /// Returns what it was made from.
    pub fn settings(&self) -> &PoolSettings {
        &self.settings
    }

    /// Returns how its servers are spoken to.
    pub fn policy(&self) -> &ConnectionPolicy {
        &self.policy
    }

    /// Returns how many servers it has.
    pub fn server_count(&self) -> usize {
        self.members.load().servers.len()
    }

    /// True if a server stands there.
    pub fn has_server_at(&self, origin: &Origin) -> bool {
        self.members.load().servers.iter().any(|server| server.address.is_at(origin))
    }

    /// True if a server has this host.
    pub fn has_host(&self, host: &UrlHost) -> bool {
        self.members.load().servers.iter().any(|server| server.address.has_host(host))
    }

    /// Returns what of a request counts when a server is picked for it. Counts it.
    pub fn pick_request<B>(&self, request: &Request<B>, client: IpAddr, dice: u64) -> PickRequest {
        self.requests.fetch_add(1, Relaxed);
        let key = match self.settings.balance {
            BalanceMethod::ConsistentHash | BalanceMethod::ClientHash => {
                self.hash.of(request, client)
            }
            BalanceMethod::P2c
            | BalanceMethod::RoundRobin
            | BalanceMethod::Random
            | BalanceMethod::IdleConnection
            | BalanceMethod::LeastConnections => 0,
        };
        let sticky = self.settings.sticky.as_ref();
        let cookie = sticky.and_then(|sticky| cookie(request.headers(), &sticky.cookie));
        let stuck_to = cookie.and_then(|value| u64::from_str_radix(value, 16).ok());
        PickRequest { key, sticky_to: stuck_to, warm: None, random: dice }
    }

    /// True if it matters to which server a connection is idle.
    pub fn prefers_idle(&self) -> bool {
        self.settings.balance == BalanceMethod::IdleConnection
    }

    /// The number by which a pick knows a server; none if it is not of this pool.
    pub fn tag_of(&self, address: &OriginServer) -> Option<u64> {
        let members = self.members.load();
        members.servers.iter().find(|server| server.address == *address).map(|server| server.tag)
    }

    /// Returns how urgent a request is: by its signs, or as its route has it.
    pub fn class(&self, headers: &HeaderMap, route: RequestPriority) -> RequestPriority {
        let [high, low] = &self.signs;
        if high.iter().any(|sign| sign.is_on(headers)) {
            RequestPriority::High
        } else if low.iter().any(|sign| sign.is_on(headers)) {
            RequestPriority::Low
        } else {
            route
        }
    }

    /// True if requests go to another server after such a failure.
    pub fn repeats(&self, cause: RetryCause) -> bool {
        self.settings.retry.on.contains(&RetryOn::Cause(cause))
    }

    /// True if they do after such a status.
    pub fn repeats_status(&self, status: StatusCode) -> bool {
        self.settings.retry.on.contains(&RetryOn::Status(status.as_u16()))
    }

    /// Takes one retry out of the budget, if it has one left.
    pub fn take_retry(&self, now: Now) -> bool {
        let may = self.budget.take_retry(self.requests.load(Relaxed), now);
        if may {
            self.retries.fetch_add(1, Relaxed);
        }
        may
    }

    /// Picks a server for a request that comes new: behind those who wait.
    pub fn pick(
        self: &Arc<Self>,
        asking: &PickRequest,
        tried: &mut TriedServers,
        now: Now,
    ) -> PickOutcome {
        if self.queue.is_empty() { self.pick_now(asking, tried, now) } else { PickOutcome::Full }
    }

    /// Picks a server that `tried` does not hold, notes it there, and takes a place on it.
    pub fn pick_now(
        self: &Arc<Self>,
        asking: &PickRequest,
        tried: &mut TriedServers,
        now: Now,
    ) -> PickOutcome {
        if !self.claim() {
            return PickOutcome::Full;
        }
        let pick = self.pick_server(asking, tried, now);
        if !matches!(pick, PickOutcome::Server(_)) {
            self.release();
        }
        pick
    }

    /// Takes one of the places that the pool has as a whole.
    fn claim(&self) -> bool {
        let (before, most) = (self.pending.fetch_add(1, SeqCst), self.settings.max_requests);
        let fits = most == 0 || before < most;
        if !fits {
            self.release();
        }
        fits
    }

    fn release(&self) {
        self.pending.fetch_sub(1, SeqCst);
    }

    /// Gives places that are free to those who wait.
    fn serve_line(self: &Arc<Self>) {
        if !self.queue.is_empty() {
            self.queue.serve(self, clock::now());
        }
    }

    fn pick_server(
        self: &Arc<Self>,
        asking: &PickRequest,
        tried: &mut TriedServers,
        now: Now,
    ) -> PickOutcome {
        let members = self.members.load();
        let servers = &members.servers;
        if let Some(tag) = asking.sticky_to
            && !tried.contains(tag)
            && let Some(server) = servers.iter().find(|it| it.tag == tag)
            && let Some(claim) = server.claim(now)
        {
            tried.add(tag);
            return PickOutcome::Server(ServerLease::new(self, server, claim));
        }
        let turn = self.next.fetch_add(1, Relaxed);
        // Whoever loses a place to another core looks again; as often as that can go on.
        for _ in 0..=servers.len() {
            let choice = BalanceChoice {
                servers,
                tried,
                slow_start_ms: self.slow_start_ms,
                next: turn,
                random: asking.random,
                key: asking.key,
                warm: asking.warm,
                now,
            };
            let Some(index) = self.choose(&members, &choice) else { break };
            let server = &servers[index];
            if let Some(claim) = server.claim(now) {
                tried.add(server.tag);
                return PickOutcome::Server(ServerLease::new(self, server, claim));
            }
        }
        if let Some((server, claim)) = members.last_resort(tried, now) {
            tried.add(server.tag);
            return PickOutcome::Server(ServerLease::new(self, server, claim));
        }
        members.none_available(tried, now)
    }

    /// Returns those that stand by serve where none of the others is up.
    fn choose(&self, members: &PoolMembers, choice: &BalanceChoice<'_>) -> Option<usize> {
        let (order, balance) = (&members.order, self.settings.balance);
        choice.make(balance, &order.first).or_else(|| {
            let busy = members.is_up(&order.first, choice.tried, choice.now);
            if busy { None } else { choice.make(balance, &order.backup) }
        })
    }

    /// Notes what a request met at `server`.
    fn record(&self, server: &PooledServer, met: AttemptOutcome, now: Now) {
        server.record(met, &self.ejection, || self.may_eject_another(), now);
    }

    /// True if one more server may rest for its bad answers.
    fn may_eject_another(&self) -> bool {
        let members = self.members.load();
        let resting = members.servers.iter().filter(|it| it.is_recovering()).count();
        (resting + 1) * 100 <= members.servers.len() * self.settings.passive.share as usize
    }
}

impl PoolMembers {
    fn new(servers: Vec<Arc<PooledServer>>, entries: Vec<Arc<ResolvedEntry>>) -> Self {
        let order = PoolTiers::of(&servers);
        Self { servers, entries, order }
    }

    /// Returns those that are written, in their order, and behind them those that names stand for
    /// as far as that is known. What is known of the same server before stays known; others begin
    /// slowly.
    fn of(written: impl Iterator<Item = ServerDetails>, known: Option<&Self>) -> Self {
        let (mut servers, mut entries) = (Vec::<Arc<PooledServer>>::new(), Vec::new());
        for details in written.take(SERVERS_MAX) {
            if let Some(entry) = ResolvedEntry::new(&details) {
                entries.push(Arc::new(entry));
                continue;
            }
            let Some(server) = PooledServer::new(&details) else { continue };
            let same = known.and_then(|it| it.servers.iter().find(|it| it.url == server.url));
            match same {
                Some(same) => server.inherit_stats(same),
                None if known.is_some() => server.start_slow_start(clock::now()),
                None => {}
            }
            servers.push(Arc::new(server));
        }
        for before in known.into_iter().flat_map(|it| &it.servers) {
            if servers.len() < SERVERS_MAX
                && servers.iter().all(|it| it.url != before.url)
                && let Some(kept) = entries.iter().find_map(|entry| entry.keep(before))
            {
                servers.push(Arc::new(kept));
            }
        }
        Self::new(servers, entries)
    }

    /// True if one of `lane` is up that was not tried, be it full.
    fn is_up(&self, lane: &ServerTier, tried: &TriedServers, now: Now) -> bool {
        let mut servers = lane.members.iter().map(|&index| &self.servers[usize::from(index)]);
        servers.any(|it| !it.is_draining() && !tried.contains(it.tag) && it.is_up(now))
    }

    /// One that rests, claimed, where none is up and none is to come.
    fn last_resort(
        &self,
        tried: &TriedServers,
        now: Now,
    ) -> Option<(&Arc<PooledServer>, LeasePurpose)> {
        let serving = self.servers.iter().filter(|it| !it.is_draining());
        if serving.clone().any(|it| it.is_up(now)) || self.entries.iter().any(|it| it.is_open()) {
            return None;
        }
        let mut untried = serving.filter(|it| !tried.contains(it.tag));
        untried.find_map(|it| Some((it, it.claim_ejected(now)?)))
    }

    /// Why no server was found.
    fn none_available(&self, tried: &TriedServers, now: Now) -> PickOutcome {
        let mut wait = RETRY_AFTER_MAX_MS;
        let mut all_tried = false;
        for server in self.servers.iter().filter(|it| !it.is_draining()) {
            let was_tried = tried.contains(server.tag);
            match server.status(now) {
                ServerStanding::Up | ServerStanding::HalfOpen if was_tried => all_tried = true,
                ServerStanding::Up | ServerStanding::HalfOpen => return PickOutcome::Full,
                ServerStanding::Ejected(left) => wait = wait.min(left),
                ServerStanding::Down => {}
            }
        }
        if all_tried {
            return PickOutcome::AllTried;
        }
        for entry in &self.entries {
            if entry.is_open() {
                // Who its servers are will be known in a moment.
                return PickOutcome::Full;
            }
            wait = wait.min(entry.due_ms().saturating_sub(now.mono_ms));
        }
        PickOutcome::NoneUp(wait.max(RETRY_AFTER_MIN_MS))
    }
}

#[cfg(test)]
mod tests;
