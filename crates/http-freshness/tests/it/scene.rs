//! What the tables are made of: fields from pairs of words, a fixed moment, and a cache of one
//! response that is put through the rules as a door would.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};
use http_freshness::{
    CachingRules, NotStored, OriginTrouble, RequestFacts, ResponseFacts, Reuse, ReuseTerms,
    StoredHead, reuse, stale_on_error, storable_head, storing,
};
use vocab::Now;

/// The moment at which everything is answered, in seconds since 1970: Sun, 06 Nov 1994 08:49:37
/// GMT.
pub(crate) const NOW: u64 = 784_111_777;
/// The same as a field.
pub(crate) const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// What is asked for.
pub(crate) const URL: &str = "http://example.com/dir/page";

/// Fields as pairs of words.
pub(crate) type Pairs<'a> = &'a [(&'a str, &'a str)];

/// Fields, in order; a name may stand several times. `@-60` as a value is the date a minute before
/// [`NOW`].
pub(crate) fn fields(pairs: Pairs<'_>) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in pairs {
        let date = value.strip_prefix('@').map(|offset| date(offset.parse().unwrap()));
        fields.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(date.as_deref().unwrap_or(value).as_bytes()).unwrap(),
        );
    }
    fields
}

/// The date so many seconds after [`NOW`].
pub(crate) fn date(offset_secs: i64) -> String {
    let secs = NOW.checked_add_signed(offset_secs).unwrap();
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs);
    httpdate::fmt_http_date(moment)
}

/// A moment so many seconds after [`NOW`].
pub(crate) fn after(secs: u64) -> Now {
    Now { unix_ms: (NOW + secs) * 1000, mono_ms: secs * 1000 }
}

/// A `GET` with these fields, so many seconds after [`NOW`].
pub(crate) fn get(fields: &HeaderMap, secs: u64) -> RequestFacts<'_> {
    RequestFacts { method: &Method::GET, url: URL, fields, now: after(secs) }
}

/// An answer that came at [`NOW`], at once.
pub(crate) fn answered(status: u16, fields: &HeaderMap) -> ResponseFacts<'_> {
    let status = StatusCode::from_u16(status).unwrap();
    ResponseFacts { status, fields, requested_ms: NOW * 1000, received_ms: NOW * 1000 }
}

/// What is stored of an answer to a `GET` with these fields.
pub(crate) fn stored(
    rules: &CachingRules,
    request: Pairs<'_>,
    status: u16,
    response: Pairs<'_>,
) -> Result<(StoredHead, ReuseTerms), NotStored> {
    let (request, response) = (fields(request), fields(response));
    let (asked, answered) = (get(&request, 0), answered(status, &response));
    let terms = storing(rules, &asked, &answered)?;
    let head = storable_head(rules, &asked, &answered);
    // What is read from disk has the same terms.
    let read = StoredHead::decode(&head.encode().unwrap()).unwrap();
    assert_eq!(read, head);
    assert_eq!(ReuseTerms::of(rules, &read), terms);
    Ok((head, terms))
}

/// What becomes of a second request for what was stored, in one word: `not stored: why`, `fresh`,
/// `stale: why`, `ask: why`, `never: why`.
pub(crate) fn second(
    rules: &CachingRules,
    response: Pairs<'_>,
    request: Pairs<'_>,
    after_secs: u64,
) -> String {
    match stored(rules, &[], 200, response) {
        Err(why) => format!("not stored: {}", why.word()),
        Ok((head, terms)) => {
            let request = fields(request);
            said(&reuse(rules, &get(&request, after_secs), &head, &terms))
        }
    }
}

/// A decision in a word or two.
pub(crate) fn said(reuse: &Reuse) -> String {
    match reuse {
        Reuse::Fresh(_) => "fresh".into(),
        Reuse::Stale { allowed_by: why, .. } => format!("stale: {}", why.word()),
        Reuse::Validate { reason: why, .. } => format!("ask: {why:?}"),
        Reuse::Never(why) => format!("never: {why:?}"),
    }
}

/// What is sent so many seconds later when the origin is in trouble, in a word.
pub(crate) fn in_trouble(
    rules: &CachingRules,
    response: Pairs<'_>,
    request: Pairs<'_>,
    after_secs: u64,
    trouble: OriginTrouble,
) -> String {
    let (head, terms) = stored(rules, &[], 200, response).unwrap();
    let request = fields(request);
    match stale_on_error(rules, &get(&request, after_secs), &head, &terms, trouble) {
        Ok((_, why)) => format!("stale: {}", why.word()),
        Err(why) => format!("error: {}", why.word()),
    }
}
