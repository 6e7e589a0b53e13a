//! Bandwidth: bytes that a class of traffic, and each client within it, may have in a second.
//!
//! Bytes are reserved as they come, and the next are waited for until the buckets have made up for
//! them: reservations are served in their order, so that transfers of one class share it evenly. It
//! knows no clock and waits for nothing: the time is handed in, the wait handed out. Called by the
//! proxy door for what comes from servers.

use crate::client_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Clients of one class that are told apart; at the cap those that owe nothing and have not been
/// served of late are forgotten, and if there is none, new ones share one bucket.
const CLIENTS_MAX: usize = 4096;

/// Microseconds in a second.
const SECOND: u64 = 1_000_000;

/// Bytes a second, with the bytes that may come at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRate {
    /// A second, never 0.
    pub per_second: u64,
    /// At once.
    pub burst: u64,
}

/// One class: a rate for all of it, a rate for each client in it, or both.
#[derive(Debug)]
pub struct BandwidthClass {
    whole: Option<ByteRate>,
    per_client: Option<ByteRate>,
    state: Mutex<ClassState>,
}

#[derive(Debug, Default)]
struct ClassState {
    whole: ByteBucket,
    clients: HashMap<IpAddr, ByteBucket>,
    /// Of the clients beyond those that are told apart.
    others: ByteBucket,
}

/// The moment, in microseconds, from which a bucket is full again: each byte puts it off.
#[derive(Clone, Copy, Debug, Default)]
struct ByteBucket {
    full_us: u64,
}

impl ByteBucket {
    /// Takes `bytes`; how long to wait before the next are taken, in microseconds.
    fn reserve(&mut self, rate: ByteRate, bytes: u64, now_us: u64) -> u64 {
        let owed_us = bytes.saturating_mul(SECOND).div_ceil(rate.per_second);
        self.full_us = self.full_us.max(now_us).saturating_add(owed_us);
        let burst_us = rate.burst.saturating_mul(SECOND) / rate.per_second;
        self.full_us.saturating_sub(now_us.saturating_add(burst_us))
    }
}

impl BandwidthClass {
    /// A class whose buckets are full.
    pub fn new(whole: Option<ByteRate>, per_client: Option<ByteRate>) -> Self {
        Self { whole, per_client, state: Mutex::default() }
    }

    /// Bytes that are taken at once, at most: a twentieth of a second of the slower rate.
    pub fn piece_bytes(&self) -> usize {
        const LEAST: u64 = 1 << 10;
        const MOST: u64 = 64 << 10;
        let rates = [self.whole, self.per_client].into_iter().flatten();
        let slowest = rates.map(|rate| rate.per_second).min().unwrap_or(u64::MAX);
        usize::try_from((slowest / 20).clamp(LEAST, MOST)).unwrap_or(LEAST as usize)
    }

    /// Notes `bytes` that have come for `client`; how long to wait before the next, in
    /// microseconds. A /64 of IPv6 is one client.
    pub fn reserve(&self, client: IpAddr, bytes: u64, now_us: u64) -> u64 {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let of_whole = self.whole.map_or(0, |rate| state.whole.reserve(rate, bytes, now_us));
        let of_client = self.per_client.map_or(0, |rate| {
            state.bucket_of(client_of(client), now_us).reserve(rate, bytes, now_us)
        });
        of_whole.max(of_client)
    }
}

impl ClassState {
    fn bucket_of(&mut self, client: IpAddr, now_us: u64) -> &mut ByteBucket {
        if !self.clients.contains_key(&client) && self.clients.len() >= CLIENTS_MAX {
            self.clients.retain(|_, bucket| bucket.full_us > now_us);
            if self.clients.len() >= CLIENTS_MAX {
                return &mut self.others;
            }
        }
        self.clients.entry(client).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const SLOW: ByteRate = ByteRate { per_second: 1000, burst: 500 };

    fn client(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(number))
    }

    #[test]
    fn a_burst_comes_at_once_and_then_the_rate_holds() {
        let class = BandwidthClass::new(Some(SLOW), None);
        assert_eq!(class.reserve(client(1), 500, 0), 0);
        assert_eq!(class.reserve(client(1), 100, 0), SECOND / 10);
        // Who waits as told gets exactly the rate.
        let mut now_us = SECOND / 10;
        for _ in 0..100 {
            now_us += class.reserve(client(1), 100, now_us);
        }
        assert_eq!(now_us, SECOND / 10 + 10 * SECOND);
        assert_eq!(class.reserve(client(1), 500, now_us + SECOND), 0, "a pause fills it again");
    }

    #[test]
    fn transfers_of_a_class_share_it_evenly_and_clients_have_their_own() {
        let whole = BandwidthClass::new(Some(SLOW), None);
        whole.reserve(client(9), 500, 0);
        let waits: Vec<_> = (0..4).map(|number| whole.reserve(client(number), 100, 0)).collect();
        assert_eq!(waits, [1, 2, 3, 4].map(|turn| turn * SECOND / 10));

        let each = BandwidthClass::new(None, Some(SLOW));
        let waits: Vec<_> = (0..4).map(|number| each.reserve(client(number), 600, 0)).collect();
        assert_eq!(waits, [SECOND / 10; 4]);
        let both = BandwidthClass::new(Some(ByteRate { per_second: 10, burst: 1 }), Some(SLOW));
        assert_eq!(both.reserve(client(1), 21, 0), 2 * SECOND, "the slower one counts");
    }

    #[test]
    fn the_table_is_bounded_and_strangers_share_a_bucket() {
        let class = BandwidthClass::new(None, Some(SLOW));
        for number in 0..CLIENTS_MAX as u32 {
            class.reserve(client(number), 1000, 0);
        }
        assert_eq!(class.reserve(client(u32::MAX), 600, 0), SECOND / 10);
        assert_eq!(class.reserve(client(u32::MAX - 1), 100, 0), 2 * SECOND / 10);
        // The others owe nothing any more: there is room.
        assert_eq!(class.reserve(client(u32::MAX), 500, 2 * SECOND), 0);
        assert_eq!(class.reserve(client(u32::MAX - 1), 500, 2 * SECOND), 0);
    }

    #[test]
    fn no_figures_overflow() {
        let most = ByteRate { per_second: u64::MAX, burst: u64::MAX };
        let class = BandwidthClass::new(Some(most), Some(ByteRate { per_second: 1, burst: 0 }));
        class.reserve(client(1), u64::MAX, u64::MAX - 1);
        class.reserve(client(1), u64::MAX, u64::MAX);
        assert_eq!(class.piece_bytes(), 1 << 10);
    }
}
