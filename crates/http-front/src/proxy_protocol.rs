//! Introduction by a proxy in front, which says by the PROXY protocol who the client is.
//!
//! Where networks of proxies are set, each connection has to come from one of them and begin so;
//! any other is closed without a word. The header itself is read by `transport`. Called by the web
//! and gateway doors before anything else is done.

use transport::proxy_protocol::PROXY_HEADER_DEADLINE;
use transport::{Drain, Stream};
use vocab::Network;

/// Reads the PROXY header where `proxies` are set: the connection then has the client's own
/// address. None where the header is missing or wrong, or where it comes from elsewhere.
pub async fn introduced(stream: Stream, proxies: &[Network], drain: &Drain) -> Option<Stream> {
    if proxies.is_empty() {
        return Some(stream);
    }
    let from = stream.peer().ip();
    if !proxies.iter().any(|network| network.contains(from)) {
        return None;
    }
    tokio::select! {
        introduced = stream.read_proxy_header(PROXY_HEADER_DEADLINE) => introduced.ok(),
        () = drain.started() => None,
    }
}
