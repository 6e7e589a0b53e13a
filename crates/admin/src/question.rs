//! Questions why something is blocked or not, read from words.
//!
//! The API and the command line read them here, so that both ask the same. What is left out is
//! guessed from what is there. It decides nothing.

use crate::control::WhyQuestion;
use admin_api::WhyQuery;
use http::Uri;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use url::{Host, Url};
use vocab::{DomainName, Door, RequestKind};

/// Longest target that is taken, in bytes.
pub const TARGET_BYTES_MAX: usize = 8192;

/// Characters of a wrong word that are shown.
const SHOWN_MAX: usize = 128;

/// A question that cannot be read, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableQuestion {
    /// The word that is wrong.
    pub error: String,
    /// Advice on what to write in its place.
    pub remedy: String,
}

impl UnreadableQuestion {
    fn unknown_word(name: &str, found: &str, expected: &str) -> Self {
        let error = format!("{name}: {:?} is not known here", truncated(found));
        Self { error, remedy: format!("write one of {expected}") }
    }

    fn target(error: String) -> Self {
        let remedy = "write a name as in ads.example, or a URL as in https://ads.example/x.js";
        Self { error, remedy: remedy.into() }
    }
}

/// Reads a question.
pub fn read(query: &WhyQuery) -> Result<WhyQuestion, UnreadableQuestion> {
    let wrong = UnreadableQuestion::unknown_word;
    let (host, url) = host_and_url(query.target.trim())?;
    let door = match filled(query.door.as_ref()) {
        Some(word) => {
            word.parse().map_err(|_| wrong("door", word, "dns, pixel, proxy, web, gateway"))?
        }
        None if url.is_some() => Door::Proxy,
        None => Door::Dns,
    };
    let kind = match filled(query.kind.as_ref()) {
        Some(word) => Some(
            word.parse()
                .map_err(|_| wrong("kind", word, "document, script, image, A, AAAA and so on"))?,
        ),
        None => None,
    };
    let client = match filled(query.client.as_ref()) {
        Some(word) => word
            .parse()
            .map_err(|_| wrong("client", word, "the IP addresses, as in 192.168.1.7"))?,
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    let page = match filled(query.page.as_ref()) {
        Some(word) => Some(page(word)?),
        None => None,
    };
    let (url, kind) = as_seen_by_door(door, &host, url, kind)?;
    Ok(WhyQuestion { host, url, client, kind, door, page })
}

fn filled(word: Option<&String>) -> Option<&str> {
    word.map(String::as_str).filter(|word| !word.is_empty())
}

fn truncated(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

/// The URL and the kind as clients ask for them at this door: the DNS door sees names alone, the
/// proxy of a name alone a tunnel to it, the others its first page.
fn as_seen_by_door(
    door: Door,
    host: &DomainName,
    url: Option<String>,
    kind: Option<RequestKind>,
) -> Result<(Option<String>, RequestKind), UnreadableQuestion> {
    match (door, kind) {
        (Door::Dns, None) => Ok((None, RequestKind::Lookup(1))),
        (Door::Dns, Some(kind @ RequestKind::Lookup(_))) => Ok((None, kind)),
        (Door::Dns, Some(other)) => Err(UnreadableQuestion::unknown_word(
            "kind",
            &other.to_string(),
            "the record types at the DNS door, as in A, AAAA, HTTPS",
        )),
        (_, Some(RequestKind::Lookup(_))) => Err(UnreadableQuestion::unknown_word(
            "kind",
            &filled_kind(kind),
            "document, script, image, fetch and so on: record types are for the DNS door",
        )),
        (Door::Proxy, None) if url.is_none() => Ok((None, RequestKind::Tunnel)),
        (_, Some(RequestKind::Tunnel)) => Ok((None, RequestKind::Tunnel)),
        (_, kind) => {
            let url = url.unwrap_or_else(|| format!("http://{host}/"));
            let kind = kind.unwrap_or_else(|| guess_kind(&url));
            Ok((Some(url), kind))
        }
    }
}

fn filled_kind(kind: Option<RequestKind>) -> String {
    kind.map_or_else(String::new, |kind| kind.to_string())
}

/// The host of the page that asks, from its name or its URL.
fn page(word: &str) -> Result<DomainName, UnreadableQuestion> {
    let expected = "the names of hosts, as in news.example";
    let wrong = || UnreadableQuestion::unknown_word("page", word, expected);
    host_and_url(word).map(|(host, _)| host).map_err(|_| wrong())
}

fn host_and_url(target: &str) -> Result<(DomainName, Option<String>), UnreadableQuestion> {
    let wrong = UnreadableQuestion::target;
    if target.is_empty() {
        return Err(wrong("no name or URL was given".into()));
    }
    if target.len() > TARGET_BYTES_MAX {
        return Err(wrong(format!("the target is longer than {TARGET_BYTES_MAX} bytes")));
    }
    let Some((scheme, _)) = target.split_once("://") else { return Ok((name(target)?, None)) };
    let is_web =
        ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if !is_web {
        let error = format!("{:?} is no URL of the web with a host name", truncated(target));
        return Err(wrong(error));
    }
    // As browsers send it: hosts in their ASCII form, paths percent-encoded.
    let url = if target.is_ascii() {
        target.to_owned()
    } else {
        let read = Url::parse(target);
        read.map_err(|why| wrong(format!("{:?} is no URL: {why}", truncated(target))))?.into()
    };
    let uri: Uri =
        url.parse().map_err(|why| wrong(format!("{:?} is no URL: {why}", truncated(target))))?;
    let host = uri.host().and_then(|host| DomainName::parse(host).ok());
    match host {
        Some(host) => Ok((host, Some(url))),
        None => {
            Err(wrong(format!("{:?} is no URL of the web with a host name", truncated(target))))
        }
    }
}

/// Reads a name; one with letters beyond ASCII in the form that DNS knows it by (RFC 5891).
fn name(text: &str) -> Result<DomainName, UnreadableQuestion> {
    let wrong = |why: &dyn fmt::Display| {
        let error = format!("{:?} is neither a name nor a URL: {why}", truncated(text));
        UnreadableQuestion::target(error)
    };
    if text.is_ascii() {
        return DomainName::parse_or_root(text).map_err(|why| wrong(&why));
    }
    match Host::parse(text).map_err(|why| wrong(&why))? {
        Host::Domain(ascii) => DomainName::parse(&ascii).map_err(|why| wrong(&why)),
        Host::Ipv4(_) | Host::Ipv6(_) => Err(wrong(&"it is an address")),
    }
}

/// The kind that a URL's file extension suggests.
fn guess_kind(url: &str) -> RequestKind {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let file = path.rsplit('/').next().unwrap_or(path);
    let extension = file.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    // A bare `https://ads.example` ends in its host, whose last label is no extension.
    if path.matches('/').count() < 3 {
        return RequestKind::Document;
    }
    match extension.as_deref() {
        Some("js" | "mjs") => RequestKind::Script,
        Some("css") => RequestKind::Stylesheet,
        Some("gif" | "png" | "jpg" | "jpeg" | "webp" | "svg" | "ico" | "avif") => {
            RequestKind::Image
        }
        Some("woff" | "woff2" | "ttf" | "otf") => RequestKind::Font,
        Some("mp4" | "webm" | "mp3" | "m3u8" | "ogg") => RequestKind::Media,
        Some("json") => RequestKind::Fetch,
        Some(_) | None => RequestKind::Document,
    }
}

impl fmt::Display for UnreadableQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.error, self.remedy)
    }
}

impl std::error::Error for UnreadableQuestion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(target: &str, [kind, door]: [&str; 2]) -> Result<WhyQuestion, UnreadableQuestion> {
        let word = |word: &str| Some(word.to_owned());
        let (kind, door) = (word(kind), word(door));
        read(&WhyQuery { target: target.into(), client: None, kind, door, page: None })
    }

    fn check(target: &str, words: [&str; 2], expected: (Door, RequestKind, Option<&str>)) {
        let question = asked(target, words).unwrap();
        let found = (question.door, question.kind, question.url.as_deref());
        assert_eq!(found, expected, "{target} {words:?}");
    }

    #[test]
    fn what_is_left_out_is_what_clients_would_ask_there() {
        check("ads.example", ["", ""], (Door::Dns, RequestKind::Lookup(1), None));
        let script = "https://ads.example/x.js?a=b.css";
        check(script, ["", ""], (Door::Proxy, RequestKind::Script, Some(script)));
        check(
            "https://ads.example",
            ["", ""],
            (Door::Proxy, RequestKind::Document, Some("https://ads.example")),
        );
        check("ads.example", ["", "proxy"], (Door::Proxy, RequestKind::Tunnel, None));
        check(script, ["tunnel", ""], (Door::Proxy, RequestKind::Tunnel, None));
        check(script, ["", "dns"], (Door::Dns, RequestKind::Lookup(1), None));
        let page = Some("http://ads.example/");
        check("ads.example", ["", "pixel"], (Door::Pixel, RequestKind::Document, page));
        check("ads.example", ["script", "gateway"], (Door::Gateway, RequestKind::Script, page));
    }

    #[test]
    fn kinds_are_those_of_the_door() {
        assert!(asked("ads.example", ["script", "dns"]).unwrap_err().remedy.contains("AAAA"));
        assert!(asked("ads.example", ["A", "pixel"]).unwrap_err().remedy.contains("script"));
    }

    #[test]
    fn names_beyond_ascii_are_asked_in_their_ascii_form() {
        for target in ["bücher.de", "Bücher.de", "BÜCHER.de."] {
            assert_eq!(
                asked(target, ["", ""]).unwrap().host.as_str(),
                "xn--bcher-kva.de",
                "{target}"
            );
        }
        let url = asked("https://bücher.de/straße?q=ä", ["", ""]).unwrap();
        assert_eq!(url.host.as_str(), "xn--bcher-kva.de");
        assert_eq!(url.url.as_deref(), Some("https://xn--bcher-kva.de/stra%C3%9Fe?q=%C3%A4"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_what_to_write() {
        for (target, part) in [
            ("", "no name or URL"),
            (" ", "no name or URL"),
            ("a b", "neither a name nor a URL"),
            ("ads..example", "neither a name nor a URL"),
            ("ü..de", "neither a name nor a URL"),
            ("file:///etc/passwd", "no URL of the web"),
            ("https://", "no URL"),
            ("https:///x", "no URL"),
        ] {
            let why = asked(target, ["", ""]).unwrap_err();
            assert!(
                why.error.contains(part) && why.remedy.contains("ads.example"),
                "{target}: {why}"
            );
        }
        let long = format!("https://ads.example/{}", "a".repeat(TARGET_BYTES_MAX));
        assert!(asked(&long, ["", ""]).unwrap_err().error.contains("longer"));
    }
}
