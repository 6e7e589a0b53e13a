//! One request from its route to its pool.
//!
//! On a route whose servers may name something to be sent in place of an answer, `reproxy` stands
//! between; on all others the request is sent at once. Called by `passing`, and by `cached` for
//! what the cache fetches.

use crate::context::RequestContext;
use crate::reproxy;
use crate::route::GatewayRoute;
use crate::scripted;
use crate::sending::{NoAnswer, ServedClient, Stickiness, send};
use balancer::ServerPool;
use http::{Request, Response};
use http_engine::Body;
use std::sync::Arc;

/// A route and the pool that it leads to.
#[derive(Clone, Copy)]
pub(crate) struct RoutedPool<'r> {
    pub(crate) route: &'r Arc<GatewayRoute>,
    pub(crate) pool: &'r Arc<ServerPool>,
}

/// Sends a request to the pool of its route, and gives what the client is to get.
pub(crate) async fn exchange(
    context: &RequestContext<'_>,
    to: RoutedPool<'_>,
    stickiness: Stickiness,
    mut request: Box<Request<Body>>,
) -> Result<Response<Body>, NoAnswer> {
    let asker = ServedClient {
        client: context.client,
        endpoints: context.caller.endpoints_for(context.client),
        stickiness,
        priority: to.route.priority,
    };
    scripted::on_upstream(to.route, context, &mut request).map_err(|_| NoAnswer::ScriptFailed)?;
    let Some(rules) = &to.route.reproxy else {
        // Whoever lets a client claim this for us tells it the inner names of its files.
        request.headers_mut().remove(reproxy::CAPABILITIES);
        return send(&context.forwarding.origins, to.pool, request, asker, context.now).await;
    };
    // Boxed: the routes that do without would carry its room with every request.
    Box::pin(rules.exchange(context, to.pool, asker, request)).await
}
