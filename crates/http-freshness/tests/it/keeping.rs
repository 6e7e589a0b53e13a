//! What is stored and what of it: RFC 9111 §3, §5.2.2; suites `cc-response`, `auth`, `status`,
//! `method`, `headers`, `other`.

use crate::scene::{Pairs, URL, answered, fields, get, stored};
use http::Method;
use http::header::HeaderName;
use http_freshness::{
    CacheAudience, CachingRules, RedirectStorage, RequestFacts, SetCookie, StaleUse, TAGS_MAX,
    storable_head, storing,
};

const FRESH: (&str, &str) = ("cache-control", "max-age=3600");

/// `stored`, or the word of the reason why not.
fn word(
    rules: &CachingRules,
    request: Pairs<'_>,
    status: u16,
    response: Pairs<'_>,
) -> &'static str {
    stored(rules, request, status, response)
        .map_or_else(http_freshness::NotStored::word, |_| "stored")
}

#[test]
fn directives_forbid_storing() {
    let cc = "cache-control";
    let rows: &[(&str, Pairs<'_>, &str)] = &[
        ("cc-resp-private-shared", &[(cc, "private, max-age=3600")], "private"),
        ("cc-resp-no-store", &[(cc, "no-store")], "no-store"),
        ("cc-resp-no-store-case-insensitive", &[(cc, "No-StOrE")], "no-store"),
        ("cc-resp-no-store-fresh", &[(cc, "max-age=10000, no-store")], "no-store"),
        ("no-store on a later line", &[(cc, "max-age=10000"), (cc, "no-store")], "no-store"),
        ("cc-resp-no-cache-revalidate", &[(cc, "no-cache"), ("etag", "\"a\"")], "stored"),
        ("cc-resp-no-cache", &[(cc, "max-age=10000, no-cache")], "no-cache"),
        ("private for listed fields only", &[(cc, "private=\"a\", max-age=9")], "stored"),
        ("private for an empty list", &[(cc, "private=\"\", max-age=9")], "private"),
        ("private for what is no name", &[(cc, "private=\"(\", max-age=9")], "private"),
        ("a validator only", &[("etag", "\"a\"")], "stored"),
        ("a stale window only", &[(cc, "max-age=0, stale-while-revalidate=9")], "stored"),
        ("an error window only", &[(cc, "max-age=0, stale-if-error=9")], "stored"),
        ("other-set-cookie", &[FRESH, ("set-cookie", "a=b")], "stored"),
        ("a cookie and a guess", &[("etag", "\"a\""), ("set-cookie", "a=b")], "set-cookie"),
        ("vary-syntax-star", &[FRESH, ("vary", "*")], "vary-star"),
        ("vary-syntax-star-star", &[FRESH, ("vary", "*, *")], "vary-star"),
        ("vary-syntax-star-star-lines", &[FRESH, ("vary", "*"), ("vary", "*")], "vary-star"),
        ("vary-syntax-empty-star", &[FRESH, ("vary", ", *")], "vary-star"),
        ("vary-syntax-empty-star-lines", &[FRESH, ("vary", ""), ("vary", "*")], "vary-star"),
        ("vary-syntax-star-foo", &[FRESH, ("vary", "*, Foo")], "vary-star"),
        ("vary-syntax-foo-star", &[FRESH, ("vary", "Foo, *")], "vary-star"),
        ("what is no name may mean anything", &[FRESH, ("vary", "a b")], "vary-star"),
    ];
    for (name, response, expected) in rows {
        assert_eq!(word(&CachingRules::forward(), &[], 200, response), *expected, "{name}");
    }
    let private = CachingRules { audience: CacheAudience::Private, ..CachingRules::forward() };
    assert_eq!(word(&private, &[], 200, &[(cc, "private, max-age=9")]), "stored");
    let relaxed = CachingRules { stale: StaleUse::Always, ..CachingRules::forward() };
    assert_eq!(
        word(&relaxed, &[], 200, &[]),
        "stored",
        "a relaxed cache keeps what it may send stale"
    );
}

#[test]
fn before_an_origin_what_sets_a_cookie_is_not_kept() {
    let cc = "cache-control";
    let cookie = ("set-cookie", "a=b");
    let rows: &[(Pairs<'_>, &str)] = &[
        (&[FRESH, cookie], "set-cookie"),
        (&[FRESH, ("set-cookie2", "a=b")], "set-cookie"),
        (&[(cc, "public, s-maxage=9"), cookie], "set-cookie"),
        (&[("expires", "@60"), cookie], "set-cookie"),
        // The origin itself takes it out.
        (&[(cc, "max-age=9, no-cache=\"set-cookie\""), cookie], "stored"),
        (&[(cc, "max-age=9, private=\"Set-Cookie\""), cookie], "stored"),
        (&[FRESH], "stored"),
    ];
    for (response, expected) in rows {
        assert_eq!(word(&CachingRules::reverse(), &[], 200, response), *expected, "{response:?}");
    }
    let kept = CachingRules { cookies: SetCookie::Kept, ..CachingRules::reverse() };
    assert_eq!(word(&kept, &[], 200, &[FRESH, cookie]), "stored");
    let posted =
        word(&CachingRules::reverse(), &[], 200, &[FRESH, cookie, ("content-location", URL)]);
    assert_eq!(posted, "set-cookie");
}

#[test]
fn redirects_are_kept_unless_it_is_said_that_none_is() {
    let refused = CachingRules { redirects: RedirectStorage::Refused, ..CachingRules::forward() };
    for status in [300, 301, 302, 303, 307, 308] {
        assert_eq!(word(&CachingRules::forward(), &[], status, &[FRESH]), "stored", "{status}");
        assert_eq!(word(&refused, &[], status, &[FRESH]), "redirect", "{status}");
    }
    for status in [200, 404, 410] {
        assert_eq!(word(&refused, &[], status, &[FRESH]), "stored", "{status}");
    }
}

#[test]
fn what_came_for_a_password_is_kept_only_if_the_origin_says_so() {
    let cc = "cache-control";
    let rows = [
        ("other-authorization", "max-age=100000", "authorization"),
        ("other-authorization-public", "max-age=3600, public", "stored"),
        ("other-authorization-must-revalidate", "max-age=3600, must-revalidate", "stored"),
        ("other-authorization-smaxage", "s-maxage=3600", "stored"),
    ];
    let asked: Pairs<'_> = &[("authorization", "FOO")];
    for (name, control, expected) in rows {
        assert_eq!(
            word(&CachingRules::forward(), asked, 200, &[(cc, control)]),
            expected,
            "{name}"
        );
    }
    let private = CachingRules { audience: CacheAudience::Private, ..CachingRules::forward() };
    assert_eq!(word(&private, asked, 200, &[FRESH]), "stored");
}

#[test]
fn clients_may_ask_that_nothing_is_kept() {
    let asked: Pairs<'_> = &[("cache-control", "no-store")];
    assert_eq!(word(&CachingRules::forward(), asked, 200, &[FRESH]), "request-no-store");
    assert_eq!(
        word(&CachingRules::reverse(), asked, 200, &[FRESH]),
        "stored",
        "not before an origin"
    );
}

#[test]
fn any_final_status_is_kept_that_is_for_everybody() {
    let fresh = |status| word(&CachingRules::forward(), &[], status, &[FRESH]);
    for status in
        [200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599]
    {
        assert_eq!(fresh(status), "stored", "status-{status}-fresh");
    }
    for (status, expected) in [
        (100, "not-final"),
        (103, "not-final"),
        (304, "not-final"),
        (401, "status"),
        (407, "status"),
        (412, "status"),
        (416, "status"),
        (428, "status"),
        (429, "status"),
        (431, "status"),
        (511, "status"),
    ] {
        assert_eq!(fresh(status), expected, "{status}");
    }
    let understand: Pairs<'_> = &[("cache-control", "max-age=3600, no-store, must-understand")];
    let word = |status| word(&CachingRules::forward(), &[], status, understand);
    assert_eq!(word(599), "must-understand", "status-599-must-understand");
    assert_eq!(word(200), "stored", "status-200-must-understand");
}

#[test]
fn a_post_is_kept_for_get_if_it_says_that_it_is_the_same() {
    let word = |method: Method, response: Pairs<'_>| {
        let (request, response) = (fields(&[]), fields(response));
        let asked = RequestFacts { method: &method, ..get(&request, 0) };
        storing(&CachingRules::forward(), &asked, &answered(200, &response))
            .map_or_else(http_freshness::NotStored::word, |_| "stored")
    };
    let post = |response| word(Method::POST, response);
    assert_eq!(post(&[FRESH, ("content-location", URL)]), "stored", "method-POST");
    assert_eq!(post(&[FRESH, ("content-location", "/dir/page")]), "stored");
    assert_eq!(post(&[FRESH, ("content-location", "other")]), "post-elsewhere");
    assert_eq!(post(&[FRESH]), "post-elsewhere");
    let unsaid: Pairs<'_> = &[("content-location", URL), ("etag", "\"a\"")];
    assert_eq!(post(unsaid), "post-no-freshness");
    for method in [Method::HEAD, Method::PUT, Method::OPTIONS] {
        assert_eq!(word(method, &[FRESH]), "method");
    }
}

/// The names that are kept of a response.
fn names(rules: &CachingRules, response: Pairs<'_>) -> Vec<String> {
    let (request, response) = (fields(&[]), fields(response));
    let head = storable_head(rules, &get(&request, 0), &answered(200, &response));
    let mut names: Vec<_> = head.fields.keys().map(HeaderName::to_string).collect();
    names.sort_unstable();
    names
}

#[test]
fn fields_of_one_connection_are_not_kept() {
    let rules = CachingRules::reverse();
    let listed: Pairs<'_> =
        &[("date", "@0"), FRESH, ("connection", "a, b"), ("a", "1"), ("b", "2"), ("c", "3")];
    assert_eq!(names(&rules, listed), ["c", "cache-control", "date"]);
    for name in [
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ] {
        let response = [("date", "@0"), (name, "x")];
        assert_eq!(names(&rules, &response), ["date"], "headers-store-{name}");
    }
    for name in [
        "content-encoding",
        "content-length",
        "content-location",
        "content-md5",
        "content-range",
        "content-security-policy",
        "content-type",
        "clear-site-data",
        "etag",
        "expires",
        "public-key-pins",
        "set-cookie",
        "set-cookie2",
        "x-frame-options",
        "x-xss-protection",
    ] {
        let response = [("date", "@0"), (name, "x")];
        assert!(names(&rules, &response).contains(&name.to_owned()), "headers-store-{name}");
    }
    let hostile: Pairs<'_> = &[("date", "@0"), FRESH, ("connection", "cache-control, date, vary")];
    assert_eq!(names(&rules, hostile), ["cache-control", "date"], "what decides cannot be hidden");
}

#[test]
fn fields_that_the_origin_keeps_from_reuse_are_not_kept() {
    let cc = "cache-control";
    let rows: &[(Pairs<'_>, &[&str])] = &[
        (&[(cc, "no-cache=\"a\""), (cc, "max-age=9")], &["b", "c", cc, "date"]),
        (&[(cc, "no-cache=\"a, B\", max-age=9")], &["c", cc, "date"]),
        (&[(cc, "private=\"a\", max-age=9")], &["b", "c", cc, "date"]),
        (&[(cc, "no-cache=a, max-age=9")], &["b", "c", cc, "date"]),
    ];
    for (control, expected) in rows {
        let response = [*control, &[("date", "@0"), ("a", "1"), ("b", "2"), ("c", "3")]].concat();
        assert_eq!(names(&CachingRules::forward(), &response), *expected, "{control:?}");
    }
    let private = CachingRules { audience: CacheAudience::Private, ..CachingRules::forward() };
    let response: Pairs<'_> = &[("date", "@0"), (cc, "private=\"a\""), ("a", "1")];
    assert_eq!(names(&private, response), ["a", cc, "date"]);
}

#[test]
fn a_cookie_is_kept_by_choice() {
    let response: Pairs<'_> = &[("date", "@0"), ("set-cookie", "a=b"), ("set-cookie2", "a=b")];
    let kept = CachingRules { cookies: SetCookie::Kept, ..CachingRules::forward() };
    assert_eq!(names(&kept, response), ["date", "set-cookie", "set-cookie2"]);
    assert_eq!(names(&CachingRules::forward(), response), ["date"]);
}

#[test]
fn a_date_is_given_to_what_has_none_and_left_where_it_is() {
    let date = |response: Pairs<'_>| {
        let (head, _) =
            stored(&CachingRules::forward(), &[], 200, &[&[FRESH], response].concat()).unwrap();
        head.fields["date"].to_str().unwrap().to_owned()
    };
    assert_eq!(date(&[]), crate::scene::DATE);
    assert_eq!(date(&[("date", "foo")]), crate::scene::DATE);
    assert_eq!(date(&[("date", "@-9")]), crate::scene::date(-9), "other-date-update");
}

#[test]
fn what_is_beyond_a_cap_is_not_kept() {
    let many: Vec<String> = (0..=TAGS_MAX).map(|number| number.to_string()).collect();
    let rules = CachingRules::reverse();
    assert_eq!(word(&rules, &[], 200, &[FRESH, ("surrogate-key", &many.join(" "))]), "tags");
    assert_eq!(word(&rules, &[], 200, &[FRESH, ("cache-tag", &"x".repeat(1025))]), "tags");
    let tagged: Pairs<'_> =
        &[FRESH, ("surrogate-key", "b  a"), ("cache-tag", "c d, a"), ("surrogate-key", "e")];
    let (_, terms) = stored(&rules, &[], 200, tagged).unwrap();
    assert_eq!(terms.tags.iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["a", "b", "c d", "e"]);
    assert_eq!(word(&rules, &[], 200, &[FRESH, ("x", &"x".repeat(60_000))]), "head-too-large");
    let fields: Vec<(&str, &str)> = std::iter::repeat_n(("x", "1"), 500).chain([FRESH]).collect();
    assert_eq!(word(&rules, &[], 200, &fields), "head-too-large");
    let names: Vec<String> = (0..40).map(|number| format!("x-{number}")).collect();
    let varied: Pairs<'_> = &[FRESH, ("vary", &names.join(","))];
    assert_eq!(word(&rules, &[], 200, varied), "vary-too-large");
    let large = "x".repeat(20_000);
    assert_eq!(word(&rules, &[("x", &large)], 200, &[FRESH, ("vary", "x")]), "vary-too-large");
}
