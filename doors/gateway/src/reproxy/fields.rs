//! The fields by which a server names what is to be sent in its place.
//!
//! Perlbal's `X-Reproxy-*` and nginx's `X-Accel-*`. They are taken out of an answer whatever they
//! say: they tell of inner names. It acts on none of them. Called by the parent module.

use super::urls::ReproxyUrl;
use http::header::{HeaderMap, HeaderName, SET_COOKIE};
use std::time::Duration;

/// Tells servers what they may answer with, as Perlbal does.
pub(crate) const CAPABILITIES: HeaderName = HeaderName::from_static("x-proxy-capabilities");

const FILE: HeaderName = HeaderName::from_static("x-reproxy-file");
const URL: HeaderName = HeaderName::from_static("x-reproxy-url");
const SERVICE: HeaderName = HeaderName::from_static("x-reproxy-service");
const EXPECTED_SIZE: HeaderName = HeaderName::from_static("x-reproxy-expected-size");
const CACHE_FOR: HeaderName = HeaderName::from_static("x-reproxy-cache-for");
const REDIRECT: HeaderName = HeaderName::from_static("x-accel-redirect");
/// Fields for nginx that have no effect here, because no answer is held back or slowed.
const IDLE: [HeaderName; 4] = [
    HeaderName::from_static("x-accel-buffering"),
    HeaderName::from_static("x-accel-expires"),
    HeaderName::from_static("x-accel-charset"),
    HeaderName::from_static("x-accel-limit-rate"),
];

/// URLs of one answer that are tried; the rest is ignored.
pub(super) const URLS_MAX: usize = 16;
/// Fields of one answer that are remembered; the rest is ignored.
const FIELDS_MAX: usize = 32;
/// The longest that URLs are remembered; longer is taken for this.
const REMEMBER_MAX: Duration = Duration::from_hours(30 * 24);

/// Holds what an answer asks for.
#[derive(Debug)]
pub(super) struct ReproxyOrders {
    /// Order to send something in its place.
    pub(super) order: Option<ReproxyOrder>,
    /// Length that it must have, in bytes.
    pub(super) expected: Option<u64>,
    pub(super) remember: Option<RememberUrls>,
}

/// Tells what is to be sent in place of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReproxyOrder {
    /// The file of this path, as the server sees it.
    File(Vec<u8>),
    /// The answer of the first of these that gives one.
    Urls(Vec<ReproxyUrl>),
    /// The answer of the pool of this name to the same request.
    Service(String),
    /// The answer to this path and query, routed again.
    Path(String),
    /// The field of this name makes no sense.
    Invalid(HeaderName),
}

/// Holds how long URLs stand for a request, and which fields of the answer go with them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RememberUrls {
    pub(super) ttl: Duration,
    pub(super) fields: Vec<HeaderName>,
}

/// Takes the fields out of an answer.
pub(super) fn take_orders(headers: &mut HeaderMap) -> ReproxyOrders {
    let remember = text(headers, &CACHE_FOR).and_then(|text| RememberUrls::parse(&text));
    let expected = text(headers, &EXPECTED_SIZE).and_then(|text| text.parse().ok());
    let order = order(headers);
    for name in [&FILE, &URL, &SERVICE, &EXPECTED_SIZE, &CACHE_FOR, &REDIRECT] {
        headers.remove(name);
    }
    for name in &IDLE {
        headers.remove(name);
    }
    ReproxyOrders { order, expected, remember }
}

/// The order of an answer; where there are several, the nearest to the client counts.
fn order(headers: &HeaderMap) -> Option<ReproxyOrder> {
    if let Some(path) = headers.get(&FILE) {
        return Some(ReproxyOrder::File(path.as_bytes().to_vec()));
    }
    if headers.contains_key(&URL) {
        let lines = headers.get_all(&URL).iter().filter_map(|line| line.to_str().ok());
        let urls = lines.flat_map(str::split_ascii_whitespace).filter_map(ReproxyUrl::parse);
        return Some(ReproxyOrder::Urls(urls.take(URLS_MAX).collect()));
    }
    if headers.contains_key(&SERVICE) {
        let name = text(headers, &SERVICE);
        return Some(name.map_or(ReproxyOrder::Invalid(SERVICE), ReproxyOrder::Service));
    }
    if headers.contains_key(&REDIRECT) {
        let path = text(headers, &REDIRECT).filter(|path| path.starts_with('/'));
        return Some(path.map_or(ReproxyOrder::Invalid(REDIRECT), ReproxyOrder::Path));
    }
    None
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

impl RememberUrls {
    /// Reads `3600; Last-Modified Content-Type`.
    fn parse(text: &str) -> Option<Self> {
        let (seconds, fields) = text.split_once(';').unwrap_or((text, ""));
        let seconds: u64 = seconds.trim().parse().ok().filter(|seconds| *seconds > 0)?;
        let fields = fields
            .split_ascii_whitespace()
            .filter_map(|name| HeaderName::from_bytes(name.as_bytes()).ok())
            // What was given to one client is not given to the next.
            .filter(|name| name != SET_COOKIE)
            .take(FIELDS_MAX)
            .collect();
        Some(Self { ttl: Duration::from_secs(seconds).min(REMEMBER_MAX), fields })
    }
}

impl ReproxyOrder {
    /// The field that it stands in.
    pub(super) fn field(&self) -> HeaderName {
        match self {
            Self::File(_) => FILE,
            Self::Urls(_) => URL,
            Self::Service(_) => SERVICE,
            Self::Path(_) => REDIRECT,
            Self::Invalid(field) => field.clone(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step should stop the test")]
mod tests {
    use super::*;
    use http::header::{CONTENT_TYPE, HeaderValue, LAST_MODIFIED};

    fn read(fields: &[(&'static str, &'static str)]) -> (ReproxyOrders, HeaderMap) {
        let mut headers: HeaderMap = fields
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let orders = take_orders(&mut headers);
        (orders, headers)
    }

    #[test]
    fn every_field_is_taken_out_whatever_it_says() {
        let (orders, left) = read(&[
            ("x-reproxy-file", "/srv/a"),
            ("x-reproxy-url", "ftp://a"),
            ("x-reproxy-service", ""),
            ("x-reproxy-expected-size", "many"),
            ("x-reproxy-cache-for", "soon"),
            ("x-accel-redirect", "nowhere"),
            ("x-accel-buffering", "no"),
            ("x-accel-expires", "1"),
            ("x-accel-limit-rate", "1"),
            ("x-accel-charset", "utf-8"),
            ("content-type", "text/plain"),
        ]);
        assert_eq!(orders.order, Some(ReproxyOrder::File(b"/srv/a".to_vec())));
        assert_eq!((orders.expected, orders.remember), (None, None));
        assert_eq!(left.keys().collect::<Vec<_>>(), [CONTENT_TYPE]);
    }

    #[test]
    fn what_makes_no_sense_is_an_order_all_the_same() {
        let order = |name, value| read(&[(name, value)]).0.order;
        assert_eq!(order("x-accel-redirect", "@named"), Some(ReproxyOrder::Invalid(REDIRECT)));
        assert_eq!(order("x-reproxy-service", " "), Some(ReproxyOrder::Invalid(SERVICE)));
        assert_eq!(order("x-reproxy-url", "gopher://x /y"), Some(ReproxyOrder::Urls(vec![])));
        assert_eq!(order("x-accel-redirect", "/a?b"), Some(ReproxyOrder::Path("/a?b".into())));
        assert_eq!(order("content-type", "x/y"), None);
    }

    #[test]
    fn urls_are_a_list_over_all_lines_up_to_a_cap() {
        let (orders, _) = read(&[
            ("x-reproxy-url", "http://10.0.0.1/a  http://10.0.0.2:81/b?c"),
            ("x-reproxy-url", "https://media.example/d"),
        ]);
        let Some(ReproxyOrder::Urls(urls)) = orders.order else { panic!("no URLs") };
        let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
        let expected = ["http://10.0.0.1/a", "http://10.0.0.2:81/b?c", "https://media.example/d"];
        assert_eq!(urls, expected);
    }

    #[test]
    fn how_long_and_what_is_remembered() {
        let parse = RememberUrls::parse;
        let hour = parse("3600; Last-Modified Set-Cookie Content-Type b@d").unwrap();
        assert_eq!(hour.ttl, Duration::from_hours(1));
        assert_eq!(hour.fields, [LAST_MODIFIED, CONTENT_TYPE]);
        assert_eq!(
            parse("5").unwrap(),
            RememberUrls { ttl: Duration::from_secs(5), fields: vec![] }
        );
        assert_eq!(parse(&format!("{}", u64::MAX)).unwrap().ttl, REMEMBER_MAX);
        assert!(parse("0; A").is_none() && parse("-1").is_none() && parse("").is_none());
    }
}
