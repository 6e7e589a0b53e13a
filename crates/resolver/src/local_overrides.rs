//! Names that the configuration answers itself, for whoever dials one: local records, and names
//! that are looked up under another.
//!
//! They are asked for before the cache and the upstreams, so that every door is led where clients
//! of the DNS door are; the questions of those do not come by here. It holds no record itself: the
//! DNS door has them. Called by `addresses` and `lasting`.

use dns_wire::WireAnswer;
use std::net::IpAddr;
use std::sync::Arc;
use vocab::{DomainName, Name};

/// Time for which the configuration's answer holds, in seconds, whatever its records say: nobody
/// has to be asked again, and a reload may change it.
pub(crate) const LOCAL_OVERRIDE_TTL_S: u32 = 10;

/// What the configuration says of names.
pub trait LocalOverrides: Send + Sync {
    /// A number that other records or rewrites would not have: connections that were opened under
    /// another are not used again.
    fn digest(&self) -> u64;

    /// The name that is looked up in place of `name`, if another is.
    fn rewrite_target(&self, name: Name<'_>) -> Option<DomainName>;

    /// Returns what there is of `name` in type `qtype`, which may be nothing; none where others are
    /// to be asked.
    fn answer(&self, name: Name<'_>, qtype: u16) -> Option<Arc<WireAnswer>>;
}

/// Holds what the configuration says of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalOverride {
    /// The name that is looked up in its place, if another is.
    pub rewrite_target: Option<DomainName>,
    /// Addresses; empty where the configuration gives none.
    pub addresses: Vec<IpAddr>,
}
