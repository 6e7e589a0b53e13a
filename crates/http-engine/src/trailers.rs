//! Fields behind a body (RFC 9110 §6.5): which of them go on.
//!
//! Some servers, and libraries of clients, add them to the fields of the head, where what a request
//! says of its client has been checked already: there a trailer may set what a head may not.
//! Requests keep nothing but sums of their body; answers, whose trailers carry how a call of gRPC
//! ended under names of all kinds, lose what frames, routes, authenticates or governs a message
//! (RFC 9110 §6.5.1). Pure. Called by [`crate::Incoming`] for what comes in and by
//! [`crate::fast_path::framing`] for what goes out.

use crate::admit::is_token;
use http::header::{self, HeaderMap, HeaderName};

/// The message whose body they stand behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrailerOf {
    Request,
    Answer,
}

/// Trailers of requests that go on: what is known of a body only once it was read.
const DIGEST_FIELDS: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];
/// The same, by how their names begin.
const DIGEST_PREFIXES: [&str; 2] = ["x-amz-checksum-", "x-checksum-"];

/// Fields of answers that mean nothing behind a body, or too much.
static HEAD_ONLY: [HeaderName; 41] = [
    header::AGE,
    header::ALT_SVC,
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONNECTION,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_LOCATION,
    header::CONTENT_RANGE,
    header::CONTENT_SECURITY_POLICY,
    header::CONTENT_SECURITY_POLICY_REPORT_ONLY,
    header::CONTENT_TYPE,
    header::COOKIE,
    header::DATE,
    header::EXPECT,
    header::EXPIRES,
    header::FORWARDED,
    header::HOST,
    header::LINK,
    header::LOCATION,
    header::MAX_FORWARDS,
    header::PRAGMA,
    header::RANGE,
    header::REFERRER_POLICY,
    header::REFRESH,
    header::RETRY_AFTER,
    header::SET_COOKIE,
    header::STRICT_TRANSPORT_SECURITY,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::VARY,
    header::VIA,
    header::WARNING,
    header::WWW_AUTHENTICATE,
    header::X_FRAME_OPTIONS,
    HeaderName::from_static("clear-site-data"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("x-sendfile"),
];
/// The same, by how their names begin.
const HEAD_ONLY_KINDS: [&str; 7] =
    ["access-control-", "http2-", "proxy-", "sec-", "x-accel-", "x-forwarded-", "x-reproxy-"];

/// Tells of a field of this name that it goes on behind a body.
pub(crate) fn is_allowed_trailer(name: &HeaderName, behind: TrailerOf) -> bool {
    let begins = |kinds: &[&str]| kinds.iter().any(|kind| name.as_str().starts_with(kind));
    match behind {
        TrailerOf::Request => DIGEST_FIELDS.contains(&name.as_str()) || begins(&DIGEST_PREFIXES),
        TrailerOf::Answer => {
            is_token(name) && !HEAD_ONLY.contains(name) && !begins(&HEAD_ONLY_KINDS)
        }
    }
}

/// Drops what does not go on.
pub(crate) fn remove_disallowed(trailers: &mut HeaderMap, behind: TrailerOf) {
    if trailers.keys().all(|name| is_allowed_trailer(name, behind)) {
        return;
    }
    let names: Vec<HeaderName> = trailers.keys().cloned().collect();
    for name in names.iter().filter(|name| !is_allowed_trailer(name, behind)) {
        trailers.remove(name);
    }
}

/// The names of those among what `Trailer` announces.
pub(crate) fn announced(headers: &HeaderMap, behind: TrailerOf) -> Vec<HeaderName> {
    let lists = headers.get_all(header::TRAILER).iter();
    let names = lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b','));
    let names = names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok());
    names.filter(|name| is_allowed_trailer(name, behind)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn left(names: &[&str], behind: TrailerOf) -> String {
        let mut trailers = HeaderMap::new();
        for name in names {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            trailers.append(name, HeaderValue::from_static("1"));
        }
        remove_disallowed(&mut trailers, behind);
        let mut left: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        left.join(" ")
    }

    #[test]
    fn requests_keep_sums_of_their_body_and_nothing_else() {
        let names = [
            "Content-Digest",
            "X-Amz-Checksum-Sha256",
            "X-Forwarded-For",
            "X-User",
            "Authorization",
            "Cookie",
            "grpc-status",
        ];
        assert_eq!(left(&names, TrailerOf::Request), "content-digest x-amz-checksum-sha256");
    }

    #[test]
    fn answers_lose_what_belongs_into_a_head() {
        let names = [
            "grpc-status",
            "x-trace-bin",
            "Server-Timing",
            "ETag",
            "Set-Cookie",
            "Content-Length",
            "X-Accel-Redirect",
            "Access-Control-Allow-Origin",
        ];
        assert_eq!(left(&names, TrailerOf::Answer), "etag grpc-status server-timing x-trace-bin");
    }

    #[test]
    fn what_may_follow_a_request_may_follow_an_answer() {
        for name in DIGEST_FIELDS {
            assert!(is_allowed_trailer(&HeaderName::from_static(name), TrailerOf::Answer));
        }
    }

    #[test]
    fn only_what_may_follow_is_announced() {
        let mut headers = HeaderMap::new();
        headers.append(header::TRAILER, HeaderValue::from_static("X-User, Digest ,,x y"));
        headers.append(header::TRAILER, HeaderValue::from_static("content-digest"));
        let names = announced(&headers, TrailerOf::Request);
        assert_eq!(names, ["digest", "content-digest"]);
    }
}
