//! A path that a server names, routed like any other (nginx's `X-Accel-Redirect`).
//!
//! Routes that are `internal` are reached only so. The client's method becomes `GET` unless it was
//! `HEAD`, and its body is left behind. It decides and does nothing itself. Called by `request`.

use super::ReroutedPath;
use crate::decide::{RouteDecision, decide};
use crate::guards::BlockOccasion;
use crate::request::{self, GatewayOutcome, RequestContext};
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, EXPIRES,
    HeaderMap, HeaderName, SET_COOKIE, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, StatusCode, Version};
use http_engine::Incoming;
use origins::SendError;
use route_matching::{MatchInput, ParsedRequest};

/// Paths that one request is led to, at most.
const REROUTES_MAX: u32 = 4;

/// Fields of an answer that stand over those of what it leads to, as with nginx.
const KEPT: [HeaderName; 5] =
    [CONTENT_TYPE, CONTENT_DISPOSITION, SET_COOKIE, CACHE_CONTROL, EXPIRES];

/// Fields of a request that are of no use without its body.
const OF_THE_BODY: [HeaderName; 6] =
    [CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, EXPECT, CONNECTION, UPGRADE];

/// Holds what of a request goes with it to another path.
struct RerouteContext {
    method: Method,
    version: Version,
    headers: HeaderMap,
}

/// Does what was decided, and again where a server leads elsewhere.
pub(crate) async fn act(
    scene: RequestContext<'_>,
    decision: RouteDecision,
    parsed: &ParsedRequest,
    request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    match RerouteContext::of(&decision, &request) {
        None => request::act(scene, decision, parsed, request).await,
        // Boxed: few routes let a server lead, and all others would carry the room.
        Some(luggage) => Box::pin(followed(scene, decision, parsed, (request, luggage))).await,
    }
}

/// Does what was decided, and what servers lead to from there.
async fn followed(
    scene: RequestContext<'_>,
    decision: RouteDecision,
    parsed: &ParsedRequest,
    (request, luggage): (Box<Request<Incoming>>, RerouteContext),
) -> GatewayOutcome {
    let mut outcome = request::act(scene, decision, parsed, request).await;
    let mut kept = HeaderMap::new();
    for _ in 0..REROUTES_MAX {
        let Some(rerouted) = taken(&mut outcome) else {
            dress(&mut outcome, &kept);
            return outcome;
        };
        let parsed = match parsed.with_path(&rerouted.path, scene.setup.slashes) {
            Ok(parsed) => parsed,
            Err(why) => {
                let why = format!("it leads to {:?}: {why}", rerouted.path);
                return GatewayOutcome::Failed(SendError::BadResponse(why));
            }
        };
        stand_over(&mut kept, &rerouted.fields);
        let Some(mut request) = luggage.request(&parsed) else { break };
        let around = (&**scene.door, &**scene.setup);
        let decision = decide(
            around,
            &parsed,
            (MatchInput::of(&request), BlockOccasion::Request),
            (scene.caller.local, scene.now),
        );
        let parsed = request::as_taken(parsed, &decision, &mut request);
        outcome = request::act(scene, decision, &parsed, Box::new(request)).await;
    }
    GatewayOutcome::GoingRound
}

/// The fields of an answer that stand over those of what it leads to.
pub(super) fn kept(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in &KEPT {
        for value in headers.get_all(name) {
            kept.append(name, value.clone());
        }
    }
    kept
}

fn taken(outcome: &mut GatewayOutcome) -> Option<ReroutedPath> {
    if let GatewayOutcome::Fetched(response) = outcome {
        response.extensions_mut().remove()
    } else {
        None
    }
}

/// Puts the fields that were kept on what came in the end.
fn dress(outcome: &mut GatewayOutcome, kept: &HeaderMap) {
    let response = if let GatewayOutcome::Fetched(response)
    | GatewayOutcome::Answered(response, _) = outcome
    {
        response
    } else if let GatewayOutcome::Cached(served) = outcome {
        &mut served.response
    } else {
        // Nobody serves what was led to: that is said without what was kept.
        return;
    };
    if response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED {
        stand_over(response.headers_mut(), kept);
    }
}

fn stand_over(headers: &mut HeaderMap, kept: &HeaderMap) {
    for name in kept.keys() {
        headers.remove(name);
        for value in kept.get_all(name) {
            headers.append(name, value.clone());
        }
    }
}

impl RerouteContext {
    /// Of a request whose server may lead elsewhere.
    fn of(decision: &RouteDecision, request: &Request<Incoming>) -> Option<Self> {
        let RouteDecision::Pass(_, route) = decision else { return None };
        route.reproxy.as_ref().filter(|reproxy| reproxy.reroutes())?;
        let mut headers = request.headers().clone();
        for name in &OF_THE_BODY {
            headers.remove(name);
        }
        let method = if request.method() == Method::HEAD { Method::HEAD } else { Method::GET };
        Some(Self { method, version: request.version(), headers })
    }

    fn request(&self, parsed: &ParsedRequest) -> Option<Request<Incoming>> {
        let mut request = Request::new(Incoming::none());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = parsed.path.parse().ok()?;
        *request.version_mut() = self.version;
        *request.headers_mut() = self.headers.clone();
        Some(request)
    }
}
