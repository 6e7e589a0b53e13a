//! Words of nginx's configuration: plain or in quotes, braces, semicolons, comments.

use import_report::{ImportFault, NotePlace};
use std::sync::Arc;

/// One word or sign, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NginxToken {
    pub(super) kind: TokenKind,
    pub(super) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word(String),
    Open,
    Close,
    End,
}

/// The longest word, in bytes.
const WORD_BYTES_MAX: usize = 64 << 10;

/// The words of a text.
pub(super) fn tokens(text: &str, file: &Arc<str>) -> Result<Vec<NginxToken>, ImportFault> {
    let mut reader = TokenReader { text, at: 0, line: 1, found: Vec::new(), is_lua: false };
    if let Err(why) = reader.read() {
        return Err(ImportFault::new(&NotePlace::new(file, reader.line), why));
    }
    Ok(reader.found)
}

struct TokenReader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    found: Vec<NginxToken>,
    /// Behind a word that a block of Lua follows.
    is_lua: bool,
}

impl TokenReader<'_> {
    fn read(&mut self) -> Result<(), &'static str> {
        while let Some(next) = self.text[self.at..].chars().next() {
            match next {
                '\n' => self.take(next),
                _ if next.is_whitespace() || next == '\u{feff}' => self.take(next),
                '#' => self.comment(),
                '{' if self.is_lua => self.lua()?,
                '{' => self.sign(TokenKind::Open),
                '}' => self.sign(TokenKind::Close),
                ';' => self.sign(TokenKind::End),
                '"' | '\'' => self.quoted(next)?,
                _ => self.word()?,
            }
        }
        Ok(())
    }

    fn take(&mut self, next: char) {
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
    }

    fn sign(&mut self, kind: TokenKind) {
        self.found.push(NginxToken { kind, line: self.line });
        self.at += 1;
    }

    fn comment(&mut self) {
        self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
    }

    /// A block of Lua is passed over, braces in it counted.
    fn lua(&mut self) -> Result<(), &'static str> {
        let line = self.line;
        let mut depth = 0_usize;
        while let Some(next) = self.text[self.at..].chars().next() {
            self.take(next);
            match next {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.is_lua = false;
                self.found.push(NginxToken { kind: TokenKind::End, line });
                return Ok(());
            }
        }
        Err("a block of Lua is not closed")
    }

    fn quoted(&mut self, quote: char) -> Result<(), &'static str> {
        let line = self.line;
        self.take(quote);
        let mut word = String::new();
        while let Some(next) = self.text[self.at..].chars().next() {
            self.take(next);
            match next {
                _ if next == quote => {
                    self.found.push(NginxToken { kind: TokenKind::Word(word), line });
                    return Ok(());
                }
                '\\' => self.escaped(&mut word),
                _ => word.push(next),
            }
            if word.len() > WORD_BYTES_MAX {
                return Err("a text is over 64 KiB");
            }
        }
        self.line = line;
        Err("a quote is not closed")
    }

    /// A backslash that nginx does not know stands for itself.
    fn escaped(&mut self, word: &mut String) {
        let Some(next) = self.text[self.at..].chars().next() else {
            word.push('\\');
            return;
        };
        match next {
            '"' | '\'' | '\\' => word.push(next),
            't' => word.push('\t'),
            'r' => word.push('\r'),
            'n' => word.push('\n'),
            _ => {
                word.push('\\');
                word.push(next);
            }
        }
        self.take(next);
    }

    fn word(&mut self) -> Result<(), &'static str> {
        let line = self.line;
        let mut word = String::new();
        while let Some(next) = self.text[self.at..].chars().next() {
            match next {
                _ if next.is_whitespace() => break,
                ';' | '{' if !(next == '{' && word.ends_with('$')) => break,
                '\\' => {
                    self.take(next);
                    self.escaped(&mut word);
                    continue;
                }
                _ => {}
            }
            // The braces of a variable belong to the word.
            self.take(next);
            word.push(next);
            if word.len() > WORD_BYTES_MAX {
                return Err("a word is over 64 KiB");
            }
        }
        self.is_lua = word.ends_with("_by_lua_block");
        self.found.push(NginxToken { kind: TokenKind::Word(word), line });
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let shown = |it: NginxToken| match it.kind {
            TokenKind::Word(word) => word,
            TokenKind::Open => "{".into(),
            TokenKind::Close => "}".into(),
            TokenKind::End => ";".into(),
        };
        tokens(text, &"f".into()).unwrap().into_iter().map(shown).collect()
    }

    #[test]
    fn words_end_where_nginx_ends_them() {
        assert_eq!(words("a 'b c';# d;\n}"), ["a", "b c", ";", "}"]);
        assert_eq!(words(r#"set $a "x\"y" ;"#), ["set", "$a", "x\"y", ";"]);
        assert_eq!(
            words("return 301 https://${host}$uri;"),
            ["return", "301", "https://${host}$uri", ";"]
        );
        assert_eq!(words(r"location ~ \.php$ {"), ["location", "~", r"\.php$", "{"]);
        assert_eq!(words("x#y;"), ["x#y", ";"]);
        assert_eq!(
            words("content_by_lua_block { a = {} } b;"),
            ["content_by_lua_block", ";", "b", ";"]
        );
    }

    #[test]
    fn what_is_not_closed_is_told_with_its_line() {
        let wrong = tokens("\n'a\nb", &"f".into()).unwrap_err();
        assert_eq!(wrong.place.line, 2);
        assert!(tokens("x_by_lua_block {", &"f".into()).is_err());
    }
}
