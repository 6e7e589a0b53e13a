//! Answers that a route gives by itself: elsewhere, fixed words, or nothing of the type that was
//! asked.
//!
//! It asks nobody and keeps nothing. Made with a route from its settings; called by `request` once
//! the route's guards have let a request through.

use crate::caller::ClientConnection;
use crate::fields::{FieldTemplate, TemplateFacts};
use crate::pages;
use crate::settings::FixedAnswer;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, LOCATION};
use http::{Request, Response, StatusCode};
use http_engine::{Body, reply};
use http_front::field_text;
use null_answers::{
    AnswerAudience, AnswerCaching, BlankBody, NullAnswer, RequestHints, frame_context, render,
    select_answer,
};
use route_matching::ParsedRequest;
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
            Self::Redirect { to, status } => redirect(to, *status, parsed, caller),
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
    to: &FieldTemplate,
    status: StatusCode,
    parsed: &ParsedRequest,
    caller: &ClientConnection,
) -> Response<Body> {
    let facts = TemplateFacts {
        client: parsed.client,
        host: parsed.host.as_str(),
        scheme: caller.scheme(),
        path: &parsed.path,
    };
    if parsed.host.as_str().is_empty() && to.uses_host() {
        return pages::bad_request("The request names no host");
    }
    match to.value(&facts) {
        Some(location) => {
            let mut response = reply::empty(status);
            response.headers_mut().insert(LOCATION, location);
            response
        }
        None => pages::bad_request("The query cannot be repeated"),
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
