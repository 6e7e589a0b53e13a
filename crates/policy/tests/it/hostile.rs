//! Input made to hurt: it costs time in proportion to its length, and never more than its lines.

use crate::support::{Fetch, NOW, SEED, blocks, fetch, lookup, policy};
use policy::{ClientProfiles, ListKind, ListSource, Policy, SkipReason};
use vocab::RequestKind;

fn compile(text: &[u8]) -> Policy {
    let source = ListSource { name: "list", kind: ListKind::Block, text, files: &[] };
    Policy::new(policy::compile(&[source], SEED).into(), ClientProfiles::everyone())
}

#[test]
fn fifty_megabytes_in_one_line_are_one_skipped_line() {
    for byte in [b'a', b'*', b'/', b'$', 0xff] {
        let policy = compile(&vec![byte; 50 << 20]);
        let report = &policy.rules().lists()[0];
        assert_eq!((report.lines, report.skipped.len()), (1, 1));
        assert_eq!(report.skipped[0].reason, SkipReason::TooLong);
        assert!(report.skipped[0].text.len() < 500);
    }
}

#[test]
fn one_bad_line_in_a_million_is_one_skipped_line() {
    let mut text = String::with_capacity(20 << 20);
    for number in 0..1_000_000 {
        match number {
            654_321 => text.push_str("<<<<<<< HEAD\n"),
            _ => text.extend(["n", &number.to_string(), ".example\n"]),
        }
    }
    let policy = compile(text.as_bytes());
    let report = &policy.rules().lists()[0];
    assert_eq!((report.lines, report.rules_names, report.skipped.len()), (1_000_000, 999_999, 1));
    assert_eq!(report.skipped[0].line, 654_322);
    assert!(
        blocks(lookup(&policy, "n654320.example")) && blocks(lookup(&policy, "n999999.example"))
    );
}

#[test]
fn bytes_that_are_no_text_spoil_their_line_alone() {
    let policy = compile(b"\xff\x00\n||a.example^\n\x00\x00||b.example^\n");
    assert!(blocks(lookup(&policy, "a.example")));
    assert_eq!(policy.rules().lists()[0].skipped.len(), 2);
}

#[test]
fn ten_thousand_stars_are_matched_in_passing() {
    let stars = "*".repeat(10_000);
    let pairs = "a*".repeat(400);
    let policy = policy(&format!("{stars}\n||a{stars}b.example^\n/x{pairs}b\n||a.example^"));
    assert!(blocks(lookup(&policy, "a.example")));
    let url = format!("https://z.example/x{}", "a".repeat(5000));
    assert!(!blocks(fetch(&policy, Fetch(&url, RequestKind::Script, ""))));
}

#[test]
fn expressions_in_values_count_like_others() {
    let mut text = String::new();
    for number in 0..4000 {
        text.extend(["$removeparam=/^a", &number.to_string(), "_/\n"]);
    }
    let policy = policy(&text);
    let refused = &policy.rules().lists()[0].skipped_by_reason;
    assert_eq!(refused[0].0, SkipReason::TooManyRegexes);
    let bomb = crate::support::policy("$removeparam=/(a|b)*a(a|b){20}/");
    let refused = &bomb.rules().lists()[0].skipped_by_reason;
    assert_eq!(refused, &[(SkipReason::TooDear, 1)]);
}

#[test]
fn expressions_that_explode_are_refused_when_the_list_is_read() {
    let bombs =
        "/(a{1000}){1000}/\n/((((((((((a{9}){9}){9}){9}){9}){9}){9}){9}){9}){9}/\n/(a+)+$/\n";
    let policy = policy(bombs);
    let report = &policy.rules().lists()[0];
    assert_eq!(report.skipped_by_reason, [(SkipReason::BadRegex, 2)]);
    let url = format!("https://z.example/{}", "a".repeat(2000));
    fetch(&policy, Fetch(&url, RequestKind::Script, ""));
}

#[test]
fn a_name_of_as_many_labels_as_fit_is_answered() {
    let host = ["a"; 127].join(".");
    let policy = policy(&format!("||{host}^\n||b.example^"));
    assert!(blocks(lookup(&policy, &host)));
    let page = Fetch("https://b.example/", RequestKind::Script, &host);
    assert!(blocks(fetch(&policy, page)));
}

#[test]
fn strange_urls_are_answered() {
    let policy = policy("||a.example^$script\n/ads/*\n@@||ok.example^$domain=x.*");
    for url in ["", "://", "a", "https://", "//@:/", "é://ü/ö", "http://a.example", "?/#"] {
        let ask = policy::Ask {
            door: vocab::Door::Proxy,
            client: crate::support::CLIENT,
            identity: None,
            host: vocab::Name::ROOT,
            kind: RequestKind::Script,
            url: Some(url),
            page: Some(vocab::Name::ROOT),
        };
        assert_eq!(policy.decide(&ask, NOW), policy.explain(&ask, NOW).verdict, "{url}");
    }
}
