//! From a request to a script's answer and back.
//!
//! It decides nothing: `request` has found the script. It says what the script is told, and shapes what
//! it says: coded on the way where that is worth it, never where the script has coded it itself. Called
//! by `request` and `visit`.

use crate::compress::Compress;
use crate::fastcgi::{Answer, Call, Failure, Script, Security};
use crate::visit::Visit;
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    ETAG, HeaderValue,
};
use http::{Method, Response, StatusCode, request};
use http_engine::conditional::ETag;
use http_engine::encoding::{Coding, Encoded, Level, vary, weakened};
use http_engine::{Body, Incoming};

/// Asks `script` for what the request wants.
pub(crate) async fn ask(
    script: &Script,
    head: &request::Parts,
    body: Incoming,
    visit: &Visit<'_>,
) -> Result<Answer, Failure> {
    let target = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let secured = visit.ends.secured.as_deref();
    let call = Call {
        method: &head.method,
        version: head.version,
        headers: &head.headers,
        target,
        query: head.uri.query().unwrap_or(""),
        script_name: &script.name,
        script_file: script.below(&visit.site.path),
        path_info: &script.path_info,
        root: visit.site.root.path(),
        host: visit.host,
        client: visit.ends.client,
        server: visit.ends.server,
        security: if secured.is_some() { Security::Tls } else { Security::Plain },
        client_certificate: secured.and_then(|it| it.client_certificate.as_deref()),
        user: visit.user.as_deref(),
        body_len: 0,
    };
    visit.site.fastcgi.ask(script, call, Body::from(body), visit.ledger).await
}

/// The script's answer as ours.
pub(crate) fn shape(
    answer: Answer,
    compress: Option<&Compress>,
    request: &request::Parts,
) -> Response<Body> {
    let Answer { head, body } = answer;
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = head.fields;
    let coding = compress.map(|it| coding(it, &response, head.length, request));
    if let Some(Streamed::AsItIs | Streamed::Coded(..)) = coding {
        vary(response.headers_mut());
    }
    let Some(Streamed::Coded(coding, level)) = coding else {
        if let Some(length) = head.length {
            response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        return response;
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, coding.value());
    headers.remove(ACCEPT_RANGES);
    if let Some(tag) = headers.remove(ETAG).and_then(|it| ETag::parse(it.to_str().ok()?))
        && let Some(weak) = weakened(&tag)
    {
        headers.insert(ETAG, weak.to_value());
    }
    if request.method == Method::HEAD {
        return response;
    }
    response.map(|body| {
        if let Ok(coded) = Encoded::new(body, coding, level) {
            return Body::boxed(coded);
        }
        // Without its coder the body cannot be what its head says: it is broken off.
        let (feed, body) = Body::channel(1);
        drop(feed);
        body
    })
}

/// How a body under way is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streamed {
    /// Not a matter of `Accept-Encoding`.
    Never,
    AsItIs,
    Coded(Coding, Level),
}

fn coding(
    compress: &Compress,
    response: &Response<Body>,
    length: Option<u64>,
    request: &request::Parts,
) -> Streamed {
    let headers = response.headers();
    let whole = response.status() != StatusCode::PARTIAL_CONTENT
        && response.status() != StatusCode::NO_CONTENT
        && response.status() != StatusCode::NOT_MODIFIED
        && !headers.contains_key(CONTENT_RANGE);
    // RFC 9110 §7.7: what must not be transformed is not.
    let may = !headers.get_all(CACHE_CONTROL).iter().any(|value| {
        value.to_str().is_ok_and(|it| it.to_ascii_lowercase().contains("no-transform"))
    });
    if !whole || !may || headers.contains_key(CONTENT_ENCODING) {
        return Streamed::Never;
    }
    let Some(media) = headers.get(CONTENT_TYPE) else { return Streamed::Never };
    match compress.plan_stream(&request.headers, media, length) {
        crate::compress::Plan::Never => Streamed::Never,
        crate::compress::Plan::AsItIs => Streamed::AsItIs,
        crate::compress::Plan::Coded(coding) => Streamed::Coded(coding, compress.level(coding)),
    }
}
