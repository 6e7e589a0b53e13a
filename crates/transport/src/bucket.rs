//! How many certificates one client may cause in a while.
//!
//! A token bucket per client in a bounded table, so that a client asking for random names cannot
//! keep the signer busy. It knows no clock: the time is handed in. Called by the signer before it
//! mints, never for a cached leaf.

use crate::accept::client_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Leaves a client may cause at once: a page with all its trackers, at its first visit.
pub(crate) const BURST: u32 = 50;
/// Leaves a second after that.
pub(crate) const REFILL_PER_SECOND: u32 = 10;
/// Clients remembered; at the cap those whose buckets are full again are forgotten, and if there
/// is none, a new client is refused.
pub(crate) const CLIENTS_MAX: usize = 4096;

const MILLI: u64 = 1000;
const FULL: u64 = BURST as u64 * MILLI;

/// The buckets of all clients.
#[derive(Debug, Default)]
pub(crate) struct Buckets(Mutex<HashMap<IpAddr, Bucket>>);

/// Thousandths of a token, as of a moment.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    milli_tokens: u64,
    mono_ms: u64,
}

impl Bucket {
    fn at(self, mono_ms: u64) -> u64 {
        let passed_ms = mono_ms.saturating_sub(self.mono_ms);
        let refilled = passed_ms.saturating_mul(u64::from(REFILL_PER_SECOND));
        self.milli_tokens.saturating_add(refilled).min(FULL)
    }
}

/// Whether a token was there to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Yes,
    No,
}

impl Buckets {
    pub(crate) fn take(&self, client: IpAddr, mono_ms: u64) -> Taken {
        let client = client_of(client);
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !buckets.contains_key(&client) && buckets.len() >= CLIENTS_MAX {
            buckets.retain(|_, bucket| bucket.at(mono_ms) < FULL);
            if buckets.len() >= CLIENTS_MAX {
                return Taken::No;
            }
        }
        let bucket = buckets.entry(client).or_insert(Bucket { milli_tokens: FULL, mono_ms });
        let tokens = bucket.at(mono_ms);
        let (left, taken) =
            if tokens >= MILLI { (tokens - MILLI, Taken::Yes) } else { (tokens, Taken::No) };
        *bucket = Bucket { milli_tokens: left, mono_ms };
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn client(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let buckets = Buckets::default();
        assert!((0..BURST).all(|_| buckets.take(client(1), 0) == Taken::Yes));
        assert_eq!(buckets.take(client(1), 0), Taken::No);
        assert_eq!(buckets.take(client(2), 0), Taken::Yes);
        assert_eq!(buckets.take(client(1), 100), Taken::Yes);
        assert_eq!(buckets.take(client(1), 150), Taken::No);
        assert!((0..BURST).all(|_| buckets.take(client(1), 60_000) == Taken::Yes));
        assert_eq!(buckets.take(client(1), 60_000), Taken::No);
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_quiet_first() {
        let buckets = Buckets::default();
        for number in 0..CLIENTS_MAX as u32 {
            assert_eq!(buckets.take(client(number), 0), Taken::Yes);
        }
        assert_eq!(buckets.take(client(u32::MAX), 0), Taken::No);
        assert_eq!(buckets.take(client(u32::MAX), 1000), Taken::Yes);
    }
}
