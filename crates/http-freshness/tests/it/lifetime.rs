//! Freshness lifetime and age: RFC 9111 §4.2, §5.1, §5.3; suites `cc-freshness`, `cc-parse`,
//! `age-parse`, `expires`, `expires-parse`, `heuristic`, `pragma`.

use crate::scene::{Pairs, fields, get, second, stored};
use http_freshness::{
    CacheAudience, CacheSide, CachingRules, DELTA_SECS_MAX, LifetimeBasis, freshness,
};

/// Rows of name, the fields of the answer, and what becomes of a request three seconds later.
fn check(rules: &CachingRules, rows: &[(&str, Pairs<'_>, &str)]) {
    for (name, response, expected) in rows {
        assert_eq!(second(rules, response, &[], 3), *expected, "{name}");
    }
}

const NONE: &str = "not stored: no-freshness";
const OLD: &str = "not stored: stale-at-once";

#[test]
fn cache_control_says_how_long() {
    let cc = "cache-control";
    check(
        &CachingRules::forward(),
        &[
            ("freshness-none", &[], NONE),
            ("freshness-max-age", &[(cc, "max-age=3600")], "fresh"),
            ("freshness-max-age-stale", &[(cc, "max-age=2")], "ask: Stale"),
            ("freshness-max-age-0", &[(cc, "max-age=0")], OLD),
            ("freshness-max-age-max-minus-1", &[(cc, "max-age=2147483647")], "fresh"),
            ("freshness-max-age-max", &[(cc, "max-age=2147483648")], "fresh"),
            ("freshness-max-age-max-plus-1", &[(cc, "max-age=2147483649")], "fresh"),
            ("freshness-max-age-max-plus", &[(cc, "max-age=99999999999")], "fresh"),
            (
                "freshness-max-age-age",
                &[("date", "@0"), (cc, "max-age=3600"), ("age", "7200")],
                OLD,
            ),
            ("freshness-max-age-date", &[("date", "@-7200"), (cc, "max-age=3600")], OLD),
            (
                "freshness-max-age-expires",
                &[(cc, "max-age=3600"), ("expires", "@-7200"), ("date", "@0")],
                "fresh",
            ),
            (
                "freshness-max-age-expires-invalid",
                &[(cc, "max-age=3600"), ("expires", "0")],
                "fresh",
            ),
            ("freshness-max-age-0-expires", &[("expires", "@3600"), (cc, "max-age=0")], OLD),
            ("freshness-max-age-extension", &[(cc, "foobar, max-age=3600")], "fresh"),
            ("freshness-max-age-case-insenstive", &[(cc, "MaX-aGe=3600")], "fresh"),
            ("freshness-max-age-negative", &[(cc, "max-age=-3600")], OLD),
            ("freshness-s-maxage-shared", &[(cc, "s-maxage=3600")], "fresh"),
            ("shared-longer", &[(cc, "max-age=3600, s-maxage=1")], "ask: Stale"),
            ("shared-longer-reversed", &[(cc, "s-maxage=1, max-age=3600")], "ask: Stale"),
            ("shared-longer-multiple", &[(cc, "max-age=3600"), (cc, "s-maxage=1")], "ask: Stale"),
            ("shared-shorter", &[(cc, "max-age=1, s-maxage=3600")], "fresh"),
            (
                "shared-shorter-expires",
                &[("expires", "@-10"), (cc, "max-age=0, s-maxage=3600")],
                "fresh",
            ),
        ],
    );
    let private = CachingRules { audience: CacheAudience::Private, ..CachingRules::forward() };
    check(
        &private,
        &[
            (
                "freshness-max-age-s-maxage-private",
                &[(cc, "s-maxage=3600, max-age=1")],
                "ask: Stale",
            ),
            ("s-maxage alone is not for a private cache", &[(cc, "s-maxage=3600")], NONE),
            ("cc-resp-private-private", &[(cc, "private, max-age=3600")], "fresh"),
        ],
    );
}

#[test]
fn a_malformed_lifetime_is_none() {
    let cc = "cache-control";
    check(
        &CachingRules::forward(),
        &[
            ("the first of two counts", &[(cc, "max-age=1800, max-age=1")], "fresh"),
            (
                "the first line of two counts",
                &[(cc, "max-age=1"), (cc, "max-age=1800")],
                "ask: Stale",
            ),
            ("freshness-max-age-quoted", &[(cc, "max-age=\"3600\"")], "fresh"),
            ("ignore-quoted", &[(cc, "extension=\"max-age=3600\", max-age=1")], "ask: Stale"),
            ("ignore-quoted-rev", &[(cc, "max-age=1, extension=\"max-age=3600\"")], "ask: Stale"),
            ("an escaped quote", &[(cc, "ext=\"a\\\", max-age=0, \", max-age=60")], "fresh"),
            ("an open quote", &[(cc, "ext=\"a, max-age=60")], NONE),
            ("behind a quote", &[(cc, "max-age=\"60\"5")], OLD),
            ("space-before-equals", &[(cc, "max-age =3600")], OLD),
            ("space-after-equals", &[(cc, "max-age= 3600")], OLD),
            ("freshness-max-age-leading-zero", &[(cc, "max-age=003600")], "fresh"),
            ("freshness-max-age-single-quoted", &[(cc, "max-age='3600'")], OLD),
            ("freshness-max-age-decimal-zero", &[(cc, "max-age=3600.0")], OLD),
            ("freshness-max-age-a100", &[(cc, "max-age=a3600")], OLD),
            ("freshness-max-age-100a", &[(cc, "max-age=3600a")], OLD),
            ("no number at all", &[(cc, "max-age")], OLD),
            ("an empty number", &[(cc, "max-age=")], OLD),
            ("odd commas", &[(cc, ",, ,\tmax-age=60 ,")], "fresh"),
        ],
    );
}

#[test]
fn age_counts_its_first_value_if_that_is_a_number() {
    let rows: &[(&str, &[&str], &str)] = &[
        ("age-parse-nonnumeric", &["abc"], "fresh"),
        ("age-parse-negative", &["-7200"], "fresh"),
        ("age-parse-float", &["7200.0"], "fresh"),
        ("age-parse-large-minus-one", &["2147483647"], OLD),
        ("age-parse-large", &["2147483648"], OLD),
        ("age-parse-larger", &["2147483649"], OLD),
        ("larger than any number", &["99999999999999999999999999"], OLD),
        ("age-parse-suffix", &["7200, 0"], OLD),
        ("age-parse-prefix", &["0, 7200"], "fresh"),
        ("age-parse-suffix-twoline", &["7200", "0"], OLD),
        ("age-parse-prefix-twoline", &["0", "7200"], "fresh"),
        ("age-parse-dup-0", &["0, 0"], "fresh"),
        ("age-parse-dup-0-twoline", &["0", "0"], "fresh"),
        ("age-parse-dup-old", &["3500", "3500"], "fresh"),
        ("age-parse-parameter", &["7200;foo=bar"], "fresh"),
        ("empty", &[""], "fresh"),
    ];
    for (name, ages, expected) in rows {
        let mut response = vec![("date", "@0"), ("cache-control", "max-age=3600")];
        response.extend(ages.iter().map(|age| ("age", *age)));
        check(&CachingRules::forward(), &[(name, &response, expected)]);
    }
}

#[test]
fn expires_counts_from_date() {
    let rows: &[(&str, Pairs<'_>, &str)] = &[
        ("freshness-expires-future", &[("expires", "@2592000"), ("date", "@0")], "fresh"),
        ("freshness-expires-past", &[("expires", "@-2592000"), ("date", "@0")], OLD),
        ("freshness-expires-present", &[("expires", "@0"), ("date", "@0")], OLD),
        ("freshness-expires-old-date", &[("expires", "@300"), ("date", "@400")], OLD),
        ("freshness-expires-invalid", &[("expires", "0"), ("date", "@0")], OLD),
        ("freshness-expires-invalid-date", &[("date", "foo"), ("expires", "@10")], "fresh"),
        (
            "freshness-expires-age-slow-date",
            &[("date", "@-10"), ("expires", "@10"), ("age", "25")],
            OLD,
        ),
        (
            "freshness-expires-age-fast-date",
            &[("date", "@10"), ("expires", "@20"), ("age", "15")],
            OLD,
        ),
        ("without a date", &[("expires", "@10")], "fresh"),
    ];
    check(&CachingRules::forward(), rows);
}

#[test]
fn expires_is_a_date_in_one_of_three_forms() {
    let rows = [
        ("freshness-expires-32bit", "Tue, 19 Jan 2038 14:14:08 GMT", "fresh"),
        ("freshness-expires-far-future", "Sun, 21 Nov 2286 04:46:39 GMT", "fresh"),
        ("freshness-expires-rfc850", "Thursday, 18-Aug-50 02:01:18 GMT", "fresh"),
        ("freshness-expires-ansi-c", "Thu Aug  8 02:01:18 2050", "fresh"),
        ("freshness-expires-wrong-case-weekday", "THU, 18 Aug 2050 02:01:18 GMT", "fresh"),
        ("freshness-expires-wrong-case-month", "Thu, 18 AUG 2050 02:01:18 GMT", "fresh"),
        ("freshness-expires-wrong-case-tz", "Thu, 18 Aug 2050 02:01:18 gMT", "fresh"),
        ("freshness-expires-invalid-utc", "Thu, 18 Aug 2050 02:01:18 UTC", OLD),
        ("freshness-expires-invalid-aest", "Thu, 18 Aug 2050 02:01:18 AEST", OLD),
        ("freshness-expires-invalid-2-digit-year", "Thu, 18 Aug 50 02:01:18 GMT", OLD),
        ("freshness-expires-invalid-no-comma", "Thu 18 Aug 2050 02:01:18 GMT", OLD),
        ("freshness-expires-invalid-multiple-spaces", "Thu, 18  Aug  2050 02:01:18 GMT", OLD),
        ("freshness-expires-invalid-date-dashes", "Thu, 18-Aug-2050 02:01:18 GMT", OLD),
        ("freshness-expires-invalid-time-periods", "Thu, 18 Aug 2050 02.01.18 GMT", OLD),
        ("freshness-expires-invalid-1-digit-hour", "Thu, 18 Aug 2050 2:01:18 GMT", OLD),
    ];
    for (name, expires, expected) in rows {
        check(
            &CachingRules::forward(),
            &[(name, &[("expires", expires), ("date", "@0")], expected)],
        );
    }
    let twice: Pairs<'_> = &[("expires", "x"), ("expires", "@60"), ("date", "@0")];
    check(&CachingRules::forward(), &[("the first line counts", twice, OLD)]);
}

#[test]
fn heuristics_are_for_statuses_that_allow_them() {
    let day: Pairs<'_> = &[("last-modified", "@-86400"), ("date", "@0")];
    let public = [day, &[("cache-control", "public")]].concat();
    let basis = |status, response: Pairs<'_>| {
        stored(&CachingRules::forward(), &[], status, response).map(|(_, terms)| terms.basis)
    };
    for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] {
        assert_eq!(basis(status, day), Ok(LifetimeBasis::Heuristic), "heuristic-{status}-cached");
    }
    for status in [201, 202, 302, 303, 307, 403, 502, 503, 504, 599] {
        let why = basis(status, day).unwrap_err().word();
        assert_eq!(why, "status-no-freshness", "heuristic-{status}-not_cached");
        assert_eq!(basis(status, &public), Ok(LifetimeBasis::Heuristic), "{status} with public");
    }
}

#[test]
fn heuristics_are_a_tenth_of_the_time_since_the_change_up_to_a_day() {
    let rows: &[(&str, Pairs<'_>, u32, LifetimeBasis)] = &[
        ("heuristic-delta-5", &[("last-modified", "@-5")], 0, LifetimeBasis::Nothing),
        ("heuristic-delta-3600", &[("last-modified", "@-3600")], 360, LifetimeBasis::Heuristic),
        ("a year", &[("last-modified", "@-31536000")], 86_400, LifetimeBasis::Heuristic),
        ("the future", &[("last-modified", "@3600")], 0, LifetimeBasis::Nothing),
        ("no date", &[("last-modified", "lately")], 0, LifetimeBasis::Nothing),
        (
            "pragma-response-no-cache-heuristic",
            &[("last-modified", "@-10000"), ("pragma", "no-cache")],
            0,
            LifetimeBasis::Nothing,
        ),
        (
            "pragma-response-no-cache",
            &[("cache-control", "max-age=3600"), ("pragma", "no-cache")],
            3600,
            LifetimeBasis::MaxAge,
        ),
    ];
    for (name, response, secs, basis) in rows {
        let response = [&[("date", "@0")], *response].concat();
        let (_, terms) = stored(&CachingRules::forward(), &[], 200, &response).unwrap();
        assert_eq!((terms.lifetime_secs, terms.basis), (*secs, *basis), "{name}");
    }
}

#[test]
fn an_administrator_bounds_what_is_not_said_and_caps_what_is() {
    let rules = CachingRules {
        heuristic_percent: 50,
        heuristic_min_secs: 300,
        heuristic_max_secs: 1000,
        explicit_max_secs: 60,
        ..CachingRules::forward()
    };
    let rows: &[(&str, Pairs<'_>, u32, LifetimeBasis)] = &[
        ("nothing", &[], 300, LifetimeBasis::HeuristicMin),
        ("changed lately", &[("last-modified", "@-400")], 300, LifetimeBasis::HeuristicMin),
        ("changed before", &[("last-modified", "@-800")], 400, LifetimeBasis::Heuristic),
        ("changed long ago", &[("last-modified", "@-8000")], 1000, LifetimeBasis::Heuristic),
        ("max-age", &[("cache-control", "max-age=3600")], 60, LifetimeBasis::MaxAge),
        ("a short max-age", &[("cache-control", "max-age=30")], 30, LifetimeBasis::MaxAge),
        ("expires", &[("expires", "@3600")], 60, LifetimeBasis::Expires),
    ];
    for (name, response, secs, basis) in rows {
        let response = [&[("date", "@0")], *response].concat();
        let (_, terms) = stored(&rules, &[], 200, &response).unwrap();
        assert_eq!((terms.lifetime_secs, terms.basis), (*secs, *basis), "{name}");
    }
    let refused = |status, response: Pairs<'_>| stored(&rules, &[], status, response).is_err();
    assert!(refused(403, &[]), "its status says no");
    assert!(refused(200, &[("date", "@0"), ("pragma", "no-cache")]), "its origin says no");
}

#[test]
fn cdn_cache_control_comes_first_before_an_origin() {
    let (cc, cdn) = ("cache-control", "cdn-cache-control");
    let reverse = CachingRules::reverse();
    check(
        &reverse,
        &[
            ("cdn-max-age", &[(cdn, "max-age=3600")], "fresh"),
            ("cdn-max-age-max", &[(cdn, "max-age=2147483648")], "fresh"),
            ("cdn-max-age-max-plus", &[(cdn, "max-age=99999999999")], "fresh"),
            ("cdn-max-age-age", &[("date", "@0"), (cdn, "max-age=3600"), ("age", "7200")], OLD),
            ("space-before-equals", &[(cc, "max-age=1"), (cdn, "max-age =100")], "ask: Stale"),
            ("space-after-equals", &[(cc, "max-age=1"), (cdn, "max-age= 100")], "ask: Stale"),
            ("cdn-max-age-0", &[(cdn, "max-age=0")], OLD),
            ("cdn-max-age-extension", &[(cdn, "foobar, max-age=3600")], "fresh"),
            ("cdn-max-age-case-insensitive", &[(cdn, "MaX-aGe=3600")], NONE),
            ("cdn-max-age-expires", &[(cdn, "max-age=3600"), ("expires", "@-10000")], "fresh"),
            ("invalid-expires", &[(cdn, "max-age=3600"), ("expires", "0")], "fresh"),
            ("cdn-max-age-0-expires", &[(cdn, "max-age=0"), ("expires", "@10000")], OLD),
            ("short-cc-max-age", &[(cc, "max-age=1"), (cdn, "max-age=3600")], "fresh"),
            ("long-cc-max-age", &[(cc, "max-age=3600"), (cdn, "max-age=1")], "ask: Stale"),
            (
                "cdn-private",
                &[(cdn, "private"), (cc, "max-age=10000"), ("expires", "@10000")],
                "not stored: private",
            ),
            (
                "cdn-no-cache",
                &[(cdn, "no-cache"), (cc, "max-age=10000"), ("etag", "\"a\"")],
                "ask: NoCache",
            ),
            (
                "cdn-no-store-cc-fresh",
                &[(cc, "max-age=10000"), (cdn, "no-store")],
                "not stored: no-store",
            ),
            ("cdn-fresh-cc-nostore", &[(cc, "no-store"), (cdn, "max-age=10000")], "fresh"),
            (
                "cdn-cc-invalid-sh-type-unknown",
                &[(cdn, "max-age=10000, &&&&&"), (cc, "no-store")],
                "not stored: no-store",
            ),
            (
                "cdn-cc-invalid-sh-type-wrong",
                &[(cdn, "max-age=\"10000\""), (cc, "no-store")],
                "not stored: no-store",
            ),
            ("empty", &[(cdn, ""), (cc, "max-age=60")], "fresh"),
            ("negative", &[(cdn, "max-age=-1"), (cc, "max-age=60")], "fresh"),
            ("two lines", &[(cdn, "max-age=60"), (cdn, "no-store")], "not stored: no-store"),
            ("said not to be", &[(cdn, "max-age=60, no-store=?0")], "fresh"),
        ],
    );
    let long = "a".repeat(5000);
    check(&reverse, &[("too long to be read", &[(cdn, &long), (cc, "max-age=60")], "fresh")]);
    let forward = CachingRules { side: CacheSide::Forward, ..reverse };
    let addressed_to_others: Pairs<'_> = &[(cc, "max-age=60"), (cdn, "no-store")];
    check(&forward, &[("a forward proxy is not meant", addressed_to_others, "fresh")]);
}

#[test]
fn age_is_what_the_way_and_the_clocks_say() {
    let age = |response: Pairs<'_>, delay_ms: u64, after_secs: u64| {
        let rules = CachingRules::forward();
        let (request, response) = (fields(&[]), fields(response));
        let asked = get(&request, after_secs);
        let mut answered = crate::scene::answered(200, &response);
        answered.requested_ms -= delay_ms;
        let head = http_freshness::storable_head(&rules, &asked, &answered);
        let terms = http_freshness::ReuseTerms::of(&rules, &head);
        freshness(&head, &terms, asked.now.unix_ms).age_secs
    };
    assert_eq!(age(&[("date", "@0")], 0, 10), 10, "other-age-gen");
    assert_eq!(age(&[("date", "@0")], 5000, 0), 5, "other-age-delay");
    assert_eq!(age(&[("date", "@0"), ("age", "30")], 0, 3), 33, "other-age-update-max-age");
    assert_eq!(age(&[("date", "@-100"), ("age", "30")], 0, 3), 103, "apparent age is more");
    assert_eq!(
        age(&[("date", "@100"), ("age", "30")], 600, 3),
        33,
        "a fast clock takes nothing off"
    );
    assert_eq!(age(&[("age", "9999999999")], 9000, 3), DELTA_SECS_MAX, "age-parse-larger");
    assert_eq!(age(&[("date", "@0")], 700, 0), 0);
    let head =
        stored(&CachingRules::forward(), &[], 200, &[("cache-control", "max-age=9")]).unwrap();
    assert_eq!(head.1.age_secs(&head.0, 0), 0, "a clock that was set back");
}
