//! Which of several responses a request selects: RFC 9111 §4.1; suites `vary`, `vary-parse`.

use crate::scene::{Pairs, fields, stored};
use http_freshness::{CachingRules, choose, matches};

/// Rows of name, the fields of the first request, those of the answer beside its freshness, those
/// of the second request, and whether it gets what the first got.
fn check(rows: &[(&str, Pairs<'_>, Pairs<'_>, Pairs<'_>, bool)]) {
    for (name, first, response, second, expected) in rows {
        let response = [&[("cache-control", "max-age=5000")], *response].concat();
        let (head, _) = stored(&CachingRules::forward(), first, 200, &response).unwrap();
        assert_eq!(matches(&head, &fields(second)), *expected, "{name}");
    }
}

#[test]
fn requests_that_differ_in_what_vary_names_get_different_responses() {
    let foo: Pairs<'_> = &[("vary", "Foo")];
    let three: Pairs<'_> = &[("vary", "Foo, Bar, Baz")];
    let all: Pairs<'_> = &[("foo", "1"), ("bar", "abc"), ("baz", "789")];
    let one: Pairs<'_> = &[("foo", "1")];
    check(&[
        ("vary-match", one, foo, one, true),
        ("vary-no-match", one, foo, &[("foo", "2")], false),
        ("vary-omit-stored", &[], foo, one, false),
        ("vary-omit", one, foo, &[], false),
        ("empty is not missing", &[("foo", "")], foo, &[], false),
        ("vary-cache-key", &[("foo", "1"), ("o", "2")], foo, &[("foo", "1"), ("o", "3")], true),
        ("vary-3-match", all, three, all, true),
        ("vary-3-order", all, three, &[("foo", "1"), ("baz", "789"), ("bar", "abcde")], false),
        ("vary-3-omit", &[("foo", "1"), ("baz", "9")], three, &[("foo", "1"), ("baz", "9")], true),
        ("on two lines", all, &[("vary", "foo"), ("vary", "bar")], one, false),
        ("nothing named", one, &[("vary", ", ")], &[], true),
    ]);
}

#[test]
fn requests_that_mean_the_same_get_the_same_response() {
    let foo: Pairs<'_> = &[("vary", "Foo")];
    check(&[
        ("vary-normalise-combine", &[("foo", "1, 2")], foo, &[("foo", "1"), ("foo", "2")], true),
        ("vary-normalise-space", &[("foo", "1,2")], foo, &[("foo", " 1, 2 ")], true),
        ("spaces before a comma", &[("foo", "1,2")], foo, &[("foo", "1 \t, 2")], true),
        ("spaces within", &[("foo", "a b")], foo, &[("foo", "a  b")], false),
        ("spaces in quotes", &[("foo", "\"a, b\"")], foo, &[("foo", "\"a,b\"")], false),
        ("a quote in quotes", &[("foo", r#""\", b", c"#)], foo, &[("foo", r#""\", b",c"#)], true),
        ("case", &[("foo", "a")], foo, &[("foo", "A")], false),
        ("order", &[("foo", "1, 2")], foo, &[("foo", "2, 1")], false),
        ("bytes that are no ASCII", &[("foo", "ü")], foo, &[("foo", "ü")], true),
    ]);
}

#[test]
fn languages_are_compared_by_liking() {
    let plain: Pairs<'_> = &[("vary", "Accept-Language")];
    let german: Pairs<'_> = &[("vary", "Accept-Language"), ("content-language", "de")];
    let rows: &[(&str, &str, Pairs<'_>, &str, bool)] = &[
        ("vary-normalise-lang-order", "en, de", plain, "de, en", true),
        ("vary-normalise-lang-case", "en, de", plain, "eN, De", true),
        ("vary-normalise-lang-space", "en, de", plain, " en ,   de", true),
        ("vary-normalise-lang-select", "en, de", german, "fr;q=0.5, de;q=1.0", true),
        ("a choice that is none", "en, de", german, "fr, de", false),
        ("another is liked best", "en, de", german, "fr, de;q=0.9", false),
        ("nothing is liked", "en, de", german, "de;q=0", false),
        ("liked more or much more", "de, en;q=0.8", plain, "de, en;q=0.3", true),
        ("liked alike", "de, en", plain, "de, en;q=0.9", false),
        ("refused", "de, en", plain, "de, en;q=0", false),
        ("refused by both", "de, en;q=0", plain, "de;q=0.9, en;q=0.000", true),
    ];
    for (name, first, response, second, expected) in rows {
        check(&[(
            name,
            &[("accept-language", first)],
            response,
            &[("accept-language", second)],
            *expected,
        )]);
    }
}

#[test]
fn codings_are_compared_by_what_is_accepted() {
    let plain: Pairs<'_> = &[("vary", "Accept-Encoding")];
    let gzip: Pairs<'_> = &[("vary", "Accept-Encoding"), ("content-encoding", "gzip")];
    let odd: Pairs<'_> = &[("vary", "Accept-Encoding"), ("content-encoding", "dcb")];
    let rows: &[(&str, &str, Pairs<'_>, &str, bool)] = &[
        ("order and case", "gzip, br", plain, "BR,GZip", true),
        ("weights", "gzip;q=1.0, br;q=0.5", plain, "br, gzip", true),
        ("one that nobody sends", "gzip, deflate", plain, "gzip", true),
        ("one more", "gzip, br", plain, "gzip", false),
        ("refused", "gzip", plain, "gzip;q=0", false),
        ("an old name", "x-gzip", gzip, "gzip", true),
        ("anything", "*", plain, "gzip", false),
        ("no identity", "gzip, identity;q=0", plain, "gzip", false),
        ("came for another", "gzip, dcb", odd, "gzip", false),
        ("came for the same", "gzip, dcb", odd, "dcb, gzip", true),
    ];
    for (name, first, response, second, expected) in rows {
        check(&[(
            name,
            &[("accept-encoding", first)],
            response,
            &[("accept-encoding", second)],
            *expected,
        )]);
    }
    check(&[("no field is not an empty one", &[], plain, &[("accept-encoding", "")], false)]);
    check(&[("no field takes all", &[], gzip, &[], true)]);
}

#[test]
fn the_newest_of_those_that_match_is_chosen() {
    let head = |request: Pairs<'_>, response: Pairs<'_>| {
        let response = [&[("cache-control", "max-age=5000")], response].concat();
        stored(&CachingRules::forward(), request, 200, &response).unwrap().0
    };
    let one: Pairs<'_> = &[("foo", "1")];
    let heads = [
        head(&[("foo", "2")], &[("vary", "foo"), ("date", "@-1")]),
        head(one, &[("vary", "foo"), ("date", "@-30")]),
        head(one, &[("vary", "foo"), ("date", "@-20")]),
        head(&[], &[("date", "@0")]),
    ];
    assert_eq!(choose(&heads, &fields(one)), Some(2), "the newest with Vary");
    assert_eq!(choose(&heads, &fields(&[("foo", "2")])), Some(0), "vary-invalidate");
    assert_eq!(choose(&heads, &fields(&[])), Some(3), "without Vary for want of another");
    assert_eq!(choose(&heads[..3], &fields(&[])), None);
}
