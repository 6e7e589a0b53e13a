//! Which additions were asked for a moment ago.
//!
//! A table of fixed size, without locks: an entry that falls on another's place takes it, so it
//! forgets, but never holds anything back for longer than [`QUIET_S`]. Called with every address of
//! an answer that goes into a set.

use crate::event::EffectEvent;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use vocab::Now;

/// Seconds for which an address is not sent to the same set again. Shorter than any useful
/// time-out of a set, so that an address in use does not run out there.
pub(super) const QUIET_S: u64 = 10;
/// Places, of 8 bytes each: 64 KiB. A busy resolver sees some thousand addresses in ten seconds.
const PLACES: usize = 8192;
/// Bits of a place that hold the second; the rest tells whose it is.
const SECOND_BITS: u32 = 24;
const SECOND_MASK: u64 = (1 << SECOND_BITS) - 1;

const _: () = assert!(PLACES.is_power_of_two());

/// The table.
#[derive(Debug)]
pub(crate) struct RecentAdditions {
    slots: Box<[AtomicU64]>,
    seed: RandomState,
}

/// Tells whether an addition is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdditionNeed {
    /// Was, less than [`QUIET_S`] ago.
    JustNow,
    /// Was not; it is noted now, here.
    Needed(usize),
}

impl RecentAdditions {
    pub(crate) fn new() -> Self {
        let slots = std::iter::repeat_with(AtomicU64::default).take(PLACES).collect();
        Self { slots, seed: RandomState::new() }
    }

    /// Notes that `address` is asked for in the set number `target`.
    pub(super) fn note(&self, target: u16, address: IpAddr, now: Now) -> AdditionNeed {
        let hash = self.seed.hash_one((target, address));
        let place = hash as usize & (PLACES - 1);
        // The second is never 0, which stands for an empty place.
        let second = (now.mono_ms / 1000 + 1) & SECOND_MASK;
        let held = self.slots[place].load(Relaxed);
        let age = second.wrapping_sub(held & SECOND_MASK) & SECOND_MASK;
        if held != 0 && (held ^ hash) >> SECOND_BITS == 0 && age < QUIET_S {
            return AdditionNeed::JustNow;
        }
        self.slots[place].store(hash & !SECOND_MASK | second, Relaxed);
        AdditionNeed::Needed(place)
    }

    /// True if an address of `event` was not told of a moment ago; all are noted.
    pub(crate) fn is_news(&self, event: &EffectEvent<'_>) -> bool {
        let mut is_news = false;
        for address in event.addresses() {
            is_news |= self.note(0, *address, event.now) != AdditionNeed::JustNow;
        }
        is_news
    }

    /// Takes a note back: the addition could not be sent.
    pub(super) fn forget(&self, place: usize) {
        self.slots[place].store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Now {
        Now { unix_ms: 0, mono_ms: seconds * 1000 }
    }

    #[test]
    fn an_address_is_sent_again_after_a_while_and_to_each_set() {
        let recent = RecentAdditions::new();
        let address: IpAddr = "192.0.2.1".parse().expect("an address");
        let AdditionNeed::Needed(place) = recent.note(1, address, at(0)) else {
            panic!("it is new")
        };
        assert_eq!(recent.note(1, address, at(QUIET_S - 1)), AdditionNeed::JustNow);
        assert!(matches!(recent.note(2, address, at(1)), AdditionNeed::Needed(_)));
        assert!(matches!(recent.note(1, address, at(QUIET_S)), AdditionNeed::Needed(_)));
        recent.forget(place);
        assert!(matches!(recent.note(1, address, at(QUIET_S)), AdditionNeed::Needed(_)));
    }

    #[test]
    fn a_flood_of_addresses_takes_no_more_memory() {
        let recent = RecentAdditions::new();
        for number in 0..100_000_u32 {
            recent.note(0, std::net::Ipv4Addr::from_bits(number).into(), at(5));
        }
        assert_eq!(recent.slots.len(), PLACES);
    }
}
