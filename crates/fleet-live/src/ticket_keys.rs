//! Keys of TLS tickets, and the seal under which the server keeps them.
//!
//! Four at a time: two that were, the one that seals, and the next, so that every machine knows a
//! key before the first ticket is sealed with it, and for as long as such a ticket lives. The seal
//! is made from the fleet's secret, which the server never sees.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::rand;
use std::fmt::{self, Write};

/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// Keys of a set.
const KEYS: usize = 4;

/// Keys of TLS tickets.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKeySet([[u8; KEY_BYTES]; KEYS]);

/// Seal of the fleet.
pub(crate) struct FleetSeal(LessSafeKey);

/// Reason why there are no keys: the system gives no randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRandomness;

impl TicketKeySet {
    /// Place of the key that new tickets are sealed with.
    pub const CURRENT: usize = 2;

    /// The keys, the oldest first.
    pub fn keys(&self) -> &[[u8; KEY_BYTES]] {
        &self.0
    }

    pub(crate) fn random() -> Result<Self, NoRandomness> {
        let mut keys = [[0; KEY_BYTES]; KEYS];
        for key in &mut keys {
            rand::fill(key).map_err(|_| NoRandomness)?;
        }
        Ok(Self(keys))
    }

    /// The set after this one: the next key is in force, and there is a new next one.
    pub(crate) fn turned(&self) -> Result<Self, NoRandomness> {
        let [_, two, three, four] = self.0;
        let mut next = [0; KEY_BYTES];
        rand::fill(&mut next).map_err(|_| NoRandomness)?;
        Ok(Self([two, three, four, next]))
    }
}

impl FleetSeal {
    /// The seal of a secret, for keys under this prefix; none where the library makes none.
    pub(crate) fn new(secret: &str, prefix: &str) -> Option<Self> {
        let derived = Salt::new(HKDF_SHA256, b"tidegate fleet").extract(secret.as_bytes());
        let info = [b"ticket keys of ", prefix.as_bytes()];
        let key: UnboundKey = derived.expand(&info, &AES_256_GCM).ok()?.into();
        Some(Self(LessSafeKey::new(key)))
    }

    /// The keys of this number, sealed, in hexadecimal digits.
    pub(crate) fn seal(&self, keys: &TicketKeySet, number: u64) -> Result<String, NoRandomness> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| NoRandomness)?;
        let mut sealed = keys.0.concat();
        let aad = Aad::from(number.to_be_bytes());
        let used = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(used, aad, &mut sealed).map_err(|_| NoRandomness)?;
        Ok(hexadecimal(nonce.iter().chain(&sealed)))
    }

    /// The keys of this number; none where they were sealed with another secret.
    pub(crate) fn open(&self, sealed: &str, number: u64) -> Option<TicketKeySet> {
        let length = 2 * (NONCE_LEN + KEYS * KEY_BYTES + AES_256_GCM.tag_len());
        if sealed.len() != length || !sealed.is_ascii() {
            return None;
        }
        let byte = |at| u8::from_str_radix(sealed.get(at..at + 2)?, 16).ok();
        let bytes = (0..length).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let plain =
            self.0.open_in_place(nonce, Aad::from(number.to_be_bytes()), &mut sealed).ok()?;
        let mut keys = [[0; KEY_BYTES]; KEYS];
        for (key, bytes) in keys.iter_mut().zip(plain.chunks_exact(KEY_BYTES)) {
            key.copy_from_slice(bytes);
        }
        Some(TicketKeySet(keys))
    }
}

fn hexadecimal<'b>(bytes: impl Iterator<Item = &'b u8>) -> String {
    bytes.fold(String::new(), |mut text, byte| {
        // A text takes whatever is written.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the system gives no randomness")
    }
}

impl std::error::Error for NoRandomness {}

impl fmt::Debug for TicketKeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKeySet")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn keys_are_opened_by_the_same_secret_prefix_and_number_alone() {
        let seal = FleetSeal::new(SECRET, "tidegate").unwrap();
        let keys = TicketKeySet::random().unwrap();
        let sealed = seal.seal(&keys, 7).unwrap();
        assert_eq!(seal.open(&sealed, 7), Some(keys.clone()));
        assert_eq!(seal.open(&sealed, 8), None, "an old set is none of a new number");
        for (secret, prefix) in [("another secret of the fleet's ...", "tidegate"), (SECRET, "a")] {
            assert_eq!(FleetSeal::new(secret, prefix).unwrap().open(&sealed, 7), None);
        }
        assert_ne!(sealed, seal.seal(&keys, 7).unwrap(), "no nonce twice");
    }

    #[test]
    fn what_is_no_set_is_none() {
        let seal = FleetSeal::new(SECRET, "tidegate").unwrap();
        let sealed = seal.seal(&TicketKeySet::random().unwrap(), 1).unwrap();
        let damaged = sealed.replacen(|it: char| it != '0', "0", 1);
        for text in ["", "00", &damaged, &sealed[2..], &"é".repeat(sealed.len() / 2)] {
            assert_eq!(seal.open(text, 1), None);
        }
    }

    #[test]
    fn a_key_stays_for_two_changes_and_is_known_before_the_first() {
        let first = TicketKeySet::random().unwrap();
        let second = first.turned().unwrap();
        let third = second.turned().unwrap();
        assert_eq!(second.keys()[TicketKeySet::CURRENT], first.keys()[TicketKeySet::CURRENT + 1]);
        assert_eq!(third.keys()[0], first.keys()[TicketKeySet::CURRENT]);
        assert!(!third.turned().unwrap().keys().contains(&third.keys()[0]));
    }
}
