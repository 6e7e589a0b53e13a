//! Outbound profiles of OxiDNS: what upstreams and what fetches take from them.

use crate::foreign;

use foreign::one::check;
use foreign::{lines, read, refused};
use mosdns_compat::language::*;

const PROFILES: &str = "network: { outbound: { profiles: { direct: { resolver: system, \
    proxy: none }, remote: { resolver: { nameservers: [ { addr: \"1.1.1.1:53\" }, \
    { addr: \"udp://dns.test\", dial_addr: 9.9.9.9 }, { addr: \"tls://dns.test\", \
    dial_addr: 8.8.8.8 } ], ip_version: 6 }, proxy: { socks5: \"127.0.0.1:1080\" } }, \
    named: { resolver: { nameservers: [ { addr: 192.0.2.53 }, { addr: \"tls://d.test\" } ], \
    ip_version: 4 } }, sealed: { resolver: { nameservers: [ { addr: \"https://d.test/q\" } ] } } \
    }DEFAULT } }\n";

fn file(default: &str, upstream: &str) -> String {
    let profiles = PROFILES.replace("DEFAULT", default);
    format!(
        "{profiles}plugins: [ {{ tag: f, type: forward, args: {{ upstreams: [ {upstream} ] }} }} ]"
    )
}

fn upstream(default: &str, upstream: &str) -> (UpstreamSpec, Vec<String>) {
    let mut read = read(&file(default, upstream));
    match read.plugins.swap_remove(0).kind {
        PluginKind::Executor(Executor::Forward(mut it)) => {
            (it.upstreams.swap_remove(0), lines(&read.warnings))
        }
        other => panic!("{other:?}"),
    }
}

fn servers(spec: &UpstreamSpec) -> Vec<String> {
    spec.profile_servers.iter().map(ToString::to_string).collect()
}

#[test]
fn an_upstream_takes_proxy_and_servers_of_its_profile() {
    let (spec, told) = upstream("", "{ addr: \"tls://dns.test\", outbound: remote }");
    // The proxy looks its name up, so nobody else is asked.
    assert_eq!((spec.socks5.as_deref(), servers(&spec)), (Some("127.0.0.1:1080"), vec![]));
    assert!(told.is_empty(), "{told:?}");
    let (spec, told) = upstream("", "{ addr: \"tls://dns.test\", outbound: named }");
    assert_eq!((spec.socks5.as_deref(), servers(&spec)), (None, vec!["192.0.2.53:53".to_owned()]));
    assert_eq!(spec.bootstrap_version, Some(4));
    check(&told[0], "not by tls://d.test");
    // What it says itself comes first.
    let own = "{ addr: \"tls://dns.test\", outbound: named, socks5: \"10.0.0.1:1\", \
               bootstrap: 192.0.2.9 }";
    let (spec, _) = upstream("", own);
    assert_eq!((spec.socks5.as_deref(), servers(&spec)), (Some("10.0.0.1:1"), vec![]));
    let (spec, told) = upstream("", "{ addr: 192.0.2.1, outbound: remote }");
    assert_eq!(spec.socks5, None);
    check(&told[0], "no SOCKS5 proxy is used over UDP");
}

#[test]
fn the_usual_profile_is_that_of_whoever_names_none() {
    let usual = ", default: remote";
    let (spec, _) = upstream(usual, "{ addr: \"tcp://192.0.2.1\" }");
    assert_eq!(spec.socks5.as_deref(), Some("127.0.0.1:1080"));
    let (spec, _) = upstream(usual, "{ addr: \"tcp://192.0.2.1\", outbound: direct }");
    assert_eq!(spec.socks5, None);
    check(&refused(&file(usual, "{ addr: 192.0.2.1 }"))[0], "which udp:// cannot use");
}

#[test]
fn a_name_that_only_sealed_servers_could_find_is_refused() {
    let text = file("", "{ addr: \"tls://dns.test\", outbound: sealed }");
    check(&refused(&text)[0], "names are looked up by plain DNS alone");
    let (spec, told) =
        upstream("", "{ addr: \"tls://dns.test\", dial_addr: 192.0.2.1, outbound: sealed }");
    assert_eq!((servers(&spec), told), (vec![], vec![]));
}

#[test]
fn profiles_that_are_not_there_are_told() {
    check(
        &refused(&file("", "{ addr: 192.0.2.1, outbound: remot }"))[0],
        "did you mean \"remote\"",
    );
    check(&refused(&file(", default: far", "{ addr: 192.0.2.1 }"))[0], "no profile called \"far\"");
    let bad = "network: { outbound: { profiles: { a: { proxy: socks }, b: { resolver: dns } } } }\n\
               plugins: [ { tag: s, type: sequence, args: [] } ]";
    let told = refused(bad);
    check(&told[0], "this is no proxy");
    check(&told[1], "this is no resolver");
}

#[test]
fn what_fetches_takes_the_proxy_of_its_profile() {
    let profiles = PROFILES.replace("DEFAULT", "");
    let text = format!(
        "{profiles}plugins: [ {{ tag: d, type: download, args: {{ outbound: remote, \
         downloads: [ {{ url: \"https://a.test/l\", dir: lists }} ] }} }}, \
         {{ tag: s, type: ip_selector, args: {{ outbound: remote }} }} ]"
    );
    let read = read(&text);
    match [&read.plugins[0].kind, &read.plugins[1].kind] {
        [
            PluginKind::Executor(Executor::Outward(OutwardEffect::Download(it))),
            PluginKind::Executor(Executor::IpSelector(selector)),
        ] => {
            assert_eq!(it.socks5.as_deref(), Some("127.0.0.1:1080"));
            assert_eq!(selector.socks5.as_deref(), Some("127.0.0.1:1080"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn connections_are_kept_open_where_there_are_some() {
    let (spec, told) = upstream("", "{ addr: \"tcp://192.0.2.1\", min_conns: 2 }");
    assert_eq!((spec.min_connections, told.len()), (2, 0));
    let (spec, told) = upstream("", "{ addr: \"192.0.2.1\", min_conns: 2 }");
    assert_eq!(spec.min_connections, 0);
    check(&told[0], "has no effect on udp://");
    let text = file("", "{ addr: \"tcp://192.0.2.1\", min_conns: 9, max_conns: 4 }");
    check(&refused(&text)[0], "more than max_conns");
}
