//! What the proxy door is built from: the parts of the program that it shares.
//!
//! Made by the binary; read by `door`, `setup` and `tls`.

use crate::blocked_tunnels::BlockedTunnels;
use arc_swap::{ArcSwap, ArcSwapOption};
use http_cache::CacheEnvironment;
use ledger::Ledger;
use origins::Dialer;
use policy::Policy;
use signer::Signer;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Holds what the door is built from.
#[derive(Clone)]
pub struct ProxyParts {
    /// The policy, swapped as a whole on reload.
    pub policy: Arc<ArcSwap<Policy>>,
    /// Where requests are recorded.
    pub ledger: Ledger,
    /// What opens connections to origins.
    pub dialer: Dialer,
    /// Listeners that no proxied request may reach: the admin's.
    pub off_limits: Vec<SocketAddr>,
    /// The folder from which relative paths start.
    pub base: PathBuf,
    /// Who signs the certificate of `https` listeners that have none as files.
    pub signer: Option<Arc<Signer>>,
    /// Where the dashboard listens, once it does: the block page leads there whoever can reach it.
    pub dashboard: Arc<ArcSwapOption<SocketAddr>>,
    /// Whoever answers for hosts that are blocked, inside tunnels to them; none: they are refused.
    pub blocked_tunnels: Option<Arc<dyn BlockedTunnels>>,
    /// What the cache finds around it.
    pub cache: CacheEnvironment,
    /// Takes a line for the administrator: what came of a certificate that has changed.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}
