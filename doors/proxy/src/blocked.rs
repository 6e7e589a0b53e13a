//! The answer in place of a blocked URL: of the type that was asked for, or the page that says why.
//!
//! Programs that take no page get the reason in plain words, and so do tunnels, inside which
//! nothing can be said. Every such answer says in `Proxy-Status` that it is ours. Called by
//! `request`.

use crate::context::ProxyContext;
use crate::pages;
use http::header::HeaderName;
use http::{Method, Request, Response};
use http_engine::Body;
use http_engine::html::PageReader;
use http_front::field_text;
use null_answers::page::{self, BlockNotice};
use null_answers::{
    AnswerAudience, AnswerCaching, BlankBody, NullAnswer, RequestHints, frame_context, render,
    select_answer,
};
use policy::{Policy, Verdict, VerdictManner};
use vocab::{DomainName, RequestKind};

/// Holds what was asked for.
pub(crate) struct BlockedRequest<'w> {
    pub(crate) verdict: Verdict,
    pub(crate) host: &'w DomainName,
    pub(crate) page: Option<&'w DomainName>,
    pub(crate) kind: RequestKind,
    /// The URL, or `host:port` of a tunnel.
    pub(crate) subject: &'w str,
}

/// The answer to `request`, which is blocked.
pub(crate) fn answer<B>(
    trip: &ProxyContext<'_>,
    asked: &BlockedRequest<'_>,
    request: &Request<B>,
) -> Response<Body> {
    let policy = trip.door.parts.policy.load();
    let headers = request.headers();
    let hints = hints(asked, &policy, request);
    let who = trip.identity();
    let reader = PageReader::of(headers);
    let mut answer = match select_answer(&hints) {
        _ if asked.kind == RequestKind::Tunnel => in_words(asked, &policy),
        AnswerAudience::Page if reader == PageReader::Person || hints.destination == "document" => {
            let told = BlockNotice {
                policy: &policy,
                verdict: asked.verdict,
                door: vocab::Door::Proxy,
                client: trip.caller.client(),
                identity: &who,
                dashboard: trip.door.parts.dashboard.load().as_deref().copied(),
                setup: None,
                now: trip.now,
            };
            page::blocked(asked.host, asked.subject, &told)
        }
        // Nobody knows what would do for it: an empty file would be taken for the real one.
        AnswerAudience::Page
        | AnswerAudience::Null(NullAnswer::Blank(BlankBody::Text | BlankBody::NoMethod)) => {
            in_words(asked, &policy)
        }
        // A WebSocket is opened by the door that stands for the host.
        AnswerAudience::Null(NullAnswer::Socket) => render(
            &NullAnswer::Blank(BlankBody::NoSocket),
            AnswerCaching::No,
            request.method(),
            headers,
        ),
        AnswerAudience::Null(null) => {
            render(&null, AnswerCaching::OneMinute, request.method(), headers)
        }
    };
    pages::denied_by_policy(&mut answer);
    if request.method() == Method::HEAD {
        // The length stands in its field already.
        *answer.body_mut() = Body::empty();
    }
    answer
}

fn in_words(asked: &BlockedRequest<'_>, policy: &Policy) -> Response<Body> {
    let rule = asked.verdict.cause.rule();
    let rule = rule.and_then(|rule| policy.rule_text(rule, asked.host.as_name()));
    pages::blocked(asked.subject, None, rule.as_ref())
}

fn hints<'r, B>(
    asked: &BlockedRequest<'r>,
    policy: &'r Policy,
    request: &'r Request<B>,
) -> RequestHints<'r> {
    let field = |name| field_text(request.headers(), &HeaderName::from_static(name));
    let (host, destination) = (asked.host.as_name(), field("sec-fetch-dest"));
    RequestHints {
        method: request.method(),
        kind: asked.kind,
        frame: frame_context(destination, asked.page.map(DomainName::as_name), host),
        host,
        path: request.uri().path(),
        query: request.uri().query().unwrap_or(""),
        accept: field("accept"),
        destination,
        service_worker: field("service-worker"),
        named: match asked.verdict.manner {
            VerdictManner::StandIn(id) => policy.stand_in(id),
            VerdictManner::Default | VerdictManner::Rewrite => None,
        },
    }
}
