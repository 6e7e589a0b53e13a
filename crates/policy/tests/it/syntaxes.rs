//! Syntaxes of whole lists, and texts that are no list.

use crate::support::{Fetch, blocks, fetch, lookup, name, policy, rules};
use policy::{ListSyntax, SkipReason, UnfitList};
use vocab::RequestKind;

fn check(list: &str, host: &str, blocked: bool) {
    assert_eq!(blocks(lookup(&policy(list), host)), blocked, "{host} by {list:?}");
}

fn check_url(list: &str, url: &str, blocked: bool) {
    let request = Fetch(url, RequestKind::Document, "");
    assert_eq!(blocks(fetch(&policy(list), request)), blocked, "{url} by {list:?}");
}

#[test]
fn geosite_lines_reach_as_far_as_they_say() {
    let list =
        "domain:a.example @ads\nfull:b.example\nkeyword:tracker\nregexp:^ad[0-9]+\\.\nc.example";
    assert_eq!(rules(list).lists()[0].syntax, ListSyntax::Geosite);
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
    assert_eq!(rules(list).lists()[0].syntax, ListSyntax::Unbound);
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
    assert_eq!(rules(list).lists()[0].syntax, ListSyntax::UrlRegex);
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

/// Numbers of rules about names and about URLs in a text, and the reasons of skipped lines.
fn counts(list: &str) -> (u32, u32, Vec<SkipReason>) {
    let rules = rules(list);
    let report = &rules.lists()[0];
    let reasons = report.skipped_by_reason.iter().map(|(reason, _)| *reason).collect();
    (report.rules_names, report.rules_urls, reasons)
}

#[test]
fn a_line_with_marks_never_becomes_the_name_before_them() {
    let list = "! Title: x\nexample.org#@$?#.banner { padding: 0!important; }\n\
                example.net#foo$script,domain=x.org\n*.com#$image,domain=x.org\n\
                example.info#why\na.example # why\n";
    for host in ["example.org", "example.net", "google.com", "example.info"] {
        check(list, host, false);
    }
    check(list, "a.example", true);
    assert_eq!(counts(list), (1, 0, vec![SkipReason::Fragment, SkipReason::Cosmetic]));
    // The marker that no list is written with, and every shorter one.
    for marks in ["", "@", "?", "@?", "$", "@$", "$?", "@$?", "%", "@%"] {
        let line = format!("example.org#{marks}#.banner");
        assert_eq!(counts(&line), (0, 0, vec![SkipReason::Cosmetic]), "{line}");
        let geosite = format!("full:b.example\n{line}");
        check(&geosite, "example.org", false);
    }
}

#[test]
fn pihole_expressions_are_about_names_of_either_case() {
    let list = "# mine\n(^|\\.)ads\\.example$\n^track[0-9]+[_.-]\n\
                (^|\\.)six\\.example$;querytype=AAAA\n^x\\.no\\.example$;reply=nxdomain\n\
                ^(.+\\.)?Upper\\.example$\n.*;invert\n";
    assert_eq!(rules(list).lists()[0].syntax, ListSyntax::NameRegex);
    check(list, "ads.example", true);
    check(list, "www.ads.example", true);
    check(list, "badads.example", false);
    check(list, "track7.b.example", true);
    check(list, "upper.example", true);
    check(list, "six.example", false);
    check_url(list, "https://z.example/track7.b", false);
    check_url(list, "https://ads.example/", true);
    assert_eq!(counts(list), (5, 0, vec![SkipReason::TooBroad]));
    let policy = policy(list);
    let six = policy::Ask::lookup(name("six.example"), 28, crate::support::CLIENT);
    assert!(blocks(policy.decide(&six, crate::support::NOW)));
    let ask = policy::Ask::addresses(name("x.no.example"), crate::support::CLIENT);
    let rewritten = policy.rewritten(&ask, crate::support::NOW).unwrap();
    assert_eq!(rewritten.answer, policy::RewriteAnswer::Code(3));
    // One among other lines is told by itself.
    check("a.example\nb.example\n(^|\\.)ads\\.example$", "www.ads.example", true);
    // Where nothing tells what is meant, both are.
    let either = "\\.exe$\n\\.badtld$";
    check(either, "www.badtld", true);
    check_url(either, "https://a.example/setup.exe", true);
}

#[test]
fn surge_and_clash_rules_are_about_names() {
    let list = "# comment\nDOMAIN-SUFFIX,a.example,REJECT\nDOMAIN,b.example\n\
                DOMAIN-KEYWORD,tracker\nDOMAIN-SUFFIX,ok.example,DIRECT\nIP-CIDR,192.0.2.0/24\n\
                DOMAIN-WILDCARD,ad*.c.example\nDOMAIN-REGEX,^x[0-9]{1,2}\\.\n";
    assert_eq!(rules(list).lists()[0].syntax, ListSyntax::Surge);
    let reasons = vec![SkipReason::UnseenProperty, SkipReason::NotABlock];
    assert_eq!(counts(list), (5, 0, reasons));
    for (host, blocked) in [
        ("a.example", true),
        ("www.a.example", true),
        ("b.example", true),
        ("www.b.example", false),
        ("my-tracker.example", true),
        ("ok.example", false),
        ("ads7.c.example", true),
        ("bad.c.example", false),
        ("x12.example", true),
    ] {
        check(list, host, blocked);
    }
    let policy = policy(list);
    let rule = lookup(&policy, "www.a.example").cause.rule().unwrap();
    let text = policy.rule_text(rule, name("www.a.example")).unwrap().text;
    assert_eq!(text, "DOMAIN-SUFFIX,a.example");
    let payload = "payload:\n  - '+.a.example'\n  - \"b.example\"\n  - c.example # seen\n  \
                   - DOMAIN-SUFFIX,d.example\n";
    for host in ["www.a.example", "b.example", "c.example", "www.d.example"] {
        check(payload, host, true);
    }
    check(payload, "www.b.example", false);
}

#[test]
fn a_response_policy_zone_blocks_and_lets_pass() {
    let list = "$TTL 2h\n$ORIGIN rpz.example.\n@ IN SOA localhost. root.localhost. (\n\
                \t2024 ; serial\n6h\n1h )\n  IN NS localhost.\n; comment\n\
                ads.example CNAME .\n*.ads.example CNAME .\ngood.ads.example CNAME rpz-passthru.\n\
                full.example.rpz.example. 60 IN CNAME *.\n32.1.2.0.192.rpz-ip CNAME .\n\
                walled.example CNAME garden.example.\n";
    let rules = rules(list);
    let report = &rules.lists()[0];
    assert_eq!((report.syntax, report.unfit), (ListSyntax::ResponsePolicyZone, None));
    let reasons = vec![SkipReason::UnseenProperty, SkipReason::Record];
    assert_eq!(counts(list), (4, 0, reasons));
    check(list, "www.ads.example", true);
    check(list, "good.ads.example", false);
    check(list, "full.example", true);
    check(list, "www.full.example", false);
    check(list, "walled.example", false);
    check("a.example\nads.example CNAME .", "ads.example", true);
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
    assert_eq!(report(b" \n"), (Some(UnfitList::Empty), 0));
    let page = b"<!DOCTYPE html>\n<html>\n||a.example^\n404.example\n";
    assert_eq!(report(page), (Some(UnfitList::WebPage), 0));
    assert_eq!(report(b"\x1f\x8b\x08a.example\n"), (Some(UnfitList::Binary), 0));
    assert_eq!(report(&vec![0; 50 << 20]), (Some(UnfitList::Binary), 0));
    let utf16: Vec<u8> = "||a.example^\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(report(&utf16), (Some(UnfitList::Utf16), 0));
    assert_eq!(report(b"Sorry, we moved.\nNothing is here\n"), (Some(UnfitList::NoRules), 0));
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
