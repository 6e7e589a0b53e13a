//! Any bytes as the options of a query, and as an answer with service bindings: what is read is
//! written back as it was, and what is stripped of its hints is still a message without them.
//! The first byte says which.
#![no_main]

use dns_wire::options::{AnswerOptions, ClientOptions, CookieSecrets, PaddingPolicy, iter_options};
use dns_wire::reply::{drop_additional, records};
use dns_wire::{DnsQuery, record_type, svcb};
use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use vocab::NameBuffer;

/// `a. A` with EDNS, as a client asks it.
const QUERY: &[u8] = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x01a\x00\x00\x01\x00\x01\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";

fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else { return };
    if which & 1 == 0 { options(data) } else { bindings(data) }
});

fn options(data: &[u8]) {
    let bytes: usize = iter_options(data).map(|(_, data)| 4 + data.len()).sum();
    assert!(bytes <= data.len());
    let Ok(found) = ClientOptions::read(data) else { return };
    assert_eq!(bytes, data.len());
    let secrets = CookieSecrets::of_day(&[7; 16], 1_767_225_600);
    let client = IpAddr::from(Ipv4Addr::LOCALHOST);
    let cookie = found.cookie.map(|it| secrets.check(&it, client, 1_767_225_600).1);
    let subnet = found.subnet;
    if let Some(subnet) = subnet {
        let mut option = Vec::new();
        subnet.write(&mut option);
        assert_eq!(ClientOptions::read(&option).ok().and_then(|it| it.subnet), Some(subnet));
    }
    let padding = if found.is_padded { PaddingPolicy::Block } else { PaddingPolicy::None };
    let keepalive = found.wants_keepalive.then_some(100);
    let answer = AnswerOptions { cookie, keepalive, subnet, padding };
    let mut name = NameBuffer::new();
    let query = DnsQuery::parse(QUERY, &mut name).expect("written above");
    for limit in [512, 1232, 65_535] {
        let written = answer.write(&query, None, 100, limit);
        let again = ClientOptions::read(written.as_bytes()).expect("written by us");
        assert_eq!((again.cookie.is_some(), again.subnet), (cookie.is_some(), subnet));
    }
}

fn bindings(data: &[u8]) {
    for (family, is_gone) in [
        (record_type::A, IpAddr::is_ipv4 as fn(&IpAddr) -> bool),
        (record_type::AAAA, IpAddr::is_ipv6),
    ] {
        let mut out = [b"before", data].concat();
        if svcb::strip_hints(&mut out, 6, family).is_err() {
            continue;
        }
        assert!(out.starts_with(b"before") && out.len() <= 6 + data.len());
        let is_binding = |rtype| matches!(rtype, record_type::SVCB | record_type::HTTPS);
        let bindings = records(&out[6..]).filter(|it| is_binding(it.rtype) && it.class == 1);
        assert!(!bindings.flat_map(|it| svcb::hints(it.data)).any(|it| is_gone(&it)));
        drop_additional(&mut out, 6);
        assert!(out.len() <= 6 + data.len());
    }
}
