//! Wrong tokens, passwords and codes, counted for each client so that a flood of them costs little
//! and tells little.
//!
//! The right token is never asked here: it has 256 bits, and nobody's guesses may keep its owner
//! out. Sessions are no guesses and are not counted. Asked by the credentials.

use accounts::{AttemptCounts, AttemptVerdict};
use rate_limit::client_of;
use std::net::IpAddr;
use vocab::Now;

/// Wrong guesses of each client: an IPv6 customer has a whole /64 to guess from.
#[derive(Default)]
pub(crate) struct WrongGuesses(AttemptCounts<IpAddr>);

impl WrongGuesses {
    /// Counts a wrong guess of this client.
    pub(crate) fn add(&self, client: IpAddr, now: Now) -> AttemptVerdict {
        self.0.add(client_of(client), now)
    }

    /// Takes back a guess that was counted before it turned out to be right.
    pub(crate) fn forgive(&self, client: IpAddr) {
        self.0.forgive(&client_of(client));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounts::ATTEMPT_KEYS_MAX as GUESSERS_MAX;
    use std::net::Ipv4Addr;

    fn at(mono_ms: u64) -> Now {
        Now { unix_ms: 0, mono_ms }
    }

    #[test]
    fn a_window_ends_and_clients_are_told_apart() {
        let guesses = WrongGuesses::default();
        let (one, other) = ("2001:db8::1".parse().unwrap(), "2001:db8:0:1::1".parse().unwrap());
        for _ in 0..10 {
            assert_eq!(guesses.add(one, at(0)), AttemptVerdict::Counted);
        }
        let neighbour = "2001:db8::2".parse().unwrap();
        assert_eq!(guesses.add(neighbour, at(1)), AttemptVerdict::TooMany, "the same customer");
        assert_eq!(guesses.add(other, at(1)), AttemptVerdict::Counted);
        assert_eq!(guesses.add(one, at(60_000)), AttemptVerdict::Counted);
    }

    #[test]
    fn the_table_is_bounded() {
        let guesses = WrongGuesses::default();
        let client = |number: usize| IpAddr::V4(Ipv4Addr::from_bits(number as u32));
        for number in 0..GUESSERS_MAX {
            assert_eq!(guesses.add(client(number), at(0)), AttemptVerdict::Counted);
        }
        assert_eq!(guesses.add(client(GUESSERS_MAX), at(1)), AttemptVerdict::TooMany);
        assert_eq!(
            guesses.add(client(7), at(1)),
            AttemptVerdict::Counted,
            "a known one has its own count"
        );
        assert_eq!(guesses.add(client(GUESSERS_MAX), at(60_000)), AttemptVerdict::Counted);
    }
}
