//! Progress of uploads on a route that tells it: bodies are counted, who asks is answered.
//!
//! The table is crate `upload-progress`'s. Called by `act` and `forward`.

use crate::context::RequestContext;
use crate::route::GatewayRoute;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode};
use http_body::Body as _;
use http_engine::{Body, reply};
use route_matching::ParsedRequest;
use transport::clock;
use upload_progress::UploadName;

/// Path at which progress is asked for.
const STATUS_PATH: &str = "/__upload_status";

/// True if a request asks for the progress of an upload.
pub(crate) fn is_asked(route: &GatewayRoute, parsed: &ParsedRequest, method: &Method) -> bool {
    let is_read = *method == Method::GET || *method == Method::HEAD;
    route.upload_status && is_read && parsed.split().0 == STATUS_PATH
}

/// Progress of the upload that a request names.
pub(crate) fn answer(context: &RequestContext<'_>, parsed: &ParsedRequest) -> Response<Body> {
    let name = UploadName::in_query(parsed.split().1);
    let told = context.forwarding.progress.status(name.as_ref(), context.now.unix_secs());
    let mut response = reply::empty(StatusCode::OK);
    *response.body_mut() = Body::full(told);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The body, counted where its route tells of uploads and its client has given it a name.
pub(crate) fn tracked(
    context: &RequestContext<'_>,
    route: &GatewayRoute,
    parsed: &ParsedRequest,
    body: Body,
) -> Body {
    if !route.upload_status || body.is_end_stream() {
        return body;
    }
    let Some(name) = UploadName::in_query(parsed.split().1) else { return body };
    let clock = || clock::now().unix_secs();
    context.forwarding.progress.track(name, body, clock).map_or_else(|body| body, Body::boxed)
}
