//! HTTP response as bytes, before it is sealed.
//!
//! ```text
//! version:u8 head_length:u32 head body
//! ```
//!
//! Any bytes may be read: what is no response is none.

use http_cache::SharedResponse;
use http_freshness::StoredHead;

/// Version of the form; another is none.
const VERSION: u8 = 1;

/// A response as bytes; none where its head is too large.
pub fn write_response(response: &SharedResponse) -> Option<Vec<u8>> {
    let head = response.head.encode().ok()?;
    let length = u32::try_from(head.len()).ok()?.to_be_bytes();
    Some([&[VERSION], &length[..], &head, &response.body].concat())
}

/// The response in bytes that [`write_response`] made; none of anything else.
pub fn read_response(bytes: &[u8]) -> Option<SharedResponse> {
    let (version, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (head, body) = rest.split_at_checked(length)?;
    if *version != VERSION {
        return None;
    }
    Some(SharedResponse { head: StoredHead::decode(head).ok()?, body: body.to_vec() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue, StatusCode, header};

    fn response() -> SharedResponse {
        let fields = [(header::CACHE_CONTROL, HeaderValue::from_static("max-age=60"))];
        let selecting = [(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))];
        let head = StoredHead {
            status: StatusCode::NOT_FOUND,
            fields: HeaderMap::from_iter(fields),
            selecting: HeaderMap::from_iter(selecting),
            requested_ms: 1_000,
            received_ms: 2_000,
        };
        SharedResponse { head, body: b"nothing here".to_vec() }
    }

    #[test]
    fn a_response_is_read_as_it_was_written() {
        let bytes = write_response(&response()).unwrap();
        assert_eq!(read_response(&bytes), Some(response()));
        let empty = SharedResponse { body: Vec::new(), ..response() };
        assert_eq!(read_response(&write_response(&empty).unwrap()), Some(empty));
    }

    #[test]
    fn what_is_no_response_is_none() {
        let bytes = write_response(&response()).unwrap();
        let head_end = bytes.len() - b"nothing here".len();
        for at in 0..head_end {
            assert_eq!(read_response(&bytes[..at]), None, "cut at {at}");
        }
        for at in 0..5 {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_ne!(read_response(&changed), Some(response()), "{at}");
            }
        }
        assert_eq!(read_response(&[VERSION, 255, 255, 255, 255, 1]), None);
    }
}
