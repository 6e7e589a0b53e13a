//! Words that a browser brings back from the provider.

use url::form_urlencoded;

/// Longest word of it that is taken, in bytes.
const WORD_BYTES_MAX: usize = 4096;

/// Words of the address that the provider sent a browser back to. They come from a browser, and
/// nothing of them is believed before the state is known.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CallbackQuery {
    /// Which sign-in it is.
    pub(crate) state: Option<String>,
    /// Code for the tokens.
    pub(crate) code: Option<String>,
    /// Issuer that answers (RFC 9207).
    pub(crate) issuer: Option<String>,
    /// Word of a provider that says no.
    pub(crate) error: Option<String>,
}

impl CallbackQuery {
    /// Reads the query. Nothing of one that says a word twice or at great length.
    pub fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let word = match &*name {
                "state" => &mut read.state,
                "code" => &mut read.code,
                "iss" => &mut read.issuer,
                "error" => &mut read.error,
                _ => continue,
            };
            if word.replace(value.clone().into_owned()).is_some() || value.len() > WORD_BYTES_MAX {
                return Self::default();
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_once() {
        let read = CallbackQuery::read("code=a%2Bb&state=s&session_state=x&iss=https%3A%2F%2Fi");
        let words = [read.code, read.state, read.issuer, read.error];
        let words = words.each_ref().map(Option::as_deref);
        assert_eq!(words, [Some("a+b"), Some("s"), Some("https://i"), None]);
        assert!(CallbackQuery::read("state=s&code=a&code=b") == CallbackQuery::default());
        let long = format!("state=s&code={}", "a".repeat(WORD_BYTES_MAX + 1));
        assert!(CallbackQuery::read(&long) == CallbackQuery::default());
    }
}
