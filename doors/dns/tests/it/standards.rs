//! Promises of the standards to a forwarder's clients, by their sections, where no other file of
//! these tests shows them.

use crate::support;

use dns_wire::ask_options::ResponseOpt;
use dns_wire::reply::records;
use std::time::{Duration, Instant};
use support::fixed::{options_of, record, upstream, with_options};
use support::{A, ANY, Bench, DEADLINE, Reply, labels, query, query_edns};
use vocab::Scheme;

const SOA: u16 = 6;
const PADDING: u16 = 12;

fn at(address: &str) -> Bench {
    Bench::start(|settings| settings.upstreams = vec![address.into()])
}

#[test]
fn rfc1035_4_1_1_one_reply_for_one_question_and_its_name_as_it_was_spelled() {
    let bench = Bench::start(|_| {});
    for name in ["www.test", "WWW.TEST", "wWw.TeSt"] {
        let reply = bench.exchange(&query(7, name, A));
        assert_eq!((reply.id(), &reply.bytes[12..22]), (7, &labels(name)[..]));
    }
    assert_eq!(bench.upstream.asked("www.test"), 1, "letters are equal in either case");
}

#[test]
fn rfc9619_4_two_questions_are_malformed() {
    let bench = Bench::start(|_| {});
    let one = query(1, "www.test", A);
    let mut two = [&one[..], &one[12..]].concat();
    two[5] = 2;
    assert_eq!(bench.exchange(&two).rcode(), 1);
    let mut none = one[..12].to_vec();
    none[5] = 0;
    assert_eq!(bench.exchange(&none).rcode(), 1);
}

#[test]
fn rfc2181_8_a_time_to_live_with_its_highest_bit_is_none() {
    let mut old = record(A, &[192, 0, 2, 1]);
    old[6..10].copy_from_slice(&[0x80, 0, 0, 1]);
    let (address, seen) = upstream([1, 0, 0], old, None);
    let bench = at(&address);
    for id in 0..2 {
        let reply = bench.exchange(&query(id, "a.test", A));
        assert_eq!(records(&reply.bytes).next().unwrap().ttl, 0);
    }
    assert_eq!(seen.lock().unwrap().len(), 2, "so it is not kept either");
}

/// A SOA record of this TTL and minimum.
fn soa(ttl: u32, minimum: u32) -> Vec<u8> {
    let numbers = [[0, 0, 0, 60].repeat(4), minimum.to_be_bytes().to_vec()].concat();
    let mut record = record(SOA, &[labels("ns.test"), labels("admin.test"), numbers].concat());
    record[6..10].copy_from_slice(&ttl.to_be_bytes());
    record
}

#[test]
fn rfc2308_5_that_there_is_nothing_is_kept_as_long_as_the_soa_allows() {
    for (ttl, minimum, is_kept) in [(300, 300, true), (300, 0, false), (0, 300, false)] {
        let (address, seen) = upstream([0, 1, 0], soa(ttl, minimum), None);
        let bench = at(&address);
        for id in 0..3 {
            let reply = bench.exchange(&query(id, "nothing.test", A));
            assert_eq!((reply.rcode(), reply.counts()), (0, (0, 1)));
        }
        let asked = seen.lock().unwrap().len();
        assert_eq!(asked, if is_kept { 1 } else { 3 }, "ttl {ttl} minimum {minimum}");
    }
}

#[test]
fn rfc1035_7_3_times_to_live_count_down_in_the_cache() {
    let (address, seen) = upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), None);
    let bench = at(&address);
    let begun = Instant::now();
    loop {
        let reply = bench.exchange(&query(1, "a.test", A));
        let ttl = records(&reply.bytes).next().unwrap().ttl;
        let passed = begun.elapsed().as_secs() as u32;
        assert!((300 - passed - 1..=300).contains(&ttl), "{ttl} after {passed} s");
        if ttl < 300 {
            break;
        }
        assert!(begun.elapsed() < DEADLINE);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(seen.lock().unwrap().len(), 1);
}

#[test]
fn rfc3597_3_data_of_unknown_types_pass_as_they_are() {
    // It looks like a compression pointer, which it must not be taken for.
    let data = [0xc0, 0x0c, 0xff, 0, 0xc0];
    let (address, _) = upstream([1, 0, 0], record(65_280, &data), None);
    let bench = at(&address);
    for id in 0..2 {
        let reply = bench.exchange(&query(id, "a.test", 65_280));
        let found: Vec<_> = records(&reply.bytes).map(|it| (it.rtype, it.data.to_vec())).collect();
        assert_eq!(found, [(65_280, data.to_vec())]);
    }
}

#[test]
fn rfc6840_5_7_and_5_8_ad_is_for_those_who_understand_it() {
    let (address, _) = upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), Some(Vec::new()));
    let bench = at(&address);
    let ad_of = |packet: &[u8]| bench.exchange(packet).bytes[3] & 0x20 != 0;
    assert!(!ad_of(&query(1, "a.test", A)), "neither AD nor DO");
    let mut asking = query(2, "a.test", A);
    asking[3] |= 0x20;
    assert!(ad_of(&asking), "AD");
    let mut dnssec = query_edns(3, "a.test", A);
    let flags = dnssec.len() - 4;
    dnssec[flags] |= 0x80;
    assert!(ad_of(&dnssec), "DO");
}

#[test]
fn rfc4035_3_2_2_who_validates_itself_has_a_cache_of_its_own() {
    let (address, seen) = upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), Some(Vec::new()));
    let bench = at(&address);
    bench.exchange(&query(1, "a.test", A));
    let mut checking = query(2, "a.test", A);
    checking[3] |= 0x10;
    for _ in 0..2 {
        assert_eq!(bench.exchange(&checking).bytes[3] & 0x10, 0x10, "CD is repeated");
    }
    let seen = seen.lock().unwrap();
    let disabled: Vec<_> = seen.iter().map(|it| it[3] & 0x10 != 0).collect();
    assert_eq!(disabled, [false, true], "and passed on");
}

#[test]
fn rfc8482_4_2_any_gets_one_short_record() {
    let bench = Bench::start(|_| {});
    let reply = bench.ask("www.test", ANY);
    let found: Vec<_> = records(&reply.bytes).map(|it| it.rtype).collect();
    assert_eq!((found, bench.upstream.asked("www.test")), (vec![13], 0));
    assert!(reply.bytes.len() <= 2 * query(0, "www.test", ANY).len(), "no flood is made of it");
}

#[test]
fn rfc6891_6_2_5_answers_keep_to_the_size_that_fits_any_path() {
    let bench = Bench::start(|_| {});
    let mut greedy = query_edns(1, "big.test", 16);
    let size = greedy.len() - 8;
    greedy[size..size + 2].copy_from_slice(&65_535_u16.to_be_bytes());
    let reply = bench.exchange(&greedy);
    assert!(reply.truncated() && reply.bytes.len() <= 1232);
    let opt = records(&reply.bytes).find(|it| it.rtype == 41).unwrap();
    assert_eq!(opt.class, 1232, "and ours is the same");
}

#[test]
fn rfc7830_4_and_8467_4_1_padded_questions_get_padded_answers_where_that_hides_something() {
    let bench = Bench::listening(&["https"], |settings| {
        settings.names = vec!["dns.test".parse::<vocab::DomainName>().unwrap().into()];
    });
    let post = |packet: &[u8]| {
        let words = ["--data-binary", "@-", "-H", "content-type: application/dns-message"];
        Reply { bytes: bench.curl(Scheme::Https, "/dns-query", &words, packet).out }
    };
    for name in ["www.test", "gone.test", "ads.blocked.test", "big.test"] {
        let plain = query_edns(0, name, A);
        let padded = with_options(plain.clone(), &[(PADDING, &[0; 50])]);
        let reply = post(&padded);
        assert_eq!((reply.bytes.len() % 468, reply.rcode() & 4), (0, 0), "{name}");
        assert!(ResponseOpt::of(&reply.bytes).unwrap().option(PADDING).is_some());
        // Who does not pad is not padded, and in the open nobody is.
        let option =
            |reply: &Reply| ResponseOpt::of(&reply.bytes).unwrap().option(PADDING).is_some();
        assert!(!option(&post(&plain)) && !option(&bench.exchange(&padded)));
    }
}

#[test]
fn rfc6891_7_an_upstreams_options_are_its_own_affair() {
    let options = options_of(&[(3, b"upstream"), (15, &[0, 22]), (65_001, b"x")]);
    let (address, seen) = upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), Some(options));
    let bench = at(&address);
    let reply =
        bench.exchange(&with_options(query_edns(1, "a.test", A), &[(3, b""), (65_001, b"y")]));
    let opt = ResponseOpt::of(&reply.bytes).unwrap();
    assert_eq!([3, 15, 65_001].map(|code| opt.option(code).is_some()), [false; 3]);
    let asked = seen.lock().unwrap();
    let sent = ResponseOpt::of(&asked[0]).unwrap();
    assert_eq!([3, 65_001].map(|code| sent.option(code).is_some()), [false; 2]);
}
