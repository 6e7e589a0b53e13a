//! Any fields of a request and of its answers: what is stored is read back as it was, on the same
//! terms, matches the request that it was stored for, and every rule answers.
//!
//! The input is heads apart by an empty line: a request, its answer, a second request, a later
//! answer. Lines are `name: value`, and `@206` gives an answer's status.
#![no_main]

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_freshness::{
    CachingRules, DELTA_SECS_MAX, OriginTrouble, RequestFacts, ResponseFacts, Reuse, ReuseTerms,
    StoredHead, choose, confirmed, explain, first_part, freshened, freshness, head_effect,
    invalidation, storable_head, matches, next_part, stale_on_error, reuse, storing,
};
use libfuzzer_sys::fuzz_target;
use vocab::Now;

/// Sun, 06 Nov 1994 08:49:37 GMT.
const NOW_MS: u64 = 784_111_777_000;

struct Message {
    status: StatusCode,
    fields: HeaderMap,
}

fn message(head: &[u8]) -> Message {
    let mut message = Message { status: StatusCode::OK, fields: HeaderMap::new() };
    for line in head.split(|it| *it == b'\n') {
        if let Some(status) = line.strip_prefix(b"@") {
            message.status = StatusCode::from_bytes(status).unwrap_or(message.status);
        }
        let Some(colon) = line.iter().position(|it| *it == b':') else { continue };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) =
            (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
        {
            message.fields.append(name, value);
        }
    }
    message
}

fn asked<'a>(message: &'a Message, method: &'a Method, after_ms: u64) -> RequestFacts<'a> {
    let now = Now { unix_ms: NOW_MS + after_ms, mono_ms: after_ms };
    RequestFacts { method, url: "http://example.com/dir/page", fields: &message.fields, now }
}

fn answered(message: &Message) -> ResponseFacts<'_> {
    let (status, fields) = (message.status, &message.fields);
    ResponseFacts { status, fields, requested_ms: NOW_MS - 400, received_ms: NOW_MS }
}

/// A head that may be kept is the same when it is read from disk, and so are its terms.
fn is_kept_alike(rules: &CachingRules, head: &StoredHead, terms: &ReuseTerms) {
    let bytes = head.encode().expect("what may be stored fits");
    assert_eq!(StoredHead::decode(&bytes).as_ref(), Ok(head));
    assert_eq!(&ReuseTerms::of(rules, head), terms);
}

fn live(rules: &CachingRules, messages: &[Message; 4], method: &Method) {
    let [request, answer, second, later] = messages;
    let (first, came) = (asked(request, method, 0), answered(answer));
    assert!(invalidation(&first, &came).len() <= 3);
    let _ = first_part(&came);
    let Ok(terms) = storing(rules, &first, &came) else { return };
    let head = storable_head(rules, &first, &came);
    is_kept_alike(rules, &head, &terms);
    if !answer.fields.contains_key(header::CONTENT_ENCODING) {
        assert!(matches(&head, &request.fields));
        assert_eq!(choose([&head], &request.fields), Some(0));
    }
    let (next, later) = (asked(second, &Method::GET, 90_000), answered(later));
    let fresh = freshness(&head, &terms, next.now.unix_ms);
    assert!(terms.lifetime_secs <= DELTA_SECS_MAX && fresh.age_secs <= DELTA_SECS_MAX);
    if matches!(reuse(rules, &next, &head, &terms), Reuse::Fresh(_)) {
        assert!(fresh.age_secs < terms.lifetime_secs);
    }
    let _ = stale_on_error(rules, &next, &head, &terms, OriginTrouble::Unreachable);
    let _ = explain(rules, &head, &terms, next.now);
    let _ =
        (head_effect(&head, &later), next_part(&head, &later), confirmed(&[&head], later.fields));
    if let Ok((head, terms)) = freshened(rules, &next, &head, &later) {
        is_kept_alike(rules, &head, &terms);
    }
}

fuzz_target!(|data: &[u8]| {
    if let Ok(head) = StoredHead::decode(data) {
        let again = head.encode().expect("what was read fits");
        assert_eq!(StoredHead::decode(&again), Ok(head));
    }
    let mut rest = data;
    let messages = std::array::from_fn(|_| {
        let end = rest.windows(2).position(|it| it == b"\n\n").unwrap_or(rest.len());
        let (head, behind) = rest.split_at(end);
        rest = behind.get(2..).unwrap_or_default();
        message(head)
    });
    for rules in [CachingRules::forward(), CachingRules::reverse()] {
        live(&rules, &messages, &Method::GET);
        live(&rules, &messages, &Method::POST);
    }
});
