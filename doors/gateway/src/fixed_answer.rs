//! Answers that a route gives by itself: elsewhere, fixed words, or nothing of the type that was
//! asked.
//!
//! It asks nobody and keeps nothing. Made with a route from its settings; called by `request` once
//! the route's guards have let a request through.

use crate::caller::ClientConnection;
use crate::pages;
use crate::settings::{FixedAnswer, RedirectTarget};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, LOCATION};
use http::{Request, Response};
use http_engine::{Body, reply};
use http_front::field_text;
use null_answers::{
    AnswerAudience, AnswerCaching, BlankBody, NullAnswer, RequestHints, frame_context, render,
    select_answer,
};
use route_matching::{LocationFacts, NoLocation, ParsedRequest};
use vocab::DomainName;

impl FixedAnswer {
    /// The answer to a request.
    pub(crate) fn respond<B>(
        &self,
        parsed: &ParsedRequest,
        caller: &ClientConnection,
        request: &Request<B>,
    ) -> Response<Body> {
        match self {
            Self::Redirect(target) => redirect(target, parsed, caller),
            Self::Fixed { status, media, body } => {
                let mut response = reply::empty(*status);
                if !body.is_empty() {
                    *response.body_mut() = Body::full(body.clone());
                    response.headers_mut().insert(CONTENT_TYPE, media.clone());
                }
                response
            }
            Self::Null => no_content(parsed, request),
        }
    }
}

fn redirect(
    target: &RedirectTarget,
    parsed: &ParsedRequest,
    caller: &ClientConnection,
) -> Response<Body> {
    let Some(path_groups) = target.path.groups(parsed.plain_path()) else {
        return pages::no_route();
    };
    let host_groups = match &target.host {
        None => Vec::new(),
        Some(host) => match host.groups(parsed.host.as_name()) {
            Some(groups) => groups,
            None => return pages::no_route(),
        },
    };
    if parsed.host.as_str().is_empty() && target.to.uses_host() {
        return pages::bad_request(NoLocation::Host.reason());
    }
    let (path, query) = match parsed.path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (parsed.path.as_str(), None),
    };
    let facts = LocationFacts {
        client: parsed.client,
        host: parsed.host.as_str(),
        scheme: caller.scheme(),
        path,
        query,
        path_groups: &path_groups,
        host_groups: &host_groups,
    };
    match target.to.location(&facts) {
        Ok(location) => {
            let mut response = reply::empty(target.status);
            response.headers_mut().insert(LOCATION, location);
            response
        }
        Err(why) => pages::bad_request(why.reason()),
    }
}

fn no_content<B>(parsed: &ParsedRequest, request: &Request<B>) -> Response<Body> {
    let headers = request.headers();
    let field = |name| field_text(headers, &HeaderName::from_static(name));
    let (host, destination) = (parsed.host.as_name(), field("sec-fetch-dest"));
    let (path, query) = parsed.split();
    let hints = RequestHints {
        method: request.method(),
        kind: parsed.kind,
        frame: frame_context(destination, parsed.page.as_ref().map(DomainName::as_name), host),
        host,
        path,
        query,
        accept: field_text(headers, &ACCEPT),
        destination,
        service_worker: field("service-worker"),
        named: None,
    };
    let null = match select_answer(&hints) {
        // There is no rule to tell a person of.
        AnswerAudience::Page => NullAnswer::Blank(BlankBody::Frame),
        AnswerAudience::Null(NullAnswer::Socket) => NullAnswer::Blank(BlankBody::NoSocket),
        AnswerAudience::Null(null) => null,
    };
    render(&null, AnswerCaching::OneMinute, request.method(), headers)
}
