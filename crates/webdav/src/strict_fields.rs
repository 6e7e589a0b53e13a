//! Form of the fields that dav-server reads: a field that is not what its grammar says is refused
//! here.
//!
//! dav-server takes such a field for absent, and would then write without the condition that it
//! gave; at some it stumbles. These are `If`, `Depth`, `Overwrite` and the like (RFC 4918 §10),
//! `If-Match` and `If-None-Match` (RFC 9110 §13.1), and the numbers of ranges. Whether a condition
//! holds is for dav-server to say. Called by `folder`.

use http::{HeaderMap, Uri};

/// Digits of a number in a range: with more, sums could overflow.
const DIGITS_MAX: usize = 18;

/// Holds a field's name with what its value must be.
type FieldForm = (&'static str, fn(&[u8]) -> bool);

/// Fields that are given once at most.
const SINGLE: [FieldForm; 6] = [
    ("if", is_state_list),
    ("depth", |text| text == b"0" || text == b"1" || text.eq_ignore_ascii_case(b"infinity")),
    ("overwrite", |text| text == b"T" || text == b"F"),
    ("lock-token", |text| behind(text, b'<', b'>') == Some(b"")),
    ("content-range", has_short_numbers),
    ("x-update-range", has_short_numbers),
];
/// Fields that are lists.
const LISTS: [FieldForm; 3] =
    [("if-match", is_tag_list), ("if-none-match", is_tag_list), ("if-range", is_tag_list)];

/// A field that is not of its form, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadField(pub(crate) &'static str);

/// Looks at the fields of a request to write.
pub(crate) fn check(headers: &HeaderMap) -> Result<(), BadField> {
    for (name, is_right) in SINGLE {
        let mut values = headers.get_all(name).iter();
        if values.next().is_some_and(|it| !is_right(it.as_bytes())) || values.next().is_some() {
            return Err(BadField(name));
        }
    }
    for (name, is_right) in LISTS {
        if !headers.get_all(name).iter().all(|it| is_right(it.as_bytes())) {
            return Err(BadField(name));
        }
    }
    Ok(())
}

/// Lists of states and tags, each for the resource that is named before it.
fn is_state_list(text: &[u8]) -> bool {
    let mut rest = text.trim_ascii();
    let mut has_lists = false;
    while !rest.is_empty() {
        if rest[0] == b'<' {
            let Some(behind) = behind(rest, b'<', b'>') else { return false };
            if !is_absolute(&rest[1..rest.len() - behind.len() - 1]) {
                return false;
            }
            rest = behind.trim_ascii_start();
        }
        let Some(behind) = behind_list(rest) else { return false };
        (rest, has_lists) = (behind.trim_ascii_start(), true);
    }
    has_lists
}

/// The rest behind a list in parentheses.
fn behind_list(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"(")?.trim_ascii_start();
    let mut count = 0;
    loop {
        if let Some(behind) = rest.strip_prefix(b")") {
            return (count > 0).then_some(behind);
        }
        if let Some(negated) = rest.strip_prefix(b"Not") {
            rest = negated.trim_ascii_start();
        }
        let open = *rest.first()?;
        let behind = behind(rest, open, if open == b'[' { b']' } else { b'>' })?;
        let inside = &rest[1..rest.len() - behind.len() - 1];
        let is_right = match open {
            b'<' => inside.contains(&b':') && !inside.contains(&b'"'),
            b'[' => is_tag(inside),
            _ => false,
        };
        if !is_right {
            return None;
        }
        rest = behind.trim_ascii_start();
        count += 1;
    }
}

/// The rest behind a text without spaces between two marks.
fn behind(text: &[u8], open: u8, close: u8) -> Option<&[u8]> {
    let inside = text.strip_prefix(&[open])?;
    let end = inside.iter().position(|byte| *byte == close)?;
    let words = inside[..end].iter().all(|byte| byte.is_ascii_graphic() && *byte != open);
    (end > 0 && words).then(|| &inside[end + 1..])
}

fn is_absolute(uri: &[u8]) -> bool {
    let uri = std::str::from_utf8(uri).ok().and_then(|it| it.parse::<Uri>().ok());
    uri.is_some_and(|uri| uri.scheme().is_some() && uri.authority().is_some())
}

/// A tag in quotes, weak or strong.
fn is_tag(text: &[u8]) -> bool {
    let quoted = text.strip_prefix(b"W/").unwrap_or(text);
    let inside = quoted.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\""));
    inside.is_some_and(|it| it.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'"'))
}

fn is_tag_list(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text == b"*" || text.split(|byte| *byte == b',').all(|tag| is_tag(tag.trim_ascii()))
}

fn has_short_numbers(text: &[u8]) -> bool {
    let mut runs = text.split(|byte| !byte.is_ascii_digit());
    text.is_ascii() && runs.all(|digits| digits.len() <= DIGITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn check_field(name: &str, value: &str) -> Result<(), BadField> {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        check(&HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())]))
    }

    #[test]
    fn fields_of_their_grammar_pass() {
        for (name, value) in [
            ("if", "(<urn:uuid:1>)"),
            ("if", "(<urn:uuid:1> [\"tag\"]) (Not <DAV:no-lock>)"),
            ("if", "<http://x/a> (<urn:uuid:1>) <http://x/b>([W/\"t\"])(Not [\"u\"])"),
            ("if-match", "*"),
            ("if-match", "\"a\", W/\"b\""),
            ("depth", "Infinity"),
            ("overwrite", "F"),
            ("lock-token", "<urn:uuid:1>"),
            ("content-range", "bytes 0-99/*"),
            ("x-update-range", "bytes=5-"),
        ] {
            assert_eq!(check_field(name, value), Ok(()), "{name}: {value}");
        }
    }

    #[test]
    fn others_are_refused_by_name() {
        for (name, value) in [
            ("if", ""),
            ("if", "()"),
            ("if", "(<urn:x>"),
            ("if", "(Not)"),
            ("if", "<a>"),
            ("if", "</a> (<urn:x>)"),
            ("if", "([tag])"),
            ("if", "([\"])"),
            ("if", "([\"a b\"])"),
            ("if", "(<ur\"/(NoproptV:no-loc>)"),
            ("if", "v-parsetNot <DAV:no-l"),
            ("if-match", "\""),
            ("if-none-match", "tag"),
            ("if-none-match", "\"a\"\"b\""),
            ("depth", "2"),
            ("overwrite", "false"),
            ("lock-token", "urn:uuid:1"),
            ("content-range", "bytes 0-18446744073709551615/*"),
            ("x-update-range", "bytes=0-18446744073709551615"),
        ] {
            assert!(check_field(name, value).is_err(), "{name}: {value}");
        }
        let mut twice = HeaderMap::new();
        twice.append("depth", HeaderValue::from_static("0"));
        twice.append("depth", HeaderValue::from_static("1"));
        assert_eq!(check(&twice), Err(BadField("depth")));
    }
}
