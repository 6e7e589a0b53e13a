//! The dashboard's files, which the binary carries in itself.
//!
//! `index.html` is asked for anew each time; what Vite has put under `assets/` bears a hash of its
//! content in its name and is kept by browsers for a year. Of each of those there are copies in
//! Brotli and gzip, made by the build. Nothing here needs the token: it holds
//! no data. Called for every path that is none of the API's.

use crate::refused::ApiRefusal;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use rust_embed::{EmbeddedFile, RustEmbed};
use std::fmt::Write as _;

/// A content coding that copies of files have.
#[derive(Clone, Copy)]
struct CopyCoding {
    name: &'static str,
    /// End of the copy's name.
    ending: &'static str,
}

/// Codings, the one with the shortest copies first.
const CODINGS: [CopyCoding; 2] =
    [CopyCoding { name: "br", ending: "br" }, CopyCoding { name: "gzip", ending: "gz" }];

#[derive(RustEmbed)]
#[folder = "../../dashboard/dist"]
struct DashboardAssets;

/// The file of a path.
pub(crate) fn answer(uri: &Uri, headers: &HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let coded = CODINGS.into_iter().find_map(|coding| {
        let copy = || DashboardAssets::get(&format!("{path}.{}", coding.ending));
        accepts(headers, coding.name).then(copy).flatten().map(|file| (file, coding))
    });
    let (file, coding) = coded.map_or((None, None), |(file, coding)| (Some(file), Some(coding)));
    let Some(file) = file.or_else(|| DashboardAssets::get(path)) else {
        let remedy = "the dashboard is at /, the API is described in /api/openapi.json";
        return ApiRefusal::new(StatusCode::NOT_FOUND, "nothing is here", remedy).into_response();
    };
    let keep = if path.starts_with("assets/") {
        HeaderValue::from_static("public, max-age=31536000, immutable")
    } else {
        HeaderValue::from_static("no-cache")
    };
    let etag = etag(&file);
    let unchanged = headers.get(IF_NONE_MATCH).is_some_and(|known| known == etag.as_str());
    let mut response = if unchanged {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(file.data.into_owned()).into_response()
    };
    let fields = response.headers_mut();
    if path.starts_with("assets/") {
        fields.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Some(coding) = coding {
        fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name));
    }
    fields.insert(CACHE_CONTROL, keep);
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(path)));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        fields.insert(ETAG, etag);
    }
    response
}

/// True if a client takes this content coding (RFC 9110 §12.5.3). `*` is not looked at: whoever
/// sends it takes the plain file too.
fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let words = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    words.flat_map(|words| words.split(',')).any(|word| {
        let mut parts = word.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(coding));
        let is_refused = |part: &str| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight == Some(0.0)
        };
        is_named && !parts.any(is_refused)
    })
}

/// Half of the content's SHA-256 tells versions apart.
fn etag(file: &EmbeddedFile) -> String {
    let hash = file.metadata.sha256_hash();
    let mut etag = String::from("\"");
    for byte in &hash[..16] {
        // A text grows in memory and cannot fail.
        let _ = write!(etag, "{byte:02x}");
    }
    etag.push('"');
    etag
}

/// Types of what a dashboard is made of; anything else is bytes.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}
