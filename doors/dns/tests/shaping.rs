//! What becomes of an upstream's answer on its way to a client: hints at filtered addresses, the
//! client's subnet, options that pipelines pass back, reasons beside long answers.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod support;

use dns_wire::ask_options::ResponseOpt;
use dns_wire::reply::{Section, records};
use dns_wire::svcb;
use door_dns::{Foreign, Settings, SubnetMode};
use pipeline::language::{self, Base, Files};
use serde_json::json;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::{A, AAAA, Bench, DEADLINE, HTTPS, Reply, TXT, query_edns, read_framed, send_framed};
use upstream::resolver::StaleMode;
use vocab::{Complaint, Span};

const SUBNET: u16 = 8;
/// An option for tests (RFC 6891 §9).
const LOCAL: u16 = 65_001;

/// A record whose owner is the name asked for.
fn record(rtype: u16, data: &[u8]) -> Vec<u8> {
    let head = [&[0xc0, 12][..], &rtype.to_be_bytes(), &[0, 1, 0, 0, 1, 44]].concat();
    [&head[..], &(data.len() as u16).to_be_bytes(), data].concat()
}

fn options_of(all: &[(u16, &[u8])]) -> Vec<u8> {
    let one = |(code, data): &(u16, &[u8])| {
        [&code.to_be_bytes()[..], &(data.len() as u16).to_be_bytes(), data].concat()
    };
    all.iter().flat_map(one).collect()
}

/// `query` with these options.
fn with(mut query: Vec<u8>, all: &[(u16, &[u8])]) -> Vec<u8> {
    let options = options_of(all);
    let length = query.len() - 2;
    query[length..].copy_from_slice(&(options.len() as u16).to_be_bytes());
    query.extend(options);
    query
}

/// An upstream that answers everything with these records (answers, then additional ones) and
/// options; its address, and the queries that it got.
fn upstream(
    counts: [u8; 2],
    records: Vec<u8>,
    options: Option<Vec<u8>>,
) -> (String, Arc<Mutex<Vec<Vec<u8>>>>) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = format!("udp://{}", socket.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        let mut packet = [0; 4096];
        while let Ok((length, client)) = socket.recv_from(&mut packet) {
            kept.lock().unwrap().push(packet[..length].to_vec());
            let name = packet[12..].iter().position(|byte| *byte == 0).unwrap();
            let mut reply = packet[..12 + name + 5].to_vec();
            // AD is set: what is changed must lose it.
            reply[2..4].copy_from_slice(&[0x81, 0xa0]);
            let more = counts[1] + u8::from(options.is_some());
            reply[4..12].copy_from_slice(&[0, 1, 0, counts[0], 0, 0, 0, more]);
            reply.extend(&records);
            if let Some(options) = &options {
                reply.extend([0, 0, 41, 4, 208, 0, 0, 0, 0]);
                reply.extend((options.len() as u16).to_be_bytes());
                reply.extend(options);
            }
            // A client that gave up is no failure of ours.
            let _ = socket.send_to(&reply, client);
        }
    });
    (address, seen)
}

fn option(reply: &Reply, code: u16) -> Option<Vec<u8>> {
    ResponseOpt::of(&reply.bytes)?.option(code).map(<[u8]>::to_vec)
}

/// An HTTPS record with hints of both families, and an IPv6 address beside it.
fn hinting() -> String {
    let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let binding = [&[0, 1, 0, 0, 4, 0, 4, 192, 0, 2, 1, 0, 6, 0, 16][..], &v6].concat();
    let records = [record(HTTPS, &binding), record(AAAA, &v6)].concat();
    upstream([1, 1], records, Some(Vec::new())).0
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
    let beside = records(&reply.bytes).filter(|it| it.section == Section::Additional);
    assert!(beside.count() >= 1 && reply.bytes[3] & 0x20 != 0);
}

#[test]
fn a_binding_that_cannot_be_freed_of_its_hints_is_empty() {
    let hint = [0, 1, 0, 0, 6, 0, 16, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
    let many = record(HTTPS, &hint).repeat(svcb::CUTS_MAX + 1);
    let (address, _) = upstream([svcb::CUTS_MAX as u8 + 1, 0], many, None);
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
    upstream([1, 0], record(A, &[192, 0, 2, 1]), Some(options))
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
        let reply = bench.exchange(&with(query_edns(id, "where.test", A), &[(SUBNET, SENT)]));
        assert_eq!(option(&reply, SUBNET), Some(vec![0, 1, 32, 20, 8, 8, 8, 8]));
    }
    assert_eq!(seen.lock().unwrap().len(), 1);
    // What no upstream was asked holds for everybody.
    let near = bench.exchange(&with(query_edns(3, "near.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&near, SUBNET), Some(vec![0, 1, 32, 0, 8, 8, 8, 8]));
    let opted_out = bench.exchange(&with(query_edns(4, "x.test", A), &[(SUBNET, &[0, 1, 0, 0])]));
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
    let reply = bench.exchange(&with(query_edns(1, "where.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&reply, SUBNET), None, "off is off");
}

#[test]
fn an_upstream_that_ignores_the_subnet_answers_for_everybody() {
    let (address, _) = placed(None);
    let bench = forwarding(&address, SubnetMode::Forward);
    let reply = bench.exchange(&with(query_edns(1, "where.test", A), &[(SUBNET, SENT)]));
    assert_eq!(option(&reply, SUBNET), Some(vec![0, 1, 32, 0, 8, 8, 8, 8]));
}

#[test]
fn a_private_subnet_goes_nowhere_and_is_answered_for_everybody() {
    let (address, seen) = placed(Some(20));
    let bench = forwarding(&address, SubnetMode::Forward);
    let private = [0, 1, 24, 0, 192, 168, 1];
    let reply = bench.exchange(&with(query_edns(1, "where.test", A), &[(SUBNET, &private)]));
    assert_eq!(option(&reply, SUBNET), Some(private.to_vec()));
    let sent = seen.lock().unwrap();
    assert_eq!(ResponseOpt::of(&sent[0]).unwrap().option(SUBNET), None);
}

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("no such file".into())
    }
    fn read_document(&self, _: &str, _: Base) -> Result<serde_json::Value, Complaint> {
        Err(Complaint::new("", "no such file"))
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

/// A door that is a mosdns file with this sequence before a forward to `address`.
fn foreign(address: &str, before: &[serde_json::Value]) -> Bench {
    let mut sequence = before.to_vec();
    sequence.push(json!({ "exec": format!("forward {address}") }));
    let file = json!({ "plugins": [{ "tag": "main", "type": "sequence", "args": sequence },
        { "tag": "s", "type": "udp_server", "args": { "entry": "main", "listen": "127.0.0.1:0" } }] });
    let read = language::read(&file, &NoFiles).unwrap();
    let compiled = pipeline::compile::compile(&read, 1, &NoFiles).unwrap();
    let foreign = Foreign::new(compiled).unwrap().without_servers();
    Bench::start(|settings: &mut Settings| settings.foreign = Some(foreign))
}

#[test]
fn a_pipeline_passes_named_options_there_and_back() {
    let options = options_of(&[(LOCAL, b"back"), (65_002, b"not named"), (10, b"COOKIE!!SERVERCO")]);
    let (address, seen) = upstream([1, 0], record(A, &[192, 0, 2, 1]), Some(options));
    let rules =
        [json!({ "exec": format!("forward_edns0opt {LOCAL}") }), json!({ "exec": "ttl 30" })];
    let bench = foreign(&address, &rules);
    let reply = bench.exchange(&with(query_edns(1, "a.test", A), &[(LOCAL, b"there")]));
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
        let bench = foreign(&address, &rules);
        let reply = bench.exchange(&with(query_edns(1, "a.test", A), &[(SUBNET, SENT)]));
        let expected = (!rules.is_empty()).then(|| vec![0, 1, 32, 20, 8, 8, 8, 8]);
        assert_eq!(option(&reply, SUBNET), expected, "{rules:?}");
    }
}

#[test]
fn a_long_answer_over_tcp_keeps_its_reason() {
    let bench = Bench::start(|settings| {
        settings.cache.stale_mode = StaleMode::AtOnce;
        settings.cache.max_ttl = settings::Text(Span(Duration::from_secs(1)));
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
