//! Fields that are for the next hop only and must not be passed on.
//!
//! RFC 9110 §7.6.1: whatever `Connection` lists, and the fields known to be so. A forwarder calls
//! [`strip`] on what it received, then adds what it needs for its own next hop. Called by the proxy
//! and gateway doors, for requests and responses alike.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Fields that belong to one connection even where `Connection` does not list them.
static ALWAYS: [HeaderName; 10] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-authentication-info"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Fields that say where a message ends, or that are for one connection: HTTP itself sets them, and
/// no rule of a configuration may.
pub const FRAMING_FIELDS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    // How a circle is noticed.
    "via",
];

/// A bit for each length that a name of [`ALWAYS`] has: most others are told from them by it.
const LENGTHS: u32 = 1 << 2 | 1 << 7 | 1 << 10 | 1 << 14 | 0b1111 << 16 | 1 << 25;

/// Fields that a sender may list in `Connection` but that a forwarder must keep: dropping them on
/// a client's word would let it strip what the next hop decides by.
static NEVER: [HeaderName; 11] = [
    header::HOST,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    header::AUTHORIZATION,
    header::COOKIE,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-forwarded-proto"),
    header::FORWARDED,
    header::VIA,
];

/// Options of `Connection` looked at; a list longer than this is noise.
const OPTIONS_MAX: usize = 32;

/// Removes the hop-by-hop fields. `TE: trailers` survives as exactly that (RFC 9110 §10.1.4: it
/// must be listed in `Connection`, which the client side does by itself for HTTP/1.1).
///
/// Most messages have at most one of these fields, and few fields at all: walking over those once
/// costs a sixth of asking the map for each name.
pub fn strip(headers: &mut HeaderMap) {
    let may_be = |name: &&HeaderName| {
        let length = name.as_str().len();
        length < 32 && LENGTHS >> length & 1 == 1
    };
    let known = |name: &HeaderName| ALWAYS.iter().find(|it| *it == name);
    let there: Vec<&HeaderName> = headers.keys().filter(may_be).filter_map(known).collect();
    if there.is_empty() {
        return;
    }
    let listed: Vec<HeaderName> = options(headers)
        .take(OPTIONS_MAX)
        .filter_map(|option| HeaderName::from_bytes(option.as_bytes()).ok())
        .filter(|name| !NEVER.contains(name))
        .collect();
    let wants_trailers = asks_for_trailers(headers);
    for name in there.into_iter().chain(&listed) {
        headers.remove(name);
    }
    if wants_trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// The protocol that a request asks to switch to, if it does so properly: `Upgrade` listed in
/// `Connection` (RFC 9110 §7.8). Ask before [`strip`].
pub fn wants_upgrade(headers: &HeaderMap) -> Option<&str> {
    let protocol = headers.get(header::UPGRADE)?.to_str().ok()?.trim();
    let listed = options(headers).any(|option| option.eq_ignore_ascii_case("upgrade"));
    (listed && !protocol.is_empty()).then_some(protocol)
}

/// First protocol of a request's `Upgrade` that is among `allowed`, in the spelling of `allowed`
/// (RFC 9110 §7.8). Each element is compared whole, so `h2c/1` is not `h2c` and no list is passed
/// on as a list. Ask before [`strip`].
pub fn upgrade_to<'a, T: AsRef<str>>(headers: &HeaderMap, allowed: &'a [T]) -> Option<&'a str> {
    // Nearly no request has the field.
    headers.get(header::UPGRADE)?;
    if !options(headers).any(|option| option.eq_ignore_ascii_case("upgrade")) {
        return None;
    }
    let mut asked = elements(headers, &header::UPGRADE);
    asked.find_map(|asked| {
        allowed.iter().map(AsRef::as_ref).find(|it| asked.eq_ignore_ascii_case(it))
    })
}

/// True if the `Upgrade` of an answer names `protocol` and nothing else, as a 101 to a request for
/// that protocol must.
pub fn switches_to(headers: &HeaderMap, protocol: &str) -> bool {
    let mut named = elements(headers, &header::UPGRADE);
    named.next().is_some_and(|it| it.eq_ignore_ascii_case(protocol)) && named.next().is_none()
}

/// True if the sender wants the connection closed after this message.
pub fn wants_close(headers: &HeaderMap) -> bool {
    options(headers).any(|option| option.eq_ignore_ascii_case("close"))
}

fn options(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    elements(headers, &header::CONNECTION)
}

/// Elements of a list over all lines of a field (RFC 9110 §5.6.1).
fn elements<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|option| !option.is_empty())
}

fn asks_for_trailers(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::TE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .any(|coding| coding.trim().eq_ignore_ascii_case("trailers"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn check(fields: &[(&str, &str)], expected: &[&str]) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_bytes(name.as_bytes()).unwrap(),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        strip(&mut headers);
        let mut left: Vec<_> =
            headers.iter().map(|(name, it)| format!("{name}: {}", it.to_str().unwrap())).collect();
        left.sort();
        assert_eq!(left, expected, "{fields:?}");
    }

    #[test]
    fn connection_fields_are_not_passed_on() {
        check(
            &[
                ("Connection", "keep-alive, X-Hop"),
                ("Connection", "close"),
                ("Keep-Alive", "timeout=5"),
                ("Proxy-Connection", "keep-alive"),
                ("Proxy-Authorization", "Basic c2VjcmV0"),
                ("Transfer-Encoding", "chunked"),
                ("Upgrade", "h2c"),
                ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
                ("X-Hop", "1"),
                ("X-End", "2"),
            ],
            &["x-end: 2"],
        );
    }

    #[test]
    fn no_name_is_passed_over_for_its_length() {
        for name in &ALWAYS {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static("1"));
            strip(&mut headers);
            assert!(headers.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_client_cannot_have_end_to_end_fields_dropped() {
        check(
            &[
                ("Connection", "Host, Authorization, X-Forwarded-For, Cookie"),
                ("Host", "a"),
                ("X-Forwarded-For", "192.0.2.1"),
            ],
            &["host: a", "x-forwarded-for: 192.0.2.1"],
        );
    }

    #[test]
    fn only_trailers_survives_of_te() {
        check(&[("TE", "gzip, Trailers;q=1")], &[]);
        check(&[("TE", "deflate"), ("TE", "trailers")], &["te: trailers"]);
    }

    #[test]
    fn an_upgrade_must_be_listed() {
        let mut headers = HeaderMap::new();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        assert_eq!(wants_upgrade(&headers), None);
        headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        assert_eq!(wants_upgrade(&headers), Some("websocket"));
        assert!(!wants_close(&headers));
    }

    #[test]
    fn only_whole_allowed_protocols_are_asked_for() {
        let asked = |connection: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONNECTION, HeaderValue::from_str(connection).unwrap());
            for line in lines {
                headers.append(header::UPGRADE, HeaderValue::from_str(line).unwrap());
            }
            upgrade_to(&headers, &["websocket", "tcp"])
        };
        assert_eq!(asked("Upgrade", &["WebSocket"]), Some("websocket"));
        assert_eq!(asked("Upgrade", &["h2c, websocket"]), Some("websocket"));
        assert_eq!(asked("Upgrade", &["h2c", "x, tcp", "websocket"]), Some("tcp"));
        for other in
            ["h2c", "h2c/1", "websocket/13", "xwebsocket", "websocket;q=1", "web socket", ""]
        {
            assert_eq!(asked("Upgrade", &[other]), None, "{other}");
        }
        assert_eq!(asked("close", &["websocket"]), None);
    }

    #[test]
    fn a_switch_is_to_exactly_what_was_asked_for() {
        let switches = |lines: &[&str]| {
            let values = lines.iter().map(|line| HeaderValue::from_str(line).unwrap());
            let headers = values.map(|value| (header::UPGRADE, value)).collect();
            switches_to(&headers, "websocket")
        };
        assert!(switches(&["websocket"]) && switches(&[" WebSocket "]));
        for other in [&[][..], &[""], &["h2c"], &["websocket/1"], &["websocket, h2c"]] {
            assert!(!switches(other), "{other:?}");
        }
        assert!(!switches(&["websocket", "h2c"]) && !switches(&["websocket", "websocket"]));
    }
}
