//! A reply looked into and changed in place: what is added, moved and cut still reads.

use dns_wire::{DnsQuery, WireAnswer, record_type, reply, synthesize};
use std::net::IpAddr;
use vocab::NameBuffer;

fn query(name: &str, edns: &[u8]) -> Vec<u8> {
    let mut message = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    if !edns.is_empty() {
        message[11] = 1;
    }
    for label in name.split('.') {
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, 1, 0, 1]);
    message.extend_from_slice(edns);
    message
}

const EDNS: &[u8] = &[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];

/// An answer with an alias whose names are compressed into the question and into each other.
fn aliased(name: &str) -> Vec<u8> {
    let mut message = query(name, &[]);
    message[2] = 0x81;
    message[7] = 2;
    let apex = 12 + 1 + name.find('.').unwrap();
    message.extend_from_slice(&[0xc0, 12, 0, 5, 0, 1, 0, 0, 1, 0, 0, 6, 3]);
    message.extend_from_slice(b"cdn");
    message.extend_from_slice(&[0xc0, apex as u8]);
    let alias = message.len() - 6;
    message.extend_from_slice(&[0xc0, alias as u8, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    message
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_reply_is_looked_into() {
    let message = aliased("www.target.test");
    assert_eq!(reply::addresses(&message).collect::<Vec<_>>(), [ip("192.0.2.7")]);
    assert!(reply::has_type(&message, record_type::CNAME));
    assert!(!reply::has_type(&message, record_type::AAAA));
    assert!(reply::any_alias(&message, |name| name.as_str() == "cdn.target.test"));
    assert_eq!((reply::rcode(&message), reply::least_ttl(&message)), (0, Some(60)));
}

#[test]
fn ttls_are_set_everywhere() {
    let mut message = aliased("www.target.test");
    reply::set_ttls(&mut message, |ttl| ttl.max(100));
    assert_eq!(reply::records(&message).map(|it| it.ttl).collect::<Vec<_>>(), [256, 100]);
}

#[test]
fn a_renamed_reply_begins_with_the_alias_and_its_pointers_still_hold() {
    for from in ["a.test", "a-very-much-longer-name.than-the-one-before.test"] {
        let asked = query(from, &[]);
        let mut out = b"before".to_vec();
        out.extend_from_slice(&aliased("www.target.test"));
        reply::rename(&mut out, 6, &asked[12..], 1).unwrap();
        let message = &out[6..];
        let mut aliases = Vec::new();
        reply::any_alias(message, |name| {
            aliases.push(name.as_str().to_owned());
            false
        });
        assert_eq!(aliases, ["www.target.test", "cdn.target.test"]);
        assert_eq!(reply::addresses(message).collect::<Vec<_>>(), [ip("192.0.2.7")]);
        // The strict reader agrees, and so does the question.
        let answer = WireAnswer::from_response(message).unwrap();
        assert!(answer.matches(&asked[12..]));
        assert_eq!(answer.aliases().len(), 2);
    }
}

#[test]
fn what_cannot_be_renamed_is_left_as_it_was() {
    let mut broken = aliased("www.target.test");
    broken.truncate(broken.len() - 3);
    let before = broken.clone();
    assert!(reply::rename(&mut broken, 0, &query("a.test", &[])[12..], 1).is_err());
    assert_eq!(broken, before);
}

#[test]
fn an_end_has_opt_with_options_and_fits() {
    let asked = query("www.target.test", EDNS);
    let mut text = NameBuffer::new();
    let parsed = DnsQuery::parse(&asked, &mut text).unwrap();
    let mut out = Vec::new();
    synthesize::addresses(
        &DnsQuery { edns: None, ..parsed },
        &[ip("192.0.2.1")],
        60,
        None,
        &mut out,
    );
    let whole = out.len();
    reply::finish(&parsed, None, None, &[0, 10, 0, 2, 7, 7], 512, 0, &mut out);
    assert_eq!((out.len(), out[11]), (whole + 11 + 6, 1));
    assert_eq!(&out[out.len() - 6..], [0, 10, 0, 2, 7, 7]);

    out.truncate(whole);
    out[11] = 0;
    reply::finish(&parsed, Some(16), None, &[], whole + 10, 0, &mut out);
    assert_eq!((out[2] & 2, out[7], out[3] & 15), (2, 0, 0), "cut, and code 16 in OPT");
    assert_eq!(out[out.len() - 6], 1);
}

#[test]
fn a_reason_is_left_out_before_any_record_but_never_for_length_alone() {
    use dns_wire::{Ede, EdeCode};
    let message = query("www.target.test", EDNS);
    let mut name = NameBuffer::new();
    let query = DnsQuery::parse(&message, &mut name).unwrap();
    let ede = Some(Ede { code: EdeCode::StaleAnswer, text: "" });
    let finished = |limit| {
        let mut out = aliased("www.target.test");
        while out.len() < 1400 {
            out.extend_from_slice(&[0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, 2, 1, b'x']);
            out[7] += 1;
        }
        reply::finish(&query, None, ede, &[], limit, 0, &mut out);
        let is_truncated = out[2] & 2 != 0;
        (out.len(), is_truncated, out.windows(6).any(|it| it == [0, 15, 0, 2, 0, 3]))
    };
    let (whole, ..) = finished(65_535);
    assert_eq!(finished(65_535), (whole, false, true), "over the client's size for UDP");
    assert_eq!(finished(whole), (whole, false, true));
    assert_eq!(finished(whole - 1), (whole - 6, false, false));
    assert_eq!(finished(whole - 6), (whole - 6, false, false));
    let (short, is_truncated, says) = finished(whole - 7);
    assert!(short < 100 && is_truncated && says);
}

#[test]
fn additional_records_can_be_left_out() {
    let mut message = aliased("www.target.test");
    message[7] = 1;
    message[11] = 1;
    let mut out = [&b"before"[..], &message].concat();
    reply::drop_additional(&mut out, 6);
    assert_eq!((out[6 + 7], out[6 + 11]), (1, 0));
    assert_eq!(out.len(), 6 + message.len() - 16);
    assert_eq!(reply::records(&out[6..]).count(), 1);
}

/// An answer of one SRV record with these bytes of data.
fn service(data: &[u8]) -> Vec<u8> {
    let mut message = query("_http._tcp.app.test", &[]);
    message[2] = 0x81;
    message[7] = 1;
    message.extend_from_slice(&[0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, data.len() as u8]);
    message.extend_from_slice(data);
    message
}

#[test]
fn services_are_read_whether_their_names_are_compressed_or_not() {
    let apex = 12 + 1 + "_http._tcp.".len() as u8;
    for target in [&b"\x02s1\x03app\x04test\0"[..], &[2, b's', b'1', 0xc0, apex - 1]] {
        let message = service(&[&[0, 10, 0, 60, 0x1f, 0x90], target].concat());
        let found: Vec<_> = reply::services(&message).collect();
        assert_eq!(found.len(), 1);
        let reply::ServiceTarget { priority, weight, port, target } = &found[0];
        assert_eq!((*priority, *weight, *port, target.as_str()), (10, 60, 8080, "s1.app.test"));
        let answer = WireAnswer::from_response(&message).unwrap();
        assert_eq!(answer.services().collect::<Vec<_>>(), found);
    }
    let none = service(&[0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(reply::services(&none).next().unwrap().target.as_str(), "");
}

#[test]
fn a_service_that_is_cut_or_too_long_is_left_out() {
    for data in [&b"\0\x0a\0\x3c\x1f\x90\x02s1"[..], b"\0\x0a\0\x3c\x1f\x90\0\0", b"\0\x0a", b""] {
        assert_eq!(reply::services(&service(data)).count(), 0, "{}", data.escape_ascii());
    }
}
