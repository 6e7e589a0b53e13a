//! A path that a server names, routed like any other (nginx's `X-Accel-Redirect`).
//!
//! Routes that are `internal` are reached only so. The client's method becomes `GET` unless it was
//! `HEAD`, and its body is left behind. Called by `request` for routes whose servers may lead
//! elsewhere; it decides and acts by the same means.

use crate::act::act;
use crate::context::RequestContext;
use crate::decide::{RequestRules, RouteDecision, RouteQuestion, as_taken, decide};
use crate::guards::{AdmittedRequest, BlockOccasion};
use crate::outcome::GatewayOutcome;
use crate::reproxy::{ReroutedPath, stand_over};
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, HeaderName, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{Method, Request, StatusCode, Version};
use http_engine::Incoming;
use origins::SendError;
use route_matching::ParsedRequest;
use std::cell::RefCell;

/// Paths that one request is led to, at most.
const REROUTES_MAX: u32 = 4;

/// Fields of a request that are of no use without its body.
const OF_THE_BODY: [HeaderName; 6] =
    [CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING, EXPECT, CONNECTION, UPGRADE];

/// Holds what of a request goes with it to another path.
pub(crate) struct RerouteContext {
    method: Method,
    version: Version,
    headers: HeaderMap,
}

fn take_reroute(outcome: &mut GatewayOutcome) -> Option<ReroutedPath> {
    if let GatewayOutcome::Fetched(response) = outcome {
        response.extensions_mut().remove()
    } else {
        None
    }
}

/// Puts the fields that were kept on what came in the end.
fn apply_headers(outcome: &mut GatewayOutcome, kept: &HeaderMap) {
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

impl RerouteContext {
    /// Of a request whose server may lead elsewhere.
    pub(crate) fn of(decision: &RouteDecision, request: &Request<Incoming>) -> Option<Self> {
        let RouteDecision::Pass(_, route) = decision else { return None };
        route.reproxy.as_ref().filter(|reproxy| reproxy.reroutes())?;
        let mut headers = request.headers().clone();
        for name in &OF_THE_BODY {
            headers.remove(name);
        }
        let method = if request.method() == Method::HEAD { Method::HEAD } else { Method::GET };
        Some(Self { method, version: request.version(), headers })
    }

    /// Follows the outcome of a request to where servers lead it, if they do.
    pub(crate) async fn follow(
        &self,
        context: &RequestContext<'_>,
        admitted: &RefCell<AdmittedRequest>,
        rules: RequestRules<'_>,
        parsed: &ParsedRequest,
        mut outcome: GatewayOutcome,
    ) -> GatewayOutcome {
        let mut kept = HeaderMap::new();
        for _ in 0..REROUTES_MAX {
            let Some(rerouted) = take_reroute(&mut outcome) else {
                apply_headers(&mut outcome, &kept);
                return outcome;
            };
            let parsed = match parsed.with_path(&rerouted.path, rules.table.slashes) {
                Ok(parsed) => parsed,
                Err(why) => {
                    let why = format!("it leads to {:?}: {why}", rerouted.path);
                    return GatewayOutcome::Failed(SendError::BadResponse(why));
                }
            };
            stand_over(&mut kept, &rerouted.fields);
            let Some(mut request) = self.request(&parsed) else { break };
            let question = RouteQuestion {
                parsed: &parsed,
                input: context.caller.match_input(&request),
                occasion: BlockOccasion::Request,
                local: context.caller.arrived_at(),
                now: context.now,
            };
            let decision = decide(rules, &question);
            let parsed = as_taken(parsed, &decision, &mut request);
            let context = context.at(&parsed);
            outcome = act(&context, admitted, decision, &parsed, Box::new(request)).await;
        }
        GatewayOutcome::Loop
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
