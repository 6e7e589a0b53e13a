//! Kept answers: what goes in comes out, patched and within bounds.

use crate::oracle;

use dns_wire::{BadAnswer, FAILURE_TTL_S, NEGATIVE_TTL_WITHOUT_SOA_S, TTL_MAX_S, WireAnswer};
use domain::base::iana::Rcode;
use domain::base::{Rtype, Ttl};
use domain::rdata::A;
use oracle::{
    Edns, Numbers, Read, a, aaaa, begin, cname, mx, name, negative, parse, query, read, response,
    txt,
};
use std::net::Ipv4Addr;

const NO_LIMIT: usize = 65_535;

fn kept(message: &[u8]) -> WireAnswer {
    WireAnswer::from_response(message).unwrap()
}

fn write(answer: &WireAnswer, packet: &[u8], age_s: u32, limit: usize) -> Read {
    let (query, _) = parse(packet).unwrap();
    // What stands in the buffer before is not the answer's.
    let mut out = vec![0xaa; 3];
    answer.write(&query, age_s, limit, &mut out);
    assert!(out.len() - 3 <= limit.max(12 + query.question.len() + 11));
    read(&out[3..])
}

fn simple(ttl: u32) -> WireAnswer {
    kept(&response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "www.example", ttl, [1, 2, 3, 4]);
    }))
}

#[test]
fn the_clients_number_case_and_remaining_time_are_in_the_answer() {
    let read = write(&simple(300), &query("WwW.eXample", Rtype::A, Edns::None), 100, 512);
    assert_eq!(read.id, 0x1234);
    assert_eq!(read.question, "WwW.eXample A");
    assert_eq!(read.answers, ["WwW.eXample 200 A 1.2.3.4"]);
    assert_eq!(read.opt, None);
}

#[test]
fn opt_comes_back_exactly_when_it_was_sent() {
    let opt = |edns| write(&simple(300), &query("www.example", Rtype::A, edns), 0, 512).opt;
    assert_eq!(opt(Edns::None), None);
    let plain = opt(Edns::Size(4096)).unwrap();
    assert_eq!((plain.size, plain.dnssec_ok), (1232, false));
    assert!(opt(Edns::DnssecOk(4096)).unwrap().dnssec_ok);
}

#[test]
fn time_never_runs_below_one_second_and_zero_stays_zero() {
    let packet = query("www.example", Rtype::A, Edns::None);
    assert_eq!(write(&simple(5), &packet, 9, 512).answers, ["www.example 1 A 1.2.3.4"]);
    assert_eq!(write(&simple(0), &packet, 0, 512).answers, ["www.example 0 A 1.2.3.4"]);
    assert_eq!(simple(0).ttl(), 0);
}

#[test]
fn nothing_lasts_longer_than_a_day_and_a_negative_ttl_is_none() {
    let packet = query("www.example", Rtype::A, Edns::None);
    let long = simple(10 * TTL_MAX_S);
    assert_eq!(long.ttl(), TTL_MAX_S);
    assert_eq!(write(&long, &packet, 400, 512).answers, ["www.example 86000 A 1.2.3.4"]);
    assert_eq!(simple(0x8000_0001).ttl(), 0);
}

#[test]
fn a_stale_answer_says_so() {
    let packet = query("www.example", Rtype::A, Edns::Size(1232));
    let (query, _) = parse(&packet).unwrap();
    let mut out = Vec::new();
    simple(300).write_stale(&query, 1232, &mut out);
    let read = read(&out);
    assert_eq!(read.answers, ["www.example 30 A 1.2.3.4"]);
    assert_eq!(read.opt.unwrap().ede, Some((3, String::new())));
}

#[test]
fn the_authentic_bit_is_for_those_who_ask() {
    let mut message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "www.example", 300, [1, 2, 3, 4]);
    });
    message[3] |= 0x20;
    let answer = kept(&message);
    let plain = query("www.example", Rtype::A, Edns::None);
    assert!(!write(&answer, &plain, 0, 512).authentic);
    let mut asking = plain.clone();
    asking[3] |= 0x20;
    assert!(write(&answer, &asking, 0, 512).authentic);
    assert!(
        write(&answer, &query("www.example", Rtype::A, Edns::DnssecOk(1232)), 0, 512).authentic
    );
}

#[test]
fn aliases_are_read_through_compression() {
    let answer = kept(&response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 60, "CDN.www.example");
        cname(it, "cdn.www.example", 30, "edge.net");
        a(it, "edge.net", 300, [1, 2, 3, 4]);
    }));
    let aliases: Vec<_> = answer.aliases().iter().map(vocab::DomainName::as_str).collect();
    assert_eq!(aliases, ["cdn.www.example", "edge.net"]);
    assert_eq!(answer.ttl(), 30);
    let addresses: Vec<_> = answer.addresses().collect();
    assert_eq!(addresses, [std::net::IpAddr::from([1, 2, 3, 4])]);
}

#[test]
fn a_chain_of_aliases_too_long_to_check_is_refused() {
    let message = response("0.example", Rtype::A, Rcode::NOERROR, |it| {
        for i in 0..17 {
            cname(it, &format!("{i}.example"), 60, &format!("{}.example", i + 1));
        }
    });
    assert_eq!(WireAnswer::from_response(&message), Err(BadAnswer::TooManyAliases));
}

#[test]
fn negative_answers_last_as_their_soa_allows() {
    let ttl = |rcode, soa| kept(&negative("www.example", rcode, soa)).ttl();
    assert_eq!(ttl(Rcode::NXDOMAIN, Some((900, 600))), 600);
    assert_eq!(ttl(Rcode::NXDOMAIN, Some((300, 600))), 300);
    assert_eq!(ttl(Rcode::NOERROR, Some((900, 600))), 600);
    assert_eq!(ttl(Rcode::NXDOMAIN, Some((TTL_MAX_S, TTL_MAX_S))), 10_800);
    assert_eq!(ttl(Rcode::NXDOMAIN, None), NEGATIVE_TTL_WITHOUT_SOA_S);
    assert_eq!(ttl(Rcode::SERVFAIL, None), FAILURE_TTL_S);
    assert_eq!(ttl(Rcode::REFUSED, Some((900, 600))), FAILURE_TTL_S);
}

#[test]
fn an_alias_that_leads_nowhere_is_negative() {
    let answer = kept(&response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 3600, "gone.example");
    }));
    assert_eq!(answer.ttl(), NEGATIVE_TTL_WITHOUT_SOA_S);
}

#[test]
fn it_answers_its_own_question_only() {
    let answer = simple(300);
    let asked = |owner: &str, qtype| {
        let packet = query(owner, qtype, Edns::None);
        answer.matches(parse(&packet).unwrap().0.question)
    };
    assert!(asked("WWW.example", Rtype::A));
    assert!(!asked("www.example", Rtype::AAAA));
    assert!(!asked("ww.example", Rtype::A));
}

#[test]
fn what_does_not_fit_is_left_out_by_sections() {
    let mut builder = begin("www.example", Rtype::MX, Rcode::NOERROR);
    for i in 0..10 {
        mx(&mut builder, "www.example", 300, &format!("mx{i}.example"));
    }
    let mut builder = builder.additional();
    for i in 0..20 {
        let data = A::from(Ipv4Addr::new(10, 0, 0, i));
        builder.push((name(&format!("mx{i}.example")), Ttl::from_secs(300), data)).unwrap();
    }
    let answer = kept(&builder.finish().into_target());
    let packet = query("www.example", Rtype::MX, Edns::Size(1232));
    let whole = write(&answer, &packet, 0, NO_LIMIT);
    assert_eq!((whole.answers.len(), whole.additionals.len(), whole.truncated), (10, 20, false));
    let without_additional = write(&answer, &packet, 0, answer.len());
    assert_eq!((without_additional.answers.len(), without_additional.additionals.len()), (10, 0));
    assert!(!without_additional.truncated, "additional records are a courtesy");
    let cut = write(&answer, &packet, 0, 100);
    assert_eq!((cut.answers.len(), cut.truncated), (0, true));
    assert_eq!(cut.question, "www.example MX");
}

#[test]
fn what_the_upstream_said_about_the_transaction_is_left_out() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "www.example", 300, [1, 2, 3, 4]);
    });
    let answer = kept(&message);
    assert_eq!(answer.len(), message.len() - 11);
}

#[test]
fn truncated_answers_and_queries_are_not_kept() {
    let mut message = negative("www.example", Rcode::NXDOMAIN, Some((1, 1)));
    message[2] |= 0x02;
    assert_eq!(WireAnswer::from_response(&message), Err(BadAnswer::Truncated));
    let packet = query("www.example", Rtype::A, Edns::None);
    assert_eq!(WireAnswer::from_response(&packet), Err(BadAnswer::NoResponse));
    let mut no_question = negative("www.example", Rcode::NXDOMAIN, None);
    no_question[5] = 0;
    assert_eq!(WireAnswer::from_response(&no_question), Err(BadAnswer::Questions));
}

#[test]
fn an_answer_cut_anywhere_is_malformed() {
    let message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 60, "cdn.example");
        a(it, "cdn.example", 60, [1, 2, 3, 4]);
    });
    for cut in 0..message.len() {
        assert_eq!(
            WireAnswer::from_response(&message[..cut]),
            Err(BadAnswer::Malformed),
            "cut at {cut}"
        );
    }
}

#[test]
fn pointers_that_go_round_or_forward_are_malformed() {
    let good = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 60, "x.example");
    });
    let data = good.len() - 11 - 4; // 1 'x' and a pointer
    for target in [data + 2, data, data + 4, 0x3fff] {
        let mut message = good.clone();
        message[data + 2] = 0xc0 | (target >> 8) as u8;
        message[data + 3] = target as u8;
        assert_eq!(WireAnswer::from_response(&message), Err(BadAnswer::Malformed), "to {target}");
    }
}

#[test]
fn counts_that_promise_too_much_are_malformed() {
    let mut message = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        a(it, "www.example", 60, [1, 2, 3, 4]);
    });
    message[6] = 255;
    assert_eq!(WireAnswer::from_response(&message), Err(BadAnswer::Malformed));
}

#[test]
fn whatever_the_oracle_makes_comes_out_readable_and_within_the_limit() {
    let mut numbers = Numbers(3);
    for _ in 0..3000 {
        let owner = numbers.name();
        let records = numbers.below(40);
        let mut expected = Vec::new();
        let message = response(&owner, Rtype::A, Rcode::NOERROR, |it| {
            for i in 0..records {
                let (other, ttl) = (numbers.name(), 1000 + numbers.below(1000) as u32);
                let kind = numbers.below(5);
                expected.push(ttl);
                match kind {
                    0 => a(it, &owner, ttl, [10, 0, 0, i as u8]),
                    1 => aaaa(it, &other, ttl, i as u16),
                    2 => mx(it, &owner, ttl, &other),
                    3 => txt(it, &other, ttl, &"t".repeat(numbers.below(255) as usize + 1)),
                    _ => a(it, &other, ttl, [10, 0, 1, i as u8]),
                }
            }
        });
        let original = read(&message);
        let answer = kept(&message);
        let edns = [Edns::None, Edns::Size(4096), Edns::DnssecOk(512)][numbers.below(3) as usize];
        let packet = query(&owner.to_ascii_uppercase(), Rtype::A, edns);
        let whole = write(&answer, &packet, 0, NO_LIMIT);
        let lower =
            |all: &[String]| all.iter().map(|it| it.to_ascii_lowercase()).collect::<Vec<_>>();
        assert_eq!(lower(&whole.answers), lower(&original.answers));
        let limit = 300 + numbers.below(1500) as usize;
        let cut = write(&answer, &packet, 10, limit);
        assert!(cut.truncated || cut.answers.len() == expected.len());
        for (record, ttl) in cut.answers.iter().zip(&expected) {
            assert_eq!(record.split(' ').nth(1).unwrap(), (ttl - 10).to_string());
        }
    }
}

#[test]
fn mangled_messages_are_refused_or_kept_but_never_crash() {
    let good = response("www.example", Rtype::A, Rcode::NOERROR, |it| {
        cname(it, "www.example", 60, "cdn.www.example");
        a(it, "cdn.www.example", 60, [1, 2, 3, 4]);
        mx(it, "example", 60, "mail.example");
    });
    let packet = query("www.example", Rtype::A, Edns::Size(1232));
    let (query, _) = parse(&packet).unwrap();
    let mut numbers = Numbers(11);
    let mut out = Vec::new();
    for _ in 0..100_000 {
        let mut message = good.clone();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(message.len() as u64) as usize;
            message[at] = numbers.below(256) as u8;
        }
        if let Ok(answer) = WireAnswer::from_response(&message) {
            out.clear();
            answer.write(&query, 1, 512, &mut out);
            assert!(answer.addresses().count() < 100 && out.len() <= 512);
        }
    }
}
