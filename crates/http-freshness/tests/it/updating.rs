//! What later answers change: RFC 9111 §3.2, §3.4, §4.3.3 to §4.4; suites `update304`,
//! `updateHEAD`, `invalidation`, `partial`.

use crate::scene::{DATE, NOW, Pairs, URL, answered, fields, get, said, stored};
use http::Method;
use http_freshness::{
    BodyPart, CachingRules, HeadEffect, NotJoined, NotStored, RequestFacts, ResponseFacts,
    ValidationConditions, confirmed, first_part, freshened, head_effect, invalidation, next_part,
    rest, reuse,
};

/// The fields after a 304 that came a minute later, as `name: value` without `date`; or why it is
/// dropped.
fn after_304(first: Pairs<'_>, second: Pairs<'_>) -> Result<Vec<String>, NotStored> {
    let (head, _) = stored(&CachingRules::reverse(), &[], 200, first).unwrap();
    let (request, response) = (fields(&[]), fields(second));
    let came = ResponseFacts { received_ms: (NOW + 60) * 1000, ..answered(304, &response) };
    let (head, _) = freshened(&CachingRules::reverse(), &get(&request, 60), &head, &came)?;
    assert_eq!(head.received_ms, (NOW + 60) * 1000);
    let mut lines: Vec<_> = head
        .fields
        .iter()
        .filter(|(name, _)| *name != "date")
        .map(|(name, it)| format!("{name}: {}", it.to_str().unwrap()))
        .collect();
    lines.sort_unstable();
    Ok(lines)
}

#[test]
fn a_304_replaces_fields_but_those_of_the_body() {
    let tag = ("etag", "\"a\"");
    let line = |name: &str, value: &str| vec!["etag: \"a\"".to_owned(), format!("{name}: {value}")];
    for name in ["test-header", "content-foo", "cache-control", "content-type", "x-frame-options"] {
        let found = after_304(&[tag, (name, "max-age=1")], &[tag, (name, "max-age=9")]).unwrap();
        let mut expected = line(name, "max-age=9");
        expected.sort_unstable();
        assert_eq!(found, expected, "304-etag-update-response-{name}");
    }
    for name in ["content-length", "content-encoding", "content-range"] {
        let found = after_304(&[tag, (name, "36")], &[tag, (name, "10")]).unwrap();
        assert!(found.contains(&format!("{name}: 36")), "304-etag-update-response-{name}");
    }
    let kept = after_304(&[("last-modified", DATE), ("test-header", "A")], &[]).unwrap();
    assert!(kept.contains(&"test-header: A".to_owned()), "304-lm-use-stored-Test-Header");
    let lines = after_304(&[tag, ("x", "1"), ("x", "2")], &[tag, ("x", "3"), ("x", "4")]).unwrap();
    assert_eq!(lines, ["etag: \"a\"", "x: 3", "x: 4"]);
    let hop = after_304(&[tag], &[("connection", "x"), ("x", "1"), ("keep-alive", "5")]).unwrap();
    assert_eq!(hop, ["etag: \"a\""], "what is not stored is not stored by a 304");
}

#[test]
fn a_304_makes_it_as_young_as_itself() {
    let first: Pairs<'_> = &[("cache-control", "max-age=100"), ("age", "90"), ("etag", "\"a\"")];
    let lines = after_304(first, &[]).unwrap();
    assert!(!lines.iter().any(|line| line.starts_with("age")), "{lines:?}");
    let (head, _) = stored(&CachingRules::forward(), &[], 200, first).unwrap();
    let (request, response) = (fields(&[]), fields(&[]));
    let came = ResponseFacts {
        received_ms: (NOW + 60) * 1000,
        requested_ms: (NOW + 60) * 1000,
        ..answered(304, &response)
    };
    let asked = get(&request, 155);
    let (head, terms) = freshened(&CachingRules::forward(), &asked, &head, &came).unwrap();
    assert_eq!(said(&reuse(&CachingRules::forward(), &asked, &head, &terms)), "fresh");
    assert_eq!(terms.age_secs(&head, asked.now.unix_ms), 95);
}

#[test]
fn a_304_may_end_what_is_stored() {
    let cookie = after_304(&[("etag", "\"a\"")], &[("etag", "\"a\""), ("set-cookie", "a=b")]);
    assert_eq!(cookie, Err(NotStored::SetCookie));
    let first: Pairs<'_> = &[("cache-control", "max-age=100"), ("etag", "\"a\"")];
    assert_eq!(after_304(first, &[("cache-control", "no-store")]), Err(NotStored::NoStore));
    assert_eq!(after_304(first, &[("vary", "*")]), Err(NotStored::VaryStar));
}

#[test]
fn a_new_vary_selects_by_the_new_request() {
    let (head, _) = stored(&CachingRules::forward(), &[], 200, &[("etag", "\"a\"")]).unwrap();
    let (request, response) = (fields(&[("foo", "1")]), fields(&[("vary", "foo")]));
    let (head, _) =
        freshened(&CachingRules::forward(), &get(&request, 0), &head, &answered(304, &response))
            .unwrap();
    assert_eq!(head.selecting, request);
}

#[test]
fn a_304_confirms_what_has_its_validator() {
    let head = |pairs: Pairs<'_>| stored(&CachingRules::forward(), &[], 200, pairs).unwrap().0;
    let heads = [
        head(&[("etag", "\"a\"")]),
        head(&[("etag", "W/\"b\"")]),
        head(&[("etag", "\"a\"")]),
        head(&[("last-modified", DATE)]),
    ];
    let all: Vec<_> = heads.iter().collect();
    let confirmed_by = |pairs: Pairs<'_>| confirmed(&all, &fields(pairs));
    assert_eq!(confirmed_by(&[("etag", "\"a\"")]), [0, 2]);
    assert_eq!(confirmed_by(&[("etag", "W/\"b\"")]), [1]);
    assert_eq!(confirmed_by(&[("etag", "\"b\"")]), [1], "the origin compared weakly");
    assert!(confirmed_by(&[("etag", "\"c\"")]).is_empty());
    assert_eq!(confirmed_by(&[("last-modified", DATE)]), [3]);
    assert!(confirmed_by(&[]).is_empty(), "which of four?");
    assert_eq!(confirmed(&all[..1], &fields(&[])), [0]);
    let sent = ValidationConditions::of_variants(&heads).if_none_match.unwrap();
    assert_eq!(sent, "\"a\", W/\"b\", \"a\"", "conditional-etag-vary-headers-mismatch");
    assert!(ValidationConditions::of_variants(&heads[3..]).is_empty());
}

#[test]
fn the_answer_to_a_head_updates_or_outdates() {
    let first: Pairs<'_> = &[("etag", "\"a\""), ("content-length", "10")];
    let (head, _) = stored(&CachingRules::forward(), &[], 200, first).unwrap();
    let effect = |status, pairs: Pairs<'_>| head_effect(&head, &answered(status, &fields(pairs)));
    assert_eq!(effect(200, &[("x", "1")]), HeadEffect::Updates, "head-200-update");
    assert_eq!(effect(200, first), HeadEffect::Updates, "head-200-freshness-update");
    assert_eq!(effect(200, &[("etag", "\"b\"")]), HeadEffect::Invalidates);
    assert_eq!(effect(200, &[("content-length", "11")]), HeadEffect::Invalidates);
    assert_eq!(effect(410, &[("x", "1")]), HeadEffect::Nothing, "head-410-update");
}

#[test]
fn what_may_have_changed_something_invalidates() {
    let urls = |method: &str, status, pairs: Pairs<'_>| {
        let (request, response) = (fields(&[]), fields(pairs));
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let asked = RequestFacts { method: &method, ..get(&request, 0) };
        invalidation(&asked, &answered(status, &response))
    };
    for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "PURGE", "get"] {
        assert_eq!(urls(method, 200, &[]), [URL], "invalidate-{method}");
        assert_eq!(urls(method, 303, &[]), [URL]);
        assert!(urls(method, 500, &[]).is_empty(), "invalidate-{method}-failed");
        assert!(urls(method, 404, &[]).is_empty());
    }
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND"] {
        assert!(urls(method, 200, &[]).is_empty(), "{method} is safe");
    }
    let located: Pairs<'_> = &[("location", "new#part"), ("content-location", "/cl?a=1")];
    let expected = [URL, "http://example.com/dir/new", "http://example.com/cl?a=1"];
    assert_eq!(urls("POST", 201, located), expected, "invalidate-POST-location and -cl");
    for other in
        ["https://example.com/x", "http://example.com:81/x", "http://other/x", "//o/x", "http://["]
    {
        assert_eq!(urls("PUT", 200, &[("location", other)]), [URL], "{other} is another origin");
    }
    let same: Pairs<'_> = &[("location", URL), ("content-location", "page")];
    assert_eq!(urls("PUT", 200, same), [URL], "each once");
}

const PART: (&str, &str) = ("content-range", "bytes 0-4/10");
const FRESH: (&str, &str) = ("cache-control", "max-age=3600");

#[test]
fn a_part_is_stored_if_another_can_be_put_to_it() {
    let word =
        |pairs: Pairs<'_>| first_part(&answered(206, &fields(pairs))).map_err(NotStored::word);
    let tag = ("etag", "\"a\"");
    let part = Ok(BodyPart { first: 0, last: 4, total: 10 });
    assert_eq!(word(&[PART, tag]), part);
    assert_eq!(word(&[PART, tag, ("content-length", "5")]), part);
    assert_eq!(word(&[PART, ("last-modified", "@-60"), ("date", "@0")]), part);
    assert_eq!(word(&[PART, ("last-modified", "@-59"), ("date", "@0")]), Err("part-no-validator"));
    assert_eq!(word(&[PART, ("etag", "W/\"a\"")]), Err("part-no-validator"));
    assert_eq!(word(&[PART]), Err("part-no-validator"));
    assert_eq!(word(&[tag]), Err("content-range"));
    assert_eq!(
        word(&[tag, ("content-type", "Multipart/ByteRanges; boundary=x")]),
        Err("multipart")
    );
    assert_eq!(word(&[PART, PART, tag]), Err("content-range"), "two fields");
    let short: Pairs<'_> = &[("content-range", "bytes 4-9/10"), ("content-length", "5"), tag];
    assert_eq!(
        word(short),
        Err("content-range"),
        "the suite's own slip in four tests of `partial`"
    );
    for range in [
        "bytes 0-4/*",
        "bytes */10",
        "bytes 4-0/10",
        "bytes 0-10/10",
        "bytes 0-4",
        "lines 0-4/10",
        "bytes +0-4/10",
        "bytes 0-4/99999999999999999999999",
        "",
        "bytes",
        "0-4/10",
    ] {
        assert_eq!(word(&[("content-range", range), tag]), Err("content-range"), "{range}");
    }
}

#[test]
fn the_head_of_a_part_is_stored_as_that_of_the_whole() {
    let response: Pairs<'_> = &[FRESH, PART, ("etag", "\"a\""), ("content-length", "5")];
    let (head, _) = stored(&CachingRules::forward(), &[], 206, response).unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(head.fields["content-length"], "10");
    assert!(!head.fields.contains_key("content-range"));
    let rest_of = rest(&head, 5, None).unwrap();
    assert_eq!(
        (rest_of.range, rest_of.if_range),
        ("bytes=5-".parse().unwrap(), "\"a\"".parse().unwrap())
    );
    assert_eq!(rest(&head, 5, Some(7)).unwrap().range, "bytes=5-7");
    let (weak, _) =
        stored(&CachingRules::forward(), &[], 200, &[FRESH, ("etag", "W/\"a\"")]).unwrap();
    assert_eq!(rest(&weak, 5, None), None);
}

#[test]
fn parts_are_put_together_only_if_they_are_of_the_same_bytes() {
    let response: Pairs<'_> = &[FRESH, PART, ("etag", "\"a\"")];
    let (head, _) = stored(&CachingRules::forward(), &[], 206, response).unwrap();
    let next = |status, pairs: Pairs<'_>| next_part(&head, &answered(status, &fields(pairs)));
    let second = ("content-range", "bytes 5-9/10");
    let tag = ("etag", "\"a\"");
    assert_eq!(next(206, &[second, tag]), Ok(BodyPart { first: 5, last: 9, total: 10 }));
    assert_eq!(next(200, &[tag]), Err(NotJoined::NoPart));
    assert_eq!(next(206, &[second, ("etag", "\"b\"")]), Err(NotJoined::Changed));
    assert_eq!(next(206, &[second, ("etag", "W/\"a\"")]), Err(NotJoined::NoStrongValidator));
    assert_eq!(next(206, &[second]), Err(NotJoined::NoStrongValidator));
    assert_eq!(next(206, &[("content-range", "bytes 5-9/11"), tag]), Err(NotJoined::Total));
}
