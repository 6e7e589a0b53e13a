//! Words of a Caddyfile: plain, in quotes or backticks, heredocs; lines, braces, comments.

use import_report::{ImportFault, ImportSurroundings, NotePlace};
use std::sync::Arc;

/// A word with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CaddyToken {
    pub(super) text: String,
    pub(super) line: usize,
    /// True for what stood in quotes: it is no brace.
    pub(super) is_quoted: bool,
    /// The file.
    pub(super) file: Arc<str>,
}

/// Words of all files.
const TOKENS_MAX: usize = 200_000;

impl CaddyToken {
    pub(super) fn is_open(&self) -> bool {
        self.text == "{" && !self.is_quoted
    }

    pub(super) fn is_close(&self) -> bool {
        self.text == "}" && !self.is_quoted
    }

    pub(super) fn place(&self) -> NotePlace {
        NotePlace::new(&self.file, self.line)
    }
}

/// The words of a text, variables of the environment put in.
pub(super) fn tokens(
    text: &str,
    file: &Arc<str>,
    around: &dyn ImportSurroundings,
) -> Result<Vec<CaddyToken>, ImportFault> {
    let text = with_variables(text, around);
    let mut found: Vec<CaddyToken> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        if found.len() > TOKENS_MAX {
            let place = NotePlace::new(file, line);
            return Err(ImportFault::new(&place, "there are over 200000 words"));
        }
        if next == '\\' && (rest[1..].starts_with('\n') || rest[1..].starts_with("\r\n")) {
            // The line goes on: what follows counts as standing in it.
            at += rest.find('\n').map_or(1, |it| it + 1);
            continue;
        }
        if next.is_whitespace() || next == '\u{feff}' {
            at += next.len_utf8();
            line += usize::from(next == '\n');
            continue;
        }
        if next == '#' {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let begun = line;
        let (word, length, is_quoted) = match next {
            '"' | '`' => {
                let (word, length) = quoted(rest, next).ok_or_else(|| {
                    ImportFault::new(&NotePlace::new(file, begun), "a quote is not closed")
                })?;
                (word, length, true)
            }
            _ if rest.starts_with("<<") && is_heredoc(rest) => {
                let (word, length) = heredoc(rest).ok_or_else(|| {
                    ImportFault::new(&NotePlace::new(file, begun), "a heredoc is not closed")
                })?;
                (word, length, true)
            }
            _ => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (rest[..end].to_owned(), end, false)
            }
        };
        line += rest[..length].matches('\n').count();
        at += length;
        // A word of several lines ends in the last: what follows it stands there.
        found.push(CaddyToken { text: word, line: begun, is_quoted, file: Arc::clone(file) });
        if line != begun
            && let Some(last) = found.last_mut()
        {
            last.line = line;
        }
    }
    Ok(found)
}

/// `{$NAME}` and `{$NAME:default}`.
fn with_variables(text: &str, around: &dyn ImportSurroundings) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("{$") {
        let Some(end) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        let inside = &rest[at + 2..at + end];
        let (name, default) = inside.split_once(':').unwrap_or((inside, ""));
        out.push_str(&around.variable(name).unwrap_or_else(|| default.to_owned()));
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    out
}

/// A text in quotes, and its length with them.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let (mut word, mut is_escaped) = (String::new(), false);
    for (at, next) in rest.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
            if next != '"' {
                word.push('\\');
            }
            word.push(next);
        } else if next == '\\' && quote == '"' {
            is_escaped = true;
        } else if next == quote {
            return Some((word, at + 1));
        } else {
            word.push(next);
        }
    }
    None
}

fn is_heredoc(rest: &str) -> bool {
    let first = rest.lines().next().unwrap_or_default();
    let marker = &first[2..];
    !marker.is_empty()
        && marker.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-')
}

/// The lines between `<<END` and `END`, without the blanks that stand before the end.
fn heredoc(rest: &str) -> Option<(String, usize)> {
    let first = rest.find('\n')?;
    let marker = rest[2..first].trim_end();
    let mut at = first + 1;
    let mut lines = Vec::new();
    for line in rest[first + 1..].split_inclusive('\n') {
        let plain = line.trim_end_matches(['\n', '\r']);
        if let Some(behind) = plain.trim_start().strip_prefix(marker)
            && !behind.starts_with(|it: char| it.is_ascii_alphanumeric())
        {
            let blanks = plain.len() - plain.trim_start().len();
            let text: Vec<&str> =
                lines.iter().map(|it: &&str| it.get(blanks..).unwrap_or("")).collect();
            return Some((text.join("\n"), at + blanks + marker.len()));
        }
        lines.push(plain);
        at += line.len();
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use test_support::OneText;

    #[test]
    fn words_end_where_caddy_ends_them() {
        let words = |text: &str| -> Vec<String> {
            let found = tokens(text, &"f".into(), &OneText("")).unwrap();
            found.into_iter().map(|it| it.text).collect()
        };
        assert_eq!(words("a \"b c\" `d\"` # e\n{$X:80}"), ["a", "b c", "d\"", "80"]);
        assert_eq!(words("respond <<END\n  a\n   b\n  END 200\n"), ["respond", "a\n b", "200"]);
        assert!(tokens("\"a", &"f".into(), &OneText("")).is_err());
    }
}
