//! A WebSocket opened and closed in order: pages connect again for ever to one that is refused.
//!
//! The handshake is answered (RFC 6455 §4.2.2); once the connection has left HTTP, Close 1000 goes
//! out, and what the client sends is read up to its own Close. No message is ever read. Called by
//! `request` for the handshake, by `door` for the rest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Response, StatusCode};
use http_engine::Body;
use http_engine::upgrade::{self, OnUpgrade};
use sha1::{Digest, Sha1};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The GUID that proves that the answer is meant (RFC 6455 §1.3).
const WEBSOCKET_GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A key is 16 bytes in base64 (§4.1).
const KEY_BYTES: usize = 24;
/// A Close frame of 1000, normal closure (§5.5.1, §7.4.1).
const CLOSE: [u8; 4] = [0x88, 2, 0x03, 0xe8];
/// Time that the client may take to close, and how much it may send until then.
const CLOSE_DEADLINE: Duration = Duration::from_secs(5);
const CLOSE_BYTES_MAX: usize = 64 << 10;

/// The answer to an opening handshake; `None` if it is none of version 13.
pub(crate) fn accept(headers: &HeaderMap) -> Option<Response<Body>> {
    let key = headers.get(SEC_WEBSOCKET_KEY)?.as_bytes();
    let version = headers.get(SEC_WEBSOCKET_VERSION)?;
    if key.len() != KEY_BYTES || version != "13" {
        return None;
    }
    let proof =
        STANDARD.encode(Sha1::new().chain_update(key).chain_update(WEBSOCKET_GUID).finalize());
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let fields = answer.headers_mut();
    fields.insert(UPGRADE, HeaderValue::from_static("websocket"));
    fields.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    fields.insert(SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&proof).ok()?);
    // Chromium fails a connection for which it offered protocols and none was chosen.
    let offered = headers.get(SEC_WEBSOCKET_PROTOCOL).and_then(|it| it.to_str().ok());
    if let Some(first) = offered.and_then(|it| it.split(',').next()) {
        fields.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(first.trim()).ok()?);
    }
    Some(answer)
}

/// Closes an open one.
pub(crate) async fn close(upgrade: OnUpgrade) {
    let closing = async {
        let Ok(mut stream) = upgrade::stream(upgrade).await else { return };
        if stream.write_all(&CLOSE).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        let (mut taken, mut piece) = (0, [0; 1024]);
        while let Ok(count @ 1..) = stream.read(&mut piece).await {
            // The client's Close begins so; what stands before it was sent before ours came.
            taken += count;
            if piece[0] == CLOSE[0] || taken > CLOSE_BYTES_MAX {
                break;
            }
        }
        // Whoever has gone already needs no goodbye.
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(CLOSE_DEADLINE, closing).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(version: &'static str, key: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(version));
        headers.insert(SEC_WEBSOCKET_KEY, HeaderValue::from_static(key));
        headers
    }

    #[test]
    fn the_proof_is_that_of_the_standards_example() {
        let answer = accept(&handshake("13", "dGhlIHNhbXBsZSBub25jZQ==")).unwrap();
        assert_eq!(answer.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn a_handshake_of_another_version_or_without_a_key_is_none() {
        assert!(accept(&handshake("8", "dGhlIHNhbXBsZSBub25jZQ==")).is_none());
        assert!(accept(&handshake("13", "short")).is_none());
        assert!(accept(&HeaderMap::new()).is_none());
    }
}
