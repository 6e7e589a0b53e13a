//! Rust sources, read just far enough to check them: what is code, what is comment, where functions
//! and test modules begin and end.
//!
//! A small lexer, not a parser: it knows strings, comments, character literals and brackets. What
//! it cannot make sense of it leaves out rather than guess.

/// A source taken apart. Both views have the lines of the source; what does not belong to a view is
/// blank in it.
pub(crate) struct Source {
    /// Code, with the contents of strings and comments blanked.
    pub(crate) code: String,
    /// Comments, with everything else blanked.
    pub(crate) comments: String,
}

/// A function with its parameters and extent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// What stands before `fn`, as in `pub async`.
    pub(crate) before: String,
    /// Its parameters, as written.
    pub(crate) parameters: Vec<String>,
    /// Its first line, from 1.
    pub(crate) line: usize,
    /// How many lines it takes, body included.
    pub(crate) lines: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    LineComment,
    BlockComment { depth: u32 },
    Text { hashes: Option<usize> },
}

impl Source {
    /// Takes `text` apart.
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut code, mut comments) = (blank(bytes), blank(bytes));
        let (mut at, mut within) = (0, Within::Code);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let (taken, next) = step(rest, bytes[..at].last().copied(), within);
            match (within, next) {
                (Within::Code, Within::Code) => {
                    code[at..at + taken].copy_from_slice(&rest[..taken]);
                }
                (Within::LineComment | Within::BlockComment { .. }, _)
                | (_, Within::LineComment | Within::BlockComment { .. }) => {
                    comments[at..at + taken].copy_from_slice(&rest[..taken]);
                }
                (Within::Text { .. }, _) | (_, Within::Text { .. }) => {}
            }
            at += taken;
            within = next;
        }
        Self { code: text_of(&code), comments: text_of(&comments) }
    }

    /// The lines (from 1, both ends included) of modules that are built for tests only.
    pub(crate) fn test_lines(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("#[cfg(test)]") {
            let behind = &self.code[at..];
            let module = behind.find("mod ").map(|from| at + from);
            let Some(open) = behind.find('{').map(|from| at + from) else { continue };
            let semicolon = behind.find(';').map_or(usize::MAX, |from| at + from);
            if module.is_some_and(|module| module < open)
                && semicolon > open
                && let Some(close) = closing(&self.code, open)
            {
                found.push((line_of(&self.code, at), line_of(&self.code, close)));
            }
        }
        found
    }

    /// Every function with a body.
    pub(crate) fn functions(&self) -> Vec<Function> {
        words(&self.code, "fn").filter_map(|at| self.function(at)).collect()
    }

    fn function(&self, at: usize) -> Option<Function> {
        let code = &self.code;
        let behind = code[at + 2..].trim_start();
        let name: String =
            behind.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            return None; // A pointer to a function.
        }
        let mut from = code.len() - behind.len() + name.len();
        if code[from..].starts_with('<') {
            from = end_of_generics(code, from)?;
        }
        let open = from + code[from..].find('(')?;
        let close = closing(code, open)?;
        let body = start_of_body(code, close + 1)?;
        let end = closing(code, body)?;
        let start = code[..at].rfind([';', '{', '}', ']']).map_or(0, |before| before + 1);
        let line = line_of(code, at);
        Some(Function {
            name,
            before: code[start..at].split_whitespace().collect::<Vec<_>>().join(" "),
            parameters: split_at_commas(&code[open + 1..close]),
            line,
            lines: line_of(code, end) - line + 1,
        })
    }
}

/// Where `word` stands alone.
pub(crate) fn words<'c>(code: &'c str, word: &'c str) -> impl Iterator<Item = usize> + 'c {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let bytes = code.as_bytes();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_part(before) && !is_part(bytes.get(at + word.len()))
    })
}

/// The line, from 1, of a place in a text.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// One step of the lexer: how many bytes belong together, and where we are after them.
fn step(rest: &[u8], before: Option<u8>, within: Within) -> (usize, Within) {
    match (within, rest) {
        (Within::Code, [b'/', b'/', ..]) => (2, Within::LineComment),
        (Within::Code, [b'/', b'*', ..]) => (2, Within::BlockComment { depth: 1 }),
        (Within::Code, [b'"', ..]) => (1, Within::Text { hashes: None }),
        (Within::Code, [b'r', ..]) if !joins(before) => match raw_string(rest) {
            Some((taken, hashes)) => (taken, Within::Text { hashes: Some(hashes) }),
            None => (1, Within::Code),
        },
        (Within::Code, [b'b', b'r', ..]) if !joins(before) => match raw_string(&rest[1..]) {
            Some((taken, hashes)) => (taken + 1, Within::Text { hashes: Some(hashes) }),
            None => (1, Within::Code),
        },
        (Within::Code, [b'\'', ..]) => (character(rest), Within::Code),
        (Within::LineComment, [b'\n', ..]) | (Within::Text { hashes: None }, [b'"', ..]) => {
            (1, Within::Code)
        }
        (Within::BlockComment { depth }, [b'/', b'*', ..]) => {
            (2, Within::BlockComment { depth: depth + 1 })
        }
        (Within::BlockComment { depth: 1 }, [b'*', b'/', ..]) => (2, Within::Code),
        (Within::BlockComment { depth }, [b'*', b'/', ..]) => {
            (2, Within::BlockComment { depth: depth - 1 })
        }
        (Within::Text { hashes: None }, [b'\\', _, ..]) => (2, within),
        (Within::Text { hashes: Some(count) }, [b'"', behind @ ..])
            if behind.iter().take_while(|byte| **byte == b'#').count() >= count =>
        {
            (1 + count, Within::Code)
        }
        (same, _) => (1, same),
    }
}

fn joins(before: Option<u8>) -> bool {
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The opening of a raw string, `r#"`: its length and how many hashes it has.
fn raw_string(rest: &[u8]) -> Option<(usize, usize)> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    (rest.get(1 + hashes) == Some(&b'"')).then_some((2 + hashes, hashes))
}

/// The length of a character literal; 1 for the quote of a lifetime. Its contents become code of
/// the view, which is harmless but for brackets and quotes: those are blanked by being skipped.
fn character(rest: &[u8]) -> usize {
    let text = std::str::from_utf8(&rest[..rest.len().min(16)])
        .or_else(|why| std::str::from_utf8(&rest[..why.valid_up_to()]));
    let Ok(text) = text else { return 1 };
    let inside = &text[1..];
    if let Some(escaped) = inside.strip_prefix('\\') {
        let end = escaped.char_indices().skip(1).find(|(_, c)| *c == '\'');
        return end.map_or(1, |(at, _)| at + 3);
    }
    let mut characters = inside.chars();
    match (characters.next(), characters.next()) {
        (Some(only), Some('\'')) => only.len_utf8() + 2,
        _ => 1,
    }
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == b'\n' { b'\n' } else { b' ' }).collect()
}

/// Character literals go too: a `'{'` is no bracket.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for literal in ["'{'", "'}'", "'('", "')'", "'['", "']'", "'<'", "'>'", "';'", "','"] {
        text = text.replace(literal, "   ");
    }
    text
}

/// The bracket that closes the one at `open`.
pub(crate) fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The end of the generics that open at `open`.
pub(crate) fn end_of_generics(code: &str, open: usize) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut depth = 0_usize;
    for at in open..bytes.len() {
        match bytes[at] {
            b'<' => depth += 1,
            b'>' if !matches!(bytes[at - 1], b'-' | b'=') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The brace that opens the body behind a parameter list; none for a declaration.
fn start_of_body(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Parts of a list, as written.
pub(crate) fn split_at_commas(parameters: &str) -> Vec<String> {
    let (mut all, mut depth, mut current) = (Vec::new(), 0_i32, String::new());
    let mut before = ' ';
    for c in parameters.chars() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if matches!(before, '-' | '=') => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        before = c;
        if c == ',' && depth == 0 {
            all.push(std::mem::take(&mut current));
        } else {
            current.push(c);
        }
    }
    all.push(current);
    all.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_told_from_code() {
        let source = Source::new(
            "let a = \"// no { comment\"; // a } comment\nlet b = r#\"raw \" { \"#; /* one /* two */ still */ c('{', '\\'', 'x')\n",
        );
        assert!(!source.code.contains('}') && !source.code.contains('{'), "{}", source.code);
        assert!(source.comments.contains("a } comment") && source.comments.contains("still"));
        assert!(source.code.contains("let b =") && source.code.contains("c("));
        assert_eq!(source.code.lines().count(), 2);
    }

    #[test]
    fn lifetimes_do_not_open_a_literal() {
        let source = Source::new("fn f<'a>(x: &'a str) -> &'a str { x } // end");
        assert!(source.code.contains("{ x }"));
        assert!(source.comments.contains("end"));
    }

    #[test]
    fn functions_are_found_with_their_extent() {
        let source = Source::new(
            "/// Doc.\n#[must_use]\npub const fn one<F: Fn(u8) -> u8>(f: F, on: bool) -> [u8; 4]\nwhere\n    F: Copy,\n{\n    body(fn_pointer)\n}\ntrait T { fn declared(&self); }\ntype P = fn(bool);\n",
        );
        let found = source.functions();
        assert_eq!(found.len(), 1);
        let expected = Function {
            name: "one".into(),
            before: "pub const".into(),
            parameters: vec!["f: F".into(), "on: bool".into()],
            line: 3,
            lines: 6,
        };
        assert_eq!(found[0], expected);
    }

    #[test]
    fn test_modules_are_found() {
        let source = Source::new(
            "a\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    {}\n}\nb\n#[cfg(test)]\nmod more;\nfn x() {}\n",
        );
        assert_eq!(source.test_lines(), [(2, 6)]);
    }
}
