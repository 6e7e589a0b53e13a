//! One request head, read strictly: simple, not all there, or not for the fast path.
//!
//! httparse finds the pieces; this checks what it forgives and what the fast path does not do.
//! Whatever is odd is [`RequestReading::NotSimple`], never an error: hyper reads the same bytes
//! again and refuses what must be refused. Pure. Called by [`super::connection`] for every head.

use super::{
    ConnectionPersistence, FieldRepetition, NameLengths, SimpleMethod, SimpleRequest, TargetForm,
};
use crate::refuse::is_host;
use http::Version;
use httparse::{Header, Request, Status};
use std::mem::MaybeUninit;

/// Fields of a simple request. Browsers send about 15; more than 40 go to hyper.
pub(crate) const FIELDS_MAX: usize = 40;

/// Room for the fields of one head.
pub(crate) type Room<'b> = [MaybeUninit<Header<'b>>; FIELDS_MAX];

/// Tells what stands at the start of the bytes.
#[derive(Debug)]
pub(crate) enum RequestReading<'r> {
    /// A simple request, and the bytes of its head.
    Simple(SimpleRequest<'r>, usize),
    /// The beginning of what may become one.
    Partial,
    /// Something else.
    NotSimple,
}

/// Room for [`read`].
pub(crate) const fn header_array<'b>() -> Room<'b> {
    [const { MaybeUninit::uninit() }; FIELDS_MAX]
}

/// Reads the head at the start of `bytes`; `keep` is how the connection goes on if client and
/// version allow.
pub(crate) fn read<'r>(
    bytes: &'r [u8],
    room: &'r mut Room<'r>,
    keep: KeepAlive,
) -> RequestReading<'r> {
    // Anything that does not begin like GET or HEAD need not be parsed to be passed on.
    let method = match bytes.first() {
        None => return RequestReading::Partial,
        Some(b'G') => SimpleMethod::Get,
        Some(b'H') => SimpleMethod::Head,
        Some(_) => return RequestReading::NotSimple,
    };
    let mut request = Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, room) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return RequestReading::Partial,
        Err(_) => return RequestReading::NotSimple,
    };
    let (Some(name), Some(asked)) = (request.method, request.path) else {
        return RequestReading::NotSimple;
    };
    let fields: &'r [Header<'r>] = request.headers;
    let version = match request.version {
        Some(0) => Version::HTTP_10,
        Some(1) => Version::HTTP_11,
        Some(_) | None => return RequestReading::NotSimple,
    };
    let expected = match method {
        SimpleMethod::Get => "GET",
        SimpleMethod::Head => "HEAD",
    };
    let Some((authority, target)) = split(asked) else { return RequestReading::NotSimple };
    if name != expected || !is_origin_form(target) || !lines_end_in_cr_lf(&bytes[..length]) {
        return RequestReading::NotSimple;
    }
    let Some(found) = scan_fields(fields) else { return RequestReading::NotSimple };
    let host = match (authority, found.host) {
        // Version 1.1 names its host in a field, whatever the target says.
        (_, None) if version == Version::HTTP_11 => return RequestReading::NotSimple,
        (None, host) => host,
        // RFC 9112 §3.2.2: the target stands over the field; who sends two hopes for two readings.
        (Some(asked), Some(host)) if !asked.eq_ignore_ascii_case(host) => {
            return RequestReading::NotSimple;
        }
        (Some(asked), _) => Some(asked),
    };
    let persistence = persistence(keep, version, found.connection_option);
    let form = if authority.is_some() { TargetForm::Absolute } else { TargetForm::Origin };
    let (lengths, names) = (found.lengths, found.names);
    let simple = SimpleRequest {
        method,
        raw_target: asked,
        form,
        target,
        version,
        host,
        persistence,
        fields,
        lengths,
        names,
    };
    RequestReading::Simple(simple, length)
}

/// Persistence of the connection, by what the door, the version and the client say of it.
fn persistence(
    keep: KeepAlive,
    version: Version,
    option: ConnectionOption,
) -> ConnectionPersistence {
    match (keep, version, option) {
        (KeepAlive::No, _, _)
        | (_, _, ConnectionOption::Close)
        | (_, Version::HTTP_10, ConnectionOption::Unspecified) => ConnectionPersistence::Close,
        (KeepAlive::Yes, Version::HTTP_10, ConnectionOption::KeepAlive) => {
            ConnectionPersistence::KeepAndAnnounce
        }
        (KeepAlive::Yes, _, ConnectionOption::KeepAlive | ConnectionOption::Unspecified) => {
            ConnectionPersistence::Keep
        }
    }
}

/// The authority of a target, where its form has one, and what follows.
fn split(target: &str) -> Option<(Option<&str>, &str)> {
    let Some(rest) = target.strip_prefix("http://") else { return Some((None, target)) };
    let (authority, path) = rest.split_at(rest.find('/')?);
    let is_named = !authority.is_empty() && is_host(authority.as_bytes());
    is_named.then_some((Some(authority), path))
}

/// Tells whether the connection may live on after the next answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepAlive {
    Yes,
    /// The server is stopping.
    No,
}

/// Tells what the client says of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionOption {
    Unspecified,
    KeepAlive,
    Close,
}

struct FoundFields<'r> {
    host: Option<&'r str>,
    connection_option: ConnectionOption,
    lengths: NameLengths,
    names: FieldRepetition,
}

/// Looks at every field once; `None` where one of them makes the request other than simple.
fn scan_fields<'r>(fields: &'r [Header<'r>]) -> Option<FoundFields<'r>> {
    let (wish, lengths) = (ConnectionOption::Unspecified, NameLengths::default());
    let mut found = FoundFields {
        host: None,
        connection_option: wish,
        lengths,
        names: FieldRepetition::Single,
    };
    for (index, field) in fields.iter().enumerate() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if found.lengths.may_have(field.name) && fields[..index].iter().any(|it| is(it.name)) {
            found.names = FieldRepetition::Repeated;
            // Of these two there is one, or it is an attempt at something.
            if is("host") || is("connection") {
                return None;
            }
        }
        found.lengths.add(field.name);
        match field.name.len() {
            4 if is("host") => {
                if !is_host(field.value) {
                    return None;
                }
                found.host = str::from_utf8(field.value).ok();
            }
            10 if is("connection") => {
                found.connection_option = match field.value {
                    it if it.eq_ignore_ascii_case(b"keep-alive") => ConnectionOption::KeepAlive,
                    it if it.eq_ignore_ascii_case(b"close") => ConnectionOption::Close,
                    _ => return None,
                };
            }
            6 if is("expect") => return None,
            7 if is("upgrade") || is("trailer") => return None,
            14 if is("content-length") => return None,
            17 if is("transfer-encoding") => return None,
            _ => {}
        }
    }
    Some(found)
}

/// True if `target` is a path with perhaps a query, of the characters that RFC 3986 has for them.
fn is_origin_form(target: &str) -> bool {
    const PATH_OR_QUERY: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128_u8 {
            table[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        let others = b"-._~%!$&'()*+,;=:@/?";
        let mut index = 0;
        while index < others.len() {
            table[others[index] as usize] = true;
            index += 1;
        }
        table
    };
    target.starts_with('/') && target.bytes().all(|byte| PATH_OR_QUERY[usize::from(byte)])
}

/// httparse takes a bare LF for a line end (RFC 9112 §2.2 allows it); smugglers count on it.
fn lines_end_in_cr_lf(head: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', head).all(|end| end > 0 && head[end - 1] == b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wire: &str, expected: &str) {
        let mut room = header_array();
        let found = match read(wire.as_bytes(), &mut room, KeepAlive::Yes) {
            RequestReading::Simple(it, length) => {
                assert!(wire[..length].ends_with("\r\n\r\n"));
                let form = match it.form {
                    TargetForm::Origin => "",
                    TargetForm::Absolute => " absolute",
                };
                format!("{:?} {} {:?}{form}", it.method, it.target, it.persistence)
            }
            RequestReading::Partial => "partial".into(),
            RequestReading::NotSimple => "not simple".into(),
        };
        assert_eq!(found, expected, "{wire:?}");
    }

    #[test]
    fn plain_requests_are_simple() {
        check("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n", "Get /a?b Keep");
        check("HEAD / HTTP/1.1\r\nhost: a:80\r\nAccept: */*\r\n\r\nGET", "Head / Keep");
        check("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", "Get / Close");
        check("GET / HTTP/1.0\r\n\r\n", "Get / Close");
        check("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "Get / KeepAndAnnounce");
    }

    #[test]
    fn a_proxy_is_asked_in_the_absolute_form() {
        let wire = "GET http://a.example:8/b?c HTTP/1.1\r\nHost: A.example:8\r\n\r\n";
        check(wire, "Get /b?c Keep absolute");
        check("GET http://a/ HTTP/1.0\r\n\r\n", "Get / Close absolute");
        check("GET http://a/ HTTP/1.1\r\n\r\n", "not simple");
        for odd in [
            "http://a",
            "http:///b",
            "http://me@a/",
            "http://a b/",
            "http://a?b/",
            "https://a/",
            "HTTP://a/",
            "http://a/#b",
            "http://b/",
        ] {
            check(&format!("GET {odd} HTTP/1.1\r\nHost: a\r\n\r\n"), "not simple");
        }
    }

    #[test]
    fn what_may_become_one_is_waited_for() {
        let whole = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
        for end in 0..whole.len() {
            check(&whole[..end], "partial");
        }
    }

    #[test]
    fn what_is_odd_is_not_simple() {
        let odd = |wire: &str| check(wire, "not simple");
        odd("POST / HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("GETS / HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("GET / HTTP/1.1\r\n\r\n");
        odd("GET / HTTP/1.2\r\nHost: a\r\n\r\n");
        odd("GET / HTTP/1.1\nHost: a\r\n\r\n");
        odd("GET / HTTP/1.1\r\nHost: a\r\n\n");
        odd("GET * HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("GET /a\"b HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n");
        odd("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n");
        for field in [
            "Host: b",
            "Content-Length: 0",
            "Transfer-Encoding: chunked",
            "Expect: 100-continue",
            "Upgrade: h2c",
            "Connection: upgrade",
            "Connection: close, keep-alive",
            "Connection: close\r\nconnection: close",
            "X: y\r\nHost: a",
            " folded",
            "A : b",
            ": b",
            "A: b\0c",
        ] {
            odd(&format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n"));
        }
        odd("GET / HTTP/1.1\r\nHost: a b\r\n\r\n");
        odd(&format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX)));
    }

    #[test]
    fn fields_that_come_twice_are_noted() {
        for (field, expected) in [
            ("Cookie: a=b\r\nAccept: x", FieldRepetition::Single),
            ("Cookie: a=b\r\ncookie: c=d", FieldRepetition::Repeated),
        ] {
            let wire = format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            let mut room = header_array();
            let RequestReading::Simple(request, _) =
                read(wire.as_bytes(), &mut room, KeepAlive::Yes)
            else {
                panic!("a simple request")
            };
            assert_eq!(request.names, expected);
        }
    }

    #[test]
    fn fields_are_found_in_any_case() {
        let wire = b"GET /p?q=1?2 HTTP/1.1\r\nHOST: a\r\nif-none-match:  \"x\" \r\nX: \xff\r\n\r\n";
        let mut room = header_array();
        let RequestReading::Simple(request, _) = read(wire, &mut room, KeepAlive::No) else {
            panic!("a simple request")
        };
        assert_eq!(request.field("If-None-Match"), Some(&b"\"x\""[..]));
        assert_eq!(request.field("if-none-matcg"), None);
        assert_eq!(request.field("range"), None);
        assert_eq!(request.text("x"), None);
        assert_eq!((request.path(), request.query()), ("/p", Some("q=1?2")));
        assert_eq!(request.persistence, ConnectionPersistence::Close);
        assert_eq!(request.header_map().len(), 3);
        assert_eq!(request.fields().count(), 3);
    }
}
