//! Domain names as text: lower-case, without the final dot, within the limits of RFC 1035 §2.3.4.
//!
//! [`Name`] borrows, [`DomainName`] owns, [`NameBuffer`] is where a hot path writes one without
//! allocating. The root is the empty text.

use std::fmt;

/// Longest text of a name: 253 plain characters (RFC 1035 §2.3.4), or up to 1,004 when bytes that
/// are not printable stand as `\DDD` (RFC 1035 §5.1).
pub const NAME_TEXT_BYTES_MAX: usize = 1004;

/// Longest name without escapes, RFC 1035 §2.3.4 less the root label and first length byte.
const PLAIN_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// A domain name that somebody else owns: lower-case text without the final dot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(&'a str);

/// A domain name of one's own.
///
/// ```
/// let name = vocab::DomainName::parse("Ads.Example.").unwrap();
/// assert_eq!(name.as_str(), "ads.example");
/// assert!(vocab::DomainName::parse("a..b").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainName(Box<str>);

/// Why a text is no domain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Nothing stands there.
    Empty,
    /// Over 253 characters.
    TooLong,
    /// Two dots in a row, or a leading dot.
    EmptyLabel,
    /// A label of over 63 characters.
    LabelTooLong,
    /// A byte that no host or service name holds: letters, digits, `-`, `_` and dots are allowed.
    Character(char),
}

impl<'a> Name<'a> {
    /// The root, `.`.
    pub const ROOT: Name<'static> = Name("");

    /// Takes a text that is already a valid lower-case name; anything else is an error.
    pub fn from_lowercase(text: &'a str) -> Result<Self, NameError> {
        check(text, Case::Lower)?;
        Ok(Self(text))
    }

    /// The text, without the final dot; empty for the root.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Labels from left to right.
    pub fn labels(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.0.split('.').filter(|label| !label.is_empty())
    }

    /// The name less its first label; none for the root.
    pub fn parent(self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        Some(Self(self.0.split_once('.').map_or("", |(_, rest)| rest)))
    }

    /// True if this is `other` or stands below it.
    pub fn is_at_or_below(self, other: Name<'_>) -> bool {
        match self.0.strip_suffix(other.0) {
            Some("") => true,
            Some(rest) => other.0.is_empty() || rest.ends_with('.'),
            None => false,
        }
    }

    /// A copy of one's own.
    pub fn to_owned(self) -> DomainName {
        DomainName(self.0.into())
    }
}

impl DomainName {
    /// Reads a name in any case, with or without the final dot.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let text = text.strip_suffix('.').unwrap_or(text);
        check(text, Case::Any)?;
        Ok(Self(text.to_ascii_lowercase().into()))
    }

    /// The same, and the root where it is written as a single dot: nobody serves it, but clients
    /// ask for it.
    pub fn parse_or_root(text: &str) -> Result<Self, NameError> {
        if text == "." { Ok(Name::ROOT.to_owned()) } else { Self::parse(text) }
    }

    /// Borrows it.
    pub fn as_name(&self) -> Name<'_> {
        Name(&self.0)
    }

    /// The text, lower-case, without the final dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Lower,
    Any,
}

/// One pass over the bytes; the first thing that is wrong is named.
fn check(text: &str, case: Case) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > PLAIN_BYTES_MAX {
        return Err(NameError::TooLong);
    }
    let mut label_bytes = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'.' if label_bytes == 0 => return Err(NameError::EmptyLabel),
            b'.' => {
                label_bytes = 0;
                continue;
            }
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => {}
            b'A'..=b'Z' if case == Case::Any => {}
            _ => {
                let wrong = text[at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
                return Err(NameError::Character(wrong));
            }
        }
        label_bytes += 1;
        if label_bytes > LABEL_BYTES_MAX {
            return Err(NameError::LabelTooLong);
        }
    }
    if label_bytes == 0 { Err(NameError::EmptyLabel) } else { Ok(()) }
}

/// A place on the stack for the text of one name that arrives label by label, as in a DNS message.
pub struct NameBuffer {
    bytes: [u8; NAME_TEXT_BYTES_MAX],
    len: usize,
}

impl NameBuffer {
    /// An empty buffer: the root.
    pub const fn new() -> Self {
        Self { bytes: [0; NAME_TEXT_BYTES_MAX], len: 0 }
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends one label of 1 to 63 raw bytes, lower-cased; dots, backslashes and bytes outside
    /// printable ASCII become `\DDD`, so that two different names never share a text.
    pub fn push_label(&mut self, label: &[u8]) -> Result<(), NameError> {
        if label.is_empty() {
            return Err(NameError::EmptyLabel);
        }
        if label.len() > LABEL_BYTES_MAX {
            return Err(NameError::LabelTooLong);
        }
        if self.len > 0 {
            self.push_byte(b'.')?;
        }
        for &byte in label {
            match byte {
                b'.' | b'\\' | 0..=32 | 127..=255 => {
                    let escape =
                        [b'\\', b'0' + byte / 100, b'0' + byte / 10 % 10, b'0' + byte % 10];
                    for digit in escape {
                        self.push_byte(digit)?;
                    }
                }
                plain => self.push_byte(plain.to_ascii_lowercase())?,
            }
        }
        Ok(())
    }

    fn push_byte(&mut self, byte: u8) -> Result<(), NameError> {
        let slot = self.bytes.get_mut(self.len).ok_or(NameError::TooLong)?;
        *slot = byte;
        self.len += 1;
        Ok(())
    }

    /// The name written so far.
    pub fn as_name(&self) -> Name<'_> {
        // Only ASCII is ever pushed, so the text is whole; the empty name is the root.
        Name(std::str::from_utf8(&self.bytes[..self.len]).unwrap_or(""))
    }
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "." } else { self.0 })
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_name(), f)
    }
}

impl fmt::Debug for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for DomainName {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::parse(text)
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the name is empty"),
            Self::TooLong => f.write_str("the name is longer than 253 characters"),
            Self::EmptyLabel => f.write_str("the name has an empty label"),
            Self::LabelTooLong => f.write_str("a label is longer than 63 characters"),
            Self::Character(c) => write!(f, "{c:?} cannot stand in a domain name"),
        }
    }
}

impl std::error::Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_without_final_dot() {
        assert_eq!(DomainName::parse("WWW.Example.COM.").unwrap().as_str(), "www.example.com");
        assert_eq!(DomainName::parse("_dmarc.example").unwrap().as_str(), "_dmarc.example");
    }

    #[test]
    fn what_is_no_name_says_why() {
        assert_eq!(DomainName::parse(""), Err(NameError::Empty));
        assert_eq!(DomainName::parse("."), Err(NameError::Empty));
        assert_eq!(DomainName::parse("a..b"), Err(NameError::EmptyLabel));
        assert_eq!(DomainName::parse(&"a".repeat(64)), Err(NameError::LabelTooLong));
        assert_eq!(
            DomainName::parse(&"a.".repeat(127)),
            Ok(DomainName("a.".repeat(127)[..253].into()))
        );
        assert_eq!(DomainName::parse(&"ab.".repeat(100)), Err(NameError::TooLong));
        assert_eq!(DomainName::parse("a b"), Err(NameError::Character(' ')));
        assert_eq!(Name::from_lowercase("A.example"), Err(NameError::Character('A')));
    }

    #[test]
    fn the_root_is_a_dot_where_it_may_be_asked_about() {
        let root = DomainName::parse_or_root(".").unwrap();
        assert_eq!((root.as_name(), root.to_string().as_str()), (Name::ROOT, "."));
        assert_eq!(DomainName::parse_or_root(""), Err(NameError::Empty));
        assert_eq!(DomainName::parse_or_root("A."), DomainName::parse("a"));
    }

    #[test]
    fn within_is_by_whole_labels() {
        let name = |text: &'static str| Name::from_lowercase(text).unwrap();
        assert!(name("a.example").is_at_or_below(name("example")));
        assert!(name("example").is_at_or_below(name("example")));
        assert!(!name("badexample").is_at_or_below(name("example")));
        assert!(name("example").is_at_or_below(Name::ROOT));
    }

    #[test]
    fn raw_labels_become_text_that_cannot_be_confused() {
        let mut buffer = NameBuffer::new();
        assert_eq!(buffer.as_name(), Name::ROOT);
        buffer.push_label(b"A.b").unwrap();
        buffer.push_label(&[0xff, b'X']).unwrap();
        assert_eq!(buffer.as_name().as_str(), "a\\046b.\\255x");
    }
}
