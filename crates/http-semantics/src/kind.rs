//! What kind of thing a request is for: a page, a script, an image, a beacon.
//!
//! Decided by the first of these that speaks: method, `Upgrade`, `Sec-Fetch-Dest` and `-Mode`
//! (which browsers send over HTTPS), `Accept`, the path's extension. It never looks at names: that
//! is the policy's. Called by every HTTP door, once per request.

use crate::hop_by_hop::upgrade_to;
use http::{HeaderMap, HeaderValue, Method, Uri};
use vocab::RequestKind;

/// The kind of a request.
pub fn of_request(method: &Method, uri: &Uri, headers: &HeaderMap) -> RequestKind {
    if *method == Method::CONNECT {
        return RequestKind::Tunnel;
    }
    // Wherever it stands in the list: the doors ask servers for it then.
    if upgrade_to(headers, &["websocket"]).is_some() {
        return RequestKind::Websocket;
    }
    // Walked over once: a map would parse and hash each name that it is asked for.
    let mut told: [Option<&HeaderValue>; KIND_FIELDS.len()] = [None; KIND_FIELDS.len()];
    for (name, value) in headers {
        if let Some(at) = position(name.as_str()) {
            told[at].get_or_insert(value);
        }
    }
    let field = |name: &str| {
        let value = position(name).and_then(|at| told[at]);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    };
    of_fields(method, uri.path(), field)
}

/// The fields that tell the kind: all that [`of_fields`] asks for.
const KIND_FIELDS: [&str; 5] =
    ["sec-fetch-dest", "sec-fetch-mode", "content-type", "x-requested-with", "accept"];

fn position(name: &str) -> Option<usize> {
    KIND_FIELDS.iter().position(|it| *it == name)
}

/// The kind of a request that is neither a tunnel nor an upgrade. `field` gives the value of a
/// field by its name in lower case, or nothing.
pub fn of_fields<'f>(method: &Method, path: &str, field: impl Fn(&str) -> &'f str) -> RequestKind {
    if let Some(kind) = of_destination(field("sec-fetch-dest"), field("sec-fetch-mode"), method) {
        return kind;
    }
    // Without metadata, what is posted and not a form is a report or an API call; both want the
    // same treatment, and what tells them apart is the type of what is sent.
    if is_report(field("content-type")) {
        return RequestKind::Ping;
    }
    if field("x-requested-with").eq_ignore_ascii_case("xmlhttprequest") {
        return RequestKind::Fetch;
    }
    of_accept(field("accept"))
        .or_else(|| of_extension(extension(path)))
        .unwrap_or(RequestKind::Other)
}

/// By the Fetch standard's destination.
fn of_destination(destination: &str, mode: &str, method: &Method) -> Option<RequestKind> {
    Some(match destination {
        "document" => RequestKind::Document,
        "iframe" | "frame" | "fencedframe" => RequestKind::Subdocument,
        "script" | "worker" | "sharedworker" | "serviceworker" | "audioworklet"
        | "paintworklet" => RequestKind::Script,
        "style" | "xslt" => RequestKind::Stylesheet,
        "image" => RequestKind::Image,
        "font" => RequestKind::Font,
        "audio" | "video" | "track" => RequestKind::Media,
        "object" | "embed" => RequestKind::Object,
        "report" => RequestKind::Ping,
        // `fetch`, XMLHttpRequest, EventSource and beacons all have the empty destination. Beacons
        // and pings are the ones that post without asking to read (mode no-cors).
        "empty" if mode == "websocket" => RequestKind::Websocket,
        "empty" if mode == "no-cors" && *method == Method::POST => RequestKind::Ping,
        "empty" | "json" | "manifest" | "webidentity" => RequestKind::Fetch,
        "websocket" => RequestKind::Websocket,
        _ => return None,
    })
}

fn is_report(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or("").trim();
    ["application/csp-report", "application/reports+json", "text/ping"]
        .iter()
        .any(|it| essence.eq_ignore_ascii_case(it))
}

/// By what the client accepts first. `*/*` says nothing.
fn of_accept(accept: &str) -> Option<RequestKind> {
    let first = accept.split(',').next().unwrap_or("");
    let essence = first.split(';').next().unwrap_or("").trim();
    let known = [
        ("text/html", RequestKind::Document),
        ("application/xhtml+xml", RequestKind::Document),
        ("text/css", RequestKind::Stylesheet),
        ("text/javascript", RequestKind::Script),
        ("application/javascript", RequestKind::Script),
        ("application/json", RequestKind::Fetch),
        ("text/event-stream", RequestKind::Fetch),
    ];
    let family = [
        ("image", RequestKind::Image),
        ("font", RequestKind::Font),
        ("audio", RequestKind::Media),
        ("video", RequestKind::Media),
    ];
    let (before, _) = essence.split_once('/')?;
    let named = |word: &str, of: &[(&str, RequestKind)]| {
        of.iter().find(|(it, _)| it.eq_ignore_ascii_case(word)).map(|(_, kind)| *kind)
    };
    named(essence, &known).or_else(|| named(before, &family))
}

/// Longest extension that is looked up, in bytes.
const EXTENSION_BYTES_MAX: usize = 8;

/// By the extension of a path, without its dot.
pub fn of_extension(extension: &str) -> Option<RequestKind> {
    // Lower case on the stack: no extension that is known is longer.
    let mut lower = [0; EXTENSION_BYTES_MAX];
    let lower = lower.get_mut(..extension.len())?;
    lower.copy_from_slice(extension.as_bytes());
    lower.make_ascii_lowercase();
    Some(match std::str::from_utf8(lower).ok()? {
        "html" | "htm" | "xhtml" => RequestKind::Document,
        "js" | "mjs" | "cjs" => RequestKind::Script,
        "css" => RequestKind::Stylesheet,
        "gif" | "png" | "jpg" | "jpeg" | "webp" | "avif" | "svg" | "ico" | "bmp" | "jxl" => {
            RequestKind::Image
        }
        "woff" | "woff2" | "ttf" | "otf" | "eot" => RequestKind::Font,
        "mp3" | "mp4" | "m4a" | "m4v" | "webm" | "ogg" | "ogv" | "opus" | "wav" | "flac"
        | "m3u8" | "mpd" | "vtt" => RequestKind::Media,
        "json" | "xml" | "vast" | "vmap" => RequestKind::Fetch,
        "swf" | "jar" => RequestKind::Object,
        _ => return None,
    })
}

/// The extension of a URL path: what follows the last dot of its last segment.
pub fn extension(path: &str) -> &str {
    let segment = path.rsplit('/').next().unwrap_or("");
    // A path parameter (`/a.js;v=1.2`) is none of it.
    let name = segment.split(';').next().unwrap_or("");
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn check(request: &str, fields: &[(&'static str, &'static str)], expected: RequestKind) {
        let (method, path) = request.split_once(' ').unwrap();
        let headers = fields
            .iter()
            .map(|(name, it)| (HeaderName::from_static(name), HeaderValue::from_static(it)))
            .collect();
        let found = of_request(&method.parse().unwrap(), &path.parse::<Uri>().unwrap(), &headers);
        assert_eq!(found, expected, "{request} {fields:?}");
    }

    #[test]
    fn fetch_metadata_decides_where_it_is_sent() {
        check("GET /x.gif", &[("sec-fetch-dest", "script")], RequestKind::Script);
        check(
            "GET /",
            &[("sec-fetch-dest", "document"), ("accept", "image/png")],
            RequestKind::Document,
        );
        check("GET /", &[("sec-fetch-dest", "iframe")], RequestKind::Subdocument);
        check(
            "GET /a.js",
            &[("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")],
            RequestKind::Fetch,
        );
        check(
            "POST /c",
            &[("sec-fetch-dest", "empty"), ("sec-fetch-mode", "no-cors")],
            RequestKind::Ping,
        );
    }

    #[test]
    fn without_metadata_accept_and_then_the_extension_decide() {
        check("GET /p", &[("accept", "image/avif,image/webp,*/*;q=0.8")], RequestKind::Image);
        check("GET /p.js", &[("accept", "text/css,*/*;q=0.1")], RequestKind::Stylesheet);
        check("GET /p.js", &[("accept", "*/*")], RequestKind::Script);
        check("GET /a.b/p.PNG", &[], RequestKind::Image);
        check("GET /p.json?x=a.js", &[], RequestKind::Fetch);
        check("GET /a.min.js;v=1.2", &[], RequestKind::Script);
        check("GET /", &[("accept", "text/html,application/xhtml+xml")], RequestKind::Document);
        check("GET /stream", &[("accept", "text/event-stream")], RequestKind::Fetch);
        check("GET /p", &[("accept", "*/*")], RequestKind::Other);
        check("GET /p", &[("sec-fetch-dest", "nonsense")], RequestKind::Other);
    }

    #[test]
    fn tunnels_sockets_and_reports_are_known_by_their_form() {
        check("CONNECT a.example:443", &[("accept", "text/html")], RequestKind::Tunnel);
        check(
            "GET /s",
            &[("upgrade", "WebSocket"), ("connection", "Upgrade"), ("sec-fetch-dest", "empty")],
            RequestKind::Websocket,
        );
        check("POST /r", &[("content-type", "application/csp-report")], RequestKind::Ping);
        check("POST /r", &[("content-type", "text/ping; a=b")], RequestKind::Ping);
        check(
            "GET /r",
            &[("x-requested-with", "XMLHttpRequest"), ("accept", "text/html")],
            RequestKind::Fetch,
        );
    }
}
