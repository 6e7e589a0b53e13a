//! Redaction of what pages post: values that look like secrets go before anything is kept.
//!
//! A value goes by its key (`password`, `card`, `token`), in forms, JSON and multipart, or by its
//! own look: numbers of cards, JSON Web Tokens, credentials of HTTP. It reads what may be cut
//! anywhere and malformed everywhere, and takes out too much rather than too little: what stands
//! under such a key goes to its end, however deep it is. Pure; called by `inspection`; fuzzed.

/// Text in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Words in keys whose values are secrets, compared without case, `-`, `_` and `.`.
const WORDS: [&str; 24] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "auth",
    "credential",
    "session",
    "cookie",
    "signature",
    "apikey",
    "privatekey",
    "accesskey",
    "card",
    "ccnum",
    "cvv",
    "cvc",
    "iban",
    "account",
    "ssn",
    "pin",
    "otp",
    "jwt",
    "csrf",
    "xsrf",
];
/// Words that count only as whole keys: they are parts of too many others.
const WHOLE: [&str; 5] = ["key", "sid", "pan", "code", "login"];
/// Digits of a card's number (ISO/IEC 7812-1).
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;
/// Bytes of a key that are looked at; what is longer is no key.
const KEY_BYTES_MAX: usize = 256;

/// Words in keys whose values are taken out, beyond those that always are.
#[derive(Clone, Debug, Default)]
pub struct RedactedKeys(Vec<String>);

impl RedactedKeys {
    /// These words too.
    pub fn with(words: &[String]) -> Self {
        Self(words.iter().map(|word| plain(word)).filter(|word| !word.is_empty()).collect())
    }

    fn hold(&self, key: &str) -> bool {
        let key = plain(&unescaped(key));
        WHOLE.contains(&key.as_str())
            || WORDS.iter().any(|word| key.contains(word))
            || self.0.iter().any(|word| key.contains(word.as_str()))
    }

    /// `text` without what looks like a secret.
    pub fn redact(&self, text: &str) -> String {
        let start = text.trim_start();
        let by_key = if start.starts_with(['{', '[', '"']) {
            self.json(text)
        } else if start.starts_with("--") {
            self.multipart(text)
        } else {
            self.form(text)
        };
        by_look(&by_key)
    }

    /// A URL without what looks like a secret in its query.
    pub fn redact_url(&self, url: &str) -> String {
        match url.split_once('?') {
            Some((path, query)) => [path, "?", &self.redact(query)].concat(),
            None => url.to_owned(),
        }
    }

    /// `application/x-www-form-urlencoded`, and lines of the kind (`text/plain` forms).
    fn form(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for pair in text.split_inclusive(['&', '\n', ';']) {
            match pair.split_once('=') {
                Some((key, value)) if self.hold(key) => {
                    let end = value.trim_end_matches(['&', '\n', ';', '\r']).len();
                    out.extend([key, "=", REDACTED, &value[end..]]);
                }
                // JSON inside a value, as trackers send it.
                Some((key, value)) if value.contains("%22") || value.contains('"') => {
                    out.extend([key, "=", &self.inner(value)]);
                }
                _ => out.push_str(pair),
            }
        }
        out
    }

    /// A value that holds JSON, escaped or not.
    fn inner(&self, value: &str) -> String {
        let read = unescaped(value);
        let redacted = self.json(&read);
        if redacted == read { value.to_owned() } else { redacted }
    }

    fn json(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('"') {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let string = &from[..string_end(from)];
            out.push_str(string);
            rest = &from[string.len()..];
            let value = rest.trim_start();
            let Some(value) = value.strip_prefix(':') else { continue };
            let value = value.trim_start();
            // An escape could spell any word: nobody writes keys so who has nothing to hide.
            if string.contains('\\') || self.hold(string.trim_matches('"')) {
                out.extend([&rest[..rest.len() - value.len()], "\"", REDACTED, "\""]);
                rest = &value[value_end(value)..];
            }
        }
        out.push_str(rest);
        out
    }

    fn multipart(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut is_secret = false;
        let mut in_head = false;
        for line in text.split_inclusive('\n') {
            let bare = line.trim_end();
            if line.starts_with("--") {
                (is_secret, in_head) = (false, true);
            } else if in_head && bare.is_empty() {
                in_head = false;
                if is_secret {
                    out.extend([line, REDACTED, "\n"]);
                    continue;
                }
            } else if in_head {
                is_secret |= name_of(bare).is_some_and(|name| self.hold(name));
            } else if is_secret {
                continue;
            }
            out.push_str(line);
        }
        out
    }
}

/// The name in a part's `Content-Disposition`.
fn name_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("name=")?;
    let rest = rest.strip_prefix('"').unwrap_or(rest);
    Some(rest.split(['"', ';']).next().unwrap_or(rest))
}

/// Lower case, without what keys are written with in between.
fn plain(key: &str) -> String {
    let key = &key[..key.floor_char_boundary(KEY_BYTES_MAX)];
    key.chars().filter(|it| it.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Percent-escapes as the characters that they stand for, where these are text.
fn unescaped(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Where a JSON string that begins `from` ends, its quote included; the end where it is cut.
fn string_end(from: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in from.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    from.len()
}

/// Where a JSON value ends, however deep it is; the end where it is cut.
fn value_end(value: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = value.as_bytes().get(at) {
        match byte {
            b'"' => {
                at += string_end(&value[at..]);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return at + depth,
            b'}' | b']' => depth -= 1,
            b',' | b'\n' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    value.len()
}

/// Takes out what looks like a secret, whatever its key.
fn by_look(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|it: char| !is_of_word(it)) {
        let bare = word.trim_end_matches(|it: char| !is_of_word(it));
        let is_secret = is_card(bare) || is_web_token(bare);
        out.push_str(if is_secret { REDACTED } else { bare });
        out.push_str(&word[bare.len()..]);
    }
    for scheme in ["Bearer", "Basic"] {
        out = without_credentials(&out, scheme);
    }
    out
}

/// Characters of tokens and of numbers that are written in groups.
fn is_of_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.')
}

/// True for the number of a card: it is of the right length, and its check digit fits.
fn is_card(word: &str) -> bool {
    let digits: Vec<u32> = word.chars().filter_map(|it| it.to_digit(10)).collect();
    let is_number = word.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    if !is_number || !CARD_DIGITS.contains(&digits.len()) {
        return false;
    }
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match place % 2 {
            0 => *digit,
            _ => digit * 2 - if *digit > 4 { 9 } else { 0 },
        })
        .sum();
    sum.is_multiple_of(10)
}

/// True for a JSON Web Token (RFC 7519): three parts, of which the first two begin an object.
fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.split('.').count() >= 2 && word.len() > 20
}

/// Takes out what follows the name of a scheme of HTTP authentication.
fn without_credentials(text: &str, scheme: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(scheme) {
        let (before, from) = rest.split_at(at + scheme.len());
        out.push_str(before);
        rest = from;
        let Some(value) = rest.strip_prefix([' ', '+']).or_else(|| rest.strip_prefix("%20")) else {
            continue;
        };
        let end = value.find(|it: char| it.is_whitespace() || "\"'&,;".contains(it));
        out.extend([" ", REDACTED]);
        rest = &value[end.unwrap_or(value.len())..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        RedactedKeys::default().redact(text)
    }

    #[test]
    fn values_go_by_their_keys_in_every_form_that_pages_post() {
        for (posted, kept) in [
            ("a=1&password=hunter2&b=2", "a=1&password=[redacted]&b=2"),
            ("user%5Bpass_word%5D=hunter2", "user%5Bpass_word%5D=[redacted]"),
            ("page=/checkout&API-Key=abc", "page=/checkout&API-Key=[redacted]"),
            (
                r#"{"a":1,"password":"hun\"ter2","b":[1]}"#,
                r#"{"a":1,"password":"[redacted]","b":[1]}"#,
            ),
            (
                r#"{"token": {"id": "x", "of": ["y"]}, "b": 2}"#,
                r#"{"token": "[redacted]", "b": 2}"#,
            ),
            (r#"[{"cvv":123},{"n":4}]"#, r#"[{"cvv":"[redacted]"},{"n":4}]"#),
            (r#"{"pas\u0073word":"x","n":4}"#, r#"{"pas\u0073word":"[redacted]","n":4}"#),
            (r#"{"access_token":"cut in the mid"#, r#"{"access_token":"[redacted]""#),
            ("e=%7B%22secret%22%3A%22x%22%7D&n=1", "e={\"secret\":\"[redacted]\"}&n=1"),
            (
                "--b\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\nhunter2\r\nmore\r\n--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nshoes\r\n--b--",
                "--b\r\nContent-Disposition: form-data; name=\"pwd\"\r\n\r\n[redacted]\n--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\nshoes\r\n--b--",
            ),
            ("nothing to hide", "nothing to hide"),
        ] {
            assert_eq!(redacted(posted), kept);
        }
    }

    #[test]
    fn values_go_by_their_look_where_no_key_says_so() {
        for (posted, kept) in [
            ("n=4111111111111111&m=1", "n=[redacted]&m=1"),
            ("n=4111-1111-1111-1111", "n=[redacted]"),
            ("n=4111111111111112", "n=4111111111111112"),
            ("t=1732713600000", "t=1732713600000"),
            (r#"{"x":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}"#, r#"{"x":"[redacted]"}"#),
            (r#"{"h":"Bearer abc.def"}"#, r#"{"h":"Bearer [redacted]"}"#),
        ] {
            assert_eq!(redacted(posted), kept);
        }
    }

    #[test]
    fn more_words_may_be_given() {
        let keys = RedactedKeys::with(&["Loyalty-Number".into()]);
        assert_eq!(keys.redact("my_loyalty_number=7&x=1"), "my_loyalty_number=[redacted]&x=1");
    }

    #[test]
    fn no_secret_under_a_key_survives_a_cut_anywhere() {
        let posted =
            r#"{"a":{"password":"hunter2","b":["hunter2"],"secret":["x",{"y":"hunter2"}]}}"#;
        let posted = posted.replace(r#""b":["hunter2"],"#, "");
        for end in 0..=posted.len() {
            let kept = redacted(&posted[..end]);
            assert!(!kept.contains("hun"), "{kept}");
        }
    }
}
