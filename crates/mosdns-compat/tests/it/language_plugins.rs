//! Every type of executors and every quick form of both dialects: what they come to, and what is
//! refused of them.

use crate::foreign;

use foreign::one::{MOSDNS, OXIDNS, bad, check, executor, plugin, quick, rule};
use foreign::{lines, mosdns, read, refused};
use mosdns_compat::language::*;
use pipeline::program::{
    AfterAnswer, BlackHole, EffectTiming, HoleMisfits, OnError, PassOn, StandbyMode, SubnetRule,
    TtlRule,
};
use pipeline::sets::LearnedKind;
use serde_json::json;
use std::net::IpAddr;
use std::time::Duration;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn words_of_control() {
    let exec = |dialect, text: &str| rule(dialect, &format!("- exec: '{text}'")).exec;
    for dialect in [MOSDNS, OXIDNS] {
        assert_eq!(exec(dialect, " accept "), RuleAction::Accept);
        assert_eq!(exec(dialect, "return"), RuleAction::Return);
        assert_eq!(exec(dialect, "reject"), RuleAction::Reject(5));
        assert_eq!(exec(dialect, "reject  3"), RuleAction::Reject(3));
        assert_eq!(exec(dialect, "reject 4095"), RuleAction::Reject(4095));
        assert_eq!(exec(dialect, "mark 1 2"), RuleAction::Mark(vec![1, 2]));
        assert!(matches!(exec(dialect, "jump a"), RuleAction::Jump(it) if it.text == "a"));
        assert!(matches!(exec(dialect, "goto a"), RuleAction::Goto(it) if it.text == "a"));
        check(&bad(dialect, "reject 4096"), "no response code");
        check(&bad(dialect, "reject NOSUCHCODE"), "no response code");
        check(&bad(dialect, "mark plugin-bench"), "\"plugin-bench\" is no such number");
        check(&bad(dialect, "mark"), "no mark is given");
        check(&bad(dialect, "jump $a"), "without $");
        check(&bad(dialect, "goto"), "takes the tag of a sequence");
        check(&bad(dialect, "acept"), "did you mean \"accept\"?");
        check(&bad(dialect, "hosts x 1.2.3.4"), "declare a plugin of type hosts");
    }
    check(&bad(MOSDNS, "reject REFUSED"), "no response code");
    assert_eq!(exec(OXIDNS, "reject SERVFAIL"), RuleAction::Reject(2));
    assert_eq!(exec(OXIDNS, "mark 1,2 3"), RuleAction::Mark(vec![1, 2, 3]));
    assert!(matches!(exec(MOSDNS, "$fwd one  two"), RuleAction::Tag(it, words)
        if it.text == "fwd" && words == ["one", "two"]));
    assert!(
        matches!(exec(OXIDNS, "$a"), RuleAction::Tag(it, words) if it.text == "a" && words.is_empty())
    );
    check(&refused(&mosdns("- matches: has_resp"))[0], "\"exec\" is missing");
    check(&refused(&mosdns("- exec: ''"))[0], "\"exec\" is missing");
    check(&refused(&mosdns("- exec: $"))[0], "no executor is named");
}

#[test]
fn forward() {
    let Executor::Forward(forward) = executor(
        MOSDNS,
        "forward",
        "{ concurrent: 9, socks5: \"127.0.0.1:1080\", so_mark: 3, bootstrap: 9.9.9.9, \
         bootstrap_version: 6, upstreams: [ \
         { tag: a, addr: \"tls://dns.test\", dial_addr: \"192.0.2.1:8853\", idle_timeout: 20, \
           insecure_skip_verify: true, bind_to_device: eth0, max_conns: 4 }, \
         { addr: 192.0.2.2, enable_pipeline: false }, \
         { addr: \"tcp+pipeline://[2001:db8::1]:5353\", so_mark: 4 }, \
         { addr: \"https://dns.test/dns-query\", enable_http3: false }, \
         { addr: \"udp://dns.test\", dial_addr: 192.0.2.9 }, { addr: \"doq://dns.test:784\" } ] }",
    ) else {
        panic!()
    };
    assert_eq!((forward.concurrent, forward.selection), (3, AnswerChoice::First));
    let addresses: Vec<&str> = forward.upstreams.iter().map(|it| it.address.as_str()).collect();
    assert_eq!(
        addresses,
        [
            "tls://dns.test:8853",
            "udp://192.0.2.2:53",
            "tcp://[2001:db8::1]:5353",
            "https://dns.test:443/dns-query",
            "udp://192.0.2.9:53",
            "quic://dns.test:784"
        ]
    );
    let [tls, udp, tcp, ..] = &forward.upstreams[..] else { panic!() };
    assert_eq!((tls.tag.as_str(), tls.dial.as_deref()), ("a", Some("192.0.2.1")));
    assert_eq!((tls.idle, tls.connections), (Some(Duration::from_secs(20)), None));
    assert_eq!((tls.verify, tls.interface.as_deref()), (VerifyCertificate::No, Some("eth0")));
    assert_eq!((tls.socks5.as_deref(), tls.mark), (Some("127.0.0.1:1080"), Some(3)));
    assert_eq!(tls.bootstrap, Some("9.9.9.9:53".parse().unwrap()));
    assert_eq!(tls.bootstrap_version, Some(6));
    assert_eq!((udp.pipeline, udp.socks5.as_deref()), (PipeliningMode::Unsaid, None));
    assert_eq!((tcp.pipeline, tcp.mark), (PipeliningMode::On, Some(4)));
    let Executor::Forward(forward) = executor(
        OXIDNS,
        "forward",
        "{ short_circuit: true, upstreams: [ { addr: \"tls://1.1.1.1\", port: 8853, timeout: 2s, \
           max_conns: 9, idle_timeout: 1m } ] }",
    ) else {
        panic!()
    };
    let it = &forward.upstreams[0];
    assert_eq!((it.address.as_str(), forward.then), ("tls://1.1.1.1:8853", AfterAnswer::Stop));
    assert_eq!((it.timeout, it.connections), (Some(Duration::from_secs(2)), Some(9)));
    assert_eq!(it.idle, Some(Duration::from_mins(1)));
    let Executor::Forward(forward) = quick(MOSDNS, "forward 9.9.9.9 tls://dns.test") else {
        panic!()
    };
    assert_eq!((forward.upstreams.len(), forward.concurrent), (2, 3));
    assert!(matches!(quick(OXIDNS, "forward 9.9.9.9 short_circuit=true"), Executor::Forward(it)
        if it.then == AfterAnswer::Stop && it.upstreams.len() == 1));
    check(&bad(MOSDNS, "forward"), "no upstream is given");
    check(&bad(MOSDNS, "forward udp://dns.test"), "goes to an IP address");
    check(&bad(MOSDNS, "forward tls://a..b"), "no name of a host");
    check(&bad(MOSDNS, "forward tls://x:99999"), "no host and port");
    let twice = "plugins: [ { type: forward, args: \
        { upstreams: [ { tag: a, addr: 9.9.9.9 }, { tag: a, addr: 1.1.1.1 } ] } } ]";
    check(&refused(twice)[0], "another upstream is called \"a\" too");
    check(&refused("plugins: [ { type: forward } ]")[0], "\"upstreams\" is missing");
}

#[test]
fn caches_and_memories() {
    let Executor::Cache(cache) = executor(
        MOSDNS,
        "cache",
        "{ size: 200000, lazy_cache_ttl: 86400, dump_file: ./c.dump, dump_interval: 60 }",
    ) else {
        panic!()
    };
    assert_eq!((cache.entries, cache.lazy), (200_000, Some(Duration::from_hours(24))));
    assert_eq!(cache.dump_file.unwrap().text, "./c.dump");
    assert_eq!(cache.dump_interval, Duration::from_mins(1));
    let Executor::Cache(cache) = executor(
        OXIDNS,
        "cache",
        "{ short_circuit: true, cache_negative: false, max_positive_ttl: 300 }",
    ) else {
        panic!()
    };
    assert_eq!((cache.entries, cache.then), (1024, AfterAnswer::Stop));
    assert_eq!(cache.negative, NegativeCaching::Off);
    assert_eq!(cache.positive_max, Some(Duration::from_mins(5)));
    assert!(matches!(quick(MOSDNS, "cache"), Executor::Cache(it) if it.entries == 1024));
    assert!(matches!(quick(MOSDNS, "cache 5000"), Executor::Cache(it) if it.entries == 5000));
    assert!(matches!(quick(OXIDNS, "cache short_circuit"), Executor::Cache(it)
        if it.then == AfterAnswer::Stop));
    check(&bad(MOSDNS, "cache big"), "no size of a cache");
    check(&bad(MOSDNS, "cache 1 2"), "takes one word");
    check(
        &refused("runtime: {}\nplugins: [ { tag: c, type: cache, args: { size: 0 } } ]")[0],
        "from 1 to",
    );
    assert!(matches!(executor(OXIDNS, "reverse_lookup", "{}"), Executor::ReverseLookup(it)
        if it.entries == 65535 && it.pointers == HandlePointers::No
            && it.ttl == Duration::from_hours(2)));
}

#[test]
fn fallback() {
    let Executor::Fallback(it) = executor(
        MOSDNS,
        "fallback",
        "{ primary: a, secondary: b, threshold: 0, always_standby: true }",
    ) else {
        panic!()
    };
    assert_eq!((it.threshold, it.standby), (Duration::from_millis(500), StandbyMode::Always));
    assert!(matches!(
        executor(OXIDNS, "fallback", "{ primary: a, secondary: b, threshold: 80 }"),
        Executor::Fallback(it) if it.threshold.as_millis() == 80 && it.then == AfterAnswer::Next));
    assert_eq!(
        refused("plugins: [ { type: fallback, args: {} } ]"),
        ["plugins.0.args: \"primary\" is missing", "plugins.0.args: \"secondary\" is missing"]
    );
}

#[test]
fn local_answers() {
    for (kind, key) in [("hosts", "entries"), ("arbitrary", "rules"), ("redirect", "rules")] {
        let args = format!("{{ {key}: [a, b], files: f }}");
        let (Executor::Hosts(it) | Executor::Arbitrary(it) | Executor::Redirect(it)) =
            executor(MOSDNS, kind, &args)
        else {
            panic!()
        };
        assert_eq!((it.rules.len(), it.files.len(), it.then), (2, 1, AfterAnswer::Next));
        assert_eq!(it.rules[1].position.keys(), format!("plugins.0.args.{key}.1"));
    }
}

#[test]
fn black_holes_have_modes_in_oxidns_and_addresses_alone_in_mosdns() {
    let hole = |it: Executor| match it {
        Executor::BlackHole(it) => (it.answer, it.then),
        other => panic!("{other:?}"),
    };
    let both = |misfits| {
        let addresses = [ip("192.0.2.1"), ip("2001:db8::1")].into();
        Some(BlackHole::Addresses { addresses, ttl: 300, misfits })
    };
    let passing = both(HoleMisfits::Pass);
    assert_eq!(hole(quick(MOSDNS, "black_hole 192.0.2.1 2001:db8::1")).0, passing);
    for text in
        ["192.0.2.1,2001:db8::1 short_circuit", "custom 192.0.2.1 2001:db8::1 short_circuit=true"]
    {
        let given = hole(quick(OXIDNS, &format!("black_hole {text}")));
        assert_eq!(given, (both(HoleMisfits::NoData), AfterAnswer::Stop), "{text}");
    }
    for args in [
        "\"192.0.2.1 2001:db8::1\"",
        "[192.0.2.1, \"2001:db8::1\"]",
        "{ ips: [192.0.2.1, \"2001:db8::1\"] }",
        "{ mode: custom, ips: [192.0.2.1, \"2001:db8::1\"] }",
    ] {
        let given = hole(executor(OXIDNS, "black_hole", args)).0;
        assert_eq!(given, both(HoleMisfits::NoData), "{args}");
    }
    for (mode, answer) in [
        ("", BlackHole::NxDomain),
        ("nxdomain", BlackHole::NxDomain),
        ("NoData", BlackHole::Empty),
        ("null", BlackHole::Null),
        ("refused", BlackHole::Refused),
    ] {
        assert_eq!(hole(quick(OXIDNS, &format!("black_hole {mode}"))).0, Some(answer.clone()));
        let args = if mode.is_empty() { "{}".into() } else { format!("{{ mode: \"{mode}\" }}") };
        assert_eq!(hole(executor(OXIDNS, "black_hole", &args)).0, Some(answer));
    }
    assert_eq!(hole(quick(MOSDNS, "black_hole")).0, None);
    check(&bad(MOSDNS, "black_hole nowhere"), "\"nowhere\" is no IP address");
    check(&bad(OXIDNS, "black_hole nodata 192.0.2.1"), "this mode gives no addresses");
    check(&bad(OXIDNS, "black_hole custom"), "custom has no address");
}

#[test]
fn times_to_live_and_waits() {
    let ttl = |dialect, text: &str| match quick(dialect, text) {
        Executor::Ttl(rule) => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(ttl(MOSDNS, "ttl 60"), TtlRule::Fixed(60));
    assert_eq!(ttl(MOSDNS, "ttl 60-600"), TtlRule::Within(60, 600));
    assert_eq!(ttl(OXIDNS, "ttl 60-0"), TtlRule::Within(60, 0));
    assert_eq!(ttl(OXIDNS, "ttl 0"), TtlRule::Fixed(0));
    assert_eq!(ttl(MOSDNS, "ttl 0"), TtlRule::Within(0, 0), "0 changes nothing in mosdns");
    check(&bad(MOSDNS, "ttl 5m"), "no TTL");
    check(&bad(MOSDNS, "ttl -5"), "no TTL");
    for (args, rule) in [
        ("{ fix: 30 }", TtlRule::Fixed(30)),
        ("{ min: 30 }", TtlRule::Within(30, 0)),
        ("{ max: 30 }", TtlRule::Within(0, 30)),
        ("\"10-20\"", TtlRule::Within(10, 20)),
    ] {
        assert_eq!(executor(OXIDNS, "ttl", args), Executor::Ttl(rule));
    }
    check(&refused("plugins: [ { tag: t, type: ttl, args: {} } ]")[0], "nothing is set");
    let ms = |it: Executor| match it {
        Executor::Sleep(long) => long.as_millis(),
        other => panic!("{other:?}"),
    };
    assert_eq!(ms(quick(MOSDNS, "sleep 20")), 20);
    assert_eq!(ms(quick(OXIDNS, "sleep 2s")), 2000);
    assert_eq!(ms(executor(MOSDNS, "sleep", "{ duration: 7 }")), 7);
    check(&bad(MOSDNS, "sleep"), "no time to sleep");
    check(&bad(OXIDNS, "sleep 2h"), "no time to sleep");
}

#[test]
fn client_subnet_and_options() {
    let usual = SubnetRule {
        forward: PassOn::Keep,
        send: PassOn::Keep,
        preset: Some(ip("192.0.2.1")),
        mask4: 24,
        mask6: 48,
    };
    assert_eq!(quick(MOSDNS, "ecs 192.0.2.1/16"), Executor::EcsHandler(usual.clone()));
    assert_eq!(quick(OXIDNS, "ecs_handler 192.0.2.1"), Executor::EcsHandler(usual.clone()));
    check(&bad(OXIDNS, "ecs 192.0.2.1"), "no executor that can stand in a rule");
    check(&bad(MOSDNS, "ecs nowhere"), "no IP address");
    let full = executor(
        MOSDNS,
        "ecs_handler",
        "{ forward: true, send: true, preset: \"::ffff:192.0.2.1\", mask4: 16, mask6: 0 }",
    );
    let rule = SubnetRule { forward: PassOn::Pass, send: PassOn::Pass, mask4: 16, ..usual };
    assert_eq!(full, Executor::EcsHandler(rule));
    check(
        &refused("plugins: [ { type: ecs_handler, args: { mask4: 33 } } ]")[0],
        "33 is out of bounds; from 0 to 32",
    );
    let options = |codes: &[u16]| Executor::ForwardOptions(codes.to_vec());
    assert_eq!(quick(MOSDNS, "forward_edns0opt 8 10"), options(&[8, 10]));
    assert_eq!(executor(OXIDNS, "forward_edns0opt", "{ codes: [8, 10] }"), options(&[8, 10]));
    assert_eq!(executor(OXIDNS, "forward_edns0opt", "\"8,10\""), options(&[8, 10]));
    check(&bad(MOSDNS, "forward_edns0opt 70000"), "from 0 to 65535");
}

#[test]
fn lines_collectors_and_families() {
    assert_eq!(quick(MOSDNS, "prefer_ipv4"), Executor::Prefer(1));
    assert_eq!(executor(OXIDNS, "prefer_ipv6", "{ cache: true }"), Executor::Prefer(28));
    assert_eq!(quick(MOSDNS, "drop_resp"), Executor::DropResponse);
    assert_eq!(quick(MOSDNS, "debug_print"), Executor::DebugPrint("debug print".into()));
    assert_eq!(quick(MOSDNS, "debug_print a b"), Executor::DebugPrint("a b".into()));
    assert_eq!(quick(OXIDNS, "query_summary"), Executor::QuerySummary("query summary".into()));
    assert_eq!(
        executor(OXIDNS, "query_summary", "{ msg: hello }"),
        Executor::QuerySummary("hello".into())
    );
    assert_eq!(quick(MOSDNS, "metrics_collector a"), Executor::MetricsCollector("a".into()));
    assert_eq!(quick(OXIDNS, "metrics_collector"), Executor::MetricsCollector("default".into()));
    check(&bad(MOSDNS, "metrics_collector"), "must have a name");
    let text = "plugins: [ { tag: r, type: query_recorder, args: { path: q.db } } ]";
    let foreign = read(text);
    assert_eq!(foreign.plugins[0].kind, PluginKind::Executor(Executor::QueryRecorder));
    check(&lines(&foreign.warnings)[0], "request log records every query");
}

#[test]
fn sets_of_the_packet_filter() {
    let outward = |it: Executor| match it {
        Executor::Outward(it) => it.settings(),
        other => panic!("{other:?}"),
    };
    let ipset = json!({ "type": "ipset", "set_name4": "a", "set_name6": "b", "mask4": 32,
        "mask6": 64 });
    assert_eq!(outward(quick(MOSDNS, "ipset a,inet,32 b,inet6,64")), ipset);
    let args = "{ set_name4: a, set_name6: b, mask4: 32, mask6: 64 }";
    assert_eq!(outward(executor(OXIDNS, "ipset", args)), ipset);
    let target = json!({ "table_family": "inet", "table_name": "t", "set_name": "s", "mask": 24 });
    let nftset = json!({ "type": "nftset", "ipv4": target, "ipv6": null });
    assert_eq!(outward(quick(MOSDNS, "nftset inet,t,s,ipv4_addr,24")), nftset);
    for args in [
        "{ ipv4: { table_family: inet, table_name: t, set_name: s } }",
        "{ table_family4: inet, table_name4: t, set_name4: s }",
    ] {
        assert_eq!(outward(executor(OXIDNS, "nftset", args)), nftset, "{args}");
    }
    check(&bad(MOSDNS, "ipset a,inet"), "names no set");
    check(&bad(MOSDNS, "ipset a,inet,33"), "names no set");
    check(&bad(MOSDNS, "ipset"), "one or two sets");
    check(&bad(MOSDNS, "nftset inet,t,s,ipv5_addr,24"), "names no set");
    check(&bad(MOSDNS, "nftset arp,t,s,ipv4_addr,24"), "no family of tables");
}

#[test]
fn hooks_downloads_and_jobs() {
    let outward = |kind: &str, args: &str| match executor(OXIDNS, kind, args) {
        Executor::Outward(it) => it.settings(),
        other => panic!("{other:?}"),
    };
    let request = outward(
        "http_request",
        "{ method: POST, url: \"http://h.test/${qname}\", phase: before, async: false, \
           timeout: 250ms, error_mode: fail, headers: { X: 1 }, json: { n: [\"${qname}\"] } }",
    );
    assert_eq!(
        request,
        json!({ "type": "http_request", "method": "POST", "url": "http://h.test/${qname}",
            "phase": "before", "async": false, "timeout": "250ms", "error_mode": "fail",
            "headers": { "X": "1" }, "query_params": {}, "body": null,
            "json": { "n": ["${qname}"] }, "form": null, "content_type": null,
            "max_redirects": 5, "queue_size": 256, "socks5": null, "insecure_skip_verify": false })
    );
    let script = outward("script", "{ command: /bin/true, args: [\"${qname}\"], env: { A: b } }");
    assert_eq!(
        script,
        json!({ "type": "script", "command": "/bin/true", "args": ["${qname}"],
            "env": { "A": "b" }, "cwd": null, "timeout": "5s", "error_mode": "continue",
            "max_output_bytes": 4096 })
    );
    let file = json!({ "url": "http://h.test/a", "dir": "/lists", "filename": null });
    let download = |at_start: bool| {
        json!({ "type": "download", "timeout": "30s", "startup_if_missing": at_start,
            "downloads": [file.clone()], "socks5": null, "insecure_skip_verify": false })
    };
    let args = "{ downloads: [ { url: \"http://h.test/a\", dir: /lists } ] }";
    assert_eq!(outward("download", args), download(true));
    let Executor::Outward(it) = quick(OXIDNS, "download http://h.test/a /lists") else { panic!() };
    assert_eq!(it.settings(), download(false));
    assert_eq!(outward("reload", "{}"), json!({ "type": "reload", "what": "everything" }));
    let lists = json!({ "type": "reload", "what": "providers", "names": ["a", "b"] });
    assert_eq!(outward("reload_provider", "[\"$a\", \"$b\"]"), lists);
    let Executor::Cron(cron) = executor(
        OXIDNS,
        "cron",
        "{ timezone: UTC, jobs: [ { name: a, schedule: \"0 4 * * *\", executors: [$d] }, \
           { name: b, interval: 5m, executors: reload } ] }",
    ) else {
        panic!()
    };
    assert_eq!(cron.timezone.as_deref(), Some("UTC"));
    assert_eq!(cron.jobs[0].when, CronTime::Fields("0 4 * * *".into()));
    assert_eq!(cron.jobs[1].when, CronTime::Every(Duration::from_mins(5)));
    let complaints = |kind: &str, args: &str| {
        refused(&format!("plugins: [ {{ tag: it, type: {kind}, args: {args} }} ]")).join("\n")
    };
    check(&complaints("http_request", "{}"), "\"method\" is missing");
    check(
        &complaints("http_request", "{ method: GET, url: u, phas: x }"),
        "did you mean \"phase\"?",
    );
    check(&complaints("http_request", "{ method: GET, url: u, body: a, json: 1 }"), "only one of");
    check(&complaints("script", "{ command: x, error_mode: ignore }"), "continue, stop or fail");
    check(&complaints("script", "{ command: x, timeout: 2h }"), "up to 1h");
    check(&complaints("download", "{ downloads: [ { url: x } ] }"), "\"dir\" is missing");
    check(&complaints("reload_provider", "[a]"), "only tags of providers");
    let job = |keys: &str| complaints("cron", &format!("{{ jobs: [ {{ {keys} }} ] }}"));
    check(&job("name: a, schedule: \"0 0 4 * * *\", executors: [b]"), "five fields");
    check(&job("name: a, interval: 30s, executors: [b]"), "at least 1m");
    check(&job("name: a, interval: 300, executors: [b]"), "with its unit");
    check(&job("name: a, executors: [b]"), "a schedule or an interval");
}

#[test]
fn answers_that_disagree_are_chosen_from_as_oxidns_does() {
    let forward = |args: &str| match executor(OXIDNS, "forward", args) {
        Executor::Forward(it) => (it.concurrent, it.selection),
        other => panic!("{other:?}"),
    };
    let up = "upstreams: [ { addr: 192.0.2.1 }, { addr: 192.0.2.2 } ]";
    assert_eq!(forward(&format!("{{ {up} }}")), (1, AnswerChoice::Balanced));
    assert_eq!(forward(&format!("{{ concurrent: 99, {up} }}")), (32, AnswerChoice::Balanced));
    for (word, choice) in [
        ("fastest", AnswerChoice::Fastest),
        ("balanced", AnswerChoice::Balanced),
        ("prefer_positive", AnswerChoice::PreferPositive),
        ("consensus", AnswerChoice::Consensus),
    ] {
        let args = format!("{{ concurrent: 2, response_selection: {word}, {up} }}");
        assert_eq!(forward(&args), (2, choice));
    }
    let text = format!(
        "plugins: [ {{ tag: f, type: forward, args: {{ response_selection: best, {up} }} }} ]"
    );
    check(&refused(&text)[0], "\"best\" is no choice among answers");
}

#[test]
fn a_chooser_among_addresses() {
    let made = |args: &str| match executor(OXIDNS, "ip_selector", args) {
        Executor::IpSelector(it) => it,
        other => panic!("{other:?}"),
    };
    assert_eq!(made("{}"), IpSelectorPlugin::default());
    let all = made(
        "{ selection_mode: best_within_budget, probe_methods: [\"tcp:443,ping\", \"tcp:443\"], \
         socks5: \"127.0.0.1:1080\", probe_stagger: 0, probe_timeout: 300, max_wait: 900, \
         top_n: 0, dnssec_policy: skip, max_parallel_probes: 9999, probe_addresses: any, \
         cache: { size: 10, ttl: 60, failure_ttl: 5 } }",
    );
    let expected = IpSelectorPlugin {
        choice: AddressChoice::BestWithinBudget,
        methods: vec![AddressProbe::Tcp(443), AddressProbe::Ping],
        socks5: Some("127.0.0.1:1080".into()),
        stagger: Duration::ZERO,
        timeout: Duration::from_millis(300),
        max_wait: Duration::from_millis(900),
        keep: 0,
        signed: SignedChoice::Leave,
        parallel: 1024,
        entries: 10,
        success: Duration::from_mins(1),
        failure: Duration::from_secs(5),
        private: PrivateAddresses::Tried,
    };
    assert_eq!(all, expected);
    assert_eq!(made("{ probe_methods: none }").methods, []);
    assert_eq!(made("{ cache: { enabled: false } }").success, Duration::from_secs(1));
    let quick = |exec: &str| match quick(OXIDNS, exec) {
        Executor::IpSelector(it) => (it.choice, it.methods),
        other => panic!("{other:?}"),
    };
    let usual = IpSelectorPlugin::default();
    assert_eq!(quick("ip_selector"), (usual.choice, usual.methods.clone()));
    assert_eq!(
        quick("ip_selector background tcp:853 ping"),
        (AddressChoice::Background, vec![AddressProbe::Tcp(853), AddressProbe::Ping])
    );
    assert_eq!(quick("ip_selector ping"), (usual.choice, vec![AddressProbe::Ping]));
    check(&bad(OXIDNS, "ip_selector tcp:0"), "measures nothing");
    check(&bad(OXIDNS, "ip_selector none,ping"), "do not go together");
    let bad = |args: &str| {
        let head = "runtime: {}\nplugins: [ { tag: it, type: ip_selector, args: ";
        refused(&format!("{head}{args} }} ]")).swap_remove(0)
    };
    check(&bad("{ selection_mode: best }"), "\"best\" is no mode");
    check(&bad("{ dnssec_policy: none }"), "\"none\" is no policy");
    check(&bad("{ max_wait: 0 }"), "out of bounds");
    check(&bad("{ top: 3 }"), "\"top\" is not known here");
    check(&bad("{ cache: { time: 3 } }"), "\"time\" is not known here");
}

#[test]
fn positive_answers_that_live_shorter_are_not_kept() {
    let cache = |args: &str| match executor(OXIDNS, "cache", args) {
        Executor::Cache(it) => it.positive_min,
        other => panic!("{other:?}"),
    };
    assert_eq!(cache("{}"), None);
    assert_eq!(cache("{ min_positive_ttl: 60 }"), Some(Duration::from_mins(1)));
    assert_eq!(cache("{ min_positive_ttl: 99999 }"), Some(Duration::from_hours(24)));
    let text = "plugins: [ { tag: c, type: cache, \
                args: { min_positive_ttl: 60, max_positive_ttl: 30 } } ]";
    check(&refused(text)[0], "longer than max_positive_ttl");
}

#[test]
fn names_that_are_learnt_and_the_set_they_go_to() {
    let made = match plugin(OXIDNS, "dynamic_domain_set", "{ path: a.txt }") {
        PluginKind::Provider(Provider::DynamicDomainSet(it)) => it,
        other => panic!("{other:?}"),
    };
    let flush = Duration::from_millis(200);
    assert_eq!((made.queue, made.batch, made.flush), (1024, 256, flush));
    let learn = |args: &str| match executor(OXIDNS, "learn_domain", args) {
        Executor::LearnDomain(it) => it,
        other => panic!("{other:?}"),
    };
    let usual = learn("{ provider: set }");
    assert_eq!((usual.timing, usual.types.clone()), (EffectTiming::End, vec![1, 28]));
    assert_eq!(usual.wanted, LearnedAnswer { success: true, records: true });
    assert_eq!((usual.kind, usual.wait), (LearnedKind::Full, None));
    let all = learn(
        "{ provider: $set, phase: before, questions: all, qtypes: [aaaa, 65], success_only: false, \
         answer_required: false, rule_kind: domain, async: false, error_mode: fail, timeout: 3s }",
    );
    assert_eq!((all.provider.text.as_str(), all.timing), ("set", EffectTiming::Now));
    assert_eq!((all.types, all.kind), (vec![28, 65], LearnedKind::Domain));
    assert_eq!((all.wait, all.on_error), (Some(Duration::from_secs(3)), OnError::Fail));
    let bad =
        |plugins: &str| refused(&format!("runtime: {{}}\nplugins: [ {plugins} ]")).swap_remove(0);
    let learn = |args: &str| format!("{{ tag: l, type: learn_domain, args: {args} }}");
    check(&bad(&learn("{}")), "\"provider\" is missing");
    check(&bad(&learn("{ provider: x, phase: later }")), "\"later\" is not known here");
    check(&bad(&learn("{ provider: x, qtypes: [NOTYPE] }")), "no type of records");
    check(&bad(&learn("{ provider: x, timeout: 1h }")), "out of bounds");
    check(&bad(&learn("{ provider: x, ttl: 3 }")), "\"ttl\" is not known here");
    let in_main = |set: &str| {
        let main = "{ tag: main, type: sequence, args: [ { exec: $l } ] }";
        format!("{set}, {}, {main}", learn("{ provider: s }"))
    };
    let plain = "{ tag: s, type: domain_set, args: { exps: [a.test] } }";
    check(&bad(&in_main(plain)), "no set that grows");
    let wrong =
        "{ tag: s, type: dynamic_domain_set, args: { path: a, bootstrap_rules: [\"x:y\"] } }";
    check(&bad(&in_main(wrong)), "");
    let two = "{ tag: s, type: dynamic_domain_set, args: { path: a } }, \
               { tag: t, type: dynamic_domain_set, args: { path: a } }, \
               { tag: both, type: qname, args: [ $s, $t ] }, \
               { tag: use, type: sequence, args: [ { matches: $both, exec: accept } ] }";
    check(&bad(two), "another set is kept in a too");
}
