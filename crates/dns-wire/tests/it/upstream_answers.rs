//! Answers of upstreams: what is malformed is refused, what is about other names is left out, and
//! what belongs is read as the oracle reads it.

use crate::oracle;

use dns_wire::{BadAnswer, WireAnswer};
use domain::base::iana::{Class, Rcode};
use domain::base::{Rtype, Serial, Ttl};
use domain::rdata::{A, Ns, Soa};
use oracle::{Edns, Numbers, Read, a, aaaa, begin, cname, mx, name, parse, query, read, response};
use std::net::Ipv4Addr;

const POINTER: [u8; 2] = [0xc0, 12];

/// A response to `www.example` of type `qtype` whose answer section is these records.
fn answering(qtype: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let mut message = b"\0\x07\x81\x80\0\x01\0\0\0\0\0\0\x03www\x07example\0".to_vec();
    message[7] = records.len() as u8;
    message.extend(qtype.to_be_bytes());
    message.extend([0, 1]);
    message.extend(records.concat());
    message
}

fn record(owner: &[u8], rtype: u16, data: &[u8]) -> Vec<u8> {
    let mut record = owner.to_vec();
    record.extend(rtype.to_be_bytes());
    record.extend([0, 1, 0, 0, 1, 44]);
    record.extend((data.len() as u16).to_be_bytes());
    record.extend(data);
    record
}

/// What a client is given.
fn given(message: &[u8], qtype: Rtype) -> Read {
    let answer = WireAnswer::from_upstream(message).unwrap();
    let packet = query("www.example", qtype, Edns::None);
    let (query, _) = parse(&packet).unwrap();
    let mut out = Vec::new();
    answer.write(&query, 0, 65_535, &mut out);
    read(&out)
}

fn refused(message: &[u8]) -> BadAnswer {
    WireAnswer::from_upstream(message).unwrap_err()
}

#[test]
fn names_that_lead_nowhere_are_malformed() {
    let one = |owner: &[u8]| answering(1, &[record(owner, 1, &[192, 0, 2, 1])]);
    // The first record stands at 29.
    for owner in
        [&[0xc0, 29][..], &[0xc0, 40], &[0xc3, 0xff], &[0xc0, 4], &[1, b'a', 0xc0, 29], &[0x40, 0]]
    {
        assert_eq!(refused(&one(owner)), BadAnswer::Malformed, "{owner:?}");
    }
    assert!(WireAnswer::from_upstream(&one(&POINTER)).is_ok());
}

#[test]
fn a_pointer_leads_to_what_ends_before_it() {
    // The first record stands at 29; its data, at 41, begin with a label and point at its length,
    // 40, whose label is the data themselves: its name would end behind the last record.
    let mut message = answering(1, &[record(&POINTER, 5, &[3, b'c', b'd', b'n', 0xc0, 40])]);
    assert_eq!(message[40], 6);
    message.extend([0; 12]);
    assert_eq!(refused(&message), BadAnswer::Malformed);
}

#[test]
fn data_that_its_type_does_not_allow_are_malformed() {
    for (rtype, data) in [
        (1, &[192, 0, 2, 1, 0, 0][..]),
        (1, &[]),
        (28, &[192, 0, 2, 1]),
        (2, &[3, b'w', b'w']),
        (5, &[0xc0, 12, 0]),
        (12, &[0xc0, 41]),
        (6, &[0, 0, 1, 2, 3]),
        (15, &[0, 10]),
        (15, &[0, 10, 0xc0, 0xff]),
        (33, &[0, 0, 0, 0, 0, 53]),
        (16, &[5, b'a']),
        (13, &[1, b'a']),
        (35, &[0, 0, 0, 0, 0, 0, 0, 0xc0, 12]),
        (46, &[0, 1, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 12, 1]),
        (47, &[0, 0, 0]),
        (64, &[0, 1, 0xc0, 12]),
        (65, &[0, 1, 0, 0, 4, 0, 4, 1, 1, 1, 1, 0, 1, 0, 0]),
        (65, &[0, 1, 0, 0, 4, 0, 9, 1]),
        (257, &[0, 0]),
        (257, &[0, 2, b'-', b'-']),
    ] {
        let message = answering(rtype, &[record(&POINTER, rtype, data)]);
        assert_eq!(refused(&message), BadAnswer::Malformed, "{rtype} {data:?}");
    }
    // What nobody knows passes as it is.
    assert!(
        WireAnswer::from_upstream(&answering(65_300, &[record(&POINTER, 65_300, &[1])])).is_ok()
    );
}

#[test]
fn a_long_way_of_pointers_is_malformed() {
    let mut hops = vec![3, b'w', b'w', b'w', 0];
    let first = 29 + 12;
    for hop in 0..200_u16 {
        let before = if hop == 0 { first } else { first + 5 + 2 * (hop - 1) };
        hops.extend((0xc000 | before).to_be_bytes());
    }
    let last = first + 5 + 2 * 199;
    let message = answering(
        65_300,
        &[record(&POINTER, 65_300, &hops), record(&(0xc000 | last).to_be_bytes(), 65_300, &[1])],
    );
    assert_eq!(refused(&message), BadAnswer::Malformed);
}

#[test]
fn what_belongs_is_kept_byte_for_byte() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 300, "cdn.example.net");
        cname(it, "CDN.example.net", 60, "edge.example.org");
        a(it, "edge.example.org", 30, [192, 0, 2, 1]);
        a(it, "edge.EXAMPLE.org", 30, [192, 0, 2, 2]);
    });
    let kept = WireAnswer::from_upstream(&message).unwrap();
    assert_eq!(kept, WireAnswer::from_response(&message).unwrap());
    assert_eq!(kept.aliases().len(), 2);
}

#[test]
fn an_alias_may_stand_behind_what_it_leads_to() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "c.example", 30, [192, 0, 2, 1]);
        cname(it, "b.example", 60, "c.example");
        cname(it, "www.example", 300, "b.example");
    });
    assert_eq!(WireAnswer::from_upstream(&message), WireAnswer::from_response(&message));
}

#[test]
fn records_about_other_names_are_left_out() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "victim.test", 300, [203, 0, 113, 6]);
        cname(it, "www.example", 300, "b.example");
        aaaa(it, "b.example", 300, 7);
        a(it, "www.example", 300, [203, 0, 113, 7]);
        a(it, "b.example", 30, [192, 0, 2, 1]);
        cname(it, "www.example", 300, "victim.test");
    });
    let read = given(&message, Rtype::A);
    // An address beside an alias is the name's own, whatever else that breaks.
    assert_eq!(
        read.answers,
        [
            "www.example 300 CNAME b.example.",
            "www.example 300 A 203.0.113.7",
            "b.example 30 A 192.0.2.1"
        ]
    );
    let kept = WireAnswer::from_upstream(&message).unwrap();
    assert_eq!(kept.ttl(), 30);
    assert_eq!(kept.options(), WireAnswer::from_response(&message).unwrap().options());
}

#[test]
fn an_answer_about_other_names_only_is_none() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "victim.test", 300, [203, 0, 113, 6]);
    });
    assert_eq!(refused(&message), BadAnswer::Foreign);
    let mut chaos = answering(1, &[record(&POINTER, 1, &[192, 168, 1, 1])]);
    chaos[29 + 5] = 3;
    assert_eq!(refused(&chaos), BadAnswer::Foreign);
}

#[test]
fn an_answer_of_another_type_is_an_empty_one() {
    let message = response("www.example", Rtype::AAAA, Rcode::NOERROR, |it| {
        a(it, "www.example", 300, [192, 0, 2, 1]);
    });
    let read = given(&message, Rtype::AAAA);
    assert_eq!((read.rcode, read.answers), (Rcode::NOERROR, vec![]));
    let kept = WireAnswer::from_upstream(&message).unwrap();
    assert_eq!(kept.ttl(), dns_wire::NEGATIVE_TTL_WITHOUT_SOA_S);
}

#[test]
fn aliases_that_lead_in_a_circle_are_refused() {
    for names in [&["www.example"][..], &["b.example", "www.example"], &["b.test", "B.test"]] {
        let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
            let mut owner = "www.example";
            for target in names {
                cname(it, owner, 300, target);
                owner = target;
            }
        });
        assert_eq!(refused(&message), BadAnswer::AliasLoop, "{names:?}");
    }
}

#[test]
fn who_is_in_charge_of_other_names_is_left_out() {
    let soa = |owner: &str| {
        let zero = Ttl::from_secs(9);
        (
            name(owner),
            Ttl::from_secs(60),
            Soa::new(name("ns.test"), name("root.test"), Serial(1), zero, zero, zero, zero),
        )
    };
    let mut builder = begin("www.example", Rtype::A, Rcode::NXDOMAIN).authority();
    builder.push(soa("example")).unwrap();
    builder.push(soa("bank.test")).unwrap();
    builder.push((name("test"), Ttl::from_secs(60), Ns::new(name("ns.evil.test")))).unwrap();
    let inside = A::from(Ipv4Addr::new(192, 168, 1, 1));
    builder.push((name("www.example"), Ttl::from_secs(60), inside)).unwrap();
    let read = given(&builder.finish().into_target(), Rtype::A);
    assert_eq!(read.authorities, ["example 60 SOA ns.test. root.test. 1 9 9 9 9"]);
}

#[test]
fn additional_records_are_kept_where_something_names_them() {
    let mut builder = begin("www.example", Rtype::MX, Rcode::NOERROR);
    mx(&mut builder, "www.example", 300, "mail.example.net");
    let mut builder = builder.additional();
    for owner in ["mail.example.net", "victim.test", "WWW.example"] {
        let address = A::from(Ipv4Addr::new(192, 0, 2, 1));
        builder.push((name(owner), Class::IN, Ttl::from_secs(60), address)).unwrap();
    }
    let read = given(&builder.finish().into_target(), Rtype::MX);
    assert_eq!(read.answers, ["www.example 300 MX 10 mail.example.net."]);
    assert_eq!(read.additionals, ["mail.example.net 60 A 192.0.2.1", "www.example 60 A 192.0.2.1"]);
}

#[test]
fn a_signature_covers_what_its_own_data_say() {
    // Another class, of whose data nothing else is known; behind it stands a record of the type.
    let mut signature = record(&POINTER, 46, &[]);
    signature[5] = 3;
    let mut message = answering(1, &[signature, record(&POINTER, 1, &[192, 0, 2, 1])]);
    message[28] = 3;
    assert_eq!(refused(&message), BadAnswer::Malformed);
}

#[test]
fn what_is_left_out_names_nobody() {
    let mut builder = begin("www.example", Rtype::A, Rcode::NOERROR);
    a(&mut builder, "www.example", 300, [192, 0, 2, 1]);
    mx(&mut builder, "stranger.test", 300, "mail.victim.test");
    let mut builder = builder.authority();
    builder
        .push((name("victim.test"), Ttl::from_secs(60), Ns::new(name("ns.victim.test"))))
        .unwrap();
    let mut builder = builder.additional();
    for owner in ["mail.victim.test", "ns.victim.test"] {
        let address = A::from(Ipv4Addr::new(203, 0, 113, 6));
        builder.push((name(owner), Class::IN, Ttl::from_secs(60), address)).unwrap();
    }
    let read = given(&builder.finish().into_target(), Rtype::A);
    assert_eq!(read.answers, ["www.example 300 A 192.0.2.1"]);
    assert_eq!((read.authorities, read.additionals), (vec![], vec![]));
}

#[test]
fn chains_with_strangers_between_come_out_as_they_were_meant() {
    let mut numbers = Numbers(0x5eed);
    for _ in 0..2000 {
        let links: Vec<String> =
            (0..numbers.below(9)).map(|link| format!("l{link}.{}", numbers.name())).collect();
        let mut expected = Vec::new();
        let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
            let mut owner = "www.example".to_owned();
            for target in &links {
                if numbers.below(3) == 0 {
                    a(it, &format!("stranger.{}", numbers.name()), 9, [203, 0, 113, 1]);
                }
                cname(it, &owner, 300, target);
                expected.push(format!("{owner} 300 CNAME {target}."));
                owner.clone_from(target);
            }
            a(it, &owner, 30, [192, 0, 2, 1]);
            expected.push(format!("{owner} 30 A 192.0.2.1"));
        });
        assert_eq!(given(&message, Rtype::A).answers, expected);
    }
}
