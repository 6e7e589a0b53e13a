//! The wall clock as the TLS library may read it: never before 1970, where the library's own
//! reading panics.
//!
//! With such a clock no certificate is valid and no ticket is given; connections that need neither
//! go on. Used wherever a configuration of the library is made.

use super::shared_tickets::shared_ticket_keys;
use crate::clock;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;
use rustls::time_provider::TimeProvider;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Life of a ticket, in seconds: twice the life of the key that it is sealed with.
const TICKET_SECONDS: u32 = 12 * 60 * 60;

/// The clock for certificates; before 1970 it is 1970.
#[derive(Debug)]
pub(super) struct WallClock;

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_millis(clock::now().unix_ms)))
    }
}

/// The library's tickets, whose keys turn by the clock, while the clock can be read.
pub(super) struct SessionTickets(OnceLock<Option<Arc<dyn ProducesTickets>>>);

impl SessionTickets {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn by_the_clock(&self) -> Option<&dyn ProducesTickets> {
        if clock::is_before_1970() {
            return None;
        }
        self.0.get_or_init(|| aws_lc_rs::Ticketer::new().ok()).as_deref()
    }
}

impl ProducesTickets for SessionTickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        TICKET_SECONDS
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let own = self.by_the_clock()?;
        match shared_ticket_keys() {
            Some(shared) => shared.seal(plain),
            None => own.encrypt(plain),
        }
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let own = self.by_the_clock()?;
        let shared = shared_ticket_keys().and_then(|shared| shared.open(cipher));
        shared.or_else(|| own.decrypt(cipher))
    }
}

impl fmt::Debug for SessionTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn tickets_come_back_as_they_went() {
        let tickets = SessionTickets::new();
        let sealed = tickets.encrypt(b"state").unwrap();
        assert_eq!(tickets.decrypt(&sealed).unwrap(), b"state");
        assert_eq!(tickets.decrypt(b"none of ours"), None);
        let inner = tickets.by_the_clock().unwrap();
        assert_eq!(tickets.lifetime(), inner.lifetime());
    }

    #[test]
    fn certificates_are_judged_by_the_present_moment() {
        let told = WallClock.current_time().unwrap().as_secs();
        assert!(UnixTime::now().as_secs().abs_diff(told) <= 2);
    }
}
