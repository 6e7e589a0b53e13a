//! What a stored response is good for: RFC 9111 §4.2.4, §5.2.1, §5.2.2, RFC 5861, RFC 8246; suites
//! `cc-request`, `cc-response`, `stale`.

use crate::scene::{Pairs, fields, get, in_trouble, said, second, stored};
use http::{Method, StatusCode};
use http_freshness::{
    CachingRules, Doubt, NotFetched, NotRescued, OriginTrouble, RequestFacts, Reuse, SetCookie,
    StaleUse, ValidationConditions, explain, miss, reuse, stale_on_error,
};

const CC: &str = "cache-control";

fn stale(stale: StaleUse) -> CachingRules {
    CachingRules { stale, ..CachingRules::forward() }
}

#[test]
fn clients_steer_a_forward_cache() {
    let fresh: Pairs<'_> = &[(CC, "max-age=100000"), ("date", "@0")];
    let aged: Pairs<'_> = &[(CC, "max-age=1500"), ("age", "1000")];
    let rows: &[(&str, Pairs<'_>, Pairs<'_>, &str)] = &[
        ("ccreq-ma0", fresh, &[(CC, "max-age=0")], "ask: ClientMaxAge"),
        ("ccreq-ma1", fresh, &[(CC, "max-age=1")], "ask: ClientMaxAge"),
        ("a large max-age", fresh, &[(CC, "max-age=60")], "fresh"),
        ("a max-age that is no number", fresh, &[(CC, "max-age=x")], "ask: ClientMaxAge"),
        ("ccreq-magreaterage", aged, &[(CC, "max-age=600")], "ask: ClientMaxAge"),
        (
            "ccreq-min-fresh",
            &[(CC, "max-age=1500")],
            &[(CC, "min-fresh=2000")],
            "ask: ClientMinFresh",
        ),
        ("ccreq-min-fresh-age", aged, &[(CC, "min-fresh=1000")], "ask: ClientMinFresh"),
        ("a small min-fresh", aged, &[(CC, "min-fresh=10")], "fresh"),
        ("ccreq-no-cache", fresh, &[(CC, "no-cache")], "ask: ClientNoCache"),
        ("pragma-request-no-cache", fresh, &[("pragma", "no-cache")], "ask: ClientNoCache"),
        ("pragma-request-extension", fresh, &[("pragma", "other")], "fresh"),
        ("pragma beside cache-control", fresh, &[("pragma", "no-cache"), (CC, "x")], "fresh"),
        ("no-store does not ask for another", fresh, &[(CC, "no-store")], "fresh"),
        ("only-if-cached and fresh", fresh, &[(CC, "only-if-cached")], "fresh"),
        (
            "only-if-cached and in doubt",
            fresh,
            &[(CC, "only-if-cached, no-cache")],
            "never: OnlyIfCached",
        ),
        ("if-match is for the origin", fresh, &[("if-match", "\"a\"")], "never: ForOrigin"),
    ];
    for (name, response, request, expected) in rows {
        assert_eq!(second(&CachingRules::forward(), response, request, 3), *expected, "{name}");
    }
    assert_eq!(second(&CachingRules::reverse(), fresh, &[(CC, "no-cache")], 3), "fresh");
    assert_eq!(
        second(&CachingRules::forward(), fresh, &[(CC, "max-age=0")], 0),
        "ask: ClientMaxAge"
    );
}

#[test]
fn clients_may_take_what_is_stale() {
    let two: Pairs<'_> = &[(CC, "max-age=2"), ("etag", "\"a\"")];
    let rows: &[(&str, Pairs<'_>, &str, &str)] = &[
        ("ccreq-max-stale", two, "max-stale=1000", "stale: max-stale"),
        ("any staleness", two, "max-stale", "stale: max-stale"),
        ("just enough", two, "max-stale=3", "stale: max-stale"),
        ("too stale for it", two, "max-stale=2", "ask: Stale"),
        ("malformed", two, "max-stale=x", "ask: Stale"),
        ("and old", two, "max-stale=9, max-age=1", "ask: ClientMaxAge"),
        (
            "must-revalidate",
            &[(CC, "max-age=2, must-revalidate"), ("etag", "\"a\"")],
            "max-stale",
            "ask: Stale",
        ),
        ("s-maxage", &[(CC, "s-maxage=2"), ("etag", "\"a\"")], "max-stale", "ask: Stale"),
    ];
    for (name, response, directive, expected) in rows {
        assert_eq!(
            second(&CachingRules::forward(), response, &[(CC, directive)], 5),
            *expected,
            "{name}"
        );
    }
    let aged: Pairs<'_> = &[(CC, "max-age=1500"), ("age", "2000"), ("etag", "\"a\"")];
    let directive: Pairs<'_> = &[(CC, "max-stale=1000")];
    assert_eq!(
        second(&CachingRules::forward(), aged, directive, 3),
        "stale: max-stale",
        "ccreq-max-stale-age"
    );
}

#[test]
fn origins_say_when_they_are_asked() {
    let tag = ("etag", "\"a\"");
    let rows: &[(&str, &str, u64, &str)] = &[
        ("cc-resp-no-cache", "max-age=10000, no-cache", 0, "ask: NoCache"),
        ("cc-resp-no-cache-case-insensitive", "max-age=10000, No-CaChE", 0, "ask: NoCache"),
        ("no-cache for listed fields only", "max-age=10000, no-cache=\"a\"", 3, "fresh"),
        ("no-cache for an empty list", "max-age=10000, no-cache=\"\"", 3, "ask: NoCache"),
        ("cc-resp-must-revalidate-fresh", "max-age=10000, must-revalidate", 3, "fresh"),
        ("cc-resp-must-revalidate-stale", "max-age=2, must-revalidate", 3, "ask: Stale"),
        (
            "stale-while-revalidate",
            "max-age=1, stale-while-revalidate=3600",
            3,
            "stale: stale-while-revalidate",
        ),
        ("its window", "max-age=1, stale-while-revalidate=4", 4, "stale: stale-while-revalidate"),
        ("stale-while-revalidate-window", "max-age=1, stale-while-revalidate=4", 5, "ask: Stale"),
        (
            "beside s-maxage it is meant",
            "s-maxage=1, stale-while-revalidate=9",
            3,
            "stale: stale-while-revalidate",
        ),
        (
            "beside must-revalidate it is void",
            "max-age=1, must-revalidate, stale-while-revalidate=9",
            3,
            "ask: Stale",
        ),
        ("malformed", "max-age=1, stale-while-revalidate=x", 3, "ask: Stale"),
    ];
    for (name, control, secs, expected) in rows {
        assert_eq!(
            second(&CachingRules::forward(), &[(CC, control), tag], &[], *secs),
            *expected,
            "{name}"
        );
    }
}

#[test]
fn what_sets_a_cookie_is_not_used_under_rules_that_would_not_have_stored_it() {
    let kept = CachingRules { cookies: SetCookie::Kept, ..CachingRules::reverse() };
    let cookie: Pairs<'_> = &[
        ("cache-control", "max-age=60, stale-if-error=600"),
        ("etag", "\"a\""),
        ("set-cookie", "a=b"),
    ];
    let (head, terms) = stored(&kept, &[], 200, cookie).unwrap();
    let none = fields(&[]);
    assert_eq!(said(&reuse(&kept, &get(&none, 1), &head, &terms)), "fresh");
    let strict = CachingRules { stale: StaleUse::Always, ..CachingRules::reverse() };
    for secs in [1, 90] {
        let asked = get(&none, secs);
        // Without conditions: a 304 would confirm the cookie.
        let expected =
            Reuse::Validate { reason: Doubt::Stale, conditions: ValidationConditions::default() };
        assert_eq!(reuse(&strict, &asked, &head, &terms), expected);
        let rescued = stale_on_error(&strict, &asked, &head, &terms, OriginTrouble::Unreachable);
        assert_eq!(rescued, Err(NotRescued::NotAllowed));
    }
    let offline = CachingRules { stale: StaleUse::Offline, ..CachingRules::reverse() };
    assert_eq!(said(&reuse(&offline, &get(&none, 1), &head, &terms)), "never: Offline");
}

#[test]
fn what_never_changes_is_not_asked_about_by_a_reload() {
    let immutable: Pairs<'_> = &[(CC, "max-age=100, immutable"), ("etag", "\"a\"")];
    let forward = CachingRules::forward();
    assert_eq!(second(&forward, immutable, &[(CC, "max-age=0")], 3), "fresh");
    assert_eq!(second(&forward, immutable, &[(CC, "no-cache")], 3), "ask: ClientNoCache");
    assert_eq!(second(&forward, immutable, &[], 101), "ask: Stale", "cc-resp-immutable-stale");
}

#[test]
fn questions_carry_what_is_stored() {
    let conditions = |response: Pairs<'_>| {
        let (head, terms) =
            stored(&CachingRules::forward(), &[], 200, &[&[(CC, "max-age=2")], response].concat())
                .unwrap();
        let mut request = fields(&[("if-none-match", "\"client\""), ("if-modified-since", "@0")]);
        match reuse(&CachingRules::forward(), &get(&request, 3), &head, &terms) {
            Reuse::Validate { conditions, .. } => conditions.apply(&mut request),
            other => panic!("{other:?}"),
        }
        let text = |name| request.get(name).map(|it| it.to_str().unwrap().to_owned());
        (text("if-none-match"), text("if-modified-since"))
    };
    let changed = crate::scene::date(-100);
    let tag = |tag: &str| Some(tag.to_owned());
    assert_eq!(conditions(&[("etag", "\"abc\"")]), (tag("\"abc\""), None), "strong-generate");
    assert_eq!(conditions(&[("etag", "W/\"abc\"")]), (tag("W/\"abc\""), None), "generate-weak");
    assert_eq!(conditions(&[("last-modified", "@-100")]), (None, tag(&changed)));
    let both: Pairs<'_> = &[("etag", "\"a\""), ("last-modified", "@-100")];
    assert_eq!(conditions(both), (tag("\"a\""), tag(&changed)));
    let neither = conditions(&[]);
    assert_eq!(neither, (tag("\"client\""), tag(crate::scene::DATE)), "the client's own stay");
}

#[test]
fn a_relaxed_cache_sends_what_is_stale() {
    let two: Pairs<'_> = &[(CC, "max-age=2"), ("etag", "\"a\"")];
    let asked = |rules: &CachingRules, response: Pairs<'_>, directive: &str, secs| {
        second(rules, response, &[(CC, directive)], secs)
    };
    let always = stale(StaleUse::Always);
    assert_eq!(asked(&always, two, "", 9), "stale: relaxed");
    assert_eq!(asked(&always, two, "no-cache", 9), "ask: ClientNoCache");
    assert_eq!(asked(&always, two, "", 700_000), "ask: Stale", "for a week at most");
    assert_eq!(asked(&always, &[(CC, "max-age=2, must-revalidate")], "", 9), "ask: Stale");
    let offline = stale(StaleUse::Offline);
    assert_eq!(asked(&offline, two, "", 1), "fresh");
    assert_eq!(asked(&offline, two, "", 9_000_000), "stale: offline");
    assert_eq!(asked(&offline, two, "no-cache", 1), "stale: offline");
    let must: Pairs<'_> = &[(CC, "max-age=2, must-revalidate")];
    assert_eq!(asked(&offline, must, "", 9), "never: Offline");
    assert_eq!(asked(&offline, must, "max-age=0", 1), "stale: offline", "it is fresh");
    assert_eq!(asked(&offline, &[(CC, "no-cache"), ("etag", "\"a\"")], "", 0), "never: Offline");
}

#[test]
fn errors_are_covered_by_what_is_stored_if_nobody_forbids_it() {
    let down = OriginTrouble::Unreachable;
    let failing = OriginTrouble::Status(StatusCode::SERVICE_UNAVAILABLE);
    let forward = CachingRules::forward();
    let rows: &[(&str, &str, &str, OriginTrouble, &str)] = &[
        ("stale-close", "max-age=2", "", down, "stale: unreachable"),
        ("stale-503", "max-age=2", "", failing, "error: stale-not-allowed"),
        ("stale-sie-close", "max-age=2, stale-if-error=60", "", down, "stale: stale-if-error"),
        ("stale-sie-503", "max-age=2, stale-if-error=60", "", failing, "stale: stale-if-error"),
        ("its end", "max-age=2, stale-if-error=7", "", failing, "error: stale-not-allowed"),
        ("by the client", "max-age=2", "stale-if-error=60", failing, "stale: stale-if-error"),
        ("client wants the origin", "max-age=2", "no-cache", down, "error: client-no-cache"),
        (
            "stale-close-must-revalidate",
            "max-age=2, must-revalidate",
            "",
            down,
            "error: stale-banned",
        ),
        ("proxy-revalidate", "max-age=2, proxy-revalidate", "", down, "error: stale-banned"),
        ("stale-close-no-cache", "max-age=2, no-cache", "", down, "error: stale-banned"),
        ("stale-close-s-maxage=2", "max-age=2, s-maxage=2", "", down, "error: stale-banned"),
        ("s-maxage and the client", "s-maxage=2", "stale-if-error=60", down, "error: stale-banned"),
        (
            "s-maxage and the origin",
            "s-maxage=2, stale-if-error=60",
            "",
            down,
            "stale: stale-if-error",
        ),
        ("fresh, reloaded", "max-age=60, must-revalidate", "max-age=0", down, "stale: unreachable"),
        (
            "no error",
            "max-age=2",
            "",
            OriginTrouble::Status(StatusCode::NOT_FOUND),
            "error: no-error",
        ),
    ];
    for (name, control, directive, trouble, expected) in rows {
        let response: Pairs<'_> = &[(CC, control), ("etag", "\"a\"")];
        assert_eq!(
            in_trouble(&forward, response, &[(CC, directive)], 9, *trouble),
            *expected,
            "{name}"
        );
    }
    let two: Pairs<'_> = &[(CC, "max-age=2"), ("etag", "\"a\"")];
    let careful = stale(StaleUse::OnlyIfAllowed);
    assert_eq!(in_trouble(&careful, two, &[], 9, down), "error: stale-not-allowed");
    assert_eq!(in_trouble(&stale(StaleUse::WhenFailing), two, &[], 9, failing), "stale: failing");
    assert_eq!(in_trouble(&forward, two, &[], 700_000, down), "error: too-stale");
}

#[test]
fn nothing_stored_and_nothing_fetched_is_a_504() {
    let asked = |rules: &CachingRules, directive| miss(rules, &get(&fields(&[(CC, directive)]), 0));
    let forward = CachingRules::forward();
    assert_eq!(asked(&forward, "only-if-cached"), Err(NotFetched::OnlyIfCached), "ccreq-oic");
    assert_eq!(asked(&forward, "no-cache"), Ok(()));
    assert_eq!(asked(&CachingRules::reverse(), "only-if-cached"), Ok(()));
    assert_eq!(asked(&stale(StaleUse::Offline), ""), Err(NotFetched::Offline));
}

#[test]
fn only_get_and_head_are_answered_from_what_is_stored() {
    let (head, terms) = stored(&CachingRules::forward(), &[], 200, &[(CC, "max-age=60")]).unwrap();
    let none = fields(&[]);
    let by = |method: &Method| {
        said(&reuse(
            &CachingRules::forward(),
            &RequestFacts { method, ..get(&none, 1) },
            &head,
            &terms,
        ))
    };
    assert_eq!(by(&Method::HEAD), "fresh");
    assert_eq!(by(&Method::POST), "never: Method");
    assert_eq!(by(&Method::from_bytes(b"M-SEARCH").unwrap()), "never: Method");
}

#[test]
fn a_soft_purge_ends_freshness_and_what_follows_counts_from_it() {
    let rules = CachingRules::forward();
    let response: Pairs<'_> = &[(CC, "max-age=600, stale-while-revalidate=60")];
    let (head, mut terms) = stored(&rules, &[], 200, response).unwrap();
    terms.end_freshness(100);
    let none = fields(&[]);
    let at = |secs| said(&reuse(&rules, &get(&none, secs), &head, &terms));
    assert_eq!(at(99), "fresh");
    assert_eq!(at(100), "stale: stale-while-revalidate");
    assert_eq!(at(160), "ask: Stale");
}

#[test]
fn the_arithmetic_is_put_in_words() {
    let rows: &[(&str, u64, &str)] = &[
        (
            "max-age=120, stale-while-revalidate=60",
            40,
            "fresh for 2 min by max-age, 40 s old, so fresh for 80 s more; then served stale for 60 s \
             while a new one is fetched (stale-while-revalidate); then served stale for 7 days if \
             the origin cannot be reached",
        ),
        (
            "s-maxage=10, stale-if-error=60",
            40,
            "fresh for 10 s by s-maxage, 40 s old, so stale for 30 s; served stale for 30 s if the \
             origin fails (stale-if-error); not served stale otherwise (s-maxage)",
        ),
        (
            "max-age=10, must-revalidate, immutable",
            0,
            "fresh for 10 s by max-age, 0 s old, so fresh for 10 s more; never served stale \
             (must-revalidate); it says that it never changes while it is fresh",
        ),
        (
            "no-cache",
            7,
            "not fresh at all: nothing says how long, 7 s old, so stale for 7 s; the origin is asked \
             before every use (no-cache)",
        ),
    ];
    for (control, secs, expected) in rows {
        let response: Pairs<'_> = &[(CC, control), ("etag", "\"a\"")];
        let (head, terms) = stored(&CachingRules::forward(), &[], 200, response).unwrap();
        let now = crate::scene::after(*secs);
        assert_eq!(explain(&CachingRules::forward(), &head, &terms, now), *expected);
    }
    let varied: Pairs<'_> = &[(CC, "max-age=9"), ("age", "4"), ("vary", "x")];
    let (head, terms) =
        stored(&stale(StaleUse::OnlyIfAllowed), &[("x", "1")], 200, varied).unwrap();
    assert_eq!(
        explain(&stale(StaleUse::OnlyIfAllowed), &head, &terms, crate::scene::after(1)),
        "fresh for 9 s by max-age, 5 s old (4 s when it came), so fresh for 4 s more; for requests \
         with x: 1"
    );
}
