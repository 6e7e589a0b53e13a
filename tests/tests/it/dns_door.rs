//! The DNS door with real clients: dig and kdig, real lists, a resolver that the test controls.

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use tidegate_tests::clients::{dig, dig_short};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::Tidegate;
use tidegate_tests::{shared, wait};

const SITE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);

fn upstream() -> Resolver {
    Resolver::start(&[
        ("www.example", Reply::Address(SITE)),
        ("short.example", Reply::AddressFor(SITE, 1)),
        ("hidden.example", Reply::Alias("collect.tracker.example".into(), SITE)),
        ("fine.example", Reply::Alias("cdn.example".into(), SITE)),
    ])
}

fn edge(upstream: &Resolver, more: &str) -> Tidegate {
    Tidegate::start(&format!(
        r#"
policy:
  lists:
    - {{ name: mine, rules: ["||ads.example^", "||tracker.example^", "@@||good.ads.example^", "||only-aaaa.example^$dnstype=AAAA"] }}
dns:
  listen: ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"]
  upstreams: ["udp://{}"]
  local: ["router.lan A 192.168.1.1", "||dev.example^ A 10.0.0.5"]
{more}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        upstream.address
    ))
}

#[test]
fn a_question_goes_upstream_once_and_is_then_answered_from_the_cache() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    for _ in 0..3 {
        assert_eq!(dig_short(dns, &["www.example"]).trim(), "192.0.2.10");
    }
    let tcp = edge.address("dns", "tcp");
    assert_eq!(dig_short(tcp, &["+tcp", "WWW.Example"]).trim(), "192.0.2.10");
    assert_eq!(upstream.count("www.example"), 1);
    let nothing = dig(dns, &["nowhere.example"]);
    assert!(nothing.contains("NXDOMAIN"), "{nothing}");
}

#[test]
fn a_blocked_name_is_nodata_with_soa_and_ede_and_never_asked_upstream() {
    let upstream = upstream();
    let edge = edge(&upstream, "  blocked: nodata");
    let answer = dig(edge.address("dns", "udp"), &["x.ads.example"]);
    assert!(answer.contains("NOERROR") && answer.contains("SOA"), "{answer}");
    assert!(answer.contains("EDE: 15 (Blocked)"), "{answer}");
    let good = dig(edge.address("dns", "udp"), &["good.ads.example"]);
    assert!(good.contains("NXDOMAIN"), "an exception passes to the upstream: {good}");
    assert_eq!(upstream.asked(), ["good.ads.example"]);
}

#[test]
fn each_block_style_answers_as_its_name_says() {
    let upstream = upstream();
    for (style, status, short) in
        [("nxdomain", "NXDOMAIN", ""), ("null", "NOERROR", "0.0.0.0"), ("refused", "REFUSED", "")]
    {
        let edge = edge(&upstream, &format!("  blocked: {style}"));
        let dns = edge.address("dns", "udp");
        assert!(dig(dns, &["ads.example"]).contains(status), "{style}");
        assert_eq!(dig_short(dns, &["ads.example"]).trim(), short, "{style}");
    }
    let edge = edge(
        &upstream,
        "  blocked: pixel\npixel: { listen: [\"http://127.0.0.1:0\"], addresses: [192.0.2.99] }",
    );
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["ads.example", "A"]).trim(), "192.0.2.99");
    let https = dig(dns, &["ads.example", "TYPE65"]);
    assert!(https.contains("NOERROR") && https.contains("ANSWER: 0"), "{https}");
}

#[test]
fn a_rule_for_one_record_type_leaves_the_others() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    assert!(dig(dns, &["only-aaaa.example", "AAAA"]).contains("EDE: 15"));
    assert!(!dig(dns, &["only-aaaa.example", "A"]).contains("EDE: 15"));
}

#[test]
fn a_tracker_behind_an_alias_is_blocked_too() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    for _ in 0..2 {
        let answer = dig(dns, &["hidden.example"]);
        assert!(!answer.contains("192.0.2.10") && answer.contains("EDE: 15"), "{answer}");
    }
    assert!(dig_short(dns, &["fine.example"]).contains("192.0.2.10"));
}

#[test]
fn local_records_answer_for_a_name_and_for_a_whole_zone() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["router.lan"]).trim(), "192.168.1.1");
    assert_eq!(dig_short(dns, &["a.b.dev.example"]).trim(), "10.0.0.5");
    assert_eq!(upstream.asked(), Vec::<String>::new());
}

#[test]
fn a_lost_upstream_is_answered_from_what_is_stale() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    assert_eq!(dig_short(dns, &["short.example"]).trim(), "192.0.2.10");
    upstream.silence();
    // Its time to live is one second: once that is over, the question goes upstream again.
    wait::until("the answer to come from what is stale", || {
        let answer = dig(dns, &["short.example"]);
        assert!(answer.contains("192.0.2.10"), "{answer}");
        (upstream.count("short.example") > 1).then_some(())
    });
}

#[test]
fn kdig_reads_the_same_answers_over_tcp() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "tcp");
    let output = Command::new("kdig")
        .args([
            &format!("@{}", dns.ip()),
            "-p",
            &dns.port().to_string(),
            "+tcp",
            "www.example",
            "A",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("192.0.2.10") && text.contains("(TCP)"), "{text}");
}

#[test]
fn a_burst_of_4096_queries_loses_none() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(edge.address("dns", "udp")).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let mut query = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(b"\x06router\x03lan\x00\x00\x01\x00\x01");
    // Our own receive buffer holds no 4,096 answers at its default size.
    set_socket_recv_buffer_size_force(&socket, 8 << 20).unwrap();
    let receiver = socket.try_clone().unwrap();
    let counter = std::thread::spawn(move || {
        let mut seen = vec![false; 4096];
        let mut packet = [0; 512];
        for _ in 0..4096 {
            let len = receiver.recv(&mut packet).expect("an answer for each query");
            assert!(len > 30 && packet[2] & 0x80 != 0 && packet[7] == 1);
            seen[usize::from(u16::from_be_bytes([packet[0], packet[1]]))] = true;
        }
        seen.iter().filter(|seen| **seen).count()
    });
    for id in 0..4096u16 {
        query[..2].copy_from_slice(&id.to_be_bytes());
        socket.send(&query).unwrap();
    }
    assert_eq!(counter.join().unwrap(), 4096);
}

#[test]
fn malformed_queries_get_their_defined_answer_and_nothing_breaks() {
    let upstream = upstream();
    let edge = edge(&upstream, "");
    let dns = edge.address("dns", "udp");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(dns).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let name = b"\x03www\x07example\x00\x00\x01\x00\x01";
    let packet = |flags: [u8; 2], questions: u8, rest: &[u8]| {
        let mut bytes = vec![7, 7, flags[0], flags[1], 0, questions, 0, 0, 0, 0, 0, 0];
        bytes.extend(rest);
        bytes
    };
    let rcode_of = |bytes: &[u8]| {
        socket.send(bytes).unwrap();
        let mut reply = [0; 512];
        let len = socket.recv(&mut reply).unwrap();
        assert!(len >= 12 && reply[..2] == [7, 7]);
        reply[3] & 15
    };
    assert_eq!(rcode_of(&packet([1, 0], 2, &[&name[..], &name[..]].concat())), 1, "two questions");
    assert_eq!(rcode_of(&packet([1, 0], 1, b"\xc0\x0c\x00\x01\x00\x01")), 1, "a compression loop");
    assert_eq!(rcode_of(&packet([1, 0], 1, b"\x03ww")), 1, "cut short");
    assert_eq!(rcode_of(&packet([0x20, 0], 1, name)), 4, "NOTIFY");
    assert_eq!(rcode_of(&packet([1, 0], 0, b"")), 1, "no question");
    // A response and a runt get no answer at all; the next good query is answered.
    socket.send(&packet([0x81, 0], 1, name)).unwrap();
    socket.send(&[1, 2, 3]).unwrap();
    socket.send(&vec![0xff; 60_000]).unwrap();
    assert_eq!(rcode_of(&packet([1, 0], 1, name)), 0);
}

#[test]
fn real_lists_and_the_compare_packs_queries_are_served() {
    let lists = shared().join("data/lists");
    let upstream = Resolver::start(&[("www.baidu.com", Reply::Address(SITE))]);
    let edge = Tidegate::start(&format!(
        r#"
policy:
  lists:
    - {{ name: hosts, path: "{0}/adservers.hosts" }}
    - {{ name: malware, path: "{0}/malwaredomains.txt" }}
    - {{ name: easylist, path: "{0}/easylist.txt" }}
    - {{ name: easyprivacy, path: "{0}/easyprivacy.txt" }}
dns: {{ listen: ["udp://127.0.0.1:0"], upstreams: ["udp://{1}"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        lists.display(),
        upstream.address
    ));
    let dns = edge.address("dns", "udp");
    for name in ["002-slq-470.mktoresp.com", "tonyyeo.com", "doubleclick.net"] {
        assert!(dig(dns, &[name]).contains("EDE: 15"), "{name} passes");
    }
    // Every query of the pack gets an answer: an address, a block or NXDOMAIN, never silence.
    let queries = std::fs::read_dir(shared().join("data/dns-compare/queries")).unwrap();
    for file in queries.map(|entry| entry.unwrap().path()) {
        let output = Command::new("dig")
            .arg(format!("@{}", dns.ip()))
            .args(["-p", &dns.port().to_string(), "+noall", "+comments", "-f"])
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let asked = std::fs::read_to_string(&file).unwrap();
        let asked = asked.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(
            text.matches("status: NO").count() + text.matches("status: NX").count(),
            asked,
            "{}:\n{text}",
            file.display()
        );
    }
}
