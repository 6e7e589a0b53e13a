//! Whether bytes are a list at all: error pages, archives and UTF-16 are told before a line is
//! read.
//!
//! It looks at the beginning only and never at what a list says. Called by `compile` for each list,
//! and through [`unfit`] by whoever fetches lists, before an old one is thrown away.

use std::fmt;

/// Bytes at the start of a text that are looked at for what is no text: some hundred lines.
const HEAD_BYTES: usize = 8192;
/// Control bytes that a text may hold without being called binary: a stray one spoils its line
/// only.
const STRAY_BYTES_MAX: usize = 16;
/// One byte in so many may be a control byte: compressed data have one in nine.
const STRAY_SHARE: usize = 20;

/// Why bytes are no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnfitList {
    /// Nothing but white space.
    Empty,
    /// An HTML or XML page, such as servers send in place of a file that moved.
    WebPage,
    /// An archive, a program, anything that is no text.
    Binary,
    /// Text of two bytes a letter.
    Utf16,
    /// Text, but no line of it is a rule or could be one.
    NoRules,
}

impl UnfitList {
    /// All of them, in the order of their numbers in snapshots.
    pub const ALL: [Self; 5] =
        [Self::Empty, Self::WebPage, Self::Binary, Self::Utf16, Self::NoRules];
}

impl fmt::Display for UnfitList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it is empty: check that the download was complete",
            Self::WebPage => "it is a web page, not a list: open its address in a browser",
            Self::Binary => "it is no text: unpack it, if it is an archive",
            Self::Utf16 => "it is UTF-16: save it as UTF-8",
            Self::NoRules => "no line of it is a rule in any syntax known here",
        })
    }
}

impl std::error::Error for UnfitList {}

/// Why these bytes are no list, as far as their beginning tells; none if they may be one.
pub fn unfit(text: &[u8]) -> Option<UnfitList> {
    let head = &text[..text.len().min(HEAD_BYTES)];
    if text.trim_ascii().is_empty() {
        return Some(UnfitList::Empty);
    }
    if is_utf16(head) {
        return Some(UnfitList::Utf16);
    }
    if is_binary(head) {
        return Some(UnfitList::Binary);
    }
    is_page(head).then_some(UnfitList::WebPage)
}

fn is_utf16(head: &[u8]) -> bool {
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return true;
    }
    // ASCII in UTF-16 has a null in every second place and none in between.
    let (pairs, _) = head.as_chunks::<2>();
    let nulls = |at: usize| pairs.iter().filter(|pair| pair[at] == 0).count();
    let (even, odd) = (nulls(0), nulls(1));
    pairs.len() >= 4 && even.min(odd) == 0 && even.max(odd) * 10 > pairs.len() * 8
}

fn is_binary(head: &[u8]) -> bool {
    const MAGIC: [&[u8]; 6] =
        [b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh", b"\x7fELF"];
    if MAGIC.iter().any(|magic| head.starts_with(magic)) {
        return true;
    }
    let is_stray = |byte: &&u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let strays = head.iter().filter(is_stray).count();
    strays > STRAY_BYTES_MAX && strays * STRAY_SHARE > head.len()
}

fn is_page(head: &[u8]) -> bool {
    const OPENINGS: [&[u8]; 7] =
        [b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<script", b"<!--"];
    let mut text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    // Comments in front make a page no list: mirrors write where they had it from.
    while let [b'#' | b'!' | b';', ..] = text {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        text = text[end..].trim_ascii_start();
    }
    OPENINGS.iter().any(|opening| {
        text.get(..opening.len()).is_some_and(|start| start.eq_ignore_ascii_case(opening))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_list_says_why() {
        let check = |text: &[u8], expected| assert_eq!(unfit(text), expected, "{text:?}");
        check(b"", Some(UnfitList::Empty));
        check(b" \r\n\t", Some(UnfitList::Empty));
        check(b"\xef\xbb\xbf\n <!DOCTYPE html><html>", Some(UnfitList::WebPage));
        check(b"<HTML>", Some(UnfitList::WebPage));
        check(b"# from a mirror\n! x\n<html><body>\nads.example\n", Some(UnfitList::WebPage));
        check(b"\x1f\x8b\x08\x00", Some(UnfitList::Binary));
        check(&[1; 64], Some(UnfitList::Binary));
        check(b"\xff\xfea\x00", Some(UnfitList::Utf16));
        check(b"a\x00.\x00e\x00x\x00\n\x00", Some(UnfitList::Utf16));
        check(b"\x00a\x00.\x00e\x00x", Some(UnfitList::Utf16));
        check(b"||a.example^\n\x00\x00||b.example^\n", None);
        check(b"# \xe4 in Latin-1\na.example\n", None);
        check("пример.example\n".as_bytes(), None);
    }
}
