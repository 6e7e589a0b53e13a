//! The fields of an answer over HTTP/2: what belongs to a connection of HTTP/1 is left out, a date
//! and a length are there.
//!
//! Each answer's fields are walked over once. It sends nothing. Used by [`super::exchange`].

use crate::date;
use http::header::{self, HeaderMap, HeaderName};

/// Fields that must not be there (RFC 9113 §8.2.2), but for `Connection`.
static CONNECTION_FIELDS: [HeaderName; 5] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Puts the fields of an answer in order.
pub(super) fn prepare(headers: &mut HeaderMap) {
    let (mut is_dated, mut is_framed) = (false, false);
    for name in headers.keys() {
        is_dated |= *name == header::DATE;
        is_framed |= is_of_connection(name);
    }
    if is_framed {
        remove_connection_fields(headers);
    }
    if !is_dated {
        headers.insert(header::DATE, date::now_value());
    }
}

/// Puts the fields of an interim answer in order: it has no body, and no say about the connection.
pub(super) fn prepare_interim(headers: &mut HeaderMap) {
    remove_connection_fields(headers);
    headers.remove(header::CONTENT_LENGTH);
}

/// Notes the length of a body where the answer does not say it.
pub(super) fn add_length(headers: &mut HeaderMap, bytes: u64) {
    headers.entry(header::CONTENT_LENGTH).or_insert_with(|| bytes.into());
}

fn is_of_connection(name: &HeaderName) -> bool {
    // Most names are told from these by their length.
    matches!(name.as_str().len(), 2 | 7 | 10 | 16 | 17)
        && (*name == header::CONNECTION || CONNECTION_FIELDS.contains(name))
}

fn remove_connection_fields(headers: &mut HeaderMap) {
    for name in &CONNECTION_FIELDS {
        headers.remove(name);
    }
    // Names further fields of the connection, if it is there.
    let mut listed = Vec::new();
    for list in headers.get_all(header::CONNECTION) {
        let names = list.as_bytes().split(|byte| *byte == b',');
        listed.extend(names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok()));
    }
    headers.remove(header::CONNECTION);
    for name in listed {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn left(fields: &[(&'static str, &'static str)]) -> Vec<String> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(*name, HeaderValue::from_static(value));
        }
        prepare(&mut headers);
        let mut left: Vec<_> = headers.keys().map(ToString::to_string).collect();
        left.sort();
        left
    }

    #[test]
    fn what_belongs_to_a_connection_is_left_out() {
        for (name, value) in [
            ("connection", "close"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
        ] {
            assert_eq!(left(&[("x-a", "b"), (name, value)]), ["date", "x-a"], "{name}");
        }
        let listed = [("connection", "x-hop, close"), ("x-hop", "1"), ("x-end", "2")];
        assert_eq!(left(&listed), ["date", "x-end"]);
    }

    #[test]
    fn a_date_that_is_there_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, HeaderValue::from_static("then"));
        prepare(&mut headers);
        assert_eq!(headers[header::DATE], "then");
    }
}
