//! Routes that are ours for a time: until when, and how their comments say so.
//!
//! A comment has the form that OxiDNS gives it, with the second at which the route is over, so that
//! a new start takes over what a former one wrote. It sends nothing. Called by [`super::routes`].

use super::entries::{EntryKind, EntryLife, EntryOwner};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// Routes that are remembered, at most; beyond them none are added.
pub(super) const LEASES_MAX: usize = 65_536;

/// A route of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RouteLease {
    /// The second since 1970 at which it is over; none while it is not removed.
    pub(super) until_s: Option<u64>,
    /// Number of it at the router, if that is known.
    pub(super) number: Option<String>,
}

/// The routes of ours that are known.
#[derive(Debug, Default)]
pub(super) struct LeaseBook(HashMap<IpAddr, RouteLease>);

impl LeaseBook {
    /// True if a route to `address` can be remembered.
    pub(super) fn has_room_for(&self, address: IpAddr) -> bool {
        self.0.len() < LEASES_MAX || self.0.contains_key(&address)
    }

    pub(super) fn get(&self, address: IpAddr) -> Option<&RouteLease> {
        self.0.get(&address)
    }

    pub(super) fn put(&mut self, address: IpAddr, lease: RouteLease) {
        self.0.insert(address, lease);
    }

    pub(super) fn remove(&mut self, address: IpAddr) {
        self.0.remove(&address);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Routes that are over at the second `now_s`.
    pub(super) fn over(&self, now_s: u64) -> Vec<IpAddr> {
        let is_over = |lease: &RouteLease| lease.until_s.is_some_and(|until| until <= now_s);
        self.0.iter().filter(|(_, lease)| is_over(lease)).map(|(address, _)| *address).collect()
    }

    /// The end of a route that is written now: never sooner than it was.
    pub(super) fn until(&self, address: IpAddr, life: EntryLife, now_s: u64) -> Option<u64> {
        let EntryLife::Seconds(seconds) = life else { return None };
        let wanted = now_s.saturating_add(seconds.into());
        match self.get(address) {
            None => Some(wanted),
            Some(RouteLease { until_s, .. }) => until_s.map(|until| until.max(wanted)),
        }
    }

    /// Leaves a route where it is until the second `until_s`.
    pub(super) fn defer(&mut self, address: IpAddr, until_s: u64) {
        if let Some(lease) = self.0.get_mut(&address) {
            lease.until_s = Some(until_s);
        }
    }
}

/// The comment of a route of an answer.
pub(super) fn comment(owner: &EntryOwner, until_s: Option<u64>, now_s: u64) -> String {
    let own = owner.comment(EntryKind::Dynamic, None);
    format!("{own};exp={};seen={now_s}", until_s.unwrap_or(0))
}

/// End of a route of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeaseEnd {
    /// At this moment, in seconds since 1970.
    At(u64),
    /// Not by itself.
    Never,
}

/// The end that a comment of ours names; none where it names none.
pub(super) fn end_of(comment: &str) -> Option<LeaseEnd> {
    let part = comment.split(';').find_map(|part| part.trim().strip_prefix("exp="))?;
    let until: u64 = part.trim().parse().ok()?;
    Some(if until > 0 { LeaseEnd::At(until) } else { LeaseEnd::Never })
}

/// The address of an end of a connection, as routers write it: with a port or without.
pub(super) fn host_of(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let plain = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    let before = || text.rsplit_once([':', '/']).and_then(|(host, _)| host.parse().ok());
    plain.or_else(with_port).or_else(before)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    #[test]
    fn a_comment_says_until_when_and_is_read_again() {
        let owner = EntryOwner { prefix: "oxi".into(), tag: "way".into() };
        let written = comment(&owner, Some(1_700_000_300), 1_700_000_000);
        assert_eq!(written, "oxi;pg=way;kind=D;exp=1700000300;seen=1700000000");
        assert_eq!(owner.kind_of(Some(&written)), Some(EntryKind::Dynamic));
        assert_eq!(end_of(&written), Some(LeaseEnd::At(1_700_000_300)));
        assert_eq!(end_of(&comment(&owner, None, 5)), Some(LeaseEnd::Never));
        assert_eq!(end_of("oxi;pg=way;kind=D"), None);
        assert_eq!(end_of("oxi;pg=way;kind=D;exp=x"), None);
    }

    #[test]
    fn a_route_in_use_is_never_over_sooner_than_it_was() {
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let mut book = LeaseBook::default();
        let until = |book: &LeaseBook, life| book.until(address, life, 1000);
        assert_eq!(until(&book, EntryLife::Seconds(60)), Some(1060));
        book.put(address, RouteLease { until_s: Some(2000), number: None });
        assert_eq!(until(&book, EntryLife::Seconds(60)), Some(2000));
        assert_eq!(until(&book, EntryLife::Lasting), None);
        assert!(book.over(1999).is_empty());
        assert_eq!(book.over(2000), [address]);
        book.defer(address, 2030);
        assert!(book.over(2000).is_empty());
        book.put(address, RouteLease { until_s: None, number: None });
        assert!(book.over(u64::MAX).is_empty());
        assert_eq!(until(&book, EntryLife::Seconds(60)), None, "it lasts");
    }

    #[test]
    fn ends_of_connections_are_read_as_routers_write_them() {
        for text in ["192.0.2.1:443", "192.0.2.1", "192.0.2.1/443"] {
            assert_eq!(host_of(text), Some("192.0.2.1".parse().unwrap()), "{text}");
        }
        for text in ["[2001:db8::1]:443", "2001:db8::1", "2001:db8::1/443"] {
            assert_eq!(host_of(text), Some("2001:db8::1".parse().unwrap()), "{text}");
        }
        assert_eq!(host_of("x"), None);
    }
}
