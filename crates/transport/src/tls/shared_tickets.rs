//! Tickets whose keys a fleet shares: a session begun at one machine is resumed at another.
//!
//! Whoever shares them hands the keys in; it makes none and keeps none. Without them, and for
//! tickets of before, the library's own tickets go on. Asked for each handshake that gives or takes
//! a ticket.

use arc_swap::ArcSwapOption;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Bytes of a key's name, which a ticket begins with.
const NAME_BYTES: usize = 16;
/// Bytes of a key.
pub const TICKET_KEY_BYTES: usize = 32;

static SHARED: ArcSwapOption<SharedTicketKeys> = ArcSwapOption::const_empty();

/// Keys of a fleet's tickets.
pub struct SharedTicketKeys {
    keys: Vec<TicketKey>,
    /// Place of the one that new tickets are sealed with.
    current: usize,
}

struct TicketKey {
    name: [u8; NAME_BYTES],
    key: LessSafeKey,
}

impl SharedTicketKeys {
    /// These keys, of which the one at `current` seals; none where it is none of them.
    pub fn new(keys: &[[u8; TICKET_KEY_BYTES]], current: usize) -> Option<Self> {
        let keys: Option<Vec<TicketKey>> = keys.iter().map(TicketKey::new).collect();
        keys.filter(|keys| current < keys.len()).map(|keys| Self { keys, current })
    }

    pub(super) fn seal(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let TicketKey { name, key } = self.keys.get(self.current)?;
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut ticket = Vec::with_capacity(NAME_BYTES + NONCE_LEN + plain.len() + 16);
        ticket.extend_from_slice(name);
        ticket.extend_from_slice(&nonce);
        let mut sealed = plain.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, Aad::from(name), &mut sealed).ok()?;
        ticket.extend_from_slice(&sealed);
        Some(ticket)
    }

    pub(super) fn open(&self, ticket: &[u8]) -> Option<Vec<u8>> {
        let (name, rest) = ticket.split_at_checked(NAME_BYTES)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN)?;
        let TicketKey { name, key } = self.keys.iter().find(|key| key.name == name)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let length = key.open_in_place(nonce, Aad::from(name), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }
}

impl TicketKey {
    fn new(key: &[u8; TICKET_KEY_BYTES]) -> Option<Self> {
        let digest = Sha256::new().chain_update(b"name of a ticket key").chain_update(key);
        let mut name = [0; NAME_BYTES];
        name.copy_from_slice(digest.finalize().get(..NAME_BYTES)?);
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).ok()?);
        Some(Self { name, key })
    }
}

/// Takes keys that a fleet shares, for every server of the process; none ends that.
pub fn share_ticket_keys(keys: Option<SharedTicketKeys>) {
    SHARED.store(keys.map(Arc::new));
}

/// The keys that are shared, if any are.
pub(super) fn shared_ticket_keys() -> Option<Arc<SharedTicketKeys>> {
    SHARED.load_full()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn keys(numbers: &[u8], current: usize) -> SharedTicketKeys {
        let keys: Vec<_> = numbers.iter().map(|number| [*number; TICKET_KEY_BYTES]).collect();
        SharedTicketKeys::new(&keys, current).unwrap()
    }

    #[test]
    fn a_ticket_is_opened_by_whoever_has_its_key_still_or_already() {
        let ticket = keys(&[1, 2, 3, 4], 2).seal(b"state").unwrap();
        assert_eq!(keys(&[1, 2, 3, 4], 2).open(&ticket).unwrap(), b"state");
        assert_eq!(keys(&[3, 4, 5, 6], 2).open(&ticket).unwrap(), b"state", "two changes later");
        assert_eq!(keys(&[0, 1, 2, 3], 2).open(&ticket).unwrap(), b"state", "one change behind");
        assert_eq!(keys(&[4, 5, 6, 7], 2).open(&ticket), None);
        assert!(SharedTicketKeys::new(&[[1; TICKET_KEY_BYTES]], 1).is_none());
    }

    #[test]
    fn what_was_changed_on_the_way_is_none() {
        let keys = keys(&[1], 0);
        let ticket = keys.seal(b"state").unwrap();
        assert_ne!(ticket, keys.seal(b"state").unwrap(), "no nonce twice");
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(keys.open(&changed), None, "{at}");
            assert_eq!(keys.open(&ticket[..at]), None, "{at}");
        }
    }
}
