//! What goes through the cache: `GET` and `HEAD` without a body, on routes that have one.
//!
//! It lends the cache our way to the pool, and drops what other requests may have changed. Called
//! by `request`.

use crate::caller::ClientConnection;
use crate::door::GatewaySetup;
use crate::fields::ValueChange;
use crate::passing::OnwardFields;
use crate::reproxy;
use crate::route::GatewayRoute;
use crate::sending::{NoAnswer, ServedClient, Stickiness};
use crate::shape;
use balancer::{RequestPriority, ServerPool};
use http::header::HeaderMap;
use http::{Method, Request, Response, Uri, Version};
use http_cache::{CacheRequest, HttpCache, NoCachedAnswer, OriginFetcher, ServedAnswer};
use http_engine::Body;
use origins::{MeteredBody, SendError};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use vocab::Now;

/// Why the cache's fetch brought nothing.
#[derive(Clone)]
pub(crate) enum CacheFetchFailed {
    GoingRound,
    NoAnswer(NoAnswer),
}

/// Our way to one URL.
#[derive(Clone)]
pub(crate) struct RouteFetcher(Rc<FetchContext>);

pub(crate) struct FetchContext {
    pub(crate) setup: Arc<GatewaySetup>,
    pub(crate) route: Arc<GatewayRoute>,
    pub(crate) pool: Arc<ServerPool>,
    pub(crate) caller: Arc<ClientConnection>,
    pub(crate) url: String,
    pub(crate) client: IpAddr,
    pub(crate) priority: RequestPriority,
    pub(crate) path: Uri,
    pub(crate) received: Version,
    pub(crate) now: Now,
    /// What the rules do to what is sent.
    pub(crate) changes: Vec<ValueChange>,
}

/// Answers it from the cache, or through it.
pub(crate) async fn answer(
    cache: &Arc<HttpCache>,
    question: CacheRequest,
    errand: FetchContext,
) -> Result<ServedAnswer, CacheFetchFailed> {
    cache.answer(question, RouteFetcher::new(errand)).await.map_err(|why| match why {
        NoCachedAnswer::Failed(why) => why,
        NoCachedAnswer::SharedFetchFailed => {
            CacheFetchFailed::NoAnswer(NoAnswer::Failed(SendError::Closed))
        }
    })
}

impl RouteFetcher {
    pub(crate) fn new(errand: FetchContext) -> Self {
        Self(Rc::new(errand))
    }
}

impl OriginFetcher for RouteFetcher {
    type Failure = CacheFetchFailed;

    async fn fetch(
        &self,
        method: &Method,
        fields: HeaderMap,
    ) -> Result<Response<Body>, CacheFetchFailed> {
        let errand = &*self.0;
        let mut request = Box::new(Request::new(Body::empty()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = errand.path.clone();
        *request.headers_mut() = fields;
        errand.route.mark(request.extensions_mut());
        let onward = OnwardFields {
            setup: &errand.setup,
            caller: &errand.caller,
            received: errand.received,
            changes: &errand.changes,
        };
        onward.prepare(request.headers_mut(), None).map_err(|_| CacheFetchFailed::GoingRound)?;
        let (client, priority) = (errand.client, errand.priority);
        let ends = errand.caller.ends_for(client);
        let sending = reproxy::ForwardRequest {
            setup: &errand.setup,
            route: &errand.route,
            pool: &errand.pool,
            url: &errand.url,
            asker: ServedClient { client, ends, priority, stickiness: Stickiness::Never },
            now: errand.now,
        };
        let response =
            reproxy::exchange(&sending, request).await.map_err(CacheFetchFailed::NoAnswer)?;
        shape::answers(&response)
            .map_err(|why| CacheFetchFailed::NoAnswer(NoAnswer::Failed(why)))?;
        // A fetch may outlive the client whose own patience would end it.
        let stall = errand.route.silence_max();
        let stall = stall.unwrap_or(errand.setup.settings.response_timeout.0.0);
        Ok(response.map(|body| MeteredBody::wrap(body, stall, |_, _| ())))
    }
}
