//! Attributes of requests that spans of servers and clients share, by the semantic conventions for
//! HTTP. Pure.

use crate::attributes::{number, text};
use http::Version;
use opentelemetry_proto::tonic::common::v1::KeyValue;

/// Longest text of an attribute that a client chose.
const TEXT_BYTES_MAX: usize = 1024;

/// Methods that names of spans and attributes may have (RFC 9110 §9, RFC 5789).
const METHODS: [&str; 9] =
    ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

/// The name of a span of this method.
pub(crate) fn name(method: &str) -> &str {
    if METHODS.contains(&method) { method } else { "HTTP" }
}

/// The method, of others than the known ones beside a mark.
pub(crate) fn method(to: &mut Vec<KeyValue>, method: &str) {
    if METHODS.contains(&method) {
        return to.push(text("http.request.method", method));
    }
    to.push(text("http.request.method", "_OTHER"));
    to.push(text("http.request.method_original", cut(method)));
}

/// Path and query, without what is secret in the query.
pub(crate) fn target(to: &mut Vec<KeyValue>, target: &str) {
    let shown = access_log::redact(target);
    let (path, query) = match shown.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*shown, None),
    };
    to.push(text("url.path", cut(path)));
    to.extend(query.map(|query| text("url.query", cut(query))));
}

/// Host and port that a request is for.
pub(crate) fn server(to: &mut Vec<KeyValue>, host: &str, scheme: &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit()) => {
            (name, port.parse::<u16>().ok())
        }
        _ => (host, None),
    };
    if name.is_empty() {
        return;
    }
    let usual = if scheme == "https" { 443 } else { 80 };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    to.push(text("server.address", cut(name)));
    to.push(number("server.port", port.unwrap_or(usual).into()));
}

/// The version of HTTP, as `network.protocol.version` has it.
pub(crate) const fn version_text(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "1.1",
    }
}

/// A text that a client chose, cut at a character's edge.
pub(crate) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_query_and_strange_methods_are_not_in_attributes() {
        let mut all = Vec::new();
        target(&mut all, "/a?token=s3cret&b=1");
        method(&mut all, "S3CRET");
        server(&mut all, "[::1]:8080", "http");
        server(&mut all, "a.example", "https");
        let told = format!("{all:?}");
        assert!(told.contains("token=[redacted]&b=1") && !told.contains("s3cret"), "{told}");
        let has = |text: &str| told.contains(text);
        assert!(has("_OTHER") && has("\"::1\"") && has("443"), "{told}");
        assert_eq!((name("GET"), name("S3CRET")), ("GET", "HTTP"));
    }
}
