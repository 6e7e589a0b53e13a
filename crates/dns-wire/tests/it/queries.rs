//! Queries: read like the oracle reads them, and refused where nobody honest would send them.

use crate::oracle;

use dns_wire::{BadQuery, DnsQuery, DropReason, KeyBuffer, Rcode, synthesize};
use domain::base::{Message, Rtype};
use oracle::{Edns, Numbers, parse, query};

fn reply_to(packet: &[u8]) -> Rcode {
    match parse(packet) {
        Err(BadQuery::Reply(bad)) => {
            let mut reply = Vec::new();
            synthesize::bad(&bad, &mut reply);
            let read = Message::from_octets(reply.as_slice()).unwrap();
            assert_eq!(read.header().id().to_be_bytes(), packet[..2]);
            assert!(read.header().qr());
            bad.rcode
        }
        other => panic!("{packet:02x?} is answered as {other:?}"),
    }
}

fn key(packet: &[u8]) -> Vec<u8> {
    let mut key = KeyBuffer::new();
    parse(packet).unwrap().0.key(&mut key);
    key.as_bytes().to_vec()
}

#[test]
fn what_the_oracle_writes_is_read_the_same() {
    let mut numbers = Numbers(7);
    for _ in 0..2000 {
        let owner = numbers.name();
        let qtype = Rtype::from_int(1 + numbers.below(300) as u16);
        let size = numbers.below(5000) as u16;
        let edns = [Edns::None, Edns::Size(size), Edns::DnssecOk(size)][numbers.below(3) as usize];
        let packet = query(&owner, qtype, edns);
        let (read, text) = parse(&packet).unwrap();
        assert_eq!(text, owner.to_ascii_lowercase());
        assert_eq!((read.id, read.qtype, read.qclass), (0x1234, qtype.to_int(), 1));
        assert!(read.flags.recursion_desired());
        let expected = match edns {
            Edns::None => None,
            Edns::Size(size) => Some((size, false)),
            Edns::DnssecOk(size) => Some((size, true)),
        };
        assert_eq!(read.edns.map(|it| (it.udp_size, it.dnssec_ok)), expected);
    }
}

#[test]
fn udp_answers_are_bounded_by_both_sides() {
    let limit = |edns| parse(&query("a.example", Rtype::A, edns)).unwrap().0.udp_limit();
    assert_eq!(limit(Edns::None), 512);
    assert_eq!(limit(Edns::Size(100)), 512);
    assert_eq!(limit(Edns::Size(900)), 900);
    assert_eq!(limit(Edns::Size(4096)), 1232);
}

#[test]
fn the_key_ignores_case_and_tells_types_and_dnssec_apart() {
    let plain = key(&query("WWW.Example", Rtype::A, Edns::None));
    assert_eq!(plain, key(&query("www.example", Rtype::A, Edns::Size(1232))));
    assert_ne!(plain, key(&query("www.example", Rtype::AAAA, Edns::None)));
    assert_ne!(plain, key(&query("www.example", Rtype::A, Edns::DnssecOk(1232))));
    let mut checking_disabled = query("www.example", Rtype::A, Edns::None);
    checking_disabled[3] |= 0x10;
    assert_ne!(plain, key(&checking_disabled));
    // A type's high byte counts: A is 1, CAA is 257.
    assert_ne!(plain, key(&query("www.example", Rtype::CAA, Edns::None)));
}

#[test]
fn a_query_cut_anywhere_is_dropped_or_a_format_error() {
    let packet = query("www.example", Rtype::A, Edns::DnssecOk(1232));
    for cut in 0..packet.len() {
        match parse(&packet[..cut]) {
            Err(BadQuery::Drop(DropReason::Runt)) => assert!(cut < 12),
            Err(BadQuery::Reply(bad)) => assert_eq!(bad.rcode, Rcode::FormErr, "cut at {cut}"),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_response_is_never_answered() {
    let mut packet = query("www.example", Rtype::A, Edns::None);
    packet[2] |= 0x80;
    assert_eq!(parse(&packet).unwrap_err(), BadQuery::Drop(DropReason::Response));
}

#[test]
fn other_opcodes_are_not_implemented() {
    for opcode in 1..16 {
        let mut packet = query("www.example", Rtype::A, Edns::None);
        packet[2] |= opcode << 3;
        assert_eq!(reply_to(&packet), Rcode::NotImp);
    }
}

#[test]
fn only_one_question_and_no_records_are_taken() {
    let good = query("www.example", Rtype::A, Edns::None);
    for (at, count) in [(5, 0), (5, 2), (4, 255), (7, 1), (9, 1), (11, 1), (10, 255)] {
        let mut packet = good.clone();
        packet[at] = count;
        assert_eq!(reply_to(&packet), Rcode::FormErr, "count {count} at {at}");
    }
    let mut twice = good.clone();
    twice.extend_from_slice(&good[12..]);
    twice[5] = 2;
    assert_eq!(reply_to(&twice), Rcode::FormErr);
}

#[test]
fn a_compressed_question_is_a_format_error() {
    for pointer in [[0xc0, 12], [0xc0, 0], [0xff, 0xff], [0x40, 1], [0x80, 1]] {
        let mut packet = query("www.example", Rtype::A, Edns::None)[..12].to_vec();
        packet.extend_from_slice(&[1, b'a']);
        packet.extend_from_slice(&pointer);
        packet.extend_from_slice(&[0, 1, 0, 1]);
        assert_eq!(reply_to(&packet), Rcode::FormErr, "{pointer:02x?}");
    }
}

#[test]
fn a_name_of_255_bytes_is_the_longest() {
    let packet = |last: u8| {
        let mut packet = query("www.example", Rtype::A, Edns::None)[..12].to_vec();
        for _ in 0..3 {
            packet.push(63);
            packet.extend_from_slice(&[b'a'; 63]);
        }
        packet.push(last);
        packet.extend_from_slice(&vec![b'a'; last.into()]);
        packet.extend_from_slice(&[0, 0, 1, 0, 1]);
        packet
    };
    assert_eq!(parse(&packet(61)).unwrap().0.question.len(), 259);
    assert_eq!(reply_to(&packet(62)), Rcode::FormErr);
}

#[test]
fn opt_stands_once_at_the_root_and_is_whole() {
    const OPT: &[u8] = &[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];
    let with = |records: &[&[u8]]| {
        let mut packet = query("www.example", Rtype::A, Edns::None);
        packet[11] = records.len() as u8;
        packet.extend(records.concat());
        packet
    };
    assert_eq!(parse(&with(&[OPT])).unwrap().0.edns.unwrap().udp_size, 1232);
    assert_eq!(reply_to(&with(&[OPT, OPT])), Rcode::FormErr);
    let named = [&[1, b'x'], OPT].concat();
    assert_eq!(reply_to(&with(&[&named])), Rcode::FormErr);
    let short_option = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 5, 0, 10, 0, 2, 7];
    assert_eq!(reply_to(&with(&[&short_option])), Rcode::FormErr);
    let past_the_end = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 200];
    assert_eq!(reply_to(&with(&[&past_the_end])), Rcode::FormErr);
    let version_1 = [0, 0, 41, 4, 208, 0, 1, 0, 0, 0, 0];
    assert_eq!(reply_to(&with(&[&version_1])), Rcode::BadVers);
}

#[test]
fn an_unknown_edns_version_is_told_so() {
    let mut packet = query("www.example", Rtype::A, Edns::DnssecOk(1232));
    let version = packet.len() - 5;
    packet[version] = 1;
    let Err(BadQuery::Reply(bad)) = parse(&packet) else { panic!("it must be refused") };
    let mut reply = Vec::new();
    synthesize::bad(&bad, &mut reply);
    let read = Message::from_octets(reply.as_slice()).unwrap();
    assert_eq!(read.opt_rcode().to_int(), 16);
    assert_eq!(read.first_question().unwrap().qname().to_string(), "www.example");
}

/// The question and the UDP size in the reply to a message that is refused with this code.
fn repeated(packet: &[u8], rcode: Rcode) -> (Option<String>, Option<u16>) {
    let Err(BadQuery::Reply(bad)) = parse(packet) else { panic!("it must be refused") };
    assert_eq!(bad.rcode, rcode);
    let mut reply = Vec::new();
    synthesize::bad(&bad, &mut reply);
    let read = Message::from_octets(reply.as_slice()).unwrap();
    let opt = read.opt().map(|opt| opt.udp_payload_size());
    (read.first_question().map(|it| it.qname().to_string()), opt)
}

#[test]
fn rfc6891_7_what_is_refused_repeats_what_was_sound() {
    let both = (Some("www.example".to_owned()), Some(1232));
    let packet = query("www.example", Rtype::A, Edns::Size(4096));
    let mut notify = packet.clone();
    notify[2] |= 4 << 3;
    assert_eq!(repeated(&notify, Rcode::NotImp), both);
    // OPT said to be an answer, so that it is no query.
    let mut answering = packet.clone();
    (answering[7], answering[11]) = (1, 0);
    assert_eq!(repeated(&answering, Rcode::FormErr), both);
    let mut two = packet.clone();
    two.splice(29..29, packet[12..29].iter().copied());
    two[5] = 2;
    assert_eq!(repeated(&two, Rcode::FormErr), (None, Some(1232)));
    assert_eq!(repeated(&packet[..packet.len() - 1], Rcode::FormErr), (both.0.clone(), None));
    assert_eq!(repeated(&packet[..20], Rcode::FormErr), (None, None));
    let plain = query("www.example", Rtype::A, Edns::None);
    let mut plain_notify = plain.clone();
    plain_notify[2] |= 4 << 3;
    assert_eq!(repeated(&plain_notify, Rcode::NotImp), (both.0, None));
}

#[test]
fn rfc7873_5_4_a_cookie_is_asked_for_without_a_question() {
    let asking = |option: &[u8]| {
        let mut packet = b"\x12\x34\x01\0\0\0\0\0\0\0\0\x01\0\0\x29\x04\xd0\0\0\0\0".to_vec();
        packet.extend((option.len() as u16).to_be_bytes());
        packet.extend(option);
        packet
    };
    let option = b"\0\x0a\0\x08COOKIE!!";
    let packet = asking(option);
    let Err(BadQuery::Cookie(bad, options)) = parse(&packet) else { panic!("it asks for one") };
    assert_eq!(options, option);
    let mut reply = Vec::new();
    synthesize::cookie_reply(&bad, 23, options, &mut reply);
    let read = Message::from_octets(reply.as_slice()).unwrap();
    assert_eq!((read.opt_rcode().to_int(), read.header_counts().qdcount()), (23, 0));
    assert!(reply.ends_with(option));
    assert_eq!(reply_to(&asking(b"")), Rcode::FormErr);
    assert_eq!(reply_to(&asking(b"\0\x0c\0\0")), Rcode::FormErr);
}

#[test]
fn no_bytes_at_all_make_it_fail_otherwise() {
    let mut numbers = Numbers(99);
    let mut name = vocab::NameBuffer::new();
    for _ in 0..200_000 {
        let length = numbers.below(80) as usize;
        let mut packet: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
        if length > 12 {
            // Past the header, or nothing would be tried.
            packet[2..12].copy_from_slice(&[1, 0, 0, 1, 0, 0, 0, 0, 0, numbers.below(3) as u8]);
        }
        if let Ok(query) = DnsQuery::parse(&packet, &mut name) {
            let mut key = KeyBuffer::new();
            query.key(&mut key);
            assert!(query.question.len() <= 259 && key.as_bytes().len() <= 260);
        }
    }
}
