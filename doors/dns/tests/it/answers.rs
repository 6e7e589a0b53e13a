//! What is answered to which question, over UDP, as clients see it and as the ledger has it.

use crate::support;

use policy::BlockStyle;
use std::net::IpAddr;
use support::{A, AAAA, ANY, Bench, HTTPS, TXT, query, query_edns, receive};
use vocab::{Action, RequestKind, Source};

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn a_name_is_looked_up_once_and_then_answered_from_the_cache() {
    let bench = Bench::start(|_| {});
    for id in [1, 2, 3] {
        let reply = bench.exchange(&query(id, "WWW.test", A));
        assert_eq!((reply.id(), reply.rcode(), reply.address()), (id, 0, ip("192.0.2.1")));
        // The question comes back in the case in which it was asked.
        assert_eq!(&reply.bytes[12..17], b"\x03WWW\x04");
    }
    assert_eq!(bench.upstream.asked("www.test"), 1);
    let rows = bench.rows();
    // Which core's rows are written first is nobody's promise, so they are counted.
    let from = |source| rows.iter().filter(|row| row.source == source).count();
    assert_eq!((from(Source::Upstream), from(Source::Cache), rows.len()), (1, 2, 3));
    assert!(rows.iter().all(|row| row.subject == "www.test" && row.kind == RequestKind::Lookup(A)));
}

#[test]
fn a_name_that_does_not_exist_is_remembered_as_such() {
    let bench = Bench::start(|_| {});
    assert_eq!((bench.ask("gone.test", A).rcode(), bench.ask("gone.test", A).rcode()), (3, 3));
    assert_eq!(bench.upstream.asked("gone.test"), 1);
    let statuses: Vec<_> = bench.rows().iter().map(|row| row.status).collect();
    assert_eq!(statuses, [3, 3]);
}

#[test]
fn a_blocked_name_is_empty_and_says_why() {
    let bench = Bench::start(|_| {});
    let reply = bench.exchange(&query_edns(7, "ads.blocked.test", A));
    assert_eq!((reply.rcode(), reply.counts(), reply.extended_error()), (0, (0, 1), Some(15)));
    assert_eq!(bench.upstream.asked("ads.blocked.test"), 0);
    let rows = bench.rows();
    assert_eq!((rows[0].action, rows[0].source), (Action::Block, Source::Policy));
    assert!(matches!(rows[0].cause, ledger::RowCause::Rule { .. }));
}

#[test]
fn every_style_answers_a_blocked_name_its_own_way() {
    let bench = Bench::start(|_| {});
    for (style, rcode, answers, aaaa) in [
        (BlockStyle::Auto, 0, 1, 0),
        (BlockStyle::Pixel, 0, 1, 0),
        (BlockStyle::Nodata, 0, 0, 0),
        (BlockStyle::Nxdomain, 3, 0, 0),
        (BlockStyle::Null, 0, 1, 1),
        (BlockStyle::Refused, 5, 0, 0),
    ] {
        let settings = door_dns::Settings { blocked: style, ..bench.settings.clone() };
        bench.door.reload(&settings, &[ip("192.0.2.9")], &bench.cores, &[]).unwrap();
        let reply = bench.ask("blocked.test", A);
        assert_eq!((reply.rcode(), reply.counts().0), (rcode, answers), "{style:?}");
        assert_eq!(bench.ask("blocked.test", AAAA).counts().0, aaaa, "{style:?}");
        assert_eq!(bench.ask("blocked.test", HTTPS).counts().0, 0, "{style:?}");
    }
}

#[test]
fn an_alias_of_a_blocked_name_is_blocked_before_and_after_it_is_cached() {
    let bench = Bench::start(|_| {});
    for _ in 0..2 {
        assert_eq!(bench.ask("alias.test", A).counts(), (0, 1));
    }
    assert_eq!(bench.upstream.asked("alias.test"), 1);
    let rows = bench.rows();
    assert!(rows.len() == 2 && rows.iter().all(|row| row.action == Action::Block), "{rows:?}");
}

#[test]
fn an_alias_gets_the_pixel_doors_address_only_where_that_door_has_certificates_for_it() {
    let bench = Bench::start(|_| {});
    let pixel = [ip("192.0.2.9")];
    for (aliases_at_pixel, answers) in
        [(door_dns::AliasesAtPixel::Nothing, 0), (door_dns::AliasesAtPixel::Answers, 1)]
    {
        let settings = door_dns::Settings {
            blocked: BlockStyle::Pixel,
            aliases_at_pixel,
            ..bench.settings.clone()
        };
        bench.door.reload(&settings, &pixel, &bench.cores, &[]).unwrap();
        assert_eq!(bench.ask("alias.test", A).counts().0, answers, "{aliases_at_pixel:?}");
        assert_eq!(bench.ask("blocked.test", A).counts().0, 1);
    }
}

#[test]
fn a_name_that_a_rule_excepts_may_lead_anywhere() {
    let bench = Bench::start(|_| {});
    for _ in 0..2 {
        let reply = bench.ask("alias.excepted.test", A);
        assert_eq!((reply.counts().0, reply.address()), (2, ip("192.0.2.66")));
    }
}

#[test]
fn local_records_come_before_the_policy() {
    let bench = Bench::start(|settings| {
        settings.local =
            vec!["router.test A 192.168.1.1".into(), "||mine.blocked.test^ A 10.0.0.5".into()];
    });
    assert_eq!(bench.ask("router.test", A).address(), ip("192.168.1.1"));
    assert_eq!(bench.ask("a.mine.blocked.test", A).address(), ip("10.0.0.5"));
    assert_eq!(bench.ask("router.test", AAAA).counts(), (0, 1));
    assert_eq!(bench.ask("blocked.test", A).counts(), (0, 1));
    let rows = bench.rows();
    let from = |source| rows.iter().filter(|row| row.source == source).count();
    assert_eq!((from(Source::Local), from(Source::Policy)), (3, 1));
}

#[test]
fn special_names_never_leave() {
    let bench = Bench::start(|_| {});
    assert_eq!(bench.ask("a.localhost", A).address(), ip("127.0.0.1"));
    assert_eq!(bench.ask("localhost", AAAA).counts().0, 1);
    assert_eq!(bench.ask("use-application-dns.net", A).rcode(), 3);
    assert_eq!(bench.ask("1.1.168.192.in-addr.arpa", 12).rcode(), 3);
    assert_eq!(bench.ask("_dns.resolver.arpa", 64).counts(), (0, 1));
    assert_eq!(bench.upstream.asked("a.localhost"), 0);
}

#[test]
fn what_no_resolver_should_answer_is_refused() {
    let bench = Bench::start(|_| {});
    for transfer in [251, 252] {
        assert_eq!(bench.ask("www.test", transfer).rcode(), 5);
    }
    let mut chaos = query(1, "version.bind", TXT);
    *chaos.last_mut().unwrap() = 3;
    assert_eq!(bench.exchange(&chaos).rcode(), 5);
    let any = bench.ask("www.test", ANY);
    assert_eq!((any.rcode(), any.counts().0), (0, 1));
    assert!(any.bytes.windows(7).any(|part| part == b"RFC8482"));
    assert_eq!(bench.upstream.asked("www.test"), 0);
}

#[test]
fn malformed_messages_get_their_defined_answer_or_silence() {
    let bench = Bench::start(|_| {});
    let mut two_questions = query(1, "www.test", A);
    two_questions[5] = 2;
    let mut update = query(2, "www.test", A);
    update[2] = 5 << 3;
    let mut edns_1 = query_edns(3, "www.test", A);
    let version = edns_1.len() - 5;
    edns_1[version] = 1;
    let mut looped = query(4, "www.test", A);
    looped[12..14].copy_from_slice(&[0xc0, 12]);
    let mut cut = query(5, "www.test", A);
    cut.pop();
    for (packet, id, rcode) in
        [(two_questions, 1, 1), (update, 2, 4), (edns_1, 3, 0), (looped, 4, 1), (cut, 5, 1)]
    {
        let reply = bench.exchange(&packet);
        assert_eq!((reply.id(), reply.rcode()), (id, rcode), "{packet:02x?}");
    }
    // Runts, responses and overlong messages are met with silence: the next question is answered.
    let client = bench.client();
    let mut response = query(6, "www.test", A);
    response[2] |= 0x80;
    for silent in [&b"\x12"[..], &[], &response, &[7; 5000]] {
        client.send(silent).unwrap();
    }
    client.send(&query(7, "www.test", A)).unwrap();
    assert_eq!(receive(&client).id(), 7);
    let refused = bench.rows().iter().filter(|row| row.source == Source::Refused).count();
    assert_eq!(refused, 9);
}

#[test]
fn an_upstream_that_is_silent_means_servfail() {
    let bench = Bench::start(|settings| {
        settings.timeout = vocab::TimeSpan(std::time::Duration::from_millis(200)).into();
        settings.cache.stale_after = vocab::TimeSpan(std::time::Duration::from_millis(100)).into();
    });
    let reply = bench.exchange(&query_edns(1, "silent.test", A));
    assert_eq!((reply.rcode(), reply.extended_error()), (2, Some(22)));
    assert_eq!(bench.rows()[0].source, Source::Failed);
}

#[test]
fn an_answer_too_long_for_udp_is_cut_and_whole_over_tcp() {
    let bench = Bench::start(|_| {});
    let cut = bench.ask("big.test", TXT);
    assert!(cut.truncated() && cut.bytes.len() <= 512);
    let mut stream = bench.connect();
    support::send_framed(&mut stream, &query(2, "big.test", TXT));
    let whole = support::read_framed(&mut stream).unwrap();
    assert_eq!((whole.truncated(), whole.counts().0), (false, 20));
}

#[test]
fn a_burst_of_local_questions_is_answered_to_the_last() {
    let bench = Bench::start(|settings| settings.local = vec!["a.test A 192.0.2.7".into()]);
    // As 32 clients: a client's own buffer holds far fewer answers than the door's holds questions.
    let clients: Vec<_> = (0..32).map(|_| bench.client()).collect();
    for client in &clients {
        for id in 0..128 {
            client.send(&query(id, "a.test", A)).unwrap();
        }
    }
    for client in &clients {
        assert!((0..128).all(|id| receive(client).id() == id));
    }
}
