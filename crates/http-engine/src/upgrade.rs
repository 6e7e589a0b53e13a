//! Leaving HTTP for a byte stream: `CONNECT`, `Upgrade` and WebSocket (RFC 9110 §7.8, §9.3.6).
//!
//! Take the upgrade from the request before answering, answer 101 (or 2xx to `CONNECT`), then
//! await it in a task of its own. The stream is tokio's kind of byte stream, with whatever the
//! other side sent early still in it.

use crate::client::ClientIo;
use crate::http2::tunnel::Http2Tunnel;
use crate::watch::InFlight;
use bytes::{Buf, Bytes};
use http::{Extensions, Request, Response};
use hyper_util::rt::TokioIo;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

pub use h2::ext::Protocol;

/// A connection that is about to leave HTTP, or does not.
#[derive(Debug)]
pub struct OnUpgrade(UpgradeStage);

#[derive(Debug)]
enum UpgradeStage {
    /// Once hyper is through with it.
    Engine(hyper::upgrade::OnUpgrade),
    /// A stream of HTTP/2, once its request is answered so.
    Stream(oneshot::Receiver<Http2Tunnel>),
    /// Has left.
    Upgraded(Box<UpgradedStream>),
    /// It stays.
    Not,
}

/// The cause for which a connection did not leave HTTP.
#[derive(Debug)]
pub enum UpgradeError {
    /// Nothing was agreed on.
    NotUpgraded,
    /// hyper's own error.
    Engine(hyper::Error),
}

/// An upgraded connection as a tokio byte stream.
pub struct UpgradedStream(UpgradeSource);

enum UpgradeSource {
    Engine(TokioIo<hyper::upgrade::Upgraded>),
    Stream(Box<Http2Tunnel>),
    /// A connection to a server, and what came with its answer.
    Direct(Bytes, Box<dyn ClientIo>),
}

/// The stream behind an answer that has left HTTP: an extension of it, for whoever takes it first.
#[derive(Clone)]
struct DetachedStream(Arc<Mutex<Option<UpgradedStream>>>);

/// The tunnel that a request over HTTP/2 may become: an extension of it, for whoever takes it
/// first.
#[derive(Clone)]
struct OfferedTunnel(Arc<Mutex<Option<oneshot::Receiver<Http2Tunnel>>>>);

/// A message that may be the last of its connection.
pub trait MayLeave {
    /// Returns whatever goes along with it.
    fn extensions_mut(&mut self) -> &mut Extensions;
}

impl<B> MayLeave for Request<B> {
    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }
}

impl<B> MayLeave for Response<B> {
    fn extensions_mut(&mut self) -> &mut Extensions {
        self.extensions_mut()
    }
}

/// Takes the upgrade of the connection that `message` came over.
pub fn on(message: &mut impl MayLeave) -> OnUpgrade {
    let extensions = message.extensions_mut();
    if let Some(DetachedStream(stream)) = extensions.remove() {
        let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        return OnUpgrade(
            stream.map_or(UpgradeStage::Not, |it| UpgradeStage::Upgraded(Box::new(it))),
        );
    }
    if let Some(OfferedTunnel(tunnel)) = extensions.remove() {
        let tunnel = tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
        return OnUpgrade(tunnel.map_or(UpgradeStage::Not, UpgradeStage::Stream));
    }
    OnUpgrade(extensions.remove().map_or(UpgradeStage::Not, UpgradeStage::Engine))
}

/// Notes with a request over HTTP/2 where its tunnel can be waited for.
pub(crate) fn offer_tunnel(extensions: &mut Extensions, tunnel: oneshot::Receiver<Http2Tunnel>) {
    extensions.insert(OfferedTunnel(Arc::new(Mutex::new(Some(tunnel)))));
}

/// The protocol that doors let through where their settings say nothing.
pub const WEBSOCKET: &str = "websocket";

/// Reason why a setting cannot allow a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// No `token` or `token/token` (RFC 9110 §7.8).
    NoToken,
    /// HTTP itself, or TLS, in which anything may be: requests inside would be read by nobody.
    CarriesRequests,
}

/// Checks a protocol that settings allow as one that connections may leave HTTP for.
pub fn check_protocol(text: &str) -> Result<(), ProtocolError> {
    let (name, version) = match text.split_once('/') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    if !is_token(name) || version.is_some_and(|version| !is_token(version)) {
        return Err(ProtocolError::NoToken);
    }
    let is_http = ["h2c", "h2", "h3", "http", "https", "tls"];
    if is_http.iter().any(|it| name.eq_ignore_ascii_case(it)) {
        return Err(ProtocolError::CarriesRequests);
    }
    Ok(())
}

/// RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_tchar)
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoToken => "this is no name of a protocol",
            Self::CarriesRequests => {
                "requests inside it would pass unread: no route, rule, password or limit would hold"
            }
        })
    }
}

impl std::error::Error for ProtocolError {}

/// Waits for the upgrade and hands out the byte stream.
pub async fn stream(upgrade: OnUpgrade) -> Result<UpgradedStream, UpgradeError> {
    match upgrade.0 {
        UpgradeStage::Engine(engine) => match engine.await {
            Ok(upgraded) => Ok(UpgradedStream(UpgradeSource::Engine(TokioIo::new(upgraded)))),
            Err(why) => Err(UpgradeError::Engine(why)),
        },
        UpgradeStage::Stream(tunnel) => match tunnel.await {
            Ok(tunnel) => Ok(UpgradedStream(UpgradeSource::Stream(Box::new(tunnel)))),
            // It was answered otherwise.
            Err(_) => Err(UpgradeError::NotUpgraded),
        },
        UpgradeStage::Upgraded(stream) => Ok(*stream),
        UpgradeStage::Not => Err(UpgradeError::NotUpgraded),
    }
}

/// Notes with an answer that its connection `io` has left HTTP; `ahead` came behind the head.
pub(crate) fn mark_upgraded(extensions: &mut Extensions, ahead: Bytes, io: Box<dyn ClientIo>) {
    let stream = UpgradedStream(UpgradeSource::Direct(ahead, io));
    extensions.insert(DetachedStream(Arc::new(Mutex::new(Some(stream)))));
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            UpgradeSource::Engine(io) => Pin::new(io).poll_read(cx, buf),
            UpgradeSource::Stream(tunnel) => Pin::new(tunnel).poll_read(cx, buf),
            UpgradeSource::Direct(ahead, io) if ahead.is_empty() => Pin::new(io).poll_read(cx, buf),
            UpgradeSource::Direct(ahead, _) => {
                let count = ahead.len().min(buf.remaining());
                buf.put_slice(&ahead[..count]);
                ahead.advance(count);
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl UpgradedStream {
    fn sink(self: Pin<&mut Self>) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        let sink: &mut (dyn AsyncWrite + Unpin) = match &mut self.get_mut().0 {
            UpgradeSource::Engine(io) => io,
            UpgradeSource::Stream(tunnel) => tunnel,
            UpgradeSource::Direct(_, io) => io,
        };
        Pin::new(sink)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sink().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.sink().poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            UpgradeSource::Engine(io) => io.is_write_vectored(),
            UpgradeSource::Stream(tunnel) => tunnel.is_write_vectored(),
            UpgradeSource::Direct(_, io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sink().poll_shutdown(cx)
    }
}

impl fmt::Debug for UpgradedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpgradedStream")
    }
}

impl fmt::Display for UpgradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotUpgraded => f.write_str("the connection did not leave HTTP"),
            Self::Engine(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for UpgradeError {}

/// Keeps the connection of an HTTP/2 `CONNECT` (RFC 9113 §8.5) counted as busy for as long as its
/// tunnel lasts: an extension of the request, to be kept with the tunnel.
#[derive(Clone)]
pub struct BusyGuard(#[expect(dead_code, reason = "it is there to be dropped")] Arc<StreamTunnel>);

/// A tunnel on a stream: its bytes pass no body of ours, and are no sign that nothing goes on.
struct StreamTunnel(InFlight);

impl BusyGuard {
    pub(crate) fn new(busy: InFlight) -> Self {
        busy.watch().tunnel_started();
        Self(Arc::new(StreamTunnel(busy)))
    }
}

impl Drop for StreamTunnel {
    fn drop(&mut self) {
        self.0.watch().tunnel_ended();
    }
}

impl fmt::Debug for BusyGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_no_protocol_to_leave_http_for() {
        for allowed in ["websocket", "tcp", "SPDY/3.1", "echo"] {
            assert_eq!(check_protocol(allowed), Ok(()), "{allowed}");
        }
        for http in ["h2c", "H2C/1", "HTTP/2.0", "TLS/1.2", "h2"] {
            assert_eq!(check_protocol(http), Err(ProtocolError::CarriesRequests), "{http}");
        }
        for none in ["", "a b", "a,b", "a/", "/a", "a/b/c"] {
            assert_eq!(check_protocol(none), Err(ProtocolError::NoToken), "{none:?}");
        }
    }
}
