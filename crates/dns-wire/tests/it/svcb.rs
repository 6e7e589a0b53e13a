//! Service bindings: hints are found and taken out, whatever stands around them, and what is
//! hostile changes nothing but itself.

use dns_wire::svcb::{
    CUTS_MAX, CannotStrip, HINTS_MAX, ServiceBinding, StripOutcome, answer, hints, strip_hints,
};
use dns_wire::{DnsQuery, record_type, reply};
use domain::base::name::ParsedName;
use domain::base::{Message, ParsedRecord};
use domain::rdata::AllRecordData;
use std::net::IpAddr;
use vocab::{DomainName, NameBuffer};

const A: u16 = record_type::A;
const AAAA: u16 = record_type::AAAA;

/// A parameter of a binding.
fn parameter(key: u16, value: &[u8]) -> Vec<u8> {
    [&key.to_be_bytes()[..], &(value.len() as u16).to_be_bytes(), value].concat()
}

/// A record with its owner as it stands.
fn record(owner: &[u8], rtype: u16, data: &[u8]) -> Vec<u8> {
    let mut record = owner.to_vec();
    record.extend(rtype.to_be_bytes());
    record.extend(b"\0\x01\0\0\x01\x2c");
    record.extend((data.len() as u16).to_be_bytes());
    record.extend(data);
    record
}

fn message(counts: [u8; 3], records: &[Vec<u8>]) -> Vec<u8> {
    let mut message = b"\x12\x34\x81\x80\0\x01\0".to_vec();
    message.extend([counts[0], 0, counts[1], 0, counts[2]]);
    message.extend(b"\x03www\x07example\0\0\x41\0\x01");
    message.extend(records.concat());
    message
}

/// The binding of `svc.example` with both kinds of hints, and `mandatory` keys.
fn binding(mandatory: &[u16]) -> Vec<u8> {
    let mut data = b"\0\x01\0".to_vec();
    if !mandatory.is_empty() {
        let keys: Vec<u8> = mandatory.iter().flat_map(|key| key.to_be_bytes()).collect();
        data.extend(parameter(0, &keys));
    }
    data.extend(parameter(1, b"\x02h2"));
    data.extend(parameter(4, &[192, 0, 2, 1, 192, 0, 2, 2]));
    data.extend(parameter(6, &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]));
    data.extend(parameter(7, b"/q"));
    data
}

/// An alias, two bindings, and behind them names that point before, between and behind.
fn busy(mandatory: &[u16]) -> Vec<u8> {
    // `example` stands at 16, the alias's target at 41, the name server's behind both bindings.
    let bindings = binding(mandatory).len();
    let server = 29 + 12 + 6 + 2 * (12 + bindings) + 12;
    let to_server = (0xc000 | server as u16).to_be_bytes();
    message(
        [3, 1, 2],
        &[
            record(b"\xc0\x0c", record_type::CNAME, b"\x03svc\xc0\x10"),
            record(b"\xc0\x29", record_type::HTTPS, &binding(mandatory)),
            record(b"\xc0\x29", record_type::SVCB, &binding(mandatory)),
            record(b"\xc0\x10", record_type::NS, b"\x02ns\xc0\x29"),
            record(&to_server, A, &[192, 0, 2, 3]),
            record(
                &[b"\x01x", &to_server[..]].concat(),
                record_type::MX,
                &[&[0, 5][..], &to_server].concat(),
            ),
        ],
    )
}

/// Every record as a zone file has it, by a reader that is not ours.
fn read(message: &[u8]) -> Vec<String> {
    let message = Message::from_octets(message.to_vec()).unwrap();
    let line = |it: ParsedRecord<'_, Vec<u8>>| {
        it.to_any_record::<AllRecordData<_, ParsedName<_>>>().unwrap().to_string()
    };
    message.iter().map(|it| line(it.unwrap().0)).collect()
}

fn stripped(message: &[u8], address_type: u16) -> Result<Vec<u8>, CannotStrip> {
    // Something stands before the message.
    let mut out = [b"before", message].concat();
    strip_hints(&mut out, 6, address_type)?;
    assert!(out.starts_with(b"before"));
    Ok(out.split_off(6))
}

#[test]
fn hints_are_found() {
    let found: Vec<IpAddr> = hints(&binding(&[])).collect();
    let expected =
        ["192.0.2.1", "192.0.2.2", "2001:db8::9"].map(|it| it.parse::<IpAddr>().unwrap());
    assert_eq!(found, expected);
    for cut in 0..binding(&[]).len() {
        // A cut binding gives what stands before the cut.
        assert!(hints(&binding(&[])[..cut]).all(|it| expected.contains(&it)));
    }
    assert_eq!(hints(b"\0\x01\xc0\0\0\x04\0\x04\xc0\0\x02\x01").count(), 0, "compressed target");
}

#[test]
fn hints_are_taken_out_and_everything_else_says_the_same() {
    for mandatory in [&[][..], &[1], &[4], &[6], &[1, 4, 6], &[4, 6]] {
        let message = busy(mandatory);
        for (address_type, number) in [(A, 4), (AAAA, 6)] {
            let stripped = stripped(&message, address_type).unwrap();
            let left: Vec<u16> = mandatory.iter().copied().filter(|key| *key != number).collect();
            let mut expected = read(&busy(mandatory));
            let bare = read(&without(&left, number));
            expected[1..3].clone_from_slice(&bare[1..3]);
            assert_eq!(read(&stripped), expected, "{mandatory:?} less {number}");
            assert!(stripped.len() < message.len());
        }
    }
}

/// The same message made without the hint, its pointers being of no interest.
fn without(mandatory: &[u16], number: u16) -> Vec<u8> {
    let mut data = b"\0\x01\0".to_vec();
    if !mandatory.is_empty() {
        let keys: Vec<u8> = mandatory.iter().flat_map(|key| key.to_be_bytes()).collect();
        data.extend(parameter(0, &keys));
    }
    let whole = binding(&[]);
    data.extend(parameter(1, b"\x02h2"));
    if number != 4 {
        data.extend(&whole[10..22]);
    }
    if number != 6 {
        data.extend(&whole[22..42]);
    }
    data.extend(parameter(7, b"/q"));
    message(
        [3, 0, 0],
        &[
            record(b"\xc0\x0c", record_type::CNAME, b"\x03svc\xc0\x10"),
            record(b"\xc0\x29", record_type::HTTPS, &data),
            record(b"\xc0\x29", record_type::SVCB, &data),
        ],
    )
}

#[test]
fn an_answer_without_hints_is_left_alone() {
    let plain = message([1, 0, 0], &[record(b"\xc0\x0c", A, &[192, 0, 2, 1])]);
    let mut out = plain.clone();
    assert_eq!(strip_hints(&mut out, 0, AAAA), Ok(StripOutcome::Untouched));
    let stripped = stripped(&busy(&[]), AAAA).unwrap();
    out.clone_from(&stripped);
    assert_eq!(strip_hints(&mut out, 0, AAAA), Ok(StripOutcome::Untouched));
    assert_eq!(out, stripped);
    assert_eq!(strip_hints(&mut out, 0, record_type::TXT), Ok(StripOutcome::Untouched));
}

#[test]
fn more_hints_than_anybody_needs_are_refused() {
    let many: Vec<u8> = (0..=CUTS_MAX)
        .flat_map(|_| record(b"\xc0\x0c", record_type::HTTPS, &binding(&[])))
        .collect();
    assert_eq!(stripped(&message([CUTS_MAX as u8 + 1, 0, 0], &[many]), A), Err(CannotStrip));
}

/// Every single byte set to a few values, and every cut: a result or a refusal, never a panic, and
/// what comes out has no more bytes than what went in.
#[test]
fn hostile_answers_do_no_harm() {
    for mandatory in [&[][..], &[1, 4, 6]] {
        let message = busy(mandatory);
        for at in 0..message.len() {
            for value in [0, 1, 4, 6, 0x3f, 0x40, 0x80, 0xc0, 0xff] {
                let mut bad = message.clone();
                bad[at] = value;
                for address_type in [A, AAAA] {
                    if let Ok(out) = stripped(&bad, address_type) {
                        assert!(out.len() <= bad.len());
                    }
                }
                reply::records(&bad).for_each(|it| assert!(hints(it.data).count() < 4096));
            }
            assert!(stripped(&message[..at], A).is_err(), "{at}");
        }
    }
}

#[test]
fn a_pointer_into_a_hint_is_refused() {
    // The second owner points into the hint of the first binding, which stands at 41 + 9 + 4.
    let message = message(
        [2, 0, 0],
        &[
            record(b"\xc0\x0c", record_type::HTTPS, &binding(&[])),
            record(b"\xc0\x37", A, &[192, 0, 2, 1]),
        ],
    );
    assert_eq!(stripped(&message, A), Err(CannotStrip));
}

#[test]
fn bindings_of_our_own_are_written_in_order() {
    let packet = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x04_dns\x08resolver\x04arpa\0\0\x40\0\x01\0\0\x29\x04\xd0\0\0\0\0\0\0";
    let mut name = NameBuffer::new();
    let query = DnsQuery::parse(packet, &mut name).unwrap();
    let target = DomainName::parse("dns.example").unwrap();
    let addresses: Vec<IpAddr> =
        ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(|it| it.parse().unwrap()).to_vec();
    let data = ServiceBinding {
        priority: 2,
        target: &target,
        alpn: "h2",
        port: 8443,
        addresses: &addresses,
        dohpath: Some("/dns-query{?dns}"),
    }
    .data();
    assert_eq!(hints(&data).count(), 3);
    let mut out = Vec::new();
    answer(&query, &[data], 300, &mut out);
    let lines = read(&out);
    assert!(
        lines[0].contains("SVCB 2 dns.example")
            && lines[0]
                .contains("alpn=h2 port=8443 ipv4hint=192.0.2.1,192.0.2.2 ipv6hint=2001:db8::1"),
        "{lines:?}"
    );
    let many = vec![addresses[0]; 2 * HINTS_MAX];
    let data = ServiceBinding {
        priority: 1,
        target: &target,
        alpn: "dot",
        port: 853,
        addresses: &many,
        dohpath: None,
    }
    .data();
    assert_eq!(hints(&data).count(), HINTS_MAX);
}
