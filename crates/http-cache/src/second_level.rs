//! Second level behind the stores of machines: what another machine of the fleet has stored.
//!
//! It is asked by the one fetch that leads, before the origin is, and told of small responses that
//! may be sent to anybody. Nobody waits for it beyond its own budget. The cache knows no server of
//! it; the binary hands one in.

use http_freshness::StoredHead;
use sha2::{Digest, Sha256};
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use vocab::Now;

/// Longest body that machines share, in bytes. With its head it fits into 16 KiB, of which 1,024
/// may wait, and which a gigabit line carries in a fraction of the budget.
pub(crate) const SHARED_BODY_MAX: usize = 15 << 10;

/// Digest of what a response depends on beside its request: rules, route and pool.
pub type SharingScope = [u8; 16];

/// Key of a response that machines share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedResponseKey {
    /// Machines whose settings differ share nothing.
    pub scope: SharingScope,
    /// Canonical absolute URL.
    pub url: Box<str>,
    /// `Accept-Encoding` in normal form; none where the request has none.
    pub codings: Option<Box<[u8]>>,
}

/// Response that machines share. Nothing in it is believed but for its maker.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedResponse {
    /// Head as it was stored, with its own times.
    pub head: StoredHead,
    /// Body, whole.
    pub body: Vec<u8>,
}

/// Place in the line of purges at which a fetch began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchPlace {
    /// Line.
    pub line: String,
    /// Number of the last purge.
    pub number: u64,
}

/// Look into a second level, which is over within its budget.
pub type ResponseLook = Pin<Box<dyn Future<Output = Option<SharedResponse>> + Send>>;

/// Responses that machines share. Its methods never block.
pub trait SecondLevelStore: Send + Sync {
    /// Place at which a fetch begins now; none where nothing is to be told of its answer.
    fn place(&self) -> Option<FetchPlace>;

    /// Looks for a response; none at once where it is not worth asking.
    fn look(&self, key: SharedResponseKey) -> Option<ResponseLook>;

    /// Keeps a response that is fresh for `ttl_s` seconds from now, or drops it.
    fn keep(
        &self,
        key: SharedResponseKey,
        begun: &FetchPlace,
        response: SharedResponse,
        ttl_s: u64,
        now: Now,
    );

    /// Notes that what was asked for until now under a URL may be wrong: this machine believes no
    /// such response any more.
    fn forget(&self, url: &str, now: Now);
}

/// The second level as caches see it: one for all doors, handed in while they run.
#[derive(Clone, Default)]
pub struct SecondLevelSlot(Arc<RwLock<Option<Arc<dyn SecondLevelStore>>>>);

impl SecondLevelSlot {
    /// Uses this from now on.
    pub fn use_store(&self, store: Option<Arc<dyn SecondLevelStore>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = store;
    }

    pub(crate) fn get(&self) -> Option<Arc<dyn SecondLevelStore>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The scope of these settings.
pub(crate) fn scope_of(settings: &dyn Debug) -> SharingScope {
    let digest = Sha256::digest(format!("{settings:?}"));
    digest.first_chunk().copied().unwrap_or_default()
}
