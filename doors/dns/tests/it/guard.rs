//! Who may ask, how much, and what answers may say: as clients and upstreams see it.

use crate::support;

use ::resolver::{UpstreamDetails, UpstreamSettings};
use dns_wire::ask_options::ResponseOpt;
use door_dns::{AccessAction, CookieMode, RateAction, SubnetMode};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use support::fixed;
use support::{A, AAAA, Bench, Reply, TXT, query, query_edns, read_framed, receive, send_framed};

const SVCB: u16 = 64;
const COOKIE: u16 = 10;
const KEEPALIVE: u16 = 11;
const REFUSED: u8 = 5;

/// A query with one option.
fn query_with(id: u16, name: &str, code: u16, data: &[u8]) -> Vec<u8> {
    let mut packet = query_edns(id, name, A);
    let length = packet.len() - 2;
    packet[length..].copy_from_slice(&(4 + data.len() as u16).to_be_bytes());
    packet.extend(code.to_be_bytes());
    packet.extend((data.len() as u16).to_be_bytes());
    packet.extend(data);
    packet
}

fn option(reply: &Reply, code: u16) -> Option<Vec<u8>> {
    ResponseOpt::of(&reply.bytes)?.option(code).map(<[u8]>::to_vec)
}

fn over_tcp(bench: &Bench, packet: &[u8]) -> Reply {
    let mut stream = bench.connect();
    send_framed(&mut stream, packet);
    read_framed(&mut stream).unwrap()
}

/// An upstream that answers every question with one record of these data, and the queries that it
/// got.
fn upstream(rtype: u16, data: &[u8]) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    fixed::upstream([1, 0, 0], fixed::record(rtype, data), None)
}

#[test]
fn who_is_denied_is_refused_over_every_way() {
    let bench = Bench::start(|settings| {
        settings.access.deny = vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
    });
    let reply = bench.exchange(&query_edns(1, "www.test", A));
    assert_eq!((reply.rcode(), reply.extended_error()), (REFUSED, Some(18)));
    assert_eq!(over_tcp(&bench, &query(2, "www.test", A)).rcode(), REFUSED);
    assert_eq!(bench.upstream.asked("www.test"), 0);
    assert!(bench.rows().iter().all(|row| row.source == vocab::Source::Refused));
}

#[test]
fn who_is_dropped_hears_nothing_over_udp_and_is_refused_over_tcp() {
    let bench = Bench::start(|settings| {
        settings.access.allow = vec!["192.0.2.0/24".parse::<vocab::Network>().unwrap().into()];
        settings.access.action = AccessAction::Drop;
    });
    let client = bench.client();
    client.send(&query(1, "www.test", A)).unwrap();
    // When the later query is answered, the earlier one was dealt with.
    assert_eq!(over_tcp(&bench, &query(2, "www.test", A)).rcode(), REFUSED);
    client.set_nonblocking(true).unwrap();
    assert!(client.recv(&mut [0; 512]).is_err());
}

#[test]
fn who_asks_too_much_is_sent_to_tcp_and_limited_there_too() {
    let bench = Bench::start(|settings| {
        settings.rate_limit.queries_per_second = Some(1);
        settings.rate_limit.exempt.clear();
        settings.rate_limit.burst = Some(3);
        settings.rate_limit.action = RateAction::Truncate;
    });
    let begun = Instant::now();
    let client = bench.client();
    let replies: Vec<Reply> = (0..50)
        .map(|id| {
            client.send(&query(id, "localhost", A)).unwrap();
            receive(&client)
        })
        .collect();
    let answered = replies.iter().filter(|it| !it.truncated()).count() as u64;
    let bound = 3 + begun.elapsed().as_secs() + 1;
    assert!((3..=bound).contains(&answered), "{answered} answers where {bound} may be");
    let mut stream = bench.connect();
    let refused = (0..50).filter(|id| {
        send_framed(&mut stream, &query(*id, "localhost", A));
        read_framed(&mut stream).unwrap().rcode() == REFUSED
    });
    assert!(refused.count() > 0);
}

/// What is no query but gets an answer: another opcode, two questions, another version of EDNS.
fn unreadable(id: u16) -> [Vec<u8>; 3] {
    let mut opcode = query(id, "www.test", A);
    opcode[2] |= 4 << 3;
    let mut questions = query(id, "www.test", A);
    questions[5] = 2;
    let mut version = query_edns(id, "www.test", A);
    let at = version.len() - 5;
    version[at] = 1;
    [opcode, questions, version]
}

#[test]
fn what_cannot_be_read_is_let_in_no_more_than_a_query() {
    let bench = Bench::start(|settings| {
        settings.access.deny = vec!["127.0.0.0/8".parse::<vocab::Network>().unwrap().into()];
    });
    for message in unreadable(1) {
        assert_eq!(bench.exchange(&message).rcode(), REFUSED);
        assert_eq!(over_tcp(&bench, &message).rcode(), REFUSED);
    }
}

#[test]
fn a_flood_of_garbage_uses_up_what_its_sender_may_ask() {
    let bench = Bench::start(|settings| {
        settings.rate_limit.queries_per_second = Some(1);
        settings.rate_limit.exempt.clear();
        settings.rate_limit.burst = Some(3);
        settings.rate_limit.action = RateAction::Drop;
    });
    let begun = Instant::now();
    let client = bench.client();
    for id in 0..20 {
        for message in unreadable(id) {
            client.send(&message).unwrap();
        }
    }
    // One datagram after the other goes to the same worker: its rows are counted when all came.
    let rows = wait_for_rows(&bench, 60);
    let bound = 3 + begun.elapsed().as_secs() as usize + 1;
    let answered = rows.iter().filter(|row| row.bytes > 0).count();
    assert!((3..=bound).contains(&answered), "{answered} answers where {bound} may be");
    // Without an answer it is refused, not malformed.
    let silent = |row: &&ledger::LogRow| row.bytes == 0;
    assert!(rows.iter().filter(silent).all(|row| row.status == u16::from(REFUSED)));
    assert!(rows.iter().all(|row| row.source == vocab::Source::Refused));
}

/// The ledger's rows, once there are so many.
fn wait_for_rows(bench: &Bench, count: usize) -> Vec<ledger::LogRow> {
    let begun = Instant::now();
    loop {
        let rows = bench.rows();
        if rows.len() >= count {
            return rows;
        }
        assert!(begun.elapsed() < support::DEADLINE, "only {} rows", rows.len());
        std::thread::yield_now();
    }
}

#[test]
fn garbage_that_is_answered_is_one_flood_of_answers() {
    let bench = Bench::start(|settings| {
        settings.response_rate_limit.responses_per_second = 1;
        settings.response_rate_limit.slip = 1;
    });
    let (begun, client) = (Instant::now(), bench.client());
    for id in 0..50 {
        client.send(&unreadable(id)[0]).unwrap();
    }
    let rows = wait_for_rows(&bench, 50);
    let bound = 1 + begun.elapsed().as_secs() as usize + 1;
    let answered = rows.iter().filter(|row| row.bytes > 0).count();
    assert!((1..=bound).contains(&answered), "{answered} answers where {bound} may be");
}

#[test]
fn an_answer_that_is_kept_back_is_recorded_as_refused() {
    let bench = Bench::start(|settings| {
        settings.response_rate_limit.responses_per_second = 1;
        settings.response_rate_limit.slip = 0;
    });
    let client = bench.client();
    for id in 0..20 {
        client.send(&query(id, "localhost", A)).unwrap();
    }
    let rows = wait_for_rows(&bench, 20);
    let silent: Vec<_> = rows.iter().filter(|row| row.bytes == 0).collect();
    assert!(!silent.is_empty());
    for row in silent {
        assert_eq!((row.source, row.status), (vocab::Source::Refused, u16::from(REFUSED)));
    }
}

#[test]
fn a_flood_of_like_answers_is_cut_over_udp_only() {
    let bench = Bench::start(|settings| {
        settings.response_rate_limit.responses_per_second = 1;
        settings.response_rate_limit.slip = 1;
    });
    let truncated = (0..50).filter(|id| bench.exchange(&query(*id, "localhost", A)).truncated());
    assert!(truncated.count() > 0);
    for id in 0..50 {
        assert!(!over_tcp(&bench, &query(id, "localhost", A)).truncated());
    }
}

#[test]
fn cookies_are_given_known_again_and_required_where_set() {
    let bench = Bench::start(|settings| settings.cookies.mode = CookieMode::Require);
    assert!(bench.exchange(&query(1, "localhost", A)).truncated(), "no cookie: come by TCP");
    assert_eq!(over_tcp(&bench, &query(2, "localhost", A)).rcode(), 0);
    let first = bench.exchange(&query_with(3, "localhost", COOKIE, b"COOKIE!!"));
    assert_eq!(ResponseOpt::of(&first.bytes).unwrap().rcode, 23, "BADCOOKIE");
    let whole = option(&first, COOKIE).unwrap();
    assert!(whole.starts_with(b"COOKIE!!") && whole.len() == 24);
    let second = bench.exchange(&query_with(4, "localhost", COOKIE, &whole));
    assert_eq!((second.rcode(), second.counts().0), (0, 1));
    assert_eq!(option(&second, COOKIE), Some(whole));
}

#[test]
fn answers_that_waited_carry_the_cookie_too() {
    let bench = Bench::start(|_| {});
    for name in ["www.test", "www.test", "blocked.test", "gone.test"] {
        let reply = bench.exchange(&query_with(5, name, COOKIE, b"COOKIE!!"));
        assert_eq!(option(&reply, COOKIE).map(|it| it.len()), Some(24), "{name}");
    }
}

#[test]
fn a_malformed_option_is_a_malformed_query() {
    let bench = Bench::start(|_| {});
    for (code, data) in [(COOKIE, &b"short"[..]), (8, b"\0\x01\x18\0\xc0"), (KEEPALIVE, b"x")] {
        let reply = bench.exchange(&query_with(6, "www.test", code, data));
        assert_eq!(reply.rcode(), 1, "option {code}");
    }
    assert_eq!(bench.upstream.asked("www.test"), 0);
}

#[test]
fn connections_are_told_how_long_they_may_be_idle() {
    let bench = Bench::start(|_| {});
    let asking = query_with(7, "localhost", KEEPALIVE, b"");
    assert_eq!(option(&over_tcp(&bench, &asking), KEEPALIVE), Some(vec![0, 100]));
    assert_eq!(option(&bench.exchange(&asking), KEEPALIVE), None, "not over UDP");
}

#[test]
fn answers_that_point_inside_do_not_pass_unless_they_may() {
    let (address, _) = upstream(A, &[192, 168, 1, 1]);
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![address.as_str().into()];
        settings.rebinding.allow = vec![vocab::DomainName::parse("plex.test").unwrap().into()];
    });
    // From the upstream, and from the cache.
    for id in 0..2 {
        let reply = bench.exchange(&query_edns(id, "evil.test", A));
        assert_eq!((reply.rcode(), reply.counts()), (0, (0, 1)));
        let error = option(&reply, 15).unwrap();
        assert_eq!(error[..2], [0, 15]);
        assert_eq!(&error[2..], b"points at a private address (dns.rebinding)");
    }
    for name in ["a.plex.test", "nas.lan", "nas.home.arpa"] {
        assert_eq!(bench.ask(name, A).counts().0, 1, "{name}");
    }
}

#[test]
fn without_protection_private_answers_pass() {
    let (address, _) = upstream(A, &[192, 168, 1, 1]);
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![address.as_str().into()];
        settings.rebinding.protect = Some(false);
    });
    assert_eq!(bench.ask("nas.test", A).counts().0, 1);
}

#[test]
fn a_zone_with_an_upstream_of_its_own_may_point_inside() {
    let (address, _) = upstream(A, &[192, 168, 1, 1]);
    let bench = Bench::start(|settings| {
        settings.upstreams.push(UpstreamSettings::Detailed(UpstreamDetails {
            address,
            domains: vec!["fritz.box".parse::<vocab::DomainName>().unwrap().into()],
            ..UpstreamDetails::default()
        }));
    });
    assert_eq!(bench.ask("nas.fritz.box", A).counts().0, 1);
}

#[test]
fn a_pipeline_alone_says_what_may_point_inside_and_who_asks_too_much() {
    let (address, _) = upstream(A, &[192, 168, 1, 1]);
    let plugins = serde_json::json!([
        { "tag": "f", "type": "forward", "args": { "upstreams": [{ "addr": address }] } }
    ]);
    let bench = Bench::start(|settings| {
        settings.foreign = Some(fixed::foreign(&plugins, &serde_json::json!([{ "exec": "$f" }])));
        settings.rate_limit.exempt.clear();
    });
    for id in 0..1000 {
        assert_eq!(bench.exchange(&query(id, "nas.test", A)).counts().0, 1);
    }
}

#[test]
fn a_flood_is_refused_without_any_setting() {
    let bench = Bench::start(|settings| settings.rate_limit.exempt.clear());
    let begun = Instant::now();
    let client = bench.client();
    let refused = |id| {
        client.send(&query(id, "localhost", A)).unwrap();
        receive(&client).rcode() == REFUSED
    };
    let answered = (0..3000).filter(|id| !refused(*id)).count() as u64;
    let bound = 900 + 300 * (begun.elapsed().as_secs() + 1);
    assert!((900..=bound).contains(&answered), "{answered} answers where {bound} may be");
    // This machine itself is not limited.
    let open = Bench::start(|_| {});
    for id in 0..1500 {
        assert_eq!(open.exchange(&query(id, "localhost", A)).rcode(), 0);
    }
}

#[test]
fn rfc7873_5_4_a_message_without_a_question_gets_a_cookie() {
    let bench = Bench::start(|_| {});
    let asking = |cookie: &[u8]| {
        let mut packet = b"\x12\x34\x01\0\0\0\0\0\0\0\0\x01\0\0\x29\x04\xd0\0\0\0\0".to_vec();
        packet.extend((4 + cookie.len() as u16).to_be_bytes());
        packet.extend([0, 10, 0, cookie.len() as u8]);
        packet.extend(cookie);
        packet
    };
    let code = |reply: &Reply| ResponseOpt::of(&reply.bytes).unwrap().rcode;
    let first = bench.exchange(&asking(b"COOKIE!!"));
    let whole = option(&first, COOKIE).unwrap();
    assert_eq!((code(&first), first.bytes[5], whole.len()), (0, 0, 24));
    let second = bench.exchange(&asking(&whole));
    assert_eq!((code(&second), option(&second, COOKIE)), (0, Some(whole)));
    let wrong = bench.exchange(&asking(b"COOKIE!!SERVERPART......"));
    assert_eq!((code(&wrong), option(&wrong, COOKIE).unwrap().len()), (23, 24));
    assert_eq!(bench.exchange(&asking(b"short")).rcode(), 1);
    let off = Bench::start(|settings| settings.cookies.mode = CookieMode::Off);
    assert_eq!(off.exchange(&asking(b"COOKIE!!")).rcode(), 1);
}

#[test]
fn an_upstream_that_is_this_server_fails_at_once_and_another_is_asked() {
    let (other, _) = upstream(A, &[192, 0, 2, 9]);
    // Ports that are free for a moment: whoever else takes one makes the test fail.
    let listen = |settings: &mut door_dns::Settings| {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let here = [format!("udp://{free}"), "tcp://127.0.0.1:0".into()];
        settings.listen = here.map(|it| it.parse::<vocab::Listen>().unwrap().into()).into();
        UpstreamSettings::from(format!("udp://{free}").as_str())
    };
    let bench = Bench::start(|settings| settings.upstreams = vec![listen(settings)]);
    let begun = Instant::now();
    let reply = bench.exchange(&query_edns(1, "www.test", A));
    let error = option(&reply, 15).unwrap();
    assert_eq!((reply.rcode(), &error[..2]), (2, &[0, 23][..]));
    assert_eq!(&error[2..], b"an upstream leads back to this server");
    assert!(begun.elapsed().as_secs() < 4, "{:?}", begun.elapsed());
    drop(bench);
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![listen(settings), other.as_str().into()];
        settings.strategy = ::resolver::SelectionStrategy::Ordered;
    });
    assert_eq!(bench.ask("www.test", A).counts().0, 1);
}

/// The client subnet that an upstream sees, of a client on loopback that sends `sent`.
fn told(mode: SubnetMode, sent: Option<&[u8]>) -> Option<Vec<u8>> {
    let (address, seen) = upstream(TXT, b"\x01x");
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![address.as_str().into()];
        settings.client_subnet.mode = mode;
    });
    let asking = match sent {
        Some(sent) => query_with(8, "where.test", 8, sent),
        None => query_edns(8, "where.test", A),
    };
    bench.exchange(&asking);
    let queries = seen.lock().unwrap();
    ResponseOpt::of(queries.first().unwrap())?.option(8).map(<[u8]>::to_vec)
}

#[test]
fn upstreams_are_told_of_clients_only_what_is_set() {
    let sent = &b"\0\x01\x20\0\x08\x08\x08\x08"[..];
    let cut = Some(b"\0\x01\x18\0\x08\x08\x08".to_vec());
    assert_eq!(told(SubnetMode::Off, Some(sent)), None);
    assert_eq!(told(SubnetMode::Forward, Some(sent)), cut);
    assert_eq!(told(SubnetMode::Client, Some(sent)), cut);
    assert_eq!(told(SubnetMode::Client, None), None, "loopback means nothing outside");
}

#[test]
fn clients_of_plain_dns_are_told_where_it_is_encrypted() {
    let bench = Bench::listening(&["tls"], |settings| {
        settings.names = vec![vocab::DomainName::parse("dns.test").unwrap().into()];
    });
    let reply = bench.ask("_dns.resolver.arpa", SVCB);
    assert_eq!((reply.rcode(), reply.counts().0), (0, 1));
    let target = b"\x03dns\x04test\0\0\x01\0\x04\x03dot";
    assert!(reply.bytes.windows(target.len()).any(|it| it == target));
    assert_eq!(bench.ask("_dns.resolver.arpa", AAAA).counts().0, 0);
    assert_eq!(Bench::start(|_| {}).ask("_dns.resolver.arpa", SVCB).counts().0, 0);
}
