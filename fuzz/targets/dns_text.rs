//! Any text as a zone file, or as the words of a question in JSON; any bytes as an answer that is
//! put into JSON. The first byte says which.
#![no_main]

use dns_wire::json::{CheckingDisabled, DnssecOk, JsonQuestion, write_answer, write_query};
use dns_wire::{DnsQuery, reply};
use libfuzzer_sys::fuzz_target;
use pipeline::records::{RecordsAnswered, ZoneTable};
use vocab::{Name, NameBuffer};

/// `a.example A`, as a client asks it.
const QUERY: &[u8] =
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x07example\x00\x00\x01\x00\x01";

fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else { return };
    match which % 3 {
        0 => zone(data),
        1 => asking(data),
        _ => {
            let mut text = String::new();
            if write_answer(data, &mut text).is_ok() {
                let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
                assert!(json.get("Status").is_some());
            }
        }
    }
});

fn zone(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Each may make 65,536 records: many of them are no fault, but take the time of many runs.
    if text.to_ascii_uppercase().matches("$GENERATE").count() > 1 {
        return;
    }
    let mut builder = ZoneTable::builder();
    // What is included is what includes it: the depth is bounded.
    let mut include = |path: &str, _: &str| match path {
        "more" => Ok("b.example. 60 IN A 192.0.2.2".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    if let Err(bad) = builder.add("zone", text, &mut include) {
        assert!(!bad.is_empty() && bad.len() <= 32);
    }
    let zone = builder.build();
    let mut buffer = NameBuffer::new();
    let query = DnsQuery::parse(QUERY, &mut buffer).expect("written above");
    let name = Name::from_lowercase("a.example").expect("written here");
    let mut out = Vec::new();
    if zone.write(&query, name, &mut out) == RecordsAnswered::Yes {
        assert!(!zone.is_empty() && out.len() <= 65_535);
        assert!(reply::has_type(&out, 1));
    }
}

fn asking(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (name, rtype) = text.split_once('\n').unwrap_or((text, "A"));
    let (checking, dnssec) = (CheckingDisabled::Disabled, DnssecOk::Wanted);
    let mut message = Vec::new();
    if write_query(&JsonQuestion { name, rtype, checking, dnssec }, &mut message).is_err() {
        return;
    }
    let mut buffer = NameBuffer::new();
    // A name of wildcards and escapes is one as good as any: what we write, we read.
    let query = DnsQuery::parse(&message, &mut buffer).expect("written by us");
    assert!(query.wants_dnssec() && query.flags.checking_disabled() && query.qtype != 0);
}
