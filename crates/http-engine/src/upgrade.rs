//! Leaving HTTP for a byte stream: `CONNECT`, `Upgrade` and WebSocket (RFC 9110 §7.8, §9.3.6).
//!
//! Take the upgrade from the request before answering, answer 101 (or 2xx to `CONNECT`), then
//! await it in a task of its own. The stream is tokio's kind of byte stream, with whatever the
//! client sent early still in it.

use crate::watch::InFlight;
use hyper_util::rt::TokioIo;
use std::fmt;
use std::sync::Arc;

pub use hyper::ext::Protocol;
pub use hyper::upgrade::{OnUpgrade, Upgraded, on};

/// An upgraded connection as a tokio byte stream.
pub type UpgradedStream = TokioIo<Upgraded>;

/// Waits for the upgrade and hands out the byte stream.
pub async fn stream(upgrade: OnUpgrade) -> Result<UpgradedStream, hyper::Error> {
    upgrade.await.map(TokioIo::new)
}

/// Keeps the connection of an HTTP/2 `CONNECT` (RFC 9113 §8.5) counted as busy for as long as its
/// tunnel lasts: an extension of the request, to be kept with the tunnel.
#[derive(Clone)]
pub struct Held(#[expect(dead_code, reason = "it is there to be dropped")] Arc<InFlight>);

impl Held {
    pub(crate) fn new(busy: InFlight) -> Self {
        Self(Arc::new(busy))
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}
