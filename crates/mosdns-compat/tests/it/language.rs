//! The frame of foreign files: which dialect, weak types, unknown keys, what is included.

use crate::foreign;

use foreign::{Disk, lines, mosdns, oxidns, read, refused, try_read, yaml};
use mosdns_compat::language::{self, Dialect, Executor, LogLevel, PluginKind, ServerPlugin};
use std::net::SocketAddr;
use std::time::Duration;

fn executor(text: &str) -> Executor {
    match read(text).plugins.swap_remove(0).kind {
        PluginKind::Executor(it) => it,
        other => panic!("{other:?}"),
    }
}

fn server(text: &str) -> ServerPlugin {
    match read(text).plugins.swap_remove(0).kind {
        PluginKind::Server(it) => it,
        other => panic!("{other:?}"),
    }
}

fn dialect(text: &str) -> Dialect {
    match language::read(&yaml(text), &Disk::default()) {
        Ok(foreign) => foreign.dialect,
        Err(all) => panic!("{:?}", lines(&all)),
    }
}

#[test]
fn a_file_is_one_of_mosdns_unless_it_uses_what_only_oxidns_has() {
    assert_eq!(dialect(&mosdns("- exec: accept")), Dialect::Mosdns);
    for own in [
        "- { matches: qtype AAAA, exec: accept }",
        "- { matches: \"qtype 1,28\", exec: accept }",
        "- { matches: \"rcode NXDOMAIN\", exec: accept }",
        "- { matches: \"rate_limiter 20 40\", exec: accept }",
        "- { matches: \"qname a.test,b.test\", exec: accept }",
        "- { matches: \"string_exp qname eq a.test\", exec: accept }",
        "- { matches: \"string_exp url_patheq /a\", exec: accept }",
        "- exec: forward 9.9.9.9 short_circuit",
        "- exec: cache short_circuit=true",
        "- exec: sleep 10ms",
        "- exec: mark 1,2",
        "- exec: reload",
        "- exec: ecs_handler 192.0.2.1",
    ] {
        let foreign = read(&mosdns(own));
        assert_eq!(foreign.dialect, Dialect::Oxidns, "{own}");
        assert!(foreign.because.unwrap().position.keys().starts_with("plugins.0.args.0"), "{own}");
    }
    for head in [
        "runtime: {}\n",
        "api: { http: { listen: \"127.0.0.1:9000\" } }\n",
        "log: { level: trace }\n",
        "log: { rotation: { type: daily } }\n",
    ] {
        assert_eq!(dialect(&format!("{head}{}", mosdns("- exec: accept"))), Dialect::Oxidns);
    }
    for plugin in [
        "{ tag: a, type: black_hole, args: { ips: [192.0.2.1] } }",
        "{ tag: a, type: qname, args: [a.test] }",
        "{ tag: a, type: geosite, args: { file: x } }",
        "{ tag: a, type: cache, args: { cache_negative: true } }",
        "{ tag: a, type: hosts, args: { entries: [], short_circuit: true } }",
        "{ tag: a, type: forward, args: { upstreams: [ { addr: 9.9.9.9, port: 53 } ] } }",
        "{ tag: a, type: tcp_server, args: { entry: b, listen: \":53\", idle_timeout: 10s } }",
    ] {
        assert_eq!(dialect(&format!("plugins: [ {plugin} ]")), Dialect::Oxidns, "{plugin}");
    }
    // Regular expressions may hold commas in mosdns too.
    let regexp = mosdns("- { matches: \"qname regexp:a{1,2}\", exec: accept }");
    assert_eq!(dialect(&regexp), Dialect::Mosdns);
}

#[test]
fn only_files_with_plugins_are_foreign() {
    assert!(language::is_foreign(&yaml("plugins: []")));
    assert!(language::is_foreign(&yaml("include: [a.yaml]")));
    assert!(!language::is_foreign(&yaml("dns: { listen: [] }")));
    assert!(!language::is_foreign(&yaml("[]")));
}

#[test]
fn values_are_as_weakly_typed_as_the_peer_takes_them() {
    let Executor::Cache(cache) = executor(
        "plugins: { tag: c, type: cache, args: { Size: \"0x1000\", LAZY_CACHE_TTL: \"60\" } }",
    ) else {
        panic!()
    };
    assert_eq!((cache.entries, cache.lazy), (4096, Some(Duration::from_mins(1))));
    let hosts = executor("plugins: [ { type: hosts, args: { entries: \"x.test 192.0.2.1\" } } ]");
    assert!(matches!(hosts, Executor::Hosts(it) if it.rules.len() == 1));
    let Executor::ReverseLookup(memory) =
        executor("plugins: [ { type: reverse_lookup, args: { handle_ptr: 1, size: 0 } } ]")
    else {
        panic!()
    };
    assert_eq!(memory.entries, 65536);
    assert_eq!(memory.pointers, language::HandlePointers::Yes);
    let Executor::Sequence(rules) =
        executor("plugins: [ { type: sequence, args: { matches: has_resp, exec: accept } } ]")
    else {
        panic!()
    };
    assert_eq!((rules.len(), rules[0].tests.len()), (1, 1));
    assert_eq!(
        refused("plugins: [ { tag: c, type: cache, args: { size: [1], lazy_cache_ttl: -1 } } ]"),
        ["plugins.0.args.size: a list is where a whole number is expected",]
    );
}

#[test]
fn unknown_keys_are_errors_in_mosdns_and_warnings_in_oxidns() {
    let text = "logs: {}\n\
        plugins: [ { tag: c, typ: cache, type: cache, args: { sise: 2048 } } ]";
    assert_eq!(
        refused(text),
        [
            "logs: \"logs\" is not known here; did you mean \"log\"?",
            "plugins.0.typ: \"typ\" is not known here; did you mean \"type\"?",
            "plugins.0.args.sise: \"sise\" is not known here; did you mean \"size\"?",
        ]
    );
    let foreign = read(&format!("runtime: {{}}\n{text}"));
    assert_eq!(foreign.warnings.len(), 3);
    assert!(lines(&foreign.warnings)[1].contains("has no effect; did you mean"));
    // Case counts in OxiDNS only.
    assert!(try_read("plugins: [ { TAG: c, type: cache } ]").is_ok());
    assert!(try_read("runtime: {}\nplugins: [ { TAG: c, type: cache } ]").is_err());
}

#[test]
fn all_complaints_come_at_once_with_their_places() {
    let text = "
log: { level: loud }
plugins:
  - { tag: a, type: forwrd }
  - { tag: a, type: forward, args: { upstreams: [ { addr: dns.test }, { addr: ftp://x } ] } }
  - { tag: b, type: black_hole }
  - { tag: d, type: udp_server, args: { listen: nowhere } }
";
    assert_eq!(
        refused(&text.replace("black_hole", "blackhole")),
        [
            "log.level: \"loud\" is no level; debug, info, warn or error",
            "plugins.0.type: \"forwrd\" is no type of plugins; did you mean \"forward\"?",
            "plugins.1.args.upstreams.0.addr: plain DNS goes to an IP address, not to \"dns.test\"; \
             write its address, or use tls:// or https://",
            "plugins.1.args.upstreams.1.addr: \"ftp\" is no protocol of upstreams",
            "plugins.1.tag: the tag \"a\" is taken; the other one is at plugins.0.tag",
            "plugins.2.type: \"blackhole\" is no type of plugins",
            "plugins.3.args: \"entry\" is missing",
            "plugins.3.args.listen: \"nowhere\" is no IP address with a port; \
             for example 127.0.0.1:53, or :53 for all addresses",
        ]
    );
    assert_eq!(refused("plugins: []"), ["plugins: there are no plugins"]);
    assert_eq!(
        refused("plugins: 3"),
        ["plugins: a number is where keys are expected", "plugins: \"type\" is missing",]
    );
}

#[test]
fn the_frame_is_read() {
    let foreign = read(&format!(
        "log: {{ level: WARN, file: /var/log/m.log, production: true }}\n\
         api: {{ http: \"127.0.0.1:9091\" }}\n{}",
        mosdns("- exec: accept")
    ));
    assert_eq!(foreign.log.level, LogLevel::Warn);
    assert_eq!(foreign.log.file.unwrap().text, "/var/log/m.log");
    assert_eq!(foreign.api.unwrap().listen.text, "127.0.0.1:9091");
    let foreign = read(&format!(
        "api: {{ http: {{ listen: \":9199\", webui: {{ root: x }} }} }}\n\
         log: {{ rotation: {{ type: daily, max_files: 7 }} }}\n\
         runtime: {{ worker_threads: 4 }}\n{}",
        mosdns("- exec: accept")
    ));
    assert_eq!(foreign.runtime.worker_threads, Some(4));
    assert_eq!(foreign.api.unwrap().listen.text, "[::]:9199");
    assert_eq!(foreign.warnings.len(), 2);
}

#[test]
fn mosdns_includes_from_the_working_directory_and_first() {
    let mut disk = Disk::default();
    disk.files.insert(
        "work/sub/a.yaml",
        "log: { level: debug }\ninclude: [b.yaml]\n\
        plugins: [ { tag: a, type: cache } ]",
    );
    disk.files.insert("work/b.yaml", "plugins: [ { tag: b, type: cache, args: { sizze: 1 } } ]");
    let main = yaml("include: sub/a.yaml\nplugins: [ { tag: c, type: cache } ]");
    let complaints = language::read(&main, &disk).unwrap_err();
    assert_eq!(
        lines(&complaints),
        ["include: b.yaml, plugins.0.args.sizze: \"sizze\" is not known here; \
          did you mean \"size\"?"]
    );
    disk.files.insert("work/b.yaml", "plugins: [ { tag: b, type: cache } ]");
    let foreign = language::read(&main, &disk).unwrap();
    let tags: Vec<&str> = foreign.plugins.iter().map(|it| it.tag.as_str()).collect();
    assert_eq!((foreign.dialect, tags), (Dialect::Mosdns, vec!["b", "a", "c", "_sleep_500ms"]));
    assert_eq!(foreign.log.level, LogLevel::Info, "an included log says nothing");
}

#[test]
fn oxidns_includes_from_the_folder_of_the_file_that_names_them() {
    let mut disk = Disk::default();
    disk.files.insert("home/sub/a.yaml", "include: [b.yaml]\nplugins: [ { tag: a, type: cache } ]");
    disk.files.insert("home/sub/b.yaml", "plugins: [ { tag: b, type: drop_resp } ]");
    let main = yaml("include: [sub/a.yaml]\nplugins: [ { tag: c, type: cache } ]");
    let foreign = language::read(&main, &disk).unwrap();
    let tags: Vec<&str> = foreign.plugins.iter().map(|it| it.tag.as_str()).collect();
    assert_eq!((foreign.dialect, tags), (Dialect::Oxidns, vec!["b", "a", "c"]));
    assert_eq!(foreign.plugins[0].position.file(), Some("sub/b.yaml"));
    assert_eq!(foreign.plugins[0].position.keys(), "include.0");

    let main = yaml("runtime: {}\ninclude: [sub/none.yaml]\nplugins: []");
    assert_eq!(
        lines(&language::read(&main, &disk).unwrap_err()),
        ["include.0: sub/none.yaml: no such file"]
    );
}

#[test]
fn files_that_include_one_another_are_refused() {
    let mut disk = Disk::default();
    disk.files.insert("work/a.yaml", "include: [a.yaml]");
    let main = yaml("include: [a.yaml]\nplugins: []");
    let complaints = lines(&language::read(&main, &disk).unwrap_err());
    assert_eq!(complaints.len(), 1);
    assert!(complaints[0].contains("too deep"), "{complaints:?}");
}

#[test]
fn servers_listen_where_the_peers_do() {
    let listen =
        |args: &str| server(&format!("plugins: [ {{ type: udp_server, args: {args} }} ]")).listen;
    let addresses = |texts: &[&str]| -> Vec<SocketAddr> {
        texts.iter().map(|it| it.parse().unwrap()).collect()
    };
    assert_eq!(listen("{ entry: a }"), addresses(&["127.0.0.1:53"]));
    assert_eq!(listen("{ entry: a, listen: \":53\" }"), addresses(&["0.0.0.0:53", "[::]:53"]));
    assert_eq!(listen("{ entry: a, listen: \"[::]:5\" }"), addresses(&["0.0.0.0:5", "[::]:5"]));
    assert_eq!(listen("{ entry: a, listen: \"0.0.0.0:53\" }"), addresses(&["0.0.0.0:53"]));
    assert_eq!(
        refused("plugins: [ { type: tcp_server, args: { entry: a, listen: \"@dns\" } } ]"),
        ["plugins.0.args.listen: \"@dns\" is a Unix socket; \
          listen at an IP address, for example 127.0.0.1:53"]
    );
    let tcp = server("plugins: [ { type: tcp_server, args: { entry: a } } ]");
    assert_eq!(tcp.idle, Duration::from_secs(10));
    let http = server(
        "plugins: [ { type: http_server, args: { listen: \":80\", src_ip_header: X-Real-IP, \
         entries: { path: /dns-query, exec: a } } } ]",
    );
    assert_eq!((http.idle, http.entries.len()), (Duration::from_secs(30), 1));
    assert_eq!(http.source_header.unwrap().text, "X-Real-IP");
    let timed = server(
        "plugins: [ { tag: s, type: tcp_server, \
         args: { entry: a, listen: \":853\", cert: c, key: k, idle_timeout: 2m } } ]",
    );
    assert_eq!(timed.idle, Duration::from_mins(2));
    assert_eq!(
        refused(&format!(
            "{}  - {{ type: quic_server, args: {{ entry: main, listen: \":853\" }} }}\n\
            {:2}- {{ type: tcp_server, args: {{ entry: main, cert: c }} }}",
            mosdns("- exec: accept"),
            ""
        )),
        [
            "plugins.2.args: DNS over QUIC needs a certificate; set `cert` and `key`",
            "plugins.3.args: a certificate and its key go together; \
             set `cert` and `key`, or neither",
        ]
    );
}

#[test]
fn what_is_not_built_yet_says_so() {
    for plugin in [
        "{ tag: a, type: upgrade }",
        "{ tag: a, type: forward, args: { upstreams: [ { addr: \"sdns://AQ\" } ] } }",
    ] {
        let complaints = refused(&format!("plugins: [ {plugin} ]"));
        assert!(complaints[0].contains("not yet supported"), "{plugin}: {complaints:?}");
    }
    assert!(refused(&oxidns("- exec: upgrade force=true"))[0].contains("not yet supported"));
}
