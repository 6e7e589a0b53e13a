//! What a filter in WebAssembly gives its host: a map of fields, the path of a property, a place in
//! its memory, of any bytes. What is read of a map is written as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wasm_filters::guest_span::{guest_span, property_words};
use wasm_filters::pairs::{parse, serialise};

fuzz_target!(|data: &[u8]| {
    if let Ok(pairs) = parse(data) {
        let written = serialise(&pairs);
        assert_eq!(parse(&written).as_ref(), Ok(&pairs));
        assert!(data.is_empty() || data.starts_with(&written));
    }
    for word in property_words(data) {
        assert!(!word.is_empty() && !word.contains(&0));
    }
    if let Some((place, rest)) = data.split_first_chunk::<8>() {
        let [a, b, c, d, e, f, g, h] = *place;
        let (pointer, size) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if let Some(span) = guest_span(rest.len(), pointer, size) {
            assert_eq!(rest[span].len(), size as usize);
        }
    }
});
