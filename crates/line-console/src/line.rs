//! One line of the console, from bytes to words.
//!
//! Browsers can be made to send bytes to any port of their own machine, so what looks like HTTP,
//! and whatever is no text, is told apart here: the caller ends the connection, and nothing that
//! came with it is done.

/// Longest line, in bytes, its end left out.
pub const LINE_BYTES_MAX: usize = 4096;

/// Methods that a request line begins with.
const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI"];

/// A line in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleLine {
    /// Nothing, or a comment.
    Blank,
    /// A command and what follows it, with one blank between words.
    Words {
        /// The command, in lower case.
        verb: String,
        /// All else, as it came.
        rest: String,
    },
}

/// Talk that is not the console's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignTalk {
    /// Bytes that are no text, or a control character.
    NotText,
    /// A request line or a field of HTTP.
    Http,
    /// More bytes than a line may have.
    TooLong,
}

/// Reads a line, without its line feed.
pub fn read_line(bytes: &[u8]) -> Result<ConsoleLine, ForeignTalk> {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() > LINE_BYTES_MAX {
        return Err(ForeignTalk::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ForeignTalk::NotText)?;
    if text.chars().any(|it| it.is_control() && it != '\t') {
        return Err(ForeignTalk::NotText);
    }
    if is_http(text) {
        return Err(ForeignTalk::Http);
    }
    let words = without_comment(text).split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let (verb, rest) = words.split_once(' ').unwrap_or((&words, ""));
    if verb.is_empty() {
        return Ok(ConsoleLine::Blank);
    }
    Ok(ConsoleLine::Words { verb: verb.to_ascii_lowercase(), rest: rest.into() })
}

fn is_http(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let Some(first) = words.next() else { return false };
    let last = words.clone().next_back().unwrap_or_default();
    let second = words.next().unwrap_or_default();
    let is_target = second.starts_with(['/', '*']) || second.contains("://");
    let is_field = first.len() > 1
        && first.split_once(':').is_some_and(|(name, value)| {
            let is_name = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
            !name.is_empty() && name.bytes().all(is_name) && (value.is_empty() || second.is_empty())
        });
    METHODS.contains(&first) && is_target
        || first.starts_with("HTTP/")
        || last.starts_with("HTTP/")
        || is_field
}

/// The line up to a `#` that begins a word. Within quotes it begins none.
fn without_comment(text: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, found) in text.char_indices() {
        match quote {
            Some(open) if found == open => quote = None,
            None if found == '#' && before.is_ascii_whitespace() => return &text[..at],
            None if matches!(found, '"' | '\'') && !before.is_alphanumeric() => quote = Some(found),
            Some(_) | None => {}
        }
        before = found;
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn words(text: &str) -> (String, String) {
        match read_line(text.as_bytes()).unwrap() {
            ConsoleLine::Blank => Default::default(),
            ConsoleLine::Words { verb, rest } => (verb, rest),
        }
    }

    #[test]
    fn commands_are_read_as_perlbal_reads_them() {
        let read = |text: &str| {
            let (verb, rest) = words(text);
            format!("{verb}|{rest}")
        };
        assert_eq!(read("SHOW POOL\r"), "show|POOL");
        assert_eq!(read("  pool   app add\t10.0.0.1:80  # rack 3"), "pool|app add 10.0.0.1:80");
        assert_eq!(read("# nothing"), "|");
        assert_eq!(read(""), "|");
        assert_eq!(read("set a.hash = \"x # y\" # z"), "set|a.hash = \"x # y\"");
        assert_eq!(read("set a.url = http://x/#y"), "set|a.url = http://x/#y");
        assert_eq!(read("get gateway.pools"), "get|gateway.pools");
    }

    #[test]
    fn what_a_browser_can_be_made_to_send_is_no_command() {
        for text in [
            "GET / HTTP/1.1",
            "GET /",
            "POST /x?set=1 HTTP/1.1",
            "OPTIONS * HTTP/1.1",
            "CONNECT example.net:443 HTTP/1.1",
            "PRI * HTTP/2.0",
            "GET http://127.0.0.1:60000/ HTTP/1.0",
            "HTTP/1.1 200 OK",
            "Host: 127.0.0.1:60000",
            "host:127.0.0.1",
            "Content-Type: text/plain",
            "reload HTTP/1.1",
        ] {
            assert_eq!(read_line(text.as_bytes()), Err(ForeignTalk::Http), "{text}");
        }
        for bytes in [&b"\x16\x03\x01\x02"[..], b"set a\x00b", b"reload \xff", b"a\x1bb", b"a\rb"] {
            assert_eq!(read_line(bytes), Err(ForeignTalk::NotText), "{bytes:?}");
        }
        assert_eq!(read_line(&[b'a'; 4097]), Err(ForeignTalk::TooLong));
    }
}
