//! One request, as it is recorded.
//!
//! An [`RequestEvent`] has a fixed size but for a boxed URL, so that a door can make one on its
//! stack. Texts over their cap are cut at a character's edge and marked, never refused. Every door
//! makes one event a request and hands it to [`crate::Ledger::record`].

use std::net::IpAddr;
use vocab::{Action, Caching, Cause, Door, Name, Now, RequestKind, Source};

/// Longest text of a name that is stored, in bytes (RFC 1035 §2.3.4); longer ones (escapes) are
/// cut.
pub const NAME_BYTES_MAX: usize = 253;

/// Longest text of a URL that is stored, in bytes; longer ones are cut.
pub const URL_BYTES_MAX: usize = 2048;

/// What stands at the end of a text that was cut.
pub const CUT_MARK: &str = "…";

/// One request at one door.
#[derive(Clone, Debug)]
pub struct RequestEvent {
    /// When the request was read.
    pub at: Now,
    /// From the request's last byte in to the answer's first byte out, in microseconds.
    pub duration_us: u32,
    /// Where it came in.
    pub door: Door,
    /// Who asked.
    pub client: IpAddr,
    /// What kind of thing was asked for.
    pub kind: RequestKind,
    /// What was asked for.
    pub subject: EventSubject,
    /// What was done.
    pub action: Action,
    /// Why.
    pub cause: Cause,
    /// Where the answer came from.
    pub source: Source,
    /// What the door's HTTP cache did; [`Caching::NONE`] where none was asked, and at doors without
    /// one.
    pub caching: Caching,
    /// The DNS response code or the HTTP status.
    pub status: u16,
    /// Bytes of the answer, without transport headers; the largest number stands for more.
    pub bytes: u32,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "a name is inline so that a DNS query's event allocates nothing"
)]
pub enum EventSubject {
    /// A domain name; the empty one is the root.
    Name(NameText),
    /// An absolute URL.
    Url(Box<str>),
}

/// The text of a name, held inline: at most [`NAME_BYTES_MAX`] bytes.
#[derive(Clone, Copy)]
pub struct NameText {
    len: u8,
    bytes: [u8; NAME_BYTES_MAX],
}

impl EventSubject {
    /// A domain name.
    pub fn name(name: Name<'_>) -> Self {
        Self::Name(NameText::new(name.as_str()))
    }

    /// An absolute URL, cut and marked over [`URL_BYTES_MAX`].
    pub fn url(url: &str) -> Self {
        let (kept, mark) = cut(url, URL_BYTES_MAX);
        Self::Url([kept, mark].concat().into())
    }

    /// Returns its text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Name(name) => name.as_str(),
            Self::Url(url) => url,
        }
    }
}

impl NameText {
    /// Copies `text`, cut and marked over [`NAME_BYTES_MAX`].
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; NAME_BYTES_MAX];
        let (kept, mark) = cut(text, NAME_BYTES_MAX);
        let len = kept.len() + mark.len();
        bytes[..kept.len()].copy_from_slice(kept.as_bytes());
        bytes[kept.len()..len].copy_from_slice(mark.as_bytes());
        Self { len: len as u8, bytes }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)])
            .expect("whole: copied from texts that were cut at a character's edge")
    }

    /// The text as bytes, without the check that it is text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for NameText {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for NameText {}

impl std::fmt::Debug for NameText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// As much of `text` as fits `max` bytes together with the mark, which is empty if all fits.
fn cut(text: &str, max: usize) -> (&str, &'static str) {
    if text.len() <= max {
        return (text, "");
    }
    (&text[..text.floor_char_boundary(max - CUT_MARK.len())], CUT_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_url_is_cut_at_a_characters_edge_and_marked() {
        let url = format!("http://a.example/{}", "ü".repeat(2000));
        let EventSubject::Url(kept) = EventSubject::url(&url) else { panic!("a URL stays one") };
        assert!(kept.len() <= URL_BYTES_MAX && kept.len() > URL_BYTES_MAX - 4);
        assert!(kept.ends_with("ü…"));
        assert_eq!(EventSubject::url("http://a.example/").as_str(), "http://a.example/");
    }

    #[test]
    fn a_long_name_is_cut_and_marked() {
        assert_eq!(NameText::new("a.example").as_str(), "a.example");
        assert_eq!(NameText::new("").as_str(), "");
        let long = "\\255".repeat(250);
        let kept = NameText::new(&long);
        assert_eq!(kept.as_str().len(), NAME_BYTES_MAX);
        assert!(kept.as_str().ends_with(CUT_MARK));
    }
}
