//! Idle connections of HTTP/1.1, kept per core for the next request to the same server.
//!
//! A connection that ends up here has answered its last request to the end. It is dropped when it
//! has idled too long, when it is too old or has carried enough, when the server closes it, and
//! when there are too many: never waited for. How many a server had at once is remembered for
//! [`super::preconnect`]. Connections of HTTP/2 are in [`super::shared`].

use super::known_origins::KnownOrigin;
use super::need::{ConnectionNeed, CountedConnection};
use super::places::{IdleFate, OriginQueue};
use super::server::OriginServer;
use foldhash::fast::RandomState;
use http::Version;
use http_engine::client::{AnswerLimits, RequestSender};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::Instant;
use transport::proxy_protocol::ProxyEndpoints;

/// How often connections that are kept are looked over.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Connections that were opened for one client alone are kept while the pool is no fuller than this
/// share of its cap: hardly any of them is used again, and they must not crowd out the others.
const INTRODUCED_SHARE: usize = 4;
/// Time for which it is remembered what a server needed that has no connection now.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Servers without a connection that are remembered per core; with more of them, all are forgotten.
const REMEMBERED_MAX: usize = 1024;
/// Servers that are known per core between two looks; beyond them nothing is learnt of new ones.
const KEPT_MAX: usize = 8192;

/// Holds whose connection it is: origin sets do not share, because each trusts its own authorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PoolKey {
    pub(super) owner: u64,
    pub(super) server: OriginServer,
    /// The parent proxy that it leads through, by its number; 0 without one.
    pub(super) parent: u64,
    /// The terms it was opened under, by their number.
    pub(super) policy: u64,
    /// What the configuration said of names when it was opened, by its digest.
    pub(super) local_overrides: u64,
    /// Of whom its PROXY header has told.
    pub(super) client: Option<ProxyEndpoints>,
}

/// An open connection and where it leads.
#[derive(Debug)]
pub(super) struct OpenConnection {
    pub(super) sender: RequestSender,
    /// Other end; none for a socket of this machine.
    pub(super) peer: Option<SocketAddr>,
    pub(super) since: Instant,
    /// Requests that it has carried.
    pub(super) requests: u32,
    /// Place among the connections to its server, where these are counted.
    pub(super) counted: Option<CountedConnection>,
    /// Requests that wait for a place among them, on all cores, where these are bounded.
    pub(super) queue: Option<Weak<OriginQueue>>,
}

/// The caps of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolCaps {
    pub(super) per_origin: usize,
    /// All together, on one core.
    pub(super) total: usize,
    pub(super) idle: Duration,
    pub(super) age: Option<Duration>,
    pub(super) requests: Option<u32>,
    /// The bounds of the answers that come over them.
    pub(super) answer: AnswerLimits,
}

#[derive(Default)]
struct ConnectionPool {
    /// Keys are long, and each request asks twice: hashed by seed, but in a tenth of `SipHash`'s
    /// time. Who found names that collide would slow down one core's look at [`KEPT_MAX`] servers
    /// at most.
    idle: HashMap<PoolKey, ServerConnections, RandomState>,
    /// Of all servers, idle.
    count: usize,
    sweeping: SweepState,
}

/// Holds what is kept of one server.
struct ServerConnections {
    idle: Vec<IdleConnection>,
    need: Rc<ConnectionNeed>,
    /// When a connection was given last.
    last_used: Instant,
}

struct IdleConnection {
    open: OpenConnection,
    since: Instant,
    until: Instant,
}

/// Tells whether somebody looks things over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SweepState {
    Yes,
    #[default]
    No,
}

impl SweepState {
    /// Has `look_over` called from time to time until it says that nothing is left, unless somebody
    /// does so already.
    pub(super) fn start(&mut self, look_over: fn() -> SweepLeft) {
        if std::mem::replace(self, Self::Yes) == Self::No {
            tokio::task::spawn_local(async move {
                loop {
                    tokio::time::sleep(SWEEP_EVERY).await;
                    if look_over() == SweepLeft::Nothing {
                        return;
                    }
                }
            });
        }
    }
}

/// Tells what a look has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepLeft {
    Some,
    Nothing,
}

/// Time in which requests that wait here have looked at a connection that has fallen idle.
const LOOKED_AT: Duration = Duration::from_millis(50);

thread_local! {
    static POOL: RefCell<ConnectionPool> = RefCell::default();
}

/// Tells how long a connection may have been idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdleTime {
    /// As long as it is kept.
    Any,
    /// A moment: its server was there just now, and has had no time to lose patience.
    JustNow,
}

/// The moment of [`IdleTime::JustNow`]. The shortest patience of common servers is five seconds,
/// less what a far way takes.
const MOMENT: Duration = Duration::from_secs(2);

impl OpenConnection {
    /// A connection that was opened just now.
    pub(super) fn new(sender: RequestSender, peer: Option<SocketAddr>) -> Self {
        Self { sender, peer, since: Instant::now(), requests: 0, counted: None, queue: None }
    }

    /// The requests that wait for a place like its own.
    fn queue(&self) -> Option<Arc<OriginQueue>> {
        self.queue.as_ref()?.upgrade()
    }

    /// True if it carries several requests at once.
    pub(super) fn is_http2(&self) -> bool {
        self.sender.share().is_some()
    }
}

impl PoolCaps {
    /// True if a connection open `since` then that has carried so many may carry one more.
    pub(super) fn permit(&self, since: Instant, requests: u32, now: Instant) -> bool {
        self.age.is_none_or(|age| now.saturating_duration_since(since) < age)
            && self.requests.is_none_or(|most| requests < most)
    }

    /// Returns how many of all may be kept where this one is.
    pub(super) fn total_for(&self, key: &PoolKey) -> usize {
        if key.client.is_some() { self.total / INTRODUCED_SHARE } else { self.total }
    }
}

/// Takes the connection used last that `fits`.
pub(super) fn take_idle(
    key: &PoolKey,
    caps: &PoolCaps,
    idleness: IdleTime,
    fits: impl Fn(&OpenConnection) -> bool,
) -> Option<OpenConnection> {
    POOL.with_borrow_mut(|pool| {
        let kept = pool.idle.get_mut(key)?;
        let now = Instant::now();
        let since = match idleness {
            IdleTime::Any => None,
            IdleTime::JustNow => now.checked_sub(MOMENT),
        };
        let at = kept.idle.iter_mut().rposition(|idle| {
            let is_young = since.is_none_or(|since| idle.since >= since);
            let may_go_on = caps.permit(idle.open.since, idle.open.requests, now);
            idle.until > now
                && is_young
                && may_go_on
                && !idle.open.sender.is_closed()
                && fits(&idle.open)
        })?;
        let found = kept.idle.swap_remove(at);
        pool.count -= 1;
        Some(found.open)
    })
}

/// Counts a connection to the server of `key` that is about to be opened. Those that are of no more
/// use are dropped first: they are not counted.
pub(super) fn count_connection(key: &PoolKey) -> CountedConnection {
    POOL.with_borrow_mut(|pool| {
        if pool.idle.len() >= KEPT_MAX && !pool.idle.contains_key(key) {
            return Rc::<ConnectionNeed>::default().count_connection();
        }
        let now = Instant::now();
        let kept = pool.idle.entry(key.clone()).or_insert_with(|| ServerConnections::new(now));
        pool.count -= kept.drop_expired(now);
        pool.sweeping.start(look_over);
        kept.need.count_connection()
    })
}

/// True if one more connection to the server of `key` may be kept.
pub(super) fn has_room(key: &PoolKey, caps: &PoolCaps) -> bool {
    POOL.with_borrow(|pool| pool.count < caps.total_for(key))
}

/// Keeps a connection for later; at a cap it is dropped. Whether its server has closed it is asked
/// when it is taken.
pub(super) fn put_idle(key: PoolKey, open: OpenConnection, caps: PoolCaps) {
    let now = Instant::now();
    if !caps.permit(open.since, open.requests, now) {
        return;
    }
    let queue = open.queue();
    if queue.as_ref().is_some_and(|queue| queue.idle_fate() == IdleFate::Closed) {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        if pool.count >= caps.total_for(&key) {
            return;
        }
        let kept = pool.idle.entry(key).or_insert_with(|| ServerConnections::new(now));
        if kept.idle.len() >= caps.per_origin {
            return;
        }
        let is_counted = open.counted.is_some();
        kept.idle.push(IdleConnection { open, since: now, until: now + caps.idle });
        if is_counted && kept.need.may_grow(kept.idle.len()) {
            // One that was opened ahead counts once it has served.
            kept.need.report_idle(kept.idle.iter().filter(|it| it.open.requests > 0).count());
        }
        kept.last_used = now;
        pool.count += 1;
        pool.sweeping.start(look_over);
    });
    if let Some(queue) = queue {
        queue.released_here();
    }
}

/// The server to which a connection idles here that was used last, among those of one owner under
/// the same terms.
pub(super) fn last_idle(owner: u64, policy: u64) -> Option<OriginServer> {
    POOL.with_borrow_mut(|pool| {
        let now = Instant::now();
        let own = pool
            .idle
            .iter_mut()
            .filter(|(key, _)| key.owner == owner && key.policy == policy && key.client.is_none());
        let last = own.filter_map(|(key, kept)| {
            let idle = kept.idle.iter_mut();
            let of_use = idle.filter_map(|idle| {
                let is_of_use = idle.until > now && !idle.open.sender.is_closed();
                is_of_use.then_some(idle.since)
            });
            Some((of_use.max()?, &key.server))
        });
        last.max_by_key(|(since, _)| *since).map(|(_, server)| server.clone())
    })
}

/// Closes connections that idle here while requests wait for their places, and were of no use to
/// those of this core: as many as wait.
pub(super) fn close_wanted() {
    POOL.with_borrow_mut(|pool| {
        let now = Instant::now();
        let mut closed = 0;
        for kept in pool.idle.values_mut() {
            let Some(queue) = kept.idle.iter().find_map(|idle| idle.open.queue()) else { continue };
            let mut wanted = queue.waiting() as usize;
            let before = kept.idle.len();
            kept.idle.retain(|idle| {
                let goes = wanted > 0 && idle.since + LOOKED_AT <= now;
                wanted -= usize::from(goes);
                !goes
            });
            closed += before - kept.idle.len();
        }
        pool.count -= closed;
    });
}

/// Returns what is known here of the servers of this owner.
pub(super) fn known_origins(owner: u64) -> Vec<KnownOrigin> {
    POOL.with_borrow_mut(|pool| {
        let now = Instant::now();
        let mut all = Vec::new();
        for (key, kept) in pool.idle.iter_mut().filter(|(key, _)| key.owner == owner) {
            pool.count -= kept.drop_expired(now);
            if kept.has_connections() || kept.is_remembered(now) {
                all.push(kept.describe(&key.server, now));
            }
        }
        all
    })
}

impl ServerConnections {
    fn new(now: Instant) -> Self {
        Self { idle: Vec::new(), need: Rc::default(), last_used: now }
    }

    /// Drops connections that are too long idle or closed, and says how many.
    fn drop_expired(&mut self, now: Instant) -> usize {
        let before = self.idle.len();
        self.idle.retain_mut(|idle| {
            let is_of_use = idle.until > now && !idle.open.sender.is_closed();
            if !is_of_use && idle.open.requests == 0 {
                self.need.report_unused();
            }
            is_of_use
        });
        before - self.idle.len()
    }

    fn describe(&self, server: &OriginServer, now: Instant) -> KnownOrigin {
        let idle = self.idle.len();
        // Those that are not counted are known while they idle.
        let open = self.need.open().max(idle);
        let unused = now.saturating_duration_since(self.last_used);
        KnownOrigin {
            server: server.clone(),
            version: Version::HTTP_11,
            open,
            idle,
            at_once: self.need.peak(),
            unused: if open > idle { Duration::ZERO } else { unused },
        }
    }

    fn has_connections(&self) -> bool {
        !self.idle.is_empty() || self.need.is_open()
    }

    fn is_remembered(&self, now: Instant) -> bool {
        self.need.is_worth_remembering() && now < self.last_used + REMEMBERED
    }
}

/// Drops what is of no more use; the next [`put_idle`] or [`count_connection`] begins anew once
/// nothing is left.
fn look_over() -> SweepLeft {
    POOL.with_borrow_mut(|pool| {
        let now = Instant::now();
        pool.idle.retain(|_, kept| {
            kept.drop_expired(now);
            kept.has_connections() || kept.is_remembered(now)
        });
        pool.count = pool.idle.values().map(|kept| kept.idle.len()).sum();
        let without = pool.idle.values().filter(|kept| !kept.has_connections()).count();
        if without > REMEMBERED_MAX {
            pool.idle.retain(|_, kept| kept.has_connections());
        }
        if !pool.idle.is_empty() {
            return SweepLeft::Some;
        }
        pool.sweeping = SweepState::No;
        SweepLeft::Nothing
    })
}
