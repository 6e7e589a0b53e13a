//! Any bytes as the query of a `GET` of DNS over HTTPS, and as an answer that is to be put into
//! JSON: what is read is a message of bounded length, and what is written is JSON.
#![no_main]

use dns_wire::{DnsQuery, json};
use door_dns::doh_question;
use libfuzzer_sys::fuzz_target;
use vocab::NameBuffer;

/// The question that a message in words or in base64 may have, at most.
const QUESTION_BYTES_MAX: usize = 4096 + 2;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    if let Some(message) = doh_question(&text) {
        assert!(message.len() <= QUESTION_BYTES_MAX, "{text:?}");
        // A question in words is always one, and of number 0 (RFC 8484 section 4.1). A message in
        // base64, whose key may be written with percent signs, may be anything.
        if !text.contains("dns") && !text.contains('%') {
            let mut name = NameBuffer::new();
            let query = DnsQuery::parse(&message, &mut name).expect("it was written here");
            assert_eq!(query.id, 0);
        }
    }
    let mut written = String::new();
    if json::write_answer(data, &mut written).is_ok() {
        let read: serde_json::Value = serde_json::from_str(&written).expect("it is JSON");
        assert!(read["Status"].is_u64(), "{written}");
    }
});
