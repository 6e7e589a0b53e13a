//! The head that a script writes before its body (RFC 3875 §6).
//!
//! Pure. Lines may end in LF or CRLF. Fields that belong to the connection are dropped, and so are
//! those by which a script tells its server what to send (`X-Accel-Redirect`, `X-Sendfile`): they
//! name what is inside. Names and values that are none end the answer: what a script echoes from a
//! stranger must not become a head of the stranger's. Called by `stage`.

use http::StatusCode;
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
    TRANSFER_ENCODING, UPGRADE,
};
use http_engine::internal::is_internal;
use std::fmt;

/// The head of a script's answer, in bytes: nginx gives 4 to 8 KiB, frameworks need more.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Fields of a script's answer.
const FIELDS_MAX: usize = 256;

/// Holds what a script says before its body.
#[derive(Debug, PartialEq, Eq)]
pub struct ScriptHead {
    /// Status.
    pub status: StatusCode,
    /// Fields, but for those of the connection.
    pub fields: HeaderMap,
    /// The length that the script promises.
    pub length: Option<u64>,
}

/// Why what a script said is no head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadHead {
    /// Longer than [`HEAD_BYTES_MAX`], or of too many fields.
    TooLarge,
    /// A line that is no field.
    Line(String),
    /// A `Status` that is none.
    Status(String),
    /// A `Content-Length` that is none, or two of them.
    Length,
    /// Ended without an empty line.
    Unfinished,
}

/// Where the body begins: after the first empty line. Looks from `from` on.
pub(crate) fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let start = from.saturating_sub(2);
    memchr_lines(&bytes[start..]).map(|end| start + end)
}

fn memchr_lines(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(line) = bytes[at..].iter().position(|it| *it == b'\n') {
        let next = at + line + 1;
        match &bytes[next..] {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => at = next,
        }
    }
    None
}

/// Reads a head, the empty line included or not.
pub(crate) fn parse(head: &[u8]) -> Result<ScriptHead, BadHead> {
    let mut status = None;
    let mut fields = HeaderMap::new();
    let mut length = None;
    for line in head.split(|it| *it == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let (name, value) = field(line).ok_or_else(|| BadHead::Line(shown(line)))?;
        if name == "status" {
            status = Some(read_status(&value)?);
        } else if name == CONTENT_LENGTH {
            let text = value.to_str().ok().filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
            let number = text.and_then(|it| it.parse::<u64>().ok()).ok_or(BadHead::Length)?;
            if length.replace(number).is_some_and(|earlier| earlier != number) {
                return Err(BadHead::Length);
            }
        } else if !is_of_connection(&name) && !is_internal(name.as_str()) {
            fields.try_append(name, value).map_err(|_| BadHead::TooLarge)?;
        }
        if fields.len() > FIELDS_MAX {
            return Err(BadHead::TooLarge);
        }
    }
    // RFC 3875 §6.2.3: a Location without a status is a redirection.
    let usual = if fields.contains_key(LOCATION) { StatusCode::FOUND } else { StatusCode::OK };
    let status = status.unwrap_or(usual);
    if !fields.contains_key(CONTENT_TYPE) && status == StatusCode::OK {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    }
    Ok(ScriptHead { status, fields, length })
}

fn field(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|it| *it == b':')?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((name, value))
}

fn read_status(value: &HeaderValue) -> Result<StatusCode, BadHead> {
    let code = value.as_bytes().get(..3).and_then(|it| StatusCode::from_bytes(it).ok());
    // An interim answer is not a script's to give.
    code.filter(|it| !it.is_informational()).ok_or_else(|| BadHead::Status(shown(value.as_bytes())))
}

/// Fields that say how this connection is framed: that is ours.
fn is_of_connection(name: &HeaderName) -> bool {
    *name == CONNECTION
        || *name == TRANSFER_ENCODING
        || *name == UPGRADE
        || *name == "keep-alive"
        || *name == "proxy-connection"
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).escape_debug().to_string()
}

impl fmt::Display for BadHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(
                f,
                "the script's head is longer than {HEAD_BYTES_MAX} bytes or {FIELDS_MAX} fields"
            ),
            Self::Line(line) => write!(f, "the script's head has a line that is no field: {line}"),
            Self::Status(text) => write!(f, "the script's Status is none: {text}"),
            Self::Length => f.write_str("the script's Content-Length makes no sense"),
            Self::Unfinished => f.write_str("the script ended before its head did"),
        }
    }
}

impl std::error::Error for BadHead {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_the_scripts_or_follows_from_location() {
        let head = parse(b"Status: 404 Not Found\r\nContent-Type: text/html\r\n\r\n").unwrap();
        assert_eq!(head.status, 404);
        assert_eq!(parse(b"Content-Type: text/html\n").unwrap().status, 200);
        assert_eq!(parse(b"Location: /there\n").unwrap().status, 302);
        assert_eq!(parse(b"Status: 201\nLocation: /there\n").unwrap().status, 201);
        assert!(matches!(parse(b"Status: 99\n"), Err(BadHead::Status(_))));
        assert!(matches!(parse(b"Status: 101 Switching\n"), Err(BadHead::Status(_))));
    }

    #[test]
    fn framing_is_not_a_scripts_affair() {
        let head = parse(
            b"Connection: close\nTransfer-Encoding: chunked\nSet-Cookie: a=1\nSet-Cookie: b=2\n\
              Content-Length: 12\nContent-Type: text/plain\n",
        )
        .unwrap();
        assert_eq!(head.length, Some(12));
        assert_eq!(head.fields.get_all("set-cookie").iter().count(), 2);
        assert_eq!(head.fields.len(), 3);
        assert_eq!(parse(b"Content-Length: 1\nContent-Length: 2\n"), Err(BadHead::Length));
        assert_eq!(parse(b"Content-Length: +1\n"), Err(BadHead::Length));
    }

    #[test]
    fn what_a_script_says_to_its_server_alone_goes_no_further() {
        let head = parse(
            b"X-Accel-Redirect: /private/a\nX-Sendfile: /srv/a\nX-Reproxy-URL: http://10.0.0.1/\n\
              Content-Type: text/plain\nX-Frame-Options: DENY\n",
        )
        .unwrap();
        assert_eq!(head.fields.keys().collect::<Vec<_>>(), ["content-type", "x-frame-options"]);
    }

    #[test]
    fn what_is_no_field_ends_the_answer() {
        for wrong in [&b"<html>\n"[..], b"no colon\n", b"Na me: x\n", b"X: a\0b\n", b": x\n"] {
            assert!(matches!(parse(wrong), Err(BadHead::Line(_))), "{wrong:?}");
        }
        let many = "X: y\n".repeat(FIELDS_MAX + 1);
        assert_eq!(parse(many.as_bytes()), Err(BadHead::TooLarge));
    }

    #[test]
    fn the_end_of_a_head_is_found_however_it_is_cut() {
        for text in ["A: b\r\n\r\nbody", "A: b\n\nbody", "A: b\n\r\nbody"] {
            let mut from = 0;
            for cut in 0..=text.len() {
                if let Some(end) = end_of_head(&text.as_bytes()[..cut], from) {
                    assert_eq!(&text[end..], "body");
                    break;
                }
                from = cut;
                assert!(cut < text.len(), "{text:?}");
            }
        }
    }
}
