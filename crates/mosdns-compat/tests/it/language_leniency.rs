//! Options of published files that are taken in another way than written, and told.

use crate::foreign;

use foreign::one::{MOSDNS, executor};
use foreign::{lines, read, refused};
use mosdns_compat::language::*;
use std::time::Duration;

fn forward(upstreams: &str) -> (ForwardPlugin, Vec<String>) {
    let text = format!("plugins: [ {{ type: forward, args: {{ upstreams: [ {upstreams} ] }} }} ]");
    let mut file = read(&text);
    match file.plugins.swap_remove(0).kind {
        PluginKind::Executor(Executor::Forward(it)) => (it, lines(&file.warnings)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn http3_falls_back_to_http2() {
    let (forward, told) = forward(
        "{ addr: \"https://dns.test\", enable_http3: true }, { addr: \"h3://dns.test/q\" }, \
         { addr: 192.0.2.1, enable_http3: true }",
    );
    let addresses: Vec<_> = forward.upstreams.iter().map(|it| it.address.as_str()).collect();
    assert_eq!(addresses, ["https://dns.test:443", "https://dns.test:443/q", "udp://192.0.2.1:53"]);
    assert_eq!(
        told,
        [
            "plugins.0.args.upstreams.0.enable_http3: \
             DNS over HTTP/3 is not built: HTTP/2 is used instead",
            "plugins.0.args.upstreams.1.addr: \
             DNS over HTTP/3 is not built: HTTP/2 is used instead",
            "plugins.0.args.upstreams.2.enable_http3: \
             \"enable_http3\" has no effect on udp://",
        ]
    );
    let served = read(
        "plugins: [ { tag: s, type: http_server, args: { listen: \":443\", cert: c, key: k, \
         enable_http3: true, entries: [ { path: /, exec: b } ] } } ]",
    );
    assert_eq!(
        lines(&served.warnings),
        ["plugins.0.args.enable_http3: \
          DNS over HTTP/3 is not built: HTTP/1.1 and HTTP/2 are served"]
    );
}

#[test]
fn connections_go_to_an_address_or_a_name_whatever_the_upstreams_own() {
    let (forward, told) = forward(
        "{ addr: \"https://dns.test/q\", dial_addr: doh.test }, \
         { addr: \"tls://dns.test\", dial_addr: \"dot.test:8853\" }, \
         { addr: \"tls://dns.test\", dial_addr: \"[2001:db8::1]:8853\" }, \
         { addr: \"tcp://dns.test\", dial_addr: 192.0.2.1 }, \
         { addr: \"https://DNS.münchen.test/q\", dial_addr: bücher.test }",
    );
    let dialled: Vec<_> =
        forward.upstreams.iter().map(|it| (it.address.as_str(), it.dial.as_deref())).collect();
    assert_eq!(
        dialled,
        [
            ("https://dns.test:443/q", Some("doh.test")),
            ("tls://dns.test:8853", Some("dot.test")),
            ("tls://dns.test:8853", Some("2001:db8::1")),
            ("tcp://192.0.2.1:53", Some("192.0.2.1")),
            ("https://dns.xn--mnchen-3ya.test:443/q", Some("xn--bcher-kva.test")),
        ]
    );
    assert!(told.is_empty(), "{told:?}");
    for (upstream, said) in [
        ("{ addr: 192.0.2.1, dial_addr: dns.test }", "plain DNS goes to an IP address"),
        ("{ addr: \"tls://dns.test\", dial_addr: \"a..b\" }", "\"a..b\" is no name of a host"),
        ("{ addr: \"tls://dns.test\", dial_addr: \":53\" }", "\":53\" holds no host and port"),
    ] {
        let text =
            format!("plugins: [ {{ type: forward, args: {{ upstreams: [ {upstream} ] }} }} ]");
        let refused = refused(&text);
        assert!(refused[0].contains(said), "{refused:?}");
    }
}

#[test]
fn options_that_do_not_apply_to_a_protocol_are_left_out() {
    let (forward, told) = forward(
        "{ addr: 192.0.2.1, enable_pipeline: false, insecure_skip_verify: true }, \
         { addr: \"https://dns.test\", enable_pipeline: false, insecure_skip_verify: true }, \
         { addr: \"tls://dns.test\", enable_pipeline: false, insecure_skip_verify: true }",
    );
    let options: Vec<_> = forward.upstreams.iter().map(|it| (it.pipeline, it.verify)).collect();
    assert_eq!(
        options,
        [
            (PipeliningMode::Unsaid, VerifyCertificate::Yes),
            (PipeliningMode::Unsaid, VerifyCertificate::No),
            (PipeliningMode::Off, VerifyCertificate::No),
        ]
    );
    assert_eq!(
        told,
        [
            "plugins.0.args.upstreams.0.enable_pipeline: \
             \"enable_pipeline\" has no effect on udp://",
            "plugins.0.args.upstreams.0.insecure_skip_verify: \
             udp:// has no certificate to verify",
            "plugins.0.args.upstreams.1.enable_pipeline: \
             \"enable_pipeline\" has no effect on https://",
        ]
    );
}

#[test]
fn an_idle_time_beyond_bounds_is_cut() {
    let (forward, told) = forward("{ addr: \"tls://dns.test\", idle_timeout: 86400 }");
    assert_eq!(forward.upstreams[0].idle, Some(Duration::from_mins(10)));
    assert_eq!(
        told,
        ["plugins.0.args.upstreams.0.idle_timeout: 86400 s are too long: 600 s are taken"]
    );
}

#[test]
fn sizes_and_times_of_caches_beyond_bounds_are_cut() {
    let big = "{ size: 20000000, lazy_cache_ttl: 259200000 }";
    let Executor::Cache(cache) = executor(MOSDNS, "cache", big) else { panic!() };
    assert_eq!((cache.entries, cache.lazy), (1 << 24, Some(Duration::from_hours(7 * 24))));
    let told = |args: &str| {
        lines(&read(&format!("plugins: [ {{ type: cache, args: {args} }} ]")).warnings)
    };
    assert_eq!(
        told(big),
        [
            "plugins.0.args.size: 20000000 is out of bounds: 16777216 is taken",
            "plugins.0.args.lazy_cache_ttl: 259200000 is out of bounds: 604800 is taken",
        ]
    );
    let below = "{ size: -1, lazy_cache_ttl: -5 }";
    let Executor::Cache(cache) = executor(MOSDNS, "cache", below) else { panic!() };
    assert_eq!((cache.entries, cache.lazy), (1024, None));
    assert_eq!(told(below).len(), 2);
}

#[test]
fn warning_is_a_level() {
    let file = read("log: { level: warning }\nplugins: [ { type: cache } ]");
    assert_eq!(file.log.level, LogLevel::Warn);
}

#[test]
fn the_preset_executor_of_mosdns_is_there_unless_a_plugin_has_its_tag() {
    let preset = read("plugins: [ { type: sleep, args: { duration: 1 } } ]").plugins;
    let half_a_second = PluginKind::Executor(Executor::Sleep(Duration::from_millis(500)));
    assert_eq!((preset.len(), preset[1].tag.as_str()), (2, "_sleep_500ms"));
    assert_eq!(preset[1].kind, half_a_second);
    let own = read("plugins: [ { tag: _sleep_500ms, type: sleep, args: { duration: 1 } } ]");
    assert_eq!(own.plugins.len(), 1);
    let oxidns = read("plugins: [ { tag: r, type: query_recorder, args: { path: q.db } } ]");
    assert_eq!(oxidns.plugins.len(), 1);
}

#[test]
fn files_of_mosdns_v4_are_named_as_such_and_nothing_else_is_said() {
    let said = refused(
        "{ data_providers: [ { tag: d, file: geosite.dat } ], plugins: [ { tag: q, type: \
         query_matcher, args: { domain: [ 'provider:d' ] } } ], servers: [ { exec: q } ] }",
    );
    assert_eq!(
        said,
        ["servers: this is a file of mosdns v4, whose language v5 gave up; write it for v5: each \
          listener becomes a plugin: udp_server, tcp_server or http_server; `exec` lists become \
          rules of a sequence with `matches` and `exec`"]
    );
    assert!(refused("{ data_providers: [], plugins: [] }")[0].starts_with("data_providers: "));
    let said =
        refused("{ log: { level: info }, plugin: [ { tag: main, type: server, args: {} } ] }");
    assert!(said[0].starts_with("plugin: this is a file of mosdns v1 to v3, "), "{said:?}");
    assert_eq!(said.len(), 1);
}
