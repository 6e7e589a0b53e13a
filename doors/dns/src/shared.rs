//! What every request of the door sees, on every thread; exchanged by reloads part by part.

use crate::doh::client::ForwardedTrust;
use crate::plan::DnsPlan;
use arc_swap::ArcSwap;
use ledger::Ledger;
use policy::Policy;
use resolver::{FairCap, Resolver};
use signer::trust::TrustBook;
use std::sync::Arc;
use transport::{Cores, Drain};

/// Holds what every request sees.
pub(crate) struct DoorShared {
    pub(crate) policy: Arc<ArcSwap<Policy>>,
    pub(crate) plan: Arc<ArcSwap<DnsPlan>>,
    pub(crate) resolver: Resolver,
    pub(crate) ledger: Ledger,
    pub(crate) drain: Drain,
    /// Where questions wait that wait for more than an exchange.
    pub(crate) cores: Arc<Cores>,
    /// Questions that wait there now.
    pub(crate) tasks: FairCap,
    /// Which clients get no address of the pixel door.
    pub(crate) trust: Arc<TrustBook>,
    /// Whom DNS over HTTPS believes about its clients.
    pub(crate) doh: ArcSwap<ForwardedTrust>,
}
