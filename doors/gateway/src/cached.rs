//! What goes through the cache: `GET` and `HEAD` without a body, on routes that have one.
//!
//! It lends the cache our way to the pool, and drops what other requests may have changed. Called by
//! `request`.

use crate::caller::Caller;
use crate::door::Setup;
use crate::fields::Change;
use crate::passing::Onward;
use crate::pools::Pool;
use crate::reproxy;
use crate::route::Route;
use crate::sending::{Asker, NoAnswer, Stickiness};
use crate::settings::Priority;
use crate::shape;
use http::header::HeaderMap;
use http::{Method, Request, Response, Uri, Version};
use http_cache::{Cache, Fetch, Missed, Question, Served};
use http_engine::Body;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use upstream::origins::{Metered, SendError};
use vocab::Now;

/// Why the cache's fetch brought nothing.
#[derive(Clone)]
pub(crate) enum Failed {
    GoingRound,
    NoAnswer(NoAnswer),
}

/// Our way to one URL.
#[derive(Clone)]
pub(crate) struct Way(Rc<Errand>);

pub(crate) struct Errand {
    pub(crate) setup: Arc<Setup>,
    pub(crate) route: Arc<Route>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) url: String,
    pub(crate) client: IpAddr,
    pub(crate) priority: Priority,
    pub(crate) path: Uri,
    pub(crate) received: Version,
    pub(crate) now: Now,
    /// What the rules do to what is sent.
    pub(crate) changes: Vec<Change>,
}

/// Answers it from the cache, or through it.
pub(crate) async fn answer(
    cache: &Arc<Cache>,
    question: Question,
    errand: Errand,
) -> Result<Served, Failed> {
    cache.answer(question, Way::new(errand)).await.map_err(|why| match why {
        Missed::Failed(why) => why,
        Missed::Elsewhere => Failed::NoAnswer(NoAnswer::Failed(SendError::Closed)),
    })
}

impl Way {
    pub(crate) fn new(errand: Errand) -> Self {
        Self(Rc::new(errand))
    }
}

impl Fetch for Way {
    type Failure = Failed;

    async fn fetch(&self, method: &Method, fields: HeaderMap) -> Result<Response<Body>, Failed> {
        let errand = &*self.0;
        let mut request = Box::new(Request::new(Body::empty()));
        *request.method_mut() = method.clone();
        *request.uri_mut() = errand.path.clone();
        *request.headers_mut() = fields;
        errand.route.mark(request.extensions_mut());
        let onward = Onward {
            setup: &errand.setup,
            caller: &errand.caller,
            received: errand.received,
            changes: &errand.changes,
        };
        onward.prepare(request.headers_mut(), None).map_err(|_| Failed::GoingRound)?;
        let (client, priority) = (errand.client, errand.priority);
        let ends = errand.caller.ends_for(client);
        let sending = reproxy::Errand {
            setup: &errand.setup,
            route: &errand.route,
            pool: &errand.pool,
            url: &errand.url,
            asker: Asker { client, ends, priority, stickiness: Stickiness::Never },
            now: errand.now,
        };
        let response = reproxy::exchange(&sending, request).await.map_err(Failed::NoAnswer)?;
        shape::answers(&response).map_err(|why| Failed::NoAnswer(NoAnswer::Failed(why)))?;
        // A fetch may outlive the client whose own patience would end it.
        let stall = errand.route.silence_max();
        let stall = stall.unwrap_or(errand.setup.settings.response_timeout.0.0);
        Ok(response.map(|body| Metered::wrap(body, stall, |_, _| ())))
    }
}
