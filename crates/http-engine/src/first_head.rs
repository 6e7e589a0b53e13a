//! The host that a connection's first request names, read where it lies.
//!
//! It answers nothing and judges little: whatever is not plainly a request for a path at one host
//! has none here, and whoever serves the connection reads the same bytes again and refuses what
//! must be refused. Called by the pixel door before it decides whose connection this is.

use crate::refuse::is_host;
use httparse::{EMPTY_HEADER, Request, Status};

/// Fields of a head that is read: browsers send about 15.
const FIELDS_MAX: usize = 64;

/// Tells what stands at the start of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstHead<'r> {
    /// The beginning of a head.
    Partial,
    /// A request for a path at this host, with its port if one is named.
    For(&'r str),
    /// Something else.
    Other,
}

/// Reads what `bytes` begin with.
pub fn read(bytes: &[u8]) -> FirstHead<'_> {
    let mut fields = [EMPTY_HEADER; FIELDS_MAX];
    let mut request = Request::new(&mut fields);
    match request.parse(bytes) {
        Ok(Status::Partial) => return FirstHead::Partial,
        Ok(Status::Complete(_)) if request.path.is_some_and(|it| it.starts_with('/')) => {}
        Ok(Status::Complete(_)) | Err(_) => return FirstHead::Other,
    }
    let mut hosts = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("host"));
    // Two hosts are an attempt at something (RFC 9112 section 3.2).
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_host(host.value) => {
            str::from_utf8(host.value).map_or(FirstHead::Other, FirstHead::For)
        }
        _ => FirstHead::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_path_names_its_host() {
        let whole =
            "POST /a?b HTTP/1.1\r\nA: b\r\nhOST: shop.example:80\r\nContent-Length: 1\r\n\r\nx";
        assert_eq!(read(whole.as_bytes()), FirstHead::For("shop.example:80"));
        let head = whole.len() - 1;
        for end in 0..head {
            assert_eq!(read(&whole.as_bytes()[..end]), FirstHead::Partial, "{end}");
        }
    }

    #[test]
    fn whatever_else_comes_names_none() {
        for other in [
            "GET http://shop.example/ HTTP/1.1\r\nHost: shop.example\r\n\r\n",
            "CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: shop.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\x16\x03\x01\x02\0\x01",
            "GET / HTTP/1.1\r\nA\x01: b\r\n\r\n",
        ] {
            assert_eq!(read(other.as_bytes()), FirstHead::Other, "{other:?}");
        }
        let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX));
        assert_eq!(read(many.as_bytes()), FirstHead::Other);
    }
}
