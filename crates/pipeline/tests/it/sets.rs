//! Sets of names and addresses, and maps from names: what holds, what goes before what, what is
//! refused.

use pipeline::sets::{
    BadNetwork, BadRule, DomainKind, DomainMap, DomainRule, DomainSet, IpSet, KEYWORD_BYTES_MAX,
    LEARNED_MAX, LearnOutcome, LearnedKind, LearnedNames, NotMerged, QuestionSet, REGEXP_BYTES_MAX,
    REGEXPS_MAX, RegexpCase, split_rules, without_comment,
};
use std::net::IpAddr;
use vocab::{Name, NameBuffer};

fn name(text: &str) -> Name<'_> {
    Name::from_lowercase(text).unwrap()
}

fn set(lines: &[&str]) -> DomainSet {
    let mut builder = DomainSet::builder(7);
    for line in lines {
        builder.add_line(line, DomainKind::Domain).unwrap();
    }
    builder.build()
}

#[track_caller]
fn check(set: &DomainSet, holds: &[&str], misses: &[&str]) {
    for text in holds {
        assert!(set.contains(name(text)), "{text} is in the set");
    }
    for text in misses {
        assert!(!set.contains(name(text)), "{text} is not in the set");
    }
}

#[test]
fn each_kind_holds_for_what_it_says() {
    let set = set(&[
        "full:www.Example.COM.",
        "domain:ads.example",
        "plain.example",
        "keyword:Track",
        r"regexp:^a[0-9]{1,3}\.test$",
        "  # a comment",
        "",
        "dotted.example. # with a comment",
        ".leading.example",
    ]);
    assert_eq!(set.len(), 7);
    check(
        &set,
        &[
            "www.example.com",
            "ads.example",
            "a.b.ads.example",
            "plain.example",
            "x.plain.example",
            "mytracker.test",
            "a12.test",
            "dotted.example",
            "x.dotted.example",
            "leading.example",
            "x.leading.example",
        ],
        &[
            "example.com",
            "x.www.example.com",
            "bads.example",
            "example",
            "a1234.test",
            "a12.tests",
            "trac.k",
        ],
    );
    assert!(!set.contains(Name::ROOT));
    assert!(DomainSet::default().is_empty() && !DomainSet::default().contains(name("a")));
}

#[test]
fn a_full_and_a_domain_rule_of_one_name_do_not_hide_each_other() {
    let both = set(&["full:a.example", "domain:a.example"]);
    check(&both, &["a.example", "b.a.example"], &["example"]);
    let nested = set(&["full:b.a.example", "domain:example"]);
    check(&nested, &["b.a.example", "c.b.a.example", "example"], &["test"]);
}

#[test]
fn the_root_is_a_name_too() {
    assert!(set(&["full:."]).contains(Name::ROOT));
    check(&set(&["full:."]), &[], &["com"]);
    assert!(set(&["domain:."]).contains(Name::ROOT));
    check(&set(&["domain:."]), &["com", "a.b"], &[]);
}

#[test]
fn names_that_text_cannot_show_plainly_are_told_apart() {
    let set = set(&["full:a\\046b.test", "domain:c"]);
    let mut buffer = NameBuffer::new();
    for label in [&b"A.B"[..], b"test"] {
        buffer.push_label(label).unwrap();
    }
    assert!(set.contains(buffer.as_name()), "an escaped dot stays within its label");
    check(&set, &["x.c"], &["a.b.test"]);
}

#[test]
fn a_rule_that_cannot_be_used_says_why() {
    let parse = |text| DomainRule::parse(text, DomainKind::Domain).map(|_| ());
    assert_eq!(parse(""), Err(BadRule::Empty));
    assert_eq!(parse("full:"), Err(BadRule::Empty));
    assert_eq!(parse("keyword:."), Err(BadRule::Empty));
    assert_eq!(parse("regexp:"), Err(BadRule::Empty));
    assert_eq!(parse("regex:^a"), Err(BadRule::UnknownKind("regex".into())));
    assert_eq!(parse("Full:a"), Err(BadRule::UnknownKind("Full".into())));
    assert_eq!(parse("full:a.example 192.0.2.1"), Err(BadRule::Blank));
    assert_eq!(parse("b\u{fc}cher.example"), Err(BadRule::NotAscii));
    assert_eq!(parse("a..example"), Err(BadRule::NoName));
    assert_eq!(parse(&"a".repeat(64)), Err(BadRule::NoName));
    let add = |text: &str| DomainSet::builder(7).add_line(text, DomainKind::Domain);
    assert!(matches!(add("regexp:("), Err(BadRule::Regexp(_))));
    assert!(matches!(add("regexp:(?=a)"), Err(BadRule::Regexp(_))));
    let long = format!("regexp:{}", "a".repeat(REGEXP_BYTES_MAX + 1));
    assert_eq!(add(&long), Err(BadRule::RegexpTooLong));
    let long = format!("keyword:{}", "a".repeat(KEYWORD_BYTES_MAX + 1));
    assert_eq!(add(&long), Err(BadRule::KeywordTooLong));
}

#[test]
fn expressions_that_would_blow_up_are_refused() {
    let add = |text: &str| DomainSet::builder(7).add_line(text, DomainKind::Domain);
    for bomb in [r"regexp:((((a{100}){100}){100}){100})", r"regexp:(a{1000}){1000}"] {
        assert!(matches!(add(bomb), Err(BadRule::Regexp(_))), "{bomb}");
    }
    let nested = format!("regexp:{}", "(".repeat(2000));
    assert!(matches!(add(&nested), Err(BadRule::Regexp(_))));
    let mut builder = DomainSet::builder(7);
    for n in 0..REGEXPS_MAX {
        builder.add_line(&format!("regexp:^x{n}$"), DomainKind::Domain).unwrap();
    }
    assert_eq!(builder.add_line("regexp:^y$", DomainKind::Domain), Err(BadRule::TooManyRegexps));
    let set = builder.build();
    check(&set, &["x0", "x2999"], &["x3000", "y"]);
}

#[test]
fn a_comma_in_an_expression_is_its_own() {
    let words: Vec<_> = split_rules("a.test,full:b.test regexp:^c{1,3}\\.(x,y) , d").collect();
    assert_eq!(words, ["a.test", "full:b.test", "regexp:^c{1,3}\\.(x,y)", "d"]);
    assert_eq!(split_rules(" , ,").count(), 0);
}

#[test]
fn comments_begin_anywhere_but_within_an_expression() {
    assert_eq!(without_comment(" full:a.test # x"), "full:a.test");
    assert_eq!(without_comment("full:a.test#x"), "full:a.test");
    assert_eq!(without_comment("regexp:^a#b$ # x"), "regexp:^a#b$");
    assert_eq!(without_comment("\u{feff}a.test\r"), "a.test");
    assert_eq!(without_comment("# all"), "");
}

#[test]
fn letters_in_expressions_differ_unless_told() {
    let build = |case| {
        let mut builder = DomainSet::builder(7).regexp_case(case);
        builder.add_line("regexp:^ADS[0-9]", DomainKind::Domain).unwrap();
        builder.add_line(r"regexp:^\w+-VIDEO\.[A-Z]+$", DomainKind::Domain).unwrap();
        builder.build()
    };
    check(&build(RegexpCase::Differs), &[], &["ads1.test", "my-video.test"]);
    check(&build(RegexpCase::Same), &["ads1.test", "my-video.test"], &["ads.test"]);
}

#[test]
fn expressions_that_name_other_letters_are_taken() {
    check(&set(&[r"regexp:^\p{Greek}+$", "regexp:^[\u{fc}a]+$"]), &["aaa"], &["abc"]);
}

#[test]
fn sets_of_one_seed_are_joined_and_others_are_not() {
    let mut all: Vec<String> = (0..5000).map(|n| format!("n{n}.test")).collect();
    all.extend(["keyword:track".into(), "regexp:^a[0-9]".into(), "full:only.test".into()]);
    let lines: Vec<&str> = all.iter().map(String::as_str).collect();
    let (one, other) = (set(&lines), set(&["domain:more.test", "domain:n1.test"]));
    let mut builder = DomainSet::builder(7);
    builder.merge(&one).unwrap();
    builder.merge(&other).unwrap();
    let both = builder.build();
    assert_eq!(both.len(), 5004);
    for n in 0..5000 {
        assert!(both.contains(name(&format!("x.n{n}.test"))), "{n}");
    }
    check(&both, &["only.test", "xtrackx", "a1", "x.more.test"], &["x.only.test", "n5000.test"]);
    assert_eq!(DomainSet::builder(8).merge(&one), Err(NotMerged::OtherSeed));
    let mut everything = DomainSet::builder(7);
    everything.merge(&set(&["domain:."])).unwrap();
    check(&everything.build(), &["any"], &[]);
}

#[test]
fn a_large_set_holds_exactly_its_names_in_few_bytes() {
    let mut builder = DomainSet::builder(7);
    for n in 0..200_000 {
        let kind = if n % 2 == 0 { "full" } else { "domain" };
        builder
            .add_line(&format!("{kind}:host{n}.zone{}.test", n % 977), DomainKind::Full)
            .unwrap();
    }
    let set = builder.build();
    assert_eq!(set.len(), 200_000);
    for n in 0..200_000 {
        let host = format!("host{n}.zone{}.test", n % 977);
        assert!(set.contains(name(&host)));
        assert_eq!(set.contains(name(&format!("www.{host}"))), n % 2 == 1);
        assert!(!set.contains(name(&format!("host{n}.zone{}.test", n % 977 + 1))));
    }
    let bytes = set.memory() / 200_000;
    assert!(bytes <= 32, "{bytes} bytes a name");
}

#[test]
fn a_map_answers_by_precedence() {
    let mut builder = DomainMap::builder();
    for (at, rule) in [
        "keyword:exam",
        "regexp:^w.*example$",
        "domain:example",
        "domain:b.example",
        "full:www.b.example",
        "keyword:other",
        "regexp:other[0-9]",
        "domain:.",
        "full:.",
    ]
    .iter()
    .enumerate()
    {
        builder.insert(&DomainRule::parse(rule, DomainKind::Full).unwrap(), at).unwrap();
    }
    let map = builder.build();
    assert_eq!(map.len(), 9);
    assert_eq!(map.find(name("www.b.example")), Some(&4));
    assert_eq!(map.find(name("a.b.example")), Some(&3));
    assert_eq!(map.find(name("b.example")), Some(&3));
    assert_eq!(map.find(name("w.example")), Some(&2), "a domain goes before an expression");
    assert_eq!(map.find(name("test")), Some(&7));
    assert_eq!(map.find(Name::ROOT), Some(&8));
}

#[test]
fn expressions_go_before_keywords_and_the_last_of_equal_rules_counts() {
    let mut builder = DomainMap::builder();
    for (rule, value) in [
        ("keyword:exam", 1),
        ("regexp:^w.*m", 2),
        ("regexp:example$", 3),
        ("full:a.test", 4),
        ("full:A.test.", 5),
        ("keyword:EXAM", 6),
        ("regexp:^w.*m", 7),
        ("keyword:am", 8),
    ] {
        builder.insert(&DomainRule::parse(rule, DomainKind::Full).unwrap(), value).unwrap();
    }
    let map = builder.build();
    assert_eq!(map.len(), 5);
    assert_eq!(map.find(name("w.example")), Some(&7), "of two that match the first");
    assert_eq!(map.find(name("a.example")), Some(&3));
    assert_eq!(map.find(name("example.test")), Some(&6));
    assert_eq!(map.find(name("a.test")), Some(&5));
    assert_eq!(map.find(name("x.a.test")), None, "full is the whole name");
    assert!(DomainMap::<u8>::default().find(name("a")).is_none());
}

#[test]
fn a_large_map_finds_each_value() {
    let mut builder = DomainMap::builder();
    for n in 0..20_000u32 {
        let rule = format!("domain:n{n}.test");
        builder.insert(&DomainRule::parse(&rule, DomainKind::Full).unwrap(), n).unwrap();
    }
    let map = builder.build();
    for n in 0..20_000 {
        assert_eq!(map.find(name(&format!("www.n{n}.test"))), Some(&n));
    }
    assert_eq!(map.find(name("n20000.test")), None);
    assert!(map.memory() < 20_000 * 100);
}

fn networks(lines: &[&str]) -> IpSet {
    let mut builder = IpSet::builder();
    for line in lines {
        builder.add_line(line).unwrap();
    }
    builder.build()
}

#[test]
fn addresses_are_held_by_their_networks() {
    let set = networks(&[
        "192.0.2.0/24",
        "192.0.2.128/25",
        "10.1.2.3/8 trailing words",
        "203.0.113.7#comment",
        "# nothing",
        "",
        "2001:db8::/32",
        "::ffff:198.51.100.0/120",
        "fe80::1",
    ]);
    assert_eq!(set.len(), 6);
    let holds = |text: &str| set.contains(text.parse().unwrap());
    for text in [
        "192.0.2.0",
        "192.0.2.255",
        "10.255.0.1",
        "203.0.113.7",
        "2001:db8:ffff::1",
        "198.51.100.77",
        "::ffff:198.51.100.77",
        "::ffff:10.0.0.1",
        "fe80::1",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in ["192.0.3.0", "11.0.0.0", "203.0.113.8", "2001:db9::", "198.51.101.0", "fe80::2"] {
        assert!(!holds(text), "{text}");
    }
    assert!(!IpSet::default().contains("192.0.2.1".parse().unwrap()));
}

#[test]
fn the_widest_and_the_narrowest_networks_hold() {
    let everything = networks(&["0.0.0.0/0", "::/0"]);
    for text in ["0.0.0.0", "255.255.255.255", "::", "ffff::ffff"] {
        assert!(everything.contains(text.parse().unwrap()), "{text}");
    }
    let v4 = networks(&["0.0.0.0/0"]);
    assert!(!v4.contains("2001:db8::1".parse().unwrap()));
    let edges = networks(&["255.255.255.255", "0.0.0.0/32", "::/128"]);
    assert!(edges.contains("255.255.255.255".parse().unwrap()));
    assert!(edges.contains("0.0.0.0".parse().unwrap()));
    assert!(!edges.contains("255.255.255.254".parse().unwrap()));
    assert!(!edges.contains("0.0.0.1".parse().unwrap()));
}

#[test]
fn many_networks_are_found_and_joined() {
    let mut builder = IpSet::builder();
    for n in 0..100_000u32 {
        // Every other /26, scattered.
        let start = n.wrapping_mul(2_654_435_761) & !127;
        builder.add(IpAddr::V4(start.into()), 26).unwrap();
        let wide = u128::from(n) << 70 | 0x2001 << 112;
        builder.add(IpAddr::V6(wide.into()), 64).unwrap();
    }
    let set = builder.build();
    for n in 0..100_000u32 {
        let start = n.wrapping_mul(2_654_435_761) & !127;
        assert!(set.contains(IpAddr::V4((start + 63).into())));
        assert!(!set.contains(IpAddr::V4((start + 64).into())));
        let wide = u128::from(n) << 70 | 0x2001 << 112;
        assert!(set.contains(IpAddr::V6((wide + 5).into())));
        assert!(!set.contains(IpAddr::V6((wide + (1 << 64)).into())));
    }
    let mut joined = IpSet::builder();
    joined.merge(&set).unwrap();
    joined.merge(&networks(&["9.9.9.9"])).unwrap();
    let joined = joined.build();
    assert!(joined.contains("9.9.9.9".parse().unwrap()));
    assert!(joined.len() >= set.len());
}

#[test]
fn what_is_no_network_says_why() {
    let add = |text| IpSet::builder().add_line(text);
    assert_eq!(add("home"), Err(BadNetwork::Address("home".into())));
    assert_eq!(add("192.0.2.1/33"), Err(BadNetwork::Prefix("33".into())));
    assert_eq!(add("192.0.2.1/"), Err(BadNetwork::Prefix(String::new())));
    assert_eq!(add("2001:db8::/129"), Err(BadNetwork::Prefix("129".into())));
    let mut builder = IpSet::builder();
    assert!(builder.add("192.0.2.1".parse().unwrap(), 33).is_err());
    assert!(builder.add("::".parse().unwrap(), 129).is_err());
}

#[test]
fn questions_are_judged_by_name_and_type() {
    let inline = b"||ads.example^\n@@||good.ads.example^\n||bad.good.ads.example^$important\n";
    let file = b"! a list\n||six.example^$dnstype=AAAA\n|exact.example^\n||gone.example^\n\
        ||gone.example^$badfilter\n||spared.example^$denyallow=a.spared.example\n\
        /^re[0-9]\\./\n||x.example^$nonsense\nthis is no rule\n";
    let set = QuestionSet::parse(&[("inline", inline), ("file", file)], 7);
    let matches = |text: &str, qtype| set.matches(name(text), qtype);
    assert!(matches("ads.example", 1) && matches("cdn.ads.example", 28));
    assert!(!matches("good.ads.example", 1), "an exception");
    assert!(matches("bad.good.ads.example", 1), "what is important goes before it");
    assert!(matches("six.example", 28) && !matches("six.example", 1));
    assert!(matches("exact.example", 1) && !matches("x.exact.example", 1));
    assert!(!matches("gone.example", 1), "cancelled");
    assert!(matches("b.spared.example", 1) && !matches("a.spared.example", 1));
    assert!(matches("re7.test", 1) && !matches("rex.test", 1));
    assert!(!matches("x.example", 1) && !matches("www.test", 1));
    let skipped: u32 = set.skipped().values().sum();
    assert!(skipped >= 2, "{:?}", set.skipped());
    assert!(set.skipped_lines().all(|(text, _)| text == "file"));
    assert!(set.len() >= 6);
}

#[test]
fn more_texts_than_a_policy_takes_are_read_all_the_same() {
    let texts: Vec<String> = (0..200).map(|n| format!("||n{n}.example^")).collect();
    let texts: Vec<(&str, &[u8])> = texts.iter().map(|text| ("t", text.as_bytes())).collect();
    let set = QuestionSet::parse(&texts, 7);
    for n in 0..200 {
        assert!(set.matches(name(&format!("n{n}.example")), 1), "{n}");
    }
    assert!(QuestionSet::parse(&[], 7).is_empty());
}

#[test]
fn a_set_that_learns_holds_what_it_learnt_beside_its_file() {
    let set = LearnedNames::new(7, RegexpCase::Same);
    let name = |text: &'static str| Name::from_lowercase(text).unwrap();
    let learn = |kind, text| set.learn(kind, name(text));
    assert!(set.is_empty() && !set.contains(name("a.test")));
    assert_eq!(learn(LearnedKind::Full, "a.test"), LearnOutcome::New);
    assert_eq!(learn(LearnedKind::Full, "a.test"), LearnOutcome::Known);
    assert_eq!(learn(LearnedKind::Domain, "b.test"), LearnOutcome::New);
    assert_eq!(learn(LearnedKind::Domain, "b.test"), LearnOutcome::Known);
    // What is below one that counts with all below it is known.
    assert_eq!(learn(LearnedKind::Full, "x.b.test"), LearnOutcome::Known);
    assert_eq!(learn(LearnedKind::Domain, "x.b.test"), LearnOutcome::Known);
    for (text, holds) in [("a.test", true), ("x.a.test", false), ("x.y.b.test", true)] {
        assert_eq!(set.contains(name(text)), holds, "{text}");
    }
    set.forget(LearnedKind::Full, "a.test");
    assert!(!set.contains(name("a.test")));
    let file: [&[u8]; 7] =
        [b"# ours", b"keyword:cdn", b"Full:A", b"full:X.test.", b"", b"y.test", b"\xff"];
    assert_eq!(set.replace(file.into_iter()), 2);
    assert!(set.contains(name("a.cdn9.test")) && !set.contains(name("b.test")));
    assert_eq!(set.len(), 3);
    // What the file has is known, and not written a second time.
    assert_eq!(learn(LearnedKind::Full, "x.test"), LearnOutcome::Known);
    assert_eq!(learn(LearnedKind::Domain, "z.y.test"), LearnOutcome::Known);
}

#[test]
fn a_set_that_learns_stops_at_its_cap() {
    let set = LearnedNames::new(7, RegexpCase::Same);
    for number in 0..LEARNED_MAX {
        let text = format!("n{number}.test");
        let name = Name::from_lowercase(&text).unwrap();
        assert_eq!(set.learn(LearnedKind::Full, name), LearnOutcome::New);
    }
    let over = Name::from_lowercase("over.test").unwrap();
    assert_eq!(set.learn(LearnedKind::Full, over), LearnOutcome::Full);
    assert!(!set.contains(over) && set.len() == LEARNED_MAX);
}
