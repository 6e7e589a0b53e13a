//! Lines that are not in force: each is counted, with its reason and its place.

use crate::support::{blocks, lookup, policy, rules};
use policy::SkipReason;

fn check(line: &str, reason: SkipReason) {
    let rules = rules(&format!("! first\n{line}"));
    let report = &rules.lists()[0];
    assert_eq!(report.skipped_by_reason, [(reason, 1)], "{line}");
    assert_eq!((report.skipped[0].line, report.skipped[0].reason), (2, reason));
    assert_eq!((report.rules_names, report.rules_urls), (0, 0), "{line}");
}

#[test]
fn every_reason_is_told() {
    check("example.com##.ad", SkipReason::Cosmetic);
    check("@@||example.com^$generichide", SkipReason::Cosmetic);
    check("||a.example^$popup", SkipReason::NeedsBrowser);
    check("||a.example^$csp=default-src", SkipReason::ChangesHeaders);
    check("||a.example^$redirect", SkipReason::Redirect);
    check("||a.example^$rewrite=noop.js", SkipReason::Redirect);
    check("||a.example^$replace=/x/y/", SkipReason::RewritesContent);
    check("||a.example^$removeparam=/(/", SkipReason::BadRegex);
    check("||a.example^$removeparam=a,dnsrewrite=b", SkipReason::BadModifier);
    check("||a.example^$dnsrewrite", SkipReason::DnsRewrite);
    check("||a.example^$dnsrewrite=SOUP;;", SkipReason::DnsRewrite);
    check("||a.example^$dnsrewrite=192.0.2.1,script", SkipReason::BadModifier);
    check("||a.example/x$dnsrewrite=192.0.2.1", SkipReason::BadModifier);
    check("||a.example^$ctag=os_beos", SkipReason::ClientTag);
    check("include:google @ads", SkipReason::Include);
    check("keyword:ad", SkipReason::TooBroad);
    check("local-zone: \"a.example\" transparent", SkipReason::NotABlock);
    check("local-data: \"a.example A 192.0.2.7\"", SkipReason::Record);
    check("||a.example^$method=get", SkipReason::UnseenProperty);
    check("||a.example^$colour=red", SkipReason::UnknownModifier);
    check("||a.example^$dnstype=soup", SkipReason::BadModifier);
    check("||a.example^$dnstype=A,script", SkipReason::BadModifier);
    check("||a.example^$domain=a..b", SkipReason::BadModifier);
    check("*", SkipReason::TooBroad);
    check("/(ads/", SkipReason::BadRegex);
    check("/(?=ads)/", SkipReason::BadRegex);
    check("no rule at all", SkipReason::NotARule);
    check("example.net#foo$script", SkipReason::Fragment);
    check(".*;invert", SkipReason::TooBroad);
    check("DOMAIN-SUFFIX,a.example,DIRECT", SkipReason::NotABlock);
    check("127.0.0.1 localhost", SkipReason::LocalName);
    check("192.0.2.7 a.example", SkipReason::Record);
    check("address=/a.example/192.0.2.7", SkipReason::Record);
    check("server=/a.example/192.0.2.7", SkipReason::NotABlock);
    check("0.0.0.0 a..example", SkipReason::BadName);
    check(&format!("/{}/x", "a".repeat(2000)), SkipReason::TooLong);
}

#[test]
fn a_bad_line_takes_no_other_with_it() {
    let list = "||\n/(/\n\u{0}\u{0}\n||a.example^$what\n||b.example^\n";
    assert!(blocks(lookup(&policy(list), "b.example")));
}

#[test]
fn bad_names_on_a_good_line_are_counted_alone() {
    let rules = rules("0.0.0.0 a.example -..- b.example");
    let report = &rules.lists()[0];
    assert_eq!(report.rules_names, 2);
    assert_eq!(report.skipped_by_reason, [(SkipReason::BadName, 1)]);
}

#[test]
fn only_the_first_hundred_are_kept_but_all_are_counted() {
    let rules = rules(&"a##b\n".repeat(500));
    let report = &rules.lists()[0];
    assert_eq!(report.skipped.len(), policy::SKIPPED_KEPT_MAX);
    assert_eq!(report.skipped_by_reason, [(SkipReason::Cosmetic, 500)]);
}
