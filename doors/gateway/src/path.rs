//! The path of a request, read once: policy, patterns, routes and servers all get this one text.
//!
//! A path that two parsers could take for two things is how a request walks past a rule and into the
//! server behind it: `/%2e%2e/admin`, `/a//../b`, `/..;/admin`, `/a%2fb`, `/%c0%ae/`. So it is brought
//! into the normal form of RFC 3986 §6.2.2, and what has none that everybody agrees on is refused.
//! The query is left alone. Pure. Called by `request` and `reproxy` for paths, by `matching` and
//! `onward` for what settings say.

use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;

/// A path in normal form: from the slash, ASCII, without dot segments, empty segments, and
/// percent-encoded letters, digits, `-`, `.`, `_`, `~`. Reading it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath {
    sent: String,
    /// Percent-decoded, where that is another text.
    decoded: Option<String>,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// It does not begin with a slash: `*`.
    NotAPath,
    /// A `%` without two hexadecimal digits (RFC 3986 §2.1).
    Encoding,
    /// `%2F`: some take it for a slash before they route, some after.
    EncodedSlash,
    /// A backslash, written as it is or as `%5C`: browsers and Windows take it for a slash.
    Backslash,
    /// A control character, written as it is or encoded; NUL ends a path in C.
    Control,
    /// ASCII in more bytes than it has, as `%C0%AE` for a dot: no UTF-8 (RFC 3629 §3), but lax decoders
    /// take it.
    Overlong,
    /// `..` above the root.
    AboveRoot,
    /// `..` behind two slashes: whoever merges them first goes up one further.
    EmptyParent,
    /// `;` behind one or two dots: whoever takes parameters off first finds a dot segment.
    DotParameter,
    /// `;` that would take the request past a route: servers of servlets take parameters off first.
    Parameter,
}

impl RequestPath {
    /// Reads the path of a URL, without its query.
    pub fn read(path: &str) -> Result<Self, BadPath> {
        if !path.starts_with('/') {
            return Err(BadPath::NotAPath);
        }
        if is_normal(path.as_bytes()) {
            return Ok(Self { sent: path.to_owned(), decoded: None });
        }
        let sent = without_dots(&decoded_once(path.as_bytes())?)?;
        let decoded = match percent_decode_str(&sent).decode_utf8_lossy() {
            Cow::Borrowed(_) => None,
            Cow::Owned(decoded) => Some(decoded),
        };
        Ok(Self { sent, decoded })
    }

    /// As it stands in a URL.
    pub fn as_url(&self) -> &str {
        &self.sent
    }

    /// With everything percent-decoded; what is no UTF-8 is replaced.
    pub fn decoded(&self) -> &str {
        self.decoded.as_deref().unwrap_or(&self.sent)
    }

    /// The path without the parameters of its segments (RFC 3986 §3.3), as servers of servlets see it;
    /// none where it has none.
    pub(crate) fn without_parameters(path: &str) -> Option<Self> {
        if !path.contains(';') {
            return None;
        }
        let name = |segment: &'_ str| segment.split(';').next().unwrap_or("").to_owned();
        let bare: Vec<String> = path.split('/').map(name).collect();
        Self::read(&bare.join("/")).ok()
    }

    /// Both texts, the second only where it is another.
    pub(crate) fn into_texts(self) -> (String, Option<String>) {
        (self.sent, self.decoded)
    }
}

/// Whether it is in normal form for certain, as nearly all are.
fn is_normal(path: &[u8]) -> bool {
    let begins_odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    path.iter().all(|byte| *byte == b'/' || may_stand(*byte)) && !path.windows(2).any(begins_odd)
}

/// The same with letters, digits, `-`, `.`, `_` and `~` decoded, and encoded in capitals whatever is or
/// must be encoded.
fn decoded_once(path: &[u8]) -> Result<String, BadPath> {
    let mut out = String::with_capacity(path.len());
    let (mut rest, mut before) = (path, 0);
    while let [first, behind @ ..] = rest {
        let (byte, encoded) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                rest = behind;
                let digits = (hex(*high), hex(*low));
                let (Some(high), Some(low)) = digits else { return Err(BadPath::Encoding) };
                (high << 4 | low, true)
            }
            (b'%', _) => return Err(BadPath::Encoding),
            (byte, behind) => {
                rest = behind;
                (*byte, false)
            }
        };
        match byte {
            0..0x20 | 0x7F => return Err(BadPath::Control),
            b'\\' => return Err(BadPath::Backslash),
            b'/' if encoded => return Err(BadPath::EncodedSlash),
            0x80..=0xBF if is_overlong(before, byte) => return Err(BadPath::Overlong),
            b'/' => out.push('/'),
            _ if is_unreserved(byte) || !encoded && may_stand(byte) => out.push(char::from(byte)),
            _ => push_encoded(&mut out, byte),
        }
        before = byte;
    }
    Ok(out)
}

/// Whether no shorter sequence was needed (RFC 3629 §4).
const fn is_overlong(lead: u8, next: u8) -> bool {
    matches!((lead, next), (0xC0 | 0xC1, _) | (0xE0, ..0xA0) | (0xF0, ..0x90))
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// What may stand in a segment as it is: `pchar` of RFC 3986 §3.3 without its percent sign.
const fn may_stand(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(
            byte,
            b'!' | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'@'
        )
}

fn push_encoded(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|digit| digit as u8)
}

/// Resolves dot segments (RFC 3986 §5.2.4) and merges slashes; refuses what depends on which comes
/// first.
fn without_dots(path: &str) -> Result<String, BadPath> {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path[1..].split('/').peekable();
    let mut is_folder = false;
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "" | "." if is_last => is_folder = true,
            "." => {}
            ".." => {
                match kept.pop() {
                    None => return Err(BadPath::AboveRoot),
                    Some("") => return Err(BadPath::EmptyParent),
                    Some(_) => {}
                }
                is_folder = is_last;
            }
            segment if has_dot_parameter(segment) => return Err(BadPath::DotParameter),
            segment => kept.push(segment),
        }
    }
    let mut out = String::with_capacity(path.len());
    for segment in kept.iter().filter(|segment| !segment.is_empty()) {
        out.push('/');
        out.push_str(segment);
    }
    if is_folder || out.is_empty() {
        out.push('/');
    }
    Ok(out)
}

/// Whether a segment would be dots alone without what follows its `;`.
fn has_dot_parameter(segment: &str) -> bool {
    let Some(behind) = segment.strip_prefix('.') else { return false };
    let behind = behind.strip_prefix('.').unwrap_or(behind);
    behind.starts_with(';') || behind.starts_with("%3B")
}

impl fmt::Display for BadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAPath => "a path begins with a slash",
            Self::Encoding => "the path has a % without two hexadecimal digits",
            Self::EncodedSlash => "the path has an encoded slash",
            Self::Backslash => "the path has a backslash",
            Self::Control => "the path has a control character",
            Self::Overlong => "the path has a character in more bytes than it needs",
            Self::AboveRoot => "the path leads above its root",
            Self::EmptyParent => "the path has .. behind two slashes",
            Self::DotParameter => "the path has a parameter behind dots",
            Self::Parameter => "the path has a parameter that hides where it leads",
        })
    }
}

impl std::error::Error for BadPath {}

#[cfg(test)]
mod tests;
