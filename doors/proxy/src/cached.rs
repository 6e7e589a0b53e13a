//! Requests that go through the cache: `GET` and `HEAD` without a body.
//!
//! It lends the cache our way to origins, as parents, guards and header rules have it, and drops
//! what other requests may have changed. Called by `request`.

use crate::bandwidth::paced;
use crate::connection::{PinnedDestination, ProxyConnection};
use crate::context::ProxyContext;
use crate::destination_guard::{DestinationGuard, HostAsker};
use crate::door::ProxyDoor;
use crate::setup::ProxySetup;
use http::header::HeaderMap;
use http::uri::PathAndQuery;
use http::{Method, Request, Response, StatusCode, Uri, Version, request};
use http_body::Body as _;
use http_cache::{CacheRequest, NoCachedAnswer, OriginFetcher, ServedAnswer};
use http_engine::{Body, Incoming};
use origins::{Blame, MeteredBody, Origin, SendError};
use std::rc::Rc;
use std::sync::Arc;
use vocab::{Cause, NotStored, Now};

/// Why the cache's fetch brought nothing.
#[derive(Clone)]
pub(crate) enum ProxyFetchFailed {
    Loop,
    Send(SendError),
}

/// A URL at an origin, and the HTTP version that it was asked for by.
pub(crate) struct OriginTarget<'t> {
    pub(crate) origin: &'t Origin,
    pub(crate) path: Uri,
    pub(crate) received: Version,
}

/// Our way to one URL.
#[derive(Clone)]
struct UrlFetcher(Rc<ProxyFetch>);

struct ProxyFetch {
    door: Arc<ProxyDoor>,
    setup: Arc<ProxySetup>,
    caller: Arc<ProxyConnection>,
    user: Option<Arc<str>>,
    /// Why the request passes.
    cause: Cause,
    origin: Origin,
    /// The address that is connected to in place of any of its host's.
    pinned: Option<PinnedDestination>,
    path: Uri,
    received: Version,
    now: Now,
}

impl UrlFetcher {
    fn new(trip: &ProxyContext<'_>, target: OriginTarget<'_>) -> Self {
        Self(Rc::new(ProxyFetch {
            door: Arc::clone(trip.door),
            setup: Arc::clone(trip.setup),
            caller: Arc::clone(trip.caller),
            user: trip.destination.asker.user.clone(),
            cause: trip.destination.asker.cause,
            origin: target.origin.clone(),
            pinned: trip.pinned,
            path: target.path,
            received: target.received,
            now: trip.now,
        }))
    }
}

/// True if the cache has a say in a request.
pub(crate) fn is_for_cache(head: &request::Parts, body: &Incoming) -> bool {
    (head.method == Method::GET || head.method == Method::HEAD) && body.is_end_stream()
}

/// Answers it from the cache, or through it.
pub(crate) async fn answer(
    trip: &ProxyContext<'_>,
    cache: &Arc<http_cache::HttpCache>,
    origin: &Origin,
    path: Uri,
    head: request::Parts,
) -> Result<ServedAnswer, ProxyFetchFailed> {
    let question = CacheRequest {
        url: origin.url(path.path_and_query().map_or("/", PathAndQuery::as_str)),
        method: head.method,
        fields: head.headers,
        now: trip.now,
    };
    let onward = UrlFetcher::new(trip, OriginTarget { origin, path, received: head.version });
    let never = if trip.pinned.is_some() {
        Some(NotStored::HostUnverified)
    } else {
        trip.setup.never_keeps(origin, &question.url, trip.now).then_some(NotStored::Never)
    };
    let answered = if let Some(why) = never {
        // Boxed: what the cache answers would carry its room.
        Box::pin(cache.bypass(&question, &onward, why)).await
    } else {
        let host = origin.host.to_name();
        let cache = trip.setup.cache_for(host.as_name(), &question.url, trip.now).unwrap_or(cache);
        cache.answer(question, onward).await
    };
    answered.map_err(|why| match why {
        NoCachedAnswer::Failed(why) => why,
        NoCachedAnswer::SharedFetchFailed => ProxyFetchFailed::Send(SendError::Closed),
    })
}

/// A request that goes past the cache, as far as the cache cares; none for requests that change
/// nothing.
pub(crate) fn bypass(
    trip: &ProxyContext<'_>,
    head: &request::Parts,
    origin: &Origin,
    path: &str,
) -> Option<CacheRequest> {
    trip.setup.cache.as_ref()?;
    // Only what a POST is answered with may be kept, and then it may vary by these.
    let fields = match head.method {
        Method::POST => head.headers.clone(),
        _ => HeaderMap::new(),
    };
    Some(CacheRequest { url: origin.url(path), method: head.method.clone(), fields, now: trip.now })
}

/// Drops what a request may have changed that went past the cache, and keeps what it may.
pub(crate) async fn invalidate_after(
    trip: &ProxyContext<'_>,
    question: Option<CacheRequest>,
    target: OriginTarget<'_>,
    response: Response<Body>,
) -> Response<Body> {
    let (Some(cache), Some(question)) = (&trip.setup.cache, question) else { return response };
    if trip.setup.never_keeps(target.origin, &question.url, trip.now) {
        let (head, body) = response.into_parts();
        cache.changed(&question, &head).await;
        return Response::from_parts(head, body);
    }
    let host = target.origin.host.to_name();
    let cache = trip.setup.cache_for(host.as_name(), &question.url, trip.now).unwrap_or(cache);
    // It may be stored on its way, and outlive the client whose own patience would end it.
    let stall = trip.setup.stall();
    let response = response.map(|body| MeteredBody::wrap(body, stall, |_, _| ()));
    cache.invalidate_after(question, response, || UrlFetcher::new(trip, target)).await
}

impl OriginFetcher for UrlFetcher {
    type Failure = ProxyFetchFailed;

    async fn fetch(
        &self,
        method: &Method,
        fields: HeaderMap,
    ) -> Result<Response<Body>, ProxyFetchFailed> {
        let errand = &*self.0;
        let (setup, origin) = (&errand.setup, &errand.origin);
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method.clone();
        *request.uri_mut() = errand.path.clone();
        *request.headers_mut() = fields;
        setup
            .fields
            .for_origin(
                request.headers_mut(),
                origin,
                errand.received,
                errand.caller.client(),
                None,
            )
            .map_err(|_| ProxyFetchFailed::Loop)?;
        let ProxyFetch { door, caller, user, cause, now, pinned, .. } = errand;
        let asker = HostAsker::of(&door.parts.policy, caller, user.clone(), *cause, *now);
        let within = DestinationGuard::of(setup, &door.parts.off_limits, asker, Some(&origin.host));
        let trip =
            ProxyContext { door, setup, caller, destination: within, pinned: *pinned, now: *now };
        let (way, server) = (trip.route_for(origin), trip.server_of(origin));
        let (origins, guard) = (&setup.origins, &trip.destination);
        let sent = origins.send_by(way, &server, Box::new(request), guard, errand.now).await;
        let response = sent.map_err(|unanswered| ProxyFetchFailed::Send(unanswered.error))?;
        if let Some(why) = no_answer(response.status()) {
            return Err(ProxyFetchFailed::Send(SendError::BadResponse(why.into())));
        }
        // A fetch may outlive the client whose own patience would end it.
        let stall = setup.settings.response_timeout.0.0;
        let path = errand.path.path_and_query().map_or("/", PathAndQuery::as_str);
        let pace = trip.pace(origin, path);
        Ok(response.map(|body| paced(MeteredBody::wrap(body, stall, |_, _| ()), pace)))
    }

    fn is_refusal(why: &ProxyFetchFailed) -> bool {
        matches!(why, ProxyFetchFailed::Send(why) if why.blame() == Blame::Guard)
    }
}

/// Why this status is no answer to what was asked.
pub(crate) const fn no_answer(status: StatusCode) -> Option<&'static str> {
    match status {
        // We asked for no other protocol, so this would be a hole in the framing.
        StatusCode::SWITCHING_PROTOCOLS => Some("it switched protocols unasked"),
        // A client would take it for ours, and show our password to whoever is behind us.
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Some("it wants a proxy's password"),
        _ => None,
    }
}
