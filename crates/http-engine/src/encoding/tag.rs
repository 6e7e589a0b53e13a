//! Entity tags of coded representations.
//!
//! A coded body is another representation, so it needs another tag (RFC 9110 §8.8.3.3). Where we
//! hold the whole of it, its bytes follow from the file, the coding and the level, so the file's
//! strong tag with both as a suffix is strong again: ranges and `If-Match` work on it. What is
//! coded on the way (a script's answer) keeps its tag as a weak one.

use super::{CodingLevel, ContentCoding};
use crate::conditional::ETag;

/// The tag of `original` once it is coded.
pub fn coded_tag(original: &ETag, coding: ContentCoding, level: CodingLevel) -> Option<ETag> {
    let text = original.to_string();
    let quoted = text.strip_prefix("W/").unwrap_or(&text);
    let opaque = format!("{}-{}{}", quoted.trim_matches('"'), coding.extension(), level.get());
    if text.starts_with("W/") { ETag::weak(&opaque) } else { ETag::strong(&opaque) }
}

/// The same tag as a weak one.
pub fn to_weak(tag: &ETag) -> Option<ETag> {
    let text = tag.to_string();
    let quoted = text.strip_prefix("W/").unwrap_or(&text);
    ETag::weak(quoted.trim_matches('"'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn each_coding_and_level_has_a_tag_of_its_own() {
        let file = ETag::strong("1f-2a-9").unwrap();
        let coded_file =
            coded_tag(&file, ContentCoding::Gzip, CodingLevel::new(6).unwrap()).unwrap();
        assert_eq!(coded_file.to_string(), "\"1f-2a-9-gz6\"");
        let other_level =
            coded_tag(&file, ContentCoding::Gzip, CodingLevel::new(5).unwrap()).unwrap();
        assert!(!coded_file.is_same_meaning(&other_level));
        assert!(!coded_file.is_same_meaning(&file));
        let weak = ETag::weak("a").unwrap();
        let coded = coded_tag(
            &weak,
            ContentCoding::Brotli,
            CodingLevel::default_for(ContentCoding::Brotli),
        )
        .unwrap();
        assert_eq!(coded.to_string(), "W/\"a-br4\"");
        assert_eq!(to_weak(&file).unwrap().to_string(), "W/\"1f-2a-9\"");
    }
}
