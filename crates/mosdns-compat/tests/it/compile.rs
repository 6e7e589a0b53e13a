//! Foreign files as programs: what sequences become, what refers to what, and what the program
//! needs of the rest.

use crate::foreign;

use foreign::{Disk, compiled, compiled_with, lines, mosdns, oxidns, refused, with};
use mosdns_compat::compile::{ServerProtocol, describe};
use mosdns_compat::language::CronTime;
use pipeline::program::WRAPPERS_MAX;
use serde_json::json;
use std::time::Duration;

/// The operations of a file, one a line without its place; servers and the end left out.
fn steps(text: &str) -> Vec<String> {
    let all = describe(&compiled(text));
    let is_step = |line: &&str| line.as_bytes().first() == Some(&b' ');
    all.lines().filter(is_step).map(|line| line.trim_start().to_owned()).collect()
}

#[test]
fn a_sequence_becomes_a_flat_list() {
    let text = with(
        "- { tag: cache, type: cache, args: { size: 200000 } }\n\
         - { tag: up, type: forward, args: { upstreams: [ { addr: 9.9.9.9 } ] } }",
        "- exec: $cache\n\
         - { matches: has_resp, exec: accept }\n\
         - { matches: [\"qname a.test\", \"!qtype 28\"], exec: reject 3 }\n\
         - { matches: _true, exec: ttl 60-600 }\n\
         - { matches: _false, exec: mark 1 }\n\
         - exec: $up",
    );
    assert_eq!(
        describe(&compiled(&text)),
        "Udp 127.0.0.1:5300 -> 0\n\
         \x20  0  cache 0\n\
         \x20  1  if not has_resp go to 3\n\
         \x20  2  accept\n\
         \x20  3  if not qname(1 rules) and !qtype[28] go to 5\n\
         \x20  4  reject 3\n\
         \x20  5  ttl 60-600\n\
         \x20  6  forward to group 0\n\
         \x20  7  end\n\
         else REFUSED\n"
    );
}

#[test]
fn the_exchange_keeps_the_answer_where_nothing_changes_it() {
    let text = with(
        "- { tag: cache, type: cache }\n\
         - { tag: up, type: forward, args: { upstreams: [ { addr: 9.9.9.9 } ] } }",
        "- exec: $cache\n- { matches: has_resp, exec: accept }\n- exec: $up",
    );
    assert_eq!(
        steps(&text),
        [
            "0  cache 0, kept by the exchange",
            "1  if not has_resp go to 3",
            "2  accept",
            "3  forward to group 0 into cache 0",
            "4  end"
        ]
    );
}

#[test]
fn what_is_run_stands_before_who_runs_it() {
    let text = with(
        "- { tag: main2, type: sequence, args: [ { exec: jump sub }, { exec: $sub } ] }\n\
         - { tag: sub, type: sequence, args: [ { exec: goto end } ] }\n\
         - { tag: end, type: sequence, args: [ { exec: reject } ] }",
        "- exec: goto main2",
    );
    assert_eq!(
        steps(&text),
        [
            "0  reject 5",
            "1  end",
            // Jumped to, so nobody is gone back to: a jump that ends all behind it.
            "2  jump 0",
            "3  accept",
            "4  end",
            "5  jump 2",
            "6  call 2",
            "7  end",
            "8  go to 5",
            "9  end"
        ]
    );
    assert_eq!(
        steps(&format!("runtime: {{}}\n{text}")),
        [
            "0  reject 5, end all",
            "1  end",
            "2  go to 0",
            "3  end",
            "4  call 2",
            "5  call 2",
            "6  end",
            "7  go to 4",
            "8  end"
        ]
    );
}

#[test]
fn a_return_of_oxidns_leaves_all_that_was_run_since_the_jump() {
    let text = with(
        "- { tag: inner, type: sequence, args: [ { exec: return } ] }\n\
         - { tag: outer, type: sequence, args: [ { exec: $inner }, { exec: reject 2 } ] }",
        "- exec: jump outer\n- exec: reject 3",
    );
    assert_eq!(
        steps(&format!("runtime: {{}}\n{text}")),
        [
            "0  return to the jump",
            "1  end",
            "2  call 0",
            "3  reject 2, end all",
            "4  end",
            "5  call 2",
            "6  end",
            "7  jump 5",
            "8  reject 3, end all",
            "9  end"
        ]
    );
    assert_eq!(steps(&text)[0], "0  return");
}

#[test]
fn plugins_that_several_run_are_one() {
    let text = with(
        "- { tag: up, type: forward, args: { upstreams: \
             [ { tag: a, addr: 9.9.9.9 }, { tag: b, addr: 1.1.1.1 } ] } }\n\
         - { tag: cache, type: cache }",
        "- exec: $up\n- exec: $up b\n- exec: $up b\n- exec: $cache\n- exec: $cache\n\
         - exec: cache 2000\n- exec: forward 8.8.8.8",
    );
    let made = compiled(&text);
    let names: Vec<&str> = made.groups.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["up", "up b", "plugins.2.args.6"]);
    assert_eq!(made.groups[1].upstreams[0].address, "udp://1.1.1.1:53");
    assert_eq!(made.groups[0].position.keys(), "plugins.0");
    let caches: Vec<u64> = made.caches.iter().map(|it| it.entries).collect();
    assert_eq!(caches, [1024, 2000]);
    assert_eq!(made.caches[0].bytes(), 1 << 20);
    assert_eq!(
        refused(&text.replace("$up b", "$up c"))[0],
        "plugins.2.args.1.exec: up has no upstream called \"c\""
    );
}

#[test]
fn references_point_up_and_down_but_to_the_right_kind() {
    let text = with(
        "- { tag: set, type: domain_set, args: { exps: [a.test], sets: [later] } }\n\
         - { tag: later, type: domain_set, args: { exps: [b.test] } }",
        "- { matches: qname $set, exec: accept }",
    );
    assert_eq!(steps(&text)[0], "0  if not qname(2 rules) go to 2");
    let text = with(
        "- { tag: set, type: domain_set, args: { exps: [a.test] } }\n\
         - { tag: nets, type: ip_set, args: { ips: [192.0.2.0/24] } }",
        "- { matches: qname $nets, exec: $set }\n\
         - { matches: [$set, client_ip $nest], exec: $nothing }\n\
         - exec: jump udp",
    );
    assert_eq!(
        refused(&text),
        [
            "plugins.2.args.0.matches: \"nets\" is no set of names",
            "plugins.2.args.0.exec: \"set\" is a provider, where an executor is expected",
            "plugins.2.args.1.matches.0: \"set\" is a provider, where a matcher is expected",
            "plugins.2.args.1.matches.1: there is no plugin with the tag \"nest\"; \
             did you mean \"nets\"?",
            "plugins.2.args.1.exec: there is no plugin with the tag \"nothing\"",
            "plugins.2.args.2.exec: \"udp\" is a server, where a sequence is expected"
        ]
    );
    let text = mosdns("- exec: accept").replace("entry: main", "entry: $main");
    assert_eq!(
        refused(&text),
        ["plugins.1.args.entry: there is no plugin with the tag \"$main\"; write main, without $"]
    );
}

#[test]
fn circles_are_refused() {
    let circle = |exec: &str| {
        let plugins = format!(
            "- {{ tag: a, type: sequence, args: [ {{ exec: {exec} }} ] }}\n\
             - {{ tag: b, type: fallback, args: {{ primary: a, secondary: c }} }}\n\
             - {{ tag: c, type: sequence, args: [ {{ exec: accept }} ] }}"
        );
        refused(&with(&plugins, "- exec: accept"))
    };
    assert_eq!(
        circle("goto a"),
        ["plugins.0.args.0.exec: this leads in a circle: a → a; let one of them lead elsewhere"]
    );
    assert_eq!(
        circle("$b"),
        ["plugins.1.args.primary: this leads in a circle: a → b → a; \
          let one of them lead elsewhere"]
    );
    let sets = with(
        "- { tag: a, type: domain_set, args: { sets: [b] } }\n\
         - { tag: b, type: domain_set, args: { sets: [a] } }",
        "- { matches: qname $a, exec: accept }",
    );
    assert!(refused(&sets)[0].contains("a → b → a"));
}

#[test]
fn sequences_that_lead_on_too_deep_are_refused() {
    let mut plugins = String::new();
    for depth in 0..20 {
        let exec = if depth == 0 { "accept".into() } else { format!("jump s{}", depth - 1) };
        let line = format!("- {{ tag: s{depth}, type: sequence, args: [ {{ exec: {exec} }} ] }}\n");
        plugins.push_str(&line);
    }
    let complaints = refused(&with(plugins.trim_end(), "- exec: jump s19"));
    assert!(
        complaints[0].starts_with("plugins.17: ") && complaints[0].contains("more than 16 deep")
    );
}

#[test]
fn a_fallback_runs_either_way_on_its_own() {
    let text = with(
        "- { tag: one, type: forward, args: { upstreams: [ { addr: 9.9.9.9 } ] } }\n\
         - { tag: two, type: sequence, args: [ { exec: black_hole 192.0.2.1 } ] }\n\
         - { tag: both, type: fallback, args: { primary: one, secondary: two, threshold: 200, \
             always_standby: true } }",
        "- exec: $both",
    );
    assert_eq!(
        steps(&text),
        [
            "0  answer 192.0.2.1",
            "1  end",
            "2  forward to group 0",
            "3  end",
            "4  run 2, after 200ms 0 at once",
            "5  end",
            "6  run 2, after 200ms 0 at once",
            "7  end"
        ]
    );
}

#[test]
fn servers_name_their_entries() {
    let text = with(
        "- { tag: other, type: sequence, args: [ { exec: reject } ] }\n\
         - { tag: doh, type: http_server, args: { listen: \":443\", cert: c.pem, key: k.pem, \
             src_ip_header: X-Forwarded-For, entries: [ { path: /dns-query, exec: main }, \
             { path: /other, exec: other } ] } }\n\
         - { tag: doq, type: quic_server, args: { entry: other, listen: \":853\", cert: c.pem, \
             key: k.pem } }\n\
         - { tag: tcp, type: tcp_server, args: { entry: main } }",
        "- exec: reject 2",
    );
    let made = compiled(&text);
    let seen: Vec<_> = made
        .servers
        .iter()
        .map(|it| {
            let entries =
                it.entries.iter().map(|e| made.entries[usize::from(e.entry)].tag.as_str());
            (it.protocol, it.listen.len(), entries.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        seen,
        [
            (ServerProtocol::Https, 2, vec!["main", "other"]),
            (ServerProtocol::Quic, 2, vec!["other"]),
            (ServerProtocol::Tcp, 1, vec!["main"]),
            (ServerProtocol::Udp, 1, vec!["main"])
        ]
    );
    assert_eq!(made.servers[0].certificate.as_ref().unwrap().key.text, "k.pem");
    assert_eq!(made.servers[2].idle, Duration::from_secs(10));
    assert_eq!(made.entries.len(), 2);
}

#[test]
fn sets_are_built_of_words_files_and_other_sets() {
    let mut disk = Disk::default();
    disk.files.insert("names.txt", "# ours\nfull:a.test\nregexp:^x[0-9]{1,2}\\.test$ # more\n\n");
    disk.files.insert("nets.txt", "192.0.2.0/24 # test\n2001:db8::1 and more\n");
    let text = with(
        "- { tag: names, type: domain_set, args: { exps: [b.test], files: [names.txt] } }\n\
         - { tag: nets, type: ip_set, args: { files: [nets.txt] } }\n\
         - { tag: unused, type: ip_set, args: { files: [none.txt] } }",
        "- { matches: [qname $names keyword:y, \"client_ip $nets &nets.txt\"], exec: accept }",
    );
    let made = compiled_with(&text, &disk);
    assert!(describe(&made).contains("if not qname(4 rules) and client_ip(4 ranges) go to 2"));
    assert_eq!(made.files, ["names.txt", "nets.txt"]);
    assert_eq!(
        lines(&made.warnings),
        ["plugins.2: nothing refers to \"unused\", so it is not read"]
    );
}

#[test]
fn bad_lines_of_files_are_left_out_and_counted() {
    let mut disk = Disk::default();
    disk.files.insert("names.txt", "full:a.test\nwild:b.test\nbücher.test\nregexp:(\nc.test\n");
    let text = with(
        "- { tag: names, type: domain_set, args: { exps: [\"bücher.test\"], files: [names.txt] } }",
        "- { matches: [qname $names], exec: accept }",
    );
    let made = compiled_with(&text, &disk);
    assert!(describe(&made).contains("qname(2 rules)"), "{}", describe(&made));
    let told = lines(&made.warnings);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("plugins.0.args.exps.0: the rule has characters outside ASCII"));
    let counted = "names.txt: 3 lines are left out, first line 2: \"wild\" is no kind of rule";
    assert!(told[1].contains(counted), "{told:?}");
}

#[test]
fn files_that_are_not_there_are_told_with_their_place() {
    let text = with(
        "- { tag: names, type: domain_set, args: { files: [a.txt] } }\n\
         - { tag: hosts, type: hosts, args: { entries: [\"a.test 192.0.2.300\"], files: [b.txt] } }\n\
         - { tag: zone, type: arbitrary, args: { rules: [\"a.test. 60 IN A x\"], files: [c.txt] } }\n\
         - { tag: there, type: redirect, args: { rules: [\"a.test\"] } }",
        "- { matches: qname $names &d.txt, exec: $hosts }\n- exec: $zone\n- exec: $there",
    );
    let places: Vec<String> =
        refused(&text).iter().map(|it| it.split(": ").next().unwrap().to_owned()).collect();
    assert_eq!(
        places,
        [
            "plugins.4.args.0.matches",
            "plugins.0.args.files.0",
            "plugins.1.args.entries.0",
            "plugins.1.args.files.0",
            "plugins.2.args.rules.0",
            "plugins.2.args.files.0",
            "plugins.3.args.rules.0"
        ]
    );
}

#[test]
fn rules_of_oxidns_files_stand_several_on_a_line() {
    let mut disk = Disk::default();
    disk.files.insert("n.txt", "a.test, b.test\nregexp:x{1,2} # c\n");
    let text = oxidns("- { matches: qname &n.txt, exec: accept }");
    assert!(describe(&compiled_with(&text, &disk)).contains("qname(3 rules)"));
}

#[test]
fn providers_of_oxidns_are_asked_by_matchers() {
    let text = with(
        "- { tag: ads, type: adguard_rule, args: { rules: [\"||ads.test^\", \"127.0.0.1 x\"] } }\n\
         - { tag: all, type: domain_set, args: { exps: [a.test], sets: [ads] } }\n\
         - { tag: either, type: any_match, args: [\"question $ads\", \"!$small\"] }\n\
         - { tag: small, type: qname, args: [\"$all\", b.test] }",
        "- { matches: [$either, $small], exec: accept }",
    );
    let first = &steps(&text)[0];
    assert!(first.starts_with("0  if not (qname(0+"), "{first}");
    assert!(first.contains(" or !qname(2+"), "{first}");
}

#[test]
fn the_environment_is_asked_when_the_file_is_compiled() {
    let mut disk = Disk::default();
    disk.variables.insert("KEY", "VALUE");
    let count = |test: &str| {
        let text = mosdns(&format!("- {{ matches: \"{test}\", exec: mark 1 }}"));
        describe(&compiled_with(&text, &disk)).matches("mark [1]").count()
    };
    assert_eq!(count("env KEY"), 1);
    assert_eq!(count("env KEY VALUE"), 1);
    assert_eq!(count("env KEY OTHER"), 0);
    // The peer looks for a variable called VALUE instead.
    assert_eq!(count("env OTHER KEY"), 0);
    assert_eq!(count("!env OTHER"), 1);
    assert_eq!(count("string_exp $KEY eq VALUE"), 1);
    assert_eq!(count("string_exp $OTHER zl"), 1);
    assert_eq!(count("string_exp $KEY prefix X"), 0);
}

#[test]
fn chance_and_limits() {
    let one = |test: &str| steps(&oxidns(&format!("- {{ matches: \"{test}\", exec: accept }}")));
    assert_eq!(one("random 0.5")[0], "0  if not random(0.5000) go to 2");
    assert_eq!(one("random 1.0")[0], "0  accept, end all");
    assert_eq!(one("random 0")[0], "0  end");
    assert_eq!(one("rate_limiter 0.001 1000000000")[0], "0  if not rate_limiter go to 2");
    let bad = refused(&oxidns("- { matches: \"string_exp qname regexp (\", exec: accept }"));
    assert!(bad[0].starts_with("plugins.0.args.0.matches: the expression cannot be used"));
    let huge = "string_exp qname regexp (((a{1000}){1000}){1000})";
    let bad = refused(&oxidns(&format!("- {{ matches: \"{huge}\", exec: accept }}")));
    assert!(bad[0].contains("cannot be used"));
}

#[test]
fn hostile_files_make_no_more_than_so_much() {
    let mut plugins = String::from("- { tag: m0, type: any_match, args: [has_resp] }\n");
    for level in 1..12 {
        let below = format!("$m{}, ", level - 1).repeat(10);
        let line = format!("- {{ tag: m{level}, type: any_match, args: [{below}] }}\n");
        plugins.push_str(&line);
    }
    let text = with(plugins.trim_end(), "- { matches: $m11, exec: accept }");
    assert!(refused(&text)[0].contains("more than 65536 tests"));
    let limits = "- { matches: rate_limiter 1 1, exec: accept }\n".repeat(65);
    assert!(refused(&oxidns(limits.trim_end()))[0].contains("more than 64 limiters"));
    let caches = "- exec: cache\n".repeat(65);
    assert!(refused(&mosdns(caches.trim_end()))[0].contains("more than 64 caches"));
}

#[test]
fn effects_are_listed_once_and_jobs_name_them() {
    let text = with(
        "- { tag: get, type: download, args: { downloads: [ { url: \"http://h.test/a\", dir: l } ] } }\n\
         - { tag: tell, type: http_request, args: { method: GET, url: \"http://h.test\" } }\n\
         - { tag: run, type: script, args: { command: x, error_mode: fail } }\n\
         - { tag: set, type: ipset, args: { set_name4: s } }\n\
         - { tag: names, type: domain_set, args: { exps: [a.test] } }\n\
         - { tag: rec, type: query_recorder, args: { path: q.db } }\n\
         - { tag: clock, type: cron, args: { jobs: [ { name: n, interval: 1h, \
             executors: [get, $tell, reload_provider $names] } ] } }",
        "- exec: $tell\n- exec: $run\n- exec: $set\n- exec: $set\n- exec: $rec\n- exec: $clock\n\
         - { matches: qname $names, exec: accept }",
    );
    let made = compiled(&text);
    let names: Vec<&str> = made.effects.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["get", "tell", "plugins.6.args.jobs.0.executors.2", "run", "set"]);
    assert_eq!(made.jobs[0].effects, [0, 1, 2]);
    assert_eq!(made.jobs[0].when, CronTime::Every(Duration::from_hours(1)));
    assert_eq!(
        steps(&text)[..5],
        [
            "0  effect 1 at the end",
            "1  wait for effect 3, or fail",
            "2  effect 4",
            "3  effect 4",
            "4  if not qname(1 rules) go to 6"
        ]
    );
    assert!(
        refused(&text.replace("[get, $tell", "[set, $tell"))[0]
            .starts_with("plugins.6.args.jobs.0.executors.0: \"set\" has nothing to do without")
    );
    assert!(refused(&text.replace("$names] }", "$nams] }"))[0].contains("did you mean \"names\"?"));
}

#[test]
fn a_job_runs_the_rules_of_a_sequence_that_ask_for_nothing() {
    let text = |rules: &str| {
        with(
            &format!(
                "- {{ tag: get, type: download, args: {{ downloads: [ {{ url: \"http://h.test/a\", \
                 dir: l }} ] }} }}\n\
                 - {{ tag: names, type: domain_set, args: {{ exps: [a.test] }} }}\n\
                 - {{ tag: again, type: reload_provider, args: [$names] }}\n\
                 - {{ tag: inner, type: sequence, args: [ {{ exec: $again }}, {{ exec: return }}, \
                 {{ exec: $get }} ] }}\n\
                 - {{ tag: daily, type: sequence, args: [ {rules} ] }}\n\
                 - {{ tag: clock, type: cron, args: {{ jobs: [ {{ name: n, interval: 24h, \
                 executors: [$daily] }} ] }} }}"
            ),
            "- exec: reject 3",
        )
    };
    let made =
        compiled(&text("{ exec: $get }, { exec: mark 1 }, { exec: jump inner }, { exec: $inner }"));
    let names: Vec<&str> = made.effects.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(
        (names.as_slice(), made.jobs[0].effects.as_slice()),
        (&["get", "again"][..], &[0, 1, 1][..])
    );
    for (rules, words) in [
        ("{ matches: qtype 1, exec: $get }", "this rule is run by the clock"),
        ("{ exec: $daily }", "this leads in a circle"),
        ("{ exec: $names }", "names"),
    ] {
        let told = refused(&text(rules)).join("\n");
        assert!(told.contains(words), "{rules}: {told}");
    }
}

#[test]
fn memories_collectors_and_silence() {
    let text = with(
        "- { tag: rev, type: reverse_lookup, args: { handle_ptr: true, size: 4096, ttl: 300 } }",
        "- exec: $rev\n- exec: metrics_collector a\n- exec: metrics_collector a\n- exec: prefer_ipv4",
    );
    let made = compiled(&text);
    assert_eq!(made.memories[0].entries, 4096);
    assert_eq!(made.collectors, ["a"]);
    assert_eq!(
        steps(&text),
        [
            "0  remember addresses in 0, answer PTR",
            "1  collect 0",
            "2  collect 0",
            "3  prefer type 1",
            "4  end"
        ]
    );
    assert!(describe(&compiled(&oxidns("- exec: accept"))).ends_with("else an empty answer\n"));
    let nobody = compiled("plugins: [ { type: sequence, args: [ { exec: accept } ] } ]");
    assert!(lines(&nobody.warnings)[0].contains("no server"));
}

#[test]
fn more_wrappers_on_one_way_than_a_question_may_pass_are_refused() {
    let rules = |count| "- exec: metrics_collector c\n".repeat(count);
    compiled(&mosdns(&rules(WRAPPERS_MAX)));
    let told = refused(&mosdns(&rules(WRAPPERS_MAX + 1)));
    assert!(told[0].contains("passes 129 caches, collectors and the like"), "{told:?}");
    // Sequences that are run on their own end theirs.
    let text = with(
        &format!("- tag: sub\n  type: sequence\n  args:\n{}", "    - exec: cache\n".repeat(30)),
        &"- exec: $sub\n".repeat(30),
    );
    compiled(&text);
}

#[test]
fn a_router_is_told_of_the_answer_and_of_what_its_files_hold() {
    let disk = Disk {
        files: [("fixed.txt", "192.0.2.9 # ours\n\n2001:db8::/32\n")].into(),
        variables: [("PASSWORD", "s3cret")].into(),
    };
    let text = with(
        "- { tag: ros, type: ros_address_list, args: { address: \"192.0.2.1:8728\", \
         username: me, password: \"${PASSWORD}\", address_list4: four, fixed_ttl: 0, \
         connect_timeout: 3, wait_timeout: 8s, queue_capacity: 16, async: false, \
         persistent: { ips: [192.0.2.8], files: [fixed.txt] } } }",
        "- exec: $ros\n- exec: forward 9.9.9.9",
    );
    let made = compiled_with(&text, &disk);
    let settings = made.effects[0].outward.settings();
    assert_eq!(settings["type"], "ros_address_list");
    assert_eq!(settings["password"], "s3cret");
    assert_eq!(settings["persistent"], json!(["192.0.2.8", "192.0.2.9", "2001:db8::/32"]));
    let (ttl, queue) = (&settings["fixed_ttl"], &settings["queue_size"]);
    assert_eq!((ttl, queue, &settings["connect_timeout"]), (&json!(0), &json!(16), &json!("3s")));
    assert!(!format!("{made:?}").contains("s3cret"), "no log shows it");
    assert!(describe(&made).contains("effect 0 at the end"));
    assert!(lines(&made.warnings)[0].contains("no answer waits for a router"));
}
