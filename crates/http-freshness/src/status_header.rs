//! One member of a field that says what an intermediary did: its name and parameters, as structured
//! fields (RFC 9651) escape them.
//!
//! Called by `Cache-Status` and `Proxy-Status`.

use http::header::HeaderValue;
use sfv::{BareItem, Integer, ItemSerializer, KeyRef, StringRef, TokenRef};

/// Bytes of one text; what is behind is cut off.
const TEXT_BYTES_MAX: usize = 256;

/// The member while it is written.
pub(crate) struct StatusMember {
    by: String,
    parameters: Vec<(&'static str, BareItem)>,
}

impl StatusMember {
    /// By an intermediary of this name.
    pub(crate) fn by(name: &str) -> Self {
        Self { by: name.to_owned(), parameters: Vec::new() }
    }

    /// A parameter that stands there or not.
    pub(crate) fn flag(&mut self, name: &'static str) -> &mut Self {
        self.put(name, BareItem::Boolean(true))
    }

    /// A whole number.
    pub(crate) fn number(&mut self, name: &'static str, number: i64) -> &mut Self {
        // Ages and statuses lie far within the 15 digits of an integer.
        match Integer::try_from(number) {
            Ok(number) => self.put(name, BareItem::Integer(number)),
            Err(_) => self,
        }
    }

    /// One of our own words.
    pub(crate) fn token(&mut self, name: &'static str, word: &'static str) -> &mut Self {
        let word = TokenRef::from_str(word).expect("our words start with a letter");
        self.put(name, BareItem::Token(word.to_owned()))
    }

    /// Any text: what is no visible ASCII becomes `?`.
    pub(crate) fn text(&mut self, name: &'static str, text: &str) -> &mut Self {
        match sfv::String::from_string(visible(text)) {
            Ok(text) => self.put(name, BareItem::String(text)),
            Err(_) => self,
        }
    }

    fn put(&mut self, name: &'static str, value: BareItem) -> &mut Self {
        self.parameters.push((name, value));
        self
    }

    /// As a field value.
    pub(crate) fn value(&self) -> HeaderValue {
        let name = visible(&self.by);
        let serializer = match (TokenRef::from_str(&name), StringRef::from_str(&name)) {
            (Ok(token), _) => ItemSerializer::new().bare_item(token),
            (Err(_), Ok(text)) => ItemSerializer::new().bare_item(text),
            (Err(_), Err(_)) => ItemSerializer::new().bare_item(true),
        };
        let parameters = self.parameters.iter().map(|(name, value)| {
            (KeyRef::from_str(name).expect("our names are small letters and dashes"), value)
        });
        let written = serializer.parameters(parameters);
        HeaderValue::from_str(&written.finish()).expect("structured fields are visible ASCII")
    }
}

fn visible(text: &str) -> String {
    let seen = |it: char| if it == ' ' || it.is_ascii_graphic() { it } else { '?' };
    text.chars().take(TEXT_BYTES_MAX).map(seen).collect()
}
