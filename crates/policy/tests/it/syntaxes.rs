//! Syntaxes of whole lists, and texts that are no list.

use crate::support::{Fetch, blocks, fetch, lookup, name, policy, rules};
use policy::{SkipReason, Syntax, Unfit};
use vocab::Kind;

fn check(list: &str, host: &str, blocked: bool) {
    assert_eq!(blocks(lookup(&policy(list), host)), blocked, "{host} by {list:?}");
}

fn check_url(list: &str, url: &str, blocked: bool) {
    let request = Fetch(url, Kind::Document, "");
    assert_eq!(blocks(fetch(&policy(list), request)), blocked, "{url} by {list:?}");
}

#[test]
fn geosite_lines_reach_as_far_as_they_say() {
    let list =
        "domain:a.example @ads\nfull:b.example\nkeyword:tracker\nregexp:^ad[0-9]+\\.\nc.example";
    assert_eq!(rules(list).lists()[0].syntax, Syntax::Geosite);
    check(list, "a.example", true);
    check(list, "www.a.example", true);
    check(list, "b.example", true);
    check(list, "www.b.example", false);
    check(list, "my-tracker-7.example", true);
    check(list, "ad12.example", true);
    check(list, "bad12.example", false);
    // In such a file a bare name holds for those below it, too.
    check(list, "www.c.example", true);
    // What is said of names is not held against the rest of a URL.
    check_url(list, "https://z.example/tracker?ad12.", false);
    check_url(list, "https://tracker.example/", true);
    let rules = rules("include:cn\nfull:a.example");
    assert_eq!(rules.lists()[0].skipped_by_reason, [(SkipReason::Include, 1)]);
}

#[test]
fn unbound_zones_block_with_all_below() {
    let list = "server:\nlocal-zone: \"a.example\" always_nxdomain\n\
                local-data: \"b.example A 0.0.0.0\"\nlocal-zone: \"c.example.\" refuse";
    assert_eq!(rules(list).lists()[0].syntax, Syntax::Unbound);
    check(list, "www.a.example", true);
    check(list, "b.example", true);
    check(list, "www.b.example", false);
    check(list, "x.c.example", true);
    let policy = policy(list);
    let rule = lookup(&policy, "www.a.example").cause.rule().unwrap();
    let text = policy.rule_text(rule, name("www.a.example")).unwrap().text;
    assert_eq!(text, "local-zone: \"a.example\" always_nxdomain");
}

#[test]
fn squid_expressions_are_about_urls_pages_among_them() {
    let list = "# blocked\n^https?://ads\\.\n\\.exe$\n-i\n/BANNER[0-9]/\n+i\n/Case/x\\.";
    assert_eq!(rules(list).lists()[0].syntax, Syntax::UrlRegex);
    check_url(list, "https://ads.example/", true);
    check_url(list, "https://a.example/setup.exe", true);
    check_url(list, "https://a.example/setup.exe?x", false);
    check_url(list, "https://a.example/banner7/", true);
    check_url(list, "https://a.example/Case/x.", true);
    check_url(list, "https://a.example/case/x.", false);
    check(list, "ads.example", false);
    let marked = "# syntax: url_regex\n/banner/";
    check_url(marked, "https://a.example/banner/", true);
}

#[test]
fn dnsmasq_lines_block_with_all_below() {
    for line in [
        "address=/a.example/",
        "server=/a.example/",
        "local=/a.example/",
        "address=/b.c/a.example/#",
    ] {
        check(line, "www.a.example", true);
    }
}

#[test]
fn a_text_that_is_no_list_is_refused_as_a_whole() {
    let report = |text: &[u8]| {
        let source =
            policy::ListSource { name: "x", kind: policy::ListKind::Block, text, files: &[] };
        let rules = policy::compile(&[source], 1);
        let report = rules.lists()[0].clone();
        (report.unfit, report.rules_names + report.rules_urls)
    };
    assert_eq!(report(b" \n"), (Some(Unfit::Empty), 0));
    let page = b"<!DOCTYPE html>\n<html>\n||a.example^\n404.example\n";
    assert_eq!(report(page), (Some(Unfit::WebPage), 0));
    assert_eq!(report(b"\x1f\x8b\x08a.example\n"), (Some(Unfit::Binary), 0));
    assert_eq!(report(&vec![0; 50 << 20]), (Some(Unfit::Binary), 0));
    let utf16: Vec<u8> = "||a.example^\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(report(&utf16), (Some(Unfit::Utf16), 0));
    assert_eq!(report(b"Sorry, we moved.\nNothing is here\n"), (Some(Unfit::NoRules), 0));
    assert_eq!(report(b"! only comments\n"), (None, 0));
    assert_eq!(report(b"a.example##.ad\nSorry, we moved\n"), (None, 0));
}

#[test]
fn one_bad_line_in_a_million_is_named_and_takes_none_with_it() {
    let line = |number| match number {
        777_777 => "this line is broken\n".to_owned(),
        _ => format!("||n{number}.example^\n"),
    };
    let text: String = (1..=1_000_000).map(line).collect();
    let rules = rules(&text);
    let report = &rules.lists()[0];
    assert_eq!((report.unfit, report.rules_names), (None, 999_999));
    assert_eq!(report.skipped.len(), 1);
    assert_eq!((report.skipped[0].line, report.skipped[0].reason), (777_777, SkipReason::NotARule));
}
