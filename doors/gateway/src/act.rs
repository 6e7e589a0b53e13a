//! Doing what was decided about a request: its route's guards, then where the route leads.
//!
//! Called by `request`, and by `reroute` for a path that a server names.

use crate::context::RequestContext;
use crate::decide::RouteDecision;
use crate::exchange::RoutedPool;
use crate::forward::forward_request;
use crate::guards::AdmittedRequest;
use crate::outcome::{GatewayOutcome, GatewayRefusal};
use crate::route::{GatewayRoute, RouteDestination};
use crate::scripted;
use crate::upload_status;
use http::{Method, Request};
use http_body::Body as _;
use http_engine::Incoming;
use http_engine::claims::MethodOverrides;
use route_matching::ParsedRequest;
use std::cell::RefCell;
use std::sync::Arc;
use vocab::Source;

/// Does what was decided. What guards have to say with the answer is added to `admitted`.
pub(crate) async fn act(
    context: &RequestContext<'_>,
    admitted: &RefCell<AdmittedRequest>,
    decision: RouteDecision,
    parsed: &ParsedRequest,
    request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    match decision {
        RouteDecision::Block(verdict, block) => {
            GatewayOutcome::Blocked { verdict, host: parsed.host.clone(), block }
        }
        RouteDecision::Nowhere(_) => GatewayOutcome::Nowhere,
        RouteDecision::Refuse(why) => GatewayOutcome::Refused(GatewayRefusal::Path(why)),
        RouteDecision::Pass(_, route) => take(context, admitted, &route, parsed, request).await,
    }
}

/// Takes a request through the guards of its route to where that leads.
async fn take(
    context: &RequestContext<'_>,
    admitted: &RefCell<AdmittedRequest>,
    route: &Arc<GatewayRoute>,
    parsed: &ParsedRequest,
    mut request: Box<Request<Incoming>>,
) -> GatewayOutcome {
    let Some(to) = &route.to else { return GatewayOutcome::Nowhere };
    let method = request.method().clone();
    match route.guards.check(context, parsed, &method, request.headers_mut()).await {
        Err(turned) => return GatewayOutcome::Rejected(turned),
        Ok(through) => admitted.borrow_mut().add(through),
    }
    // To a CONNECT, any success would open the stream (RFC 9110 §9.3.6).
    if method == Method::CONNECT && route.pool().is_none() {
        return GatewayOutcome::Refused(GatewayRefusal::Method);
    }
    let (forwarding, caller) = (context.forwarding, context.caller);
    let overrides =
        if route.cache.is_some() { MethodOverrides::None } else { forwarding.overrides };
    let (headers, exempt) = (request.headers_mut(), route.allowed_fields.request.as_slice());
    forwarding.telling().strip_untrusted(headers, caller.peer(), exempt, &method, overrides);
    let moved = match scripted::on_request(route, context, parsed, &mut request) {
        Ok(moved) => moved,
        Err(outcome) => return *outcome,
    };
    let parsed = moved.as_deref().unwrap_or(parsed);
    let context = &context.at(parsed);
    match to {
        RouteDestination::Pool(_) if upload_status::is_asked(route, parsed, &method) => {
            let answer = upload_status::answer(context, parsed);
            GatewayOutcome::Answered(answer, Source::Local)
        }
        RouteDestination::Pool(pool) => {
            forward_request(context, RoutedPool { route, pool }, parsed, request).await
        }
        RouteDestination::Fixed(own) => {
            GatewayOutcome::Answered(own.respond(parsed, caller, &request), Source::Local)
        }
        RouteDestination::Folder(mount) => {
            let body_max = route.body_max.unwrap_or(forwarding.limits.body_max);
            if request.body().size_hint().lower() > body_max {
                return GatewayOutcome::Refused(GatewayRefusal::BodyTooLarge);
            }
            let user = admitted.borrow().user.clone();
            let served = mount.serve(parsed, user, caller, *request, context.now);
            let (response, source) = served.await;
            GatewayOutcome::Answered(response, source)
        }
    }
}
