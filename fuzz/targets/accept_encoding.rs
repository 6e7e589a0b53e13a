//! Any `Accept-Encoding`: a coding is chosen only if it was offered, never one that is refused
//! outright, and identity is never chosen where a listed coding outweighs it.
#![no_main]

use http::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use http_engine::encoding::{AcceptedCodings, PREFERENCE};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut headers = HeaderMap::new();
    for line in data.split(|it| *it == b'\n') {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(ACCEPT_ENCODING, value);
        }
    }
    let accepted = AcceptedCodings::of(&headers);
    for offers in [&PREFERENCE[..], &PREFERENCE[1..], &PREFERENCE[2..], &[]] {
        if let Some(chosen) = accepted.choose(offers) {
            assert!(offers.contains(&chosen), "it was not offered");
            assert_eq!(accepted.choose(&[chosen]), Some(chosen), "alone it is refused");
        }
    }
    let _ = accepted.identity();
});
