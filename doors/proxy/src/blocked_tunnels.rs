//! The answer inside tunnels to blocked hosts, as the proxy hands them over.
//!
//! Implemented by the binary, which has the pixel door answer. Called by `tunnel`.

use http_engine::upgrade;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use vocab::{Name, Now};

/// Whoever answers in place of blocked hosts, whose certificates some clients take.
pub trait BlockedTunnels: Send + Sync {
    /// True if it has a certificate for `host`, and the client is not known to refuse it.
    fn answers(&self, client: IpAddr, host: Name<'_>, now: Now) -> bool;

    /// Speaks TLS and HTTP with the client, to the end. Within a `LocalSet` or local runtime only.
    fn serve(
        &self,
        stream: upgrade::UpgradedStream,
        client: TunnelClient,
    ) -> Pin<Box<dyn Future<Output = ()>>>;
}

/// Client of a blocked tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelClient {
    /// Address.
    pub address: IpAddr,
    /// Our end of its connection; none where it is gone already.
    pub local_address: Option<SocketAddr>,
}
