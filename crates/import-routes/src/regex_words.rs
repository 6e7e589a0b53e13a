//! Expressions of PCRE in the words of the `regex` crate.
//!
//! What it does not have (looking around, back references) is widened: the result finds something
//! in at least what the original does. So it serves to close, never to open.

use crate::path_test::is_expression;

/// An expression, and how far it is the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadExpression {
    /// Means the same.
    Same(String),
    /// Finds something in more texts.
    Wider(String),
    /// Cannot be read.
    Unreadable,
}

/// Tells whether case counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterCase {
    /// Letters are as they are written.
    Counts,
    /// Letters of either case are the same.
    Ignored,
}

/// Reads an expression of PCRE.
pub fn read(text: &str, case: LetterCase) -> ReadExpression {
    let flags = match case {
        LetterCase::Counts => "",
        LetterCase::Ignored => "(?i)",
    };
    let (words, is_wider) = translated(text);
    let whole = format!("{flags}{words}");
    match (is_expression(&whole), is_wider) {
        (true, false) => ReadExpression::Same(whole),
        (true, true) => ReadExpression::Wider(whole),
        (false, _) => ReadExpression::Unreadable,
    }
}

/// The words of the `regex` crate, and true if they find something in more texts.
fn translated(text: &str) -> (String, bool) {
    let bytes = text.as_bytes();
    let (mut out, mut is_wider, mut at, mut is_class) = (String::new(), false, 0, false);
    while at < bytes.len() {
        let rest = &text[at..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            let Some(next) = escaped.chars().next() else {
                out.push_str("\\\\");
                break;
            };
            at += 1 + next.len_utf8();
            is_wider |= next.is_ascii_digit() && next != '0' && !is_class;
            out.push_str(&escape(next, is_class));
            continue;
        }
        if is_class {
            let (words, length) = class_word(rest);
            is_class = !rest.starts_with(']');
            out.push_str(&words);
            at += length;
            continue;
        }
        if rest.starts_with('[') {
            is_class = true;
            let open = if rest.starts_with("[^") { "[^" } else { "[" };
            out.push_str(open);
            at += open.len();
            // A bracket that comes first stands for itself.
            if text[at..].starts_with(']') {
                out.push_str("\\]");
                at += 1;
            }
            continue;
        }
        let looks = ["(?=", "(?!", "(?<=", "(?<!"];
        if let Some(words) = not_followed(rest) {
            out.push_str(&words);
            break;
        }
        if looks.iter().any(|it| rest.starts_with(it)) {
            is_wider = true;
            at += group_end(rest);
            continue;
        }
        if rest.starts_with("(?>") || rest.starts_with("(?|") {
            is_wider |= rest.starts_with("(?>");
            out.push_str("(?:");
            at += 3;
            continue;
        }
        let next = rest.chars().next().unwrap_or(' ');
        // Possessive quantifiers give nothing back.
        if next == '+' && out.ends_with(['*', '+', '?', '}']) && !out.ends_with("\\+") {
            is_wider = true;
            at += 1;
            continue;
        }
        // A brace that counts nothing stands for itself.
        if next == '{' && !is_count(rest) || next == '}' && !is_counting(&out) {
            out.push('\\');
        }
        out.push(next);
        at += next.len_utf8();
    }
    (out, is_wider)
}

/// The character behind a backslash. Letters that PCRE has and the crate has not are found when the
/// whole is compiled.
fn escape(next: char, is_class: bool) -> String {
    match next {
        '1'..='9' if !is_class => "(?s:.*)".into(),
        'Z' => "\\z".into(),
        'h' => "[ \\t]".into(),
        'R' => "\\r?\\n".into(),
        next if next.is_ascii_alphanumeric() => format!("\\{next}"),
        next => regex::escape(&next.to_string()),
    }
}

/// A character of a class, and the bytes that it takes: nested classes and their operators are the
/// crate's own.
fn class_word(rest: &str) -> (String, usize) {
    if rest.starts_with("[:") {
        let end = rest.find(":]").map_or(rest.len(), |it| it + 2);
        return (rest[..end].to_owned(), end);
    }
    let next = rest.chars().next().unwrap_or(']');
    let sign = if matches!(next, '[' | '&' | '~') { "\\" } else { "" };
    (format!("{sign}{next}"), next.len_utf8())
}

/// `(?!word)` at the end of an expression, with nothing or anything behind it: what does not begin
/// with the word.
fn not_followed(rest: &str) -> Option<String> {
    let inside = rest.strip_prefix("(?!")?;
    let (text, behind) = inside.split_once(')')?;
    if !matches!(behind, "" | ".*" | ".*$" | "(.*)" | "(.*)$") || text.len() > 40 {
        return None;
    }
    let mut word = Vec::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => word.push(letters.next().filter(|it| "./-_".contains(*it))?),
            it if it.is_ascii_alphanumeric() || "/-_".contains(it) => word.push(it),
            _ => return None,
        }
    }
    let mut ways = Vec::new();
    for (index, letter) in word.iter().enumerate() {
        let begin: String = word[..index].iter().collect();
        let letter = regex::escape(&letter.to_string());
        ways.push(format!("{}(?:[^{letter}]|$)", regex::escape(&begin)));
    }
    (!ways.is_empty()).then(|| format!("(?:{})", ways.join("|")))
}

/// True for `{2}`, `{2,}` and `{2,3}`.
fn is_count(rest: &str) -> bool {
    let Some(end) = rest.find('}') else { return false };
    let inside = &rest[1..end];
    inside.starts_with(|it: char| it.is_ascii_digit())
        && inside.chars().all(|it| it.is_ascii_digit() || it == ',')
}

/// True behind `{2,3`.
fn is_counting(out: &str) -> bool {
    let Some(begin) = out.rfind('{') else { return false };
    !out[..begin].ends_with('\\')
        && out[begin + 1..].starts_with(|it: char| it.is_ascii_digit())
        && out[begin + 1..].chars().all(|it| it.is_ascii_digit() || it == ',')
}

/// Bytes of the group that `rest` begins with.
fn group_end(rest: &str) -> usize {
    let (mut depth, mut is_escaped, mut is_class) = (0_usize, false, false);
    for (at, character) in rest.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ']' => is_class = false,
            _ if is_class => {}
            '[' => is_class = true,
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_kept_or_widened() {
        let same = |text: &str| ReadExpression::Same(text.into());
        let wider = |text: &str| ReadExpression::Wider(text.into());
        let read = |text: &str| read(text, LetterCase::Counts);
        assert_eq!(read(r"\.php$"), same(r"\.php$"));
        assert_eq!(read(r"^/a\/b"), same("^/a/b"));
        assert_eq!(read(r"[^/\]]+[]a]"), same(r"[^/\]]+[\]a]"));
        assert_eq!(read("[[:alpha:]_-]"), same("[[:alpha:]_-]"));
        assert_eq!(read("a{2,3}{"), same(r"a{2,3}\{"));
        assert_eq!(read("^/(?!a(b|c))x"), wider("^/x"));
        let ReadExpression::Same(hidden) = read(r"/\.(?!well-known).*") else { panic!("looks") };
        let hidden = regex::Regex::new(&hidden).expect("an expression");
        for (path, is_hidden) in [
            ("/.git", true),
            ("/.", true),
            ("/a/.well", true),
            ("/.well-known", false),
            ("/.well-known/x", false),
            ("/a", false),
            ("/.well-known/.git", true),
        ] {
            assert_eq!(hidden.is_match(path), is_hidden, "{path}");
        }
        assert_eq!(read(r"(a)\1"), wider("(a)(?s:.*)"));
        assert_eq!(read("a++"), wider("a+"));
        assert_eq!(read("("), ReadExpression::Unreadable);
        assert_eq!(super::read("x", LetterCase::Ignored), ReadExpression::Same("(?i)x".into()));
    }
}
