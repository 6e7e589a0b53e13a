//! Lines of HAProxy's configuration: words, quotes, escapes, sections.

use import_report::{ImportFault, ImportSurroundings, NotePlace};
use import_routes::report::{LineFates, RowId};
use std::sync::Arc;

/// One line.
#[derive(Clone, Debug)]
pub(super) struct HaproxyLine {
    pub(super) words: Vec<String>,
    pub(super) row: RowId,
}

/// A section: `frontend web`, and its lines.
#[derive(Clone, Debug)]
pub(super) struct HaproxySection {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) head: HaproxyLine,
    pub(super) lines: Vec<HaproxyLine>,
}

/// Lines of all files.
const LINES_MAX: usize = 50_000;
/// Words of a line: HAProxy has 64.
const WORDS_MAX: usize = 1_024;

impl HaproxyLine {
    pub(super) fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    /// The words from one on.
    pub(super) fn from(&self, index: usize) -> &[String] {
        self.words.get(index..).unwrap_or_default()
    }

    pub(super) fn begins(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(index, word)| self.word(index) == *word)
    }
}

/// The sections of a text.
pub(super) fn sections(
    text: &str,
    file: &Arc<str>,
    around: &dyn ImportSurroundings,
    report: &mut LineFates,
) -> Result<Vec<HaproxySection>, ImportFault> {
    let mut found: Vec<HaproxySection> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let place = NotePlace::new(file, index + 1);
        if index >= LINES_MAX {
            return Err(ImportFault::new(&place, "there are over 50000 lines"));
        }
        let words = words(line, around).map_err(|why| ImportFault::new(&place, why))?;
        let Some(first) = words.first() else { continue };
        if words.len() > WORDS_MAX {
            return Err(ImportFault::new(&place, "a line has over 1024 words"));
        }
        let kind = first.clone();
        let row = report.enter(place, &words.join(" "));
        let line = HaproxyLine { words, row };
        if SECTIONS.contains(&kind.as_str()) {
            let name = line.word(1).to_owned();
            found.push(HaproxySection { kind, name, head: line, lines: Vec::new() });
            continue;
        }
        if let Some(section) = found.last_mut() {
            section.lines.push(line);
        }
    }
    Ok(found)
}

/// Words that begin a section.
const SECTIONS: [&str; 20] = [
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "userlist",
    "resolvers",
    "mailers",
    "cache",
    "program",
    "ring",
    "http-errors",
    "log-forward",
    "fcgi-app",
    "crt-store",
    "traces",
    "acme",
    "ruleset",
    "log-profile",
];

/// The words of a line: quotes, backslashes, variables in double quotes.
fn words(line: &str, around: &dyn ImportSurroundings) -> Result<Vec<String>, &'static str> {
    let (mut found, mut word, mut is_word) = (Vec::new(), String::new(), false);
    let mut quote = None;
    let mut rest = line.chars().peekable();
    while let Some(next) = rest.next() {
        match (next, quote) {
            ('\'' | '"', None) => {
                quote = Some(next);
                is_word = true;
            }
            (_, Some(open)) if next == open => quote = None,
            ('\\', None | Some('"')) => {
                is_word = true;
                match rest.next() {
                    Some('n') => word.push('\n'),
                    Some('r') => word.push('\r'),
                    Some('t') => word.push('\t'),
                    Some(it @ (' ' | '#' | '\\' | '"' | '\'' | '$')) => word.push(it),
                    Some(it) => {
                        word.push('\\');
                        word.push(it);
                    }
                    None => {}
                }
            }
            ('$', Some('"')) => {
                is_word = true;
                word.push_str(&variable(&mut rest, around));
            }
            ('#', None) => break,
            (_, None) if next.is_whitespace() => {
                if is_word {
                    found.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (_, _) => {
                is_word = true;
                word.push(next);
            }
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    if is_word {
        found.push(word);
    }
    Ok(found)
}

/// The value of a variable of the environment, whose name follows.
fn variable(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    around: &dyn ImportSurroundings,
) -> String {
    let mut name = String::new();
    if rest.peek() == Some(&'{') {
        rest.next();
        for it in rest.by_ref() {
            if it == '}' {
                break;
            }
            name.push(it);
        }
    } else {
        while let Some(it) = rest.peek().filter(|it| it.is_ascii_alphanumeric() || **it == '_') {
            name.push(*it);
            rest.next();
        }
    }
    let (name, default) = name.split_once('-').unwrap_or((&name, ""));
    around.variable(name).unwrap_or_else(|| default.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use test_support::OneText;

    #[test]
    fn words_end_where_haproxy_ends_them() {
        let words = |text: &str| words(text, &OneText("")).unwrap();
        assert_eq!(
            words(r#"acl a path_reg ^/a\ b "c d" # e"#),
            ["acl", "a", "path_reg", "^/a b", "c d"]
        );
        assert_eq!(words(r#"bind "${X-1}:80" '$y'"#), ["bind", "1:80", "$y"]);
        assert_eq!(words(r"a \.php$"), ["a", r"\.php$"]);
    }
}
