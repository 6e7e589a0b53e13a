//! Second-level cache: what other machines have kept, behind the caches of this one.
//!
//! It is asked where this machine has no answer in its time, before an upstream is, and told of
//! each definite answer. Nobody waits for it beyond its own budget. The resolver knows no server of
//! it; the binary hands one in.

use crate::cache::key::name_in;
use crate::settings::ResolverSettings;
use sha2::{Digest, Sha256};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use vocab::Now;

/// Digest of what an answer depends on beside its question: the upstreams of a group.
pub type UpstreamScope = [u8; 16];

/// Key of an answer that machines share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondLevelKey {
    /// Machines whose upstreams differ share nothing.
    pub scope: UpstreamScope,
    /// Question in wire form, DO and CD, and the options that tell clients apart.
    pub question: Box<[u8]>,
}

/// Answer of a second-level cache. Nothing in it is believed but for its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondLevelAnswer {
    /// Response in wire form.
    pub message: Vec<u8>,
    /// Time since it came from an upstream, in milliseconds.
    pub age_ms: u64,
}

/// Look into a second-level cache, which is over within its budget.
pub type SecondLevelLook = Pin<Box<dyn Future<Output = Option<SecondLevelAnswer>> + Send>>;

/// Cache that machines share. Its methods never block.
pub trait SecondLevelCache: Send + Sync {
    /// Looks for an answer; none at once where it is not worth asking. Whoever drops the look has
    /// no need of it any more.
    fn look(&self, key: SecondLevelKey) -> Option<SecondLevelLook>;

    /// Keeps an answer that is good for `ttl_s` seconds from now, or drops it.
    fn keep(&self, key: SecondLevelKey, message: &[u8], ttl_s: u32, now: Now);
}

/// The second level as engines see it.
#[derive(Default)]
pub(crate) struct SecondLevel {
    inner: RwLock<SecondLevelParts>,
}

#[derive(Default)]
struct SecondLevelParts {
    cache: Option<Arc<dyn SecondLevelCache>>,
    /// Scope of each group.
    scopes: Vec<UpstreamScope>,
}

impl SecondLevelKey {
    /// The name that is asked for, in wire form.
    pub fn name(&self) -> Option<&[u8]> {
        name_in(&self.question)
    }
}

impl SecondLevel {
    pub(crate) fn use_cache(&self, cache: Option<Arc<dyn SecondLevelCache>>) {
        self.inner.write().unwrap_or_else(PoisonError::into_inner).cache = cache;
    }

    /// Takes the groups of these settings.
    pub(crate) fn configure(&self, settings: &ResolverSettings) {
        let scopes = settings.groups.iter().map(|group| {
            let digest = Sha256::digest(format!("{group:?}"));
            digest.first_chunk().copied().unwrap_or_default()
        });
        self.inner.write().unwrap_or_else(PoisonError::into_inner).scopes = scopes.collect();
    }

    /// The cache and the scope of a group; none where nothing is shared.
    pub(crate) fn of_group(
        &self,
        group: u16,
    ) -> Option<(Arc<dyn SecondLevelCache>, UpstreamScope)> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let cache = inner.cache.as_ref()?;
        Some((Arc::clone(cache), *inner.scopes.get(usize::from(group))?))
    }
}
