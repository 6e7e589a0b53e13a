//! Every type of matchers and providers of both dialects: what they come to, and what is refused of
//! them.

use crate::foreign;

use foreign::one::{MOSDNS, OXIDNS, bad_match, check, matcher, plugin, rule};
use foreign::{lines, mosdns, read, refused};
use mosdns_compat::language::*;
use pipeline::program::{TestSense, TextSource};

#[test]
fn matches_have_a_sense_and_a_tag_or_words() {
    let tests =
        rule(MOSDNS, "- { matches: ['! $a', '!has_resp', ' qtype  1'], exec: accept }").tests;
    let senses: Vec<TestSense> = tests.iter().map(|it| it.sense).collect();
    assert_eq!(senses, [TestSense::IsNot, TestSense::IsNot, TestSense::Is]);
    assert_eq!(tests[0].matcher, CalledMatcher::Tag("a".into()));
    assert_eq!(tests[1].matcher, CalledMatcher::Quick(MatcherSpec::HasResponse));
    check(&bad_match(MOSDNS, "!"), "no matcher is named");
    check(&bad_match(MOSDNS, "has_respp"), "did you mean \"has_resp\"?");
    check(&bad_match(OXIDNS, "any_match qtype"), "declare a plugin of type any_match");
    let warned = read(&mosdns("- { matches: has_resp really, exec: accept }")).warnings;
    check(&lines(&warned)[0], "\"really\" has no effect");
}

#[test]
fn matchers_of_names_and_addresses() {
    let words = |matcher: MatcherSpec| match matcher {
        MatcherSpec::Name(it)
        | MatcherSpec::Alias(it)
        | MatcherSpec::Client(it)
        | MatcherSpec::ResponseAddress(it)
        | MatcherSpec::PointerAddress(it) => {
            let texts =
                |items: Vec<PlacedWord>| items.into_iter().map(|it| it.text).collect::<Vec<_>>();
            (texts(it.rules), texts(it.sets), texts(it.files))
        }
        other => panic!("{other:?}"),
    };
    let some = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    for kind in ["qname", "cname", "client_ip", "resp_ip", "ptr_ip"] {
        let found = words(matcher(MOSDNS, &format!("{kind} a b $s &./f.txt")));
        assert_eq!(found, (some(&["a", "b"]), some(&["s"]), some(&["./f.txt"])), "{kind}");
        let PluginKind::Matcher(it) = plugin(OXIDNS, kind, "[\"a,b\", $s, \"&./f.txt\"]") else {
            panic!()
        };
        assert_eq!(words(it), (some(&["a", "b"]), some(&["s"]), some(&["./f.txt"])), "{kind}");
    }
    // The peer cuts an expression at its comma.
    let found = words(matcher(OXIDNS, "qname a.test,regexp:^b{1,2}$ c.test"));
    assert_eq!(found.0, ["a.test", "regexp:^b{1,2}$", "c.test"]);
    assert!(
        matches!(matcher(OXIDNS, "question $a $b"), MatcherSpec::Question(it) if it.len() == 2)
    );
    check(&bad_match(OXIDNS, "question a.test"), "write question $TAG");
    check(&bad_match(OXIDNS, "qname"), "names nothing");
    let warned = read(&mosdns("- { matches: qname, exec: accept }")).warnings;
    check(&lines(&warned)[0], "never holds");
}

#[test]
fn matchers_of_numbers() {
    assert_eq!(matcher(MOSDNS, "qtype 1 28"), MatcherSpec::Type(vec![1, 28]));
    assert_eq!(matcher(OXIDNS, "qtype A,28 HTTPS"), MatcherSpec::Type(vec![1, 28, 65]));
    assert_eq!(matcher(OXIDNS, "qclass IN,3"), MatcherSpec::Class(vec![1, 3]));
    assert_eq!(matcher(OXIDNS, "rcode NXDOMAIN,refused"), MatcherSpec::Rcode(vec![3, 5]));
    assert_eq!(matcher(MOSDNS, "rcode 3"), MatcherSpec::Rcode(vec![3]));
    assert_eq!(matcher(MOSDNS, "mark 1 2"), MatcherSpec::Mark(vec![1, 2]));
    assert_eq!(
        plugin(OXIDNS, "qtype", "[A, 28]"),
        PluginKind::Matcher(MatcherSpec::Type(vec![1, 28]))
    );
    check(&bad_match(OXIDNS, "qtype BOGUS"), "\"BOGUS\" is no qtype");
    check(&bad_match(MOSDNS, "qtype 70000"), "from 0 to 65535");
    check(&bad_match(MOSDNS, "mark one"), "no such number");
}

#[test]
fn other_matchers() {
    for (text, expected) in [
        ("_true", MatcherSpec::Always),
        ("_false", MatcherSpec::Never),
        ("has_resp", MatcherSpec::HasResponse),
        ("has_wanted_ans", MatcherSpec::HasWantedAnswer),
        ("random 0.25", MatcherSpec::Random(0.25)),
        ("env A", MatcherSpec::Env("A".into(), None)),
        ("env A 1", MatcherSpec::Env("A".into(), Some("1".into()))),
    ] {
        assert_eq!(matcher(MOSDNS, text), expected);
        assert_eq!(matcher(OXIDNS, text), expected);
    }
    check(&bad_match(MOSDNS, "random 2"), "from 0 to 1");
    check(&bad_match(MOSDNS, "random"), "no probability");
    check(&bad_match(MOSDNS, "env"), "write env KEY");
    let limit = RateLimit { qps: 5.0, burst: 9, mask4: 24, mask6: 56 };
    assert_eq!(matcher(OXIDNS, "rate_limiter 5 9 24 56"), MatcherSpec::RateLimiter(limit));
    assert_eq!(matcher(OXIDNS, "rate_limiter"), MatcherSpec::RateLimiter(RateLimit::default()));
    let args = "{ qps: 5, burst: 9, mask4: 24, mask6: 56 }";
    assert_eq!(
        plugin(MOSDNS, "rate_limiter", args),
        PluginKind::Matcher(MatcherSpec::RateLimiter(limit))
    );
    assert_eq!(
        plugin(MOSDNS, "rate_limiter", "{ qps: 0, burst: 0, mask4: 0 }"),
        PluginKind::Matcher(MatcherSpec::RateLimiter(RateLimit::default()))
    );
    check(&bad_match(OXIDNS, "rate_limiter 0"), "no rate");
    check(&bad_match(OXIDNS, "rate_limiter 5 0"), "no limit");
    check(&bad_match(OXIDNS, "rate_limiter 5 5 33"), "no limit");
    let any = plugin(OXIDNS, "any_match", "[\"$a\", \"!qtype AAAA\"]");
    assert!(matches!(any, PluginKind::Matcher(MatcherSpec::Any(it))
        if it.len() == 2 && it[1].sense == TestSense::IsNot));
}

#[test]
fn tests_of_texts() {
    let text = |dialect, words: &str| match matcher(dialect, &format!("string_exp {words}")) {
        MatcherSpec::Text(it) => (it.source, it.operation, it.words),
        other => panic!("{other:?}"),
    };
    let request = StringSource::Request;
    assert_eq!(
        text(MOSDNS, "server_name prefix a. b."),
        (request(TextSource::ServerName), StringOperation::Prefix, vec!["a.".into(), "b.".into()])
    );
    assert_eq!(
        text(MOSDNS, "$HOME zl"),
        (StringSource::Variable("HOME".into()), StringOperation::Empty, vec![])
    );
    assert_eq!(
        text(OXIDNS, "qname regexp ^a{1,2}$"),
        (request(TextSource::Name), StringOperation::Regexp, vec!["^a{1,2}$".into()])
    );
    assert_eq!(text(OXIDNS, "url_patheq /q").1, StringOperation::Equal, "the compact form");
    check(&bad_match(MOSDNS, "string_exp client_ipp eq x"), "url_path, server_name or $VARIABLE");
    check(&bad_match(MOSDNS, "string_exp url_path"), "no test of a text");
    check(&bad_match(MOSDNS, "string_exp url_path eq"), "no word to compare");
    check(&bad_match(OXIDNS, "string_exp qname zl x"), "zl takes no words");
}

#[test]
fn providers() {
    let provider = |dialect, kind: &str, args: &str| match plugin(dialect, kind, args) {
        PluginKind::Provider(it) => it,
        other => panic!("{other:?}"),
    };
    let sizes = |it: &SetArgs| (it.rules.len(), it.files.len(), it.sets.len());
    let Provider::DomainSet(it) =
        provider(MOSDNS, "domain_set", "{ exps: a.test, files: [f, g], sets: [s] }")
    else {
        panic!()
    };
    assert_eq!(sizes(&it), (1, 2, 1));
    let Provider::IpSet(it) = provider(MOSDNS, "ip_set", "{ ips: [192.0.2.0/24, \"::1\"] }") else {
        panic!()
    };
    assert_eq!(sizes(&it), (2, 0, 0));
    let Provider::AdguardRule(it) = provider(OXIDNS, "adguard_rule", "{ rules: [\"||a.test^\"] }")
    else {
        panic!()
    };
    assert_eq!(sizes(&it), (1, 0, 0));
    for kind in ["geosite", "geoip"] {
        let it = provider(OXIDNS, kind, "{ file: x.dat, selectors: [cn, us] }");
        let (Provider::Geosite(it) | Provider::Geoip(it)) = it else { panic!() };
        assert_eq!((it.file.text.as_str(), it.selectors.len()), ("x.dat", 2));
    }
    check(&refused("plugins: [ { tag: g, type: geoip } ]")[0], "\"file\" is missing");
}
