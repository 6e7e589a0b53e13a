//! What becomes of an upstream's answer on its way to a client: hints at filtered addresses, the
//! client's subnet, options that pipelines pass back, reasons beside long answers.

use crate::support;

use dns_wire::ask_options::ResponseOpt;
use dns_wire::reply::{MessageSection, records};
use dns_wire::svcb;
use door_dns::SubnetMode;
use resolver::StaleMode;
use serde_json::json;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::fixed::{foreign, options_of, record, upstream, with_options};
use support::{A, AAAA, Bench, DEADLINE, HTTPS, Reply, TXT, query_edns, read_framed, send_framed};
use vocab::TimeSpan;

const SUBNET: u16 = 8;
/// An option for tests (RFC 6891 §9).
const LOCAL: u16 = 65_001;

fn option(reply: &Reply, code: u16) -> Option<Vec<u8>> {
    ResponseOpt::of(&reply.bytes)?.option(code).map(<[u8]>::to_vec)
}

/// An HTTPS record with hints of both families, and an IPv6 address beside it.
fn hinting() -> String {
    let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let binding = [&[0, 1, 0, 0, 4, 0, 4, 192, 0, 2, 1, 0, 6, 0, 16][..], &v6].concat();
    let records = [record(HTTPS, &binding), record(AAAA, &v6)].concat();
    upstream([1, 0, 1], records, Some(Vec::new())).0
}

fn hints(reply: &Reply) -> Vec<IpAddr> {
    let bindings = records(&reply.bytes).filter(|it| it.rtype == HTTPS);
    bindings.flat_map(|it| svcb::hints(it.data)).collect()
}

#[test]
fn addresses_that_are_filtered_are_not_hinted_at_either() {
    let address = hinting();
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![address.as_str().into()];
        settings.filter_types = vec!["AAAA".into()];
    });
    // From the upstream, and from the cache.
    for id in 0..2 {
        let mut asking = query_edns(id, "site.test", HTTPS);
        asking[3] |= 0x20;
        let reply = bench.exchange(&asking);
        assert_eq!(hints(&reply), ["192.0.2.1".parse::<IpAddr>().unwrap()]);
        assert!(records(&reply.bytes).all(|it| it.rtype != AAAA), "not beside it either");
        assert_eq!(reply.bytes[3] & 0x20, 0, "nobody has validated this");
    }
    let reply = bench.exchange(&query_edns(3, "site.test", AAAA));
    assert_eq!((reply.counts(), reply.extended_error()), ((0, 1), Some(17)));
}

#[test]
fn without_a_filter_hints_pass() {
    let address = hinting();
    let bench = Bench::start(|settings| settings.upstreams = vec![address.as_str().into()]);
    let mut asking = query_edns(1, "site.test", HTTPS);
    asking[3] |= 0x20;
    let reply = bench.exchange(&asking);
    assert_eq!(hints(&reply).len(), 2);
    let beside = records(&reply.bytes).filter(|it| it.section == MessageSection::Additional);
    assert!(beside.count() >= 1 && reply.bytes[3] & 0x20 != 0);
}

#[test]
fn a_binding_that_cannot_be_freed_of_its_hints_is_empty() {
    let hint = [0, 1, 0, 0, 6, 0, 16, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let many = record(HTTPS, &hint).repeat(svcb::CUTS_MAX + 1);
    let (address, _) = upstream([svcb::CUTS_MAX as u8 + 1, 0, 0], many, None);
    let bench = Bench::start(|settings| {
        settings.upstreams = vec![address.as_str().into()];
        settings.filter_types = vec!["AAAA".into()];
    });
    let reply = bench.exchange(&query_edns(1, "site.test", HTTPS));
    assert_eq!((reply.counts(), reply.extended_error()), ((0, 1), Some(17)));
}

/// An upstream that answers with an address, for `scope` bits of a subnet.
fn placed(scope: Option<u8>) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let subnet = scope.map(|scope| [0, 1, 24, scope, 8, 8, 8]);
    let options = subnet.map_or(Vec::new(), |it| options_of(&[(SUBNET, &it)]));
    upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), Some(options))
}

fn forwarding(address: &str, mode: SubnetMode) -> Bench {
    Bench::start(|settings| {
        settings.upstreams = vec![address.into()];
        settings.client_subnet.mode = mode;
        settings.local = vec!["near.test A 192.0.2.7".into()];
    })
}

const SENT: &[u8] = &[0, 1, 32, 0, 8, 8, 8, 8];

#[test]
fn who_sends_its_subnet_hears_for_how_much_of_it_the_answer_holds() {
    let (address, seen) = placed(Some(20));
    let bench = forwarding(&address, SubnetMode::Forward);
    // From the upstream, and from the cache: the same subnet with the upstream's scope.
    for id in 0..2 {
        let reply =
            bench.exchange(&with_options(query_edns(id, "where.test", A), &[(SUBNET, SENT)]));
        assert_eq!(option(&reply, SUBNET), Some(vec![0, 1, 32, 20, 8, 8, 8, 8]));
    }
    assert_eq!(seen.lock().unwrap().len(), 1);
    // What no upstream was asked holds for everybody.
    let near = bench.exchange(&with_options(query_edns(3, "near.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&near, SUBNET), Some(vec![0, 1, 32, 0, 8, 8, 8, 8]));
    let opted_out =
        bench.exchange(&with_options(query_edns(4, "x.test", A), &[(SUBNET, &[0, 1, 0, 0])]));
    assert_eq!(option(&opted_out, SUBNET), Some(vec![0, 1, 0, 0]));
}

#[test]
fn who_sends_no_subnet_hears_of_none() {
    let (address, _) = placed(Some(20));
    for mode in [SubnetMode::Forward, SubnetMode::Client, SubnetMode::Off] {
        let bench = forwarding(&address, mode);
        assert_eq!(option(&bench.exchange(&query_edns(1, "where.test", A)), SUBNET), None);
    }
    let bench = forwarding(&address, SubnetMode::Off);
    let reply = bench.exchange(&with_options(query_edns(1, "where.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&reply, SUBNET), None, "off is off");
}

#[test]
fn an_upstream_that_ignores_the_subnet_answers_for_everybody() {
    let (address, _) = placed(None);
    let bench = forwarding(&address, SubnetMode::Forward);
    let reply = bench.exchange(&with_options(query_edns(1, "where.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&reply, SUBNET), Some(vec![0, 1, 32, 0, 8, 8, 8, 8]));
}

#[test]
fn a_private_subnet_goes_nowhere_and_is_answered_for_everybody() {
    let (address, seen) = placed(Some(20));
    let bench = forwarding(&address, SubnetMode::Forward);
    let private = [0, 1, 24, 0, 192, 168, 1];
    let reply =
        bench.exchange(&with_options(query_edns(1, "where.test", A), &[(SUBNET, &private)]));
    assert_eq!(option(&reply, SUBNET), Some(private.to_vec()));
    let sent = seen.lock().unwrap();
    assert_eq!(ResponseOpt::of(&sent[0]).unwrap().option(SUBNET), None);
}

/// A door that is a mosdns file with these rules before a forward to `address`.
fn forwarding_after(address: &str, before: &[serde_json::Value]) -> Bench {
    let mut rules = before.to_vec();
    rules.push(json!({ "exec": format!("forward {address}") }));
    let foreign = foreign(&json!([]), &json!(rules));
    Bench::start(|settings| settings.foreign = Some(foreign))
}

#[test]
fn a_pipeline_passes_named_options_there_and_back() {
    let options =
        options_of(&[(LOCAL, b"back"), (65_002, b"not named"), (10, b"COOKIE!!SERVERCO")]);
    let (address, seen) = upstream([1, 0, 0], record(A, &[192, 0, 2, 1]), Some(options));
    let rules =
        [json!({ "exec": format!("forward_edns0opt {LOCAL}") }), json!({ "exec": "ttl 30" })];
    let bench = forwarding_after(&address, &rules);
    let reply = bench.exchange(&with_options(query_edns(1, "a.test", A), &[(LOCAL, b"there")]));
    assert_eq!((reply.counts().0, option(&reply, LOCAL)), (1, Some(b"back".to_vec())));
    assert_eq!((option(&reply, 65_002), option(&reply, 10)), (None, None));
    let sent = seen.lock().unwrap()[0].clone();
    assert_eq!(ResponseOpt::of(&sent).unwrap().option(LOCAL), Some(&b"there"[..]));
    // Who has no EDNS gets no options.
    let plain = bench.exchange(&support::query(2, "a.test", A));
    assert_eq!((plain.counts().0, plain.bytes[11]), (1, 0));
}

#[test]
fn a_pipeline_that_forwards_subnets_answers_with_their_scope() {
    let (address, _) = placed(Some(20));
    for rules in [vec![json!({ "exec": format!("forward_edns0opt {SUBNET}") })], vec![]] {
        let bench = forwarding_after(&address, &rules);
        let reply = bench.exchange(&with_options(query_edns(1, "a.test", A), &[(SUBNET, SENT)]));
        let expected = (!rules.is_empty()).then(|| vec![0, 1, 32, 20, 8, 8, 8, 8]);
        assert_eq!(option(&reply, SUBNET), expected, "{rules:?}");
    }
}

#[test]
fn a_long_answer_over_tcp_keeps_its_reason() {
    let bench = Bench::start(|settings| {
        settings.cache.stale_mode = StaleMode::AtOnce;
        settings.cache.max_ttl = settings::Text(TimeSpan(Duration::from_secs(1)));
    });
    let mut stream = bench.connect();
    let begun = Instant::now();
    // It says that it takes 1,232 bytes, which is about UDP; the answer has over 2,000.
    for id in 0.. {
        send_framed(&mut stream, &query_edns(id, "big.test", TXT));
        let reply = read_framed(&mut stream).unwrap();
        assert_eq!((reply.truncated(), reply.counts().0), (false, 20));
        // Once its second is over, the answer is stale and says so.
        if reply.extended_error() == Some(3) {
            return;
        }
        assert!(begun.elapsed() < DEADLINE, "it was never stale");
        std::thread::sleep(Duration::from_millis(20));
    }
}
