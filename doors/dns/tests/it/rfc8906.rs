//! RFC 8906, "A Common Operational Problem in DNS Servers: Failure to Communicate", §8: the queries
//! by which servers are tested, and what each must get. The "EDNS compliance" testers send these.

use crate::support;

use dns_wire::ask_options::ResponseOpt;
use support::fixed::with_options;
use support::{A, Bench, Reply, TXT, labels, query, query_edns, read_framed, receive, send_framed};

const SOA: u16 = 6;
/// A type that nobody has given a meaning.
const UNKNOWN_TYPE: u16 = 1000;
/// An option likewise.
const UNKNOWN_OPTION: u16 = 100;

const AA: u8 = 0x04;
const RD: u8 = 0x01;
const Z: u8 = 0x40;
const AD: u8 = 0x20;
const CD: u8 = 0x10;

/// The version and the flags of OPT, which are the lower three bytes of its TTL; none without OPT.
fn version_and_flags(message: &[u8]) -> Option<(u8, u16)> {
    let opt = dns_wire::reply::records(message).find(|it| it.rtype == 41)?;
    Some(((opt.ttl >> 16) as u8, opt.ttl as u16))
}

/// A query with EDNS of this version, with these flags.
fn edns(version: u8, flags: u16) -> Vec<u8> {
    let mut packet = query_edns(7, "www.test", SOA);
    let at = packet.len() - 5;
    packet[at] = version;
    packet[at + 1..at + 3].copy_from_slice(&flags.to_be_bytes());
    packet
}

/// What is true of every reply: the number, QR, the question, and no flag that has no meaning.
fn asked(bench: &Bench, packet: &[u8]) -> Reply {
    let reply = bench.exchange(packet);
    assert_eq!(reply.id(), u16::from_be_bytes([packet[0], packet[1]]));
    assert_eq!((reply.bytes[2] & 0x80, reply.bytes[3] & Z), (0x80, 0));
    assert_eq!(reply.bytes[2] & AA, 0, "a forwarder is in charge of nothing");
    reply
}

fn whole_rcode(reply: &Reply) -> u16 {
    ResponseOpt::of(&reply.bytes).unwrap().rcode
}

#[test]
fn s8_1_1_a_plain_query_gets_a_plain_answer() {
    let bench = Bench::start(|_| {});
    let reply = asked(&bench, &query(1, "www.test", SOA));
    assert_eq!((reply.rcode(), version_and_flags(&reply.bytes)), (0, None));
    assert_eq!(&reply.bytes[12..22], &labels("www.test")[..]);
}

#[test]
fn s8_1_2_a_type_that_nobody_knows_is_a_type() {
    let bench = Bench::start(|_| {});
    assert_eq!(asked(&bench, &query(2, "www.test", UNKNOWN_TYPE)).rcode(), 0);
    assert_eq!(bench.upstream.asked("www.test"), 1);
}

#[test]
fn s8_1_3_flags_are_honoured_or_ignored_but_never_in_the_way() {
    let bench = Bench::start(|_| {});
    for (flags, repeated) in [(CD, CD), (AD, 0), (Z, 0), (CD | AD | Z, CD)] {
        let mut packet = query(3, "www.test", SOA);
        packet[3] |= flags;
        let reply = asked(&bench, &packet);
        assert_eq!((reply.rcode(), reply.bytes[3] & (CD | Z)), (0, repeated), "{flags:02x}");
    }
    for (flags, repeated) in [(RD, RD), (0, 0)] {
        let mut packet = query(3, "www.test", SOA);
        packet[2] = flags;
        let reply = asked(&bench, &packet);
        assert_eq!((reply.rcode(), reply.bytes[2] & RD), (0, repeated));
    }
}

#[test]
fn s8_1_4_an_opcode_that_nobody_knows_is_not_implemented() {
    let bench = Bench::start(|_| {});
    let mut header = query(4, "www.test", SOA)[..12].to_vec();
    (header[2], header[5]) = (15 << 3, 0);
    let reply = asked(&bench, &header);
    assert_eq!((reply.rcode(), reply.bytes[2] & 0x78), (4, 15 << 3));
    assert_eq!(reply.bytes.len(), 12);
}

#[test]
fn s8_1_5_tcp_is_answered() {
    let bench = Bench::start(|_| {});
    let mut stream = bench.connect();
    for packet in [query(5, "www.test", SOA), edns(0, 0)] {
        send_framed(&mut stream, &packet);
        assert_eq!(read_framed(&mut stream).unwrap().rcode(), 0);
    }
}

#[test]
fn s8_2_1_edns_is_answered_with_edns() {
    let bench = Bench::start(|_| {});
    let reply = asked(&bench, &edns(0, 0));
    assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (0, Some((0, 0))));
}

#[test]
fn s8_2_2_another_version_gets_badvers_and_ours() {
    let bench = Bench::start(|_| {});
    for version in [1, 100, 255] {
        let reply = asked(&bench, &edns(version, 0));
        assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (16, Some((0, 0))));
        assert_eq!(reply.counts(), (0, 0));
    }
    assert_eq!(bench.upstream.asked("www.test"), 0);
}

#[test]
fn s8_2_3_an_option_that_nobody_knows_is_passed_over() {
    let bench = Bench::start(|_| {});
    let reply = asked(&bench, &with_options(edns(0, 0), &[(UNKNOWN_OPTION, b"x")]));
    assert_eq!(whole_rcode(&reply), 0);
    assert_eq!(ResponseOpt::of(&reply.bytes).unwrap().option(UNKNOWN_OPTION), None);
}

#[test]
fn s8_2_4_flags_that_nobody_knows_are_not_repeated() {
    let bench = Bench::start(|_| {});
    for flags in [0x40, 0x0080, 0x7fff] {
        let reply = asked(&bench, &edns(0, flags));
        assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (0, Some((0, 0))));
    }
}

#[test]
fn s8_2_5_and_6_another_version_gets_badvers_whatever_else_it_says() {
    let bench = Bench::start(|_| {});
    for packet in [edns(100, 0x40), with_options(edns(100, 0), &[(UNKNOWN_OPTION, b"x")])] {
        let reply = asked(&bench, &packet);
        assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (16, Some((0, 0))));
        assert_eq!(ResponseOpt::of(&reply.bytes).unwrap().option(UNKNOWN_OPTION), None);
    }
}

#[test]
fn s8_2_7_what_is_too_long_is_cut_and_keeps_its_edns() {
    let bench = Bench::start(|_| {});
    // 512 as it says, and what is less means as much (RFC 6891 §6.2.3).
    for size in [512_u16, 100, 0] {
        let mut packet = query_edns(8, "big.test", TXT);
        let at = packet.len() - 8;
        packet[at..at + 2].copy_from_slice(&size.to_be_bytes());
        let reply = asked(&bench, &packet);
        assert!(reply.truncated() && reply.bytes.len() <= 512);
        assert_eq!((reply.rcode(), version_and_flags(&reply.bytes)), (0, Some((0, 0))));
    }
}

#[test]
fn s8_2_8_and_9_do_is_repeated() {
    let bench = Bench::start(|_| {});
    let reply = asked(&bench, &edns(0, 0x8000));
    assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (0, Some((0, 0x8000))));
    let reply = asked(&bench, &edns(100, 0x8000));
    assert_eq!((whole_rcode(&reply), version_and_flags(&reply.bytes)), (16, Some((0, 0x8000))));
}

#[test]
fn s8_2_10_options_that_are_known_are_taken_together() {
    let bench = Bench::start(|_| {});
    // NSID, client subnet, expire, and a cookie.
    let subnet = [0, 1, 0, 0];
    let all: [(u16, &[u8]); 4] = [(3, b""), (8, &subnet), (9, b""), (10, b"COOKIE!!")];
    let reply = asked(&bench, &with_options(edns(0, 0), &all));
    let opt = ResponseOpt::of(&reply.bytes).unwrap();
    assert_eq!((opt.rcode, opt.option(10).map(<[u8]>::len)), (0, Some(24)));
}

#[test]
fn what_edns_forbids_is_malformed() {
    let bench = Bench::start(|_| {});
    let opt = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];
    // Two of them (RFC 6891 §6.1.1), one of another name (§6.1.2), one whose option is cut.
    let mut two = [&query(9, "www.test", A)[..], &opt, &opt].concat();
    two[11] = 2;
    let mut named = [&query(9, "www.test", A)[..], b"\x01x", &opt].concat();
    named[11] = 1;
    let mut cut = [&query(9, "www.test", A)[..], &opt[..10], &[3, 0, 3, 0]].concat();
    cut[11] = 1;
    for packet in [two, named, cut] {
        assert_eq!(asked(&bench, &packet).rcode(), 1);
    }
    let client = bench.client();
    client.send(&query(10, "www.test", A)).unwrap();
    assert_eq!(receive(&client).rcode(), 0);
}
