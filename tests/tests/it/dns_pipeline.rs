//! mosdns and OxiDNS files as the DNS door: every file of the compare pack is run by the binary,
//! asked by dig, and must answer what the file says. What must be answered was read from the files
//! and agrees with what OxiDNS 1.0 and mosdns 5.3.4 answer, but for the faults that are not copied.

use std::net::Ipv4Addr;
use tidegate_tests::clients::dig;
use tidegate_tests::compare_pack::{self, answer, moved, start, start_with};
use tidegate_tests::resolver::{Reply, Resolver};
use tidegate_tests::tidegate::{self, Tidegate};

const SITE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

/// A file, a question, the code and the records of its answer.
type Row = (&'static str, &'static [&'static str], &'static str, &'static str);

const OK: &str = "NOERROR";
const A: &[&str] = &["bench.test"];
const AAAA: &[&str] = &["bench.test", "AAAA"];

/// Answers from an upstream.
const FORWARDS: &[Row] = &[
    ("01", &["www.baidu.com"], OK, "198.18.0.1"),
    ("01", &["nowhere.example"], "NXDOMAIN", ""),
    ("02", &["www.baidu.com"], OK, "198.18.0.1"),
    ("04", &["www.baidu.com"], OK, "198.18.0.1"),
    ("05", &["www.baidu.com"], OK, "198.18.0.1"),
    ("40", &["x.invalid"], "NXDOMAIN", ""),
    ("40", &["www.baidu.com"], "SERVFAIL", ""),
    ("41", &["www.baidu.com"], OK, "198.18.0.1"),
];

/// Answers from tables in the file.
const LOCAL: &[Row] = &[
    ("06", &["bench.local"], OK, "192.0.2.10"),
    ("06", &["metrics.bench.local", "AAAA"], OK, "2001:db8::60"),
    ("06", &["txt.bench.local", "TXT"], OK, "\"forge-bench\""),
    ("06", &["alias.bench.local", "CNAME"], OK, "target.bench.local."),
    ("06", &["target.bench.local"], OK, "192.0.2.30"),
    ("06", &["x.test"], "NXDOMAIN", ""),
    ("25", &["bench.test", "CNAME"], OK, "target.bench.test."),
    ("38", A, OK, "target.bench.test. 192.0.2.10"),
    ("38", &["target.bench.test"], OK, "192.0.2.10"),
    ("38", &["other.test"], "SERVFAIL", ""),
    ("39", A, OK, "192.0.2.10"),
    ("39", &["10.2.0.192.in-addr.arpa", "PTR"], OK, "bench.test."),
    ("39", &["99.2.0.192.in-addr.arpa", "PTR"], "SERVFAIL", ""),
    ("42", A, OK, "target.bench.test. 192.0.2.10"),
    ("42", &["bench-alt.test"], OK, "target-alt.bench.test. 192.0.2.11"),
    ("42", &["bench-v6.test", "AAAA"], OK, "target-v6.bench.test. 2001:db8::10"),
    ("42", &["other.test"], "SERVFAIL", ""),
];

/// Sets of names and addresses, 144 k names and their regular expressions among them.
const SETS: &[Row] = &[
    ("08", &["265.com"], "REFUSED", ""),
    ("08", &["bench-miss-01.example"], "SERVFAIL", ""),
    ("09", &["ipset-01.bench.test"], OK, "10.1.0.10"),
    ("09", &["ipset-05.bench.test"], "SERVFAIL", ""),
    ("43", &["265.com"], OK, "10.1.0.10"),
    ("43", &["azure.microsoft.com"], OK, "198.51.100.10"),
    ("43", &["bench-provider-miss-01.example"], "SERVFAIL", ""),
    ("45", &["265.com"], "REFUSED", ""),
    ("45", &["x.265.com"], "REFUSED", ""),
    ("45", &["bench-miss-01.example"], "SERVFAIL", ""),
    ("46", &["ipset-01.bench.test"], OK, "10.1.0.10"),
    ("46", &["ipset-05.bench.test"], "SERVFAIL", ""),
];

/// One matcher each.
const MATCHERS: &[Row] = &[
    ("10", A, "REFUSED", ""),
    ("11", A, "REFUSED", ""),
    ("12", A, "SERVFAIL", ""),
    ("13", A, "REFUSED", ""),
    ("13", &["x.bench.test"], "SERVFAIL", ""),
    ("14", A, "REFUSED", ""),
    ("14", AAAA, "SERVFAIL", ""),
    ("15", A, "REFUSED", ""),
    ("16", A, "REFUSED", ""),
    ("18", A, "SERVFAIL", ""),
    ("19", A, "REFUSED", ""),
    ("20", A, "REFUSED", ""),
    ("22", A, OK, "192.0.2.10"),
    ("22", AAAA, "SERVFAIL", ""),
    ("23", A, OK, "192.0.2.10"),
    ("23", AAAA, "SERVFAIL", ""),
    ("24", A, OK, "192.0.2.10"),
    ("26", &["10.2.0.192.in-addr.arpa", "PTR"], "REFUSED", ""),
    ("26", &["11.2.0.192.in-addr.arpa", "PTR"], "SERVFAIL", ""),
    ("26", A, "SERVFAIL", ""),
];

/// One executor each.
const EXECUTORS: &[Row] = &[
    ("27", A, OK, "192.0.2.10"),
    ("28", A, OK, "192.0.2.10"),
    ("29", A, OK, "192.0.2.10"),
    ("30", A, OK, "192.0.2.10"),
    ("31", A, OK, "192.0.2.10"),
    ("32", A, OK, "192.0.2.10"),
    ("33", A, OK, "192.0.2.10"),
    ("34", A, OK, "192.0.2.10"),
    ("35", A, OK, "192.0.2.10"),
    ("36", A, OK, "192.0.2.10"),
    ("36", AAAA, OK, ""),
    ("37", AAAA, OK, "2001:db8::10"),
    ("37", A, OK, ""),
    ("44", A, OK, "192.0.2.10"),
];

/// Files that have a test of their own below.
const ALONE: [&str; 4] = ["03", "07", "17", "47"];

fn upstream() -> Resolver {
    Resolver::start(&[("www.baidu.com", Reply::Address(SITE))])
}

/// Asks every row of the table; a file is started once for all its rows.
fn check(rows: &[Row]) {
    let upstream = upstream();
    let mut wrong = Vec::new();
    for of_file in rows.chunk_by(|one, next| one.0 == next.0) {
        let edge = start(of_file[0].0, upstream.address);
        let dns = edge.address("dns", "udp");
        for (file, question, code, records) in of_file {
            let got = answer(dns, question);
            if got != ((*code).to_owned(), (*records).to_owned()) {
                wrong.push(format!("{file} {question:?}: {got:?}, not {code} {records:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_of_the_pack_stands_in_a_table() {
    let tables = [FORWARDS, LOCAL, SETS, MATCHERS, EXECUTORS].concat();
    let files = compare_pack::files();
    assert_eq!(files.len(), 46);
    for file in files {
        let number = &file[..2];
        let known = ALONE.contains(&number) || tables.iter().any(|row| row.0 == number);
        assert!(known, "{file} is asked by no test");
    }
}

#[test]
fn files_that_forward_answer_from_their_upstream() {
    check(FORWARDS);
}

#[test]
fn files_with_hosts_records_and_redirects_answer_from_them() {
    check(LOCAL);
}

#[test]
fn files_with_sets_tell_their_members_from_the_rest() {
    check(SETS);
}

#[test]
fn every_matcher_of_the_pack_decides_as_its_name_says() {
    check(MATCHERS);
}

#[test]
fn every_executor_of_the_pack_leaves_its_answer() {
    check(EXECUTORS);
}

#[test]
fn one_entry_serves_udp_and_tcp() {
    let upstream = upstream();
    for (file, question, records) in
        [("03", "www.baidu.com", "198.18.0.1"), ("47", "bench.test", "192.0.2.10")]
    {
        let edge = start(file, upstream.address);
        let expected = (OK.to_owned(), records.to_owned());
        assert_eq!(answer(edge.address("dns", "udp"), &[question]), expected, "{file} by UDP");
        assert_eq!(
            answer(edge.address("dns", "tcp"), &["+tcp", question]),
            expected,
            "{file} by TCP"
        );
    }
}

#[test]
fn an_upstream_is_asked_by_https() {
    let upstream = upstream();
    let resolver = Tidegate::start(&format!(
        r#"
dns: {{ listen: ["https://127.0.0.1:0/dns-query"], upstreams: ["udp://{}"] }}
admin: {{ listen: "127.0.0.1:0" }}
"#,
        upstream.address
    ));
    let https = resolver.address("dns", "https");
    let there = format!("https://dns.alidns.com:{}/dns-query", https.port());
    let text = moved("07", upstream.address)
        .replace("https://dns.alidns.com/dns-query", &there)
        // Its certificate is signed by its own authority, which nobody else knows.
        .replace("\"223.5.5.5\"", "\"127.0.0.1\"\n          insecure_skip_verify: true");
    let edge = Tidegate::start(&text);
    let got = answer(edge.address("dns", "udp"), &["www.baidu.com"]);
    assert_eq!(got, (OK.to_owned(), "198.18.0.1".to_owned()));
}

#[test]
fn a_variable_is_compared_with_its_value() {
    // mosdns overwrites the name by the value and never finds it: that is not copied.
    let upstream = upstream();
    for (value, code) in [("1", "REFUSED"), ("0", "SERVFAIL")] {
        let edge = start_with("18", upstream.address, &[("BENCH_PLUGIN_FLAG", value)]);
        let got = answer(edge.address("dns", "udp"), A);
        assert_eq!(got, (code.to_owned(), String::new()), "BENCH_PLUGIN_FLAG={value}");
    }
}

#[test]
fn the_life_of_an_answer_is_what_the_file_sets() {
    let upstream = upstream();
    let edge = start("28", upstream.address);
    let text = dig(edge.address("dns", "udp"), A);
    assert!(text.contains("bench.test.\t\t60\tIN\tA\t192.0.2.10"), "{text}");
}

#[test]
fn what_both_peers_refuse_is_refused_with_its_place() {
    let upstream = upstream();
    let scratch = compare_pack::scratch();
    let text = moved("17", upstream.address);
    let line = 1 + text.lines().position(|line| line.contains("mark plugin-bench")).unwrap();
    let state = scratch.path().join("state");
    let (said, code) = tidegate::refused(&text, &scratch, &state);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains(&format!("tidegate.yaml:{line}:")), "line {line}: {said}");
    assert!(said.contains("plugin-bench") && said.contains("number"), "{said}");
}
