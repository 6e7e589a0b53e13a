//! Idle connections, kept per core for the next request to the same origin.
//!
//! A connection that ends up here has answered its last request to the end. It is dropped when it
//! has idled too long, when the origin closes it, and when there are too many: never waited for.

use super::origin::Origin;
use http_engine::client::Sender;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::Instant;

/// How often idle connections are looked over.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// Whose connection it is: origin sets do not share, because each trusts its own authorities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) owner: u64,
    pub(super) origin: Origin,
    /// The parent proxy that it leads through, by its number; 0 without one.
    pub(super) parent: u64,
}

/// An open connection and where it leads.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) sender: Sender,
    pub(super) peer: SocketAddr,
}

/// The caps of the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    pub(super) per_origin: usize,
    pub(super) total: usize,
    pub(super) idle: Duration,
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

#[derive(Default, PartialEq)]
enum Sweeping {
    Yes,
    #[default]
    No,
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

/// Takes the connection used last that `fits`.
pub(super) fn take(key: &Key, idleness: Idleness, fits: impl Fn(&Open) -> bool) -> Option<Open> {
    POOL.with_borrow_mut(|pool| {
        let kept = pool.idle.get_mut(key)?;
        let now = Instant::now();
        let since = match idleness {
            Idleness::Any => None,
            Idleness::Moment => now.checked_sub(MOMENT),
        };
        let at = kept.iter_mut().rposition(|idle| {
            let is_young = since.is_none_or(|since| idle.since >= since);
            idle.until > now && is_young && !idle.open.sender.is_closed() && fits(&idle.open)
        })?;
        let found = kept.swap_remove(at);
        pool.count -= 1;
        Some(found.open)
    })
}

/// Keeps a connection for later. At a cap, or when it is closed, it is dropped.
pub(super) fn give(key: Key, mut open: Open, caps: Caps) {
    if open.sender.is_closed() {
        return;
    }
    let sweep = POOL.with_borrow_mut(|pool| {
        if pool.count >= caps.total {
            return false;
        }
        let kept = pool.idle.entry(key).or_default();
        if kept.len() >= caps.per_origin {
            return false;
        }
        let now = Instant::now();
        kept.push(Idle { open, since: now, until: now + caps.idle });
        pool.count += 1;
        std::mem::replace(&mut pool.sweeping, Sweeping::Yes) == Sweeping::No
    });
    if sweep {
        tokio::task::spawn_local(sweep_until_empty());
    }
}

/// Looks the pool over until nothing is left in it; the next [`give`] starts it anew.
async fn sweep_until_empty() {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let empty = POOL.with_borrow_mut(|pool| {
            let now = Instant::now();
            pool.idle.retain(|_, kept| {
                kept.retain_mut(|idle| idle.until > now && !idle.open.sender.is_closed());
                !kept.is_empty()
            });
            pool.count = pool.idle.values().map(Vec::len).sum();
            if pool.count == 0 {
                pool.sweeping = Sweeping::No;
            }
            pool.count == 0
        });
        if empty {
            return;
        }
    }
}
