//! For whom a question is asked, as far as fairness goes, and caps that no single one of them can
//! use up.
//!
//! A client is its IPv4 address, or the /56 of its IPv6 address, which is what a household is
//! given. Callers hand it in with a question; nothing of it is kept, told or sent.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Bits of an IPv6 address that are one client's own.
const IPV6_HOST_BITS: u32 = 128 - 56;
/// Counters of a cap; two clients share one by chance.
const COUNTERS: usize = 1024;

/// For whom a question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySource {
    tag: u64,
    from: Option<SocketAddr>,
}

impl QuerySource {
    /// This process itself: a door that dials a name, a look-up in the background.
    pub const INTERNAL: Self = Self { tag: 0, from: None };

    /// A client that asks from this address and port; 0 where the port is not known.
    pub fn client(address: IpAddr, port: u16) -> Self {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let address = address.to_canonical();
        let own = match address {
            IpAddr::V4(v4) => (4, u128::from(v4.to_bits())),
            IpAddr::V6(v6) => (6, v6.to_bits() >> IPV6_HOST_BITS),
        };
        let tag = SECRET.get_or_init(RandomState::new).hash_one(own);
        Self { tag, from: (port != 0).then(|| SocketAddr::new(address, port)) }
    }

    /// A number that stands for the client and for `what` of its questions together.
    pub(crate) fn hash(self, what: u64) -> u64 {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        (self.tag ^ what.wrapping_add(1).wrapping_mul(SPREAD)).wrapping_mul(SPREAD)
    }

    /// Where it asks from, if it is a client.
    pub(crate) fn from(self) -> Option<SocketAddr> {
        self.from
    }
}

/// A cap on what all have at once, of which nobody has more than is left to the others (dynamic
/// thresholds, Choudhury and Hahne 1998): one that takes all it can gets half, two get a third
/// each, and there is always room for one more.
#[derive(Debug)]
pub struct FairCap {
    limit: usize,
    all: AtomicUsize,
    counts: Box<[AtomicU32]>,
}

/// No place is left, or none for this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapReached;

impl FairCap {
    /// A cap of `most`.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            all: AtomicUsize::new(0),
            counts: std::iter::repeat_with(AtomicU32::default).take(COUNTERS).collect(),
        }
    }

    /// Takes a place, which is to be given back by [`Self::release`].
    pub fn acquire(&self, source: QuerySource) -> Result<(), CapReached> {
        let all = self.all.fetch_add(1, Ordering::Relaxed);
        let own = self.of(source).fetch_add(1, Ordering::Relaxed) as usize;
        if own < self.limit.saturating_sub(all) {
            return Ok(());
        }
        self.release(source);
        Err(CapReached)
    }

    /// Gives one back.
    pub fn release(&self, source: QuerySource) {
        self.of(source).fetch_sub(1, Ordering::Relaxed);
        self.all.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns how many are taken.
    pub fn in_use(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    fn of(&self, source: QuerySource) -> &AtomicU32 {
        &self.counts[(source.hash(0) >> 32) as usize % COUNTERS]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A test fails by panicking.
    use super::*;

    fn client(address: &str) -> QuerySource {
        QuerySource::client(address.parse().unwrap(), 0)
    }

    #[test]
    fn a_household_is_one_client() {
        assert_eq!(client("2001:db8:0:1::1"), client("2001:db8:0:2::9"));
        assert_ne!(client("2001:db8:0:1::1"), client("2001:db8:0:100::1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
    }

    #[test]
    fn whoever_takes_all_leaves_as_much() {
        let cap = FairCap::new(100);
        let take = |source| (0..1000).filter(|_| cap.acquire(source).is_ok()).count();
        let (one, other) = (client("192.0.2.1"), QuerySource::INTERNAL);
        assert_eq!(take(one), 50);
        assert_eq!(take(other), 25);
        assert_eq!(cap.in_use(), 75);
        for _ in 0..50 {
            cap.release(one);
        }
        assert_eq!((cap.in_use(), take(one) > 0), (25, true));
    }
}
