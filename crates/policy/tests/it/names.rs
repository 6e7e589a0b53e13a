//! Lists of names: each syntax, and how far below a name it reaches.

use crate::support::{blocks, lookup, policy, rules};
use policy::ListSyntax;

fn check(list: &str, host: &str, blocked: bool) {
    assert_eq!(blocks(lookup(&policy(list), host)), blocked, "{host} by {list:?}");
}

#[test]
fn a_host_behind_a_scheme_is_a_name() {
    for line in [
        "://ads.example^",
        "//ads.example^",
        "http://ads.example^",
        "|https://ads.example^",
        "//ads.example",
    ] {
        let policy = policy(line);
        assert!(blocks(lookup(&policy, "ads.example")), "{line}");
        assert!(!blocks(lookup(&policy, "www.ads.example")), "{line}");
        assert!(!blocks(lookup(&policy, "badads.example")), "{line}");
    }
    assert!(blocks(lookup(&policy("|https://www.com^"), "www.com")), "only common tokens");
    for line in ["://ads.", "//ads/", "://ads.example/x", "://ads.example^$script"] {
        assert!(!blocks(lookup(&policy(line), "ads.example")), "{line}");
    }
}

#[test]
fn names_outside_ascii_are_put_into_punycode() {
    let policy = policy(
        "||b\u{fc}cher.example^\n\u{41f}\u{440}.example\n||a.example^$denyallow=\u{fc}.a.example",
    );
    assert!(blocks(lookup(&policy, "www.xn--bcher-kva.example")));
    assert!(blocks(lookup(&policy, "xn--o1ac.example")));
    assert!(blocks(lookup(&policy, "a.example")));
    assert!(!blocks(lookup(&policy, "xn--tda.a.example")));
    assert_eq!(policy.rules().lists()[0].skipped_by_reason, []);
}

#[test]
fn a_hosts_line_blocks_its_names_and_none_below() {
    let list = "127.0.0.1 localhost\n0.0.0.0 ads.example tracker.example # both\n::1 six.example";
    check(list, "ads.example", true);
    check(list, "tracker.example", true);
    check(list, "six.example", true);
    check(list, "www.ads.example", false);
    check(list, "example", false);
    check(list, "localhost", false);
}

#[test]
fn a_plain_name_blocks_itself_alone() {
    check("Ads.Example.", "ads.example", true);
    check("ads.example", "www.ads.example", false);
}

#[test]
fn a_wildcard_blocks_the_name_and_all_below() {
    for list in ["*.ads.example", ".ads.example", "||ads.example^", "address=/ads.example/"] {
        check(list, "ads.example", true);
        check(list, "a.b.ads.example", true);
        check(list, "badads.example", false);
        check(list, "example", false);
    }
}

#[test]
fn dnsmasq_lines_name_several() {
    let list = "address=/a.example/b.example/0.0.0.0\nserver=/c.example/\nlocal=/d.example/";
    for host in ["a.example", "x.b.example", "c.example", "d.example"] {
        check(list, host, true);
    }
    check("address=/a.example/192.0.2.1", "a.example", false);
    check("server=/a.example/192.0.2.53", "a.example", false);
}

#[test]
fn patterns_without_paths_match_host_names() {
    check("||ads.*^", "ads.example", true);
    check("||ads*.example^", "ads7.example", true);
    check("-adserver-", "x-adserver-y.example", true);
    check("||adserver", "adserver7.example", true);
    check("|ads.", "ads.example", true);
    check("|ads.", "www.ads.example", false);
    check(".example|", "ads.example", true);
    check("/^ads?[0-9]+\\./", "ad12.example", true);
    check("/^ads?[0-9]+\\./", "ad.example", false);
    check("/ads/", "ads.example", true);
    check("/ads/*", "ads.example", false);
}

#[test]
fn many_expressions_together_match_what_each_would_alone() {
    let list: Vec<String> = (0..200).map(|n| format!("/^x[0-9]+y{n}[a-z]\\./")).collect();
    let policy = policy(&list.join("\n"));
    for n in [0, 7, 199] {
        let verdict = lookup(&policy, &format!("x12y{n}a.example"));
        assert_eq!(verdict.cause.rule().unwrap().line, n + 1);
    }
    assert!(!blocks(lookup(&policy, "x12y200a.example")));
}

#[test]
fn a_rule_that_needs_a_url_says_nothing_of_a_name() {
    for rule in [
        "||ads.example^$script",
        "||ads.example^$third-party",
        "||ads.example/path",
        "||ads.example^$domain=page.example",
        "||ads.example^$match-case",
    ] {
        check(rule, "ads.example", false);
    }
    check("||ads.example^$all", "ads.example", true);
    check("||ads.example/*", "ads.example", true);
}

#[test]
fn the_syntax_of_a_list_is_detected() {
    let check = |text, expected| assert_eq!(rules(text).lists()[0].syntax, expected, "{text}");
    check("# a\n0.0.0.0 a.example\n0.0.0.0 b.example", ListSyntax::Hosts);
    check("a.example\nb.example", ListSyntax::Names);
    check("*.a.example\n*.b.example", ListSyntax::Wildcards);
    check("address=/a.example/#", ListSyntax::Dnsmasq);
    check("! x\n||a.example^\n/banner/*$image", ListSyntax::Adblock);
    check("# nothing", ListSyntax::Empty);
    check("", ListSyntax::Empty);
}

#[test]
fn a_list_that_calls_itself_adblock_plus_holds_no_bare_names() {
    let list = "[Adblock Plus 2.0]\nads.example";
    assert!(blocks(lookup(&policy(list), "www.ads.example.org")));
}

#[test]
fn line_ends_and_marks_of_windows_do_no_harm() {
    let list = "\u{feff}a.example\r\n||b.example^\r\n";
    check(list, "a.example", true);
    check(list, "b.example", true);
}
