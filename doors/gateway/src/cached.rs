//! Requests that go through the cache: `GET` and `HEAD` without a body, on routes that have one.
//!
//! It lends the cache our way to the pool. Called by `passing`.

use crate::caller::ClientConnection;
use crate::context::RequestContext;
use crate::exchange::{RoutedPool, exchange};
use crate::fields::ValueChange;
use crate::forwarding::ForwardingSetup;
use crate::onward_fields::OnwardFields;
use crate::route::GatewayRoute;
use crate::sending::{NoAnswer, Stickiness};
use crate::shape;
use balancer::ServerPool;
use http::header::HeaderMap;
use http::{Method, Request, Response, Uri, Version};
use http_cache::{CacheRequest, HttpCache, NoCachedAnswer, OriginFetcher, ServedAnswer};
use http_engine::Body;
use http_front::HookVisit;
use origins::{MeteredBody, SendError};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use vocab::Now;

/// Why the cache's fetch brought nothing.
#[derive(Clone)]
pub(crate) enum CacheFetchFailed {
    Loop,
    NoAnswer(NoAnswer),
}

/// Our way to one URL.
#[derive(Clone)]
pub(crate) struct RouteFetcher(Rc<CacheFetch>);

/// A fetch of the cache: the context of the request that began it, which it may outlive.
pub(crate) struct CacheFetch {
    pub(crate) forwarding: Arc<ForwardingSetup>,
    pub(crate) route: Arc<GatewayRoute>,
    pub(crate) pool: Arc<ServerPool>,
    pub(crate) caller: Arc<ClientConnection>,
    pub(crate) url: String,
    pub(crate) visit: HookVisit,
    pub(crate) client: IpAddr,
    pub(crate) path: Uri,
    pub(crate) received: Version,
    pub(crate) now: Now,
    /// Changes that the rules make to the request.
    pub(crate) changes: Vec<ValueChange>,
}

/// Answers it from the cache, or through it.
pub(crate) async fn answer(
    cache: &Arc<HttpCache>,
    question: CacheRequest,
    fetch: CacheFetch,
) -> Result<ServedAnswer, CacheFetchFailed> {
    cache.answer(question, RouteFetcher::new(fetch)).await.map_err(|why| match why {
        NoCachedAnswer::Failed(why) => why,
        NoCachedAnswer::SharedFetchFailed => {
            CacheFetchFailed::NoAnswer(NoAnswer::Failed(SendError::Closed))
        }
    })
}

impl RouteFetcher {
    pub(crate) fn new(fetch: CacheFetch) -> Self {
        Self(Rc::new(fetch))
    }
}

impl OriginFetcher for RouteFetcher {
    type Failure = CacheFetchFailed;

    async fn fetch(
        &self,
        method: &Method,
        fields: HeaderMap,
    ) -> Result<Response<Body>, CacheFetchFailed> {
        let fetch = &*self.0;
        let mut request = Box::new(Request::new(Body::empty()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = fetch.path.clone();
        *request.headers_mut() = fields;
        fetch.route.tag_request(request.extensions_mut());
        let onward = OnwardFields {
            telling: fetch.forwarding.telling(),
            caller: &fetch.caller,
            received: fetch.received,
            changes: &fetch.changes,
        };
        onward.prepare(request.headers_mut(), None).map_err(|_| CacheFetchFailed::Loop)?;
        let context = RequestContext {
            forwarding: &fetch.forwarding,
            caller: &fetch.caller,
            client: fetch.client,
            url: &fetch.url,
            visit: &fetch.visit,
            now: fetch.now,
        };
        let to = RoutedPool { route: &fetch.route, pool: &fetch.pool };
        let sent = exchange(&context, to, Stickiness::Never, request);
        let response = sent.await.map_err(CacheFetchFailed::NoAnswer)?;
        shape::answers(&response)
            .map_err(|why| CacheFetchFailed::NoAnswer(NoAnswer::Failed(why)))?;
        // A fetch may outlive the client whose own patience would end it.
        let stall = fetch.route.silence_max();
        let stall = stall.unwrap_or(fetch.forwarding.limits.response_timeout);
        Ok(response.map(|body| MeteredBody::wrap(body, stall, |_, _| ())))
    }
}
