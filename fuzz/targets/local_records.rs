//! Any text as lines of local records: records or complaints, and what is kept answers and fits.
#![no_main]

use dns_wire::{DnsQuery, records::LocalRecords};
use libfuzzer_sys::fuzz_target;
use vocab::{Name, NameBuffer};

/// `a.example A`, as a client asks it.
const QUERY: &[u8] =
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let lines: Vec<&str> = text.lines().collect();
    let Ok(records) = LocalRecords::parse(&lines) else { return };
    let mut buffer = NameBuffer::new();
    let query = DnsQuery::parse(QUERY, &mut buffer).expect("written above");
    let name = Name::from_lowercase("a.example").expect("written here");
    if let Some(answer) = records.lookup(name, query.qtype) {
        let mut out = Vec::new();
        answer.write(&query, 512, &mut out);
        assert!(out.len() <= 512);
    }
});
