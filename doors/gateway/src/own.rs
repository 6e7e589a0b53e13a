//! Answers that a route gives by itself: elsewhere, fixed words, or nothing of the type that was
//! asked.
//!
//! It asks nobody and keeps nothing. Made with a route from its settings; called by `request` once
//! the route's guards have let a request through.

use crate::caller::ClientConnection;
use crate::fields::{FieldTemplate, TemplateFacts};
use crate::pages;
use crate::request::GatewayRequest;
use crate::settings::RouteSettings;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Request, Response, StatusCode};
use http_engine::{Body, reply};
use null_answers::{
    AnswerAudience, AnswerCaching, BlankBody, NullAnswer, RequestHints, frame_context, render,
    select_answer,
};
use vocab::{Complaint, DomainName};

/// Tells what a route answers.
#[derive(Clone, Debug)]
pub(crate) enum FixedAnswer {
    /// Is elsewhere.
    Redirect {
        to: FieldTemplate,
        status: StatusCode,
    },
    Fixed {
        status: StatusCode,
        media: HeaderValue,
        body: Bytes,
    },
    /// An empty script to whoever wants a script, a transparent picture to whoever wants one.
    Null,
}

impl FixedAnswer {
    /// Returns what these settings have a route answer, if it answers by itself. Complaints have
    /// paths relative to the route.
    pub(crate) fn new(settings: &RouteSettings) -> Result<Option<Self>, Complaint> {
        if let Some(redirect) = &settings.redirect {
            let (to, status) = redirect.compile().map_err(|why| why.under("redirect"))?;
            return Ok(Some(Self::Redirect { to, status }));
        }
        if let Some(answer) = &settings.answer {
            let (status, media) = answer.compile().map_err(|why| why.under("answer"))?;
            let body = Bytes::copy_from_slice(answer.body.as_bytes());
            return Ok(Some(Self::Fixed { status, media, body }));
        }
        Ok(settings.null_answer.then_some(Self::Null))
    }

    /// The answer to a request.
    pub(crate) fn give<B>(
        &self,
        wish: &GatewayRequest,
        caller: &ClientConnection,
        request: &Request<B>,
    ) -> Response<Body> {
        match self {
            Self::Redirect { to, status } => elsewhere(to, *status, wish, caller),
            Self::Fixed { status, media, body } => {
                let mut response = reply::empty(*status);
                if !body.is_empty() {
                    *response.body_mut() = Body::full(body.clone());
                    response.headers_mut().insert(CONTENT_TYPE, media.clone());
                }
                response
            }
            Self::Null => nothing(wish, request),
        }
    }
}

fn elsewhere(
    to: &FieldTemplate,
    status: StatusCode,
    wish: &GatewayRequest,
    caller: &ClientConnection,
) -> Response<Body> {
    let facts = TemplateFacts {
        client: wish.client,
        host: wish.host.as_str(),
        scheme: caller.scheme(),
        path: &wish.path,
    };
    if wish.host.as_str().is_empty() && to.says_host() {
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

fn nothing<B>(wish: &GatewayRequest, request: &Request<B>) -> Response<Body> {
    let headers = request.headers();
    let field = |name| text(headers, &HeaderName::from_static(name));
    let (host, destination) = (wish.host.as_name(), field("sec-fetch-dest"));
    let (path, query) = wish.split();
    let hints = RequestHints {
        method: request.method(),
        kind: wish.kind,
        frame: frame_context(destination, wish.page.as_ref().map(DomainName::as_name), host),
        host,
        path,
        query,
        accept: text(headers, &ACCEPT),
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

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
}
