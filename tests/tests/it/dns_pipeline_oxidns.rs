//! What OxiDNS files alone have: answers put in order by measuring, names that are learnt, address
//! lists of a router, variables of the environment.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use tidegate_tests::compare_pack::answer;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::{Scratch, wait};

const OPEN: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const CLOSED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

fn upstream() -> Resolver {
    let two = vec![IpAddr::V4(CLOSED), IpAddr::V4(OPEN)];
    Resolver::start(&[("www.example", Reply::Addresses(two, 300))])
}

/// A file whose rules stand before a forward to `upstream`, with more plugins.
fn file(plugins: &str, rules: &str, upstream: SocketAddr) -> String {
    format!(
        r#"
log: {{ level: error }}
plugins:
{plugins}
  - {{ tag: up, type: forward, args: {{ upstreams: [{{ addr: "{upstream}", timeout: 3s }}] }} }}
  - tag: main
    type: sequence
    args:
{rules}
      - exec: $up
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#
    )
}

#[test]
fn an_answer_keeps_the_address_that_lets_us_connect() {
    let (upstream, open) = (upstream(), TcpListener::bind((OPEN, 0)).unwrap());
    let port = open.local_addr().unwrap().port();
    let selector = format!(
        "  - {{ tag: select, type: ip_selector, args: {{ probe_methods: \"tcp:{port}\", \
         probe_addresses: any, probe_timeout: 5000, max_wait: 10000 }} }}\n  \
         - {{ tag: cache, type: cache, args: {{ size: 4096 }} }}"
    );
    let rules = "      - exec: $select\n      - exec: $cache\n      \
                 - { matches: has_resp, exec: accept }";
    let edge = Tidegate::start(&file(&selector, rules, upstream.address));
    let dns = edge.address("dns", "udp");
    // First after a wait, then out of the cache, which holds what the upstream said.
    for _ in 0..3 {
        assert_eq!(answer(dns, &["www.example"]).1, OPEN.to_string());
    }
    // Whoever asks for signatures loses nothing.
    let signed = answer(dns, &["www.example", "+dnssec"]).1;
    assert_eq!(signed, format!("{OPEN} {CLOSED}"));
    assert_eq!(upstream.count("www.example"), 2, "the cache tells DO apart");
}

/// A set that learns what the upstream answers, and rules that ask it.
fn learning(path: &std::path::Path, args: &str) -> String {
    format!(
        "  - {{ tag: seen, type: dynamic_domain_set, args: {{ path: \"{}\", flush_interval_ms: 20, \
         bootstrap_rules: [\"domain:known.example\"] }} }}\n  \
         - {{ tag: learn, type: learn_domain, args: {{ provider: seen{args} }} }}",
        path.display()
    )
}

/// Those of the set are refused: whoever asks twice is told so.
const REFUSE_SEEN: &str = "      - { matches: qname $seen, exec: reject 5 }\n      - exec: $learn";

#[test]
fn a_name_that_was_answered_is_in_the_set_and_comes_back_after_a_kill() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let path = scratch.path().join("seen.txt");
    let yaml = file(&learning(&path, ", async: false"), REFUSE_SEEN, upstream.address);
    let edge = Tidegate::start_in(scratch, &yaml);
    let dns = edge.address("dns", "udp");
    assert_eq!(answer(dns, &["x.known.example"]).0, "REFUSED", "what it begins with");
    assert_eq!(answer(dns, &["nowhere.example"]).0, "NXDOMAIN");
    assert_eq!(answer(dns, &["nowhere.example"]).0, "NXDOMAIN", "no failure is learnt");
    assert_eq!(answer(dns, &["www.example"]).0, "NOERROR");
    assert_eq!(answer(dns, &["www.example"]).0, "REFUSED");
    assert_eq!(answer(dns, &["x.www.example"]).0, "NXDOMAIN", "it stands for itself");
    // The answer waited until it was on the disk.
    let (_, scratch) = edge.stop_by("KILL");
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept, "domain:known.example\nfull:www.example\n");
    // Half a name of a write that broke off is none.
    std::fs::write(&path, format!("{kept}full:www.exam")).unwrap();
    let again = Tidegate::start_in(scratch, &yaml);
    let dns = again.address("dns", "udp");
    assert_eq!(answer(dns, &["www.example"]).0, "REFUSED");
    assert_eq!(answer(dns, &["www.exam"]).0, "NXDOMAIN");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
}

#[test]
fn names_are_written_soon_where_nobody_waits_and_a_reload_keeps_them() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let path = scratch.path().join("seen.txt");
    let yaml = file(&learning(&path, ", rule_kind: domain"), REFUSE_SEEN, upstream.address);
    let edge = Tidegate::start_in(scratch, &yaml);
    let dns = edge.address("dns", "udp");
    assert_eq!(answer(dns, &["www.example"]).0, "NOERROR");
    assert_eq!(answer(dns, &["below.www.example"]).0, "REFUSED");
    wait::until("the name to be written", || {
        let text = std::fs::read_to_string(&path).unwrap();
        text.contains("domain:www.example\n").then_some(())
    });
    // A rule that somebody adds by hand counts with a reload, and what was learnt goes on to.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}full:by.hand.example\n")).unwrap();
    assert!(edge.command(&["ctl", "reload"]).status.success());
    wait::until("the reload", || (answer(dns, &["by.hand.example"]).0 == "REFUSED").then_some(()));
    assert_eq!(answer(dns, &["www.example"]).0, "REFUSED");
}

/// A file as OxiDNS ships one for a new user, in our words: an API with its panel, one upstream,
/// and a listener for each protocol.
fn shipped(panel: &str, upstream: SocketAddr) -> String {
    format!(
        r#"
log: {{ level: info }}
{panel}
plugins:
  - tag: forward
    type: forward
    args: {{ upstreams: [ {{ addr: "{upstream}" }} ] }}
  - tag: main_sequence
    type: sequence
    args: [ {{ exec: $forward }}, {{ exec: accept }} ]
  - {{ tag: udp, type: udp_server, args: {{ entry: main_sequence, listen: "[::1]:0" }} }}
  - {{ tag: tcp, type: tcp_server, args: {{ entry: main_sequence, listen: "[::1]:0" }} }}
"#
    )
}

#[test]
fn the_files_that_oxidns_ships_run_as_they_are() {
    let upstream = upstream();
    for panel in ["", "api: { http: { listen: \":0\", webui: { root: ./webui } } }"] {
        let edge = Tidegate::start(&shipped(panel, upstream.address));
        for transport in ["udp", "tcp"] {
            let dns = edge.address("dns", transport);
            let tcp: &[&str] = if transport == "tcp" { &["+tcp"] } else { &[] };
            let question = [&["www.example"], tcp].concat();
            let expected = ("NOERROR".to_owned(), format!("{CLOSED} {OPEN}"));
            assert_eq!(answer(dns, &question), expected, "{transport} {panel}");
        }
        let told = edge.told(&["check"]);
        assert_eq!(told.contains("no use for \"webui\""), !panel.is_empty(), "{told}");
    }
}

#[test]
fn variables_of_the_environment_are_put_into_the_file() {
    let upstream = upstream();
    let yaml = file(
        "",
        "      - { matches: 'qname ${BLOCKED:-x.test}', exec: reject 3 }",
        upstream.address,
    )
    .replace(&upstream.address.to_string(), "${UPSTREAM}")
    .replace("level: error", "level: \"${LEVEL:-error}\"");
    let variables = [("UPSTREAM", upstream.address.to_string())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let edge = Tidegate::start_with(Scratch::new(), &yaml, &variables);
    let dns = edge.address("dns", "udp");
    assert_eq!(answer(dns, &["www.example"]).0, "NOERROR");
    assert_eq!(answer(dns, &["x.test"]).0, "NXDOMAIN");
    // Without it the file is refused, at the line that wants it.
    let scratch = Scratch::new();
    let (said, _) = tidegate::refused(&yaml, &scratch, &scratch.path().join("state"));
    let line = 1 + yaml.lines().position(|it| it.contains("${UPSTREAM}")).unwrap();
    let place = format!("tidegate.yaml:{line}:");
    assert!(said.contains(&place) && said.contains("no variable \"UPSTREAM\""), "{said}");
}

/// A router that agrees to everything, and the addresses that it was told to list.
fn router() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, listed) = (listener.local_addr().unwrap(), Arc::default());
    let told: Arc<Mutex<Vec<String>>> = Arc::clone(&listed);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut length = [0];
            // No word of these tests is as long as 128 bytes.
            while stream.read_exact(&mut length).is_ok() {
                let mut word = vec![0; length[0].into()];
                stream.read_exact(&mut word).unwrap();
                if let Some(address) = word.strip_prefix(b"=address=") {
                    told.lock().unwrap().push(String::from_utf8_lossy(address).into_owned());
                }
                if word.is_empty() {
                    stream.write_all(b"\x05!done\0").unwrap();
                }
            }
        }
    });
    (address, listed)
}

#[test]
fn a_router_lists_the_addresses_of_answers_and_no_question_waits_for_it() {
    let (upstream, (address, listed)) = (upstream(), router());
    let lists = |address| {
        format!(
            "  - {{ tag: ros, type: ros_address_list, args: {{ address: \"{address}\", username: me, \
             password: pw, address_list4: tunnel, cleanup_on_shutdown: false }} }}"
        )
    };
    let yaml = |address| file(&lists(address), "      - exec: $ros", upstream.address);
    let edge = Tidegate::start(&yaml(address));
    let dns = edge.address("dns", "udp");
    assert_eq!(answer(dns, &["www.example"]).0, "NOERROR");
    wait::until("the router to be told", || {
        let mut listed = listed.lock().unwrap().clone();
        listed.sort();
        (listed == [OPEN.to_string(), CLOSED.to_string()]).then_some(())
    });
    // One that takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let edge = Tidegate::start(&yaml(silent.local_addr().unwrap()));
    let dns = edge.address("dns", "udp");
    for _ in 0..20 {
        assert_eq!(answer(dns, &["www.example"]).0, "NOERROR");
    }
}
