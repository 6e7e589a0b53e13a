//! Which media types are worth coding.
//!
//! A list of what is text or otherwise loose; everything else is left alone: most of the other
//! bytes on the web are compressed already, and coding them costs time for nothing. Called by the
//! web door.

use http::HeaderValue;

/// Tells whether bytes of a type get smaller by coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingWorth {
    /// They do.
    Coding,
    /// They are compressed already, or nothing is known of them.
    NotWorthIt,
}

/// Loose types besides `text/*`, `*+json`, `*+xml` and `*+text`.
const COMPRESSIBLE_TYPES: &[&str] = &[
    "application/ecmascript",
    "application/geo+json-seq",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/ld+json",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-fontobject",
    "application/wasm",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-pem-file",
    "application/x-sh",
    "application/x-subrip",
    "application/x-tar",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "font/collection",
    "font/otf",
    "font/sfnt",
    "font/ttf",
    "image/bmp",
    "image/vnd.microsoft.icon",
    "image/x-icon",
    "image/x-ms-bmp",
    "model/gltf-binary",
    "model/obj",
    "model/stl",
];

/// Returns whether a body of this `Content-Type` is worth coding.
pub fn worth_coding(content_type: &HeaderValue) -> CodingWorth {
    let Ok(text) = content_type.to_str() else { return CodingWorth::NotWorthIt };
    let essence = text.split(';').next().unwrap_or(text).trim().to_ascii_lowercase();
    let by_suffix = ["+json", "+xml", "+text"].iter().any(|suffix| essence.ends_with(suffix));
    if essence.starts_with("text/")
        || by_suffix
        || COMPRESSIBLE_TYPES.binary_search(&essence.as_str()).is_ok()
    {
        CodingWorth::Coding
    } else {
        CodingWorth::NotWorthIt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content_type: &'static str, expected: CodingWorth) {
        let value = HeaderValue::from_static(content_type);
        assert_eq!(worth_coding(&value), expected, "{content_type}");
    }

    #[test]
    fn text_is_worth_it_and_what_is_compressed_is_not() {
        check("text/html; charset=utf-8", CodingWorth::Coding);
        check("TEXT/CSS", CodingWorth::Coding);
        check("image/svg+xml; charset=utf-8", CodingWorth::Coding);
        check("application/manifest+json", CodingWorth::Coding);
        check("application/wasm", CodingWorth::Coding);
        check("image/x-icon", CodingWorth::Coding);
        for never in ["image/png", "image/jpeg", "video/mp4", "audio/ogg", "font/woff2"] {
            check(never, CodingWorth::NotWorthIt);
        }
        for never in ["application/zip", "application/gzip", "application/octet-stream", "x"] {
            check(never, CodingWorth::NotWorthIt);
        }
    }

    #[test]
    fn the_list_is_in_order() {
        assert!(COMPRESSIBLE_TYPES.is_sorted());
    }
}
