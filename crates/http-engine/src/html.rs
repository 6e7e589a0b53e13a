//! Pages for people: templates filled, and text from outside made safe for them.
//!
//! It holds the frame and the style sheet that all of them share, and no page. Called by the pages of
//! the pixel door, the proxy door and the admin.

use crate::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The frame, with the slots `title` (escaped), `style` (an element) and `content`.
pub const FRAME: &str = include_str!("html/frame.html");
/// The style sheet, light and dark, for any width.
pub const STYLE: &str = include_str!("html/style.css");

/// What a page may do: show our style sheet, named by its hash, and pictures that stand in it.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("base64 and words: visible ASCII")
});

/// A whole page: `content` in the frame, under the plain text `title`. It is never stored, and other
/// sites can neither read nor frame it.
pub fn page(status: StatusCode, title: &str, content: &str) -> Response<Body> {
    let style = format!("<style>{STYLE}</style>");
    let page = fill(FRAME, &[("title", &escape(title)), ("style", &style), ("content", content)]);
    let length = page.len();
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let fields: [(HeaderName, HeaderValue); 8] = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_LENGTH, HeaderValue::from(length)),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (CONTENT_SECURITY_POLICY, POLICY.clone()),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ];
    response.headers_mut().extend(fields);
    response
}

/// Puts texts into the `{{slots}}` of a template. What is put in is not searched for slots, and not
/// escaped: see [`escape`].
pub fn fill(template: &str, slots: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, behind) = after.split_once("}}").unwrap_or((after, ""));
        let slot = slots.iter().find(|(slot, _)| *slot == name);
        filled.push_str(slot.map_or("", |(_, text)| text));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

/// Text from outside made safe, for text and for quoted attributes alike.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            plain => safe.push(plain),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fills_a_slot_is_not_searched_for_slots() {
        assert_eq!(fill("a {{x}} {{y}}.", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} 1.");
        assert_eq!(fill("{{unknown}}|", &[]), "|");
    }

    #[test]
    fn text_from_outside_stays_text() {
        let safe = "&lt;a b=&quot;&#39;&amp;&quot;&gt;";
        assert_eq!(escape("<a b=\"'&\">"), safe);
    }
}
