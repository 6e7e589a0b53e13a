//! Any bytes as a reply under way: looked into, renamed, its TTLs set, cut to size. Nothing panics,
//! and what is renamed still reads.
#![no_main]

use dns_wire::{DnsQuery, reply};
use libfuzzer_sys::fuzz_target;
use vocab::NameBuffer;

/// `www.example.com A` with EDNS, as a client asks it.
const QUERY: &[u8] = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x03www\x07example\x03com\x00\x00\x01\x00\x01\x00\x00\x29\x04\xd0\x00\x00\x80\x00\x00\x00";

fuzz_target!(|data: &[u8]| {
    if data.len() < 12 {
        return;
    }
    let mut name = NameBuffer::new();
    let query = DnsQuery::parse(QUERY, &mut name).expect("written above");
    let records = reply::records(data).count();
    let _ = (reply::addresses(data).count(), reply::services(data).count());
    let _ = (reply::has_type(data, 1), reply::least_ttl(data));
    let _ = reply::any_alias(data, |name| name.as_str().is_empty());
    let mut shorter = data.to_vec();
    if reply::leave_out(&mut shorter, |record| record.rtype == 1).is_ok() {
        let others = reply::records(data).filter(|record| record.rtype != 1).count();
        assert_eq!(reply::records(&shorter).count(), others);
    } else {
        assert_eq!(shorter, data);
    }
    let mut out = data.to_vec();
    reply::set_ttls(&mut out, |ttl| ttl.min(60));
    assert_eq!((out.len(), reply::records(&out).count()), (data.len(), records));
    if reply::rename(&mut out, 0, query.question, 1).is_ok() {
        assert_eq!(reply::records(&out).count(), records + 1);
    }
    for limit in [512, 1232, 65_535] {
        let mut ended = out.clone();
        reply::finish(&query, None, None, &[], limit, 0, &mut ended);
        assert!(ended.len() <= out.len() + 11);
    }
});
