//! Pages for people: templates filled, and text from outside made safe for them.
//!
//! It holds the frame and the style sheet that all of them share, and the page of an answer that is
//! plain words for programs. Called by the pages of the pixel, proxy and gateway doors and the
//! admin.

use crate::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{Response, StatusCode};
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The frame, with the slots `title` (escaped), `style` (an element) and `content`.
pub const FRAME: &str = include_str!("html/frame.html");
/// The style sheet, light and dark, for any width.
pub const STYLE: &str = include_str!("html/style.css");
/// The page of an answer: its status, and its words.
const ANSWER: &str = include_str!("html/answer.html");

/// Tells who reads an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageReader {
    /// Somebody who looks at a page.
    Person,
    /// A program, and whoever reads what it prints.
    Program,
}

/// What a page may do: show our style sheet, named by its hash, and pictures that stand in it.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("base64 and words: visible ASCII")
});

/// A whole page: `content` in the frame, under the plain text `title`. It is never stored, and
/// other sites can neither read nor frame it.
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

impl PageReader {
    /// The reader of the answer to a request with these fields: browsers name HTML in `Accept`
    /// where they show a page, and `*/*` or another type where a script or picture is to come.
    pub fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(ACCEPT).map_or(&b""[..], HeaderValue::as_bytes);
        let names_html = memchr::memmem::find(accept, b"text/html").is_some();
        if names_html { Self::Person } else { Self::Program }
    }

    /// An answer of plain words as this reader likes it: the same for a program; for a person a
    /// page with the same status, words and fields. An answer without words, or whose body is not
    /// at hand, stays as it is.
    pub fn render_for(self, answer: Response<Body>) -> Response<Body> {
        match self {
            Self::Program => answer,
            Self::Person => as_page(answer),
        }
    }
}

fn as_page(answer: Response<Body>) -> Response<Body> {
    let (mut head, body) = answer.into_parts();
    let words = body.bytes().and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or("");
    if words.is_empty() {
        return Response::from_parts(head, body);
    }
    let mut lines = String::with_capacity(words.len() + 64);
    for line in words.lines().filter(|line| !line.trim().is_empty()) {
        lines.push_str("<p class=\"lead\">");
        lines.push_str(&escape(line.trim()));
        lines.push_str("</p>\n");
    }
    let (status, reason) = (head.status, head.status.canonical_reason().unwrap_or("Error"));
    let slots = [("status", status.as_str()), ("reason", reason), ("words", lines.as_str())];
    let title = format!("{} {reason}", status.as_str());
    let (page, body) = page(status, &title, &fill(ANSWER, &slots)).into_parts();
    // What the page says of itself stands over what the words said.
    head.headers.extend(page.headers);
    Response::from_parts(head, body)
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
    use http::header::RETRY_AFTER;

    #[test]
    fn what_fills_a_slot_is_not_searched_for_slots() {
        assert_eq!(fill("a {{x}} {{y}}.", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} 1.");
        assert_eq!(fill("{{unknown}}|", &[]), "|");
    }

    #[test]
    fn words_become_a_page_where_a_browser_shows_one() {
        let reader = |accept: &'static str| {
            PageReader::of(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert_eq!(reader("text/html,application/xhtml+xml,*/*;q=0.8"), PageReader::Person);
        assert_eq!(reader("image/avif,image/webp,*/*;q=0.8"), PageReader::Program);
        assert_eq!(PageReader::of(&HeaderMap::new()), PageReader::Program);

        let answer = || {
            let text = "No <b> & {{status}}.\n\nTwo.\n";
            let mut answer = crate::reply::text(StatusCode::SERVICE_UNAVAILABLE, text);
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
            answer
        };
        let words = PageReader::Program.render_for(answer());
        assert_eq!(words.headers().len(), 2);
        assert_eq!(words.body().bytes(), answer().body().bytes());

        let page = PageReader::Person.render_for(answer());
        let bytes = page.body().bytes().expect("it is made at once");
        let text = std::str::from_utf8(bytes).expect("it is text");
        assert_eq!(page.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(page.headers()[RETRY_AFTER], "10");
        assert_eq!(page.headers().get_all(CONTENT_TYPE).iter().count(), 1);
        assert_eq!(page.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        assert_eq!(page.headers()[CONTENT_LENGTH], bytes.len().to_string().as_str());
        assert!(text.contains("<title>503 Service Unavailable</title>"), "{text}");
        let two =
            "<p class=\"lead\">No &lt;b&gt; &amp; {{status}}.</p>\n<p class=\"lead\">Two.</p>\n";
        assert!(text.contains(two), "{text}");
    }

    #[test]
    fn an_answer_without_words_at_hand_stays_as_it_is() {
        let (feed, body) = Body::channel(1);
        drop(feed);
        for body in [Body::empty(), body] {
            let answer = PageReader::Person.render_for(Response::new(body));
            assert!(answer.headers().is_empty(), "{answer:?}");
        }
    }

    #[test]
    fn text_from_outside_stays_text() {
        let safe = "&lt;a b=&quot;&#39;&amp;&quot;&gt;";
        assert_eq!(escape("<a b=\"'&\">"), safe);
    }
}
