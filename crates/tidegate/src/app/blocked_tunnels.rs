//! Blocked tunnels of the proxy, led to the pixel door: there a page that clients see through the
//! proxy gets the same answers as one that came by DNS.
//!
//! It holds no connection itself. Made by `build`; told of the pixel door by `doors`; asked by the
//! proxy.

use super::mint::vouches_for;
use ::signer::trust::TrustBook;
use arc_swap::{ArcSwap, ArcSwapOption};
use config::Plan;
use door_proxy::{BlockedTunnels, TunnelClient};
use http_engine::upgrade::UpgradedStream;
use policy::Policy;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use transport::Drain;
use vocab::{Name, Now, Scheme};

/// The pixel door as the proxy sees it.
pub(super) struct AtPixel {
    policy: Arc<ArcSwap<Policy>>,
    trust: Arc<TrustBook>,
    drain: Drain,
    /// None where the configuration has no pixel door that speaks TLS.
    pub(super) door: ArcSwapOption<door_pixel::PixelDoor>,
}

impl AtPixel {
    /// Nobody yet: the door comes with the plan.
    pub(super) fn new(
        policy: &Arc<ArcSwap<Policy>>,
        trust: &Arc<TrustBook>,
        drain: &Drain,
    ) -> Self {
        Self {
            policy: Arc::clone(policy),
            trust: Arc::clone(trust),
            drain: drain.clone(),
            door: ArcSwapOption::empty(),
        }
    }
}

impl BlockedTunnels for AtPixel {
    fn answers(&self, client: IpAddr, host: Name<'_>, now: Now) -> bool {
        self.door.load().is_some()
            && !self.trust.avoids(client, now)
            && vouches_for(&self.policy.load(), host.as_str(), now)
    }

    fn serve(
        &self,
        stream: UpgradedStream,
        client: TunnelClient,
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        // It was there a moment ago; a reload may have taken it away.
        let Some(door) = self.door.load_full() else { return Box::pin(async {}) };
        Box::pin(door.serve_tunnel(
            stream,
            client.address,
            client.local_address,
            self.drain.clone(),
        ))
    }
}

/// True where the pixel door of the plan takes blocked tunnels: it speaks TLS.
pub(super) fn are_taken(plan: &Plan) -> bool {
    let pixel = plan.file.pixel.as_ref();
    pixel.is_some_and(|pixel| pixel.listen.iter().any(|it| it.0.scheme == Scheme::Https))
}
