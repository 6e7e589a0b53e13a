//! Files of mosdns and OxiDNS that are imported: each is also run as it is, and both are asked the
//! same questions.

use std::net::SocketAddr;
use std::path::Path;
use tidegate_tests::Scratch;
use tidegate_tests::compare_pack::answer;
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{Tidegate, run};

/// A file, the files beside it, and what it is to become.
struct PipelineSample {
    program: &'static str,
    text: &'static str,
    beside: &'static [(&'static str, &'static str)],
    form: ImportedForm,
    questions: &'static [&'static [&'static str]],
    /// Texts of the configuration that comes of it.
    due: &'static [&'static str],
}

/// Form of a configuration.
#[derive(PartialEq)]
enum ImportedForm {
    Settings,
    Pipeline,
}

/// Upstreams that the files ask, where `HOME` and `WORLD` stand.
struct TwoUpstreams {
    home: Resolver,
    world: Resolver,
}

impl TwoUpstreams {
    fn start() -> Self {
        let table = |last: u8| {
            let at = |name| (name, Reply::Address([192, 0, 2, last].into()));
            let all = [
                at("www.example.com"),
                at("nas.lan"),
                at("a.cn.test"),
                at("cn.test"),
                at("deep.a.cn.test"),
                at("ads.example.com"),
                at("x.ads.example.com"),
                at("other.example.com"),
                at("new.example.com"),
                at("tracker9.example.com"),
            ];
            let alias = (
                "alias.example.com",
                Reply::Alias("t.example.com".into(), [192, 0, 2, last].into()),
            );
            Resolver::start(&all.into_iter().chain([alias]).collect::<Vec<_>>())
        };
        Self { home: table(1), world: table(2) }
    }

    fn put_in(&self, text: &str) -> String {
        let text = text.replace("HOME", &self.home.address.to_string());
        text.replace("WORLD", &self.world.address.to_string())
    }
}

/// The configuration that an import makes of a file, checked where it would stand.
fn imported(program: &str, file: &Path, scratch: &Scratch) -> String {
    let output = run(&["import", program, file.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
    let yaml = String::from_utf8(output.stdout).unwrap();
    let made = scratch.write("made.yaml", &yaml);
    let state = scratch.path().join("check-state");
    let (made, state) = (made.to_str().unwrap(), state.to_str().unwrap());
    let checked = run(&["--config", made, "--state", state, "check"]);
    let wrong = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{wrong}\n{yaml}");
    yaml
}

fn files_of(sample: &PipelineSample, upstreams: &TwoUpstreams) -> Scratch {
    let scratch = Scratch::new();
    for (name, text) in sample.beside {
        scratch.write(name, upstreams.put_in(text));
    }
    scratch
}

fn check(sample: &PipelineSample) {
    let upstreams = TwoUpstreams::start();
    let text = upstreams.put_in(sample.text);
    let scratch = files_of(sample, &upstreams);
    let file = scratch.write("theirs.yaml", &text);
    let yaml = imported(sample.program, &file, &scratch);
    let has_pipeline = yaml.contains("\n  pipeline:");
    assert_eq!(has_pipeline, sample.form == ImportedForm::Pipeline, "{yaml}");
    for due in sample.due {
        assert!(yaml.contains(&upstreams.put_in(due)), "{due}\n{yaml}");
    }
    let before = Tidegate::start_in(files_of(sample, &upstreams), &text);
    let after = Tidegate::start_in(scratch, &yaml);
    let asked = |edge: &Tidegate, question: &[&str]| {
        let at: SocketAddr = edge.address("dns", "udp");
        answer(at, question)
    };
    for question in sample.questions {
        // The second comes from a cache, where there is one.
        for _ in 0..2 {
            let (was, is) = (asked(&before, question), asked(&after, question));
            assert_eq!(was, is, "{question:?}\n{yaml}");
        }
    }
}

/// The file that OxiDNS ships.
const OXIDNS_DEFAULT: PipelineSample = PipelineSample {
    program: "oxidns",
    text: "log: { level: info }
api:
  http: { listen: '127.0.0.1:0', webui: { root: ./webui } }
plugins:
  - { tag: forward, type: forward, args: { upstreams: [{ addr: 'WORLD' }] } }
  - { tag: main_sequence, type: sequence, args: [{ exec: $forward }, { exec: accept }] }
  - { tag: udp_server, type: udp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
  - { tag: tcp_server, type: tcp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
",
    beside: &[],
    form: ImportedForm::Settings,
    questions: &[
        &["www.example.com"],
        &["www.example.com", "AAAA"],
        &["alias.example.com"],
        &["nowhere.example"],
        &["use-application-dns.net"],
        &["www.example.com", "TXT"],
    ],
    due: &[
        "listen: [\"udp://127.0.0.1:0\", \"tcp://127.0.0.1:0\"]",
        "upstreams: [\"udp://WORLD\"]",
    ],
};

/// The file of its minimal builds, which nothing tells from one of mosdns.
const OXIDNS_MINIMAL: PipelineSample = PipelineSample {
    program: "oxidns",
    text: "log: { level: info }
plugins:
  - { tag: forward, type: forward, args: { upstreams: [{ addr: 'WORLD' }] } }
  - { tag: main_sequence, type: sequence, args: [{ exec: $forward }, { exec: accept }] }
  - { tag: udp_server, type: udp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
api: { http: '127.0.0.1:0' }
",
    due: &["listen: [\"udp://127.0.0.1:0\"]", "upstreams: [\"udp://WORLD\"]"],
    ..OXIDNS_DEFAULT
};

/// Names, records and lists in front of a cache.
const MOSDNS_SETTINGS: PipelineSample = PipelineSample {
    program: "mosdns",
    text: "log: { level: warn, production: true }
api: { http: '127.0.0.1:0' }
plugins:
  - tag: cn
    type: domain_set
    args: { exps: ['domain:cn.test', 'lan'] }
  - { tag: ads, type: domain_set, args: { files: [ads.txt] } }
  - { tag: hosts, type: hosts, args: { entries: ['printer.example.com 192.0.2.77 2001:db8::7', 'domain:dev.test 192.0.2.78'] } }
  - { tag: names, type: redirect, args: { rules: ['full:old.example.com new.example.com'] } }
  - { tag: cache, type: cache, args: { size: 4096, lazy_cache_ttl: 86400 } }
  - { tag: home, type: forward, args: { upstreams: [{ addr: 'HOME' }] } }
  - tag: world
    type: forward
    args: { concurrent: 2, upstreams: [{ tag: one, addr: 'udp://WORLD' }, { tag: two, addr: 'tcp://WORLD', idle_timeout: 30 }] }
  - { tag: unused, type: cache, args: { size: 1024 } }
  - tag: ended
    type: sequence
    args: [{ matches: has_resp, exec: accept }]
  - tag: main_sequence
    type: sequence
    args:
      - exec: metrics_collector all
      - { matches: 'client_ip 192.0.2.99', exec: reject 5 }
      - exec: $names
      - { matches: qtype 65, exec: reject 0 }
      - exec: $hosts
      - exec: jump ended
      - { matches: qname $ads, exec: reject 3 }
      - exec: $cache
      - { matches: [has_resp], exec: accept }
      - { matches: [qname $cn], exec: $home }
      - exec: jump ended
      - exec: $world
      - exec: accept
  - { type: udp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
",
    beside: &[("ads.txt", "# ads\ndomain:ads.example.com\nregexp:^tracker[0-9]+[.]\n")],
    form: ImportedForm::Settings,
    questions: &[
        &["www.example.com"],
        &["a.cn.test"],
        &["deep.a.cn.test"],
        &["cn.test"],
        &["nas.lan"],
        &["ads.example.com"],
        &["x.ads.example.com"],
        &["tracker9.example.com"],
        &["printer.example.com"],
        &["printer.example.com", "AAAA"],
        &["x.dev.test"],
        &["x.dev.test", "AAAA"],
        &["old.example.com"],
        &["www.example.com", "HTTPS"],
        &["nowhere.example"],
    ],
    due: &[
        "domains: [\"cn.test\", \"lan\"]",
        "path: \"ads.txt\"",
        "blocked: \"nxdomain\"",
        "stale: \"1d\"",
        "filter_types: [\"HTTPS\"]",
        "deny: [\"192.0.2.99/32\"]",
        "strategy: \"race\"",
        "format: \"json\"",
    ],
};

/// OxiDNS' own words: filters of AdGuard, views, a black hole, ends at answers.
const OXIDNS_SETTINGS: PipelineSample = PipelineSample {
    program: "oxidns",
    text: "api: { http: { listen: '127.0.0.1:0' } }
plugins:
  - { tag: rules, type: adguard_rule, args: { files: [filters.txt], rules: ['||tracker9.example.com^'] } }
  - { tag: hole, type: black_hole, args: { ips: [0.0.0.0, '::'], short_circuit: true } }
  - { tag: hosts, type: hosts, args: { entries: ['printer.example.com 192.0.2.77'], short_circuit: true } }
  - { tag: limit, type: rate_limiter, args: { qps: 2000, burst: 4000 } }
  - { tag: record, type: query_recorder, args: { path: queries.sqlite } }
  - { tag: cache, type: cache, args: { size: 8192, short_circuit: true, max_positive_ttl: 3600, cache_negative: false } }
  - { tag: home, type: forward, args: { upstreams: [{ addr: 'HOME', timeout: 3s }] } }
  - { tag: world, type: forward, args: { upstreams: [{ addr: 'WORLD' }] } }
  - { tag: both, type: fallback, args: { primary: world, secondary: home, threshold: 400 } }
  - tag: lan
    type: sequence
    args: [{ exec: $home }, { exec: accept }]
  - tag: main_sequence
    type: sequence
    args:
      - exec: $record
      - { matches: '!$limit', exec: reject REFUSED }
      - exec: $hosts
      - { matches: 'question $rules', exec: $hole }
      - { matches: 'client_ip 127.0.0.9', exec: goto lan }
      - { matches: 'qname domain:cn.test', exec: goto lan }
      - exec: $cache
      - exec: $both
  - { tag: udp, type: udp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
",
    beside: &[("filters.txt", "[Adblock Plus 2.0]\n||ads.example.com^\n@@||x.ads.example.com^\n")],
    form: ImportedForm::Settings,
    questions: &[
        &["www.example.com"],
        &["a.cn.test"],
        &["ads.example.com"],
        &["ads.example.com", "AAAA"],
        &["x.ads.example.com"],
        &["tracker9.example.com"],
        &["printer.example.com"],
        &["www.example.com", "-b", "127.0.0.9"],
        &["ads.example.com", "-b", "127.0.0.9"],
        &["a.cn.test", "-b", "127.0.0.9"],
        &["nowhere.example"],
    ],
    due: &[
        "blocked: \"null\"",
        "clients: [\"127.0.0.9/32\"]",
        "fallback:",
        "queries_per_second: 2000",
        "path: \"filters.txt\"",
        "max_ttl: \"1h\"",
    ],
};

/// The shape of most published files: names of files, and a test of the answer's addresses.
const MOSDNS_PIPELINE: PipelineSample = PipelineSample {
    program: "mosdns",
    text: "include: [sets.yaml]
api: { http: '127.0.0.1:0' }
plugins:
  - { tag: home, type: forward, args: { upstreams: [{ addr: 'HOME' }] } }
  - { tag: world, type: forward, args: { upstreams: [{ addr: 'WORLD' }] } }
  - { tag: cache, type: cache, args: { size: 1024 } }
  - tag: home_only
    type: sequence
    args:
      - exec: $home
      - { matches: '!resp_ip $near', exec: drop_resp }
  - { tag: both, type: fallback, args: { primary: home_only, secondary: world, threshold: 400 } }
  - tag: main_sequence
    type: sequence
    args:
      - exec: $cache
      - { matches: has_resp, exec: accept }
      - { matches: qname $cn, exec: $home }
      - { matches: has_resp, exec: accept }
      - exec: $both
  - { tag: udp, type: udp_server, args: { entry: main_sequence, listen: '127.0.0.1:0' } }
",
    beside: &[
        (
            "sets.yaml",
            "plugins:\n  - { tag: cn, type: domain_set, args: { files: [./cn.txt] } }\n  - { tag: \
             near, type: ip_set, args: { ips: ['192.0.2.9'] } }\n",
        ),
        ("cn.txt", "cn.test\n"),
    ],
    form: ImportedForm::Pipeline,
    questions: &[&["www.example.com"], &["a.cn.test"], &["nas.lan"], &["nowhere.example"]],
    due: &["tag: \"main\"", "listen: [\"udp://127.0.0.1:0\"]"],
};

/// A pipeline in which nothing but the command tells that it is OxiDNS': what no rule answers is
/// empty there.
const OXIDNS_PIPELINE: PipelineSample = PipelineSample {
    program: "oxidns",
    text: "runtime: { worker_threads: 2 }
api: { http: '127.0.0.1:0' }
plugins:
  - tag: main
    type: sequence
    args:
      - { matches: 'qname keyword:www', exec: forward WORLD }
      - { matches: has_resp, exec: accept }
  - { tag: udp, type: udp_server, args: { entry: main, listen: '127.0.0.1:0' } }
",
    beside: &[],
    form: ImportedForm::Pipeline,
    questions: &[&["www.example.com"], &["nas.lan"]],
    due: &["pipeline_language: \"oxidns\""],
};

#[test]
fn the_files_that_oxidns_ships_become_settings_and_answer_as_before() {
    check(&OXIDNS_DEFAULT);
    check(&OXIDNS_MINIMAL);
}

#[test]
fn names_records_lists_and_cache_of_mosdns_become_settings_that_answer_as_before() {
    check(&MOSDNS_SETTINGS);
}

#[test]
fn filters_views_and_a_second_resort_of_oxidns_become_settings_that_answer_as_before() {
    check(&OXIDNS_SETTINGS);
}

#[test]
fn what_settings_cannot_say_stays_a_pipeline_that_answers_as_before() {
    check(&MOSDNS_PIPELINE);
    check(&OXIDNS_PIPELINE);
}

#[test]
fn the_report_has_each_rule_with_its_line_and_says_why_a_pipeline_stays_one() {
    let upstreams = TwoUpstreams::start();
    let scratch = files_of(&MOSDNS_PIPELINE, &upstreams);
    let file = scratch.write("theirs.yaml", upstreams.put_in(MOSDNS_PIPELINE.text));
    let told = run(&["import", "mosdns", file.to_str().unwrap(), "--compare"]);
    let told = String::from_utf8(told.stdout).unwrap();
    let row = |line: usize, said: &str, why: &str| {
        let place = format!("theirs.yaml:{line} ");
        let found =
            told.lines().any(|it| it.contains(&place) && it.contains(said) && it.contains(why));
        assert!(found, "{line} {said} {why}\n{told}");
    };
    row(11, "!resp_ip $near: drop_resp", "no setting tests addresses in an answer");
    row(18, "qname $cn: $home", "names that are written, and no files of them");
    row(21, "udp_server udp", "dns.listen");
    assert!(
        told.lines().any(|it| it.contains("sets.yaml:2 ") && it.contains("domain_set cn")),
        "{told}"
    );
    let json = run(&["import", "mosdns", file.to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["program"], "mosdns");
}

#[test]
fn a_file_of_the_other_program_is_refused_by_name() {
    let upstreams = TwoUpstreams::start();
    let scratch = files_of(&OXIDNS_SETTINGS, &upstreams);
    let file = scratch.write("theirs.yaml", upstreams.put_in(OXIDNS_SETTINGS.text));
    let refused = run(&["import", "mosdns", file.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && told.contains("write tidegate import oxidns"), "{told}");
}
