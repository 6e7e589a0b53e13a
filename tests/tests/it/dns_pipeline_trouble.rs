//! Trouble under a mosdns file: upstreams that die, reloads under load, files that are wrong.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tidegate_tests::clients::{dig, dig_short};
use tidegate_tests::compare_pack::answer;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::wait;

const SITE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);

/// Shorter than any wait for an upstream (1.8 s for a stale answer, 5 s in all), longer than a
/// busy machine needs for an answer that waits for nobody.
const AT_ONCE: Duration = Duration::from_millis(1500);

const NOERROR: u8 = 0;

fn upstream() -> Resolver {
    Resolver::start(&[
        ("www.example", Reply::Address(SITE)),
        ("short.example", Reply::AddressFor(SITE, 1)),
    ])
}

/// A cache in front of a forwarder, and one record of its own.
fn pipeline(upstream: SocketAddr, cache: &str, record: &str) -> String {
    format!(
        r#"
log: {{ level: error }}
plugins:
  - {{ tag: cache, type: cache, args: {{ size: 4096{cache} }} }}
  - {{ tag: forward, type: forward, args: {{ upstreams: [{{ addr: "{upstream}" }}] }} }}
  - {{ tag: own, type: arbitrary, args: {{ rules: ["own.example. 60 IN A {record}"] }} }}
  - tag: main
    type: sequence
    args:
      - exec: $own
      - matches: has_resp
        exec: accept
      - exec: $cache
      - matches: has_resp
        exec: accept
      - exec: $forward
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#
    )
}

fn query(id: u16, name: &[u8]) -> Vec<u8> {
    let mut query = id.to_be_bytes().to_vec();
    query.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    query.extend(name);
    query.extend([0, 1, 0, 1]);
    query
}

fn client(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    socket
}

#[test]
fn a_dead_upstream_is_answered_from_what_is_stale_at_once() {
    let upstream = upstream();
    let edge = Tidegate::start(&pipeline(upstream.address, ", lazy_cache_ttl: 86400", "192.0.2.1"));
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["short.example"]).trim(), "192.0.2.10");
    upstream.silence();
    let socket = client(dns);
    let name = b"\x05short\x07example\0";
    // It lives one second: then the upstream is asked again, and clients do not wait for it.
    let mut id = 0;
    wait::until("the answer to be stale", || {
        id += 1;
        let begun = Instant::now();
        socket.send(&query(id, name)).unwrap();
        let mut reply = [0; 512];
        let len = socket.recv(&mut reply).unwrap();
        assert!(begun.elapsed() < AT_ONCE, "waited {:?}", begun.elapsed());
        assert_eq!(reply[..2], id.to_be_bytes());
        assert_eq!(reply[len - 4..len], SITE.octets(), "{:?}", &reply[..len]);
        (upstream.count("short.example") > 1).then_some(())
    });
}

#[test]
fn without_stale_answers_a_dead_upstream_is_a_failure_that_is_told() {
    let upstream = upstream();
    let edge = Tidegate::start(&pipeline(upstream.address, "", "192.0.2.1"));
    let dns = edge.address("dns", "udp");
    upstream.silence();
    assert_eq!(answer(dns, &["www.example"]).0, "SERVFAIL");
    assert_eq!(answer(dns, &["own.example"]).1, "192.0.2.1", "what is local needs no upstream");
}

#[test]
fn a_fallback_without_an_answer_of_either_ends_the_sequence() {
    let edge = Tidegate::start(
        r#"
log: { level: error }
plugins:
  - { tag: none, type: sequence, args: [ { exec: mark 1 }, { exec: $_sleep_500ms } ] }
  - { tag: both, type: fallback, args: { primary: none, secondary: none, threshold: 10 } }
  - { tag: main, type: sequence, args: [ { exec: $both }, { exec: reject 3 } ] }
  - { tag: udp, type: udp_server, args: { entry: main, listen: "127.0.0.1:0" } }
"#,
    );
    assert_eq!(answer(edge.address("dns", "udp"), &["www.example"]).0, "SERVFAIL");
}

/// Asks `www.example` without a pause until told to stop; how many were lost.
fn ask_on(dns: SocketAddr, stop: &AtomicBool, asked: &AtomicU32) -> u32 {
    let socket = client(dns);
    let mut packet = [0; 512];
    let mut lost = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = asked.fetch_add(1, Ordering::Relaxed) as u16;
        socket.send(&query(id, b"\x03www\x07example\0")).unwrap();
        match socket.recv(&mut packet) {
            Ok(_) if packet[..2] == id.to_be_bytes() && packet[3] & 0x0f == NOERROR => {}
            Ok(_) | Err(_) => lost += 1,
        }
    }
    lost
}

#[test]
fn a_reload_of_a_pipeline_loses_no_query_and_keeps_the_cache() {
    let upstream = upstream();
    let edge = Tidegate::start(&pipeline(upstream.address, "", "192.0.2.1"));
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["www.example"]).trim(), "192.0.2.10");
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(AtomicU32::new(0));
    let asking = {
        let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
        std::thread::spawn(move || ask_on(dns, &stop, &asked))
    };
    for round in 2..8 {
        let record = format!("192.0.2.{round}");
        edge.scratch.write("tidegate.yaml", pipeline(upstream.address, "", &record));
        let before = asked.load(Ordering::Relaxed);
        edge.signal("HUP");
        wait::until("the new record to be answered", || {
            (dig_short(dns, &["own.example"]).trim() == record).then_some(())
        });
        wait::until("queries to go on", || {
            (asked.load(Ordering::Relaxed) > before + 20).then_some(())
        });
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(asking.join().unwrap(), 0, "of {} queries", asked.load(Ordering::Relaxed));
    assert_eq!(upstream.count("www.example"), 1, "the cache outlives reloads");
}

#[test]
fn a_wrong_pipeline_changes_nothing_and_says_where() {
    let upstream = upstream();
    let good = pipeline(upstream.address, "", "192.0.2.1");
    let edge = Tidegate::start(&good);
    let dns = edge.address("dns", "udp");
    let bad = good.replace("$forward", "$forwards");
    let line = 1 + bad.lines().position(|line| line.contains("$forwards")).unwrap();
    edge.scratch.write("tidegate.yaml", &bad);
    let checked = edge.command(&["check"]);
    let said = String::from_utf8_lossy(&checked.stderr).into_owned()
        + &String::from_utf8_lossy(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("tidegate.yaml:{line}:")) && said.contains("forwards"),
        "{said}"
    );
    let reload = edge.command(&["ctl", "reload"]);
    assert!(!reload.status.success(), "a wrong file is not taken");
    assert_eq!(dig_short(dns, &["own.example"]).trim(), "192.0.2.1");
    assert_eq!(dig_short(dns, &["www.example"]).trim(), "192.0.2.10");
}

#[test]
fn equal_questions_that_wait_share_one_exchange() {
    let upstream = upstream();
    let edge = Tidegate::start(&pipeline(upstream.address, "", "192.0.2.1"));
    let socket = client(edge.address("dns", "udp"));
    for id in 0..64 {
        socket.send(&query(id, b"\x03www\x07example\0")).unwrap();
    }
    let mut reply = [0; 512];
    for _ in 0..64 {
        let len = socket.recv(&mut reply).unwrap();
        assert_eq!(reply[len - 4..len], SITE.octets());
    }
    assert_eq!(upstream.count("www.example"), 1, "64 equal questions, cached or waiting");
    let other = dig(edge.address("dns", "udp"), &["nowhere.example"]);
    assert!(other.contains("NXDOMAIN"), "{other}");
}

#[test]
fn two_silent_sides_of_a_fallback_take_no_longer_than_one_question() {
    let upstream = upstream();
    upstream.silence();
    let address = upstream.address;
    let edge = Tidegate::start(&format!(
        r#"
log: {{ level: error }}
plugins:
  - {{ tag: one, type: forward, args: {{ upstreams: [{{ addr: "{address}" }}] }} }}
  - {{ tag: two, type: forward, args: {{ upstreams: [{{ addr: "{address}" }}] }} }}
  - {{ tag: both, type: fallback, args: {{ primary: one, secondary: two, threshold: 4000 }} }}
  - {{ tag: main, type: sequence, args: [ {{ exec: $both }} ] }}
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#
    ));
    let socket = client(edge.address("dns", "udp"));
    let begun = Instant::now();
    socket.send(&query(1, b"\x03www\x07example\0")).unwrap();
    let mut reply = [0; 512];
    socket.recv(&mut reply).unwrap();
    // Five seconds, as mosdns has; the second side alone would take until nine.
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(reply[3] & 0x0f, 2, "SERVFAIL");
}

#[test]
fn twenty_caches_on_one_way_answer() {
    let upstream = upstream();
    let caches = "      - exec: cache 1024\n".repeat(20);
    let edge = Tidegate::start(&format!(
        r#"
log: {{ level: error }}
plugins:
  - tag: main
    type: sequence
    args:
{caches}      - exec: forward {}
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#,
        upstream.address
    ));
    let dns = edge.address("dns", "udp");
    for _ in 0..2 {
        assert_eq!(answer(dns, &["www.example"]), ("NOERROR".into(), SITE.to_string()));
    }
    assert_eq!(upstream.count("www.example"), 1);
}
