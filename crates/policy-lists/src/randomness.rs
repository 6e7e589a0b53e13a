//! Random numbers where rules, which know no chance, are handed one.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A random number. As the seed of the names table it is secret, so that nobody can make up a name
/// that collides with a listed one. The standard library's own hash keys come from the system's
/// random source.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
