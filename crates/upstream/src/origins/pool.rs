//! Idle connections of HTTP/1.1, kept per core for the next request to the same server.
//!
//! A connection that ends up here has answered its last request to the end. It is dropped when it
//! has idled too long, when it is too old or has carried enough, when the server closes it, and when
//! there are too many: never waited for. Those of HTTP/2 are in [`super::shared`].

use super::server::Server;
use http_engine::client::Sender;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::Instant;
use transport::proxy_protocol::Addresses;

/// How often connections that are kept are looked over.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Connections that were opened for one client alone are kept while the pool is no fuller than this
/// share of its cap: hardly any of them is used again, and they must not crowd out the others.
const INTRODUCED_SHARE: usize = 4;

/// Whose connection it is: origin sets do not share, because each trusts its own authorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) owner: u64,
    pub(super) server: Server,
    /// The parent proxy that it leads through, by its number; 0 without one.
    pub(super) parent: u64,
    /// The terms it was opened under, by their number.
    pub(super) terms: u64,
    /// Of whom its PROXY header has told.
    pub(super) client: Option<Addresses>,
}

/// An open connection and where it leads.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) sender: Sender,
    /// Its other end; none for a socket of this machine.
    pub(super) peer: Option<SocketAddr>,
    pub(super) since: Instant,
    /// Requests that it has carried.
    pub(super) requests: u32,
}

/// The caps of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    pub(super) per_origin: usize,
    /// All together, on one core.
    pub(super) total: usize,
    pub(super) idle: Duration,
    pub(super) age: Option<Duration>,
    pub(super) requests: Option<u32>,
}

#[derive(Default)]
struct Pool {
    idle: HashMap<Key, Vec<Idle>>,
    count: usize,
    sweeping: Sweeping,
}

struct Idle {
    open: Open,
    since: Instant,
    until: Instant,
}

/// Whether somebody looks things over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sweeping {
    Yes,
    #[default]
    No,
}

impl Sweeping {
    /// Has `look_over` called from time to time until it says that nothing is left, unless somebody does
    /// so already.
    pub(super) fn begin(&mut self, look_over: fn() -> Left) {
        if std::mem::replace(self, Self::Yes) == Self::No {
            tokio::task::spawn_local(async move {
                loop {
                    tokio::time::sleep(SWEEP_EVERY).await;
                    if look_over() == Left::Nothing {
                        return;
                    }
                }
            });
        }
    }
}

/// What a look has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Some,
    Nothing,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// How long a connection may have been idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idleness {
    /// As long as it is kept.
    Any,
    /// A moment: its server was there just now, and has had no time to lose patience.
    Moment,
}

/// The moment of [`Idleness::Moment`]. The shortest patience of common servers is five seconds, less
/// what a far way takes.
const MOMENT: Duration = Duration::from_secs(2);

impl Open {
    /// A connection that was opened just now.
    pub(super) fn new(sender: Sender, peer: Option<SocketAddr>) -> Self {
        Self { sender, peer, since: Instant::now(), requests: 0 }
    }

    /// Whether it carries several requests at once.
    pub(super) fn is_http2(&self) -> bool {
        self.sender.share().is_some()
    }
}

impl Caps {
    /// Whether a connection open `since` then that has carried so many may carry one more.
    pub(super) fn permit(&self, since: Instant, requests: u32, now: Instant) -> bool {
        self.age.is_none_or(|age| now.saturating_duration_since(since) < age)
            && self.requests.is_none_or(|most| requests < most)
    }

    /// How many of all may be kept where this one is.
    pub(super) fn total_for(&self, key: &Key) -> usize {
        if key.client.is_some() { self.total / INTRODUCED_SHARE } else { self.total }
    }
}

/// Takes the connection used last that `fits`.
pub(super) fn take(
    key: &Key,
    caps: &Caps,
    idleness: Idleness,
    fits: impl Fn(&Open) -> bool,
) -> Option<Open> {
    POOL.with_borrow_mut(|pool| {
        let kept = pool.idle.get_mut(key)?;
        let now = Instant::now();
        let since = match idleness {
            Idleness::Any => None,
            Idleness::Moment => now.checked_sub(MOMENT),
        };
        let at = kept.iter_mut().rposition(|idle| {
            let is_young = since.is_none_or(|since| idle.since >= since);
            let may_go_on = caps.permit(idle.open.since, idle.open.requests, now);
            idle.until > now
                && is_young
                && may_go_on
                && !idle.open.sender.is_closed()
                && fits(&idle.open)
        })?;
        let found = kept.swap_remove(at);
        pool.count -= 1;
        Some(found.open)
    })
}

/// Keeps a connection for later. At a cap, or when it is closed, it is dropped.
pub(super) fn give(key: Key, mut open: Open, caps: Caps) {
    let now = Instant::now();
    if open.sender.is_closed() || !caps.permit(open.since, open.requests, now) {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        if pool.count >= caps.total_for(&key) {
            return;
        }
        let kept = pool.idle.entry(key).or_default();
        if kept.len() >= caps.per_origin {
            return;
        }
        kept.push(Idle { open, since: now, until: now + caps.idle });
        pool.count += 1;
        pool.sweeping.begin(look_over);
    });
}

/// Drops what is of no more use; the next [`give`] begins anew once nothing is left.
fn look_over() -> Left {
    POOL.with_borrow_mut(|pool| {
        let now = Instant::now();
        pool.idle.retain(|_, kept| {
            kept.retain_mut(|idle| idle.until > now && !idle.open.sender.is_closed());
            !kept.is_empty()
        });
        pool.count = pool.idle.values().map(Vec::len).sum();
        if pool.count > 0 {
            return Left::Some;
        }
        pool.sweeping = Sweeping::No;
        Left::Nothing
    })
}
