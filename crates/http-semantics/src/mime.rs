//! The media type of a file, by its name.
//!
//! The table is `mime_guess`'s; this corrects it where browsers are strict (scripts, modules, wasm,
//! fonts) and says `charset=utf-8` for every kind of text. It never looks at content: sniffing is
//! how uploads become scripts. Called by the web and pixel doors.

use http::HeaderValue;
use std::path::Path;

/// What is not known is bytes: a browser saves it, and does not run it.
const UNKNOWN: &str = "application/octet-stream";

/// Types where the table is outdated or silent, by extension.
const OVERRIDES: &[(&str, &str)] = &[
    // WHATWG HTML: scripts are text/javascript, modules (.mjs) included.
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("cjs", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("svg", "image/svg+xml; charset=utf-8"),
    ("xml", "application/xml; charset=utf-8"),
    // RFC 8259 defines no charset for JSON: it is UTF-8.
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    // Streaming compilation refuses any other type.
    ("wasm", "application/wasm"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("avif", "image/avif"),
    ("webp", "image/webp"),
    ("jxl", "image/jxl"),
    ("ico", "image/x-icon"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("opus", "audio/ogg"),
    ("pem", "application/x-pem-file"),
    ("ts", "video/mp2t"),
];

/// The `Content-Type` for a file of this name.
pub fn of_path(path: &Path) -> HeaderValue {
    of_extension(path.extension().and_then(|it| it.to_str()).unwrap_or(""))
}

/// The `Content-Type` for an extension, without its dot, in any case.
pub fn of_extension(extension: &str) -> HeaderValue {
    if let Some((_, known)) = OVERRIDES.iter().find(|(it, _)| it.eq_ignore_ascii_case(extension)) {
        return HeaderValue::from_static(known);
    }
    let guess = mime_guess::from_ext(extension).first_raw().unwrap_or(UNKNOWN);
    if guess.starts_with("text/") {
        let with_charset = format!("{guess}; charset=utf-8");
        return HeaderValue::from_str(&with_charset)
            .unwrap_or_else(|_| HeaderValue::from_static(UNKNOWN));
    }
    HeaderValue::from_static(guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        assert_eq!(of_path(Path::new(name)), expected, "{name}");
    }

    #[test]
    fn types_that_browsers_insist_on_are_right() {
        check("app.js", "text/javascript; charset=utf-8");
        check("app.min.MJS", "text/javascript; charset=utf-8");
        check("lib.wasm", "application/wasm");
        check("a.woff2", "font/woff2");
        check("style.css", "text/css; charset=utf-8");
        check("data.json", "application/json");
        check("logo.svg", "image/svg+xml; charset=utf-8");
    }

    #[test]
    fn text_is_utf8_and_the_unknown_is_bytes() {
        check("table.csv", "text/csv; charset=utf-8");
        check("INDEX.HTML", "text/html; charset=utf-8");
        check("photo.jpeg", "image/jpeg");
        check("Makefile", "application/octet-stream");
        check("x.unheardof", "application/octet-stream");
        check(".htaccess", "application/octet-stream");
    }
}
