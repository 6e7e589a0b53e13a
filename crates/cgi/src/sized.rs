//! Body of a request with its exact length, which a script must be told first.

use crate::failure::ScriptFailure;
use http_body::Body as _;
use http_engine::Body;
use http_engine::body::{ReadError, read_all};
use std::time::Duration;

/// A body of unknown length (chunked) is held until its length is known, up to so many bytes.
const UNKNOWN_BODY_BYTES_MAX: usize = 1 << 20;

/// The body as the client gave it, or held; `max` bytes at most.
pub(crate) async fn sized(
    body: Body,
    max: u64,
    timeout: Duration,
) -> Result<(Body, u64), ScriptFailure> {
    if let Some(len) = body.size_hint().exact() {
        return if len <= max { Ok((body, len)) } else { Err(ScriptFailure::BodyTooLarge) };
    }
    let held_max = usize::try_from(max).unwrap_or(usize::MAX).min(UNKNOWN_BODY_BYTES_MAX);
    match read_all(body, held_max, timeout).await {
        Ok(bytes) => {
            let len = bytes.len() as u64;
            Ok((Body::full(bytes), len))
        }
        Err(ReadError::TooLarge) => Err(ScriptFailure::BodyTooLarge),
        Err(ReadError::TooSlow | ReadError::Broken(_)) => Err(ScriptFailure::Body),
    }
}
