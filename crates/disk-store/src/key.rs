//! Primary key of a stored response: the URL that was asked for (RFC 9111 §2).
//!
//! Only `GET` responses are filed, so the method is no part of it. Called by the door with a URL
//! whose form it has already made canonical (lower-case scheme and host, no default port, no
//! fragment).

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

/// Holds what keeps hostile URLs from being filed on top of one another: secret and random, made
/// once for a store's folder and kept there, so that what is on disk is found again.
#[derive(Clone, Copy)]
pub struct KeySeed(pub [u8; 16]);

impl KeySeed {
    /// One that nobody can foresee: the keys of the standard library's hasher are the system's.
    pub fn random() -> Self {
        let random = RandomState::new();
        let (low, high) = (random.hash_one(0_u8), random.hash_one(1_u8));
        Self(((u128::from(high) << 64) | u128::from(low)).to_le_bytes())
    }
}

/// 128 bits in place of a URL. Two URLs with the same hash are never confused: whoever finds an
/// entry by it compares the URL too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash(pub u128);

/// The primary key of stored responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey {
    url: Arc<str>,
    hash: KeyHash,
}

impl CacheKey {
    /// The key of a canonical absolute URL.
    pub fn new(seed: &KeySeed, url: &str) -> Self {
        let mut hasher = SipHasher13::new_with_key(&seed.0);
        hasher.write(url.as_bytes());
        Self { url: url.into(), hash: KeyHash(hasher.finish128().as_u128()) }
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns its hash.
    pub const fn hash(&self) -> KeyHash {
        self.hash
    }
}
