//! A WebSocket over a stream of HTTP/2 (RFC 8441), put into the words of HTTP/1.1.
//!
//! The client's `CONNECT` becomes the handshake of RFC 6455 section 4.1, and the server's 101 a
//! 200. It sends nothing. Called by `request` and `passing`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::header::{HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY};
use http::{Method, Request, Response, StatusCode};
use http_engine::upgrade::{Protocol, WEBSOCKET};
use http_engine::{Body, hop_by_hop};
use sha1::{Digest, Sha1};

/// The text that RFC 6455 section 1.3 adds to a key.
const WEBSOCKET_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The handshake of a stream that becomes a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebSocketHandshake {
    key: HeaderValue,
}

/// Tells what a `CONNECT` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectRequest {
    /// A WebSocket.
    WebSocket,
    /// A tunnel, or a protocol that nobody knows here.
    Other,
}

/// Returns what `request` asks for, if it is a `CONNECT`.
pub(crate) fn parse_connect<B>(request: &Request<B>) -> Option<ConnectRequest> {
    (*request.method() == Method::CONNECT).then(|| {
        // The only protocol for which RFC 8441 says what its handshake is in HTTP/1.1.
        let protocol = request.extensions().get::<Protocol>();
        let is_known = protocol.is_some_and(|protocol| protocol.as_str() == WEBSOCKET);
        if is_known { ConnectRequest::WebSocket } else { ConnectRequest::Other }
    })
}

impl WebSocketHandshake {
    /// A handshake with a key of its own.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce)?;
        let key = HeaderValue::try_from(BASE64.encode(nonce)).expect("base64 is visible ASCII");
        Ok(Self { key })
    }

    /// The protocol to ask the server for.
    pub(crate) const fn protocol() -> HeaderValue {
        HeaderValue::from_static(WEBSOCKET)
    }

    /// Puts the key into what goes to the server.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.insert(SEC_WEBSOCKET_KEY, self.key.clone());
        let version = HeaderName::from_static("sec-websocket-version");
        headers.entry(version).or_insert(HeaderValue::from_static("13"));
    }

    /// True if the server has understood the handshake.
    pub(crate) fn is_accepted(&self, response: &Response<Body>) -> bool {
        let mut hash = Sha1::new();
        hash.update(self.key.as_bytes());
        hash.update(WEBSOCKET_GUID);
        let expected = BASE64.encode(hash.finalize());
        response.status() == StatusCode::SWITCHING_PROTOCOLS
            && hop_by_hop::switches_to(response.headers(), WEBSOCKET)
            && response
                .headers()
                .get(SEC_WEBSOCKET_ACCEPT)
                .is_some_and(|it| it == expected.as_str())
    }
}

/// Puts the server's 101 into the words of HTTP/2.
pub(crate) fn accepted(mut response: Response<Body>) -> Response<Body> {
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().remove(SEC_WEBSOCKET_ACCEPT);
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::header::UPGRADE;

    #[test]
    fn the_example_of_rfc_6455_is_met() {
        let handshake =
            WebSocketHandshake { key: HeaderValue::from_static("dGhlIHNhbXBsZSBub25jZQ==") };
        let mut response = Response::new(Body::empty());
        let accept = HeaderValue::from_static("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept);
        response.headers_mut().insert(UPGRADE, WebSocketHandshake::protocol());
        assert!(!handshake.is_accepted(&response));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        assert!(handshake.is_accepted(&response));
        assert!(!WebSocketHandshake::new().unwrap().is_accepted(&response));
        response.headers_mut().append(UPGRADE, HeaderValue::from_static("h2c"));
        assert!(!handshake.is_accepted(&response));
    }
}
