//! Leaving HTTP for a byte stream: `CONNECT`, `Upgrade` and WebSocket (RFC 9110 §7.8, §9.3.6).
//!
//! Take the upgrade from the request before answering, answer 101 (or 2xx to `CONNECT`), then
//! await it in a task of its own. The stream is tokio's kind of byte stream, with whatever the
//! client sent early still in it.

use hyper_util::rt::TokioIo;

pub use hyper::upgrade::{OnUpgrade, Upgraded, on};

/// An upgraded connection as a tokio byte stream.
pub type UpgradedStream = TokioIo<Upgraded>;

/// Waits for the upgrade and hands out the byte stream.
pub async fn stream(upgrade: OnUpgrade) -> Result<UpgradedStream, hyper::Error> {
    upgrade.await.map(TokioIo::new)
}
