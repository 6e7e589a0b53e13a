//! Fields by which a server tells the proxy in front of it what to send or how.
//!
//! Such fields name files, hosts and paths inside. A proxy that acts on them takes them out of the
//! answer, and so does one that does not: a client has no use for them but to learn what is inside.
//! It changes no message by itself. Called by the gateway and web doors for what servers and
//! scripts answer.

use http::header::{HeaderMap, HeaderName};

/// Fields of one kind of software: all that begin so.
static FAMILIES: [&str; 2] = [
    // nginx: Redirect, Buffering, Charset, Expires, Limit-Rate.
    "x-accel-",
    // Perlbal: File, URL, Service, Expected-Size, Cache-For.
    "x-reproxy-",
];
/// Fields by their whole names.
static SINGLE: [&str; 6] = [
    // Apache's mod_xsendfile, lighttpd.
    "x-sendfile",
    "x-sendfile2",
    "x-sendfile-temporary",
    "x-lighttpd-send-file",
    "x-lighttpd-send-tempfile",
    // LiteSpeed.
    "x-litespeed-location",
];

/// True for a field of an answer that is for the proxy in front of its server alone.
pub fn is_internal(name: &str) -> bool {
    let is_of_family = || FAMILIES.iter().any(|it| name.starts_with(*it));
    name.starts_with("x-") && (is_of_family() || SINGLE.contains(&name))
}

/// Takes such fields out of an answer, but for those in `passed`.
pub fn strip_internal(headers: &mut HeaderMap, passed: &[HeaderName]) {
    // Nearly no answer has any: no name is copied then.
    let is_due = |name: &&HeaderName| is_internal(name.as_str()) && !passed.contains(name);
    let there: Vec<HeaderName> = headers.keys().filter(is_due).cloned().collect();
    for name in there {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn what_is_said_to_the_proxy_is_told_from_what_is_said_to_the_client() {
        for inner in ["x-accel-redirect", "x-reproxy-url", "x-sendfile", "x-lighttpd-send-file"] {
            assert!(is_internal(inner), "{inner}");
        }
        for outer in ["x-accelerated", "x-send", "x-frame-options", "sendfile", "accept-ranges"] {
            assert!(!is_internal(outer), "{outer}");
        }
    }

    #[test]
    fn all_lines_go_but_those_that_are_to_pass() {
        let mut headers = HeaderMap::new();
        for name in ["x-accel-redirect", "x-accel-expires", "x-sendfile", "etag"] {
            headers.append(name, HeaderValue::from_static("1"));
            headers.append(name, HeaderValue::from_static("2"));
        }
        strip_internal(&mut headers, &[HeaderName::from_static("x-accel-expires")]);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["etag", "x-accel-expires"]);
        assert_eq!(headers.len(), 4);
    }
}
