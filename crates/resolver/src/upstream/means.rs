//! What all upstreams share on the resolver's thread: TLS, random numbers, and the count of open
//! ports.

use super::random::RandomBytes;
use std::cell::Cell;
use std::rc::Rc;
use transport::ClientTls;

/// Holds what every way needs.
pub(crate) struct ExchangeMeans {
    pub(crate) tls: ClientTls,
    pub(crate) random: RandomBytes,
    /// Ports that are open for one question each.
    pub(crate) single_ports: Rc<Cell<usize>>,
}
