//! Where values stand in a text, in bytes, and the text with some of it replaced.

use crate::yaml::{TextPosition, YamlEntry, YamlNode, YamlValue};
use std::ops::Range;

/// A text and where its lines begin.
pub(crate) struct PlacedText<'t> {
    pub(crate) text: &'t str,
    lines: Vec<usize>,
}

impl<'t> PlacedText<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        // As the reader counts: a carriage return ends a line by itself, too.
        let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            byte => **byte == b'\n',
        });
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, lines }
    }

    fn offset(&self, place: TextPosition) -> usize {
        let Some(&line) = self.lines.get(place.line.saturating_sub(1)) else {
            return self.text.len();
        };
        let mut chars = self.text[line..].char_indices();
        chars.nth(place.column.saturating_sub(1)).map_or(self.text.len(), |(at, _)| line + at)
    }

    /// Where a value begins.
    pub(crate) fn start(&self, node: &YamlNode) -> usize {
        self.offset(node.position)
    }

    /// Where an entry's key begins.
    pub(crate) fn key_start(&self, entry: &YamlEntry) -> usize {
        self.offset(entry.position)
    }

    /// True if a section or list stands in brackets.
    pub(crate) fn is_flow(&self, node: &YamlNode) -> bool {
        self.text[self.start(node)..].starts_with(['[', '{'])
    }

    /// True if nothing is written where the value would stand.
    pub(crate) fn is_unwritten(&self, node: &YamlNode) -> bool {
        let rest = self.text.get(self.start(node)..).unwrap_or_default();
        matches!(node.value, YamlValue::Null)
            && !["~", "null", "Null", "NULL"].iter().any(|word| rest.starts_with(word))
    }

    /// Behind the colon of an entry, or behind its key where it has none.
    pub(crate) fn after_colon(&self, entry: &YamlEntry) -> usize {
        let key_end = self.offset(entry.key_end);
        let rest = &self.text[key_end..];
        let colon = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest[colon..].starts_with(':') { key_end + colon + 1 } else { key_end }
    }

    /// Where an entry ends: behind its value.
    pub(crate) fn entry_end(&self, entry: &YamlEntry) -> usize {
        if self.is_unwritten(&entry.node) { self.after_colon(entry) } else { self.end(&entry.node) }
    }

    /// Where a value ends. The reader's own end is right for plain texts and numbers; of sections
    /// and lists it is where the last thing inside ends, and behind the bracket where there is one.
    pub(crate) fn end(&self, node: &YamlNode) -> usize {
        let start = self.start(node);
        let inside = match &node.value {
            _ if self.is_unwritten(node) => Some(start),
            YamlValue::Section(entries) => {
                let last = entries.last().map(|entry| self.entry_end(entry));
                self.behind_bracket(node, last)
            }
            YamlValue::List(items) => {
                let last = items.last().map(|item| self.end(item));
                self.behind_bracket(node, last)
            }
            YamlValue::Text(_) => quoted_len(&self.text[start..]).map(|len| start + len),
            _ => None,
        };
        let end = inside.unwrap_or_else(|| self.offset(node.end)).max(start);
        // The end of a text of several lines is the line below it.
        start + self.text[start..end].trim_end().len()
    }

    /// Behind the closing bracket that follows the last thing inside, or just behind that.
    fn behind_bracket(&self, node: &YamlNode, last: Option<usize>) -> Option<usize> {
        if !self.is_flow(node) {
            return last;
        }
        let mut at = last.unwrap_or(self.start(node) + 1);
        loop {
            let rest = self.text.get(at..)?;
            match rest.chars().next()? {
                ']' | '}' => return Some(at + 1),
                '#' => at = self.line_end(at),
                it if it == ',' || it.is_whitespace() => at += it.len_utf8(),
                _ => return None,
            }
        }
    }

    /// The end of the line of this place, before its line feed.
    pub(crate) fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |found| at + found)
    }

    /// The beginning of the line of this place.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |found| found + 1)
    }

    /// The line up to this place.
    pub(crate) fn before(&self, at: usize) -> &'t str {
        &self.text[self.line_start(at)..at]
    }

    /// The lines that a range is on, with the line feed behind them, or the one before them at the
    /// end of a file.
    pub(crate) fn whole_lines(&self, range: &Range<usize>) -> Range<usize> {
        let (start, end) = (self.line_start(range.start), self.line_end(range.end));
        if end < self.text.len() { start..end + 1 } else { start..end }
    }

    /// The text with this in place of a range.
    pub(crate) fn with(&self, range: Range<usize>, new: &str) -> String {
        [&self.text[..range.start], new, &self.text[range.end..]].concat()
    }

    /// The text with a line more, below the line of this place.
    pub(crate) fn with_lines_below(&self, at: usize, lines: &[String]) -> String {
        let at = self.line_end(at);
        let is_crlf = self.text[..at].ends_with('\r')
            || (at == self.text.len() && self.text.contains("\r\n"));
        // Between the two characters of a line's end, so that both lines have one of their own.
        let (behind, end) = match (is_crlf, at == self.text.len()) {
            (true, false) => ("\r", "\n"),
            (true, true) => ("", "\r\n"),
            (false, _) => ("", "\n"),
        };
        let added: String = lines.iter().flat_map(|line| [end, line, behind]).collect();
        self.with(at..at, &added)
    }
}

/// Bytes of a text in quotes, quotes included, at the beginning of a text. The reader's own end may
/// lie behind a comment.
fn quoted_len(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((at, found)) = rest.next() {
        match found {
            '\\' if quote == '"' => drop(rest.next()),
            _ if found != quote => {}
            // Two of them are one within.
            '\'' if rest.next_if(|(_, next)| *next == '\'').is_some() => {}
            _ => return Some(at + 1),
        }
    }
    None
}
