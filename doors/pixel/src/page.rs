//! Pages for people: why a page is blocked, and what to do where it should not be.
//!
//! Self-contained: no script, no picture from elsewhere, one style sheet that the page's own policy
//! names by its hash. Everything that came from outside is escaped. Other sites cannot read these
//! pages or frame them: they name the client's profile. Called by `request`.

use crate::answer::NO_STORE;
use http::header::{
    ALT_SVC, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderName, Response, StatusCode};
use http_engine::{Body, conditional};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use policy::{Policy, Verdict};
use std::net::{IpAddr, SocketAddr};
use vocab::{DomainName, Now};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const BLOCKED: &str = include_str!("blocked.html");
const LAW: &str = include_str!("law.html");
const NOT_BLOCKED: &str = include_str!("not_blocked.html");
const NOT_COVERED: &str = include_str!("not_covered.html");

/// `style-src` holds the SHA-256 of the style sheet; a test says what to write here when that
/// changes.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'sha256-RAJSyfWucqlDaHfV4NMYTeN2gGTNo1MdnjO4k1WX06U='; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// Characters of a URL that are shown; the ledger holds more.
const URL_SHOWN_MAX: usize = 400;

/// What a block page tells.
pub(crate) struct Told<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) verdict: Verdict,
    pub(crate) client: IpAddr,
    pub(crate) dashboard: Option<SocketAddr>,
    pub(crate) now: Now,
}

/// The page in place of a blocked one: 403.
pub(crate) fn blocked(host: &DomainName, url: &str, told: &Told<'_>) -> Response<Body> {
    let rule = told.verdict.cause.rule();
    let rule = rule.and_then(|rule| told.policy.rule_text(rule, host.as_name()));
    let law = match rule {
        // The lists have been replaced since the verdict.
        None => "<p class=\"lead\">This network does not open this address.</p>".to_owned(),
        Some(rule) => fill(
            LAW,
            &[
                ("rule", &escape(&rule.text)),
                ("list", &escape(&rule.list)),
                ("line", &rule.line.to_string()),
            ],
        ),
    };
    let client = told.client.to_string();
    let command =
        format!("tidegate why {} --client {client} --kind document --door pixel", shell_word(url));
    let content = fill(
        BLOCKED,
        &[
            ("host", &escape(host.as_str())),
            ("url", &escape(shortened(url))),
            ("law", &law),
            ("client", &client),
            ("profile", &escape(told.policy.profile_of(told.client))),
            ("time", conditional::format_date(told.now.unix_secs()).to_str().unwrap_or("")),
            ("command", &escape(&command)),
            ("dashboard", &dashboard(url, told)),
        ],
    );
    respond(StatusCode::FORBIDDEN, &format!("Blocked: {host}"), &content)
}

/// The page for a name that is not blocked, any more or at all: 421.
pub(crate) fn not_blocked(host: &DomainName) -> Response<Body> {
    let content = fill(NOT_BLOCKED, &[("host", &escape(host_shown(host)))]);
    respond(StatusCode::MISDIRECTED_REQUEST, "Not blocked", &content)
}

/// The page for a name that the connection's certificate does not cover: 421.
pub(crate) fn not_covered(host: &DomainName) -> Response<Body> {
    let content = fill(NOT_COVERED, &[("host", &escape(host_shown(host)))]);
    respond(StatusCode::MISDIRECTED_REQUEST, "Wrong connection", &content)
}

/// A request without a host, or for one that is no name.
fn host_shown(host: &DomainName) -> &str {
    if host.as_str().is_empty() { "this address" } else { host.as_str() }
}

/// A link to the dashboard, for a client that can reach it.
fn dashboard(url: &str, told: &Told<'_>) -> String {
    let Some(address) = told.dashboard else { return String::new() };
    let reachable = match address.ip() {
        ip if ip.is_unspecified() => false,
        ip => !ip.is_loopback() || told.client.is_loopback(),
    };
    if !reachable {
        return String::new();
    }
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let (target, client) = (encoded(shortened(url)), encoded(&told.client.to_string()));
    let link =
        format!("http://{address}/#/why?target={target}&client={client}&kind=document&door=pixel");
    format!("<a class=\"button\" href=\"{}\">Ask the dashboard</a>", escape(&link))
}

fn respond(status: StatusCode, title: &str, content: &str) -> Response<Body> {
    let page = fill(PAGE, &[("title", &escape(title)), ("style", STYLE), ("content", content)]);
    let length = page.len();
    let mut response = Response::new(Body::from(page));
    *response.status_mut() = status;
    let fields: [(HeaderName, HeaderValue); 9] = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_LENGTH, HeaderValue::from(length)),
        (CACHE_CONTROL, NO_STORE),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
        (ALT_SVC, HeaderValue::from_static("clear")),
    ];
    response.headers_mut().extend(fields);
    response
}

/// Puts texts into the `{{slots}}` of a template. What is put in is not searched for slots.
fn fill(template: &str, slots: &[(&str, &str)]) -> String {
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

/// For text and for quoted attributes alike.
fn escape(text: &str) -> String {
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

/// As one word of a POSIX shell: people paste this.
fn shell_word(text: &str) -> String {
    format!("'{}'", shortened(text).replace('\'', "'\\''"))
}

fn shortened(url: &str) -> &str {
    &url[..url.floor_char_boundary(URL_SHOWN_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::Digest;

    #[test]
    fn the_pages_policy_names_its_style_sheet() {
        let expected = format!("'sha256-{}'", base64(&sha2::Sha256::digest(STYLE.as_bytes())));
        assert!(POLICY.to_str().unwrap().contains(&expected), "write {expected} into POLICY");
    }

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let bits = three
                .iter()
                .enumerate()
                .fold(0, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
            for at in 0..4 {
                let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
                text.push(if at <= three.len() { char::from(letter) } else { '=' });
            }
        }
        text
    }

    #[test]
    fn what_fills_a_slot_is_not_searched_for_slots() {
        assert_eq!(fill("a {{x}} {{y}}.", &[("x", "{{y}}"), ("y", "1")]), "a {{y}} 1.");
        assert_eq!(fill("{{unknown}}|", &[]), "|");
    }

    #[test]
    fn what_people_paste_is_one_word() {
        assert_eq!(shell_word("http://a/'; rm -rf /; '"), r"'http://a/'\''; rm -rf /; '\'''");
    }
}
