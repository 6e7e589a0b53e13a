//! Which fields of a response are stored (RFC 9111 §3.1).
//!
//! Left out is what is for one connection, what `Connection` lists, what the origin keeps from
//! reuse (`no-cache="…"`, `private="…"`), and `Set-Cookie` where the rules say so. Pure. Called
//! before a head is stored or updated.

use super::response_control::{self, ResponseControl};
use super::rules::{CacheAudience, CachingRules, SetCookie};
use http::header::{self, HeaderMap, HeaderName};

/// Fields of one connection, and those of proxies (§3.1).
static NEVER: [HeaderName; 11] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-authentication-info"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Of RFC 2965.
static SET_COOKIE2: HeaderName = HeaderName::from_static("set-cookie2");

/// Fields that `Connection` may list in vain: without them what is stored would be used against the
/// origin's will.
static KEPT: [HeaderName; 9] = [
    header::AGE,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::DATE,
    header::EXPIRES,
    header::VARY,
];

/// A copy without what is not stored.
pub(crate) fn stored(rules: &CachingRules, fields: &HeaderMap) -> HeaderMap {
    let control = ResponseControl::of(rules, fields);
    let listed = listed_in_connection(fields);
    let mut stored = fields.clone();
    let private = match rules.audience {
        CacheAudience::Shared => control.private_fields.as_slice(),
        CacheAudience::Private => &[],
    };
    let withheld = listed.iter().chain(&control.no_cache_fields).chain(private);
    // Few answers have any of them: walking over the fields costs less than asking the map for
    // each.
    let never = NEVER.iter().filter(|name| fields.keys().any(|it| it == *name));
    for name in never.chain(withheld.filter(|name| !KEPT.contains(name))) {
        stored.remove(name);
    }
    match rules.cookies {
        // Whether it is stored at all is judged by what is left here: the origin may have kept its
        // cookie from reuse itself.
        SetCookie::Kept | SetCookie::Refused => {}
        SetCookie::Dropped => {
            stored.remove(header::SET_COOKIE);
            stored.remove(&SET_COOKIE2);
        }
    }
    stored
}

/// True for an answer on whose account a client would store a cookie.
pub(crate) fn sets_cookie(fields: &HeaderMap) -> bool {
    fields.contains_key(header::SET_COOKIE) || fields.contains_key(&SET_COOKIE2)
}

fn listed_in_connection(fields: &HeaderMap) -> Vec<HeaderName> {
    let lines = fields.get_all(header::CONNECTION).iter();
    lines.filter_map(|line| response_control::names(line.as_bytes())).flatten().collect()
}
