//! Bounds of connections that more than one part keeps to.

use std::time::Duration;
use transport::udp::DATAGRAM_BYTES_MAX;

/// Time for which a connection may go without a whole question (RFC 7766 §6.2.3 leaves it to us;
/// the peers take 10 s), and how long it may take to read an answer.
pub(crate) const IDLE: Duration = Duration::from_secs(10);

/// Longest question taken, as for UDP.
pub(crate) const QUERY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX;
