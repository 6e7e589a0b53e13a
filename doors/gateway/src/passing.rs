//! A request that goes on to a pool: what is sent, and what the answer changes.
//!
//! What is sent through the cache is sent by `cached`; both go through `sending`. Called by `request`.

use crate::cached::{self, Errand, Failed};
use crate::door::Setup;
use crate::forwarded;
use crate::pools::Pool;
use crate::reproxy;
use crate::request::{Outcome, Refusal, Wish};
use crate::route::Route;
use crate::sending::{Asker, Stickiness};
use crate::uploads;
use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body as _;
use http_body_util::Limited;
use http_cache::{Cache, Question};
use http_engine::{Body, Incoming, hop_by_hop, upgrade};
use std::net::IpAddr;
use std::sync::Arc;
use upstream::origins::{Loop, add_via};
use vocab::Now;

/// What passing a request on needs to know.
pub(crate) struct Trip<'s> {
    pub(crate) setup: &'s Arc<Setup>,
    pub(crate) route: &'s Arc<Route>,
    pub(crate) pool: &'s Arc<Pool>,
    pub(crate) peer: IpAddr,
    pub(crate) now: Now,
}

/// What is put into a request that goes on.
pub(crate) struct Onward<'s> {
    pub(crate) setup: &'s Setup,
    pub(crate) peer: IpAddr,
    pub(crate) received: Version,
}

impl Onward<'_> {
    /// Makes its fields ours to send; a protocol to switch to is asked for on our own behalf.
    pub(crate) fn prepare(
        &self,
        headers: &mut HeaderMap,
        wants: Option<HeaderValue>,
    ) -> Result<(), Loop> {
        hop_by_hop::strip(headers);
        if let Some(protocol) = wants {
            headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(UPGRADE, protocol);
        }
        forwarded::tell(headers, self.peer, &self.setup.trusted);
        add_via(headers, self.received)
    }
}

pub(crate) async fn pass(trip: &Trip<'_>, wish: &Wish, mut request: Request<Incoming>) -> Outcome {
    let wants = hop_by_hop::wants_upgrade(request.headers())
        .and_then(|protocol| HeaderValue::from_str(protocol).ok());
    let upgrading = wants.is_some().then(|| upgrade::on(&mut request));
    let (mut head, body) = request.into_parts();
    let Ok(uri) = wish.path.parse::<Uri>() else { return Outcome::Refused(Refusal::Host) };
    let received = std::mem::replace(&mut head.version, Version::HTTP_11);
    let is_get = head.method == Method::GET || head.method == Method::HEAD;
    if let Some(cache) = &trip.route.cache
        && is_get
        && upgrading.is_none()
        && body.is_end_stream()
    {
        return through_cache(trip, cache, wish, (head, uri, received)).await;
    }
    head.uri = uri;
    let onward = Onward { setup: trip.setup, peer: trip.peer, received };
    if onward.prepare(&mut head.headers, wants).is_err() {
        return Outcome::GoingRound;
    }
    let method = head.method.clone();
    let onward = Request::from_parts(head, capped(body, trip.setup.settings.body_max.bytes()));
    let onward = match uploads::take(&trip.setup.uploads, trip.route.uploads, onward).await {
        Ok(onward) => onward,
        Err(why) => return Outcome::Failed(why),
    };
    let (client, priority) = (wish.client, trip.route.priority);
    let errand = reproxy::Errand {
        setup: trip.setup,
        route: trip.route,
        pool: trip.pool,
        url: &wish.url,
        asker: Asker { client, priority, stickiness: Stickiness::AsSet },
        now: trip.now,
    };
    match reproxy::exchange(&errand, onward).await {
        Err(why) => why.into(),
        Ok(response) => match upgrading {
            Some(client) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                Outcome::Switched(response, client)
            }
            Some(_) | None => Outcome::Fetched(changing(trip, wish, method, response).await),
        },
    }
}

async fn through_cache(
    trip: &Trip<'_>,
    cache: &Arc<Cache>,
    wish: &Wish,
    (head, path, received): (http::request::Parts, Uri, Version),
) -> Outcome {
    let question = Question {
        method: head.method,
        url: wish.url.clone(),
        fields: head.headers,
        now: trip.now,
    };
    let errand = Errand {
        setup: Arc::clone(trip.setup),
        route: Arc::clone(trip.route),
        url: wish.url.clone(),
        pool: Arc::clone(trip.pool),
        peer: trip.peer,
        client: wish.client,
        priority: trip.route.priority,
        path,
        received,
        now: trip.now,
    };
    match cached::answer(cache, question, errand).await {
        Ok(served) => Outcome::Cached(served),
        Err(Failed::GoingRound) => Outcome::GoingRound,
        Err(Failed::NoAnswer(why)) => why.into(),
    }
}

/// Drops what a request may have changed that went past the cache.
async fn changing(
    trip: &Trip<'_>,
    wish: &Wish,
    method: Method,
    response: Response<Body>,
) -> Response<Body> {
    let Some(cache) = &trip.route.cache else { return response };
    let (head, body) = response.into_parts();
    let (url, fields) = (wish.url.clone(), HeaderMap::new());
    cache.changed(&Question { method, url, fields, now: trip.now }, &head).await;
    Response::from_parts(head, body)
}

fn capped(body: Incoming, bytes_max: u64) -> Body {
    if body.is_end_stream() || body.size_hint().exact().is_some() {
        // Its length was declared, and was held against the cap when the request was read.
        return Body::from(body);
    }
    Body::boxed(Limited::new(body, usize::try_from(bytes_max).unwrap_or(usize::MAX)))
}
