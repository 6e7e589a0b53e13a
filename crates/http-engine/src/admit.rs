//! A request as every reader behind takes it alike: one `Cookie`, one plain length, names that are
//! names.
//!
//! HTTP/2 lets a client split its cookies over several fields, which must be joined before anything
//! else reads them (RFC 9113 §8.2.3); h2 looks at one length and lets others pass, and http's names
//! may hold a quote, which no name of HTTP/1 does. A length goes on as HTTP/1 servers agree on it:
//! some read `010` as eight. Called by the server side, once per request, before [`crate::refuse`].

use crate::refuse::HeadRefusal;
use http::header::{CONTENT_LENGTH, COOKIE, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Version};

/// Puts `request` in order, or says why that cannot be done.
pub(crate) fn admitted<B>(request: &mut Request<B>) -> Result<(), HeadRefusal> {
    let is_http2 = request.version() == Version::HTTP_2;
    let headers = request.headers_mut();
    let (mut cookies, mut lengths, mut is_plain) = (0, 0, true);
    for (name, value) in &*headers {
        if name == COOKIE {
            cookies += 1;
        } else if name == CONTENT_LENGTH {
            lengths += 1;
            is_plain = is_canonical_length(value.as_bytes());
        } else if is_http2 && !is_token(name) {
            return Err(HeadRefusal::BadName);
        }
    }
    if is_http2 && cookies > 1 {
        join_cookies(headers);
    }
    match lengths {
        0 => Ok(()),
        1 if is_plain => Ok(()),
        1 => normalize_length(headers),
        _ => Err(HeadRefusal::TwoLengths),
    }
}

/// Writes the length as everybody does.
fn normalize_length(headers: &mut HeaderMap) -> Result<(), HeadRefusal> {
    let text = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let bytes: u64 = digits.and_then(|it| it.parse().ok()).ok_or(HeadRefusal::BadLength)?;
    headers.insert(CONTENT_LENGTH, bytes.into());
    Ok(())
}

/// One field of those that came, in their order.
fn join_cookies(headers: &mut HeaderMap) {
    let crumbs = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let joined = crumbs.collect::<Vec<_>>().join(&b"; "[..]);
    if let Ok(whole) = HeaderValue::from_maybe_shared(bytes::Bytes::from(joined)) {
        headers.insert(COOKIE, whole);
    }
}

/// `0`, or digits that begin with another.
fn is_canonical_length(value: &[u8]) -> bool {
    match value {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 19 && rest.iter().all(u8::is_ascii_digit),
        [..] => false,
    }
}

/// A name as RFC 9110 §5.6.2 has it: of what http lets pass, all but those with a quote.
pub(crate) fn is_token(name: &HeaderName) -> bool {
    memchr::memchr(b'"', name.as_str().as_bytes()).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Version, fields: &[(&str, &str)], expected: &Result<&[&str], HeadRefusal>) {
        let mut request = Request::new(());
        *request.version_mut() = version;
        for (name, value) in fields {
            let name = HeaderName::from_lowercase(name.as_bytes()).expect("a name");
            request.headers_mut().append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let found = admitted(&mut request).map(|()| {
            let fields = request.headers().iter();
            fields
                .map(|(name, value)| format!("{name}: {}", value.to_str().expect("text")))
                .collect()
        });
        let expected = expected.as_ref().map(|all| all.iter().map(ToString::to_string).collect());
        let expected: Result<Vec<String>, _> = expected.map_err(|why| *why);
        assert_eq!(found, expected, "{fields:?}");
    }

    #[test]
    fn cookies_of_http2_are_joined_in_their_order() {
        let three = [("cookie", "a=b"), ("x", "y"), ("cookie", "c=d"), ("cookie", "e")];
        check(Version::HTTP_2, &three, &Ok(&["cookie: a=b; c=d; e", "x: y"]));
        check(Version::HTTP_2, &three[..1], &Ok(&["cookie: a=b"]));
        let two = &three[..3];
        check(Version::HTTP_11, two, &Ok(&["cookie: a=b", "cookie: c=d", "x: y"]));
    }

    #[test]
    fn a_length_is_one_plain_number() {
        for version in [Version::HTTP_11, Version::HTTP_2] {
            for (sent, expected) in [
                ("0", Ok(&["content-length: 0"][..])),
                ("10", Ok(&["content-length: 10"])),
                ("010", Ok(&["content-length: 10"])),
                ("000", Ok(&["content-length: 0"])),
                ("18446744073709551615", Ok(&["content-length: 18446744073709551615"])),
                ("18446744073709551616", Err(HeadRefusal::BadLength)),
                ("+5", Err(HeadRefusal::BadLength)),
                ("", Err(HeadRefusal::BadLength)),
                ("5, 5", Err(HeadRefusal::BadLength)),
            ] {
                check(version, &[("content-length", sent)], &expected);
            }
            let two = [("content-length", "5"), ("content-length", "5")];
            check(version, &two, &Err(HeadRefusal::TwoLengths));
        }
    }

    #[test]
    fn a_name_of_http2_is_a_token() {
        check(Version::HTTP_2, &[("x\"y", "1")], &Err(HeadRefusal::BadName));
        check(Version::HTTP_2, &[("x!#$%&'*+-.^_`|~y", "1")], &Ok(&["x!#$%&'*+-.^_`|~y: 1"]));
    }
}
