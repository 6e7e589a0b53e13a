//! `Accept-Encoding` in the form in which requests are compared, and whether a request takes what
//! is stored (RFC 9110 §12.5.3).
//!
//! Pure, and without a heap: most of what is stored varies by this field. Called by the rule for
//! variants.

use super::quality;
use http::header::{self, HeaderMap};

/// Words that are compared, each by a bit: the codings that origins choose between, and what is
/// said of the rest. Other codings are left out, and [`takes`] sees to it that nobody gets one that
/// it did not name.
const WORDS: [&str; 6] = ["*", "*;q=0", "br", "gzip", "identity;q=0", "zstd"];

/// The words that hold for a request, one bit for each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcceptedWords(u8);

impl AcceptedWords {
    /// Of a request, or of what [`AcceptedWords::words`] wrote of one.
    pub(crate) fn of(fields: &HeaderMap) -> Self {
        let mut bits = 0;
        for (coding, weight) in quality::members(fields, &header::ACCEPT_ENCODING) {
            let place = WORDS.iter().position(|word| match word.strip_suffix(";q=0") {
                Some(refused) => weight == 0 && is(coding, refused),
                None => weight > 0 && is(coding, word),
            });
            bits |= place.map_or(0, |place| 1 << place);
        }
        Self(bits)
    }

    /// The words, in one order.
    pub(crate) fn words(self) -> Vec<u8> {
        let held = |place: &usize| self.0 & (1 << place) != 0;
        let words: Vec<&str> = (0..WORDS.len()).filter(held).map(|place| WORDS[place]).collect();
        words.join(",").into_bytes()
    }
}

/// True if a request accepts the codings of a stored response.
pub(crate) fn accepts(request: &HeaderMap, response: &HeaderMap) -> bool {
    // Without the field any coding is acceptable (§12.5.3).
    if !request.contains_key(header::ACCEPT_ENCODING) {
        return true;
    }
    let mut codings = response
        .get_all(header::CONTENT_ENCODING)
        .into_iter()
        .flat_map(|line| line.as_bytes().split(|it| *it == b','))
        .map(|coding| std::str::from_utf8(coding.trim_ascii()).unwrap_or("?"))
        .filter(|coding| !coding.is_empty() && !is(coding, "identity"));
    codings.all(|coding| {
        let members = || quality::members(request, &header::ACCEPT_ENCODING);
        let named = members().find(|(name, _)| is(name, coding));
        named.or_else(|| members().find(|(name, _)| *name == "*")).is_some_and(|it| it.1 > 0)
    })
}

/// True if two names are of one coding: `x-gzip` is `gzip` (§8.4.1.3).
fn is(name: &str, other: &str) -> bool {
    let bare = |name: &'_ str| if name.eq_ignore_ascii_case("x-gzip") { 2 } else { 0 };
    name[bare(name)..].eq_ignore_ascii_case(&other[bare(other)..])
}
