//! Zone files cut into entries and words: comments, quotes, escapes, and parentheses that join
//! lines (RFC 1035 §5.1).
//!
//! Words stay as they are written, quotes and escapes included; what they mean is for
//! [`super::zone`]. A fault costs the line it stands in, not the file.

use std::fmt;

/// Bytes of the words of one entry, at most: four times the longest record, for each of its bytes
/// may be written as `\DDD`.
pub const LINE_BYTES_MAX: usize = 256 << 10;

/// One entry: a record or a directive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ZoneLine<'t> {
    /// Where it begins, from 1.
    pub(super) number: u32,
    /// Whether it begins with a blank: a record of the last owner.
    pub(super) owner: EntryOwner,
    /// At least one.
    pub(super) words: Vec<&'t str>,
}

/// Tells whose record an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryOwner {
    /// Says so first.
    Written,
    /// That of the record before.
    Last,
}

/// Why a line cannot be cut into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanFault {
    /// A quotation mark is not closed in its line.
    OpenQuote,
    /// A parenthesis is not closed before the end.
    OpenParenthesis,
    /// A parenthesis is closed that was not opened.
    StrayParenthesis,
    /// A line ends with a backslash.
    OpenEscape,
    /// A character that no text has.
    Control,
    /// The entry is longer than [`LINE_BYTES_MAX`].
    TooLong,
}

/// The entries of a text.
pub(super) struct ZoneLines<'t> {
    text: &'t str,
    at: usize,
    number: u32,
}

impl<'t> ZoneLines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text: text.strip_prefix('\u{feff}').unwrap_or(text), at: 0, number: 1 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes past the end of this line.
    fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        match memchr::memchr(b'\n', rest) {
            Some(length) => {
                self.at += length + 1;
                self.number += 1;
            }
            None => self.at = self.text.len(),
        }
    }

    /// Reads one entry; nothing is left of a line with a fault.
    fn entry(&mut self) -> Result<Option<ZoneLine<'t>>, (u32, ScanFault)> {
        let mut words = Vec::new();
        let (mut number, mut owner) = (self.number, EntryOwner::Written);
        let (mut depth, mut bytes) = (0u32, 0);
        let mut is_start = true;
        loop {
            let fault = match self.peek() {
                None if depth > 0 => Some(ScanFault::OpenParenthesis),
                None => break,
                Some(b'\n') => {
                    self.skip_line();
                    if depth > 0 {
                        continue;
                    }
                    if words.is_empty() {
                        (number, owner, is_start) = (self.number, EntryOwner::Written, true);
                        continue;
                    }
                    break;
                }
                Some(b' ' | b'\t' | b'\r') => {
                    if is_start {
                        owner = EntryOwner::Last;
                    }
                    self.at += 1;
                    None
                }
                Some(b';') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                    None
                }
                Some(b'(') => {
                    depth += 1;
                    self.at += 1;
                    None
                }
                Some(b')') => {
                    self.at += 1;
                    let outer = depth.checked_sub(1);
                    depth = outer.unwrap_or(0);
                    outer.is_none().then_some(ScanFault::StrayParenthesis)
                }
                Some(_) => match self.word() {
                    Ok(word) => {
                        words.push(word);
                        bytes += word.len();
                        (bytes > LINE_BYTES_MAX).then_some(ScanFault::TooLong)
                    }
                    Err(fault) => Some(fault),
                },
            };
            is_start = false;
            if let Some(fault) = fault {
                let number = if fault == ScanFault::OpenParenthesis { number } else { self.number };
                self.skip_line();
                return Err((number, fault));
            }
        }
        Ok((!words.is_empty()).then_some(ZoneLine { number, owner, words }))
    }

    /// Reads one word, which begins here.
    fn word(&mut self) -> Result<&'t str, ScanFault> {
        let start = self.at;
        let is_quoted = self.peek() == Some(b'"');
        let mut within_quotes = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' if within_quotes => return Err(ScanFault::OpenQuote),
                b'\n' => break,
                b' ' | b'\t' | b'\r' | b';' | b'(' | b')' if !within_quotes => break,
                b'\\' => {
                    self.at += 1;
                    match self.peek() {
                        None | Some(b'\n' | b'\r') => return Err(ScanFault::OpenEscape),
                        Some(0..0x20 | 0x7f) => return Err(ScanFault::Control),
                        Some(_) => {}
                    }
                }
                b'"' if within_quotes => {
                    within_quotes = false;
                    if is_quoted {
                        self.at += 1;
                        return Ok(&self.text[start..self.at]);
                    }
                }
                b'"' => within_quotes = true,
                0..0x09 | 0x0b..0x0d | 0x0e..0x20 | 0x7f => return Err(ScanFault::Control),
                _ => {}
            }
            self.at += 1;
        }
        if within_quotes {
            return Err(ScanFault::OpenQuote);
        }
        Ok(&self.text[start..self.at])
    }
}

impl<'t> Iterator for ZoneLines<'t> {
    type Item = Result<ZoneLine<'t>, (u32, ScanFault)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}

impl fmt::Display for ScanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenQuote => f.write_str("a quotation mark is not closed in its line"),
            Self::OpenParenthesis => f.write_str("a parenthesis is not closed"),
            Self::StrayParenthesis => f.write_str("a parenthesis is closed that was not opened"),
            Self::OpenEscape => f.write_str("the line ends with a backslash"),
            Self::Control => {
                f.write_str("a control character has no place here: write it as \\DDD")
            }
            Self::TooLong => write!(f, "the entry is longer than {} KiB", LINE_BYTES_MAX >> 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with its owner and words, or where it fails.
    type Scanned<'t> = Result<(u32, EntryOwner, Vec<&'t str>), (u32, ScanFault)>;

    fn words(text: &str) -> Vec<Scanned<'_>> {
        ZoneLines::new(text)
            .map(|line| line.map(|line| (line.number, line.owner, line.words)))
            .collect()
    }

    #[test]
    fn entries_are_cut_at_lines_and_parentheses() {
        let text =
            "; first\n\na. A 1.2.3.4 ; x\n\t60 TXT \"b ; (c\" d\\;e\r\nf. SOA ( 1 ; one\n 2 )\n";
        assert_eq!(
            words(text),
            [
                Ok((3, EntryOwner::Written, vec!["a.", "A", "1.2.3.4"])),
                Ok((4, EntryOwner::Last, vec!["60", "TXT", "\"b ; (c\"", "d\\;e"])),
                Ok((5, EntryOwner::Written, vec!["f.", "SOA", "1", "2"])),
            ]
        );
        assert_eq!(
            words("a. SVCB 1 . alpn=\"h2,h3\" \"x\"\"y\""),
            [Ok((
                1,
                EntryOwner::Written,
                vec!["a.", "SVCB", "1", ".", "alpn=\"h2,h3\"", "\"x\"", "\"y\""]
            ))]
        );
    }

    #[test]
    fn a_fault_costs_its_line_only() {
        for (line, fault) in [
            ("a \"b", ScanFault::OpenQuote),
            ("a b\\", ScanFault::OpenEscape),
            ("a )", ScanFault::StrayParenthesis),
            ("a \u{1}", ScanFault::Control),
        ] {
            let text = format!("one\n{line}\nlast");
            let found = words(&text);
            assert_eq!(found[1], Err((2, fault)), "{line}");
            assert_eq!(found[2], Ok((3, EntryOwner::Written, vec!["last"])), "{line}");
        }
        assert_eq!(words("a (\nb\n"), [Err((1, ScanFault::OpenParenthesis))]);
        let long = format!("a {}\nb", "x".repeat(LINE_BYTES_MAX));
        assert_eq!(words(&long)[0], Err((1, ScanFault::TooLong)));
    }
}
