//! A request that goes on to a pool: what is sent, and what the answer changes.
//!
//! The cache fetches by `cached`; both go through `exchange`. Called by `act`.

use crate::cached::{self, CacheFetch, CacheFetchFailed, RouteFetcher};
use crate::context::RequestContext;
use crate::exchange::{RoutedPool, exchange};
use crate::fields::ValueChange;
use crate::finish;
use crate::onward_fields::OnwardFields;
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::route::GatewayRoute;
use crate::sending::Stickiness;
use crate::upgraded::LeavingConnection;
use crate::upload_status;
use crate::uploads;
use crate::websocket::{self, WebSocketHandshake};
use http::header::{HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version, request};
use http_body::Body as _;
use http_body_util::Limited;
use http_cache::{CacheRequest, HttpCache};
use http_engine::{Body, Incoming, hop_by_hop, upgrade};
use origins::{MeteredBody, SendError};
use route_matching::ParsedRequest;
use std::sync::Arc;

/// The target of a request at its servers, and the version in which it came.
struct OnwardTarget {
    path: Uri,
    received: Version,
}

/// Passes a request on to the pool of its route, or answers it from that route's cache.
pub(crate) async fn forward_request(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    parsed: &ParsedRequest,
    mut request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let body_max = to.route.body_max.unwrap_or(context.forwarding.limits.body_max);
    if request.body().size_hint().lower() > body_max {
        return GatewayOutcome::Refused(GatewayRefusal::BodyTooLarge);
    }
    let (wants, handshake) = match upgrade_protocol(to.route, &request) {
        Ok(wanted) => wanted,
        Err(refusal) => return GatewayOutcome::Refused(refusal),
    };
    let leaving = match wants.is_some().then(|| take_upgrade(context, &mut request)) {
        Some(None) => return GatewayOutcome::Refused(GatewayRefusal::TooManyUpgrades),
        Some(Some(leaving)) => Some(leaving),
        None => None,
    };
    let (mut head, body) = request.into_parts();
    let path = match to.route.rewrite.target(&parsed.path) {
        Ok(path) => path,
        Err(why) => return GatewayOutcome::Refused(GatewayRefusal::Path(why)),
    };
    let received = std::mem::replace(&mut head.version, Version::HTTP_11);
    let target = OnwardTarget { path, received };
    let is_read = head.method == Method::GET || head.method == Method::HEAD;
    let is_plain = is_read && leaving.is_none() && body.is_end_stream();
    if let Some(cache) = to.route.cache.as_ref().filter(|_| is_plain) {
        return through_cache(context, to, cache, parsed, head, target).await;
    }
    head.uri = target.path.clone();
    let question = bypassing(context, &head);
    let changes = changes(context, to, parsed);
    let (telling, caller) = (context.forwarding.telling(), &**context.caller);
    let onward = OnwardFields { telling, caller, received, changes: &changes };
    if onward.prepare(&mut head.headers, wants.clone()).is_err() {
        return GatewayOutcome::Loop;
    }
    if let Some(handshake) = &handshake {
        head.method = Method::GET;
        handshake.write(&mut head.headers);
    }
    to.route.tag_request(&mut head.extensions);
    let body = upload_status::tracked(context, to.route, parsed, capped(body, body_max));
    let onward = Box::new(Request::from_parts(head, body));
    let response = match exchanged(context, to, onward).await {
        Err(outcome) => return outcome,
        Ok(response) => response,
    };
    match upgrade_outcome(&response, leaving, wants.as_ref(), handshake.as_ref()) {
        UpgradeOutcome::Answer => GatewayOutcome::Fetched(match question {
            None => response,
            Some(question) => {
                Box::pin(invalidate_after(context, to, parsed, question, target, response)).await
            }
        }),
        UpgradeOutcome::Switched(leaving) => GatewayOutcome::Switched(response, leaving),
        UpgradeOutcome::WebSocket(leaving) => {
            GatewayOutcome::Switched(websocket::accepted(response), leaving)
        }
        UpgradeOutcome::Misunderstood => {
            bad_response("it took a WebSocket's handshake for something else")
        }
        UpgradeOutcome::UnexpectedSwitch => {
            bad_response("it switched to another protocol than it was asked for")
        }
    }
}

fn bad_response(why: &'static str) -> GatewayOutcome {
    GatewayOutcome::Failed(SendError::BadResponse(why.into()))
}

/// The protocol to ask the server for, if the request asks for one that its route allows, and the
/// handshake of a WebSocket over HTTP/2. Whatever else a request asks for is left out of it:
/// requests inside `h2c` would pass every route, rule and password unread.
fn upgrade_protocol<B>(
    route: &GatewayRoute,
    request: &Request<B>,
) -> Result<(Option<HeaderValue>, Option<WebSocketHandshake>), GatewayRefusal> {
    if websocket::parse_connect(request).is_some() {
        let protocol = WebSocketHandshake::protocol();
        let is_allowed = |it: &String| it.as_bytes().eq_ignore_ascii_case(protocol.as_bytes());
        if !route.upgrade.iter().any(is_allowed) {
            return Err(GatewayRefusal::Method);
        }
        let handshake = WebSocketHandshake::new().map_err(|_| GatewayRefusal::TooManyUpgrades)?;
        return Ok((Some(protocol), Some(handshake)));
    }
    // RFC 9110 §7.8: HTTP/1.0 and HTTP/2 know no such field.
    if request.version() != Version::HTTP_11 {
        return Ok((None, None));
    }
    let protocol = hop_by_hop::upgrade_to(request.headers(), &route.upgrade);
    Ok((protocol.and_then(|protocol| HeaderValue::from_str(protocol).ok()), None))
}

/// Sends a request, once as much of its body is here as the route wants.
async fn exchanged(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    mut onward: Box<Request<Body>>,
) -> Result<Response<Body>, GatewayOutcome> {
    if !onward.body().is_end_stream() {
        // Boxed, like all that most requests do without: each would carry its room.
        let taken =
            Box::pin(uploads::buffer_upload(&context.forwarding.uploads, to.route.uploads, onward));
        onward = taken.await.map_err(GatewayOutcome::Failed)?;
    }
    let stickiness = Stickiness::AsSet(context.caller.cookie_scope());
    Ok(exchange(context, to, stickiness, onward).await?)
}

/// Tells what an answer means for the connection.
enum UpgradeOutcome {
    /// Stays what it was.
    Answer,
    /// Leaves HTTP.
    Switched(LeavingConnection),
    /// Becomes the WebSocket that a stream of HTTP/2 asked for.
    WebSocket(LeavingConnection),
    Misunderstood,
    /// A switch to a protocol that nobody asked for.
    UnexpectedSwitch,
}

fn upgrade_outcome(
    response: &Response<Body>,
    leaving: Option<LeavingConnection>,
    wanted: Option<&HeaderValue>,
    handshake: Option<&WebSocketHandshake>,
) -> UpgradeOutcome {
    let is_switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let wanted = wanted.and_then(|protocol| protocol.to_str().ok());
    let is_as_asked =
        || wanted.is_some_and(|protocol| hop_by_hop::switches_to(response.headers(), protocol));
    match (leaving, handshake) {
        (Some(_), None) if is_switched && !is_as_asked() => UpgradeOutcome::UnexpectedSwitch,
        (Some(leaving), Some(handshake)) if handshake.is_accepted(response) => {
            UpgradeOutcome::WebSocket(leaving)
        }
        // To a CONNECT, any success would open the stream (RFC 9110 §9.3.6).
        (_, Some(_)) if response.status().is_success() || is_switched => {
            UpgradeOutcome::Misunderstood
        }
        (Some(leaving), None) if is_switched => UpgradeOutcome::Switched(leaving),
        _ => UpgradeOutcome::Answer,
    }
}

/// The client's connection, should the server agree to leave HTTP; none where too many have.
fn take_upgrade(
    context: &RequestContext<'_>,
    request: &mut Request<Incoming>,
) -> Option<LeavingConnection> {
    let forwarding = context.forwarding;
    let place = forwarding.left.acquire(forwarding.limits.upgrades)?;
    let held = request.extensions_mut().remove::<upgrade::BusyGuard>();
    Some(LeavingConnection { client: upgrade::on(request), held, permit: place })
}

/// A request that goes past the cache, as far as the cache cares; none where there is none.
fn bypassing(context: &RequestContext<'_>, head: &request::Parts) -> Option<CacheRequest> {
    context.forwarding.cache.as_ref()?;
    // Only what a POST is answered with may be kept, and then it may vary by these.
    let fields = match head.method {
        Method::POST => head.headers.clone(),
        _ => HeaderMap::new(),
    };
    let (method, url) = (head.method.clone(), context.url.to_owned());
    Some(CacheRequest { method, url, fields, now: context.now })
}

/// Changes that the rules make to the request.
fn changes(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    parsed: &ParsedRequest,
) -> Vec<ValueChange> {
    let (all, own) = (&context.forwarding.request_fields, &to.route.request_fields);
    finish::changes(all, Some(own), parsed, context.caller)
}

/// A fetch by which the cache gets what it lacks.
fn fetch_of(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    parsed: &ParsedRequest,
    target: OnwardTarget,
) -> CacheFetch {
    CacheFetch {
        forwarding: Arc::clone(context.forwarding),
        route: Arc::clone(to.route),
        pool: Arc::clone(to.pool),
        caller: Arc::clone(context.caller),
        url: context.url.to_owned(),
        visit: context.visit.clone(),
        client: context.client,
        path: target.path,
        received: target.received,
        now: context.now,
        changes: changes(context, to, parsed),
    }
}

async fn through_cache(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    cache: &Arc<HttpCache>,
    parsed: &ParsedRequest,
    head: request::Parts,
    target: OnwardTarget,
) -> GatewayOutcome {
    let question = CacheRequest {
        method: head.method,
        url: context.url.to_owned(),
        fields: head.headers,
        now: context.now,
    };
    match cached::answer(cache, question, fetch_of(context, to, parsed, target)).await {
        Ok(served) => GatewayOutcome::Cached(served),
        Err(CacheFetchFailed::Loop) => GatewayOutcome::Loop,
        Err(CacheFetchFailed::NoAnswer(why)) => why.into(),
    }
}

/// Drops what a request may have changed that went past the cache, and keeps what it may.
async fn invalidate_after(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    parsed: &ParsedRequest,
    question: CacheRequest,
    target: OnwardTarget,
    response: Response<Body>,
) -> Response<Body> {
    // Another route, for other methods, may keep what this one changes.
    let Some(all) = &context.forwarding.cache else { return response };
    let Some(cache) = &to.route.cache else {
        let (head, body) = response.into_parts();
        all.changed(&question, &head).await;
        return Response::from_parts(head, body);
    };
    // It may be stored on its way, and outlive the client whose own patience would end it.
    let stall = to.route.silence_max().unwrap_or(context.forwarding.limits.response_timeout);
    let response = response.map(|body| MeteredBody::wrap(body, stall, |_, _| ()));
    let fetcher = || RouteFetcher::new(fetch_of(context, to, parsed, target));
    cache.invalidate_after(question, response, fetcher).await
}

fn capped(body: Incoming, bytes_max: u64) -> Body {
    if body.is_end_stream() || body.size_hint().exact().is_some() {
        // Its length was declared, and was held against the cap when the request was read.
        return Body::from(body);
    }
    Body::boxed(Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX)))
}
