//! Sets and maps against the plain way of trying every rule, on many made-up names.

use pipeline::sets::{DomainKind, DomainMap, DomainRule, DomainSet};
use vocab::Name;

fn name(text: &str) -> Name<'_> {
    Name::from_lowercase(text).unwrap()
}

/// Numbers without end, the same in every run.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut word = 1u64;
    move |below| {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (word >> 33) as usize % below
    }
}

#[test]
fn set_and_map_say_what_trying_every_rule_says() {
    let mut next = numbers();
    let labels = ["a", "b", "ab", "ba", "com", "x-1", "longlabel9", "c"];
    for _ in 0..300 {
        let mut some_name =
            || (0..=next(4)).map(|_| labels[next(labels.len())]).collect::<Vec<_>>().join(".");
        let names: Vec<String> = (0..60).map(|_| some_name()).collect();
        let rules: Vec<DomainRule<'_>> = names[..20]
            .iter()
            .enumerate()
            .map(|(at, text)| match at % 8 {
                0..3 => DomainRule::new(DomainKind::Full, text),
                3..6 => DomainRule::new(DomainKind::Domain, text),
                6 => DomainRule::new(DomainKind::Keyword, text),
                _ => DomainRule::new(DomainKind::Regexp, text),
            })
            .collect::<Result<_, _>>()
            .unwrap();
        let (mut set, mut map) = (DomainSet::builder(7), DomainMap::builder());
        for (at, rule) in rules.iter().enumerate() {
            set.add(rule).unwrap();
            map.insert(rule, at).unwrap();
        }
        let (set, map) = (set.build(), map.build());
        let regexps: Vec<Option<regex::Regex>> = rules
            .iter()
            .map(|rule| (rule.kind == DomainKind::Regexp).then_some(&rule.text))
            .map(|text| text.map(|text| regex::Regex::new(text).unwrap()))
            .collect();
        for text in &names {
            let holds = |at: &usize| match rules[*at].kind {
                DomainKind::Full => rules[*at].text == *text,
                DomainKind::Domain => name(text).is_at_or_below(name(&rules[*at].text)),
                DomainKind::Keyword => text.contains(&*rules[*at].text),
                DomainKind::Regexp => regexps[*at].as_ref().is_some_and(|it| it.is_match(text)),
            };
            let all: Vec<usize> = (0..rules.len()).filter(holds).collect();
            assert_eq!(set.contains(name(text)), !all.is_empty(), "{text} in {rules:?}");
            // Kind first, then the longest domain; of equal names the last, else the first.
            let best = all.iter().copied().min_by_key(|at| {
                let rule = &rules[*at];
                match rule.kind {
                    DomainKind::Full => (rule.kind, 0, usize::MAX - at),
                    DomainKind::Domain => {
                        (rule.kind, usize::MAX - rule.text.len(), usize::MAX - at)
                    }
                    DomainKind::Regexp | DomainKind::Keyword => (rule.kind, 0, *at),
                }
            });
            assert_eq!(map.find(name(text)).map(|at| &rules[*at]), best.map(|at| &rules[at]));
        }
    }
}

#[test]
fn the_gate_before_expressions_lets_none_of_their_names_be_missed() {
    let expressions = [
        r"(^|\.)91p[0-9][0-9]?\.com$",
        r"(^|\.)3[0-9]{2}\.(icu|one)$",
        r"^cdn\d-games-\d+\.file\.test$",
        r"(^|\.)[a-z][1-9][0-9][a-z]\.com$",
        r".+\.aws-[0-9][a-e0-9]\.(co\.uk|com|net)$",
        r"^r+[0-9]+(---|\.)sn-(2x3|ni5)\w{3}\.video\.test$",
        r"jav\d+\.com$",
        r"(games|video)?\.icu",
        r"^(one|two)+\.test$",
    ];
    let pieces = [
        "91p",
        "1",
        "23",
        ".com",
        "3",
        "12",
        ".icu",
        ".one",
        "cdn",
        "-games-",
        ".file.test",
        "a",
        "www.",
        "x.",
        "aws-",
        ".co.uk",
        ".net",
        "r",
        "---",
        "sn-2x3",
        "abc",
        ".video.test",
        "jav",
        "one",
        "two",
        ".test",
    ];
    let mut builder = DomainSet::builder(7);
    for expression in expressions {
        builder.add(&DomainRule::new(DomainKind::Regexp, expression).unwrap()).unwrap();
    }
    let set = builder.build();
    let alone: Vec<_> = expressions.iter().map(|it| regex::Regex::new(it).unwrap()).collect();
    let mut next = numbers();
    let mut hits = 0;
    for _ in 0..100_000 {
        let text: String = (0..=next(5)).map(|_| pieces[next(pieces.len())]).collect();
        let Ok(asked) = Name::from_lowercase(&text) else { continue };
        let expected = alone.iter().any(|regex| regex.is_match(&text));
        assert_eq!(set.contains(asked), expected, "{text}");
        hits += usize::from(expected);
    }
    assert!(hits > 1000, "{hits} of the names were matched at all");
}
