//! Leaves: what passes though rules block it, for one name or for all, for one client or for all.
//!
//! Each ends when its maker said, or not until it is withdrawn; it is forgotten with the program
//! unless carried over. Bounded. Granted by the admin API and the block page, looked at only when
//! something would be blocked.

use crate::ask::Ask;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use vocab::{DomainName, Now};

/// Most leaves at a time. A person grants a handful; at the cap, after those that have ended were
/// taken away, no more are granted.
pub const ALLOWS_MAX: usize = 1024;

/// Holds what passes, for whom, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporaryAllow {
    /// The name, with all below it; none for everything.
    pub host: Option<DomainName>,
    /// For whom.
    pub clients: AllowedClients,
    /// Until when.
    pub until: AllowUntil,
}

/// When a leave ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AllowUntil {
    /// At this moment, in milliseconds since 1970: then it has ended.
    Time(u64),
    /// When it is withdrawn, and not before.
    Revoked,
}

impl AllowUntil {
    /// True if it has not come yet.
    pub const fn is_future(self, now: Now) -> bool {
        match self {
            Self::Time(unix_ms) => now.unix_ms < unix_ms,
            Self::Revoked => true,
        }
    }
}

/// For whom a leave is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedClients {
    /// For all clients.
    Everyone,
    /// For the client with this address.
    Address(IpAddr),
    /// For the clients of a profile, by its name.
    Profile(String),
}

/// There are as many leaves as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllowsFull;

impl fmt::Display for AllowsFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALLOWS_MAX} leaves are granted already: withdraw some, or wait until some end")
    }
}

impl std::error::Error for AllowsFull {}

/// All leaves, by the name that they are for; the empty text is everything.
#[derive(Debug, Default)]
pub(crate) struct TemporaryAllows {
    entries: RwLock<HashMap<Box<str>, Vec<TemporaryAllow>>>,
    /// When the last of them ends, in milliseconds since 1970, the greatest number for never: while
    /// nothing is granted, nobody takes the lock.
    latest_ms: AtomicU64,
}

impl TemporaryAllows {
    /// Grants a leave; one for the same name and the same clients is replaced.
    pub(crate) fn allow(&self, leave: TemporaryAllow, now: Now) -> Result<(), AllowsFull> {
        let mut granted = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let key: Box<str> = leave.host.as_ref().map_or("", DomainName::as_str).into();
        granted.retain(|host, leaves| {
            let same = |other: &TemporaryAllow| **host == *key && other.clients == leave.clients;
            leaves.retain(|other| other.until.is_future(now) && !same(other));
            !leaves.is_empty()
        });
        let full = granted.values().map(Vec::len).sum::<usize>() >= ALLOWS_MAX;
        if !full {
            granted.entry(key).or_default().push(leave);
        }
        self.note_latest(&granted);
        if full { Err(AllowsFull) } else { Ok(()) }
    }

    /// Ends a leave now; says whether there was one that had not ended by itself.
    pub(crate) fn revoke(
        &self,
        host: Option<&DomainName>,
        whom: &AllowedClients,
        now: Now,
    ) -> bool {
        let mut granted = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let key = host.map_or("", DomainName::as_str);
        let Some(leaves) = granted.get_mut(key) else { return false };
        let held = leaves.iter().any(|leave| leave.clients == *whom && leave.until.is_future(now));
        leaves.retain(|leave| leave.clients != *whom);
        if leaves.is_empty() {
            granted.remove(key);
        }
        self.note_latest(&granted);
        held
    }

    fn note_latest(&self, granted: &HashMap<Box<str>, Vec<TemporaryAllow>>) {
        let latest = match granted.values().flatten().map(|leave| leave.until).max() {
            None => 0,
            Some(AllowUntil::Time(unix_ms)) => unix_ms,
            Some(AllowUntil::Revoked) => u64::MAX,
        };
        self.latest_ms.store(latest, Ordering::Relaxed);
    }

    /// True if none holds at this moment, whatever is asked for.
    pub(crate) fn is_empty(&self, now: Now) -> bool {
        now.unix_ms >= self.latest_ms.load(Ordering::Relaxed)
    }

    /// True if one holds, for whomever, for `base`, a name above it or one below.
    pub(crate) fn touch(&self, base: &str, now: Now) -> bool {
        if self.is_empty(now) {
            return false;
        }
        let granted = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let is_below = |name: &str, above: &str| {
            name.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        granted.iter().any(|(host, leaves)| {
            (host.is_empty() || is_below(host, base) || is_below(base, host))
                && leaves.iter().any(|leave| leave.until.is_future(now))
        })
    }

    /// The leave that holds for a request by a client of this profile, if one does.
    pub(crate) fn in_force<'p>(
        &self,
        ask: &Ask<'_>,
        profile: impl Fn() -> &'p str,
        now: Now,
    ) -> Option<TemporaryAllow> {
        if self.is_empty(now) {
            return None;
        }
        let granted = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let host = ask.host.as_str();
        let parents = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let holds = |leave: &&TemporaryAllow| {
            let whom = match &leave.clients {
                AllowedClients::Everyone => true,
                AllowedClients::Address(address) => {
                    address.to_canonical() == ask.client.to_canonical()
                }
                AllowedClients::Profile(name) => name == profile(),
            };
            whom && leave.until.is_future(now)
        };
        std::iter::once(host)
            .chain(parents)
            .chain([""])
            .find_map(|name| granted.get(name)?.iter().find(holds))
            .cloned()
    }

    /// Returns those that have not ended, by name.
    pub(crate) fn all(&self, now: Now) -> Vec<TemporaryAllow> {
        let granted = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let held = |leave: &&TemporaryAllow| leave.until.is_future(now);
        let mut all: Vec<TemporaryAllow> =
            granted.values().flatten().filter(held).cloned().collect();
        let name = |leave: &TemporaryAllow| leave.host.as_ref().map(|it| it.as_str().to_owned());
        all.sort_by_key(|leave| (name(leave), leave.until));
        all
    }
}
