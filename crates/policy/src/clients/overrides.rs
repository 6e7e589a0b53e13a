//! Overrides: what people said of a name by hand, against the rules: allow it or block it, for one
//! client, a profile or all.
//!
//! Each ends when its maker said, or when it is withdrawn. Bounded. Made by the admin API and the
//! block page. The closest name has its say, there the narrowest group of clients.

use crate::ask::Ask;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use vocab::{Action, DomainName, Now};

/// Most overrides at a time: at the cap, no more are made until some have ended.
pub const OVERRIDES_MAX: usize = 1024;

/// Verdict that somebody gave by hand, for whom, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameOverride {
    /// Outcome: what rules block passes, or what rules let pass is blocked.
    pub action: Action,
    /// The name, with all below it; none for everything.
    pub host: Option<DomainName>,
    /// For whom.
    pub clients: OverrideClients,
    /// Until when.
    pub until: OverrideEnd,
}

/// End of an override.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrideEnd {
    /// At this moment, in milliseconds since 1970: then it has ended.
    Time(u64),
    /// When it is withdrawn, and not before.
    Revoked,
}

impl OverrideEnd {
    /// True if it has not come yet.
    pub const fn is_future(self, now: Now) -> bool {
        match self {
            Self::Time(unix_ms) => now.unix_ms < unix_ms,
            Self::Revoked => true,
        }
    }
}

/// Clients that an override is for; the narrower come first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OverrideClients {
    /// For the client with this address.
    Address(IpAddr),
    /// For the clients of a profile, by its name.
    Profile(String),
    /// For all clients.
    Everyone,
}

/// Refusal of one more: there are as many overrides as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverridesFull;

impl fmt::Display for OverridesFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{OVERRIDES_MAX} names are allowed or blocked by hand already: end some first")
    }
}

impl std::error::Error for OverridesFull {}

/// All overrides, by the name that they are for; the empty text is everything.
#[derive(Debug, Default)]
pub(crate) struct OverrideTable {
    entries: RwLock<HashMap<Box<str>, Vec<NameOverride>>>,
    /// When the last that allows ends, in milliseconds since 1970: before that alone is locked.
    latest_allow_ms: AtomicU64,
    /// When the last that blocks ends.
    latest_block_ms: AtomicU64,
}

impl OverrideTable {
    /// Takes an override in; one for the same name and the same clients is replaced.
    pub(crate) fn set(&self, made: NameOverride, now: Now) -> Result<(), OverridesFull> {
        let mut held = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let key: Box<str> = made.host.as_ref().map_or("", DomainName::as_str).into();
        held.retain(|host, entries| {
            let same = |other: &NameOverride| **host == *key && other.clients == made.clients;
            entries.retain(|other| other.until.is_future(now) && !same(other));
            !entries.is_empty()
        });
        let full = held.values().map(Vec::len).sum::<usize>() >= OVERRIDES_MAX;
        if !full {
            let entries = held.entry(key).or_default();
            entries.push(made);
            entries.sort_by(|one, other| one.clients.cmp(&other.clients));
        }
        self.note_latest(&held);
        if full { Err(OverridesFull) } else { Ok(()) }
    }

    /// Ends an override now; says which, if there was one that had not ended by itself.
    pub(crate) fn end(
        &self,
        action: Action,
        host: &str,
        clients: &OverrideClients,
        now: Now,
    ) -> Option<NameOverride> {
        let mut held = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let entries = held.get_mut(host)?;
        let is_it = |it: &NameOverride| (it.action, &it.clients) == (action, clients);
        let ended = entries.iter().position(is_it);
        let ended = ended.map(|place| entries.remove(place));
        if entries.is_empty() {
            held.remove(host);
        }
        self.note_latest(&held);
        ended.filter(|entry| entry.until.is_future(now))
    }

    fn note_latest(&self, held: &HashMap<Box<str>, Vec<NameOverride>>) {
        let latest = |action: Action| {
            let of_kind = held.values().flatten().filter(|entry| entry.action == action);
            match of_kind.map(|entry| entry.until).max() {
                None => 0,
                Some(OverrideEnd::Time(unix_ms)) => unix_ms,
                Some(OverrideEnd::Revoked) => u64::MAX,
            }
        };
        self.latest_allow_ms.store(latest(Action::Pass), Ordering::Relaxed);
        self.latest_block_ms.store(latest(Action::Block), Ordering::Relaxed);
    }

    /// True if one with this outcome may be in force at this moment, whatever is asked for. Costs
    /// one load.
    pub(crate) fn may_have(&self, action: Action, now: Now) -> bool {
        let latest = match action {
            Action::Pass => &self.latest_allow_ms,
            Action::Block => &self.latest_block_ms,
        };
        now.unix_ms < latest.load(Ordering::Relaxed)
    }

    fn is_empty(&self, now: Now) -> bool {
        !self.may_have(Action::Pass, now) && !self.may_have(Action::Block, now)
    }

    /// True if one is in force, for whomever, for `base`, a name above it or one below.
    pub(crate) fn touch(&self, base: &str, now: Now) -> bool {
        if self.is_empty(now) {
            return false;
        }
        let held = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let is_below = |name: &str, above: &str| {
            name.strip_suffix(above).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        held.iter().any(|(host, entries)| {
            (host.is_empty() || is_below(host, base) || is_below(base, host))
                && entries.iter().any(|entry| entry.until.is_future(now))
        })
    }

    /// Reads the override in force for a request by a client of this profile, if there is one.
    pub(crate) fn in_force<'p, R>(
        &self,
        ask: &Ask<'_>,
        profile: impl Fn() -> &'p str,
        now: Now,
        read: impl Fn(&NameOverride) -> R,
    ) -> Option<R> {
        if self.is_empty(now) {
            return None;
        }
        let held = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let host = ask.host.as_str();
        let parents = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let holds = |entry: &&NameOverride| {
            let is_theirs = match &entry.clients {
                OverrideClients::Everyone => true,
                OverrideClients::Address(address) => {
                    address.to_canonical() == ask.client.to_canonical()
                }
                OverrideClients::Profile(name) => name == profile(),
            };
            is_theirs && entry.until.is_future(now)
        };
        std::iter::once(host)
            .chain(parents)
            .chain([""])
            .find_map(|name| held.get(name)?.iter().find(holds))
            .map(read)
    }

    /// Returns those that have not ended, by name.
    pub(crate) fn all(&self, now: Now) -> Vec<NameOverride> {
        let held = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let is_held = |entry: &&NameOverride| entry.until.is_future(now);
        let mut all: Vec<NameOverride> = held.values().flatten().filter(is_held).cloned().collect();
        let name = |entry: &NameOverride| entry.host.as_ref().map(|it| it.as_str().to_owned());
        all.sort_by_key(|entry| (name(entry), entry.until));
        all
    }
}
