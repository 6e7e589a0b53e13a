//! URLs that a server names: the first that can be had is sent in place of its answer.
//!
//! Each is asked once, in turn; redirects are not followed. The head stays the server's; length,
//! part and status are the target's. It asks nobody whom the route does not allow. Called by the
//! parent module.

use super::{ConditionsLeft, OriginalRequest, check_conditions, release};
use crate::allowed_targets::AllowedTargets;
use http::header::{
    ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST, HeaderMap,
    HeaderName, HeaderValue, RANGE, VIA,
};
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, response};
use http_body::Body as _;
use http_engine::Body;
use origins::{Origin, OriginScheme, Origins, UrlHost, add_via};
use std::fmt;
use vocab::Now;

/// Bytes of one URL, at most.
const URL_BYTES_MAX: usize = 8 << 10;

/// A URL to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReproxyUrl {
    origin: Origin,
    path: PathAndQuery,
}

/// URLs of one answer, and the length that what they give must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedUrls {
    pub(super) targets: Vec<ReproxyUrl>,
    pub(super) expected: Option<u64>,
}

impl ReproxyUrl {
    /// Reads an `http://` or `https://` URL.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok().filter(|_| text.len() <= URL_BYTES_MAX)?;
        let scheme = match uri.scheme_str()? {
            "http" => OriginScheme::Http,
            "https" => OriginScheme::Https,
            _ => return None,
        };
        let origin = Origin::from_authority(scheme, uri.authority()?.as_str()).ok()?;
        let path = uri.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Some(Self { origin, path })
    }

    /// Returns what is asked of it: `HEAD` for `HEAD`, else `GET`, whatever the client's method
    /// was.
    fn request(
        &self,
        asked: &OriginalRequest,
        range: Option<&HeaderValue>,
    ) -> Option<Request<Body>> {
        let mut request = Request::new(Body::empty());
        if asked.method == Method::HEAD {
            *request.method_mut() = Method::HEAD;
        }
        *request.uri_mut() = Uri::from(self.path.clone());
        let headers = request.headers_mut();
        headers.insert(HOST, self.host(asked)?);
        if let Some(range) = range {
            headers.insert(RANGE, range.clone());
        }
        for line in asked.headers.get_all(VIA) {
            headers.append(VIA, line.clone());
        }
        // Ours already stands among them: this counts the turn, should it lead to ourselves.
        add_via(headers, http::Version::HTTP_11).ok()?;
        Some(request)
    }

    /// A server without a name serves whatever host the client has asked for.
    fn host(&self, asked: &OriginalRequest) -> Option<HeaderValue> {
        let clients = asked.headers.get(HOST).filter(|host| !host.is_empty());
        match (&self.origin.host, clients) {
            (UrlHost::Address(_), Some(host)) => Some(host.clone()),
            (UrlHost::Address(_) | UrlHost::Name(_), _) => {
                HeaderValue::from_str(&self.origin.authority()).ok()
            }
        }
    }
}

/// The answer with what the first good target gives in place of its body; none if there is no such.
pub(super) async fn answer(
    origins: &Origins,
    allowed: &AllowedTargets,
    asked: &OriginalRequest,
    mut head: response::Parts,
    named: &NamedUrls,
    now: Now,
) -> Option<Response<Body>> {
    super::strip_body_fields(&mut head);
    let range = match check_conditions(asked, &head, now) {
        ConditionsLeft::Answer(status) => {
            head.status = status;
            return Some(Response::from_parts(head, Body::empty()));
        }
        ConditionsLeft::Full => None,
        ConditionsLeft::Ranges => asked.headers.get(RANGE),
    };
    for target in &named.targets {
        let Some(request) = target.request(asked, range) else { continue };
        let permit = allowed.permit(&target.origin.host);
        let Ok(fetched) = origins.send(&target.origin, Box::new(request), &permit).await else {
            continue;
        };
        if is_usable(&fetched, named.expected, range) {
            return Some(combined(head, fetched));
        }
        release(fetched.into_body());
    }
    None
}

fn is_usable(fetched: &Response<Body>, expected: Option<u64>, range: Option<&HeaderValue>) -> bool {
    match fetched.status() {
        StatusCode::RANGE_NOT_SATISFIABLE => range.is_some(),
        StatusCode::PARTIAL_CONTENT if range.is_none() => false,
        status if status.is_success() => expected.is_none() || whole_length(fetched) == expected,
        _ => false,
    }
}

/// Returns how long the whole is of which this is, perhaps, a part.
fn whole_length(fetched: &Response<Body>) -> Option<u64> {
    let number = |name: HeaderName| fetched.headers().get(name)?.to_str().ok();
    if fetched.status() == StatusCode::PARTIAL_CONTENT {
        return number(CONTENT_RANGE)?.rsplit('/').next()?.trim().parse().ok();
    }
    let announced = number(CONTENT_LENGTH).and_then(|text| text.trim().parse().ok());
    announced.or_else(|| fetched.body().size_hint().exact())
}

/// The server's head over the target's body.
fn combined(mut head: response::Parts, fetched: Response<Body>) -> Response<Body> {
    let (theirs, body) = fetched.into_parts();
    if head.status == StatusCode::OK
        && matches!(theirs.status, StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE)
    {
        head.status = theirs.status;
    }
    // What belongs to these bytes; a coding that the target has put on them must be known.
    copy_fields(
        &mut head.headers,
        &theirs.headers,
        &[CONTENT_LENGTH, CONTENT_RANGE, CONTENT_ENCODING],
    );
    for name in [ACCEPT_RANGES, CONTENT_TYPE] {
        if !head.headers.contains_key(&name) {
            copy_fields(&mut head.headers, &theirs.headers, &[name]);
        }
    }
    Response::from_parts(head, body)
}

fn copy_fields(ours: &mut HeaderMap, theirs: &HeaderMap, names: &[HeaderName]) {
    for name in names {
        if let Some(value) = theirs.get(name) {
            ours.insert(name, value.clone());
        }
    }
}

impl fmt::Display for ReproxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}
