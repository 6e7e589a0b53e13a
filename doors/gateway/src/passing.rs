//! A request that goes on to a pool: what is sent, and what the answer changes.
//!
//! What is sent through the cache is sent by `cached`; both go through `sending`. Called by
//! `request`.

use crate::cached::{self, CacheFetchFailed, FetchContext, RouteFetcher};
use crate::caller::ClientConnection;
use crate::door::GatewaySetup;
use crate::fields::{self, ValueChange};
use crate::finish;
use crate::leaving::LeavingConnection;
use crate::reproxy;
use crate::request::{GatewayOutcome, GatewayRefusal};
use crate::route::GatewayRoute;
use crate::sending::{ServedClient, Stickiness};
use crate::uploads;
use crate::websocket::{self, WebSocketHandshake};
use balancer::ServerPool;
use http::header::{CONNECTION, EXPECT, HOST, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body as _;
use http_body_util::Limited;
use http_cache::{CacheRequest, HttpCache};
use http_engine::{Body, Incoming, hop_by_hop, upgrade};
use origins::{MeteredBody, RequestLoop, SendError, add_via};
use route_matching::ParsedRequest;
use std::sync::Arc;
use vocab::Now;

/// Holds what passing a request on needs to know.
pub(crate) struct PassContext<'s> {
    pub(crate) setup: &'s Arc<GatewaySetup>,
    pub(crate) route: &'s Arc<GatewayRoute>,
    pub(crate) pool: &'s Arc<ServerPool>,
    pub(crate) caller: &'s Arc<ClientConnection>,
    pub(crate) now: Now,
}

/// Holds what is put into a request that goes on.
pub(crate) struct OnwardFields<'s> {
    pub(crate) setup: &'s GatewaySetup,
    pub(crate) caller: &'s ClientConnection,
    pub(crate) received: Version,
    pub(crate) changes: &'s [ValueChange],
}

impl OnwardFields<'_> {
    /// Makes its fields ours to send; a protocol to switch to is asked for on our own behalf.
    pub(crate) fn prepare(
        &self,
        headers: &mut HeaderMap,
        wants: Option<HeaderValue>,
    ) -> Result<(), RequestLoop> {
        hop_by_hop::strip(headers);
        if let Some(protocol) = wants {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        self.setup.telling().tell(headers, self.caller);
        // HTTP/1.0 knows no host, but what we send needs one (RFC 9112 §3.2).
        headers.entry(HOST).or_insert(HeaderValue::from_static(""));
        // The engine has told the client to go on, or will when the body is read: its word is kept.
        headers.remove(EXPECT);
        add_via(headers, self.received)?;
        fields::apply(self.changes, headers);
        Ok(())
    }
}

pub(crate) async fn pass(
    trip: &PassContext<'_>,
    parsed: &ParsedRequest,
    mut request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let body_max = trip.route.body_max.unwrap_or(trip.setup.settings.body_max.bytes());
    if request.body().size_hint().lower() > body_max {
        return GatewayOutcome::Refused(GatewayRefusal::BodyTooLarge);
    }
    let (wants, handshake) = match protocol_wanted(trip.route, &request) {
        Ok(wanted) => wanted,
        Err(refusal) => return GatewayOutcome::Refused(refusal),
    };
    let leaving = match wants.is_some().then(|| leave(trip, &mut request)) {
        Some(None) => return GatewayOutcome::Refused(GatewayRefusal::TooManyUpgrades),
        Some(Some(leaving)) => Some(leaving),
        None => None,
    };
    let (mut head, body) = request.into_parts();
    let uri = match trip.route.rewrite.target(&parsed.path) {
        Ok(uri) => uri,
        Err(why) => return GatewayOutcome::Refused(GatewayRefusal::Path(why)),
    };
    let received = std::mem::replace(&mut head.version, Version::HTTP_11);
    let is_get = head.method == Method::GET || head.method == Method::HEAD;
    if let Some(cache) = &trip.route.cache
        && is_get
        && leaving.is_none()
        && body.is_end_stream()
    {
        return through_cache(trip, cache, parsed, (head, uri, received)).await;
    }
    head.uri = uri.clone();
    let question = trip.passing(parsed, &head);
    let changes = trip.changes(parsed);
    let onward =
        OnwardFields { setup: trip.setup, caller: trip.caller, received, changes: &changes };
    if onward.prepare(&mut head.headers, wants.clone()).is_err() {
        return GatewayOutcome::GoingRound;
    }
    if let Some(handshake) = &handshake {
        head.method = Method::GET;
        handshake.write(&mut head.headers);
    }
    trip.route.mark(&mut head.extensions);
    let onward = Box::new(Request::from_parts(head, capped(body, body_max)));
    let response = match exchanged(trip, parsed, onward).await {
        Err(outcome) => return outcome,
        Ok(response) => response,
    };
    match came(&response, leaving, (wants.as_ref(), handshake.as_ref())) {
        UpgradeOutcome::Answer => GatewayOutcome::Fetched(match question {
            None => response,
            Some(question) => {
                Box::pin(passed(trip, parsed, (question, uri, received), response)).await
            }
        }),
        UpgradeOutcome::Switched(leaving) => GatewayOutcome::Switched(response, leaving),
        UpgradeOutcome::WebSocket(leaving) => {
            GatewayOutcome::Switched(websocket::accepted(response), leaving)
        }
        UpgradeOutcome::Misunderstood => {
            bad_response("it took a WebSocket's handshake for something else")
        }
        UpgradeOutcome::SwitchedElsewhere => {
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
fn protocol_wanted<B>(
    route: &GatewayRoute,
    request: &Request<B>,
) -> Result<(Option<HeaderValue>, Option<WebSocketHandshake>), GatewayRefusal> {
    if websocket::asked(request).is_some() {
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
    trip: &PassContext<'_>,
    parsed: &ParsedRequest,
    mut onward: Box<Request<Body>>,
) -> Result<Response<Body>, GatewayOutcome> {
    if !onward.body().is_end_stream() {
        // Boxed, like all that most requests do without: each would carry its room.
        let taken = Box::pin(uploads::take(&trip.setup.uploads, trip.route.uploads, onward));
        onward = taken.await.map_err(GatewayOutcome::Failed)?;
    }
    Ok(reproxy::exchange(&trip.errand(parsed), onward).await?)
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
    SwitchedElsewhere,
}

fn came(
    response: &Response<Body>,
    leaving: Option<LeavingConnection>,
    (wanted, handshake): (Option<&HeaderValue>, Option<&WebSocketHandshake>),
) -> UpgradeOutcome {
    let is_switched = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let wanted = wanted.and_then(|protocol| protocol.to_str().ok());
    let is_as_asked =
        || wanted.is_some_and(|protocol| hop_by_hop::switches_to(response.headers(), protocol));
    match (leaving, handshake) {
        (Some(_), None) if is_switched && !is_as_asked() => UpgradeOutcome::SwitchedElsewhere,
        (Some(leaving), Some(handshake)) if handshake.is_met(response) => {
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
fn leave(trip: &PassContext<'_>, request: &mut Request<Incoming>) -> Option<LeavingConnection> {
    let place = trip.setup.left.place(trip.setup.settings.upgrades)?;
    let held = request.extensions_mut().remove::<upgrade::BusyGuard>();
    Some(LeavingConnection { client: upgrade::on(request), held, place })
}

impl PassContext<'_> {
    /// Returns what is sent, and for whom.
    fn errand<'t>(&'t self, parsed: &'t ParsedRequest) -> reproxy::ForwardRequest<'t> {
        let (client, priority) = (parsed.client, self.route.priority);
        let ends = self.caller.ends_for(client);
        let stickiness = Stickiness::AsSet(self.caller.cookie_scope());
        reproxy::ForwardRequest {
            setup: self.setup,
            route: self.route,
            pool: self.pool,
            url: &parsed.url,
            asker: ServedClient { client, ends, stickiness, priority },
            now: self.now,
        }
    }

    /// A request that goes past the cache, as far as the cache cares; none where there is none.
    fn passing(&self, parsed: &ParsedRequest, head: &http::request::Parts) -> Option<CacheRequest> {
        self.setup.cache.as_ref()?;
        // Only what a POST is answered with may be kept, and then it may vary by these.
        let fields = match head.method {
            Method::POST => head.headers.clone(),
            _ => HeaderMap::new(),
        };
        let (method, url) = (head.method.clone(), parsed.url.clone());
        Some(CacheRequest { method, url, fields, now: self.now })
    }

    /// Returns how the cache gets what it lacks.
    fn way(&self, parsed: &ParsedRequest, path: Uri, received: Version) -> FetchContext {
        FetchContext {
            setup: Arc::clone(self.setup),
            route: Arc::clone(self.route),
            url: parsed.url.clone(),
            pool: Arc::clone(self.pool),
            caller: Arc::clone(self.caller),
            client: parsed.client,
            priority: self.route.priority,
            path,
            received,
            now: self.now,
            changes: self.changes(parsed),
        }
    }

    /// Returns what the rules do to the request.
    fn changes(&self, parsed: &ParsedRequest) -> Vec<ValueChange> {
        let rules = (&self.setup.request_fields, Some(&self.route.request_fields));
        finish::changes(rules, parsed, self.caller)
    }
}

async fn through_cache(
    trip: &PassContext<'_>,
    cache: &Arc<HttpCache>,
    parsed: &ParsedRequest,
    (head, path, received): (http::request::Parts, Uri, Version),
) -> GatewayOutcome {
    let question = CacheRequest {
        method: head.method,
        url: parsed.url.clone(),
        fields: head.headers,
        now: trip.now,
    };
    match cached::answer(cache, question, trip.way(parsed, path, received)).await {
        Ok(served) => GatewayOutcome::Cached(served),
        Err(CacheFetchFailed::GoingRound) => GatewayOutcome::GoingRound,
        Err(CacheFetchFailed::NoAnswer(why)) => why.into(),
    }
}

/// Drops what a request may have changed that went past the cache, and keeps what it may.
async fn passed(
    trip: &PassContext<'_>,
    parsed: &ParsedRequest,
    (question, path, received): (CacheRequest, Uri, Version),
    response: Response<Body>,
) -> Response<Body> {
    // Another route, for other methods, may keep what this one changes.
    let Some(all) = &trip.setup.cache else { return response };
    let Some(cache) = &trip.route.cache else {
        let (head, body) = response.into_parts();
        all.changed(&question, &head).await;
        return Response::from_parts(head, body);
    };
    // It may be stored on its way, and outlive the client whose own patience would end it.
    let stall = trip.route.silence_max().unwrap_or(trip.setup.settings.response_timeout.0.0);
    let response = response.map(|body| MeteredBody::wrap(body, stall, |_, _| ()));
    cache
        .invalidate_after(question, response, || {
            RouteFetcher::new(trip.way(parsed, path, received))
        })
        .await
}

fn capped(body: Incoming, bytes_max: u64) -> Body {
    if body.is_end_stream() || body.size_hint().exact().is_some() {
        // Its length was declared, and was held against the cap when the request was read.
        return Body::from(body);
    }
    Body::boxed(Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX)))
}
