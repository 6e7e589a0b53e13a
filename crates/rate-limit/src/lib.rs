//! Rate limits: token buckets, one for each client, or one for all of them together; bandwidth.
//!
//! The table of clients is bounded, so that nobody can fill it. It knows no clock: the time is
//! handed in. Called by the signer before it signs a leaf, never for a cached one, by the doors
//! before they check a password, and by the proxy for what comes from servers.

mod bandwidth;
mod client;
mod leases;

pub use bandwidth::{BandwidthClass, ByteRate};
pub use client::client_of;
pub use leases::{
    AwayRule, BucketHasher, BucketName, FleetStanding, LeaseAsk, LeaseBook, LeaseGrant,
    LeaseOutcome, PartSet, SharedRate, WakeCall,
};

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// A rate with its burst.
#[derive(Clone, Copy, Debug)]
pub struct ClientRate {
    /// At once.
    pub burst: u32,
    /// After that, in thousandths a second.
    pub milli_per_second: u32,
}

/// Clients remembered; at the cap those whose buckets are full again are forgotten, and if there
/// is none, a new client is refused.
const CLIENTS_MAX: usize = 4096;

/// Millionths of a token in one token.
const TOKEN: u64 = 1_000_000;

impl ClientRate {
    fn full(self) -> u64 {
        u64::from(self.burst) * TOKEN
    }
}

/// The buckets of all clients.
#[derive(Debug)]
pub struct ClientBuckets {
    rate: ClientRate,
    clients: Mutex<HashMap<IpAddr, TokenBucket>>,
}

/// One bucket: millionths of a token, as of a moment.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: u64,
    mono_ms: u64,
}

impl TokenBucket {
    /// Full at this moment.
    pub fn full(rate: ClientRate, mono_ms: u64) -> Self {
        Self { tokens: rate.full(), mono_ms }
    }

    /// One that [`TokenBucket::to_stored`] described; never more than full.
    pub fn stored(rate: ClientRate, tokens: u64, mono_ms: u64) -> Self {
        Self { tokens: tokens.min(rate.full()), mono_ms }
    }

    /// Returns its tokens and its moment.
    pub fn to_stored(self) -> (u64, u64) {
        (self.tokens, self.mono_ms)
    }

    /// Takes one token, if there is one.
    pub fn take(&mut self, rate: ClientRate, mono_ms: u64) -> TokenTaken {
        let tokens = self.at(rate, mono_ms);
        let (tokens, taken) = if tokens >= TOKEN {
            (tokens - TOKEN, TokenTaken::Yes)
        } else {
            (tokens, TokenTaken::No)
        };
        *self = Self { tokens, mono_ms };
        taken
    }

    fn at(self, rate: ClientRate, mono_ms: u64) -> u64 {
        let passed_ms = mono_ms.saturating_sub(self.mono_ms);
        // A thousandth a second is a millionth a millisecond.
        let refilled = passed_ms.saturating_mul(u64::from(rate.milli_per_second));
        self.tokens.saturating_add(refilled).min(rate.full())
    }
}

/// Result of taking a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenTaken {
    /// A token was taken.
    Yes,
    /// None was left: the client has had its share for now.
    No,
}

impl ClientBuckets {
    /// Buckets with this rate for each client.
    pub fn new(rate: ClientRate) -> Self {
        Self { rate, clients: Mutex::default() }
    }

    /// Takes one token of the client's, if there is one. A /64 of IPv6 is one client.
    pub fn take(&self, client: IpAddr, mono_ms: u64) -> TokenTaken {
        let client = client_of(client);
        let mut buckets = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(&client) && buckets.len() >= CLIENTS_MAX {
            buckets.retain(|_, bucket| bucket.at(self.rate, mono_ms) < self.rate.full());
            if buckets.len() >= CLIENTS_MAX {
                return TokenTaken::No;
            }
        }
        let bucket = buckets.entry(client).or_insert_with(|| TokenBucket::full(self.rate, mono_ms));
        bucket.take(self.rate, mono_ms)
    }

    /// Gives back a token that the client turned out not to owe.
    pub fn refund(&self, client: IpAddr) {
        let mut buckets = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get_mut(&client_of(client)) {
            bucket.tokens = bucket.tokens.saturating_add(TOKEN).min(self.rate.full());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const PER_CLIENT: ClientRate = ClientRate { burst: 10_000, milli_per_second: 100_000 };

    fn client(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let (buckets, burst) = (ClientBuckets::new(PER_CLIENT), PER_CLIENT.burst);
        assert!((0..burst).all(|_| buckets.take(client(1), 0) == TokenTaken::Yes));
        assert_eq!(buckets.take(client(1), 0), TokenTaken::No);
        assert_eq!(buckets.take(client(2), 0), TokenTaken::Yes);
        assert_eq!(buckets.take(client(1), 10), TokenTaken::Yes);
        assert_eq!(buckets.take(client(1), 15), TokenTaken::No);
        assert!((0..burst).all(|_| buckets.take(client(1), 200_000) == TokenTaken::Yes));
        assert_eq!(buckets.take(client(1), 200_000), TokenTaken::No);
    }

    #[test]
    fn a_slow_rate_is_kept_too() {
        let rate = ClientRate { burst: 2, milli_per_second: 100 };
        let mut bucket = TokenBucket::full(rate, 0);
        let taken: Vec<_> = [0, 0, 0, 9_999, 10_001, 10_002, 100_000]
            .map(|at_ms| bucket.take(rate, at_ms) == TokenTaken::Yes)
            .to_vec();
        assert_eq!(taken, [true, true, false, false, true, false, true]);
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_quiet_first() {
        let buckets = ClientBuckets::new(PER_CLIENT);
        for number in 0..CLIENTS_MAX as u32 {
            assert_eq!(buckets.take(client(number), 0), TokenTaken::Yes);
        }
        assert_eq!(buckets.take(client(u32::MAX), 0), TokenTaken::No);
        assert_eq!(buckets.take(client(u32::MAX), 1000), TokenTaken::Yes);
    }
}
