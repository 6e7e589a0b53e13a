//! Tags by which a response can be purged: the words of `Surrogate-Key` and `Cache-Tag`.
//!
//! Pure. Called when terms are worked out, and before a response is stored.

use http::header::HeaderMap;

/// Tags of one response. With more it is not stored: a purge by one that was left out would miss
/// it.
pub const TAGS_MAX: usize = 256;
/// Bytes of one tag, as at the large content networks.
pub const TAG_BYTES_MAX: usize = 1024;

/// A response has more tags, or a longer one, than can be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// The tags, sorted, each once. Words of `Surrogate-Key` stand between spaces, those of `Cache-Tag`
/// between commas.
pub(crate) fn tags(fields: &HeaderMap) -> Result<Box<[Box<str>]>, TooMany> {
    let mut tags: Vec<Box<str>> = Vec::new();
    for (name, line) in fields {
        let separator = match name.as_str() {
            "surrogate-key" => b' ',
            "cache-tag" => b',',
            _ => continue,
        };
        for word in line.as_bytes().split(|it| *it == separator) {
            // What is no text nobody can ask for.
            let Ok(tag) = std::str::from_utf8(word.trim_ascii()) else { continue };
            if tag.is_empty() {
                continue;
            }
            if tags.len() == TAGS_MAX || tag.len() > TAG_BYTES_MAX {
                return Err(TooMany);
            }
            tags.push(tag.into());
        }
    }
    tags.sort_unstable();
    tags.dedup();
    Ok(tags.into())
}
