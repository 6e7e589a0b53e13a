//! What all upstreams of an engine share: TLS, random numbers, the count of open ports, and the
//! size of a window.

use super::random::RandomBytes;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use transport::ClientTls;

/// Holds what every way needs.
pub(crate) struct ExchangeMeans {
    pub(crate) tls: ClientTls,
    pub(crate) random: RandomBytes,
    /// Ports that are open for one question each, of all engines together.
    pub(crate) single_ports: Arc<AtomicUsize>,
    /// Questions that may be on their way to one upstream at once from the start.
    pub(crate) window_min: usize,
}
