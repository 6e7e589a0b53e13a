//! Sets of ipset and nftables, in a network namespace of the test's own, read back with the
//! programs that administrators use. Needs root, `ip`, `ipset` and `nft`, as CI has.

use crate::support::{Told, emit, ips, start, wait_until};
use dns_effects::{EffectSpec, Effects, IpsetSpec, NftsetSpec};
use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::process::Command;
use std::time::Duration;

/// A network namespace; the thread that makes it is in it from then on.
struct Namespace(String);

impl Namespace {
    fn enter(name: &str) -> Self {
        let name = format!("tidegate-{name}-{}", std::process::id());
        run("ip", &["netns", "add", &name]);
        let handle = File::open(format!("/run/netns/{name}")).unwrap();
        move_into_link_name_space(handle.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// What a program says; it must succeed.
fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|why| panic!("{program} cannot be run: {why}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {} failed: {complaint}", args.join(" "));
    String::from_utf8(output.stdout).unwrap()
}

fn nft(script: &str) -> String {
    run("nft", &[script])
}

/// The elements of a set of nftables, sorted, without what is said of each.
fn elements(set: &str) -> Vec<String> {
    let listing = nft(&format!("list set {set}"));
    let Some((_, rest)) = listing.split_once("elements = {") else { return Vec::new() };
    let (all, _) = rest.split_once('}').unwrap();
    let first = |it: &str| it.split_whitespace().next().unwrap_or_default().to_owned();
    let mut all: Vec<_> = all.split(',').map(first).collect();
    all.sort();
    all
}

/// The members of a set of ipset, sorted, each with what is said of it.
fn members(set: &str) -> Vec<String> {
    let listing = run("ipset", &["list", set]);
    let (_, members) = listing.split_once("Members:\n").unwrap();
    let mut members: Vec<_> = members.lines().map(str::to_owned).collect();
    members.sort();
    members
}

/// Waits until an effect is done with `count` addresses, whatever became of them.
fn settled(effects: &Effects, effect: usize, count: u64) {
    wait_until("the set is written", || {
        let stats = &effects.stats()[effect];
        stats.done + stats.failed >= count
    });
}

fn ipset(quick: &str) -> EffectSpec {
    EffectSpec::Ipset(IpsetSpec::from_short_form(quick).unwrap())
}

fn nftset(quick: &str) -> EffectSpec {
    EffectSpec::Nftset(NftsetSpec::from_short_form(quick).unwrap())
}

/// Nothing failed and nothing was told.
fn all_well(effects: &Effects, told: &Told) {
    for stats in effects.stats() {
        assert_eq!((stats.failed, stats.dropped), (0, 0), "{stats:?}");
    }
    assert_eq!(told.lines(), [""; 0]);
}

#[test]
fn ipset_sets_get_the_prefixes_of_their_family() {
    let _inside = Namespace::enter("ipset");
    run("ipset", &["create", "four", "hash:net"]);
    run("ipset", &["create", "six", "hash:net", "family", "inet6"]);
    run("ipset", &["create", "single", "hash:ip", "timeout", "300"]);
    let (effects, told) =
        start(vec![ipset("four,inet,24 six,inet6,48"), ipset("single,inet,32")], vec![]);
    let answer = ips(&["192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8:1:2::3"]);
    emit(&effects, 0, "a.example", &answer);
    emit(&effects, 1, "a.example", &answer);
    settled(&effects, 0, 4);
    settled(&effects, 1, 3);
    assert_eq!(members("four"), ["192.0.2.0/24", "198.51.100.0/24"]);
    assert_eq!(members("six"), ["2001:db8:1::/48"]);
    let single = members("single");
    assert_eq!(single.len(), 3, "{single:?}");
    assert!(single.iter().all(|it| it.contains(" timeout 2") || it.contains(" timeout 300")));
    all_well(&effects, &told);
}

#[test]
fn interval_sets_of_nftables_get_prefixes_and_others_addresses() {
    let _inside = Namespace::enter("nft");
    nft("add table inet t");
    nft("add set inet t prefixes { type ipv4_addr; flags interval; }");
    nft("add set inet t single { type ipv4_addr; }");
    nft("add set inet t six { type ipv6_addr; flags interval, timeout; timeout 5m; }");
    nft("add table ip old");
    nft("add set ip old merged { type ipv4_addr; flags interval; auto-merge; }");
    let (effects, told) = start(
        vec![
            nftset("inet,t,prefixes,ipv4_addr,24 inet,t,six,ipv6_addr,48"),
            nftset("inet,t,single,ipv4_addr,24"),
            nftset("ip,old,merged,ipv4_addr,24"),
        ],
        vec![],
    );
    // Two in one prefix, two that touch, and the last prefix there is, which has no end.
    let four = ["192.0.2.1", "192.0.2.200", "192.0.3.9", "255.255.255.250"];
    let six = ["2001:db8:1:2::3", "2001:db8:2::1"];
    let answer = ips(&[&four[..], &six[..]].concat());
    for effect in 0..3 {
        emit(&effects, effect, "a.example", &answer);
    }
    settled(&effects, 0, 6);
    settled(&effects, 1, 4);
    settled(&effects, 2, 4);
    let prefixes = ["192.0.2.0/24", "192.0.3.0/24", "255.255.255.0/24"];
    assert_eq!(elements("inet t prefixes"), prefixes);
    assert_eq!(elements("inet t six"), ["2001:db8:1::/48", "2001:db8:2::/48"]);
    assert!(nft("list set inet t six").contains("expires 4m"));
    assert_eq!(elements("inet t single"), four);
    assert!(!elements("ip old merged").is_empty());
    let tests = nft("get element ip old merged { 192.0.2.77, 192.0.3.77, 255.255.255.255 }");
    assert!(tests.contains("elements"), "{tests}");
    all_well(&effects, &told);
}

#[test]
fn what_an_interval_covers_already_is_no_failure() {
    let _inside = Namespace::enter("overlap");
    nft("add table inet t");
    nft("add set inet t s { type ipv4_addr; flags interval; }");
    nft("add element inet t s { 10.0.0.0/8, 192.0.2.64/26 }");
    let (effects, told) = start(vec![nftset("inet,t,s,ipv4_addr,24")], vec![]);
    // The first is covered, the second lies beside an interval in its own prefix, the third is
    // free.
    emit(&effects, 0, "a.example", &ips(&["10.1.2.3", "192.0.2.1", "198.51.100.1"]));
    settled(&effects, 0, 3);
    let expected = ["10.0.0.0/8", "192.0.2.1", "192.0.2.64/26", "198.51.100.0/24"];
    assert_eq!(elements("inet t s"), expected);
    all_well(&effects, &told);
}

#[test]
fn a_set_that_becomes_one_of_intervals_is_written_as_such() {
    let _inside = Namespace::enter("change");
    nft("add table inet t");
    nft("add set inet t s { type ipv4_addr; }");
    let (effects, told) = start(vec![nftset("inet,t,s,ipv4_addr,24")], vec![]);
    emit(&effects, 0, "a.example", &ips(&["192.0.2.1"]));
    settled(&effects, 0, 1);
    assert_eq!(elements("inet t s"), ["192.0.2.1"]);
    nft("delete set inet t s");
    nft("add set inet t s { type ipv4_addr; flags interval; }");
    emit(&effects, 0, "a.example", &ips(&["198.51.100.1"]));
    settled(&effects, 0, 2);
    assert_eq!(elements("inet t s"), ["198.51.100.0/24"]);
    all_well(&effects, &told);
}

#[test]
fn failures_are_counted_and_told_once() {
    let _inside = Namespace::enter("missing");
    nft("add table inet t");
    nft("add set inet t six { type ipv6_addr; }");
    run("ipset", &["create", "small", "hash:ip", "maxelem", "1"]);
    let specs = vec![
        ipset("absent,inet,24"),
        nftset("inet,t,absent,ipv4_addr,24"),
        nftset("inet,t,six,ipv4_addr,24"),
        ipset("small,inet,32"),
    ];
    let (effects, told) = start(specs, vec![]);
    let addresses = ips(&["192.0.2.1", "192.0.3.1", "192.0.4.1"]);
    for effect in 0..4 {
        for address in &addresses {
            emit(&effects, effect, "a.example", &[*address]);
        }
        settled(&effects, usize::from(effect), 3);
    }
    let stats = effects.stats();
    let failed: Vec<_> = stats.iter().map(|it| it.failed).collect();
    assert_eq!(failed, [3, 3, 3, 2]);
    assert!(stats[0].last_failure.contains("no such set"), "{:?}", stats[0]);
    assert!(stats[1].last_failure.contains("no such set"), "{:?}", stats[1]);
    assert!(stats[2].last_failure.contains("family"), "{:?}", stats[2]);
    assert!(stats[3].last_failure.contains("full"), "{:?}", stats[3]);
    assert_eq!(told.lines().len(), 4, "one line an effect: {:?}", told.lines());
    // A set that is made later is written to.
    run("ipset", &["create", "absent", "hash:net"]);
    emit(&effects, 0, "a.example", &ips(&["192.0.5.1"]));
    settled(&effects, 0, 4);
    assert_eq!(members("absent"), ["192.0.5.0/24"]);
}

#[test]
fn the_same_address_is_not_sent_again_at_once_and_what_waits_is_written_at_the_end() {
    let _inside = Namespace::enter("close");
    run("ipset", &["create", "s", "hash:ip"]);
    let (effects, _told) = start(vec![ipset("s,inet,32")], vec![]);
    for round in 0..3 {
        for number in 0..200 {
            let address = format!("192.0.2.{number}");
            emit(&effects, 0, &format!("r{round}.example"), &ips(&[&address]));
        }
    }
    assert_eq!(effects.close(Duration::from_secs(20)), Ok(()));
    let stats = effects.stats().remove(0);
    assert_eq!((stats.done, stats.failed, stats.dropped), (stats.triggered, 0, 0), "{stats:?}");
    assert_eq!(stats.triggered + stats.suppressed, 600);
    // Some share a place in the table and are sent again.
    assert!(stats.suppressed > 300, "{stats:?}");
    assert_eq!(members("s").len(), 200);
    emit(&effects, 0, "late.example", &ips(&["203.0.113.1"]));
    assert_eq!(effects.stats()[0].dropped, 1, "nothing is taken after the end");
}
