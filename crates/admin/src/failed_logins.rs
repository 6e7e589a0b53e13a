//! Wrong tokens, passwords and codes, counted for each client so that a flood of them costs little
//! and tells little.
//!
//! The right token is never asked here: it has 256 bits, and nobody's guesses may keep its owner
//! out. Sessions are no guesses and are not counted. Asked by the credentials.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use vocab::Now;

/// Wrong guesses that a client may send in a window.
const FAILED_LOGINS_MAX: u32 = 10;
const FAILED_LOGIN_WINDOW_MS: u64 = 60_000;
/// Clients whose guesses are counted at once; at the cap the guesses of all others are too many.
const GUESSERS_MAX: usize = 1024;

/// Wrong guesses of each client.
#[derive(Default)]
pub(crate) struct WrongGuesses(Mutex<HashMap<IpAddr, GuessWindow>>);

/// Wrong guesses of one client since the window began.
struct GuessWindow {
    count: u32,
    since_ms: u64,
}

/// Judgement of one more wrong guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuessVerdict {
    Counted,
    /// The client is to wait for a minute.
    TooMany,
}

impl WrongGuesses {
    /// Counts a wrong guess of this client.
    pub(crate) fn add(&self, client: IpAddr, now: Now) -> GuessVerdict {
        let client = customer(client);
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |it: &GuessWindow| now.mono_ms >= it.since_ms + FAILED_LOGIN_WINDOW_MS;
        if windows.len() >= GUESSERS_MAX && !windows.contains_key(&client) {
            windows.retain(|_, window| !is_over(window));
            if windows.len() >= GUESSERS_MAX {
                return GuessVerdict::TooMany;
            }
        }
        let window =
            windows.entry(client).or_insert(GuessWindow { count: 0, since_ms: now.mono_ms });
        if is_over(window) {
            *window = GuessWindow { count: 0, since_ms: now.mono_ms };
        }
        if window.count >= FAILED_LOGINS_MAX {
            return GuessVerdict::TooMany;
        }
        window.count += 1;
        GuessVerdict::Counted
    }

    /// Takes back a guess that was counted before it turned out to be right.
    pub(crate) fn forgive(&self, client: IpAddr) {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.get_mut(&customer(client)) {
            window.count = window.count.saturating_sub(1);
        }
    }
}

/// The client behind an address: an IPv6 customer has a whole /64 to guess from.
fn customer(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_window_ends_and_clients_are_told_apart() {
        let guesses = WrongGuesses::default();
        let (one, other) = ("2001:db8::1".parse().unwrap(), "2001:db8:0:1::1".parse().unwrap());
        for _ in 0..FAILED_LOGINS_MAX {
            assert_eq!(guesses.add(one, at(0)), GuessVerdict::Counted);
        }
        let neighbour = "2001:db8::2".parse().unwrap();
        assert_eq!(guesses.add(neighbour, at(1)), GuessVerdict::TooMany, "the same customer");
        assert_eq!(guesses.add(other, at(1)), GuessVerdict::Counted);
        assert_eq!(guesses.add(one, at(FAILED_LOGIN_WINDOW_MS)), GuessVerdict::Counted);
    }

    #[test]
    fn the_table_is_bounded() {
        let guesses = WrongGuesses::default();
        let client = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(number as u32));
        for number in 0..GUESSERS_MAX {
            assert_eq!(guesses.add(client(number), at(0)), GuessVerdict::Counted);
        }
        assert_eq!(guesses.add(client(GUESSERS_MAX), at(1)), GuessVerdict::TooMany);
        assert_eq!(
            guesses.add(client(7), at(1)),
            GuessVerdict::Counted,
            "a known one has its own count"
        );
        assert_eq!(
            guesses.add(client(GUESSERS_MAX), at(FAILED_LOGIN_WINDOW_MS)),
            GuessVerdict::Counted
        );
    }
}
