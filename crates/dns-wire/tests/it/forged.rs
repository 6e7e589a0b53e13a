//! Answers made here: readable, within 512 bytes, and kept by clients as long as we say.

use crate::oracle;

use dns_wire::{DnsQuery, EDE_TEXT_BYTES_MAX, Ede, EdeCode, Rcode, WireAnswer, synthesize};
use domain::base::Rtype;
use domain::base::iana::Rcode as Code;
use oracle::{Edns, Read, parse, query, read};
use std::net::IpAddr;

const BLOCKED: Option<Ede<'_>> = Some(Ede { code: EdeCode::Blocked, text: "ads:12" });

fn forged(qtype: Rtype, edns: Edns, make: impl Fn(&DnsQuery<'_>, &mut Vec<u8>)) -> Read {
    let packet = query("ADS.example", qtype, edns);
    let (query, _) = parse(&packet).unwrap();
    let mut out = Vec::new();
    make(&query, &mut out);
    let read = read(&out);
    assert_eq!((read.id, read.truncated), (0x1234, false));
    assert_eq!(read.question, format!("ADS.example {qtype}"));
    assert_eq!(read.opt.is_some(), edns != Edns::None);
    // What we make, our own cache could keep.
    WireAnswer::from_response(&out).unwrap();
    read
}

#[test]
fn nodata_and_nxdomain_carry_an_soa_that_says_how_long() {
    for (code, make) in [
        (
            Code::NOERROR,
            synthesize::nodata as fn(&DnsQuery<'_>, u32, Option<Ede<'_>>, &mut Vec<u8>),
        ),
        (Code::NXDOMAIN, synthesize::nxdomain),
    ] {
        let packet = query("ads.example", Rtype::A, Edns::None);
        let (asked, _) = parse(&packet).unwrap();
        let mut out = Vec::new();
        make(&asked, 42, None, &mut out);
        assert_eq!(WireAnswer::from_response(&out).unwrap().ttl(), 42);
        let read =
            forged(Rtype::HTTPS, Edns::Size(1232), |query, out| make(query, 42, BLOCKED, out));
        assert_eq!(read.rcode, code);
        assert_eq!(read.answers, Vec::<String>::new());
        assert_eq!(read.authorities.len(), 1);
        assert!(read.authorities[0].starts_with("ADS.example 42 SOA tidegate.invalid"));
        assert_eq!(read.opt.unwrap().ede, Some((15, "ads:12".into())));
    }
}

#[test]
fn addresses_are_those_of_the_type_asked_for() {
    let pixel: Vec<IpAddr> =
        ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(|it| it.parse().unwrap()).into();
    let make = |query: &DnsQuery<'_>, out: &mut Vec<u8>| {
        synthesize::addresses(query, &pixel, 10, None, out);
    };
    let v4 = forged(Rtype::A, Edns::None, make);
    assert_eq!(v4.answers, ["ADS.example 10 A 192.0.2.1", "ADS.example 10 A 192.0.2.2"]);
    let v6 = forged(Rtype::AAAA, Edns::None, make);
    assert_eq!(v6.answers, ["ADS.example 10 AAAA 2001:db8::1"]);
    let other = forged(Rtype::HTTPS, Edns::None, make);
    assert_eq!((other.rcode, other.answers.len(), other.authorities.len()), (Code::NOERROR, 0, 1));
}

#[test]
fn null_is_the_unspecified_address() {
    let make = |query: &DnsQuery<'_>, out: &mut Vec<u8>| synthesize::null(query, 10, BLOCKED, out);
    assert_eq!(forged(Rtype::A, Edns::None, make).answers, ["ADS.example 10 A 0.0.0.0"]);
    assert_eq!(forged(Rtype::AAAA, Edns::Size(512), make).answers, ["ADS.example 10 AAAA ::"]);
    assert_eq!(forged(Rtype::MX, Edns::None, make).authorities.len(), 1);
}

#[test]
fn errors_say_their_code_and_reason() {
    let refused =
        forged(Rtype::A, Edns::Size(512), |query, out| synthesize::refused(query, BLOCKED, out));
    assert_eq!(refused.rcode, Code::REFUSED);
    assert_eq!(refused.opt.unwrap().ede.unwrap().0, 15);
    let failed = forged(Rtype::A, Edns::None, |query, out| synthesize::servfail(query, None, out));
    assert_eq!(failed.rcode, Code::SERVFAIL);
    let not_implemented =
        forged(Rtype::A, Edns::None, |query, out| synthesize::error(query, Rcode::NotImp, out));
    assert_eq!(not_implemented.rcode, Code::NOTIMP);
}

#[test]
fn any_is_answered_by_as_little_as_is_allowed() {
    let read = forged(Rtype::ANY, Edns::None, |query, out| synthesize::any(query, 60, out));
    assert_eq!(read.answers.len(), 1);
    assert!(read.answers[0].contains("HINFO"));
}

#[test]
fn the_largest_of_them_fit_the_smallest_client() {
    let owner = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
    let addresses: Vec<IpAddr> = (0..20).map(|i| IpAddr::from([i; 16])).collect();
    let long = "x".repeat(EDE_TEXT_BYTES_MAX - 1) + "ü";
    let ede = Some(Ede { code: EdeCode::Filtered, text: &long });
    let packet = query(&owner, Rtype::AAAA, Edns::Size(512));
    let (small, _) = parse(&packet).unwrap();
    let mut out = Vec::new();
    synthesize::addresses(&small, &addresses, 10, ede, &mut out);
    assert!(out.len() <= 512);
    assert_eq!(read(&out).answers.len(), synthesize::ADDRESSES_MAX);
    out.clear();
    synthesize::nodata(&small, 10, ede, &mut out);
    assert!(out.len() <= 512);
    assert!(read(&out).opt.unwrap().ede.is_none(), "the reason goes before the answer outgrows");
    let packet = query("a.test", Rtype::AAAA, Edns::Size(1232));
    let (large, _) = parse(&packet).unwrap();
    out.clear();
    synthesize::nodata(&large, 10, ede, &mut out);
    assert_eq!(
        read(&out).opt.unwrap().ede.unwrap().1,
        "x".repeat(EDE_TEXT_BYTES_MAX - 1),
        "cut before a letter's half"
    );
}
