//! What mosdns and OxiDNS files keep and set off outside: caches in files of their own, lists that
//! are fetched at the start, programs that are told of a question.

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tidegate_tests::clients::{dig, dig_short};
use tidegate_tests::origin::{Origin, Page};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};
use tidegate_tests::{Scratch, wait};

fn upstream() -> Resolver {
    let address = Reply::Address(Ipv4Addr::new(192, 0, 2, 10));
    Resolver::start(&[("www.example", address.clone()), ("ads.example", address)])
}

/// A cache that is kept in `dump`, written every second.
fn kept_in(dump: &Path, upstream: SocketAddr) -> String {
    format!(
        r#"
log: {{ level: error }}
plugins:
  - {{ tag: cache, type: cache, args: {{ size: 4096, dump_file: "{}", dump_interval: 1 }} }}
  - {{ tag: forward, type: forward, args: {{ upstreams: [{{ addr: "{upstream}" }}] }} }}
  - tag: main
    type: sequence
    args:
      - exec: $cache
      - matches: has_resp
        exec: accept
      - exec: $forward
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#,
        dump.display()
    )
}

fn asked(edge: &Tidegate) -> String {
    dig_short(edge.address("dns", "udp"), &["www.example"]).trim().to_owned()
}

#[test]
fn a_cache_is_kept_in_its_own_file_by_the_clock_and_comes_back_after_a_kill() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let dump = scratch.path().join("cache.dump");
    let yaml = kept_in(&dump, upstream.address);
    let edge = Tidegate::start_in(scratch, &yaml);
    assert_eq!(asked(&edge), "192.0.2.10");
    let begins = || std::fs::read(&dump).is_ok_and(|it| it.starts_with(b"tidegate-answers"));
    wait::until("the cache to be written", || begins().then_some(()));
    let (_, scratch) = edge.stop_by("KILL");
    assert!(!scratch.path().join("state/dns-cache/answers-0").exists(), "it is kept there alone");
    upstream.silence();
    let again = Tidegate::start_in(scratch, &yaml);
    assert_eq!((asked(&again).as_str(), upstream.count("www.example")), ("192.0.2.10", 1));
    // At the end it is written too, whatever the clock says.
    std::fs::remove_file(&dump).unwrap();
    let (_, _scratch) = again.stop_by("TERM");
    assert!(begins());
}

#[test]
fn a_file_of_mosdns_is_left_as_it_is_and_the_cache_is_kept_all_the_same() {
    const THEIRS: &[u8] = b"\x1f\x8b\x08\x00mosdns_cache_v2";
    let (upstream, scratch) = (upstream(), Scratch::new());
    let dump = scratch.write("cache.dump", THEIRS);
    let yaml = kept_in(&dump, upstream.address);
    let edge = Tidegate::start_in(scratch, &yaml);
    assert!(edge.greeting.join("\n").contains("cache.dump is not in Tidegate's form"));
    assert!(edge.told(&["check"]).contains("is left as it is"));
    assert_eq!(asked(&edge), "192.0.2.10");
    let (_, scratch) = edge.stop_by("TERM");
    assert_eq!(std::fs::read(&dump).unwrap(), THEIRS);
    let again = Tidegate::start_in(scratch, &yaml);
    assert_eq!((asked(&again).as_str(), upstream.count("www.example")), ("192.0.2.10", 1));
    // Two caches cannot have one file.
    let two = yaml.replace(
        "  - { tag: forward",
        "  - { tag: other, type: cache, args: { dump_file: \"DUMP\" } }\n  - { tag: forward",
    );
    let two = two.replace("DUMP", dump.to_str().unwrap());
    let two = two.replace("      - exec: $forward", "      - exec: $other\n      - exec: $forward");
    let scratch = Scratch::new();
    let (said, _) = tidegate::refused(&two, &scratch, &scratch.path().join("state"));
    assert!(said.contains("another cache is kept in"), "{said}");
}

#[test]
fn a_cache_whose_folder_is_closed_is_kept_in_the_state_folder() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let closed = scratch.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    let yaml = kept_in(&closed.join("cache.dump"), upstream.address);
    let edge = Tidegate::start_in(scratch, &yaml);
    assert_eq!(asked(&edge), "192.0.2.10");
    let (_, scratch) = edge.stop_by("TERM");
    assert!(scratch.path().join("state/dns-cache/answers-0").exists());
    upstream.silence();
    let again = Tidegate::start_in(scratch, &yaml);
    assert_eq!((asked(&again).as_str(), upstream.count("www.example")), ("192.0.2.10", 1));
}

#[test]
fn a_list_that_is_yet_to_be_fetched_is_empty_and_then_read() {
    let (upstream, scratch) = (upstream(), Scratch::new());
    let origin = Origin::start(&[("/ads.txt", Page::new("text/plain", "domain:ads.example\n"))]);
    let (folder, address) = (scratch.path().join("lists"), upstream.address);
    let yaml = format!(
        r#"
plugins:
  - tag: lists
    type: download
    args: {{ downloads: [{{ url: "http://{0}/ads.txt", dir: "{1}" }}] }}
  - {{ tag: ads, type: domain_set, args: {{ files: ["{1}/./ads.txt"] }} }}
  - {{ tag: forward, type: forward, args: {{ upstreams: [{{ addr: "{address}" }}] }} }}
  - tag: main
    type: sequence
    args:
      - matches: qname $ads
        exec: reject 5
      - exec: $forward
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#,
        origin.address,
        folder.display(),
    );
    let edge = Tidegate::start_in(scratch, &yaml);
    let dns = edge.address("dns", "udp");
    wait::until("the list to be fetched and read", || {
        dig(dns, &["ads.example"]).contains("status: REFUSED").then_some(())
    });
    assert!(dig(dns, &["www.example"]).contains("status: NOERROR"));
    assert_eq!(std::fs::read(folder.join("ads.txt")).unwrap(), b"domain:ads.example\n");
    assert_eq!(origin.lines().len(), 1, "it is fetched once");
    // A file that nobody fetches is a mistake as before.
    let (said, _) = tidegate::refused(
        &yaml.replace("./ads.txt", "others.txt"),
        &Scratch::new(),
        &folder.join("state"),
    );
    assert!(said.contains("others.txt"), "{said}");
}

#[test]
fn a_program_is_told_the_marks_and_the_port_of_the_client() {
    let scratch = Scratch::new();
    let told = scratch.path().join("told");
    let yaml = format!(
        r#"
plugins:
  - tag: tell
    type: script
    args:
      command: sh
      args: ["-c", "echo \"$1 $2\" > {}", "sh", "${{marks}}", "${{client_port}}"]
  - tag: main
    type: sequence
    args:
      - exec: mark 7
      - exec: mark 3
      - exec: $tell
      - exec: reject 5
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#,
        told.display()
    );
    let edge = Tidegate::start_in(scratch, &yaml);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(edge.address("dns", "udp")).unwrap();
    client.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    let mut query = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(b"\x03www\x07example\x00\x00\x01\x00\x01");
    client.send(&query).unwrap();
    // The answer waits for the program.
    assert!(client.recv(&mut [0; 512]).unwrap() > 12);
    let port = client.local_addr().unwrap().port();
    assert_eq!(std::fs::read_to_string(&told).unwrap(), format!("3,7 {port}\n"));
}

/// The most memory that it has ever had, in bytes.
fn peak_bytes(edge: &Tidegate) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", edge.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn lists_read_anew_do_not_double_memory_nor_pile_up() {
    // What the allocator keeps around differs from reload to reload. The twelve sets that are let
    // go below take three times as much.
    const SLACK_BYTES: u64 = 32 << 20;
    const NAMES: u32 = 400_000;
    let upstream = upstream();
    let scratch = Scratch::new();
    let mut list = String::new();
    for name in 0..NAMES {
        writeln!(list, "domain:n{name}.list.example").unwrap();
    }
    let file = scratch.write("ads.txt", list);
    let yaml = format!(
        r#"
plugins:
  - {{ tag: ads, type: domain_set, args: {{ files: ["{}"] }} }}
  - {{ tag: forward, type: forward, args: {{ upstreams: [{{ addr: "{}" }}] }} }}
  - tag: main
    type: sequence
    args:
      - matches: qname $ads
        exec: reject 5
      - exec: $forward
  - {{ tag: udp, type: udp_server, args: {{ entry: main, listen: "127.0.0.1:0" }} }}
"#,
        file.display(),
        upstream.address,
    );
    let edge = Tidegate::start_in(scratch, &yaml);
    let at_start = peak_bytes(&edge);
    let reload = |times: u32| {
        for _ in 0..times {
            edge.told(&["ctl", "reload"]);
        }
        peak_bytes(&edge)
    };
    let (after_six, in_the_end) = (reload(6), reload(12));
    assert!(in_the_end <= after_six + SLACK_BYTES, "{after_six} bytes, then {in_the_end}");
    assert!(in_the_end < 2 * at_start, "{at_start} bytes at the start, then {in_the_end}");
    assert!(dig(edge.address("dns", "udp"), &["n7.list.example"]).contains("status: REFUSED"));
}
