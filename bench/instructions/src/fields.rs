//! What is asked of the fields of every request that is passed on: its kind, and what ends at this
//! hop.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use http_engine::{hop_by_hop, kind};
use std::hint::black_box;
use vocab::RequestKind;

/// A browser's, without a page's metadata, which it sends over HTTPS only.
const FIELDS: [(&str, &str); 8] = [
    ("host", "shop.example"),
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("accept", "*/*"),
    ("accept-language", "en-GB,en;q=0.5"),
    ("accept-encoding", "gzip, deflate"),
    ("referer", "http://shop.example/"),
    ("cookie", "session=0123456789abcdef"),
    ("priority", "u=2"),
];

fn fields() -> HeaderMap {
    let field = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    FIELDS.into_iter().map(field).collect()
}

/// The kind of a request, which its path alone tells.
pub fn kind(count: usize) -> usize {
    let (fields, uri) = (fields(), Uri::from_static("/static/app.js?v=12"));
    let is_script = |_: &usize| {
        let found = kind::of_request(black_box(&Method::GET), black_box(&uri), black_box(&fields));
        found == RequestKind::Script
    };
    (0..count).filter(is_script).count()
}

/// What is for one hop, where nothing is.
pub fn strip(count: usize) -> usize {
    let mut fields = fields();
    for _ in 0..count {
        hop_by_hop::strip(black_box(&mut fields));
    }
    fields.len()
}
