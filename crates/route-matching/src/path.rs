//! The path of a request, read once: policy, patterns, routes and servers all get this one text.
//!
//! A path that two parsers could take for two things is how a request walks past a rule and into
//! the server behind it: `/%2e%2e/admin`, `/a//../b`, `/..;/admin`, `/a%2fb`, `/%c0%ae/`. So it is
//! brought into the normal form of RFC 3986 §6.2.2, and what has none that everybody agrees on is
//! refused. Routes whose servers want encoded slashes or empty segments have a [`SlashRule`] of
//! their own; what others might read in such a path is held against rules too (`readings`). The
//! query is left alone. Called by `request` for paths, by `path_pattern` and `rewrite`
//! for what settings say.

use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// Treatment of slashes that some servers see and others do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlashRule {
    /// Of `%2F`, and of `%5C` and a backslash, which some take for one.
    pub encoded: EncodedSlash,
    /// Of several in a row.
    pub empty: EmptySegments,
}

/// Treatment of `%2F`, `%5C` and `\` in a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EncodedSlash {
    /// 400: some servers take it for a slash before they decide, and some after.
    #[default]
    Refuse,
    /// Data that goes on as `%2F` or `%5C`.
    Keep,
    /// A slash, for rules and servers alike.
    Decode,
}

/// Treatment of segments without a letter, as between two slashes in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptySegments {
    /// Left out.
    #[default]
    Merge,
    /// Left in.
    Keep,
}

/// A path in normal form: from the slash, ASCII, without dot segments, empty segments (unless its
/// rule keeps them), and percent-encoded letters, digits, `-`, `.`, `_`, `~`. Reading it again
/// changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPath {
    sent: String,
    /// Percent-decoded, where that is another text. Encoded slashes that stay are encoded here,
    /// too.
    decoded: Option<String>,
}

/// Why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPath {
    /// Does not begin with a slash: `*`.
    NotAPath,
    /// A `%` without two hexadecimal digits (RFC 3986 §2.1).
    Encoding,
    /// `%2F`: some take it for a slash before they route, some after.
    EncodedSlash,
    /// A backslash, written as it is or as `%5C`: browsers and Windows take it for a slash.
    Backslash,
    /// A control character, written as it is or encoded; NUL ends a path in C.
    Control,
    /// ASCII in more bytes than it has, as `%C0%AE` for a dot: no UTF-8 (RFC 3629 §3), but lax
    /// decoders take it.
    Overlong,
    /// `..` above the root.
    AboveRoot,
    /// `..` behind two slashes: whoever merges them first goes up one further.
    EmptyParent,
    /// `;` behind one or two dots: whoever takes parameters off first finds a dot segment.
    DotParameter,
    /// `;` that would take the request past a route: servers of servlets take parameters off first.
    Parameter,
    /// Dots beside an encoded slash that stays: whoever decodes it first finds a dot segment.
    EncodedDots,
    /// Slashes that would take the request past a route: whoever decodes or merges them sees
    /// another path.
    Slashes,
}

impl RequestPath {
    /// Reads the path of a URL, without its query. Encoded slashes are refused, and several are
    /// one.
    pub fn read(path: &str) -> Result<Self, BadPath> {
        Self::read_by(path, SlashRule::default())
    }

    /// Reads the path of a URL, without its query, by a rule for its slashes.
    pub fn read_by(path: &str, rule: SlashRule) -> Result<Self, BadPath> {
        if !path.starts_with('/') {
            return Err(BadPath::NotAPath);
        }
        if is_normal(path.as_bytes()) {
            return Ok(Self { sent: path.to_owned(), decoded: None });
        }
        let sent = without_dots(&decoded_once(path.as_bytes(), rule.encoded)?, rule)?;
        let decoded = match decoded(&sent) {
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

    /// The path without the parameters of its segments (RFC 3986 §3.3), as servers of servlets see
    /// it; none where it has none. `rule`: that by which `path` was read.
    pub(crate) fn without_parameters(path: &str, rule: SlashRule) -> Option<Self> {
        if !path.contains(';') {
            return None;
        }
        let name = |segment: &'_ str| segment.split(';').next().unwrap_or("").to_owned();
        let bare: Vec<String> = path.split('/').map(name).collect();
        Self::read_by(&bare.join("/"), rule).ok()
    }

    /// Both texts, the second only where it is another.
    pub(crate) fn into_texts(self) -> (String, Option<String>) {
        (self.sent, self.decoded)
    }
}

/// True for a path that rules for slashes read differently: it has encoded slashes, backslashes or
/// several slashes in a row.
pub(crate) fn depends_on_slashes(path: &str) -> bool {
    has_encoded_slash(path) || path.contains("//")
}

/// True for a path with an encoded slash or backslash, or a backslash as it is.
pub(crate) fn has_encoded_slash(path: &str) -> bool {
    let is_slash = |it: &[u8]| matches!(it, [b'%', b'2', b'f' | b'F'] | [b'%', b'5', b'c' | b'C']);
    path.contains('\\') || path.as_bytes().windows(3).any(is_slash)
}

/// A path in normal form with everything percent-decoded but encoded slashes; what is no UTF-8 is
/// replaced.
pub(crate) fn decoded(sent: &str) -> Cow<'_, str> {
    let decode = |text| percent_decode_str(text).decode_utf8_lossy();
    if !has_encoded_slash(sent) {
        return decode(sent);
    }
    let (mut out, mut rest) = (String::with_capacity(sent.len()), sent);
    while let Some(at) = encoded_slash_at(rest) {
        let (before, behind) = rest.split_at(at);
        let (slash, behind) = behind.split_at(ENCODED_BYTES);
        out.push_str(&decode(before));
        out.push_str(slash);
        rest = behind;
    }
    out.push_str(&decode(rest));
    Cow::Owned(out)
}

/// Bytes of one encoded byte: `%2F`.
const ENCODED_BYTES: usize = 3;
/// Encoded slashes as the normal form has them.
const ENCODED_SLASHES: [&str; 2] = ["%2F", "%5C"];

/// Place of the first encoded slash of a text in normal form.
fn encoded_slash_at(text: &str) -> Option<usize> {
    ENCODED_SLASHES.iter().filter_map(|it| text.find(it)).min()
}

/// True if it is in normal form for certain, as nearly all are.
fn is_normal(path: &[u8]) -> bool {
    let begins_odd = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    path.iter().all(|byte| *byte == b'/' || is_allowed_byte(*byte))
        && !path.windows(2).any(begins_odd)
}

/// The same with letters, digits, `-`, `.`, `_` and `~` decoded, and encoded in capitals whatever
/// is or must be encoded.
fn decoded_once(path: &[u8], slashes: EncodedSlash) -> Result<String, BadPath> {
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
            b'\\' | b'/' if byte == b'\\' || encoded => match slashes {
                EncodedSlash::Refuse if byte == b'\\' => return Err(BadPath::Backslash),
                EncodedSlash::Refuse => return Err(BadPath::EncodedSlash),
                EncodedSlash::Keep => push_encoded(&mut out, byte),
                EncodedSlash::Decode => out.push('/'),
            },
            0x80..=0xBF if is_overlong(before, byte) => return Err(BadPath::Overlong),
            b'/' => out.push('/'),
            _ if is_unreserved(byte) || !encoded && is_allowed_byte(byte) => {
                out.push(char::from(byte));
            }
            _ => push_encoded(&mut out, byte),
        }
        before = byte;
    }
    Ok(out)
}

/// True if no shorter sequence was needed (RFC 3629 §4).
const fn is_overlong(lead: u8, next: u8) -> bool {
    matches!((lead, next), (0xC0 | 0xC1, _) | (0xE0, ..0xA0) | (0xF0, ..0x90))
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Returns what may stand in a segment as it is: `pchar` of RFC 3986 §3.3 without its percent sign.
const fn is_allowed_byte(byte: u8) -> bool {
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

/// Resolves dot segments (RFC 3986 §5.2.4) and, by the rule, merges slashes; refuses what depends
/// on which comes first.
fn without_dots(path: &str, rule: SlashRule) -> Result<String, BadPath> {
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
                    // Decoded first, it would be several segments, and only the last would go.
                    Some(parent) if encoded_slash_at(parent).is_some() => {
                        return Err(BadPath::EncodedDots);
                    }
                    Some(_) => {}
                }
                is_folder = is_last;
            }
            segment if has_dot_parameter(segment) => return Err(BadPath::DotParameter),
            segment if has_encoded_dots(segment) => return Err(BadPath::EncodedDots),
            segment => kept.push(segment),
        }
    }
    let mut out = String::with_capacity(path.len());
    let stays = |segment: &&&str| !segment.is_empty() || rule.empty == EmptySegments::Keep;
    for segment in kept.iter().filter(stays) {
        out.push('/');
        out.push_str(segment);
    }
    if is_folder || out.is_empty() {
        out.push('/');
    }
    Ok(out)
}

/// True for a segment that would be several, one of them of dots, were its slashes decoded.
fn has_encoded_dots(mut segment: &str) -> bool {
    let is_dots = |piece: &str| matches!(piece, "." | "..") || has_dot_parameter(piece);
    let mut has_slash = false;
    while let Some(at) = encoded_slash_at(segment) {
        if is_dots(&segment[..at]) {
            return true;
        }
        (has_slash, segment) = (true, &segment[at + ENCODED_BYTES..]);
    }
    has_slash && is_dots(segment)
}

/// True if a segment would be dots alone without what follows its `;`.
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
            Self::EncodedDots => "the path has dots beside an encoded slash",
            Self::Slashes => "the path has slashes that hide where it leads",
        })
    }
}

impl std::error::Error for BadPath {}

#[cfg(test)]
mod tests;
